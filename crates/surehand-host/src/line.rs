//! Waiting in line, first come, first served.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

/// How often one who waits is told how far the line has moved.
const NEWS_EVERY: Duration = Duration::from_secs(1);

/// Lines by key. Each key may be held by several at once; who finds it full waits in order.
///
/// How many may hold a key is said by each who asks, since it may change with a reload: the first in line
/// enters as soon as fewer than *its* limit hold the key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    lines: Arc<Mutex<HashMap<String, Line>>>,
}

#[derive(Debug, Default)]
struct Line {
    /// Who holds the key: ticket and name.
    holders: Vec<(u64, String)>,
    waiting: VecDeque<Waiter>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    name: String,
    limit: u32,
    enter: oneshot::Sender<()>,
}

/// How things stand for one who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// How many wait in front of it.
    pub(crate) ahead: usize,
    /// The name of one that holds the key.
    pub(crate) holder: String,
}

/// A place in line, or inside. Dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct Place {
    lines: Lines,
    key: String,
    ticket: u64,
}

impl Lines {
    /// Gets in line for `key` as `name` and waits until fewer than `limit` hold it. `news` is told how
    /// things stand: at once where there is a wait at all, then whenever it changed, at most once a second.
    pub(crate) async fn enter(
        &self,
        key: &str,
        limit: u32,
        name: &str,
        mut news: impl FnMut(&Standing),
    ) -> Place {
        let (place, mut entered) = self.join(key, limit, name);
        let mut last = None;
        loop {
            // Standing before the channel: one who just entered has no news to tell.
            let standing = place.standing();
            if standing.is_some() && standing != last {
                standing.iter().for_each(&mut news);
                last = standing;
            }
            match tokio::time::timeout(NEWS_EVERY, &mut entered).await {
                // The sender lives in the line until it is used, so this is the permission to enter.
                Ok(_) => return place,
                Err(_elapsed) => {}
            }
        }
    }

    fn join(&self, key: &str, limit: u32, name: &str) -> (Place, oneshot::Receiver<()>) {
        let (enter, entered) = oneshot::channel();
        let mut lines = self.lock();
        let line = lines.entry(key.to_owned()).or_default();
        let ticket = line.next_ticket;
        line.next_ticket += 1;
        line.waiting.push_back(Waiter {
            ticket,
            name: name.to_owned(),
            limit,
            enter,
        });
        line.advance();
        let place = Place {
            lines: self.clone(),
            key: key.to_owned(),
            ticket,
        };
        (place, entered)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Line>> {
        // No code that can panic runs under this lock, and each change is whole by itself.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Lets in who may.
    fn advance(&mut self) {
        while let Some(first) = self.waiting.front()
            && self.holders.len() < first.limit as usize
        {
            let Some(first) = self.waiting.pop_front() else {
                return;
            };
            self.holders.push((first.ticket, first.name));
            // A receiver that is gone gives its place up by itself, when its `Place` is dropped.
            let _ = first.enter.send(());
        }
    }
}

impl Place {
    fn standing(&self) -> Option<Standing> {
        let lines = self.lines.lock();
        let line = lines.get(&self.key)?;
        let ahead = line
            .waiting
            .iter()
            .position(|waiter| waiter.ticket == self.ticket)?;
        let holder = line.holders.first().map(|(_, name)| name.clone());
        Some(Standing {
            ahead,
            holder: holder.unwrap_or_default(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = self.lines.lock();
        let Some(line) = lines.get_mut(&self.key) else {
            return;
        };
        line.holders.retain(|(ticket, _)| *ticket != self.ticket);
        line.waiting.retain(|waiter| waiter.ticket != self.ticket);
        line.advance();
        if line.holders.is_empty() && line.waiting.is_empty() {
            lines.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt;

    use super::{Lines, Place, Standing};

    async fn enter(lines: &Lines, limit: u32, name: &str) -> Place {
        lines.enter("k", limit, name, |_| {}).await
    }

    #[tokio::test]
    async fn the_first_to_come_is_the_first_to_enter() {
        let lines = Lines::default();
        let held = enter(&lines, 1, "a").await;
        let mut second = Box::pin(enter(&lines, 1, "b"));
        let mut third = Box::pin(enter(&lines, 1, "c"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        drop(held);
        assert!((&mut third).now_or_never().is_none());
        let second = second.now_or_never().unwrap();
        drop(second);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_gives_up_is_passed_over() {
        let lines = Lines::default();
        let held = enter(&lines, 1, "a").await;
        let mut gone = Box::pin(enter(&lines, 1, "b"));
        let mut next = Box::pin(enter(&lines, 1, "c"));
        assert!((&mut gone).now_or_never().is_none());
        assert!((&mut next).now_or_never().is_none());
        drop(held);
        // It was let in but never looked.
        drop(gone);
        assert!(next.now_or_never().is_some());
    }

    #[tokio::test]
    async fn as_many_hold_a_key_as_the_limit_says() {
        let lines = Lines::default();
        let _one = enter(&lines, 2, "a").await;
        let two = enter(&lines, 2, "b").await;
        let mut three = Box::pin(enter(&lines, 2, "c"));
        assert!((&mut three).now_or_never().is_none());
        drop(two);
        assert!(three.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_limit_that_changed_holds_for_who_asks_with_it() {
        let lines = Lines::default();
        let _one = enter(&lines, 1, "a").await;
        assert!(enter(&lines, 2, "b").now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_who_waits_hears_how_things_stand() {
        let lines = Lines::default();
        let _held = enter(&lines, 1, "first").await;
        let mut second = Box::pin(enter(&lines, 1, "second"));
        assert!((&mut second).now_or_never().is_none());
        let heard = Mutex::new(Vec::new());
        let mut third = Box::pin(lines.enter("k", 1, "third", |standing| {
            heard.lock().unwrap().push(standing.clone());
        }));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(
            *heard.lock().unwrap(),
            [Standing {
                ahead: 1,
                holder: "first".to_owned()
            }]
        );
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_line_that_ended() {
        let lines = Lines::default();
        drop(enter(&lines, 1, "a").await);
        assert!(lines.lock().is_empty());
    }
}
