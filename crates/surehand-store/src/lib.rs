//! The history of runs, and the calls that wait for a person.
//!
//! [`Store`] says what a history can do; [`SqliteStore`] keeps one in a file of the state directory.
//! [`History`] is what a serving process uses: it takes events off the hands of the callers and writes them
//! in the background. A command line that reads or decides opens a [`SqliteStore`] itself.
//!
//! This crate must never hold up or fail a call because history cannot be written, never repair, move or
//! overwrite a database that it does not understand, never show a run as running whose process is known to
//! be gone, and never touch a run of a process that lives.

mod error;
mod history;
mod private;
mod process;
mod record;
mod sqlite;
mod store;
mod time;

pub use error::{Fault, StoreError};
pub use history::{CancelCallback, FlushError, History, HistoryConfig};
pub use private::{PrivacyError, try_state_directory};
pub use process::{Liveness, ProcessIdentity};
pub use record::{
    ApprovalDecision, ApprovalRecord, CancelRequest, Output, OutputContent, OutputSummary, Page, RunFilter,
    RunRecord, RunSummary,
};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use store::{APPROVAL_VALID, APPROVAL_WAIT, Cancelled, MIN_PREFIX, RetentionLimits, Store};
