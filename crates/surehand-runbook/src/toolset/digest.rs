//! What a confirmation is bound to.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{argv::Invocation, environment::Environment, manifest::Runbook, script};

/// SHA-256 over all that decides what a call does: tool, command, working directory, timeout, the variables
/// that the manifest sets (secrets by where they come from, so that nobody can guess at their values), `PATH`,
/// the confinement, and the script's bytes.
pub(super) fn digest(
    runbook: &Runbook,
    invocation: &Invocation,
    server: &Environment,
    script: Option<[u8; 32]>,
) -> String {
    let sources: Vec<(&str, String)> = runbook
        .env_from
        .iter()
        .map(|(variable, source)| (variable.as_str(), source.to_string()))
        .collect();
    let confine = runbook
        .confine
        .as_ref()
        .map(|confine| json!([confine.read, confine.write, confine.network]));
    let all = json!([
        "runbook/1",
        invocation.tool,
        invocation.command,
        invocation.cwd,
        invocation.timeout.as_secs(),
        runbook.env,
        sources,
        server.get("PATH").map(|path| path.to_string_lossy()),
        confine,
        script.map(hex::encode),
    ]);
    hex::encode(Sha256::digest(all.to_string()))
}

/// What tells that a file was changed without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, inode and the time of the last change of any kind, which a process cannot set.
    identity: Option<(u64, u64, i64, i64)>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(&metadata),
        })
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms have no such identity")]
fn identity(metadata: &std::fs::Metadata) -> Option<(u64, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ))
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Option<(u64, u64, i64, i64)> {
    None
}

/// The digests of scripts, so that a large one is not read for every call.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    known: Mutex<HashMap<PathBuf, (Stamp, [u8; 32])>>,
}

impl Scripts {
    /// The SHA-256 of a script; None if it cannot be read.
    pub(super) fn sha256(&self, path: &Path) -> Option<[u8; 32]> {
        let stamp = Stamp::of(path)?;
        let known = |scripts: &Self| {
            let known = scripts.known.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .get(path)
                .filter(|(before, _)| *before == stamp)
                .map(|(_, digest)| *digest)
        };
        if let Some(digest) = known(self) {
            return Some(digest);
        }
        let digest = script::sha256(path).ok()?;
        // A file that was written to while it was read is not remembered.
        if Stamp::of(path)? == stamp {
            self.known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(path.to_owned(), (stamp, digest));
        }
        Some(digest)
    }
}
