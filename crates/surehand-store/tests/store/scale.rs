//! Lists stay fast however much there is.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use surehand_core::{RunEvent, RunStatus};
use surehand_store::{RunFilter, Store};

use crate::support::*;

const RUNS: u64 = 100_000;
/// What users are promised is 5 ms with an optimised build on a quiet machine.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 50 } else { 5 });

/// Failures are rare and old, and so is one tool: the worst case for a list of them.
fn runs(numbers: std::ops::Range<u64>) -> Vec<RunEvent> {
    numbers
        .flat_map(|n| {
            let at = time(n);
            let failed = n % 5_000 == 7 && n < RUNS / 2;
            let status = if failed {
                RunStatus::Failed
            } else {
                RunStatus::Success
            };
            let tool = if n % 10_000 == 3 { "rare" } else { "common" };
            [start_of(id_at(at, n), tool, at), end_at(id_at(at, n), status, at)]
        })
        .collect()
}

fn time(n: u64) -> Timestamp {
    "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + secs(n.cast_signed())
}

/// What is asked for, how many runs come, and how it is asked.
type Case = (&'static str, usize, fn(&mut RunFilter));

#[tokio::test]
async fn a_page_of_a_hundred_thousand_runs_is_fast() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let owner = me();
    for chunk in 0..RUNS / 1_000 {
        store
            .apply(&owner, &runs(chunk * 1_000..(chunk + 1) * 1_000))
            .await
            .unwrap();
    }
    let cases: [Case; 9] = [
        ("newest", 50, |_| ()),
        ("from the middle", 50, |filter| {
            filter.before = Some(id_at(time(RUNS / 2), RUNS / 2));
        }),
        ("failed", 10, |filter| filter.failed_only = true),
        ("running", 0, |filter| filter.statuses = vec![RunStatus::Running]),
        ("of a rare tool", 10, |filter| {
            filter.tool = Some("rare".to_owned());
        }),
        ("of a common tool, failed", 10, |filter| {
            filter.tool = Some("common".to_owned());
            filter.failed_only = true;
        }),
        ("of an unknown tool", 0, |filter| {
            filter.tool = Some("none".to_owned());
        }),
        ("of the last ten seconds", 10, |filter| {
            filter.since = Some(time(RUNS - 10));
        }),
        ("since ever, failed", 10, |filter| {
            filter.since = Some(time(0));
            filter.failed_only = true;
        }),
    ];
    for (name, expected, change) in cases {
        let mut filter = RunFilter::default();
        change(&mut filter);
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let page = store.list(&filter).await.unwrap();
            best = best.min(begun.elapsed());
            assert_eq!(page.runs.len(), expected, "{name}");
        }
        println!("{name}: {best:?}");
        assert!(best < BOUND, "{name}: {best:?}");
    }
    let begun = Instant::now();
    store
        .find(&id_at(time(RUNS / 2), RUNS / 2).as_text())
        .await
        .unwrap();
    assert!(begun.elapsed() < BOUND * 2);
}
