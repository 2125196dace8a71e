//! The vocabulary that every other crate of Surehand speaks.
//!
//! A [`Toolset`] says what can be done, a [`Call`] asks for it, a [`Ctx`] says for whom and how, an
//! [`Answer`] says what came of it. [`Policy`] decides who may, [`Recorder`] remembers what happened,
//! [`Approvals`] holds what waits for a person.
//!
//! This crate must never do I/O, start a process, read a clock on behalf of a caller's decision, or know
//! any other crate of the workspace.

mod answer;
mod approvals;
mod call;
mod caller;
mod ctx;
mod error;
mod ids;
mod nearest;
mod policy;
mod recorder;
mod redact;
mod strict_json;
mod tool;
mod toolset;

pub use answer::{Answer, Content, InputAnswer, InputRequest, Outcome};
pub use approvals::{ApprovalRequest, Approvals, ApprovalsError};
pub use call::{Call, Confirm, Lock, Plan, Prepared, Work};
pub use caller::{Caller, Channel, ClientInfo};
pub use ctx::{
    ClientCapabilities, Ctx, CtxBuilder, Inputs, OutputLine, OutputSink, Progress, ProgressSink, RunScope,
    StreamName,
};
pub use error::{CallError, Refusal};
pub use ids::{ParseRunIdError, RunId};
pub use nearest::nearest;
pub use policy::{Action, Decision, Policy, Resource};
pub use recorder::{NoRecorder, PersonAnswer, Recorder, RunEnd, RunEvent, RunStart, RunStatus, StreamRecord};
pub use redact::{REDACTED, Redactor, RedactorStream};
pub use strict_json::parse_strict;
pub use tool::{Effects, Tool};
pub use toolset::{Change, ListError, Listing, Offers, Toolset};
