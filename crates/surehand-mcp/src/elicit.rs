//! Questions to the client's person, in the revisions where a server may ask (MCP 2025-06-18 and 2025-11-25,
//! "Elicitation").

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};
use surehand_core::{InputAnswer, InputRequest};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{outbox::Outbox, wire};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// What the client's answer says: a result, or the message of an error.
type Reply = Result<Value, String>;

/// The questions that are not yet answered.
#[derive(Debug, Default)]
pub(crate) struct Elicitations {
    asked: AtomicU64,
    open: Mutex<HashMap<String, oneshot::Sender<Reply>>>,
    closed: CancellationToken,
}

/// What came of a question.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
    /// The person's answer. One who takes too long, or whose client goes, has closed the question.
    Answered(InputAnswer),
    /// The call for which it was asked was cancelled.
    Cancelled,
    /// The client did not put the question, or its answer makes no sense.
    Failed(String),
}

impl Elicitations {
    /// Asks, and waits for the answer.
    pub(crate) async fn ask(
        &self,
        request: &InputRequest,
        revision: &ProtocolVersion,
        cancel: &CancellationToken,
        outbox: &Outbox,
    ) -> Asked {
        if self.closed.is_cancelled() {
            return Asked::Answered(InputAnswer::Cancel);
        }
        let id = format!("surehand-{}", self.asked.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, reply) = oneshot::channel();
        self.open().insert(id.clone(), sender);
        outbox.push(wire::request(
            &id,
            "elicitation/create",
            &params(request, revision),
        ));
        let (asked, reason) = tokio::select! {
            reply = reply => return match reply {
                Ok(Ok(result)) => match answer(&result) {
                    Ok(answer) => Asked::Answered(answer),
                    Err(problem) => Asked::Failed(format!("the client's answer to a question is wrong: {problem}")),
                },
                Ok(Err(message)) => Asked::Failed(format!("the client could not ask its person: {message}")),
                Err(_) => Asked::Answered(InputAnswer::Cancel),
            },
            () = cancel.cancelled() => (Asked::Cancelled, "the call was cancelled"),
            () = self.closed.cancelled() => (Asked::Answered(InputAnswer::Cancel), "the session ends"),
            () = tokio::time::sleep(PATIENCE) => (Asked::Answered(InputAnswer::Cancel), "no answer in time"),
        };
        self.open().remove(&id);
        let params = json!({"requestId": id, "reason": reason});
        outbox.push(wire::notification("notifications/cancelled", Some(&params)));
        asked
    }

    /// Takes the client's answer; false where nothing of that id was asked.
    pub(crate) fn take(&self, id: &str, reply: Reply) -> bool {
        match self.open().remove(id) {
            Some(waiting) => waiting.send(reply).is_ok(),
            None => false,
        }
    }

    /// No answer can come any more.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Reply>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of `elicitation/create`. The mode has a name since 2025-11-25.
pub(crate) fn params(request: &InputRequest, revision: &ProtocolVersion) -> Value {
    let mut params = json!({"message": request.message, "requestedSchema": request.schema});
    if revision.as_str() >= ProtocolVersion::V_2025_11_25.as_str() {
        params["mode"] = json!("form");
    }
    params
}

/// Reads an `ElicitResult`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn answer(result: &Value) -> Result<InputAnswer, String> {
    match result.get("action").and_then(Value::as_str) {
        Some("decline") => Ok(InputAnswer::Decline),
        Some("cancel") => Ok(InputAnswer::Cancel),
        Some("accept") => match result.get("content") {
            None | Some(Value::Null) => Ok(InputAnswer::Accept(Map::new())),
            Some(Value::Object(content)) => Ok(InputAnswer::Accept(content.clone())),
            Some(_) => Err("content must be an object".to_owned()),
        },
        _ => Err(r#"action must be "accept", "decline" or "cancel""#.to_owned()),
    }
}
