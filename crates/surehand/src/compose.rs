//! The composition root: the only place that knows all crates.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use surehand_core::{Approvals, Caller, Channel, Recorder};
use surehand_exec::{Executor, ExecutorConfig};
use surehand_host::Host;
use surehand_policy::LocalPolicy;
use surehand_runbook::{RunbookOptions, Runbooks, Watching};
use surehand_store::{FlushError, History, HistoryConfig};
use tokio::task::JoinHandle;

use crate::{
    config::{Settings, absolute},
    errors::{CliError, hint_line, warn},
    user,
};

/// How long the last events may take to reach the disk when the program ends.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Edits are followed from this long after the start on; what was edited before is noticed then.
const WATCH_AFTER: Duration = Duration::from_millis(100);

/// Everything that a command needs to list and call.
pub(crate) struct Composed {
    pub(crate) host: Host,
    history: Option<History>,
    runbooks: Option<Arc<Runbooks>>,
}

impl Composed {
    /// For calls that are remembered.
    pub(crate) async fn with_history(settings: &Settings) -> Result<Self, CliError> {
        let history = history(settings);
        Self::new(settings, history).await
    }

    /// For looking only.
    pub(crate) async fn without_history(settings: &Settings) -> Result<Self, CliError> {
        Self::new(settings, None).await
    }

    async fn new(settings: &Settings, history: Option<History>) -> Result<Self, CliError> {
        let runbooks = runbooks(settings)?;
        let mut builder = Host::builder()
            .policy(Arc::new(LocalPolicy))
            .lock_folder(Some(lock_folder(settings)))
            .dry_run(settings.dry_run);
        if let Some(runbooks) = &runbooks {
            builder = builder.toolset(runbooks.toolset(Executor::new(ExecutorConfig::default())));
        }
        if let Some(history) = &history {
            builder = builder
                .recorder(Arc::new(history.clone()) as Arc<dyn Recorder>)
                .approvals(Some(Arc::new(history.clone()) as Arc<dyn Approvals>));
        }
        let host = builder.build().await?;
        if let Some(history) = &history {
            let host = host.clone();
            history.on_cancel(Arc::new(move |run| {
                // False where the run has just ended: then there is nothing to do.
                let _ = host.cancel(run);
            }));
        }
        Ok(Self {
            host,
            history,
            runbooks,
        })
    }

    /// There has to be something to call or to list.
    pub(crate) fn require_manifest(settings: &Settings) -> Result<(), CliError> {
        if settings.manifests.is_empty() {
            // A folder that was deleted has no path any more.
            let here = absolute(Path::new(".")).unwrap_or_else(|_| PathBuf::from("."));
            return Err(CliError::NothingHere(here));
        }
        Ok(())
    }

    /// How many runbooks there are.
    pub(crate) fn runbook_count(&self) -> usize {
        self.runbooks.as_ref().map_or(0, |runbooks| runbooks.count())
    }

    /// Serves the manifests as they are edited, for as long as the result lives. Setting that up takes as
    /// long as all else at the start together, so it is done beside the first answers.
    pub(crate) fn follow_edits(&self) -> Option<JoinHandle<Option<Watching>>> {
        let runbooks = Arc::clone(self.runbooks.as_ref()?);
        Some(tokio::spawn(async move {
            tokio::time::sleep(WATCH_AFTER).await;
            let watching = tokio::task::spawn_blocking(move || runbooks.watch()).await.ok()?;
            watching
                .inspect_err(|error| warn(format_args!("edits of the manifest will not be noticed: {error}")))
                .ok()
        }))
    }

    /// Ends all runs and brings what happened to the disk.
    pub(crate) async fn close(self) {
        let left = self.host.shutdown().await;
        if left > 0 {
            tracing::error!(
                left,
                "runs had not ended in time; their processes die with this one"
            );
        }
        let Some(history) = self.history else { return };
        match history.flush(FLUSH_PATIENCE).await {
            // The reason was told when it was found.
            Ok(()) | Err(FlushError::Off(_) | FlushError::Failing) => {}
            Err(error @ FlushError::Timeout) => {
                tracing::error!("{error}: what happened last may be missing in it");
            }
        }
    }
}

fn runbooks(settings: &Settings) -> Result<Option<Arc<Runbooks>>, CliError> {
    if settings.manifests.is_empty() {
        return Ok(None);
    }
    Ok(Some(Runbooks::load(
        &settings.manifests,
        RunbookOptions::default(),
    )?))
}

/// History is a convenience that must never stand in the way of a call.
fn history(settings: &Settings) -> Option<History> {
    if !settings.history {
        return None;
    }
    let Some(folder) = &settings.state_folder else {
        warn("there is no folder for the history: runs will not be remembered");
        hint_line("set SUREHAND_STATE_DIR, or say --no-history");
        return None;
    };
    Some(History::start(HistoryConfig::new(folder)))
}

/// Locks hold across processes that share a state folder, history or not.
/// Where locks are shared between servers. Where there is no place for state there is still one for these: calls that
/// must not overlap do not begin to, only because nothing is remembered.
fn lock_folder(settings: &Settings) -> PathBuf {
    let folder = settings
        .state_folder
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("surehand-{}", user::number())));
    folder.join("locks")
}

/// The person at this command line.
pub(crate) fn caller(settings: &Settings) -> Caller {
    Caller::new(&settings.principal, Channel::CommandLine)
}
