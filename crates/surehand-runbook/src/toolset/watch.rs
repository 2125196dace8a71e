//! Following the manifests as they are edited.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::runbooks::{Runbooks, contents};

/// Editors write a file in several steps; this long nothing must happen before it is read.
const SETTLED: Duration = Duration::from_millis(150);
/// However much goes on in the folder, nothing is put off longer than this.
const AT_LATEST: Duration = Duration::from_secs(2);
/// After a reload that failed, what was missing (a script, say) is looked for this often.
const RETRY: Duration = Duration::from_secs(2);

/// The file system cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {cause}", .path.display())]
pub struct WatchError {
    /// What.
    pub path: PathBuf,
    /// Why.
    pub cause: notify::Error,
}

/// Manifests are followed as long as this lives.
#[must_use = "watching ends when this is dropped"]
pub struct Watching {
    /// Dropping it closes the channel that its thread listens to.
    _watcher: RecommendedWatcher,
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

impl Runbooks {
    /// Loads the manifests again whenever they change. A bad one is logged and changes nothing else: the
    /// last good one is served on.
    ///
    /// # Errors
    /// When the folders of the manifests cannot be watched.
    pub fn watch(self: &Arc<Self>) -> Result<Watching, WatchError> {
        let (sender, events) = mpsc::channel();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| WatchError { path, cause }
        };
        let first = self.paths().first().map_or(Path::new("."), PathBuf::as_path);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // The thread has gone only if the watching is over.
            let _ = sender.send(event);
        })
        .map_err(failed(first))?;
        // Folders, not files: editors put a new file in the place of the old one, and so do mounted
        // configurations, by a link.
        for folder in self.folders() {
            watcher
                .watch(&folder, RecursiveMode::NonRecursive)
                .map_err(failed(&folder))?;
        }
        let follower = Follower {
            read: self.loaded().to_vec(),
            runbooks: Arc::clone(self),
            failure: None,
        };
        std::thread::Builder::new()
            .name("runbooks-watch".to_owned())
            .spawn(move || follower.follow(&events))
            .map_err(|error| failed(first)(notify::Error::io(error)))?;
        Ok(Watching { _watcher: watcher })
    }

    /// The folders of all manifests, and of the files that they are links to.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let real = self.paths().iter().filter_map(|path| path.canonicalize().ok());
        real.chain(self.paths().iter().cloned())
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect()
    }
}

struct Follower {
    runbooks: Arc<Runbooks>,
    /// What was loaded last, or tried to.
    read: Vec<Option<Vec<u8>>>,
    /// Why the last reload failed.
    failure: Option<String>,
}

impl Follower {
    fn follow(mut self, events: &mpsc::Receiver<notify::Result<notify::Event>>) {
        // They may have been edited between the loading and now.
        self.look();
        loop {
            let event = if self.failure.is_some() {
                events.recv_timeout(RETRY)
            } else {
                events.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
            };
            match event {
                Ok(Err(error)) => tracing::error!(%error, "the manifests may have changed unnoticed"),
                Ok(Ok(event)) if event.kind.is_access() => continue,
                Ok(Ok(_)) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            let begun = Instant::now();
            while begun.elapsed() < AT_LATEST && events.recv_timeout(SETTLED).is_ok() {}
            self.look();
        }
    }

    fn look(&mut self) {
        let contents = contents(self.runbooks.paths());
        if contents == self.read && self.failure.is_none() {
            return;
        }
        self.read = contents;
        match self.runbooks.reload() {
            Ok(()) => {
                self.failure = None;
                tracing::info!(count = self.runbooks.count(), "the manifests were loaded again");
            }
            Err(error) => {
                let text = error.to_string();
                if self.failure.as_ref() != Some(&text) {
                    tracing::error!("the last good manifests are served on: {text}");
                }
                self.failure = Some(text);
            }
        }
    }
}
