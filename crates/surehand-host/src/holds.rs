//! What a call holds while it runs: its locks, then a place under the global limit.

use surehand_core::{CallError, Ctx, Lock, Plan, Progress, ProgressSink};

use crate::{
    file_lock::{FileLock, LockFolder},
    line::{Lines, Place, Standing},
};

/// Tells the caller why nothing happens yet.
pub(crate) struct Waiting {
    sink: Option<ProgressSink>,
    told: f64,
}

impl Waiting {
    pub(crate) fn new(cx: &Ctx) -> Self {
        Self {
            sink: cx.progress.clone(),
            told: 0.0,
        }
    }

    fn tell(&mut self, message: String) {
        if let Some(sink) = &self.sink {
            self.told += 1.0;
            sink(Progress {
                done: self.told,
                total: None,
                message,
            });
        }
    }

    /// Where the work's own progress goes. Progress only ever grows, so the work begins to count where the
    /// waiting ended.
    pub(crate) fn work_sink(&self) -> Option<ProgressSink> {
        let sink = self.sink.clone()?;
        if self.told == 0.0 {
            return Some(sink);
        }
        let before = self.told;
        Some(std::sync::Arc::new(move |progress: Progress| {
            sink(Progress {
                done: before + progress.done,
                total: progress.total.map(|total| before + total),
                message: progress.message,
            });
        }))
    }
}

/// Where calls wait for each other.
#[derive(Debug, Clone)]
pub(crate) struct Gates {
    locks: Lines,
    lock_folder: Option<LockFolder>,
    running: Lines,
    max_running: u32,
}

/// What a call holds. Dropping it lets others in.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// Each place with its file lock, which comes first and so ends first: the next of this process then
    /// finds it free at once.
    held: Vec<(Option<FileLock>, Place)>,
}

impl Gates {
    pub(crate) fn new(max_running: u32, lock_folder: Option<LockFolder>) -> Self {
        Self {
            locks: Lines::default(),
            lock_folder,
            running: Lines::default(),
            max_running,
        }
    }

    /// Waits for all that the plan needs. Locks come first, in the order of their keys, so that two calls
    /// never wait for each other, and one that waits for a lock keeps nobody from running.
    pub(crate) async fn pass(&self, plan: &Plan, waiting: &mut Waiting) -> Result<Holds, CallError> {
        let mut locks: Vec<&Lock> = plan.locks.iter().collect();
        locks.sort_by(|a, b| a.key.cmp(&b.key).then(a.limit.cmp(&b.limit)));
        // Of one key named twice, the stricter limit holds; holding it twice would wait for itself.
        locks.dedup_by(|a, b| a.key == b.key);
        let mut holds = Holds::default();
        for lock in locks {
            let place = self
                .locks
                .enter(&lock.key, lock.limit.max(1), &plan.tool, |standing| {
                    waiting.tell(lock_news(standing));
                })
                .await;
            let file = match &self.lock_folder {
                Some(folder) => Some(across_processes(folder, lock, plan, waiting).await?),
                None => None,
            };
            holds.held.push((file, place));
        }
        let place = self
            .running
            .enter("", self.max_running, &plan.tool, |standing| {
                waiting.tell(limit_news(standing));
            })
            .await;
        holds.held.push((None, place));
        Ok(holds)
    }
}

async fn across_processes(
    folder: &LockFolder,
    lock: &Lock,
    plan: &Plan,
    waiting: &mut Waiting,
) -> Result<FileLock, CallError> {
    let news = || waiting.tell(format!("waiting for another process (lock {})", lock.key));
    folder.hold(lock, news).await.map_err(|error| {
        CallError::Unavailable(format!(
            "{} must not overlap other runs, and that cannot be assured: {error}",
            plan.tool
        ))
    })
}

/// Says how many calls have to end before this one may begin.
fn limit_news(standing: &Standing) -> String {
    match standing.ahead {
        0 => "waiting: 1 call ahead".to_owned(),
        ahead => format!("waiting: {} calls ahead", ahead + 1),
    }
}

fn lock_news(standing: &Standing) -> String {
    let holder = &standing.holder;
    match standing.ahead {
        0 => format!("waiting for another run of {holder}"),
        ahead => format!("waiting for another run of {holder}; {ahead} more ahead"),
    }
}
