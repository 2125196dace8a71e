//! By owner and permission bits.

use std::{
    fs::{self, DirBuilder, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use super::PrivacyError;

const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
const WORLD_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

pub(super) fn ensure_directory(path: &Path) -> Result<(), PrivacyError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| match error.kind() {
            // Something is there that is no directory, or a link to nowhere.
            io::ErrorKind::AlreadyExists => match check_directory(path) {
                Err(reason) => reason,
                Ok(_) => PrivacyError::io(path, &error),
            },
            _ => PrivacyError::io(path, &error),
        })?;
    check_directory(path).map(drop)
}

pub(super) fn check_directory(path: &Path) -> Result<bool, PrivacyError> {
    let itself = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(PrivacyError::io(path, &error)),
    };
    if itself.is_symlink() && !is_mine_or_roots(&itself) {
        return Err(PrivacyError::Link {
            path: path.to_owned(),
            foreign: true,
        });
    }
    // Where the links lead is where the files would go.
    let real = fs::canonicalize(path).map_err(|error| PrivacyError::io(path, &error))?;
    let found = fs::metadata(&real).map_err(|error| PrivacyError::io(&real, &error))?;
    if !found.is_dir() {
        return Err(PrivacyError::WrongKind {
            path: path.to_owned(),
            wanted: "directory",
        });
    }
    require_mine(&real, &found)?;
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(PrivacyError::OthersMayWrite {
            path: real,
            mode: found.mode() & 0o7777,
        });
    }
    for above in real.ancestors().skip(1) {
        let found = fs::metadata(above).map_err(|error| PrivacyError::io(above, &error))?;
        // Whoever can write above can put another directory in this one's place.
        if found.mode() & WORLD_WRITE != 0 && found.mode() & STICKY == 0 {
            return Err(PrivacyError::OthersMayWrite {
                path: above.to_owned(),
                mode: found.mode() & 0o7777,
            });
        }
    }
    close_to_others(&real, &found, 0o700)?;
    Ok(true)
}

pub(super) fn ensure_file(path: &Path) -> Result<bool, PrivacyError> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(_) => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(PrivacyError::io(path, &error)),
    }
    let found = fs::symlink_metadata(path).map_err(|error| PrivacyError::io(path, &error))?;
    if found.is_symlink() {
        return Err(PrivacyError::Link {
            path: path.to_owned(),
            foreign: !is_mine_or_roots(&found),
        });
    }
    if !found.is_file() {
        return Err(PrivacyError::WrongKind {
            path: path.to_owned(),
            wanted: "file",
        });
    }
    require_mine(path, &found)?;
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(PrivacyError::OthersMayWrite {
            path: path.to_owned(),
            mode: found.mode() & 0o7777,
        });
    }
    close_to_others(path, &found, 0o600)?;
    Ok(false)
}

fn close_to_others(path: &Path, found: &Metadata, mode: u32) -> Result<(), PrivacyError> {
    if found.mode() & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|error| PrivacyError::io(path, &error))
}

fn require_mine(path: &Path, found: &Metadata) -> Result<(), PrivacyError> {
    let user = user();
    if found.uid() == user {
        return Ok(());
    }
    Err(PrivacyError::OtherOwner {
        path: path.to_owned(),
        owner: found.uid(),
        user,
    })
}

fn is_mine_or_roots(found: &Metadata) -> bool {
    found.uid() == user() || found.uid() == 0
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
