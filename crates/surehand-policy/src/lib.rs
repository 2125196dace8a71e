//! Who may do what.
//!
//! The one place where Surehand decides about permission: [`authorise`]. Every call and every list goes
//! through it, so that what is not listed cannot be called either.
//!
//! This crate must never do I/O, and never answer yes to a caller whom it does not know.

mod local;

pub use local::{LocalPolicy, authorise};
