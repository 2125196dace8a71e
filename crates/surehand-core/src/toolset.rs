//! The seam between what can be done and how it is served.

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::{Answer, Call, CallError, Ctx, Prepared, Tool};

/// Which kinds of thing a toolset offers at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers {
    /// Tools.
    pub tools: bool,
}

/// One page of tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The tools, in a fixed order.
    pub tools: Vec<Tool>,
    /// What to ask for next; None at the end.
    pub next: Option<String>,
}

/// Something that is offered has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
}

/// A list cannot be given.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ListError {
    /// The cursor was not given out by this list.
    #[error("unknown cursor {0:?}")]
    UnknownCursor(String),
    /// Surehand itself failed.
    #[error("internal error: {0}")]
    Internal(String),
}

/// Things that can be done.
///
/// A toolset decides what exists and what a call means. It does not decide who may call (policy), how many
/// run at once, what is remembered, or how anything is put on a wire.
#[async_trait]
pub trait Toolset: Send + Sync {
    /// The toolset's name, for example `runbooks`.
    fn name(&self) -> &str;

    /// Which kinds of thing it offers.
    fn offers(&self) -> Offers;

    /// What a model should know before it uses any of this; None where nothing needs saying.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// The tools that this caller may see. `cursor` is None for the first page.
    ///
    /// # Errors
    /// When the cursor is unknown.
    async fn list(&self, cx: &Ctx, cursor: Option<&str>) -> Result<Listing, ListError>;

    /// Checks a call and works out what it would do, without doing it.
    ///
    /// # Errors
    /// When there is no such tool, or the arguments do not fit.
    async fn prepare(&self, cx: &Ctx, call: Call) -> Result<Prepared, CallError>;

    /// Carries out a call.
    ///
    /// # Errors
    /// As [`Toolset::prepare`], and when the call is withdrawn or cannot be carried out.
    async fn call(&self, cx: &Ctx, call: Call) -> Result<Answer, CallError> {
        let prepared = self.prepare(cx, call).await?;
        (prepared.work)(cx.clone()).await
    }

    /// Tells of changes from now on; None where nothing ever changes.
    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        None
    }
}
