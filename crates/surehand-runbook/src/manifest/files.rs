//! The fifth stage: what is on disk.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    model::{Manifest, Runbook},
    paths::resolve,
    problem::Problem,
};
use crate::{
    execute,
    regular_file::{self, FileError},
    script,
};

/// Checks that all scripts and folders are there and are what the manifest says. An empty list means yes.
#[must_use]
pub fn check_files(manifest: &Manifest) -> Vec<Problem> {
    let mut problems = Vec::new();
    let confinement = execute::confinement_enforceable();
    for runbook in &manifest.runbooks {
        let mut complain = |message: String| problems.push(Problem::new(&*runbook.name, message));
        let script = resolve(manifest.folder(), &runbook.script);
        let cwd = resolve(manifest.folder(), &runbook.cwd);
        match regular_file::metadata(&script) {
            Ok(_) => script_mismatch(runbook, &script)
                .into_iter()
                .for_each(&mut complain),
            Err(error) => complain(not_found(&script, &error)),
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
                match through_links(manifest, path) {
                    Ok(None) => {}
                    Ok(Some(real)) => complain(format!(
                        "confine: {path} leads through a symbolic link, which a script may exchange; name what it leads to: {}",
                        real.display()
                    )),
                    Err(_) => complain(format!(
                        "confine names a path that does not exist: {}",
                        resolve(manifest.folder(), path).display()
                    )),
                }
            }
        }
    }
    problems
}

/// Where a path leads that is not its own place: below the manifest's folder, which itself may be a link, or from the
/// root. None where it leads through no link.
fn through_links(manifest: &Manifest, path: &str) -> std::io::Result<Option<PathBuf>> {
    let named = granted(manifest, path);
    let real = named.canonicalize()?;
    Ok((real != named).then_some(real))
}

/// The place that `confine` grants: without links in the folder of the manifest, and otherwise as it is named.
pub(crate) fn granted(manifest: &Manifest, path: &str) -> PathBuf {
    let folder = manifest.folder();
    resolve(&folder.canonicalize().unwrap_or_else(|_| folder.to_owned()), path)
}

/// The original's words, and what they leave out.
fn not_found(script: &Path, error: &FileError) -> String {
    let script = script.display();
    match error {
        FileError::Io(error) if error.kind() == ErrorKind::NotFound => format!("script not found: {script}"),
        FileError::Other(kind) => format!("script not found: {script} (it is {kind})"),
        error => format!("script not found: {script} (it {error})"),
    }
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
        Err(error) => Some(format!("the script's sha256 cannot be checked: the file {error}")),
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
