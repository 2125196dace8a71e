//! What the tests of Surehand share.
//!
//! A [`Project`] is a folder of its own with a manifest, scripts and a private state folder; in it the
//! binary is [run](Project::run), [served](Project::serve) to a small MCP client, or put on a
//! [terminal](Project::on_a_terminal).
//!
//! This crate is for tests: it panics instead of returning errors, and nothing that is shipped may use it.

#![allow(
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    clippy::must_use_candidate,
    reason = "a test that cannot go on panics, and what is checked needs no further use"
)]

mod processes;
mod project;
mod ran;
mod session;
#[cfg(unix)]
mod terminal;

#[cfg(unix)]
pub use processes::{Signal, send};
pub use processes::{is_alive, until};
pub use project::{Invocation, Project};
pub use ran::Ran;
pub use session::Session;
#[cfg(unix)]
pub use terminal::Terminal;
