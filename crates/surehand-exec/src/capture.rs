//! Reading one stream of a run.

use std::{io, time::Duration};

use tokio::net::unix::pipe;

use crate::{
    Captured,
    run::{Filter, Run, Stream},
    spool::Spool,
    view::View,
};

/// Enough for most runs.
const FIRST_SIZE: usize = 8 << 10;
/// Large enough that a fast writer is seldom waited for.
pub(crate) const LARGEST_SIZE: usize = 256 << 10;

/// A pipe of this size lets a fast writer go on while the server is busy.
pub(crate) const PIPE_SIZE: usize = 1 << 20;

/// Reading less than this from a fast writer costs more in waking up than in reading.
const WORTHWHILE: usize = 64 << 10;
/// So long a fast writer is left alone, that it may write more at once: too short to be worth a timer, too short for
/// anybody to notice that a thread of the runtime slept, and long enough to halve the cost of much output.
const PAUSE: Duration = Duration::from_micros(50);

/// Where both streams are read into: small at first, large for a run that writes much.
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn new() -> Self {
        Self(vec![0; FIRST_SIZE])
    }

    /// Whether a read filled it, so that more can be expected.
    fn is_filled_by(&self, count: usize) -> bool {
        count == self.0.len()
    }

    fn grow(&mut self) {
        self.0.resize(LARGEST_SIZE, 0);
    }
}

/// One stream: from the pipe through the filter to where it is kept and shown.
pub(crate) struct Capture {
    /// None once the stream has ended.
    pipe: Option<pipe::Receiver>,
    wide: bool,
    filter: Option<Box<dyn Filter>>,
    filtered: Vec<u8>,
    /// Where raw bytes are kept; with a filter, what is shown is kept instead.
    spool: Option<Spool>,
    view: View,
    total: u64,
}

impl Capture {
    pub(crate) fn new(stream: Stream, pipe: pipe::Receiver, run: &Run, name: &str) -> Self {
        let spool = Spool::new(run.folder.as_deref(), name, run.limits.spool_bytes);
        let lines = run.lines.clone().map(|sink| (sink, run.lines_every));
        let (raw, shown) = if run.filter.is_some() {
            (None, Some(spool))
        } else {
            (Some(spool), None)
        };
        Self {
            pipe: Some(pipe),
            wide: false,
            filter: run.filter.as_ref().map(|make| make()),
            filtered: Vec::new(),
            spool: raw,
            view: View::new(stream, run.limits.tail_chars, run.filter.clone(), shown, lines),
            total: 0,
        }
    }

    /// Whether the stream has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits until something can be read.
    pub(crate) async fn readable(&mut self) {
        let Some(pipe) = &self.pipe else {
            return std::future::pending().await;
        };
        if pipe.readable().await.is_err() {
            self.pipe = None;
        }
    }

    /// Reads what is there, without waiting, up to so many buffers.
    pub(crate) fn read(&mut self, buffer: &mut Buffer, times: usize) {
        for _ in 0..times {
            let Some(pipe) = &self.pipe else {
                return;
            };
            match pipe.try_read(&mut buffer.0) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.take(&buffer.0[..count]);
                    if buffer.is_filled_by(count) {
                        buffer.grow();
                        self.widen();
                    } else if self.wide && count < WORTHWHILE {
                        std::thread::sleep(PAUSE);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }

    /// Makes the pipe of a fast writer large, once. An ordinary user may have only so much memory in pipes; a small
    /// one works as well.
    fn widen(&mut self) {
        if let Some(pipe) = self.pipe.as_ref().filter(|_| !self.wide) {
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_SIZE);
            self.wide = true;
        }
    }

    /// Lets others follow what is kept.
    pub(crate) fn show(&mut self) {
        match &mut self.spool {
            Some(spool) => spool.show(),
            None => self.view.show(),
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let Some(filter) = &mut self.filter else {
            if let Some(spool) = &mut self.spool {
                spool.push(piece);
            }
            return self.view.feed(piece);
        };
        self.filtered.clear();
        filter.feed(piece, &mut self.filtered);
        self.view.feed(&self.filtered);
    }

    pub(crate) fn finish(mut self) -> Captured {
        if let Some(filter) = &mut self.filter {
            self.filtered.clear();
            filter.finish(&mut self.filtered);
            self.view.feed(&self.filtered);
        }
        let (text, dropped_chars, shown) = self.view.finish();
        let spooled = self.spool.or(shown).map(Spool::finish).unwrap_or_default();
        Captured {
            text,
            dropped_chars,
            total_bytes: self.total,
            kept_bytes: spooled.kept,
            sha256: spooled.sha256,
            inline: spooled.inline,
            spool: spooled.path,
        }
    }
}
