//! What the binary says and does.

mod calling;
mod confirming;
mod finding;
mod help;
mod runs;
mod serving;
mod starting;
mod terminal;
mod usage;

use testkit::Project;

fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_surehand"))
}
