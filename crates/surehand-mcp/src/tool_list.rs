//! The list of tools, kept as JSON until the toolset says that it changed.
//!
//! A session has one caller, so it has one list. A list of a thousand tools is half a megabyte; clients ask
//! for it again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use surehand_core::{Change, Ctx, ListError, Toolset};
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

use crate::convert;

/// One page of tools as a JSON array.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) tools: Arc<RawValue>,
    /// What to ask for next.
    pub(crate) next: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ToolList {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    changes: Option<Receiver<Change>>,
    generation: u64,
    first: Option<Page>,
}

impl Kept {
    /// Forgets what is older than the last change. Asked for at each use, so that no list outlives the
    /// moment at which its change was told.
    fn refresh(&mut self) {
        let Some(changes) = &mut self.changes else { return };
        loop {
            match changes.try_recv() {
                Ok(Change::Tools) | Err(TryRecvError::Lagged(_)) => {
                    self.first = None;
                    self.generation += 1;
                }
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }
}

impl ToolList {
    pub(crate) fn new(changes: Option<Receiver<Change>>) -> Self {
        Self {
            kept: Mutex::new(Kept {
                changes,
                generation: 0,
                first: None,
            }),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh();
        kept
    }

    /// A page; the first one from memory where it is there.
    pub(crate) async fn page(
        &self,
        toolset: &dyn Toolset,
        cx: &Ctx,
        cursor: Option<&str>,
    ) -> Result<Page, ListError> {
        let generation = {
            let kept = self.kept();
            if let (None, Some(first)) = (cursor, &kept.first) {
                return Ok(first.clone());
            }
            kept.generation
        };
        let listing = toolset.list(cx, cursor).await?;
        let page = Page {
            tools: convert::tools(&listing.tools).map_err(|error| ListError::Internal(error.to_string()))?,
            next: listing.next,
        };
        let mut kept = self.kept();
        if cursor.is_none() && kept.generation == generation {
            kept.first = Some(page.clone());
        }
        Ok(page)
    }
}
