//! Following the manifests as they are edited.
//!
//! By looking at them, not by waiting for the system's word: that would wake this process at every opening of a
//! script beside a manifest, that is at every call, and is not to be had on every file system.

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime},
};

use super::runbooks::{Runbooks, contents};

/// How often the manifests are looked at.
const EVERY: Duration = Duration::from_millis(400);
/// Editors write a file in several steps; this long nothing must happen before it is read.
const SETTLED: Duration = Duration::from_millis(150);
/// However often it is written, nothing is put off longer than this.
const AT_LATEST: Duration = Duration::from_secs(2);
/// After a reload that failed, what was missing (a script, say) is looked for this often.
const RETRY: Duration = Duration::from_secs(2);

/// The manifests cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("no thread can be started: {0}")]
pub struct WatchError(#[source] io::Error);

/// Manifests are followed as long as this lives.
#[derive(Debug)]
#[must_use = "watching ends when this is dropped"]
pub struct Watching {
    /// Dropping it ends the thread that listens.
    _end: mpsc::Sender<()>,
}

impl Runbooks {
    /// Loads the manifests again whenever they change. A bad one is logged and changes nothing else: the
    /// last good one is served on.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn watch(self: &Arc<Self>) -> Result<Watching, WatchError> {
        let (sender, end) = mpsc::channel();
        let follower = Follower {
            read: self.loaded().to_vec(),
            runbooks: Arc::clone(self),
            failure: None,
        };
        std::thread::Builder::new()
            .name("runbooks-watch".to_owned())
            .spawn(move || follower.follow(&end))
            .map_err(WatchError)?;
        Ok(Watching { _end: sender })
    }
}

/// What tells one state of a file from another without reading it; None where there is none.
type Mark = Option<(u64, SystemTime, u64)>;

fn marks(paths: &[PathBuf]) -> Vec<Mark> {
    let mark = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some((found.len(), found.modified().ok()?, identity(&found)))
    };
    paths.iter().map(mark).collect()
}

/// Editors put a new file in the place of the old one, and so do mounted configurations, by a link.
#[cfg(unix)]
fn identity(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

/// No cheap identity here: length and time must do.
#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> u64 {
    0
}

struct Follower {
    runbooks: Arc<Runbooks>,
    /// What was loaded last, or tried to.
    read: Vec<Option<Vec<u8>>>,
    /// Why the last reload failed.
    failure: Option<String>,
}

impl Follower {
    fn follow(mut self, end: &mpsc::Receiver<()>) {
        // They may have been edited between the loading and now.
        self.look();
        let mut seen = marks(self.runbooks.paths());
        let mut looked = Instant::now();
        while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            let mut now = marks(self.runbooks.paths());
            let retry = self.failure.is_some() && looked.elapsed() >= RETRY;
            if now == seen && !retry {
                continue;
            }
            let begun = Instant::now();
            while now != seen && begun.elapsed() < AT_LATEST {
                seen = now;
                std::thread::sleep(SETTLED);
                now = marks(self.runbooks.paths());
            }
            seen = now;
            looked = Instant::now();
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
