//! Where there are no permission bits, the user's profile folder is private by what it inherits.

use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

use super::PrivacyError;

pub(super) fn ensure_directory(path: &Path) -> Result<(), PrivacyError> {
    fs::create_dir_all(path).map_err(|error| PrivacyError::io(path, &error))
}

pub(super) fn check_directory(path: &Path) -> Result<bool, PrivacyError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(PrivacyError::WrongKind {
            path: path.to_owned(),
            wanted: "directory",
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(PrivacyError::io(path, &error)),
    }
}

pub(super) fn ensure_file(path: &Path) -> Result<bool, PrivacyError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(PrivacyError::io(path, &error)),
    }
}
