//! What is served at one moment.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use surehand_core::Tool;
use surehand_exec::Confinement;

use super::runbooks::LoadError;
use crate::{
    manifest::{Manifest, ManifestError, Problem, Runbook, Stage, check_files, granted, load_manifest},
    published,
};

/// One runbook with the tool that it is.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) manifest: Arc<Manifest>,
    /// Where the manifest is: as it was named, and, if that is another path, with symbolic links resolved. By the
    /// one, calls exclude each other across an exchange of the links; by the other, across servers that named it
    /// differently.
    pub(super) places: Arc<[PathBuf]>,
    index: usize,
    pub(super) tool: Tool,
    /// What the runbook's `confine` grants. No part of it is a symbolic link, or the manifest would not have been loaded.
    confinement: Option<Confinement>,
}

impl Entry {
    pub(super) fn runbook(&self) -> &Runbook {
        &self.manifest.runbooks[self.index]
    }

    /// What a run of this script may reach, if it is confined.
    pub(super) fn confinement(&self, script: &Path) -> Option<Confinement> {
        let mut confinement = self.confinement.clone()?;
        confinement.read.push(real(script));
        Some(confinement)
    }
}

/// All runbooks of all manifests.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) entries: Vec<Arc<Entry>>,
    by_name: HashMap<String, usize>,
}

impl Served {
    /// Loads manifests completely, files included.
    pub(super) fn load(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut served = Self::default();
        let mut errors = Vec::new();
        for path in paths {
            match load_one(path) {
                Ok((manifest, places)) => errors.extend(served.add(manifest, &places).err()),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(served)
        } else {
            Err(LoadError { errors })
        }
    }

    fn add(&mut self, manifest: Manifest, places: &Arc<[PathBuf]>) -> Result<(), ManifestError> {
        let manifest = Arc::new(manifest);
        let mut problems = Vec::new();
        for (index, runbook) in manifest.runbooks.iter().enumerate() {
            let tool = published::tool(&manifest, runbook);
            if let Some(other) = self.get(&tool.name) {
                problems.push(Problem::new(
                    &*runbook.name,
                    format!(
                        "the tool {:?} is also in {}; set \"prefix\" in one of the two",
                        tool.name,
                        other.manifest.path.display()
                    ),
                ));
                continue;
            }
            self.by_name.insert(tool.name.clone(), self.entries.len());
            self.entries.push(Arc::new(Entry {
                manifest: Arc::clone(&manifest),
                places: Arc::clone(places),
                index,
                tool,
                confinement: confinement(&manifest, runbook),
            }));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ManifestError::problems(
                &manifest.path.display().to_string(),
                Stage::Rules,
                problems,
            ))
        }
    }

    /// The runbook behind a tool's name.
    pub(super) fn get(&self, tool: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(tool).map(|index| &self.entries[*index])
    }
}

fn load_one(path: &Path) -> Result<(Manifest, Arc<[PathBuf]>), ManifestError> {
    let manifest = load_manifest(path)?;
    let places = places(&manifest)?;
    let problems = check_files(&manifest);
    if problems.is_empty() {
        Ok((manifest, places))
    } else {
        let label = manifest.path.display().to_string();
        Err(ManifestError::problems(&label, Stage::Files, problems))
    }
}

fn places(manifest: &Manifest) -> Result<Arc<[PathBuf]>, ManifestError> {
    let named = manifest.path.clone();
    let real = named.canonicalize().map_err(|error| {
        let label = named.display();
        let message = format!("cannot read manifest {label}: its links cannot be resolved ({error})");
        ManifestError::message(&label.to_string(), Stage::Read, message)
    })?;
    let other = (real != named).then_some(real);
    Ok([named].into_iter().chain(other).collect())
}

fn confinement(manifest: &Manifest, runbook: &Runbook) -> Option<Confinement> {
    let confine = runbook.confine.as_ref()?;
    let all = |paths: &[String]| paths.iter().map(|path| granted(manifest, path)).collect();
    Some(Confinement {
        read: all(&confine.read),
        write: all(&confine.write),
        network: confine.network,
    })
}

/// A path without symbolic links. One that is not there stays as it is, and will be refused when it is used.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
