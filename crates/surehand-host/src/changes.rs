//! Following the changes of all toolsets.

use std::sync::{Arc, Weak};

use futures::{FutureExt, future::select_all};
use surehand_core::{Change, Toolset};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::host::Inner;

/// How many changes a slow follower may lag behind before some are joined into one.
const BACKLOG: usize = 16;

/// Follows every toolset that may change, for as long as the host lives. None where nothing ever changes.
pub(crate) fn sender(toolsets: &[Arc<dyn Toolset>]) -> (Option<broadcast::Sender<Change>>, Vec<Source>) {
    let sources: Vec<Source> = toolsets.iter().filter_map(|toolset| toolset.changes()).collect();
    let sender = (!sources.is_empty()).then(|| broadcast::channel(BACKLOG).0);
    (sender, sources)
}

pub(crate) type Source = broadcast::Receiver<Change>;

/// Rebuilds the table after each change and passes the change on. Ends with the host or the last source.
pub(crate) async fn follow(host: Weak<Inner>, mut sources: Vec<Source>) {
    while !sources.is_empty() {
        let (heard, at, _) = select_all(sources.iter_mut().map(|source| source.recv().boxed())).await;
        let Some(host) = host.upgrade() else {
            return;
        };
        match heard {
            Ok(Change::Tools) | Err(RecvError::Lagged(_)) => host.reload().await,
            Err(RecvError::Closed) => {
                sources.swap_remove(at);
            }
        }
    }
}
