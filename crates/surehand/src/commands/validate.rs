//! `surehand validate`.

use clap::Args;
use surehand_runbook::Surroundings;

use crate::{
    cli::Common,
    config::{DEFAULT_MANIFEST, Settings, absolute},
    errors::{CliError, Exit, warn},
    term,
};

/// Check the manifest and show what agents will get
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(settings: &Settings) -> Result<Exit, CliError> {
    let mut manifests = settings.manifests.clone();
    if manifests.is_empty() {
        // The error names the file that is missing.
        manifests.push(absolute(DEFAULT_MANIFEST.as_ref())?);
    }
    let surroundings = Surroundings::of_process();
    let mut exit = Exit::Done;
    for manifest in &manifests {
        let report = surehand_runbook::validate(manifest, &surroundings).map_err(|error| {
            if settings.manifests.is_empty() {
                CliError::NoManifest(error)
            } else {
                CliError::Manifest(error)
            }
        })?;
        term::out(&report.listing)?;
        for warning in &report.warnings {
            warn(warning);
        }
        if !report.problems.is_empty() {
            term::say(format_args!("{} problem(s) on disk", report.problems.len()));
            for problem in &report.problems {
                term::say(format_args!("  - {problem}"));
            }
            exit = Exit::Usage;
        }
    }
    Ok(exit)
}
