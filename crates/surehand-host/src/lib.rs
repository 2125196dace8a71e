//! The one dispatcher over all toolsets.
//!
//! A [`Host`] joins any number of toolsets into one and is a toolset itself, so that an MCP client, the
//! command line and an embedding program are all served the same thing. Each call goes through the same
//! steps, in this order: permission, name table, the toolset's check, a person's confirmation, history,
//! locks, the global limit, the work, history, the answer.
//!
//! This crate must never know what a toolset does or how a call arrived, never begin a call's work before
//! all that comes first is done, and never leave a run without an end in history.

mod builder;
mod changes;
mod confirm;
mod dispatch;
mod file_lock;
mod guarded;
mod holds;
mod host;
mod line;
mod names;
mod runs;
mod tokens;

pub use builder::{BuildError, HostBuilder, HostLimits};
pub use host::Host;
pub use names::{Clash, TableError};
