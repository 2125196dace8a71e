//! `cargo xtask test`.

use std::env;

use clap::Args;

use crate::{Failure, clients, process};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// What `cargo test` gets besides, for example `-p surehand-exec`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let strict = env::var_os("CI").is_some_and(|value| value == "true");
    let clients = clients::prepare();
    for missing in &clients.missing {
        eprintln!("skipped: tests with {missing}");
    }
    if strict && !clients.missing.is_empty() {
        return Err("under CI=true nothing may be skipped".into());
    }
    let mut test = process::cargo();
    test.args(["test", "--workspace", "--no-fail-fast"])
        .args(&options.cargo);
    test.envs(clients.variables);
    process::succeed(&mut test)?;
    for missing in &clients.missing {
        eprintln!("skipped: tests with {missing}");
    }
    println!("all tests passed");
    Ok(())
}
