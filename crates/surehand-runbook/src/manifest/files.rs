//! The fifth stage: what is on disk.

use std::path::Path;

use super::{
    model::{Manifest, Runbook},
    paths::resolve,
    problem::Problem,
};
use crate::{execute, script};

/// Checks that all scripts and folders are there and are what the manifest says. An empty list means yes.
#[must_use]
pub fn check_files(manifest: &Manifest) -> Vec<Problem> {
    let mut problems = Vec::new();
    let confinement = execute::confinement_enforceable();
    for runbook in &manifest.runbooks {
        let mut complain = |message: String| problems.push(Problem::new(&*runbook.name, message));
        let script = resolve(manifest.folder(), &runbook.script);
        let cwd = resolve(manifest.folder(), &runbook.cwd);
        if script.is_file() {
            if let Some(problem) = script_mismatch(runbook, &script) {
                complain(problem);
            }
        } else {
            complain(format!("script not found: {}", script.display()));
        }
        if !cwd.is_dir() {
            complain(format!("cwd is not a directory: {}", cwd.display()));
        }
        if let Err(problem) = contained(manifest, runbook) {
            complain(problem);
        }
        if let Some(confine) = &runbook.confine {
            if let Err(lacking) = &confinement {
                complain(format!("confine cannot be enforced here: {lacking}"));
            }
            for path in confine.read.iter().chain(&confine.write) {
                let path = resolve(manifest.folder(), path);
                if !path.exists() {
                    complain(format!(
                        "confine names a path that does not exist: {}",
                        path.display()
                    ));
                }
            }
        }
    }
    problems
}

/// What is wrong if the script's bytes are not those that the manifest pins.
pub(crate) fn script_mismatch(runbook: &Runbook, path: &Path) -> Option<String> {
    let pinned = runbook.sha256?;
    match script::sha256(path) {
        Ok(found) if found == pinned => None,
        Ok(found) => Some(format!(
            "the script's bytes are not those that the manifest pins: sha256 is {}, but the file has {}",
            hex::encode(pinned),
            hex::encode(found)
        )),
        Err(error) => Some(format!("the script cannot be read to check its sha256: {error}")),
    }
}

/// Whether script and working directory are inside the manifest's folder, where they must be. What does not
/// exist is not this function's concern.
pub(crate) fn contained(manifest: &Manifest, runbook: &Runbook) -> Result<(), String> {
    if !manifest.contain_scripts {
        return Ok(());
    }
    let folder = manifest
        .folder()
        .canonicalize()
        .map_err(|error| format!("the manifest's folder cannot be resolved: {error}"))?;
    for (key, path) in [("script", &runbook.script), ("cwd", &runbook.cwd)] {
        let path = resolve(manifest.folder(), path);
        if let Ok(real) = path.canonicalize()
            && !real.starts_with(&folder)
        {
            return Err(format!(
                "{key} leaves the manifest's folder, which containScripts forbids: {} is {}",
                path.display(),
                real.display()
            ));
        }
    }
    Ok(())
}
