//! What waits to be written, within bounds.

use std::{
    collections::{HashSet, VecDeque},
    sync::Mutex,
    time::Duration,
};

use jiff::Timestamp;
use surehand_core::{ApprovalRequest, ApprovalsError, RunEvent, RunId};
use tokio::sync::{Notify, oneshot, watch};

use super::{FlushError, lock};

/// What may wait before something is dropped: while the store cannot be written for long, memory must not
/// grow without end.
const MAX_BYTES: usize = 32 << 20;
/// What an event takes besides its texts.
const EVENT_BYTES: usize = 512;

/// An event and its place in the order of all events.
struct Numbered {
    number: u64,
    bytes: usize,
    event: RunEvent,
}

/// Events taken from the queue, in order.
pub(super) struct Group {
    /// The place of the first of them.
    oldest: u64,
    pub(super) events: Vec<RunEvent>,
}

/// A question that is answered.
pub(super) enum Word {
    /// See [`surehand_core::Approvals::ask`].
    Ask {
        request: Box<ApprovalRequest>,
        answer: oneshot::Sender<Result<RunId, ApprovalsError>>,
    },
    /// See [`surehand_core::Approvals::take`].
    Take {
        principal: String,
        tool: String,
        digest: String,
        at: Timestamp,
        answer: oneshot::Sender<Result<Option<RunId>, ApprovalsError>>,
    },
}

impl Word {
    pub(super) fn refuse(self, reason: &str) {
        let error = ApprovalsError(reason.to_owned());
        // Whoever asked may have gone; then nobody needs an answer.
        match self {
            Self::Ask { answer, .. } => drop(answer.send(Err(error))),
            Self::Take { answer, .. } => drop(answer.send(Err(error))),
        }
    }
}

/// Between the callers and the background thread.
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Notify,
    hurry: Notify,
    /// The number below which every event is written or given up; and why history is off, where it is.
    progress: watch::Sender<Progress>,
    max_bytes: usize,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    done_below: u64,
    /// How often writing failed for a reason that will not pass in a moment.
    failures: u64,
    off: Option<String>,
}

#[derive(Default)]
struct State {
    /// Short events of runs whose start is not dropped: older than everything in `events`, and to stay.
    kept: VecDeque<Numbered>,
    events: VecDeque<Numbered>,
    bytes: usize,
    next_number: u64,
    /// Runs whose start was dropped: the rest of them goes the same way, when its turn comes.
    forgotten: HashSet<RunId>,
    dropped: u64,
    words: VecDeque<Word>,
    closed: bool,
    /// Somebody waits for what is recorded to be written.
    urged: bool,
    off: Option<String>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self::with_bound(MAX_BYTES)
    }

    fn with_bound(max_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            wake: Notify::new(),
            hurry: Notify::new(),
            progress: watch::Sender::new(Progress::default()),
            max_bytes,
        }
    }

    pub(super) fn push(&self, event: RunEvent) {
        let mut state = lock(&self.state);
        if state.off.is_some() {
            return;
        }
        let bytes = size(&event);
        let number = state.next_number;
        state.next_number += 1;
        state.bytes += bytes;
        state.events.push_back(Numbered { number, bytes, event });
        state.make_room(self.max_bytes);
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn say(&self, word: Word) -> Result<(), ApprovalsError> {
        let mut state = lock(&self.state);
        if let Some(reason) = &state.off {
            return Err(ApprovalsError(format!("history is off: {reason}")));
        }
        state.words.push_back(word);
        drop(state);
        self.hurry();
        Ok(())
    }

    /// The oldest events, at most `max`; None where there is none.
    pub(super) fn take(&self, max: usize) -> Option<Group> {
        let mut state = lock(&self.state);
        let first = state.pop()?;
        let mut group = Group {
            oldest: first.number,
            events: vec![first.event],
        };
        while group.events.len() < max
            && let Some(next) = state.pop()
        {
            group.events.push(next.event);
        }
        Some(group)
    }

    pub(super) fn take_word(&self) -> Option<Word> {
        lock(&self.state).words.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        let state = lock(&self.state);
        state.kept.is_empty() && state.events.is_empty() && state.words.is_empty()
    }

    /// Tells who waits how far writing has come; `in_hand` is taken but not yet written.
    pub(super) fn report_progress(&self, in_hand: Option<&Group>) {
        let state = lock(&self.state);
        let waiting = state
            .kept
            .front()
            .or_else(|| state.events.front())
            .map(|next| next.number);
        let done_below = in_hand
            .map(|group| group.oldest)
            .or(waiting)
            .unwrap_or(state.next_number);
        drop(state);
        self.progress.send_if_modified(|progress| {
            let moved = progress.done_below != done_below;
            progress.done_below = done_below;
            moved
        });
    }

    /// How many events were dropped since this was last asked.
    pub(super) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut lock(&self.state).dropped)
    }

    pub(super) async fn written(&self, timeout: Duration) -> Result<(), FlushError> {
        let mut progress = self.progress.subscribe();
        let failures = progress.borrow().failures;
        let target = {
            let mut state = lock(&self.state);
            state.urged = true;
            state.next_number
        };
        self.hurry();
        let reached = progress.wait_for(|progress| {
            progress.done_below >= target || progress.failures > failures || progress.off.is_some()
        });
        match tokio::time::timeout(timeout, reached).await {
            Ok(Ok(progress)) => match &progress.off {
                Some(reason) => Err(FlushError::Off(reason.clone())),
                None if progress.done_below < target => Err(FlushError::Failing),
                None => Ok(()),
            },
            // The sender lives in `self`, so that only time can run out.
            Ok(Err(_)) | Err(_) => Err(FlushError::Timeout),
        }
    }

    /// Whether somebody waits for what is recorded to be written, since this was last asked.
    pub(super) fn take_urged(&self) -> bool {
        std::mem::take(&mut lock(&self.state).urged)
    }

    pub(super) fn report_failure(&self) {
        self.progress.send_modify(|progress| progress.failures += 1);
    }

    /// Nothing is taken any more, and what waits is let go. The first reason stays.
    pub(super) fn turn_off(&self, reason: &str) {
        let mut state = lock(&self.state);
        if state.off.is_some() {
            return;
        }
        state.off = Some(reason.to_owned());
        state.kept = VecDeque::new();
        state.events = VecDeque::new();
        state.forgotten = HashSet::new();
        state.bytes = 0;
        let words = std::mem::take(&mut state.words);
        drop(state);
        for word in words {
            word.refuse(&format!("history is off: {reason}"));
        }
        self.progress
            .send_modify(|progress| progress.off = Some(reason.to_owned()));
        self.wake.notify_one();
    }

    pub(super) fn off(&self) -> Option<String> {
        lock(&self.state).off.clone()
    }

    pub(super) fn close(&self) {
        lock(&self.state).closed = true;
        self.hurry();
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Wakes the writer, even while it gathers.
    fn hurry(&self) {
        self.hurry.notify_one();
        self.wake.notify_one();
    }

    /// Lets events come together, but not while somebody waits.
    pub(super) async fn gather(&self, time: Duration) {
        let waited_for = {
            let state = lock(&self.state);
            state.urged || state.closed || !state.words.is_empty()
        };
        if !waited_for {
            // Running out is the usual end of it.
            let _ = tokio::time::timeout(time, self.hurry.notified()).await;
        }
    }

    /// Until there may be something to do.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl State {
    fn pop(&mut self) -> Option<Numbered> {
        loop {
            let next = self.kept.pop_front().or_else(|| self.events.pop_front())?;
            self.bytes -= next.bytes;
            if !self.is_forgotten(&next.event) {
                return Some(next);
            }
            self.dropped += 1;
        }
    }

    /// Drops the oldest events that history can do without: a run from its start on, or a run's outputs. The
    /// end of a run that is written as begun must never go: the run would be shown as running.
    fn make_room(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes {
            let Some(oldest) = self.events.pop_front() else {
                return;
            };
            let dropped = match &oldest.event {
                RunEvent::Start(start) => self.forgotten.insert(start.id),
                RunEvent::Output { .. } => true,
                event => self.is_forgotten(event),
            };
            if dropped {
                self.bytes -= oldest.bytes;
                self.dropped += 1;
            } else {
                self.kept.push_back(oldest);
            }
        }
    }

    fn is_forgotten(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Start(_) => false,
            RunEvent::Running { id, .. } | RunEvent::Output { id, .. } => self.forgotten.contains(id),
            RunEvent::End(end) => self.forgotten.remove(&end.id),
        }
    }
}

fn size(event: &RunEvent) -> usize {
    EVENT_BYTES
        + match event {
            RunEvent::Start(start) => {
                start.display.len()
                    + start
                        .command
                        .iter()
                        .map(|word| word.len() + size_of::<String>())
                        .sum::<usize>()
                    + start
                        .arguments
                        .iter()
                        .map(|(name, value)| name.len() + value_size(value))
                        .sum::<usize>()
            }
            RunEvent::Output { record, .. } => record.inline.as_ref().map_or(0, Vec::len),
            RunEvent::Running { .. } => 0,
            RunEvent::End(end) => end.error.as_ref().map_or(0, String::len),
        }
}

fn value_size(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(value_size).sum(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| name.len() + value_size(value))
                .sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
