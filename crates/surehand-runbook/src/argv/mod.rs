//! From checked arguments to a command.

mod display;
mod interpreter;
mod invocation;
mod powershell;

#[cfg(test)]
mod tests;

pub use interpreter::Platform;
pub use invocation::{Invocation, Surroundings, build_invocation};

pub(crate) use display::{compatible_line, line};
pub(crate) use interpreter::{find_program, is_executable, program};
