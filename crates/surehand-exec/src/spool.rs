//! The beginning of a stream, kept in full.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// What is no larger than this stays in memory.
const INLINE: usize = 64 << 10;

/// Keeps up to a limit: in memory while it is little, else in a file.
pub(crate) struct Spool {
    path: Option<PathBuf>,
    limit: u64,
    kept: u64,
    digest: Sha256,
    inline: Vec<u8>,
    file: Option<File>,
}

/// What was kept.
#[derive(Default)]
pub(crate) struct Spooled {
    pub(crate) kept: u64,
    pub(crate) sha256: [u8; 32],
    pub(crate) inline: Option<Vec<u8>>,
    pub(crate) path: Option<PathBuf>,
}

impl Spool {
    /// Keeps in the file `name` of `folder`, made when it is needed; without a folder only what is little.
    pub(crate) fn new(folder: Option<&Path>, name: &str, limit: u64) -> Self {
        Self {
            path: folder.map(|folder| folder.join(name)),
            limit: if folder.is_some() {
                limit
            } else {
                limit.min(INLINE as u64)
            },
            kept: 0,
            digest: Sha256::new(),
            inline: Vec::new(),
            file: None,
        }
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        let room = usize::try_from(self.limit - self.kept).unwrap_or(usize::MAX);
        let piece = &piece[..piece.len().min(room)];
        if piece.is_empty() {
            return;
        }
        if self.file.is_none() && self.inline.len() + piece.len() > INLINE {
            self.move_to_file();
        }
        let written = match &mut self.file {
            None if self.inline.len() + piece.len() > INLINE => return,
            None => {
                self.inline.extend_from_slice(piece);
                Ok(())
            }
            Some(file) => file.write_all(piece),
        };
        match written {
            Ok(()) => {
                self.digest.update(piece);
                self.kept += piece.len() as u64;
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// Puts what there is into the file, so that another process can follow it.
    pub(crate) fn show(&mut self) {
        if !self.inline.is_empty() {
            self.move_to_file();
        }
    }

    fn move_to_file(&mut self) {
        let (Some(path), None) = (&self.path, &self.file) else {
            return;
        };
        match create(path).and_then(|mut file| file.write_all(&self.inline).map(|()| file)) {
            Ok(file) => {
                self.file = Some(file);
                self.inline = Vec::new();
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// The run goes on; its output is no longer kept.
    fn give_up(&mut self, error: &io::Error) {
        tracing::error!(
            path = %self.path.as_deref().unwrap_or(Path::new("")).display(),
            kept = self.kept,
            "cannot keep more of a run's output: {error}"
        );
        self.limit = self.kept;
    }

    pub(crate) fn finish(self) -> Spooled {
        let in_file = self.file.is_some();
        Spooled {
            kept: self.kept,
            sha256: self.digest.finalize().into(),
            inline: (!in_file).then_some(self.inline),
            path: self.path.filter(|_| in_file),
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_stays_in_memory_and_much_goes_to_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mut little = Spool::new(Some(&folder.path().join("a")), "stdout", 1 << 20);
        little.push(b"hello");
        let little = little.finish();
        assert_eq!((little.kept, little.inline.as_deref()), (5, Some(&b"hello"[..])));
        assert!(!folder.path().join("a").exists());

        let mut much = Spool::new(Some(&folder.path().join("b")), "stdout", 100_000);
        for _ in 0..30 {
            much.push(&[b'x'; 10_000]);
        }
        let much = much.finish();
        let path = much.path.unwrap();
        assert_eq!(much.kept, 100_000);
        assert_eq!(std::fs::read(&path).unwrap(), vec![b'x'; 100_000]);
        assert_eq!(much.sha256, <[u8; 32]>::from(Sha256::digest(vec![b'x'; 100_000])));
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn without_a_folder_only_the_beginning_is_kept() {
        let mut spool = Spool::new(None, "stdout", 1 << 30);
        spool.push(&vec![b'x'; INLINE]);
        spool.push(b"y");
        let spooled = spool.finish();
        assert_eq!(
            (spooled.kept, spooled.inline.map(|kept| kept.len())),
            (INLINE as u64, Some(INLINE))
        );
    }

    #[test]
    fn a_full_disk_does_not_stop_anything() {
        let mut spool = Spool::new(Some(Path::new("/proc/nowhere")), "stdout", 1 << 20);
        for _ in 0..10 {
            spool.push(&vec![b'x'; 50_000]);
        }
        assert_eq!(spool.finish().kept, 50_000);
    }
}
