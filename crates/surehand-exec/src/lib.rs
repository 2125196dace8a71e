//! Host processes, run so that none escapes.
//!
//! An [`Executor`] runs one [`Command`] at a time or many side by side. The process that embeds it never
//! forks: a small single-threaded *spawner* (the same program, executed again) keeps *reapers* ready, and
//! each run gets a reaper of its own, which starts the command, owns its whole tree (background children,
//! double forks and new sessions included) and kills it when it is told to or when a socket ends. See
//! `docs/explanation/executor.md`.
//!
//! This crate must never leave a process behind, hold more output in memory than its limits say, wait for
//! a pipe that a stranger holds, pass on a `SUREHAND_*` variable, or give a value to a shell.

mod command;
mod finished;
mod limits;

pub use command::{Command, Confinement, Stdin};
pub use finished::{Captured, Ended, Finished, StartError, StartErrorKind};
pub use limits::Limits;
