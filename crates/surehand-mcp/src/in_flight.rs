//! The requests that are not yet answered: how many there may be, how to withdraw one, and where its answer
//! goes.
//!
//! Every request that is let in is finished exactly once, when `rmcp` sends its answer. One that the client
//! has withdrawn is finished in the same way, but its answer is dropped (MCP, "Cancellation").

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::{batch::Batch, outbox::Outbox, progress::Gate, wire::RawField};

/// Where an answer goes.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// Into a line of its own.
    Line,
    /// Into the line that answers a batch.
    Batch(Arc<Batch>),
}

impl Route {
    /// Sends an answer to a request that was not let in.
    pub(crate) fn refuse(&self, answer: Vec<u8>, outbox: &Outbox) {
        match self {
            Self::Line => outbox.push(answer),
            Self::Batch(batch) => {
                batch.expect();
                batch.settle(Some(answer), outbox);
            }
        }
    }
}

/// What is known of a request while it is carried out.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    /// Fires when the request is withdrawn or the server ends.
    pub(crate) cancel: CancellationToken,
    /// Open until the answer.
    pub(crate) gate: Arc<Gate>,
    /// See [`crate::request::Typed::unreadable`].
    pub(crate) unreadable: Option<String>,
    /// Changes since the request arrived, for a request that waits for nothing else.
    pub(crate) changes: Option<watch::Receiver<u64>>,
}

#[derive(Debug)]
struct Pending {
    ticket: Ticket,
    route: Route,
    bytes: usize,
    withdrawn: bool,
    raw: Option<RawField>,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotLetIn {
    /// The id belongs to another request that is not yet answered.
    Duplicate,
    /// There are too many.
    TooMany(usize),
    /// They hold too much.
    TooLarge(usize),
}

/// The table of unanswered requests.
#[derive(Debug)]
pub(crate) struct InFlight {
    table: Mutex<Table>,
    finished: Notify,
    limit: usize,
    bytes_limit: usize,
}

#[derive(Debug, Default)]
struct Table {
    pending: HashMap<RequestId, Pending>,
    bytes: usize,
    /// What is let in now is cancelled from the start.
    ending: bool,
}

impl InFlight {
    pub(crate) fn new(limit: usize, bytes_limit: usize) -> Self {
        Self {
            table: Mutex::default(),
            finished: Notify::new(),
            limit,
            bytes_limit,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request of so many bytes in.
    pub(crate) fn begin(
        &self,
        id: RequestId,
        bytes: usize,
        route: Route,
        unreadable: Option<String>,
        changes: Option<watch::Receiver<u64>>,
    ) -> Result<(), NotLetIn> {
        let mut table = self.table();
        if table.pending.len() >= self.limit {
            return Err(NotLetIn::TooMany(self.limit));
        }
        if table.bytes + bytes > self.bytes_limit {
            return Err(NotLetIn::TooLarge(self.bytes_limit));
        }
        let cancel = CancellationToken::new();
        if table.ending {
            cancel.cancel();
        }
        let Entry::Vacant(place) = table.pending.entry(id) else {
            return Err(NotLetIn::Duplicate);
        };
        if let Route::Batch(batch) = &route {
            batch.expect();
        }
        place.insert(Pending {
            ticket: Ticket {
                cancel,
                gate: Arc::default(),
                unreadable,
                changes,
            },
            route,
            bytes,
            withdrawn: false,
            raw: None,
        });
        table.bytes += bytes;
        Ok(())
    }

    /// What is known of an unanswered request.
    pub(crate) fn ticket(&self, id: &RequestId) -> Option<Ticket> {
        self.table().pending.get(id).map(|pending| pending.ticket.clone())
    }

    /// The client no longer wants an answer. Unknown and answered requests are passed over, as the
    /// specification has it.
    pub(crate) fn withdraw(&self, id: &RequestId) {
        if let Some(pending) = self.table().pending.get_mut(id) {
            pending.withdrawn = true;
            pending.ticket.gate.close();
            pending.ticket.cancel.cancel();
        }
    }

    /// Keeps a field of the answer that is already JSON.
    pub(crate) fn attach(&self, id: &RequestId, raw: RawField) {
        if let Some(pending) = self.table().pending.get_mut(id) {
            pending.raw = Some(raw);
        }
    }

    /// Says that the answer is about to be written: no progress goes out any more. Gives back what was
    /// attached; false for a request that is not open.
    pub(crate) fn close(&self, id: &RequestId) -> (bool, Option<RawField>) {
        let mut table = self.table();
        match table.pending.get_mut(id) {
            Some(pending) => {
                pending.ticket.gate.close();
                (true, pending.raw.take())
            }
            None => (false, None),
        }
    }

    /// Sends the answer, unless the request was withdrawn, and forgets the request.
    pub(crate) fn finish(&self, id: &RequestId, answer: Vec<u8>, outbox: &Outbox) {
        let mut table = self.table();
        let Some(pending) = table.pending.remove(id) else {
            return;
        };
        table.bytes -= pending.bytes;
        let answer = (!pending.withdrawn).then_some(answer);
        match pending.route {
            Route::Batch(batch) => batch.settle(answer, outbox),
            Route::Line => {
                if let Some(answer) = answer {
                    outbox.push(answer);
                }
            }
        }
        drop(table);
        self.finished.notify_waiters();
    }

    /// How many requests are unanswered.
    pub(crate) fn len(&self) -> usize {
        self.table().pending.len()
    }

    /// Cancels every request, those that are yet to come too; they are still answered.
    pub(crate) fn cancel_all(&self) {
        let mut table = self.table();
        table.ending = true;
        for pending in table.pending.values() {
            pending.ticket.cancel.cancel();
        }
    }

    /// Cancels the requests that only wait for changes.
    pub(crate) fn cancel_waiting_for_changes(&self) {
        for pending in self.table().pending.values() {
            if pending.ticket.changes.is_some() {
                pending.ticket.cancel.cancel();
            }
        }
    }

    /// Returns when one more request may be let in.
    pub(crate) async fn room(&self) {
        self.until(|open| open < self.limit).await;
    }

    /// Returns when every request is answered.
    pub(crate) async fn all_finished(&self) {
        self.until(|open| open == 0).await;
    }

    async fn until(&self, is_so: impl Fn(usize) -> bool) {
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            if is_so(self.len()) {
                return;
            }
            finished.await;
        }
    }
}
