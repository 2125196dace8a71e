//! A person's yes, or the caller's own second thought, before a call is carried out.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use surehand_core::{
    Answer, ApprovalRequest, CallError, Channel, Confirm, Ctx, InputAnswer, InputRequest, Outcome,
    PersonAnswer, Plan, Refusal, RunId, RunStatus,
};

use crate::{host::Inner, runs::start_of, tokens::TOKEN_LIFE};

/// The key under which a person's answer comes back.
const QUESTION: &str = "confirm";

/// Whether a call may go on.
pub(crate) enum Gate {
    /// It may, as this run.
    Open {
        run: RunId,
        /// What the person said just now, where one was asked.
        answer: Option<PersonAnswer>,
    },
    /// Not yet; the answer says what has to happen first. Nothing ran.
    Shut(Answer),
    /// A person said no.
    Declined {
        answer: PersonAnswer,
        /// In words for the caller and history.
        why: &'static str,
    },
}

impl Gate {
    fn unasked(run: RunId) -> Self {
        Self::Open { run, answer: None }
    }
}

/// The confirmation of one call.
pub(crate) struct Confirmation<'a> {
    host: &'a Inner,
    plan: &'a Plan,
    cx: &'a Ctx,
}

impl<'a> Confirmation<'a> {
    pub(crate) fn of(host: &'a Inner, plan: &'a Plan, cx: &'a Ctx) -> Self {
        Self { host, plan, cx }
    }

    pub(crate) async fn gate(&self) -> Result<Gate, CallError> {
        match self.plan.confirm {
            Confirm::No => Ok(Gate::unasked(RunId::generate())),
            Confirm::Token if self.cx.caller.channel == Channel::CommandLine => self.at_the_terminal(),
            Confirm::Token => self.by_token(),
            Confirm::Person if self.cx.client.elicitation => self.by_question(),
            Confirm::Person => self.by_approval().await,
        }
    }

    /// Asks the person behind the client. The first round asks; the second brings the answer.
    fn by_question(&self) -> Result<Gate, CallError> {
        let Some(state) = &self.cx.inputs.state else {
            return Ok(Gate::Shut(Answer::NeedsInput {
                requests: vec![(QUESTION.to_owned(), InputRequest::confirmation(self.question()))],
                state: json!({ "digest": self.plan.digest, "asked_at": Timestamp::now() }),
            }));
        };
        if state.get("digest").and_then(Value::as_str) != Some(self.plan.digest.as_str()) {
            return Err(self.refused("the call changed since it was confirmed; it did not run"));
        }
        let answered_at = Timestamp::now();
        let answer = |yes| PersonAnswer {
            digest: self.plan.digest.clone(),
            asked_at: state
                .get("asked_at")
                .and_then(|at| serde_json::from_value(at.clone()).ok())
                .unwrap_or(answered_at),
            answered_at,
            yes,
        };
        match self.cx.inputs.answers.get(QUESTION) {
            Some(InputAnswer::Accept(_)) => Ok(Gate::Open {
                run: RunId::generate(),
                answer: Some(answer(true)),
            }),
            Some(InputAnswer::Decline) => Ok(Gate::Declined {
                answer: answer(false),
                why: "not confirmed: the person said no; it did not run",
            }),
            Some(InputAnswer::Cancel) => Ok(Gate::Declined {
                answer: answer(false),
                why: "not confirmed: the question was closed without an answer; it did not run",
            }),
            None => Err(self.refused("the answer to the confirmation is missing; it did not run")),
        }
    }

    /// A command line makes one call and ends, and a token with it: there the second thought is the person's
    /// answer at the terminal.
    fn at_the_terminal(&self) -> Result<Gate, CallError> {
        if self.cx.client.elicitation {
            return self.by_question();
        }
        Err(CallError::Denied {
            reason: format!(
                "{} has to be confirmed, and a token for that is good only within one session with a server; \
                 call it at a terminal, where it is asked for, or through an MCP client",
                self.plan.tool
            ),
        })
    }

    /// Looks for a yes that was given elsewhere, else lets the call wait for one.
    async fn by_approval(&self) -> Result<Gate, CallError> {
        let Some(approvals) = &self.host.approvals else {
            return Err(self.nobody_to_ask("history, where it could wait for one, is off"));
        };
        let principal = &self.cx.caller.principal;
        let taken = approvals
            .take(principal, &self.plan.tool, &self.plan.digest)
            .await
            .map_err(|error| self.nobody_to_ask(&error.to_string()))?;
        if let Some(id) = taken {
            return Ok(Gate::unasked(id));
        }
        let run = start_of(
            RunId::generate(),
            self.plan,
            &self.cx.caller,
            RunStatus::PendingApproval,
        );
        let request = ApprovalRequest {
            run,
            digest: self.plan.digest.clone(),
        };
        let id = approvals
            .ask(request)
            .await
            .map_err(|error| self.nobody_to_ask(&error.to_string()))?;
        Ok(Gate::Shut(Answer::Done(self.pending(id))))
    }

    /// The weaker form: whoever calls has to call twice.
    fn by_token(&self) -> Result<Gate, CallError> {
        let principal = &self.cx.caller.principal;
        match &self.plan.token {
            None => {
                let token = self.host.tokens.issue(principal, &self.plan.digest);
                Ok(Gate::Shut(Answer::Done(self.repeat_with(&token))))
            }
            Some(token) => self
                .host
                .tokens
                .redeem(token, principal, &self.plan.digest)
                .map(|()| Gate::unasked(RunId::generate()))
                .map_err(|error| {
                    self.refused(&format!("{error}; call without confirmToken to get a new one"))
                }),
        }
    }

    fn question(&self) -> String {
        let Plan {
            tool,
            display,
            cwd,
            effects,
            ..
        } = self.plan;
        let folder = cwd.as_ref().map(|cwd| format!("in {cwd}\n")).unwrap_or_default();
        let nature = if effects.destructive { " (destructive)" } else { "" };
        format!("Run this?\n$ {display}\n{folder}tool: {tool}{nature}")
    }

    /// Nothing ran, so this counts as an error: a model must not take it for done.
    fn pending(&self, id: RunId) -> Outcome {
        let Plan { tool, display, .. } = self.plan;
        let text = format!(
            "pending_approval: {tool} did not run; a person has to release it first.\n\
             $ {display}\n\n\
             The person runs: surehand runs approve {id}\n\
             After that, make the same call again with the same arguments within five minutes."
        );
        let fields = json!({ "status": "pending_approval", "run_id": id.as_text() });
        unfinished(text, fields)
    }

    /// As [`Self::pending`].
    fn repeat_with(&self, token: &str) -> Outcome {
        let Plan { tool, display, .. } = self.plan;
        let seconds = TOKEN_LIFE.as_secs();
        let text = format!(
            "confirmation_required: {tool} did not run; it has to be called twice.\n\
             $ {display}\n\n\
             If this is what shall happen, make the same call again with the same arguments and \
             confirmToken {token:?} within {seconds} seconds."
        );
        let fields = json!({
            "status": "confirmation_required",
            "confirm_token": token,
            "expires_in_seconds": seconds,
        });
        unfinished(text, fields)
    }

    fn refused(&self, problem: &str) -> CallError {
        Refusal::new(&self.plan.tool, problem).into()
    }

    fn nobody_to_ask(&self, problem: &str) -> CallError {
        CallError::Denied {
            reason: format!(
                "{} needs a person's confirmation; the client cannot ask for one, and {problem}",
                self.plan.tool
            ),
        }
    }
}

fn unfinished(text: String, fields: Value) -> Outcome {
    let structured: Option<Map<String, Value>> = match fields {
        Value::Object(fields) => Some(fields),
        _ => None,
    };
    Outcome {
        structured,
        status: RunStatus::PendingApproval,
        ..Outcome::failure(text)
    }
}
