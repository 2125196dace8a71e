//! The way between the front and `rmcp`.

use std::{convert::Infallible, future::Future, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::Transport,
};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    session::Session,
    wire::{self, RawField},
};

/// What `rmcp` takes for its transport.
///
/// The end of the input is not told to it: it would stop reading what handlers want to send. It is told the
/// end when all is answered.
pub(crate) struct FrontTransport {
    session: Arc<Session>,
    requests: mpsc::Receiver<ClientJsonRpcMessage>,
    ended: CancellationToken,
}

impl FrontTransport {
    pub(crate) fn new(
        session: Arc<Session>,
        requests: mpsc::Receiver<ClientJsonRpcMessage>,
        ended: CancellationToken,
    ) -> Self {
        Self {
            session,
            requests,
            ended,
        }
    }
}

impl Transport<RoleServer> for FrontTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let session = self.session.clone();
        async move {
            send(&session, message);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            Some(message) = self.requests.recv() => Some(message),
            () = self.ended.cancelled() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn send(session: &Session, message: ServerJsonRpcMessage) {
    match message {
        JsonRpcMessage::Response(response) => {
            answer(session, &response.id, |raw| {
                wire::response(&response.id, &response.result, raw)
            });
        }
        JsonRpcMessage::Error(error) => match &error.id {
            Some(id) => answer(session, id, |_| serde_json::to_vec(&error)),
            None => put(session, &error),
        },
        JsonRpcMessage::Notification(notification) => put(session, &notification),
        JsonRpcMessage::Request(request) => put(session, &request),
    }
}

fn answer(
    session: &Session,
    id: &RequestId,
    write: impl FnOnce(Option<&RawField>) -> serde_json::Result<Vec<u8>>,
) {
    let (is_open, raw) = session.in_flight.close(id);
    if !is_open {
        tracing::error!(%id, "an answer to a request that is not open");
        return;
    }
    let bytes = write(raw.as_ref()).unwrap_or_else(|error| {
        tracing::error!(%id, %error, "a result cannot be written");
        let message = format!("internal error: the result cannot be written: {error}");
        wire::error(Some(id), wire::INTERNAL_ERROR, &message)
    });
    session.in_flight.finish(id, bytes, &session.outbox);
}

fn put(session: &Session, message: &impl Serialize) {
    match serde_json::to_vec(message) {
        Ok(bytes) => session.outbox.push(bytes),
        Err(error) => tracing::error!(%error, "a message cannot be written"),
    }
}
