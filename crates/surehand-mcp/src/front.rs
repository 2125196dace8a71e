//! Takes each line of input: answers what is no request, and gives `rmcp` what is one.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{io::AsyncRead, sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    batch::Batch,
    envelope::{self, Frame, Invalid, Message},
    in_flight::{NotLetIn, Route},
    line_reader::{Line, LineReader},
    peer::Handshake,
    request::{self, Typed},
    session::Session,
    wire::{self, INTERNAL_ERROR, INVALID_PARAMS},
};

/// How long a line waits for a place among the requests in flight.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many messages one batch may hold.
const BATCH_LIMIT: usize = 1000;

/// Reads until the end of the input, or until `stop` fires.
pub(crate) async fn read<R: AsyncRead + Unpin>(
    reader: R,
    session: Arc<Session>,
    requests: mpsc::Sender<ClientJsonRpcMessage>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let mut lines = LineReader::new(reader, session.options.line_limit);
    let front = Front { session };
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            line = async {
                front.session.outbox.room().await;
                // What ends soon is waited for, so that a long pipe of quick requests is not refused. Not for
                // longer: the next line may be a cancellation.
                let _ = timeout(PATIENCE, front.session.in_flight.room()).await;
                lines.next().await
            } => line?,
        };
        let Some(line) = line else { return Ok(()) };
        for request in front.take(&line) {
            if requests.send(request).await.is_err() {
                return Ok(());
            }
        }
    }
}

struct Front {
    session: Arc<Session>,
}

impl Front {
    fn take(&self, line: &Line) -> Vec<ClientJsonRpcMessage> {
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong => {
                let limit = self.session.options.line_limit;
                let problem = format!("a line of more than {limit} bytes ({} MiB)", limit >> 20);
                self.refuse(&Route::Line, &Invalid::request(None, problem));
                return Vec::new();
            }
        };
        match envelope::frame(line, BATCH_LIMIT) {
            Ok(Frame::Blank) => Vec::new(),
            Ok(Frame::Single(text)) => self.message(text, &Route::Line).into_iter().collect(),
            Ok(Frame::Batch(entries)) => self.batch(&entries),
            Err(invalid) => {
                self.refuse(&Route::Line, &invalid);
                Vec::new()
            }
        }
    }

    fn batch(&self, entries: &[&RawValue]) -> Vec<ClientJsonRpcMessage> {
        let handshake = self.session.handshake();
        if !handshake.as_ref().is_some_and(Handshake::allows_batches) {
            let problem = match handshake {
                Some(handshake) => format!("MCP {} has no batches", handshake.revision),
                None => "a batch before initialize".to_owned(),
            };
            self.refuse(&Route::Line, &Invalid::request(None, problem));
            return Vec::new();
        }
        let batch = Batch::new();
        let route = Route::Batch(batch.clone());
        let requests = entries
            .iter()
            .filter_map(|entry| self.message(entry.get(), &route))
            .collect();
        batch.settle(None, &self.session.outbox);
        requests
    }

    fn message(&self, text: &str, route: &Route) -> Option<ClientJsonRpcMessage> {
        match envelope::message(text) {
            Ok(Message::Request { id, method, params }) => {
                self.request(id, &method, params, text.len(), route)
            }
            Ok(Message::Notification { method, params }) => {
                self.notification(&method, params);
                None
            }
            Ok(Message::Response { id, outcome }) => {
                self.response(&id, outcome);
                None
            }
            Err(invalid) => {
                self.refuse(route, &invalid);
                None
            }
        }
    }

    fn request(
        &self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
        bytes: usize,
        route: &Route,
    ) -> Option<ClientJsonRpcMessage> {
        if method == "initialize" && matches!(route, Route::Batch(_)) {
            self.refuse(route, &Invalid::request(Some(id), "initialize in a batch"));
            return None;
        }
        let Typed { request, unreadable } = match request::typed(method, params) {
            Ok(typed) => typed,
            Err(problem) => {
                self.error(
                    route,
                    Some(&id),
                    INVALID_PARAMS,
                    &format!("invalid params: {problem}"),
                );
                return None;
            }
        };
        let changes = matches!(request, ClientRequest::SubscriptionsListenRequest(_))
            .then(|| self.session.changes.subscribe());
        let begun = self
            .session
            .in_flight
            .begin(id.clone(), bytes, route.clone(), unreadable, changes);
        match begun {
            Ok(()) => {
                if let ClientRequest::InitializeRequest(request) = &request {
                    self.session.shake_hands(Handshake::new(&request.params));
                }
                Some(ClientJsonRpcMessage::request(request, id))
            }
            // Under that id, the answer would be taken for the first request's.
            Err(NotLetIn::Duplicate) => {
                let problem = format!("id {} belongs to a request that is not yet answered", quoted(&id));
                self.refuse(route, &Invalid::request(None, problem));
                None
            }
            Err(NotLetIn::TooMany(limit)) => {
                let problem = format!("too many requests in flight: {limit} are not yet answered");
                self.error(route, Some(&id), INTERNAL_ERROR, &problem);
                None
            }
            Err(NotLetIn::TooLarge(limit)) => {
                let problem = format!("too many requests in flight: they would hold more than {limit} bytes");
                self.error(route, Some(&id), INTERNAL_ERROR, &problem);
                None
            }
        }
    }

    /// Notifications are never answered (JSON-RPC 2.0, section 4.1), not even wrong ones.
    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => {
                if let Some(id) = cancelled_id(params) {
                    self.session.in_flight.withdraw(&id);
                } else {
                    tracing::warn!("a cancellation that names no request");
                }
            }
            "notifications/initialized" => self.session.set_initialized(),
            _ => tracing::debug!(method, "a notification that means nothing here"),
        }
    }

    fn response(&self, id: &RequestId, outcome: Result<&RawValue, &RawValue>) {
        let reply = match outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => Err(error_message(error)),
        };
        let RequestId::String(text) = id else {
            tracing::debug!(%id, "a response to nothing that was asked");
            return;
        };
        if !self.session.elicitations.take(text, reply) {
            tracing::debug!(%id, "a response to nothing that was asked");
        }
    }

    fn refuse(&self, route: &Route, invalid: &Invalid) {
        self.error(route, invalid.id.as_ref(), invalid.code, &invalid.message);
    }

    fn error(&self, route: &Route, id: Option<&RequestId>, code: i32, message: &str) {
        tracing::debug!(code, message, "refused");
        route.refuse(wire::error(id, code, message), &self.session.outbox);
    }
}

fn cancelled_id(params: Option<&RawValue>) -> Option<RequestId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    let cancelled: Cancelled<'_> = serde_json::from_str(params?.get()).ok()?;
    envelope::read_id(cancelled.request_id)
}

fn error_message(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct ErrorObject {
        message: String,
    }
    serde_json::from_str::<ErrorObject>(error.get())
        .map_or_else(|_| envelope::excerpt(error), |error| error.message)
}

fn quoted(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => format!("{text:?}"),
    }
}
