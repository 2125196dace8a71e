//! The background thread: opens the store at the first event and writes what comes, in groups.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use surehand_core::{ApprovalsError, RunEnd, RunEvent, RunId, RunStatus};
use tokio::time::Instant;

use super::{
    Shared, lock,
    queue::{Group, Word},
    report,
    retention::{self, Tidying},
};
use crate::{Fault, ProcessIdentity, SqliteOptions, SqliteStore, Store, StoreError};

/// The most events in one transaction.
const GROUP: usize = 512;
/// How long the first event of a group waits for company: the events of a short run make one commit.
const GATHER: Duration = Duration::from_millis(20);
/// How often wishes to cancel are looked for.
const POLL: Duration = Duration::from_millis(200);
/// How long a write waits for another process before it counts as failed once.
const BUSY: Duration = Duration::from_secs(2);
/// After a failure, the next try comes after this, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A lock that is held for so long is worth telling.
const LOCK_WORTH_TELLING: Duration = Duration::from_secs(10);
/// How long writing goes on after the last [`super::History`] is gone, where the store cannot be written.
const FAREWELL: Duration = Duration::from_secs(10);

/// What the thread does. When anything in it panics, history is off and says so.
pub(super) fn run(shared: &Arc<Shared>) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map(|runtime| runtime.block_on(Writer::new(Arc::clone(shared)).write()))
    }));
    match outcome {
        // Nobody is left who could record anything.
        Ok(Ok(())) => shared.queue.turn_off("it has ended"),
        Ok(Err(error)) => shared.turn_off(&format!("its runtime cannot be made: {error}"), None),
        Err(_) => shared.turn_off("it failed inside; please report this", None),
    }
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    owner: ProcessIdentity,
    store: Option<Arc<dyn Store>>,
    /// Taken from the queue, not written yet.
    in_hand: Option<Group>,
    /// Runs of this process that are written as begun and not as ended.
    open: HashSet<RunId>,
    /// Those of them that the callback was told to cancel.
    told: HashSet<RunId>,
    /// Wishes are to be read even if nobody else has written since the last time.
    look_again: bool,
    trouble: Option<Trouble>,
    tidying: Tidying,
    next_poll: Instant,
    closing_since: Option<Instant>,
}

/// Writing fails at present.
struct Trouble {
    since: Instant,
    pause: Duration,
    retry_at: Instant,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            owner: ProcessIdentity::current(),
            store: None,
            in_hand: None,
            open: HashSet::new(),
            told: HashSet::new(),
            look_again: true,
            trouble: None,
            tidying: Tidying::default(),
            next_poll: Instant::now(),
            closing_since: None,
        }
    }

    async fn write(mut self) {
        loop {
            self.wait().await;
            if self.shared.queue.off().is_some() || self.is_over() {
                return;
            }
            while let Some(word) = self.shared.queue.take_word() {
                self.answer(word).await;
            }
            if self.may_try() {
                self.write_events().await;
            }
            self.shared.queue.report_progress(self.in_hand.as_ref());
            self.look_for_cancels().await;
            self.tidy().await;
        }
    }

    /// Until something is to be done, or may be worth trying again.
    async fn wait(&mut self) {
        if !self.shared.queue.is_empty() && self.trouble.is_none() {
            return self.shared.queue.gather(GATHER).await;
        }
        let mut until = self.trouble.as_ref().map(|trouble| trouble.retry_at);
        let mut at_latest = |time: Instant| until = Some(until.map_or(time, |until| until.min(time)));
        if self.watches_for_cancels() {
            at_latest(self.next_poll);
        }
        if self.trouble.is_none() && self.is_tidying() {
            at_latest(Instant::now());
        }
        if let Some(since) = self.closing_since {
            at_latest(since + FAREWELL);
        } else if self.shared.queue.is_closed() {
            at_latest(Instant::now());
        }
        match until {
            Some(until) => {
                tokio::select! {
                    () = self.shared.queue.woken() => {}
                    () = tokio::time::sleep_until(until) => return,
                }
            }
            None => self.shared.queue.woken().await,
        }
        self.shared.queue.gather(GATHER).await;
    }

    fn is_over(&mut self) -> bool {
        if !self.shared.queue.is_closed() {
            return false;
        }
        let since = *self.closing_since.get_or_insert_with(Instant::now);
        (self.shared.queue.is_empty() && self.in_hand.is_none()) || since.elapsed() >= FAREWELL
    }

    fn may_try(&self) -> bool {
        let urged = self.shared.queue.take_urged();
        self.trouble
            .as_ref()
            .is_none_or(|trouble| urged || Instant::now() >= trouble.retry_at)
    }

    async fn write_events(&mut self) {
        let Some(mut group) = self.in_hand.take().or_else(|| self.shared.queue.take(GROUP)) else {
            // Whatever could not be done was given up.
            self.trouble = None;
            return;
        };
        let outcome = match self.apply(&group.events).await {
            Err(error) if error.fault() == Some(Fault::Refused) => self.write_singly(&mut group).await,
            outcome => outcome,
        };
        match outcome {
            Ok(()) => self.written(&group),
            Err(error) => {
                self.in_hand = Some(group);
                self.pause();
                self.report(&error);
                // A lock is let go of, and another store is opened for one that is gone.
                if !matches!(error.fault(), Some(Fault::Locked | Fault::Moved)) {
                    self.shared.queue.report_failure();
                }
            }
        }
    }

    /// One event that the store will never take must not hold up the others. What is left in the group is
    /// still to be written.
    async fn write_singly(&mut self, group: &mut Group) -> Result<(), StoreError> {
        let mut left = std::mem::take(&mut group.events).into_iter();
        while let Some(event) = left.next() {
            match self.apply(std::slice::from_ref(&event)).await {
                Ok(()) => self.note(&event),
                Err(error) if error.fault() == Some(Fault::Refused) => report::refused(&error),
                Err(error) => {
                    group.events.push(event);
                    group.events.extend(left);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    async fn apply(&mut self, events: &[RunEvent]) -> Result<(), StoreError> {
        let store = self.store().await?;
        store.apply(&self.owner, events).await
    }

    fn written(&mut self, group: &Group) {
        for event in &group.events {
            self.note(event);
        }
        if self
            .trouble
            .take()
            .is_some_and(|trouble| trouble.since.elapsed() >= LOCK_WORTH_TELLING)
        {
            report::recovered();
        }
        let dropped = self.shared.queue.take_dropped();
        if dropped > 0 {
            report::dropped(dropped);
        }
    }

    fn note(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Start(start) => {
                self.open.insert(start.id);
                // An approved run may have been asked to be cancelled before it was this process's.
                self.look_again = true;
            }
            RunEvent::End(end) => {
                self.open.remove(&end.id);
                self.told.remove(&end.id);
            }
            RunEvent::Running { .. } | RunEvent::Output { .. } => {}
        }
    }

    fn pause(&mut self) {
        let now = Instant::now();
        let trouble = self.trouble.get_or_insert(Trouble {
            since: now,
            pause: FIRST_PAUSE,
            retry_at: now,
        });
        trouble.retry_at = now + trouble.pause;
        trouble.pause = (trouble.pause * 2).min(LONGEST_PAUSE);
    }

    fn report(&mut self, error: &StoreError) {
        match error.fault() {
            Some(fault) if !fault.can_pass() => {
                self.shared.turn_off(&error.to_string(), error.hint().as_deref());
            }
            Some(Fault::Locked) if !self.lasts() => {}
            Some(Fault::Moved) => {
                self.store = None;
                self.shared.reports.trouble(error);
            }
            _ => self.shared.reports.trouble(error),
        }
    }

    fn lasts(&self) -> bool {
        self.trouble
            .as_ref()
            .is_some_and(|trouble| trouble.since.elapsed() >= LOCK_WORTH_TELLING)
    }

    async fn store(&mut self) -> Result<Arc<dyn Store>, StoreError> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }
        let config = &self.shared.config;
        let options = SqliteOptions {
            sync_full: config.sync_full,
            busy_timeout: BUSY,
        };
        let store = SqliteStore::open(&config.dir, &options).await?;
        store.settle(Timestamp::now()).await?;
        let store: Arc<dyn Store> = Arc::new(store);
        self.store = Some(Arc::clone(&store));
        Ok(store)
    }

    async fn answer(&mut self, word: Word) {
        match word {
            Word::Ask { request, answer } => {
                let result = match self.store().await {
                    Ok(store) => store.ask(&self.owner, &request).await,
                    Err(error) => Err(error),
                };
                // Whoever asked may have gone: the call waits all the same.
                drop(answer.send(self.or_unavailable(result)));
            }
            Word::Take {
                principal,
                tool,
                digest,
                at,
                answer,
            } => {
                // A yes that nobody is there to use is left for the next call.
                if answer.is_closed() {
                    return;
                }
                let result = match self.store().await {
                    Ok(store) => store.take(&self.owner, &principal, &tool, &digest, at).await,
                    Err(error) => Err(error),
                };
                if let Err(Ok(Some(id))) = answer.send(self.or_unavailable(result)) {
                    self.withdraw(id);
                }
            }
        }
    }

    /// The caller went away while the yes was being taken.
    fn withdraw(&self, id: RunId) {
        self.shared.queue.push(RunEvent::End(Box::new(RunEnd {
            id,
            at: Timestamp::now(),
            status: RunStatus::Cancelled,
            exit_code: None,
            signal: None,
            error: Some("the call was withdrawn before it began".to_owned()),
            duration_ms: 0,
        })));
    }

    fn or_unavailable<T>(&mut self, result: Result<T, StoreError>) -> Result<T, ApprovalsError> {
        result.map_err(|error| {
            self.report(&error);
            ApprovalsError(error.to_string())
        })
    }

    fn watches_for_cancels(&self) -> bool {
        !self.open.is_empty() && lock(&self.shared.on_cancel).is_some()
    }

    async fn look_for_cancels(&mut self) {
        if !self.watches_for_cancels() || Instant::now() < self.next_poll {
            return;
        }
        self.next_poll = Instant::now() + POLL;
        let (Some(store), Some(callback)) = (self.store.clone(), lock(&self.shared.on_cancel).clone()) else {
            return;
        };
        match self.wishes(&*store).await {
            Ok(wanted) => {
                for id in wanted {
                    if self.told.insert(id) && catch_unwind(AssertUnwindSafe(|| callback(id))).is_err() {
                        tracing::error!("history: cancelling run {id} failed inside; please report this");
                    }
                }
            }
            Err(error) => self.report(&error),
        }
    }

    async fn wishes(&mut self, store: &dyn Store) -> Result<Vec<RunId>, StoreError> {
        self.look_again |= store.changed().await?;
        if !self.look_again {
            return Ok(Vec::new());
        }
        let ids: Vec<RunId> = self.open.iter().copied().collect();
        let wanted = store.pending_cancels(&ids).await?;
        self.look_again = false;
        Ok(wanted)
    }

    fn is_tidying(&self) -> bool {
        self.store.is_some() && matches!(self.tidying, Tidying::Ask | Tidying::Runs | Tidying::Folders)
    }

    /// A step of tidying, where nothing else is to be done.
    async fn tidy(&mut self) {
        let idle = self.trouble.is_none() && self.in_hand.is_none() && self.shared.queue.is_empty();
        let Some(store) = self
            .store
            .clone()
            .filter(|_| idle && !self.shared.queue.is_closed())
        else {
            return;
        };
        match retention::step(&self.shared, &*store, self.tidying, Timestamp::now()).await {
            Ok(next) => self.tidying = next,
            Err(error) => {
                self.report(&error);
                self.tidying = retention::done(Timestamp::now());
            }
        }
    }
}
