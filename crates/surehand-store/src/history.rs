//! The history of a serving process: taken from the callers at once, written in the background.

mod queue;
mod report;
mod retention;
mod writer;

use std::{
    path::PathBuf,
    sync::{Arc, Once, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use surehand_core::{ApprovalRequest, Approvals, ApprovalsError, Recorder, RunEvent, RunId};
use tokio::sync::oneshot;

use self::queue::{Queue, Word};
use crate::{RetentionLimits, StoreError, private};

/// Called with the id of a run of this process that somebody wants cancelled, once a run, on the history's
/// own thread. Must not block.
pub type CancelCallback = Arc<dyn Fn(RunId) + Send + Sync>;

/// Where history is kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The state directory.
    pub dir: PathBuf,
    /// Runs that ended longer ago are forgotten. By default 30 days.
    pub retention_age: SignedDuration,
    /// When all runs together take more bytes than this, the oldest are forgotten. By default 1 GiB.
    pub retention_bytes: u64,
    /// See [`crate::SqliteOptions::sync_full`].
    pub sync_full: bool,
}

impl HistoryConfig {
    /// The defaults.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            retention_age: SignedDuration::from_hours(30 * 24),
            retention_bytes: 1 << 30,
            sync_full: false,
        }
    }

    fn limits(&self) -> RetentionLimits {
        RetentionLimits {
            age: self.retention_age,
            bytes: self.retention_bytes,
        }
    }
}

/// What was recorded is not all written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    /// It took too long.
    #[error("history was not written in time")]
    Timeout,
    /// It was just tried in vain; the reason was told to the log.
    #[error("history cannot be written")]
    Failing,
    /// History is off in this process.
    #[error("history is off: {0}")]
    Off(String),
}

/// The history that a process writes. Clones are the same history.
///
/// Trouble with the store is reported once a kind, and never holds up or fails a call.
#[derive(Clone)]
pub struct History {
    shared: Arc<Shared>,
    /// Ends the background thread with the last clone.
    _last: Arc<Last>,
}

struct Shared {
    config: HistoryConfig,
    folders: PathBuf,
    folders_private: OnceLock<bool>,
    queue: Queue,
    on_cancel: std::sync::Mutex<Option<CancelCallback>>,
    reports: report::Reports,
    begun: Once,
}

impl Shared {
    /// Starts the background thread, the first time that there is something for it to do.
    fn begin(self: &Arc<Self>) {
        self.begun.call_once(|| {
            let shared = Arc::clone(self);
            let spawned = std::thread::Builder::new()
                .name("surehand-history".to_owned())
                .spawn(move || writer::run(&shared));
            if let Err(error) = spawned {
                self.turn_off(&format!("no thread can be started for it: {error}"), None);
            }
        });
    }
}

struct Last(Arc<Shared>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

impl History {
    /// Begins. Nothing is started, opened, made or looked at before there is something to write.
    #[must_use]
    pub fn start(config: HistoryConfig) -> Self {
        // A relative path must mean the same file however the process moves about.
        let dir = std::path::absolute(&config.dir).unwrap_or(config.dir);
        let config = HistoryConfig { dir, ..config };
        let shared = Arc::new(Shared {
            folders: config.dir.join("runs"),
            folders_private: OnceLock::new(),
            queue: Queue::new(),
            on_cancel: std::sync::Mutex::new(None),
            reports: report::Reports::default(),
            begun: Once::new(),
            config,
        });
        Self {
            _last: Arc::new(Last(Arc::clone(&shared))),
            shared,
        }
    }

    /// Waits until all that was recorded so far is written. Where writing fails at present, it is tried once
    /// more, at once; only for a database that another process holds is it worth waiting.
    ///
    /// # Errors
    /// [`FlushError::Timeout`] when it is not by then, [`FlushError::Failing`] when it cannot be at present,
    /// [`FlushError::Off`] when it never will be.
    pub async fn flush(&self, timeout: Duration) -> Result<(), FlushError> {
        self.shared.queue.written(timeout).await
    }

    /// Says whom to tell that somebody wants a run of this process cancelled. Requests are noticed within a
    /// fraction of a second while this process has runs that have not ended.
    pub fn on_cancel(&self, callback: CancelCallback) {
        *lock(&self.shared.on_cancel) = Some(callback);
        self.shared.queue.wake();
    }

    /// Why nothing is recorded any more; None where all is well, or may become so.
    #[must_use]
    pub fn is_off(&self) -> Option<String> {
        self.shared.queue.off()
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("dir", &self.shared.config.dir)
            .finish_non_exhaustive()
    }
}

impl Recorder for History {
    fn record(&self, event: RunEvent) {
        self.shared.queue.push(event);
        self.shared.begin();
    }

    /// The first time, makes sure that the folders are their user's alone: whoever writes there next must
    /// not be led astray.
    fn run_folder(&self, id: RunId) -> Option<PathBuf> {
        if self.shared.queue.off().is_some() {
            return None;
        }
        let private = *self
            .shared
            .folders_private
            .get_or_init(|| self.shared.make_folders());
        private.then(|| self.shared.folders.join(id.as_text()))
    }
}

#[async_trait]
impl Approvals for History {
    async fn ask(&self, request: ApprovalRequest) -> Result<RunId, ApprovalsError> {
        let (answer, answered) = oneshot::channel();
        self.say(
            Word::Ask {
                request: Box::new(request),
                answer,
            },
            answered,
        )
        .await
    }

    async fn take(&self, principal: &str, tool: &str, digest: &str) -> Result<Option<RunId>, ApprovalsError> {
        let (answer, answered) = oneshot::channel();
        let word = Word::Take {
            principal: principal.to_owned(),
            tool: tool.to_owned(),
            digest: digest.to_owned(),
            at: Timestamp::now(),
            answer,
        };
        self.say(word, answered).await
    }
}

impl History {
    async fn say<T>(
        &self,
        word: Word,
        answered: oneshot::Receiver<Result<T, ApprovalsError>>,
    ) -> Result<T, ApprovalsError> {
        self.shared.queue.say(word)?;
        self.shared.begin();
        answered
            .await
            .unwrap_or_else(|_| Err(ApprovalsError("the history of this process has ended".to_owned())))
    }
}

impl Shared {
    fn make_folders(&self) -> bool {
        let made = private::ensure_directory(&self.config.dir)
            .map_err(|error| (error, true))
            .and_then(|()| private::ensure_directory(&self.folders).map_err(|error| (error, false)));
        match made {
            Ok(()) => true,
            // The background thread fails in the same way, and tells.
            Err((private::PrivacyError::Io { .. }, true)) => false,
            Err((error @ private::PrivacyError::Io { .. }, false)) => {
                self.reports.folders(&error);
                false
            }
            Err((error, _)) => {
                let error = StoreError::NotPrivate(error);
                self.turn_off(&error.to_string(), error.hint().as_deref());
                false
            }
        }
    }

    /// For good, in this process. It is told before anybody can see it.
    fn turn_off(&self, reason: &str, hint: Option<&str>) {
        self.reports.off(reason, hint);
        self.queue.turn_off(reason);
    }
}

/// No code that holds one of these locks can leave what it guards half done.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
