//! The bytes of a script.

use std::{io, path::Path};

use sha2::{Digest as _, Sha256};

/// The SHA-256 of a file.
pub(crate) fn sha256(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher)?;
    Ok(hasher.finalize().into())
}
