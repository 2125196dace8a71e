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

#[cfg(not(target_os = "linux"))]
compile_error!("scripts are run on Linux only so far; docs/reference/platforms.md says what each system has");

mod capture;
mod clean;
mod command;
mod confine;
mod executor;
mod finished;
mod launch;
mod limits;
mod pool;
mod reaper;
mod run;
mod spawner;
mod spool;
mod supervise;
mod sys;
mod tail;
mod take_over;
mod tree;
mod view;
mod wire;

pub use command::{Command, Confinement, Stdin};
pub use executor::{ExecError, Executor, ExecutorConfig};
pub use finished::{Captured, Ended, Finished, StartError, StartErrorKind};
pub use limits::Limits;
pub use run::{Filter, LineSink, MakeFilter, Run, Stream};
pub use take_over::take_over;
