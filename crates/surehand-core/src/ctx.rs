//! For whom, how and until when a call is made.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Caller, InputAnswer, NoRecorder, Recorder, RunEvent, RunId};

/// What the calling client can do for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientCapabilities {
    /// It can put a question to its person (MCP elicitation, form mode).
    pub elicitation: bool,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done; grows with each report of a call.
    pub done: f64,
    /// How much there is, where it is known.
    pub total: Option<f64>,
    /// The latest news, one line.
    pub message: String,
}

/// Where progress goes. Never blocks.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// Which of a process's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl StreamName {
    /// `stdout` or `stderr`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// One line of live output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// Where it was written.
    pub stream: StreamName,
    /// The line without its end, cleaned and redacted.
    pub text: String,
}

/// Where live output goes. Never blocks.
pub type OutputSink = Arc<dyn Fn(OutputLine) + Send + Sync>;

/// What came back from a person for an [`crate::Answer::NeedsInput`] of the same call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// Answers by the key of their question.
    pub answers: BTreeMap<String, InputAnswer>,
    /// The state that went with the questions, unsealed and verified.
    pub state: Option<Value>,
}

/// The run that a call is recorded as.
#[derive(Clone)]
pub struct RunScope {
    id: RunId,
    recorder: Arc<dyn Recorder>,
}

impl RunScope {
    /// A run under `id`, remembered by `recorder`.
    #[must_use]
    pub fn new(id: RunId, recorder: Arc<dyn Recorder>) -> Self {
        Self { id, recorder }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Remembers an event. Never blocks and never fails the call.
    pub fn record(&self, event: RunEvent) {
        self.recorder.record(event);
    }

    /// The folder for the run's large outputs. It may not exist yet. None where history is off.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        self.recorder.run_folder(self.id)
    }
}

impl std::fmt::Debug for RunScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunScope").field(&self.id).finish()
    }
}

/// The circumstances of one call or listing.
#[derive(Clone)]
#[non_exhaustive]
pub struct Ctx {
    /// On whose behalf.
    pub caller: Caller,
    /// What the client can do for us.
    pub client: ClientCapabilities,
    /// The protocol revision in use, for example `2025-11-25`; empty outside MCP.
    pub revision: String,
    /// When the caller stops waiting, where it said.
    pub deadline: Option<Instant>,
    /// Fires when the caller withdraws the call or the server ends.
    pub cancel: CancellationToken,
    /// Where progress goes, where the caller asked for it.
    pub progress: Option<ProgressSink>,
    /// Where live output goes, where somebody watches.
    pub output: Option<OutputSink>,
    /// W3C trace context of the caller (`traceparent`), where it sent one.
    pub trace: Option<String>,
    /// Answers of a person to questions of an earlier round of this call.
    pub inputs: Inputs,
    /// The run that this call is recorded as.
    pub run: RunScope,
}

impl Ctx {
    /// Starts a context with nothing but a caller: no cancellation, no progress, no history.
    #[must_use]
    pub fn builder(caller: Caller) -> CtxBuilder {
        CtxBuilder {
            ctx: Self {
                caller,
                client: ClientCapabilities::default(),
                revision: String::new(),
                deadline: None,
                cancel: CancellationToken::new(),
                progress: None,
                output: None,
                trace: None,
                inputs: Inputs::default(),
                run: RunScope::new(RunId::generate(), Arc::new(NoRecorder)),
            },
        }
    }
}

impl std::fmt::Debug for Ctx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx")
            .field("caller", &self.caller)
            .field("client", &self.client)
            .field("revision", &self.revision)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Builds a [`Ctx`].
#[derive(Debug, Clone)]
pub struct CtxBuilder {
    ctx: Ctx,
}

impl CtxBuilder {
    /// Says what the client can do for us.
    #[must_use]
    pub fn client(mut self, client: ClientCapabilities) -> Self {
        self.ctx.client = client;
        self
    }

    /// Says which protocol revision is in use.
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.ctx.revision = revision.into();
        self
    }

    /// Says when the caller stops waiting.
    #[must_use]
    pub fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.ctx.deadline = deadline;
        self
    }

    /// Says what fires on withdrawal.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.ctx.cancel = cancel;
        self
    }

    /// Says where progress goes.
    #[must_use]
    pub fn progress(mut self, progress: Option<ProgressSink>) -> Self {
        self.ctx.progress = progress;
        self
    }

    /// Says where live output goes.
    #[must_use]
    pub fn output(mut self, output: Option<OutputSink>) -> Self {
        self.ctx.output = output;
        self
    }

    /// Says which trace the call belongs to.
    #[must_use]
    pub fn trace(mut self, trace: Option<String>) -> Self {
        self.ctx.trace = trace;
        self
    }

    /// Brings a person's answers.
    #[must_use]
    pub fn inputs(mut self, inputs: Inputs) -> Self {
        self.ctx.inputs = inputs;
        self
    }

    /// The context.
    #[must_use]
    pub fn build(self) -> Ctx {
        self.ctx
    }
}
