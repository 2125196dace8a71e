//! What `validate` prints.

use std::{fmt::Write as _, path::Path};

use serde_json::Map;

use crate::{
    argv::{Surroundings, build_invocation, compatible_line},
    manifest::{
        CONFIRM_TOKEN, Confirm, DRY_RUN, Manifest, ManifestError, Problem, Runbook, check_files,
        load_manifest, relative, resolve, warnings,
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
    let declared = runbook.params.iter().map(|(name, param)| {
        let optional = if param.common().required { "" } else { "?" };
        format!("{name}{optional}: {}", param.kind())
    });
    let own = [
        (runbook.dry_run, DRY_RUN, "boolean"),
        (runbook.confirm == Confirm::Token, CONFIRM_TOKEN, "string"),
    ];
    let own = own
        .into_iter()
        .filter(|(published, ..)| *published)
        .map(|(_, name, kind)| format!("{name}?: {kind}"));
    let params: Vec<String> = declared.chain(own).collect();
    if !params.is_empty() {
        let _ = writeln!(listing, "      params: {}", params.join(", "));
    }
    let confirmed_by = match runbook.confirm {
        Confirm::No => None,
        Confirm::Person => Some("a person says yes"),
        Confirm::Token => Some("token"),
    };
    if let Some(by) = confirmed_by {
        let _ = writeln!(listing, "      confirm: {by}");
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::validate;
    use crate::Surroundings;

    #[test]
    fn what_surehand_adds_to_a_tool_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runbooks.json");
        std::fs::write(folder.path().join("a.sh"), "").unwrap();
        let runbook = |name: &str, keys: serde_json::Value| {
            let mut runbook = json!({"name": name, "description": "d", "script": "a.sh", "interpreter": "sh", "params": {}});
            runbook
                .as_object_mut()
                .unwrap()
                .extend(keys.as_object().unwrap().clone());
            runbook
        };
        let param = json!({"n": {"type": "number", "integer": true, "flag": "-n"}});
        let document = json!({"version": 1, "runbooks": [
            runbook("both", json!({"dryRun": true, "confirm": "token", "params": param})),
            runbook("asks", json!({"destructive": true, "confirm": true})),
            runbook("plain", json!({})),
        ]});
        std::fs::write(&path, document.to_string()).unwrap();
        let listing = validate(&path, &Surroundings::of_process()).unwrap().listing;
        let script = folder.path().join("a.sh").display().to_string();
        assert!(
            listing.contains(&format!(
                "  both  [sh]  a.sh\n      params: n?: number, dryRun?: boolean, confirmToken?: string\n      \
                 confirm: token\n      $ sh {script}\n\n  asks  [sh, destructive]  a.sh\n      confirm: a person \
                 says yes\n      $ sh {script}\n\n  plain  [sh]  a.sh\n      $ sh {script}\n"
            )),
            "{listing}"
        );
    }
}
