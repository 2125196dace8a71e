//! One call, from the toolset's plan to the answer.

use std::{
    future::{Future, pending},
    sync::Arc,
    time::Duration,
};

use surehand_core::{Answer, CallError, Confirm, Ctx, Outcome, PersonAnswer, Plan, RunId, RunStatus, Work};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    confirm::{Confirmation, Gate},
    guarded::guarded,
    holds::Waiting,
    host::Inner,
    runs::{Closed, Run},
};

/// How long work may go on after it was withdrawn. It ends by itself well before (a process tree is killed
/// after 1.2 s); this is for work that does not listen.
const WITHDRAWAL_PATIENCE: Duration = Duration::from_secs(5);

/// A checked call.
pub(crate) struct Dispatch {
    host: Arc<Inner>,
    plan: Plan,
    work: Work,
}

impl Dispatch {
    pub(crate) fn new(host: Arc<Inner>, plan: Plan, work: Work) -> Self {
        Self { host, plan, work }
    }

    /// Takes the call through all that comes after its plan.
    pub(crate) async fn carry_out(self, cx: Ctx) -> Result<Answer, CallError> {
        if self.plan.dry_run {
            return self.describe(cx).await;
        }
        let confirmation = Confirmation::of(&self.host, &self.plan, &cx);
        let gate = unless_withdrawn(&cx, confirmation.gate()).await??;
        match gate {
            Gate::Open { run, answer } => {
                let run = self.begin_run(&cx, run, answer)?;
                self.begin(cx, run).await
            }
            Gate::Shut(answer) => Ok(answer),
            Gate::Declined { answer, why } => {
                self.begin_run(&cx, RunId::generate(), Some(answer))?
                    .withdrawn(why);
                Ok(Answer::Done(not_run(&self.plan, why)))
            }
        }
    }

    /// A dry run does nothing, so nothing is confirmed, waited for or remembered.
    async fn describe(self, cx: Ctx) -> Result<Answer, CallError> {
        let Self { plan, work, .. } = self;
        let described = guarded(async { work(cx.clone()).await });
        unless_withdrawn(&cx, described)
            .await?
            .map_err(|problem| CallError::Internal(format!("{}: {problem}", plan.tool)))?
    }

    fn begin_run(&self, cx: &Ctx, id: RunId, answer: Option<PersonAnswer>) -> Result<Run, CallError> {
        self.host
            .runs
            .begin(id, &self.plan, &cx.caller, answer, &cx.cancel)
            .map_err(|Closed| {
                CallError::Unavailable("the server is ending and takes no more calls".to_owned())
            })
    }

    /// The run goes on in a task of its own: a caller that goes away fires its token, and the locks are held
    /// until the work has really ended.
    async fn begin(self, cx: Ctx, run: Run) -> Result<Answer, CallError> {
        let let_go = run.cancel.clone().drop_guard();
        let task = tokio::spawn(self.run(cx, run).in_current_span());
        let answer = task.await;
        let_go.disarm();
        answer.map_err(|error| CallError::Internal(format!("the run was lost: {error}")))?
    }

    async fn run(self, mut cx: Ctx, mut run: Run) -> Result<Answer, CallError> {
        let Self { host, plan, work } = self;
        let mut waiting = Waiting::new(&cx);
        let caller = std::mem::replace(&mut cx.cancel, run.cancel.clone());
        let held = match unless_withdrawn(&cx, host.gates.pass(&plan, &mut waiting)).await {
            Ok(Ok(held)) => held,
            Ok(Err(error)) => {
                let refused = Err(error);
                run.end(&refused);
                return refused;
            }
            Err(withdrawn) => {
                let why = withdrawn.why();
                run.withdrawn(why);
                return by_whom(&caller, &plan, why);
            }
        };
        run.running();
        cx.run = run.scope();
        cx.progress = waiting.work_sink();
        let result = work_out(&plan, work, cx).await;
        run.end(&result);
        drop(held);
        match result {
            Err(CallError::Cancelled) => by_whom(&caller, &plan, "cancelled while it ran"),
            result => result,
        }
    }
}

/// Does the work; whatever it does, this ends.
async fn work_out(plan: &Plan, work: Work, cx: Ctx) -> Result<Answer, CallError> {
    let cancel = cx.cancel.clone();
    let too_late = async {
        cancel.cancelled().await;
        tokio::time::sleep(WITHDRAWAL_PATIENCE).await;
    };
    let answer = tokio::select! {
        answer = guarded(async { work(cx).await }) => answer
            .unwrap_or_else(|problem| Err(CallError::Internal(format!("{}: {problem}", plan.tool))))?,
        () = too_late => return Err(CallError::Cancelled),
    };
    match answer {
        // Both would use the one state that comes back with a person's answers.
        Answer::NeedsInput { .. } if plan.confirm != Confirm::No => Err(CallError::Internal(format!(
            "{}: a call that has to be confirmed cannot ask a question of its own",
            plan.tool
        ))),
        answer => Ok(answer),
    }
}

/// The answer to a call that was withdrawn: none is due where the caller did it, a result where somebody
/// else did.
fn by_whom(caller: &CancellationToken, plan: &Plan, why: &str) -> Result<Answer, CallError> {
    if caller.is_cancelled() {
        Err(CallError::Cancelled)
    } else {
        Ok(Answer::Done(not_run(plan, why)))
    }
}

/// The result of a call that a person or the end of the server stopped.
fn not_run(plan: &Plan, why: &str) -> Outcome {
    Outcome {
        status: RunStatus::Cancelled,
        ..Outcome::failure(format!("{}: {why}", plan.tool))
    }
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    Cancelled,
    Deadline,
}

impl Withdrawn {
    fn why(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled while it waited; it did not run",
            Self::Deadline => "the caller's deadline passed while it waited; it did not run",
        }
    }
}

/// For a call that was not yet a run.
impl From<Withdrawn> for CallError {
    fn from(withdrawn: Withdrawn) -> Self {
        match withdrawn {
            Withdrawn::Cancelled => Self::Cancelled,
            Withdrawn::Deadline => Self::Unavailable(withdrawn.why().to_owned()),
        }
    }
}

/// Awaits `future` until the call is withdrawn or its deadline has passed.
pub(crate) async fn unless_withdrawn<F: Future>(cx: &Ctx, future: F) -> Result<F::Output, Withdrawn> {
    let deadline = async {
        match cx.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Withdrawn::Cancelled),
        output = future => Ok(output),
        () = deadline => Err(Withdrawn::Deadline),
    }
}
