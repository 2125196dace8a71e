//! Forgetting old runs and their folders, a few at a time.

use std::{fs, io, path::Path, time::SystemTime};

use jiff::{SignedDuration, Timestamp};
use surehand_core::RunId;

use super::Shared;
use crate::{Store, StoreError};

/// How often, over all processes that share the store.
const EVERY: SignedDuration = SignedDuration::from_hours(1);
/// How many runs at a time: writers wait no longer than this takes.
const BATCH: u32 = 100;

/// Where a round of tidying stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tidying {
    /// It is not known yet whether a round is due.
    #[default]
    Ask,
    /// Old runs are being forgotten.
    Runs,
    /// Folders of no known run are being removed.
    Folders,
    /// Nothing to do before this time.
    DoneUntil(Timestamp),
}

/// One small step.
pub(super) async fn step(
    shared: &Shared,
    store: &dyn Store,
    stage: Tidying,
    now: Timestamp,
) -> Result<Tidying, StoreError> {
    match stage {
        Tidying::DoneUntil(time) if now < time => Ok(stage),
        Tidying::DoneUntil(_) | Tidying::Ask => {
            if store.claim_pruning(EVERY, now).await? {
                Ok(Tidying::Runs)
            } else {
                Ok(done(now))
            }
        }
        Tidying::Runs => {
            let ids = store.prunable(&shared.config.limits(), BATCH, now).await?;
            if ids.is_empty() {
                return Ok(Tidying::Folders);
            }
            // The folder first: a row without folder is found again next time, a folder without row is not.
            let mut forgotten = Vec::with_capacity(ids.len());
            for id in &ids {
                let folder = store.run_folder(*id);
                match remove_folder(&folder) {
                    Ok(()) => forgotten.push(*id),
                    Err(error) => shared.reports.spool(&folder, &error),
                }
            }
            store.delete_runs(&forgotten).await?;
            // What cannot be deleted would come up again and again.
            Ok(if forgotten.len() == ids.len() {
                Tidying::Runs
            } else {
                Tidying::Folders
            })
        }
        Tidying::Folders => {
            let old = old_folders(&shared.folders, shared.config.retention_age);
            for id in store.unknown(&old).await? {
                let folder = store.run_folder(id);
                if let Err(error) = remove_folder(&folder) {
                    shared.reports.spool(&folder, &error);
                }
            }
            Ok(done(now))
        }
    }
}

pub(super) fn done(now: Timestamp) -> Tidying {
    Tidying::DoneUntil(now.checked_add(EVERY).unwrap_or(Timestamp::MAX))
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Folders that are named like a run and were last changed longer ago than `age`.
fn old_folders(folders: &Path, age: SignedDuration) -> Vec<RunId> {
    let Some(cutoff) = age
        .try_into()
        .ok()
        .and_then(|age| SystemTime::now().checked_sub(age))
    else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(folders) else {
        // No run ever wrote much.
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            entry
                .metadata()
                .and_then(|found| found.modified())
                .is_ok_and(|modified| modified < cutoff)
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}
