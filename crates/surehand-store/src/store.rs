//! What a history of runs can do.

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use surehand_core::{ApprovalRequest, RunEvent, RunId, StreamName};

use crate::{Output, Page, ProcessIdentity, RunFilter, RunRecord, StoreError};

/// How long a call waits for a person's word.
pub const APPROVAL_WAIT: SignedDuration = SignedDuration::from_hours(24);
/// How long a person's yes can be taken up.
pub const APPROVAL_VALID: SignedDuration = SignedDuration::from_mins(5);
/// The fewest characters by which a run is found.
pub const MIN_PREFIX: usize = 4;

/// What [`Store::request_cancel`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The run waited for a person and is cancelled.
    Now,
    /// The process that carries the run out will read the wish and cancel it.
    Requested,
}

/// What a store may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Runs that ended longer ago are forgotten.
    pub age: SignedDuration,
    /// When all runs together take more bytes than this, the oldest are forgotten.
    pub bytes: u64,
}

/// A durable history of runs. Each method is one transaction: it happens whole or not at all.
///
/// Whatever time a method depends on is given to it, so that every process and every test judges alike.
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes events of runs that `owner` carries out, in order.
    ///
    /// Writing the same events again changes nothing. An ended run stays as it ended. A start under the id
    /// of a run that was approved goes on with that run. Events of unknown runs are passed over.
    async fn apply(&self, owner: &ProcessIdentity, events: &[RunEvent]) -> Result<(), StoreError>;

    /// Runs by descending id. Every run that is there when the first page is read stands on exactly one
    /// page, whatever arrives meanwhile. [`Store::settle`]s first.
    async fn list(&self, filter: &RunFilter) -> Result<Page, StoreError>;

    /// The run with this id. [`Store::settle`]s first.
    async fn get(&self, id: RunId) -> Result<Option<RunRecord>, StoreError>;

    /// The one run whose id begins with `prefix` (at least [`MIN_PREFIX`] hexadecimal digits, dashes and
    /// case as one likes). [`Store::settle`]s first.
    ///
    /// # Errors
    /// [`StoreError::BadPrefix`], [`StoreError::NoSuchRun`], [`StoreError::Ambiguous`].
    async fn find(&self, prefix: &str) -> Result<RunRecord, StoreError>;

    /// What a run wrote to a stream; None until the stream is complete.
    async fn output(&self, id: RunId, stream: StreamName) -> Result<Option<Output>, StoreError>;

    /// Where a run's large outputs are, or would be. While the run goes on, they grow there.
    fn run_folder(&self, id: RunId) -> PathBuf;

    /// Asks that a run be cancelled. Asking again is not an error; the first one to ask is remembered.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::AlreadyEnded`].
    async fn request_cancel(&self, id: RunId, by: &str, now: Timestamp) -> Result<Cancelled, StoreError>;

    /// Those of `ids` that have not ended and that somebody wants cancelled.
    async fn pending_cancels(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError>;

    /// Whether another connection may have written since the last time this was asked. Cheap; true at first.
    async fn changed(&self) -> Result<bool, StoreError>;

    /// Lets a call wait for a person (see [`surehand_core::Approvals::ask`]).
    async fn ask(&self, owner: &ProcessIdentity, request: &ApprovalRequest) -> Result<RunId, StoreError>;

    /// Takes a person's yes (see [`surehand_core::Approvals::take`]); the run is then `owner`'s. Of several
    /// that take at once, one gets it.
    async fn take(
        &self,
        owner: &ProcessIdentity,
        principal: &str,
        tool: &str,
        digest: &str,
        now: Timestamp,
    ) -> Result<Option<RunId>, StoreError>;

    /// Says yes to a waiting call.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NotWaiting`], [`StoreError::AlreadyApproved`],
    /// [`StoreError::AlreadyRejected`], [`StoreError::ApprovalExpired`].
    async fn approve(&self, id: RunId, by: &str, now: Timestamp) -> Result<(), StoreError>;

    /// Says no to a waiting call, or takes back a yes that was not taken up yet. The run ends as cancelled,
    /// with person and reason in its error.
    ///
    /// # Errors
    /// As [`Store::approve`], without [`StoreError::AlreadyApproved`].
    async fn reject(
        &self,
        id: RunId,
        by: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Ends what nobody else will end: runs whose process is dead become failed, calls that waited too long
    /// for a person become cancelled. Says which. Runs of live processes are left alone.
    async fn settle(&self, now: Timestamp) -> Result<Vec<RunId>, StoreError>;

    /// Whether it is the caller's turn to tidy: true at most once in `every`, whichever process asks.
    async fn claim_pruning(&self, every: SignedDuration, now: Timestamp) -> Result<bool, StoreError>;

    /// Ended runs that the limits say to forget, oldest first, at most `max`.
    async fn prunable(
        &self,
        limits: &RetentionLimits,
        max: u32,
        now: Timestamp,
    ) -> Result<Vec<RunId>, StoreError>;

    /// Forgets runs; those that have not ended are left alone.
    async fn delete_runs(&self, ids: &[RunId]) -> Result<(), StoreError>;

    /// Those of `ids` that the store does not know.
    async fn unknown(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError>;

    /// Looks the whole store through; what is wrong with it, line by line, nothing where all is well.
    async fn check(&self) -> Result<Vec<String>, StoreError>;
}
