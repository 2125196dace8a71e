//! Surehand: one server through which agents do what a team has sanctioned, and nothing else.
//!
//! The binary only puts the other crates together: it reads flags and environment ([`cli`], [`config`]),
//! composes a host ([`compose`]), serves or calls it ([`commands`]), and turns every error into words and an
//! exit code ([`errors`]).

mod arguments;
mod cli;
mod commands;
mod compose;
mod config;
mod errors;
mod interrupt;
mod live;
mod logging;
mod narrow;
mod reader;
mod term;
mod user;

use std::{env, process::ExitCode};

use config::Environment;

fn main() -> ExitCode {
    // Must come first: this program is executed again as the spawner of its own runs.
    surehand_exec::take_over();
    let environment = Environment::of_process();
    match cli::parse(env::args_os()).and_then(|cli| commands::run(cli, &environment)) {
        Ok(exit) => exit.into(),
        Err(error) => error.report(),
    }
}
