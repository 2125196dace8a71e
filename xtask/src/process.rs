//! Running other programs.

use std::{env, process::Command};

use crate::Failure;

/// Runs a command to its end; an error unless it ends well.
pub(crate) fn succeed(command: &mut Command) -> Result<(), Failure> {
    let shown = format!("{command:?}");
    let status = command
        .status()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown} ended with {status}").into())
    }
}

/// What a command writes to its standard output; an error unless it ends well.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} ended with {}: {errors}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a program is there and runs.
pub(crate) fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The Cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::paths::root());
    cargo
}
