//! Serves one [`surehand_core::Toolset`] over the Model Context Protocol: over standard input and output
//! ([`serve_stdio`]) or over any pair of byte streams ([`serve`]).
//!
//! Both eras of the protocol are served at once: revisions 2024-11-05 to 2025-11-25, which open with
//! `initialize`, and 2026-07-28, where each request says for itself what it needs. `rmcp` knows the messages
//! and the rules of each era. What it leaves open on a byte stream is here, in front of it: answers to what
//! cannot be read, batches, a last line without an end, a bound on everything that a client can make us
//! hold, withdrawal, and an orderly end when the client goes.
//!
//! ```text
//! reader -> line_reader -> front (envelope, request, batch) -> transport -> rmcp -> handler -> toolset
//! writer <- outbox <------ in_flight (which answer goes where) <- transport <- rmcp <-'
//! ```
//!
//! This crate must never decide what a tool does or who may call it, never write anything but protocol to
//! its output, never answer a request twice, and never leave a call running whose client is gone.

mod batch;
mod call;
mod changes;
mod convert;
mod elicit;
mod envelope;
mod front;
mod handler;
mod in_flight;
mod line_reader;
mod options;
mod outbox;
mod peer;
mod progress;
mod request;
mod sealed_state;
mod serve;
mod session;
mod stdio;
mod tool_list;
mod transport;
mod wire;

pub use options::ServeOptions;
pub use serve::{Ended, ServeError, serve};
pub use stdio::serve_stdio;
