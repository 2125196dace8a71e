//! `surehand init`.

use clap::Args;

use crate::{
    cli::Common,
    config::{DEFAULT_MANIFEST, Settings, absolute},
    errors::{CliError, Exit},
    term,
};

/// Write a starter manifest and an example script
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(settings: &Settings) -> Result<Exit, CliError> {
    let target = match settings.manifests.as_slice() {
        [] => absolute(DEFAULT_MANIFEST.as_ref())?,
        [one] => one.clone(),
        _ => return Err(CliError::usage("init writes one manifest; name only one")),
    };
    let started = surehand_runbook::write_starter(&target)?;
    let kept = if started.script_kept {
        " (was there before, and is as it was)"
    } else {
        ""
    };
    term::out(&format!(
        "Wrote:\n  {}\n  {}{kept}\n\n{}",
        started.manifest.display(),
        started.script.display(),
        started.next_steps
    ))?;
    Ok(Exit::Done)
}
