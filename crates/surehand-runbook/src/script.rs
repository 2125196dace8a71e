//! The bytes of a script.

use std::{
    io::{self, Read as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

use crate::regular_file::{self, FileError};

/// The largest script whose bytes are checked, in bytes.
const LARGEST: u64 = 1 << 30;

/// The SHA-256 of a script. Can take seconds for a large one.
pub(crate) fn sha256(path: &Path) -> Result<[u8; 32], FileError> {
    let (file, metadata) = regular_file::open(path)?;
    if metadata.len() > LARGEST {
        return Err(FileError::TooLarge(LARGEST));
    }
    let mut hasher = Sha256::new();
    // Not further than it was long: one that grows as it is read has no end.
    let read = io::copy(&mut file.take(metadata.len() + 1), &mut hasher)?;
    if read != metadata.len() {
        return Err(FileError::Changing);
    }
    Ok(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn only_what_has_an_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sh");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(
            hex::encode(sha256(&path).unwrap()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        std::fs::File::create(&path).unwrap().set_len(20 << 30).unwrap();
        assert_eq!(sha256(&path).unwrap_err().to_string(), "is larger than 1024 MiB");
    }
}
