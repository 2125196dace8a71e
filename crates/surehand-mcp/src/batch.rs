//! Several requests in one line, which are answered in one line (MCP 2025-03-26).

use std::sync::{Arc, Mutex, PoisonError};

use crate::outbox::Outbox;

/// The answers to one batch, as far as they are there.
#[derive(Debug)]
pub(crate) struct Batch {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    open: usize,
    answers: Vec<Vec<u8>>,
}

impl Batch {
    /// A batch that waits for one thing: that all its messages are looked at, which is told by
    /// [`Batch::settle`].
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                open: 1,
                answers: Vec::new(),
            }),
        })
    }

    /// One more answer is to come.
    pub(crate) fn expect(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
    }

    /// One of the things waited for has come: an answer, or the news that there will be none. The last of
    /// them sends all answers off; a batch without answers is not answered.
    pub(crate) fn settle(&self, answer: Option<Vec<u8>>, outbox: &Outbox) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.answers.extend(answer);
        state.open -= 1;
        if state.open > 0 || state.answers.is_empty() {
            return;
        }
        let mut line = vec![b'['];
        line.append(&mut state.answers.join(&b','));
        line.push(b']');
        outbox.push(line);
    }
}
