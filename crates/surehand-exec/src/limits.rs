//! How far a run may go.

use std::time::Duration;

/// The bounds of one run. All are enforced; none can be turned off.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From start to the first signal.
    pub timeout: Duration,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// How long output is still read after the process has ended while something holds its pipes.
    pub drain: Duration,
    /// How much of the end of each stream is kept as text, in UTF-16 code units.
    pub tail_chars: usize,
    /// How much of the beginning of each stream is kept in full, in bytes.
    pub spool_bytes: u64,
}

impl Default for Limits {
    /// 300 s, then 1.2 s of grace; 0.2 s of drain; 60,000 units of tail; 64 MiB of spool.
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(5),
            grace: Duration::from_millis(1200),
            drain: Duration::from_millis(200),
            tail_chars: 60_000,
            spool_bytes: 64 << 20,
        }
    }
}
