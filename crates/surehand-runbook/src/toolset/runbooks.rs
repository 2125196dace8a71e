//! The toolset.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use async_trait::async_trait;
use surehand_core::{Call, CallError, Change, Ctx, ListError, Listing, Offers, Prepared, Toolset, nearest};
use surehand_exec::Executor;
use tokio::sync::broadcast;

use super::{
    identity::Scripts,
    plan::{Planner, is_light},
    served::Served,
};
use crate::{
    argv::Surroundings,
    manifest::{LARGEST_MANIFEST, ManifestError, absolute},
    published::TOOLSET,
    regular_file,
};

/// How many changes a slow listener may miss before it is told that it missed some.
const CHANGES_KEPT: usize = 16;

/// How runbooks are served.
#[derive(Debug, Clone)]
pub struct RunbookOptions {
    /// Say what every call would run instead of running it.
    pub dry_run: bool,
    /// What commands depend on besides the manifest.
    pub surroundings: Surroundings,
}

impl Default for RunbookOptions {
    /// Calls are carried out, in the surroundings of this process.
    fn default() -> Self {
        Self {
            dry_run: false,
            surroundings: Surroundings::of_process(),
        }
    }
}

/// Manifests that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// What is wrong, by manifest.
    pub errors: Vec<ManifestError>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.errors.iter().map(ManifestError::format).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for LoadError {}

/// The runbooks of one or more manifests.
#[derive(Debug)]
pub struct Runbooks {
    paths: Vec<PathBuf>,
    dry_run: bool,
    surroundings: Arc<Surroundings>,
    served: RwLock<Arc<Served>>,
    changes: broadcast::Sender<Change>,
    scripts: Arc<Scripts>,
    /// What the manifests held just before they were loaded.
    loaded: Vec<Option<Vec<u8>>>,
}

/// The bytes of manifests; None for one that cannot be read.
pub(super) fn contents(paths: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    let read = |path: &PathBuf| regular_file::read(path, LARGEST_MANIFEST).ok();
    paths.iter().map(read).collect()
}

impl Runbooks {
    /// Loads manifests. Nothing is served unless all of them are whole, their files included.
    ///
    /// # Errors
    /// With everything that is wrong with any of them; and when two of them have a tool of the same name.
    pub fn load(paths: &[PathBuf], options: RunbookOptions) -> Result<Arc<Self>, LoadError> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| absolute(path)).collect();
        let loaded = contents(&paths);
        let served = Served::load(&paths)?;
        Ok(Arc::new(Self {
            loaded,
            paths,
            dry_run: options.dry_run,
            surroundings: Arc::new(options.surroundings),
            served: RwLock::new(Arc::new(served)),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            scripts: Arc::default(),
        }))
    }

    /// The toolset that carries out calls with this executor.
    #[must_use]
    pub fn toolset(self: &Arc<Self>, executor: Executor) -> Arc<dyn Toolset> {
        Arc::new(RunbookToolset {
            runbooks: Arc::clone(self),
            executor,
        })
    }

    /// Loads the manifests again. What was served stays when anything is wrong with them.
    ///
    /// # Errors
    /// As [`Runbooks::load`].
    pub fn reload(&self) -> Result<(), LoadError> {
        let served = Arc::new(Served::load(&self.paths)?);
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
        // Nobody listens: nobody needs to know.
        let _ = self.changes.send(Change::Tools);
        Ok(())
    }

    /// The manifests' absolute paths.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How many runbooks are served.
    #[must_use]
    pub fn count(&self) -> usize {
        self.served().entries.len()
    }

    pub(super) fn loaded(&self) -> &[Option<Vec<u8>>] {
        &self.loaded
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct RunbookToolset {
    runbooks: Arc<Runbooks>,
    executor: Executor,
}

#[async_trait]
impl Toolset for RunbookToolset {
    fn name(&self) -> &str {
        TOOLSET
    }

    fn offers(&self) -> Offers {
        Offers { tools: true }
    }

    async fn list(&self, _: &Ctx, cursor: Option<&str>) -> Result<Listing, ListError> {
        if let Some(cursor) = cursor {
            return Err(ListError::UnknownCursor(cursor.to_owned()));
        }
        let served = self.runbooks.served();
        Ok(Listing {
            tools: served.entries.iter().map(|entry| entry.tool.clone()).collect(),
            next: None,
        })
    }

    async fn prepare(&self, _: &Ctx, call: Call) -> Result<Prepared, CallError> {
        let served = self.runbooks.served();
        let Some(entry) = served.get(&call.tool) else {
            let names = served.entries.iter().map(|entry| entry.tool.name.as_str());
            return Err(CallError::UnknownTool {
                nearest: nearest(&call.tool, names).map(str::to_owned),
                name: call.tool,
            });
        };
        let planner = Planner {
            entry: Arc::clone(entry),
            surroundings: Arc::clone(&self.runbooks.surroundings),
            scripts: Arc::clone(&self.runbooks.scripts),
            executor: self.executor.clone(),
            dry_run: self.runbooks.dry_run || call.dry_run,
        };
        if is_light(entry, &call.arguments) {
            return planner.prepare(&call.arguments);
        }
        // Long values and costly patterns must not keep others waiting.
        tokio::task::spawn_blocking(move || planner.prepare(&call.arguments))
            .await
            .map_err(|error| CallError::Internal(error.to_string()))?
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.runbooks.changes.subscribe())
    }
}
