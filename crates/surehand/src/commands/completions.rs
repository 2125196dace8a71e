//! `surehand completions`.

use clap::Args;
use clap_complete::Shell;

use crate::{
    cli,
    errors::{CliError, Exit},
    term,
};

/// Print completions for a shell
///
/// For example, for bash: surehand completions bash > ~/.local/share/bash-completion/completions/surehand
#[derive(Debug, Args)]
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
