//! What `validate` prints.

use std::{fmt::Write as _, path::Path};

use serde_json::Map;

use crate::{
    argv::{Surroundings, build_invocation, compatible_line},
    manifest::{
        Manifest, ManifestError, Problem, Runbook, check_files, load_manifest, relative, resolve, warnings,
    },
};

/// What there is to say about a manifest that is valid in itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The manifest.
    pub manifest: Manifest,
    /// Each runbook with the command that it runs, for people. Ends with a blank line; says `OK` only if
    /// there are no problems.
    pub listing: String,
    /// What is missing on disk. A manifest with any is not served.
    pub problems: Vec<Problem>,
    /// What is allowed and yet probably not meant.
    pub warnings: Vec<Problem>,
}

/// Checks a manifest completely.
///
/// # Errors
/// When the manifest cannot be read or is not valid in itself.
pub fn validate(path: &Path, surroundings: &Surroundings) -> Result<Report, ManifestError> {
    let manifest = load_manifest(path)?;
    let problems = check_files(&manifest);
    let mut listing = format!("\n  {}\n\n", manifest.path.display());
    for runbook in &manifest.runbooks {
        entry(&mut listing, &manifest, runbook, surroundings);
    }
    if problems.is_empty() {
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            listing,
            "  OK — {} runbook(s) ready to serve.\n\n",
            manifest.runbooks.len()
        );
    }
    Ok(Report {
        warnings: warnings(&manifest, surroundings),
        manifest,
        listing,
        problems,
    })
}

fn entry(listing: &mut String, manifest: &Manifest, runbook: &Runbook, surroundings: &Surroundings) {
    let script = relative(manifest.folder(), &resolve(manifest.folder(), &runbook.script));
    let mut kinds = vec![runbook.interpreter.as_str()];
    if runbook.read_only {
        kinds.push("read-only");
    }
    if runbook.destructive {
        kinds.push("destructive");
    }
    let _ = writeln!(
        listing,
        "  {}  [{}]  {}",
        manifest.tool_name(runbook),
        kinds.join(", "),
        script.display()
    );
    if !runbook.params.is_empty() {
        let params: Vec<String> = runbook
            .params
            .iter()
            .map(|(name, param)| {
                let optional = if param.common().required { "" } else { "?" };
                format!("{name}{optional}: {}", param.kind())
            })
            .collect();
        let _ = writeln!(listing, "      params: {}", params.join(", "));
    }
    let _ = match build_invocation(manifest, runbook, &Map::new(), surroundings) {
        Ok(invocation) => {
            let line = compatible_line(&invocation.command, runbook.interpreter.is_powershell());
            writeln!(listing, "      $ {line}\n")
        }
        Err(refusal) => writeln!(
            listing,
            "      (needs arguments at call time: {}: {})\n",
            refusal.tool,
            refusal.problems.first().map_or("", String::as_str)
        ),
    };
}
