//! Runbooks as a toolset.

mod digest;
mod identity;
mod plan;
mod result;
mod runbooks;
mod served;
mod watch;

#[cfg(test)]
mod tests;

pub use runbooks::{LoadError, RunbookOptions, Runbooks};
pub use watch::{WatchError, Watching};
