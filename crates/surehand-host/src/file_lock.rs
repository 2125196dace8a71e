//! Locks between processes.
//!
//! A lock is a file in the lock folder that is held with the operating system's file lock, so it ends with
//! its process however that ends. The files themselves stay: taking one away while another process opens it
//! would let two processes hold two files of one name.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};
use surehand_core::Lock;

/// How often a lock that another process holds is tried again.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Locks cannot be shared with other processes.
#[derive(Debug, thiserror::Error)]
#[error("the lock folder {} cannot be used: {problem}", folder.display())]
pub(crate) struct LockFolderError {
    folder: PathBuf,
    problem: String,
}

/// The folder with the lock files.
#[derive(Debug, Clone)]
pub(crate) struct LockFolder {
    folder: PathBuf,
}

/// A lock that is held; dropping it ends that.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl LockFolder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Waits until one of the lock's places is free. `waiting` is called once if that is not at once.
    /// Processes get in by chance, not in order: the operating system keeps no line.
    pub(crate) async fn hold(
        &self,
        lock: &Lock,
        waiting: impl FnOnce(),
    ) -> Result<FileLock, LockFolderError> {
        let mut waiting = Some(waiting);
        loop {
            if let Some(held) = self.try_hold(lock).map_err(|problem| self.unusable(&problem))? {
                return Ok(held);
            }
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            tokio::time::sleep(TRY_EVERY).await;
        }
    }

    /// A free place of the lock, if there is one. Opening and locking a local file takes microseconds and
    /// never waits, so it is done right here.
    fn try_hold(&self, lock: &Lock) -> io::Result<Option<FileLock>> {
        make_private(&self.folder)?;
        for place in 0..lock.limit.max(1) {
            let file = open_private(&self.folder.join(file_name(&lock.key, place)))?;
            match file.try_lock() {
                Ok(()) => return Ok(Some(FileLock { _file: file })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    fn unusable(&self, problem: &io::Error) -> LockFolderError {
        LockFolderError {
            folder: self.folder.clone(),
            problem: problem.to_string(),
        }
    }
}

/// Any key as a file name.
fn file_name(key: &str, place: u32) -> String {
    format!("{}.{place}.lock", hex::encode(Sha256::digest(key.as_bytes())))
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::metadata(folder)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write to it (chmod go-w cures that)"));
    }
    Ok(())
}

#[cfg(unix)]
fn open_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

// The state folder stands in the user's profile, which Windows keeps private by inherited access lists.
#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

#[cfg(test)]
mod tests {
    use surehand_core::Lock;

    use super::LockFolder;

    fn lock(limit: u32) -> Lock {
        Lock {
            key: "runbook:/srv/../x:deploy".to_owned(),
            limit,
        }
    }

    #[test]
    fn a_lock_has_as_many_places_as_its_limit() {
        let home = tempfile::tempdir().unwrap();
        let folder = LockFolder::new(home.path().join("a/locks"));
        let one = folder.try_hold(&lock(2)).unwrap().unwrap();
        let _two = folder.try_hold(&lock(2)).unwrap().unwrap();
        assert!(folder.try_hold(&lock(2)).unwrap().is_none());
        drop(one);
        assert!(folder.try_hold(&lock(2)).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_reach_what_is_made() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        let folder = LockFolder::new(home.path().join("locks"));
        let _held = folder.try_hold(&lock(1)).unwrap().unwrap();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.folder), 0o700);
        for entry in folder.folder.read_dir().unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let folder = LockFolder::new(home.path().to_owned());
        let error = folder.try_hold(&lock(1)).unwrap_err();
        assert!(error.to_string().contains("others may write"), "{error}");
    }
}
