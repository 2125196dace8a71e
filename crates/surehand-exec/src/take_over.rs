//! Becoming the spawner, in a program that embeds this crate.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::spawner;

/// The variable by which a program executed again knows that it is to be the spawner.
pub(crate) const ROLE: &str = "SUREHAND_EXEC_ROLE";
/// Its value.
pub(crate) const SPAWNER: &str = "spawner";

static TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// Must be the first thing that `main` does in a program that uses an [`crate::Executor`].
///
/// Such a program is executed a second time as the spawner of its runs; in that process this function does
/// the spawner's work and never returns. In every other process it returns at once.
pub fn take_over() {
    if env::var_os(ROLE).is_some_and(|role| role == SPAWNER) {
        spawner::work();
    }
    TAKEN_OVER.store(true, Ordering::Relaxed);
}

/// Whether this program may be executed again as the spawner: else it would do its own work again instead.
pub(crate) fn is_prepared() -> bool {
    TAKEN_OVER.load(Ordering::Relaxed)
}
