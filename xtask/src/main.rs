//! The project's own chores: `cargo xtask test`, `cargo xtask bench`, `cargo xtask docs`.

mod bench;
mod clients;
mod docs;
mod paths;
mod process;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// A chore that failed, in words.
type Failure = Box<dyn std::error::Error>;

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Prepares what the tests need and runs them all.
    Test(test::Options),
    /// Measures what the design promises, with the baselines in the same run.
    Bench(bench::Options),
    /// Writes the generated files: the manifest's schema and the reference pages.
    Docs(docs::Options),
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Test(options) => test::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Docs(options) => docs::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
