//! One run, as it is asked for.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{Command, Limits};

/// Which of a process's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Changes the bytes of a stream before anything of them is kept or shown, for example by removing secrets.
pub trait Filter: Send {
    /// Takes a piece and appends to `out` what may be shown of what came so far.
    fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>);

    /// Appends what was held back.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// Makes a filter. A stream goes through two: one for its bytes, one for the text that is left when escape sequences
/// are removed. With a filter, the text that is shown is kept, not the bytes.
pub type MakeFilter = Arc<dyn Fn() -> Box<dyn Filter> + Send + Sync>;

/// Where lines go while the run lasts: cleaned, filtered, without their end. Must not block.
pub type LineSink = Arc<dyn Fn(Stream, &str) + Send + Sync>;

/// A command with its bounds and with those who follow it.
#[non_exhaustive]
pub struct Run {
    /// What is to be run.
    pub command: Command,
    /// How far it may go.
    pub limits: Limits,
    /// Ends it.
    pub cancel: CancellationToken,
    /// Where large outputs are kept; need not exist. None: only the first 64 KiB are kept.
    pub folder: Option<PathBuf>,
    /// What changes the output before anybody sees it.
    pub filter: Option<MakeFilter>,
    /// Who follows the output.
    pub lines: Option<LineSink>,
    /// None: `lines` gets every line. Else it gets only the newest, at most once in this time a stream.
    pub lines_every: Option<Duration>,
}

impl Run {
    /// A run of `command` within `limits` that nobody follows or can withdraw.
    #[must_use]
    pub fn new(command: Command, limits: Limits) -> Self {
        Self {
            command,
            limits,
            cancel: CancellationToken::new(),
            folder: None,
            filter: None,
            lines: None,
            lines_every: None,
        }
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("command", &self.command)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
