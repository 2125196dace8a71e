//! A call as it happens: its output, a spinner, the time.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use surehand_core::{OutputLine, OutputSink, Progress, ProgressSink, StreamName};
use tokio_util::sync::CancellationToken;

use crate::{
    errors::{CliError, warn},
    narrow::Narrow,
    reader,
};

/// How many bytes of lines may wait for a slow terminal or pipe before lines are left out.
const MOST_WAITING: usize = 64 << 20;
/// How often the spinner turns.
const TURN: Duration = Duration::from_millis(100);
/// How often it is looked whether somebody still reads, while there is nothing to write.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The spinner that is on the terminal, if one is.
static SPINNER: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Does what writes to standard error, with the spinner out of its way.
pub(crate) fn beside_spinner(write: impl FnOnce()) {
    let spinner = SPINNER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match spinner {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn set_spinner(bar: Option<ProgressBar>) {
    *SPINNER.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Shows a call while it runs.
///
/// The call itself never waits for whoever reads: lines go through a bounded queue to a thread of their own.
pub(crate) struct Live {
    queue: Sender<Message>,
    counts: Arc<Counts>,
    writer: JoinHandle<io::Result<()>>,
    bar: Option<ProgressBar>,
}

/// What the writer is told. The end is said, not inferred: whoever ran the call may still hold a sink.
enum Message {
    Line(OutputLine),
    End,
}

/// What of a call was seen while it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// There was nothing to see.
    Nothing,
    /// Its output.
    Lines,
    /// Whoever read it went away, as `| head` does.
    Unread,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    shown: AtomicU64,
    left_out: AtomicU64,
}

impl Live {
    /// `unread` is fired when nobody reads the output any more.
    pub(crate) fn start(tool: &str, unread: CancellationToken) -> Self {
        let bar = io::stderr().is_terminal().then(|| spinner(tool));
        set_spinner(bar.clone());
        let counts = Arc::new(Counts::default());
        let (queue, messages) = mpsc::channel();
        let writer = {
            let (counts, bar) = (Arc::clone(&counts), bar.clone());
            thread::spawn(move || {
                let written = write_lines(&messages, &counts, bar.as_ref());
                if let Err(error) = &written
                    && error.kind() == io::ErrorKind::BrokenPipe
                {
                    unread.cancel();
                }
                written
            })
        };
        Self {
            queue,
            counts,
            writer,
            bar,
        }
    }

    /// Where the call's output goes.
    pub(crate) fn output(&self) -> OutputSink {
        let (queue, counts) = (self.queue.clone(), Arc::clone(&self.counts));
        Arc::new(move |line: OutputLine| {
            let size = line.text.len() + 1;
            let full = counts.waiting.fetch_add(size, Ordering::Relaxed) + size > MOST_WAITING;
            // A writer that has ended has a broken pipe behind it, of which the end of the call tells.
            if full || queue.send(Message::Line(line)).is_err() {
                counts.waiting.fetch_sub(size, Ordering::Relaxed);
                counts.left_out.fetch_add(1, Ordering::Relaxed);
            } else {
                counts.shown.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Where the call's progress goes.
    pub(crate) fn progress(&self) -> Option<ProgressSink> {
        let bar = self.bar.clone()?;
        Some(Arc::new(move |progress: Progress| {
            bar.set_message(one_line(&progress.message));
        }))
    }

    /// Waits until all lines are written.
    pub(crate) fn finish(self) -> Result<Seen, CliError> {
        // Without a receiver the writer has ended already.
        let _ = self.queue.send(Message::End);
        let written = self.writer.join();
        set_spinner(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let written =
            written.map_err(|_panic| CliError::Internal("the writer of live output panicked".to_owned()))?;
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Seen::Unread),
            written => written.map_err(CliError::Output)?,
        }
        let left_out = self.counts.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            warn(format_args!(
                "{left_out} lines came faster than they could be shown; `surehand runs logs` has them"
            ));
        }
        Ok(match self.counts.shown.load(Ordering::Relaxed) {
            0 => Seen::Nothing,
            _ => Seen::Lines,
        })
    }
}

fn spinner(tool: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(Box::new(Narrow)));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(tool.to_owned());
    bar.enable_steady_tick(TURN);
    bar
}

fn write_lines(messages: &Receiver<Message>, counts: &Counts, bar: Option<&ProgressBar>) -> io::Result<()> {
    loop {
        let line = match messages.recv_timeout(LOOK_EVERY) {
            Ok(Message::Line(line)) => line,
            Err(RecvTimeoutError::Timeout) if reader::has_left() => {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match bar {
            Some(bar) => bar.suspend(|| write_line(&line))?,
            None => write_line(&line)?,
        }
        counts.waiting.fetch_sub(line.text.len() + 1, Ordering::Relaxed);
    }
}

fn write_line(line: &OutputLine) -> io::Result<()> {
    match line.stream {
        StreamName::Stdout => writeln!(io::stdout().lock(), "{}", line.text),
        StreamName::Stderr => writeln!(io::stderr().lock(), "{}", line.text),
    }
}

fn one_line(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}
