//! What a host promises, with toolsets made for the test.

mod changing;
mod confirming;
mod ending;
mod fakes;
mod locking;
mod permission;
mod waiting;
