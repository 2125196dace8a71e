//! Awaiting other people's code without being hurt by it.

use std::{any::Any, future::Future, panic::AssertUnwindSafe};

use futures::FutureExt;

/// Awaits `future`; a panic in it becomes an error that says what it said.
pub(crate) async fn guarded<F: Future>(future: F) -> Result<F::Output, String> {
    // Nothing that the future shared with us is used after a panic: its call is over.
    AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .map_err(|panic| format!("panicked: {}", words(panic.as_ref())))
}

fn words(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
