//! What every store must do to stay small and whole.

use jiff::{SignedDuration, Timestamp};
use surehand_core::{RunId, RunStatus, StreamName};
use surehand_store::{RetentionLimits, Store};

use crate::support::*;

checks!(
    old_runs_are_pruned,
    the_oldest_go_when_there_is_too_much,
    one_process_prunes,
    a_store_that_is_well_has_no_complaints,
);

async fn old_runs_are_pruned(store: &dyn Store) {
    let now: Timestamp = "2026-06-30T00:00:00Z".parse().unwrap();
    let days = |n: i64| SignedDuration::from_hours(24 * n);
    let made: Vec<RunId> = (0..40).map(|n| id_at(now - days(n), 1)).collect();
    for (n, id) in (0..).zip(&made) {
        ended(store, *id, "t", RunStatus::Success, now - days(n)).await;
    }
    let unfinished = id_at(now - days(100), 2);
    store
        .apply(&me(), &[start_of(unfinished, "t", now - days(100))])
        .await
        .unwrap();
    let long = id_at(now - days(101), 3);
    store
        .apply(
            &me(),
            &[
                start_of(long, "t", now - days(101)),
                output(long, StreamName::Stdout, b"x"),
                end_at(long, RunStatus::Success, now),
            ],
        )
        .await
        .unwrap();
    let limits = RetentionLimits {
        age: days(30),
        bytes: u64::MAX,
    };
    let first = store.prunable(&limits, 4, now).await.unwrap();
    assert_eq!(
        first,
        [made[39], made[38], made[37], made[36]],
        "the oldest first"
    );
    store.delete_runs(&first).await.unwrap();
    let rest = store.prunable(&limits, 100, now).await.unwrap();
    assert_eq!(rest, made[31..36].iter().rev().copied().collect::<Vec<_>>());
    store.delete_runs(&rest).await.unwrap();
    store.delete_runs(&[unfinished, RunId::generate()]).await.unwrap();
    assert!(store.prunable(&limits, 100, now).await.unwrap().is_empty());
    assert!(store.get(unfinished).await.unwrap().is_some(), "it goes on");
    assert!(store.get(long).await.unwrap().is_some(), "it has only just ended");
    assert_eq!(
        store.unknown(&[made[0], made[39], unfinished]).await.unwrap(),
        [made[39]]
    );
    store.delete_runs(&[long]).await.unwrap();
    assert_eq!(store.output(long, StreamName::Stdout).await.unwrap(), None);
}

async fn the_oldest_go_when_there_is_too_much(store: &dyn Store) {
    let now = Timestamp::now();
    let mut made = Vec::new();
    let unfinished = RunId::generate();
    store
        .apply(
            &me(),
            &[
                start(unfinished),
                output(unfinished, StreamName::Stdout, &vec![0; 100_000]),
            ],
        )
        .await
        .unwrap();
    for _ in 0..10 {
        let id = RunId::generate();
        store
            .apply(
                &me(),
                &[
                    start(id),
                    output(id, StreamName::Stdout, &vec![0; 100_000]),
                    end(id, RunStatus::Success),
                ],
            )
            .await
            .unwrap();
        made.push(id);
    }
    let limits = |bytes| RetentionLimits {
        age: SignedDuration::from_hours(1),
        bytes,
    };
    assert!(
        store
            .prunable(&limits(2_000_000), 100, now)
            .await
            .unwrap()
            .is_empty()
    );
    let over = store.prunable(&limits(800_000), 100, now).await.unwrap();
    assert_eq!(
        over,
        made[..4],
        "eleven runs of a little more than 100,000 bytes each"
    );
    store.delete_runs(&over).await.unwrap();
    assert!(
        store
            .prunable(&limits(800_000), 100, now)
            .await
            .unwrap()
            .is_empty()
    );
    let all = store.prunable(&limits(0), 100, now).await.unwrap();
    assert_eq!(all, made[4..], "all but what goes on");
}

async fn one_process_prunes(store: &dyn Store) {
    let hour = SignedDuration::from_hours(1);
    let now: Timestamp = "2026-06-30T00:00:00Z".parse().unwrap();
    assert!(store.claim_pruning(hour, now).await.unwrap());
    assert!(!store.claim_pruning(hour, now + secs(3_599)).await.unwrap());
    assert!(store.claim_pruning(hour, now + secs(3_600)).await.unwrap());
    assert!(!store.claim_pruning(hour, now + secs(3_601)).await.unwrap());
    assert!(
        store.claim_pruning(hour, now - secs(86_400)).await.unwrap(),
        "the clock was put back"
    );
}

async fn a_store_that_is_well_has_no_complaints(store: &dyn Store) {
    let id = RunId::generate();
    store
        .apply(
            &me(),
            &[
                start(id),
                output(id, StreamName::Stdout, b"x"),
                end(id, RunStatus::Success),
            ],
        )
        .await
        .unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
