//! What waits to be written: one message a line, in the order in which it was put in.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

use crate::wire::keep_on_one_line;

/// While more than this many bytes wait, nothing more is read.
const ROOM: usize = 64 << 20;
/// While more than this many bytes wait, messages that may be lost are not put in.
const CONGESTED: usize = 1 << 20;
/// Messages are written together up to about this many bytes.
const WRITE: usize = 64 << 10;

/// The queue between those who answer, who never wait, and the one who writes.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
    broken: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<Vec<u8>>,
    /// In `messages`, and taken from there but not yet written.
    bytes: usize,
    closed: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in one JSON text. After the end of the writer it goes nowhere.
    pub(crate) fn push(&self, json: Vec<u8>) {
        let mut line = keep_on_one_line(json);
        line.push(b'\n');
        let mut state = self.state();
        if self.broken.is_cancelled() {
            return;
        }
        state.bytes += line.len();
        state.messages.push_back(line);
        drop(state);
        self.filled.notify_one();
    }

    /// Whether the reader at the other end has fallen behind.
    pub(crate) fn is_congested(&self) -> bool {
        self.state().bytes > CONGESTED
    }

    /// Returns when there is room for the answers to more requests, or nobody to read them.
    pub(crate) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            if self.state().bytes <= ROOM || self.broken.is_cancelled() {
                return;
            }
            drained.await;
        }
    }

    /// Lets the writer end when it has written what is there.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Fires when the other end no longer takes anything.
    pub(crate) fn broken(&self) -> &CancellationToken {
        &self.broken
    }

    /// Writes what is put in, until the outbox is closed and empty or the other end is gone.
    pub(crate) async fn write_to(&self, mut writer: impl AsyncWrite + Unpin) {
        let mut block = Vec::new();
        while self.next_block(&mut block).await {
            let written = async {
                writer.write_all(&block).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                tracing::debug!(%error, "the client no longer reads");
                self.give_up();
                return;
            }
            self.state().bytes -= block.len();
            self.drained.notify_one();
            if block.capacity() > 4 * WRITE {
                block = Vec::new();
            }
        }
    }

    /// Fills `block` with what is to be written next; false at the end.
    async fn next_block(&self, block: &mut Vec<u8>) -> bool {
        block.clear();
        loop {
            let filled = self.filled.notified();
            {
                let mut state = self.state();
                if let Some(first) = state.messages.pop_front() {
                    *block = first;
                    while let Some(next) = state.messages.front()
                        && block.len() + next.len() <= WRITE
                    {
                        block.extend_from_slice(next);
                        state.messages.pop_front();
                    }
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            filled.await;
        }
    }

    fn give_up(&self) {
        self.broken.cancel();
        let mut state = self.state();
        state.messages.clear();
        state.bytes = 0;
        drop(state);
        self.drained.notify_one();
    }
}
