//! A served toolset as a client sees it, byte for byte.

mod asking;
mod calls;
mod cancelling;
mod changes;
mod ending;
mod eras;
mod fuzz;
mod harness;
mod limits;
mod malformed;
mod progress;
