//! Telling the operator what is wrong with history, without flooding the log.

use std::{collections::HashSet, sync::Mutex};

use super::lock;
use crate::{Fault, StoreError};

/// What was told already.
#[derive(Default)]
pub(super) struct Reports {
    told: Mutex<HashSet<Kind>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Kind {
    Store(Option<Fault>),
    Folders,
    Spool,
    Off,
}

impl Reports {
    /// Trouble that may pass. Each kind is told once.
    pub(super) fn trouble(&self, error: &StoreError) {
        if self.first(Kind::Store(error.fault())) {
            let hint = error.hint().unwrap_or_default();
            tracing::error!(
                hint,
                "{error}; calls go on, and what happens is lost unless this passes before they have all ended"
            );
        }
    }

    /// The folder for large outputs cannot be made.
    pub(super) fn folders(&self, error: &crate::PrivacyError) {
        if self.first(Kind::Folders) {
            let hint = error.hint();
            tracing::error!(hint, "{error}; large outputs are not kept");
        }
    }

    /// An old run's outputs cannot be deleted.
    pub(super) fn spool(&self, folder: &std::path::Path, error: &std::io::Error) {
        if self.first(Kind::Spool) {
            tracing::error!(
                "history: the old outputs in {} cannot be deleted: {error}",
                folder.display()
            );
        }
    }

    /// History is off for good.
    pub(super) fn off(&self, reason: &str, hint: Option<&str>) {
        if self.first(Kind::Off) {
            let hint = hint.unwrap_or_default();
            tracing::error!(
                hint,
                "history is off: {reason}; calls go on, and nothing of them is remembered"
            );
        }
    }

    fn first(&self, kind: Kind) -> bool {
        lock(&self.told).insert(kind)
    }
}

/// An event that the store will never take.
pub(super) fn refused(error: &StoreError) {
    tracing::error!("history: {error}; this entry is lost");
}

/// Memory was short.
pub(super) fn dropped(count: u64) {
    tracing::error!(
        "history: could not be written for so long that {count} of its oldest entries were dropped"
    );
}

/// Trouble has passed.
pub(super) fn recovered() {
    tracing::info!("history: is written again");
}
