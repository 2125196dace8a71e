//! News of changes to the client: unasked in the era with a handshake, to its subscriptions in the other.

use std::sync::Arc;

use rmcp::{ErrorData, service::SubscriptionContext};
use surehand_core::Change;
use tokio::sync::{
    broadcast::{Receiver, error::RecvError},
    watch,
};
use tokio_util::sync::CancellationToken;

use crate::{session::Session, wire};

/// Passes on what the toolset tells, until it tells no more.
pub(crate) async fn pass_on(mut changes: Receiver<Change>, session: Arc<Session>) {
    loop {
        match changes.recv().await {
            Ok(Change::Tools) | Err(RecvError::Lagged(_)) => {
                session.changes.send_modify(|count| *count += 1);
                if session.is_initialized() {
                    let method = "notifications/tools/list_changed";
                    session.outbox.push(wire::notification(method, None));
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Serves one `subscriptions/listen` request until it is cancelled. `changes` was taken when the request
/// arrived, so nothing is missed between then and now.
pub(crate) async fn listen(
    subscription: &SubscriptionContext,
    mut changes: watch::Receiver<u64>,
    cancel: &CancellationToken,
) -> Result<(), ErrorData> {
    let wants_tools = subscription.accepted().tools_list_changed == Some(true);
    loop {
        tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            Ok(()) = changes.changed(), if wants_tools => {
                let told = subscription.sink().notify_tool_list_changed().await;
                told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
    }
}
