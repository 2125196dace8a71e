//! The runs that are going on, and their end in history.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::{Map, Value};
use surehand_core::{
    Answer, CallError, Caller, Outcome, PersonAnswer, Plan, Recorder, RunEnd, RunEvent, RunId, RunScope,
    RunStart, RunStatus,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Why a run that its caller let go of counts as withdrawn.
const LET_GO: &str = "the caller went away";

/// All runs of this host that have not ended.
#[derive(Clone)]
pub(crate) struct Runs {
    inner: Arc<Inner>,
}

struct Inner {
    recorder: Arc<dyn Recorder>,
    live: Mutex<Live>,
    /// How many runs are live, for those who wait for the last to end.
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Live {
    closed: bool,
    tokens: HashMap<RunId, CancellationToken>,
}

/// The host takes no more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

impl Runs {
    pub(crate) fn new(recorder: Arc<dyn Recorder>) -> Self {
        Self {
            inner: Arc::new(Inner {
                recorder,
                live: Mutex::default(),
                count: watch::Sender::new(0),
            }),
        }
    }

    /// Begins a run, which is recorded as scheduled. Its token fires with `parent`.
    pub(crate) fn begin(
        &self,
        id: RunId,
        plan: &Plan,
        caller: &Caller,
        answer: Option<PersonAnswer>,
        parent: &CancellationToken,
    ) -> Result<Run, Closed> {
        let cancel = parent.child_token();
        {
            let mut live = self.lock();
            if live.closed {
                return Err(Closed);
            }
            live.tokens.insert(id, cancel.clone());
            self.inner.count.send_replace(live.tokens.len());
        }
        tracing::info!(run = %id, tool = %plan.tool, principal = %caller.principal, "call");
        let start = RunStart {
            answer,
            ..start_of(id, plan, caller, RunStatus::Scheduled)
        };
        self.inner.recorder.record(RunEvent::Start(Box::new(start)));
        Ok(Run {
            runs: self.clone(),
            id,
            cancel,
            began: None,
            ended: false,
        })
    }

    /// Withdraws a live run. False where it is not live here.
    pub(crate) fn cancel(&self, id: RunId) -> bool {
        let token = self.lock().tokens.get(&id).cloned();
        token.inspect(CancellationToken::cancel).is_some()
    }

    /// Takes no more runs, withdraws those that are live and waits until all have ended, but not longer than
    /// `patience`. How many had not ended by then.
    pub(crate) async fn close(&self, patience: Duration) -> usize {
        let tokens: Vec<_> = {
            let mut live = self.lock();
            live.closed = true;
            live.tokens.values().cloned().collect()
        };
        for token in tokens {
            token.cancel();
        }
        let mut count = self.inner.count.subscribe();
        let all_ended = count.wait_for(|count| *count == 0);
        // The sender lives as long as `self`, so only the time can run out.
        match tokio::time::timeout(patience, all_ended).await {
            Ok(_) => 0,
            Err(_elapsed) => self.lock().tokens.len(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        // Each change under the lock is whole by itself.
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run as history will know it.
pub(crate) fn start_of(id: RunId, plan: &Plan, caller: &Caller, status: RunStatus) -> RunStart {
    RunStart {
        id,
        toolset: plan.toolset.clone(),
        tool: plan.tool.clone(),
        caller: caller.clone(),
        arguments: plan.arguments.clone(),
        command: plan.command.clone(),
        display: plan.display.clone(),
        cwd: plan.cwd.clone(),
        status,
        at: Timestamp::now(),
        answer: None,
    }
}

/// A live run. However it is let go of, it has an end in history.
pub(crate) struct Run {
    runs: Runs,
    pub(crate) id: RunId,
    /// Fires when the caller, the command line or the end of the server withdraws the run.
    pub(crate) cancel: CancellationToken,
    began: Option<Instant>,
    ended: bool,
}

impl Run {
    /// What the work may record itself as.
    pub(crate) fn scope(&self) -> RunScope {
        RunScope::new(self.id, Arc::clone(&self.runs.inner.recorder))
    }

    /// The wait is over.
    pub(crate) fn running(&mut self) {
        self.began = Some(Instant::now());
        self.runs.inner.recorder.record(RunEvent::Running {
            id: self.id,
            at: Timestamp::now(),
        });
    }

    /// The run ended as `result` says.
    pub(crate) fn end(mut self, result: &Result<Answer, CallError>) {
        let ending = Ending::of(result);
        self.record_end(ending);
    }

    /// The run was withdrawn before or while it ran.
    pub(crate) fn withdrawn(mut self, why: &str) {
        self.record_end(Ending::cancelled(why));
    }

    fn record_end(&mut self, ending: Ending) {
        self.ended = true;
        let duration_ms = self.began.map_or(0, |began| {
            u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
        });
        tracing::info!(
            run = %self.id,
            status = ending.status.as_str(),
            duration_ms,
            error = ending.error.as_deref(),
            "call ended"
        );
        let end = RunEnd {
            id: self.id,
            at: Timestamp::now(),
            status: ending.status,
            exit_code: ending.exit_code,
            signal: ending.signal,
            error: ending.error,
            duration_ms,
        };
        self.runs.inner.recorder.record(RunEvent::End(Box::new(end)));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.ended {
            self.record_end(Ending::cancelled(LET_GO));
            self.cancel.cancel();
        }
        let mut live = self.runs.lock();
        live.tokens.remove(&self.id);
        self.runs.inner.count.send_replace(live.tokens.len());
    }
}

/// How a run ended, for history.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    status: RunStatus,
    exit_code: Option<i32>,
    signal: Option<String>,
    error: Option<String>,
}

impl Ending {
    fn cancelled(why: &str) -> Self {
        Self::without_process(RunStatus::Cancelled, why.to_owned())
    }

    fn without_process(status: RunStatus, error: String) -> Self {
        Self {
            status,
            exit_code: None,
            signal: None,
            error: Some(error),
        }
    }

    fn of(result: &Result<Answer, CallError>) -> Self {
        match result {
            Ok(Answer::Done(outcome)) => Self::of_outcome(outcome),
            Ok(Answer::NeedsInput { .. }) => {
                Self::cancelled("it asked its caller a question; the answered call is a run of its own")
            }
            Err(CallError::Cancelled) => Self::cancelled("the caller withdrew the call"),
            Err(error) => Self::without_process(RunStatus::Failed, error.to_string()),
        }
    }

    fn of_outcome(outcome: &Outcome) -> Self {
        let field = |name: &str| {
            outcome
                .structured
                .as_ref()
                .and_then(|map: &Map<_, _>| map.get(name))
        };
        let status = match outcome.status {
            status if status.is_final() => status,
            _ if outcome.is_error => RunStatus::Failed,
            _ => RunStatus::Success,
        };
        Self {
            status,
            exit_code: field("exit_code")
                .and_then(Value::as_i64)
                .and_then(|code| i32::try_from(code).ok()),
            signal: field("signal").and_then(Value::as_str).map(str::to_owned),
            error: outcome.error.clone(),
        }
    }
}
