//! `surehand completions`.

use clap::Args;
use clap_complete::Shell;

use crate::{
    cli,
    errors::{CliError, Exit},
    term,
};

/// Lines that a narrow terminal shows whole, so that they can be copied.
const EXAMPLE: &str = "\
For example, for bash:
d=~/.local/share/bash-completion/completions
mkdir -p $d
surehand completions bash >$d/surehand";

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "surehand", &mut script);
    let script = String::from_utf8(script).map_err(|error| CliError::Internal(error.to_string()))?;
    term::out(&script)?;
    Ok(Exit::Done)
}
