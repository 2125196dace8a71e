//! The queue under pressure.

use super::*;
use proptest::prelude::*;
use surehand_core::{Caller, Channel, RunEnd, RunStart, RunStatus, StreamName, StreamRecord};

fn start(id: RunId) -> RunEvent {
    RunEvent::Start(Box::new(RunStart {
        id,
        toolset: "runbooks".to_owned(),
        tool: "t".to_owned(),
        caller: Caller::new("p", Channel::Stdio),
        arguments: serde_json::Map::new(),
        command: vec!["true".to_owned()],
        display: "true".to_owned(),
        cwd: None,
        status: RunStatus::Running,
        at: Timestamp::UNIX_EPOCH,
        answer: None,
    }))
}

fn output(id: RunId, bytes: usize) -> RunEvent {
    RunEvent::Output {
        id,
        record: StreamRecord {
            stream: StreamName::Stdout,
            total_bytes: bytes as u64,
            kept_bytes: bytes as u64,
            sha256: String::new(),
            inline: Some(vec![b'x'; bytes]),
        },
    }
}

fn end(id: RunId) -> RunEvent {
    RunEvent::End(Box::new(RunEnd {
        id,
        at: Timestamp::UNIX_EPOCH,
        status: RunStatus::Success,
        exit_code: Some(0),
        signal: None,
        error: None,
        duration_ms: 1,
    }))
}

fn run_of(event: &RunEvent) -> RunId {
    match event {
        RunEvent::Start(start) => start.id,
        RunEvent::Running { id, .. } | RunEvent::Output { id, .. } => *id,
        RunEvent::End(end) => end.id,
    }
}

fn take_all(queue: &Queue) -> Vec<RunEvent> {
    queue
        .take(usize::MAX)
        .map(|group| group.events)
        .unwrap_or_default()
}

#[test]
fn the_end_of_a_run_that_is_written_as_begun_is_never_dropped() {
    let queue = Queue::with_bound(20_000);
    let old = RunId::generate();
    queue.push(start(old));
    assert_eq!(take_all(&queue).len(), 1, "its start is written");
    queue.push(output(old, 5_000));
    queue.push(end(old));
    let mut newest = old;
    for _ in 0..100 {
        newest = RunId::generate();
        queue.push(start(newest));
        queue.push(output(newest, 5_000));
        queue.push(end(newest));
    }
    let left = take_all(&queue);
    assert!(
        matches!(&left[0], RunEvent::End(end) if end.id == old),
        "{:?}",
        left[0]
    );
    let of_newest = left.iter().filter(|event| run_of(event) == newest).count();
    assert_eq!(of_newest, 3, "the newest run is whole");
    assert_eq!(queue.take_dropped() + left.len() as u64, 2 + 300);
    assert_eq!(queue.take_dropped(), 0);
}

#[tokio::test]
async fn progress_is_told_only_for_what_is_done() {
    let queue = Queue::new();
    assert_eq!(
        queue.written(Duration::ZERO).await,
        Ok(()),
        "nothing was recorded"
    );
    queue.push(start(RunId::generate()));
    let group = queue.take(1);
    queue.report_progress(group.as_ref());
    assert_eq!(
        queue.written(Duration::from_millis(20)).await,
        Err(FlushError::Timeout)
    );
    queue.push(start(RunId::generate()));
    queue.report_progress(None);
    assert_eq!(
        queue.written(Duration::from_millis(20)).await,
        Err(FlushError::Timeout)
    );
    take_all(&queue);
    queue.report_progress(None);
    assert_eq!(queue.written(Duration::from_millis(20)).await, Ok(()));
    queue.turn_off("test");
    queue.turn_off("again");
    assert_eq!(
        queue.written(Duration::from_secs(9)).await,
        Err(FlushError::Off("test".to_owned()))
    );
}

proptest! {
    /// Whatever comes in whatever order: memory stays bounded but for ends that must stay, runs are dropped
    /// from their start on or keep start and end, order is kept, and every event is accounted for.
    #[test]
    fn runs_are_dropped_whole(
        steps in proptest::collection::vec((0_usize..8, 0_usize..3_000, 0_u8..10), 1..300),
    ) {
        let bound = 12_000;
        let queue = Queue::with_bound(bound);
        let mut live: Vec<Option<RunId>> = vec![None; 8];
        let mut sent = Vec::new();
        let mut got: Vec<RunEvent> = Vec::new();
        for (slot, bytes, take) in steps {
            let event = match live[slot] {
                None => {
                    let id = RunId::generate();
                    live[slot] = Some(id);
                    start(id)
                }
                Some(id) if bytes % 2 == 0 => output(id, bytes),
                Some(id) => {
                    live[slot] = None;
                    end(id)
                }
            };
            sent.push(event.clone());
            queue.push(event);
            let state = lock(&queue.state);
            let kept: usize = state.kept.iter().map(|waiting| waiting.bytes).sum();
            let all: usize = kept + state.events.iter().map(|waiting| waiting.bytes).sum::<usize>();
            prop_assert_eq!(all, state.bytes);
            prop_assert!(all <= bound + kept);
            drop(state);
            if take == 0 {
                got.extend(queue.take(5).map(|group| group.events).unwrap_or_default());
            }
        }
        got.extend(take_all(&queue));
        prop_assert_eq!(got.len() as u64 + queue.take_dropped(), sent.len() as u64);
        let mut from = 0;
        for event in &got {
            let same = |other: &RunEvent| {
                run_of(other) == run_of(event) && std::mem::discriminant(other) == std::mem::discriminant(event)
            };
            let place = sent[from..].iter().position(same);
            prop_assert!(place.is_some(), "out of order");
            from += place.unwrap_or(0) + 1;
        }
        for event in &got {
            let id = run_of(event);
            let has = |events: &[RunEvent], start: bool| {
                events.iter().any(|other| run_of(other) == id && match other {
                    RunEvent::Start(_) => start,
                    RunEvent::End(_) => !start,
                    _ => false,
                })
            };
            prop_assert!(has(&got, true), "something of a run whose start was dropped");
            prop_assert_eq!(has(&got, false), has(&sent, false), "a run that began must end");
        }
    }
}
