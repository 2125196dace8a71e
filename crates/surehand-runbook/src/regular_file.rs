//! Reading files that may have become something else: a pipe that nobody writes to, a device without end, a
//! file that grows.

use std::{
    fs::{File, FileType, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// What [`FileError::Other`] calls a folder.
pub(crate) const FOLDER: &str = "a folder";

/// Why a file cannot be read. The text goes on after the file's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The system says no.
    #[error("{}", reason(.0))]
    Io(#[from] io::Error),
    /// It is no regular file but this.
    #[error("is {0}, not a file")]
    Other(&'static str),
    /// It is larger than so many bytes.
    #[error("is larger than {}", size(*.0))]
    TooLarge(u64),
    /// It has another length than it had when it was opened.
    #[error("is being written to")]
    Changing,
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read (permission denied)".to_owned(),
        _ => {
            let text = error.to_string();
            // The number says nothing that the words do not.
            let words = text.split(" (os error").next().unwrap_or(&text);
            format!("cannot be read ({words})")
        }
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

/// The metadata of a regular file, symbolic links resolved. Opens nothing.
pub(crate) fn metadata(path: &Path) -> Result<Metadata, FileError> {
    regular(path.metadata()?)
}

/// Opens a regular file, never waiting for one.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    // Opening a device can already do something, so it is looked at first. What takes its place in between
    // is opened without waiting, and looked at again.
    metadata(path)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path)?;
    let metadata = regular(file.metadata()?)?;
    Ok((file, metadata))
}

/// The bytes of a regular file of at most `most` bytes. They are counted as they are read: a length can lie.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = open(path)?;
    if metadata.len() > most {
        return Err(FileError::TooLarge(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    let found = file.take(most + 1).read_to_end(&mut bytes)?;
    if found as u64 > most {
        return Err(FileError::TooLarge(most));
    }
    Ok(bytes)
}

fn regular(metadata: Metadata) -> Result<Metadata, FileError> {
    if metadata.is_file() {
        Ok(metadata)
    } else {
        Err(FileError::Other(kind(metadata.file_type())))
    }
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}

#[cfg(unix)]
fn kind(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if file_type.is_dir() {
        FOLDER
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() { FOLDER } else { "a device" }
}

/// A pipe in the file system that nobody writes to: whoever opens it as a file waits for ever.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn make_pipe(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{open, read};

    #[test]
    fn the_limit_is_on_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().to_string(), "is larger than 0 KiB");
        let sparse = std::fs::File::create(&path).unwrap();
        sparse.set_len(1 << 40).unwrap();
        assert_eq!(
            read(&path, 16 << 20).unwrap_err().to_string(),
            "is larger than 16 MiB"
        );
    }

    /// Such a file says that it is empty.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_length_that_lies_does_not_matter() {
        assert!(read(Path::new("/proc/self/stat"), 10).is_err());
        assert!(!read(Path::new("/proc/self/stat"), 10_000).unwrap().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_file_is_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        super::make_pipe(&pipe);
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, words) in [
            (pipe.as_path(), "is a named pipe, not a file"),
            (&socket, "is a socket, not a file"),
            (folder.path(), "is a folder, not a file"),
            (Path::new("/dev/zero"), "is a device, not a file"),
            (&folder.path().join("gone"), "does not exist"),
            (&pipe.join("x"), "cannot be read (Not a directory)"),
        ] {
            assert_eq!(open(path).unwrap_err().to_string(), words);
        }
    }
}
