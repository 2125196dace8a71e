//! Folders and files that nobody but their owner can read or change.

#[cfg(unix)]
#[path = "private/unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "private/other.rs"]
mod platform;

use std::{
    io,
    path::{Path, PathBuf},
};

/// The state directory, or something in it, is not its user's alone.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PrivacyError {
    /// It belongs to another user.
    #[error("{} belongs to user id {owner}, not to you (user id {user})", path.display())]
    OtherOwner {
        /// What.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Others may write to it, and may have put things there.
    #[error("{} can be written by other users (mode {mode:04o})", path.display())]
    OthersMayWrite {
        /// What.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link that another user made, or where none may be.
    #[error("{} is a symbolic link{}", path.display(), if *foreign { " that another user made" } else { "" })]
    Link {
        /// What.
        path: PathBuf,
        /// Whether somebody else made it.
        foreign: bool,
    },
    /// Not a directory, or not a file, where one must be.
    #[error("{} is not a {wanted}", path.display())]
    WrongKind {
        /// What.
        path: PathBuf,
        /// What it should be.
        wanted: &'static str,
    },
    /// The system failed.
    #[error("{} cannot be made or looked at: {detail}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
}

impl PrivacyError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::OthersMayWrite { path, .. } => {
                format!("look at what is in it, then `chmod go-w {}`", path.display())
            }
            Self::Link { .. } | Self::WrongKind { .. } | Self::OtherOwner { .. } => {
                "set SUREHAND_STATE_DIR to a directory of your own".to_owned()
            }
            Self::Io { .. } => "set SUREHAND_STATE_DIR to a directory that you can write".to_owned(),
        }
    }

    fn io(path: &Path, error: &io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            detail: error.to_string(),
        }
    }
}

/// Makes the directory, where it is not there, and what leads to it, for its owner alone; refuses one that
/// others own, could change or could swap. One that others can only read is closed to them.
pub(crate) fn ensure_directory(path: &Path) -> Result<(), PrivacyError> {
    platform::ensure_directory(path)
}

/// Checks as [`ensure_directory`] does, but makes nothing; false where it is not there.
pub(crate) fn check_directory(path: &Path) -> Result<bool, PrivacyError> {
    platform::check_directory(path)
}

/// Whether a state directory can be used: finds out by trying, and leaves nothing behind. One that does not
/// exist is tried by making another where it, or what leads to it, would be made.
///
/// # Errors
/// As for the history itself: it cannot be made or written, or it is not its user's alone.
pub fn try_state_directory(path: &Path) -> Result<(), PrivacyError> {
    let name = format!(".surehand-try-{}", surehand_core::RunId::generate());
    if check_directory(path)? {
        let probe = path.join(name);
        ensure_file(&probe)?;
        return std::fs::remove_file(&probe).map_err(|error| PrivacyError::io(&probe, &error));
    }
    let parent = path
        .ancestors()
        .skip(1)
        .find(|above| above.symlink_metadata().is_ok())
        .unwrap_or(Path::new("."));
    let probe = parent.join(name);
    std::fs::create_dir(&probe).map_err(|error| PrivacyError::io(path, &error))?;
    let checked = check_directory(&probe);
    std::fs::remove_dir(&probe).map_err(|error| PrivacyError::io(&probe, &error))?;
    checked.map(drop)
}

/// Makes the file, empty, where it is not there; refuses one that is a link or another user's. Says whether
/// it was made.
pub(crate) fn ensure_file(path: &Path) -> Result<bool, PrivacyError> {
    platform::ensure_file(path)
}
