//! Which script it is that a call was planned with.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{
    regular_file::{self, FileError},
    script,
};

/// What tells one script from another, or from itself as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// There is none.
    Missing,
    /// What is known of it without reading it. Stands for its bytes where these may not be read, or are too
    /// many.
    Stamp(Stamp),
    /// The SHA-256 of its bytes.
    Bytes([u8; 32]),
}

impl Identity {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Stamp(stamp) => stamp.to_json(),
            Self::Bytes(digest) => hex::encode(digest).into(),
        }
    }
}

/// What tells that a file was changed without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, inode and the time of the last change of any kind, which a process cannot set.
    file: Option<(u64, u64, i64, i64)>,
}

impl Stamp {
    fn of(path: &Path) -> Result<Self, FileError> {
        let metadata = regular_file::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            file: file(&metadata),
        })
    }

    fn to_json(&self) -> Value {
        let modified = self
            .modified
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map(|time| (time.as_secs(), time.subsec_nanos()));
        json!([self.length, modified, self.file])
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms have no such identity")]
fn file(metadata: &std::fs::Metadata) -> Option<(u64, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ))
}

#[cfg(not(unix))]
fn file(_: &std::fs::Metadata) -> Option<(u64, u64, i64, i64)> {
    None
}

/// The digests of scripts, so that a large one is not read for every call.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    known: Mutex<HashMap<PathBuf, (Stamp, [u8; 32])>>,
}

impl Scripts {
    /// Which script this is: by its bytes if something is `bound` to them, else by what is known without reading
    /// it.
    ///
    /// # Errors
    /// When it is something else than a file: an interpreter would wait on a pipe for ever.
    pub(super) fn identity(&self, path: &Path, bound: bool) -> Result<Identity, String> {
        let stamp = match Stamp::of(path) {
            Ok(stamp) => stamp,
            Err(error @ FileError::Other(_)) => {
                return Err(format!("the script {error}: {}", path.display()));
            }
            // To run it will fail and say why.
            Err(_) => return Ok(Identity::Missing),
        };
        if !bound {
            return Ok(Identity::Stamp(stamp));
        }
        if let Some(digest) = self.known(path, &stamp) {
            return Ok(Identity::Bytes(digest));
        }
        match script::sha256(path) {
            Ok(digest) => {
                self.remember(path, stamp, digest);
                Ok(Identity::Bytes(digest))
            }
            Err(FileError::Io(_) | FileError::TooLarge(_)) => Ok(Identity::Stamp(stamp)),
            Err(error) => Err(format!("the script {error}: {}", path.display())),
        }
    }

    fn known(&self, path: &Path, stamp: &Stamp) -> Option<[u8; 32]> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(path)
            .filter(|(before, _)| before == stamp)
            .map(|(_, digest)| *digest)
    }

    fn remember(&self, path: &Path, stamp: Stamp, digest: [u8; 32]) {
        // A file that was written to while it was read is not remembered.
        if Stamp::of(path).is_ok_and(|now| now == stamp) {
            self.known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(path.to_owned(), (stamp, digest));
        }
    }
}
