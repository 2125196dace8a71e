//! What the server and a reaper say to each other.
//!
//! A message is a tag, a length and a payload. Descriptors travel with the first byte of a message.

use std::{
    ffi::OsStr,
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::{Confinement, Ended, StartError, StartErrorKind};

/// No message is larger: the kernel allows a few megabytes of arguments and environment.
const MAX_PAYLOAD: usize = 64 << 20;
const HEADER: usize = 5;
/// A message carries at most standard input, output and error.
const MAX_DESCRIPTORS: usize = 3;

/// From the server to a reaper: start this. Carries the three standard descriptors.
pub(crate) const START: u8 = b'S';
/// From the server to a reaper: ask the tree to end.
pub(crate) const TERM: u8 = b'T';
/// From the server to a reaper: end the tree.
pub(crate) const KILL: u8 = b'K';
/// From the server to the spawner: make one more reaper. A single byte, no header.
pub(crate) const MORE: u8 = b'M';
/// From the spawner to the server: here is a reaper, with its socket. Followed by its process id.
pub(crate) const REAPER: u8 = b'R';
/// From the spawner to the server: that reaper is gone, and nothing of its tree is left. Followed by its process id.
pub(crate) const CLEANED: u8 = b'C';
/// The length of what the spawner says.
pub(crate) const WORD: usize = 5;

/// What the spawner says about a reaper.
pub(crate) fn word(what: u8, reaper: i32) -> [u8; WORD] {
    let [a, b, c, d] = reaper.to_le_bytes();
    [what, a, b, c, d]
}

/// Takes apart what the spawner says.
pub(crate) fn read_word([what, a, b, c, d]: [u8; WORD]) -> (u8, i32) {
    (what, i32::from_le_bytes([a, b, c, d]))
}

/// What a reaper starts. Borrowed, at either end: an environment is a hundred small texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StartRequest<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) args: Vec<&'a OsStr>,
    pub(crate) cwd: &'a Path,
    pub(crate) env: Vec<(&'a OsStr, &'a OsStr)>,
    pub(crate) confinement: Option<Confinement>,
}

/// What a reaper reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Report {
    /// The command runs.
    Started,
    /// The command itself ended; `remaining` says that other processes of its tree have not.
    Ended { ended: Ended, remaining: bool },
    /// No process of the tree is left. `killed` of them had to be killed.
    Empty { killed: u32 },
    /// The tree is being killed because the spawner is gone.
    Orphaned,
}

/// A message as it goes over a socket.
pub(crate) fn message(tag: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.push(tag);
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Sends as much of `bytes` as fits, with descriptors.
pub(crate) fn send_with_descriptors(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    Ok(rustix::net::sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?)
}

/// Receives what is there, with descriptors (closed on exec).
pub(crate) fn receive_with_descriptors(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(buffer)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((received.bytes, descriptors))
}

/// A message with its tag, payload and descriptors.
pub(crate) type Received = (u8, Vec<u8>, Vec<OwnedFd>);

/// Reads one message with its descriptors; None at the end of the socket. Blocks.
pub(crate) fn read_message(socket: &std::os::unix::net::UnixStream) -> io::Result<Option<Received>> {
    let mut header = [0; HEADER];
    let (mut have, descriptors) = receive_with_descriptors(socket, &mut header)?;
    if have == 0 {
        return Ok(None);
    }
    let mut reader = socket;
    while have < HEADER {
        let more = reader.read(&mut header[have..])?;
        if more == 0 {
            return Ok(None);
        }
        have += more;
    }
    let length = payload_length(header)?;
    let mut payload = vec![0; length];
    match reader.read_exact(&mut payload) {
        Ok(()) => Ok(Some((header[0], payload, descriptors))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn payload_length(header: [u8; HEADER]) -> io::Result<usize> {
    let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
    if length > MAX_PAYLOAD {
        return Err(io::Error::other("message too large"));
    }
    Ok(length)
}

impl<'a> StartRequest<'a> {
    /// The message that asks for this.
    pub(crate) fn to_message(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(8 << 10));
        out.text(self.program);
        out.text(self.cwd.as_os_str());
        out.count(self.args.len());
        for arg in &self.args {
            out.text(arg);
        }
        out.count(self.env.len());
        for (name, value) in &self.env {
            out.text(name);
            out.text(value);
        }
        match &self.confinement {
            None => out.0.push(0),
            Some(confinement) => {
                out.0.push(1);
                out.0.push(u8::from(confinement.network));
                for paths in [&confinement.read, &confinement.write] {
                    out.count(paths.len());
                    for path in paths {
                        out.text(path.as_os_str());
                    }
                }
            }
        }
        message(START, &out.0)
    }

    /// Reads the payload of a [`START`] message.
    pub(crate) fn from_payload(payload: &'a [u8]) -> io::Result<Self> {
        let mut input = Reader(payload);
        let program = input.text()?;
        let cwd = Path::new(input.text()?);
        let args = (0..input.count()?)
            .map(|_| input.text())
            .collect::<Result<_, _>>()?;
        let env = (0..input.count()?)
            .map(|_| Ok((input.text()?, input.text()?)))
            .collect::<io::Result<_>>()?;
        let confinement = match input.byte()? {
            0 => None,
            _ => Some(Confinement {
                network: input.byte()? != 0,
                read: input.paths()?,
                write: input.paths()?,
            }),
        };
        Ok(Self {
            program,
            args,
            cwd,
            env,
            confinement,
        })
    }
}

const ENDED: u8 = b'E';
const EMPTY: u8 = b'0';
const ORPHANED: u8 = b'O';
const STARTED: u8 = b'B';

impl Report {
    pub(crate) fn to_message(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        match self {
            Self::Ended { ended, remaining } => {
                out.0.push(u8::from(*remaining));
                match ended {
                    Ended::Exited(code) => {
                        out.0.push(0);
                        out.number(*code);
                    }
                    Ended::Signaled(signal) => {
                        out.0.push(1);
                        out.number(*signal);
                    }
                    Ended::NotStarted(error) => {
                        out.0.push(2);
                        out.number(error.kind.errno());
                        out.text(OsStr::new(&error.cause));
                    }
                    Ended::Lost => out.0.push(3),
                }
                message(ENDED, &out.0)
            }
            Self::Empty { killed } => message(EMPTY, &killed.to_le_bytes()),
            Self::Orphaned => message(ORPHANED, &[]),
            Self::Started => message(STARTED, &[]),
        }
    }

    /// Takes the first whole message off `buffer`, if there is one.
    pub(crate) fn take(buffer: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let Some(header) = buffer.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let (tag, end) = (header[0], HEADER + payload_length(*header)?);
        if buffer.len() < end {
            return Ok(None);
        }
        let report = Self::from_payload(tag, &buffer[HEADER..end])?;
        buffer.drain(..end);
        Ok(Some(report))
    }

    fn from_payload(tag: u8, payload: &[u8]) -> io::Result<Self> {
        let mut input = Reader(payload);
        match tag {
            ENDED => {
                let remaining = input.byte()? != 0;
                let ended = match input.byte()? {
                    0 => Ended::Exited(input.number()?),
                    1 => Ended::Signaled(input.number()?),
                    2 => Ended::NotStarted(StartError {
                        kind: StartErrorKind::from_errno(input.number()?),
                        cause: input.text()?.to_string_lossy().into_owned(),
                    }),
                    _ => Ended::Lost,
                };
                Ok(Self::Ended { ended, remaining })
            }
            EMPTY => Ok(Self::Empty {
                killed: u32::try_from(input.number()?).unwrap_or_default(),
            }),
            ORPHANED => Ok(Self::Orphaned),
            STARTED => Ok(Self::Started),
            other => Err(io::Error::other(format!(
                "unknown message {other:#x} from a reaper"
            ))),
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn count(&mut self, count: usize) {
        self.0
            .extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn number(&mut self, number: i32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &OsStr) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| io::Error::other("message cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn four(&mut self) -> io::Result<[u8; 4]> {
        let taken = self.take(4)?;
        Ok([taken[0], taken[1], taken[2], taken[3]])
    }

    fn count(&mut self) -> io::Result<usize> {
        Ok(u32::from_le_bytes(self.four()?) as usize)
    }

    fn number(&mut self) -> io::Result<i32> {
        Ok(i32::from_le_bytes(self.four()?))
    }

    fn text(&mut self) -> io::Result<&'a OsStr> {
        let length = self.count()?;
        Ok(OsStr::from_bytes(self.take(length)?))
    }

    fn paths(&mut self) -> io::Result<Vec<PathBuf>> {
        (0..self.count()?).map(|_| Ok(self.text()?.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_wire() {
        let request = StartRequest {
            program: "bash".as_ref(),
            args: vec!["a b".as_ref(), OsStr::from_bytes(&[0xff, b'x'])],
            cwd: "/tmp".as_ref(),
            env: vec![("A".as_ref(), "1=2".as_ref()), ("B".as_ref(), "".as_ref())],
            confinement: Some(Confinement {
                read: vec!["/usr".into()],
                write: vec![],
                network: true,
            }),
        };
        let message = request.to_message();
        assert_eq!(StartRequest::from_payload(&message[HEADER..]).unwrap(), request);
        for cut in 0..message.len() - HEADER {
            assert!(StartRequest::from_payload(&message[HEADER..HEADER + cut]).is_err());
        }
    }

    #[test]
    fn reports_survive_the_wire_in_pieces() {
        let reports = [
            Report::Started,
            Report::Ended {
                ended: Ended::Exited(3),
                remaining: true,
            },
            Report::Ended {
                ended: Ended::Signaled(9),
                remaining: false,
            },
            Report::Ended {
                ended: Ended::NotStarted(StartError {
                    kind: StartErrorKind::NotFound,
                    cause: "no".into(),
                }),
                remaining: false,
            },
            Report::Empty { killed: 7 },
            Report::Orphaned,
        ];
        let bytes: Vec<u8> = reports.iter().flat_map(Report::to_message).collect();
        let (mut buffer, mut seen) = (Vec::new(), Vec::new());
        for byte in bytes {
            buffer.push(byte);
            while let Some(report) = Report::take(&mut buffer).unwrap() {
                seen.push(report);
            }
        }
        assert_eq!(seen, reports);
    }
}
