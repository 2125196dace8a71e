//! What every store must do when it is asked for runs.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use surehand_core::{RunId, RunStatus};
use surehand_store::{RunFilter, Store, StoreError};

use crate::support::*;

checks!(
    filters_add_up,
    a_page_neither_skips_nor_repeats,
    a_run_is_found_by_the_beginning_of_its_id,
);

/// A condition, and the runs that meet it when there is no other.
type Case = (fn(&mut RunFilter), &'static [usize]);

async fn filters_add_up(store: &dyn Store) {
    let base: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let made = [
        ("a", RunStatus::Success),
        ("b", RunStatus::Failed),
        ("a", RunStatus::TimedOut),
        ("b", RunStatus::Cancelled),
        ("a", RunStatus::Failed),
        ("b", RunStatus::Success),
    ];
    let mut all = Vec::new();
    for (n, (tool, status)) in (0..).zip(made) {
        let at = base + secs(60 * n);
        let id = id_at(at, n.cast_unsigned());
        ended(store, id, tool, status, at).await;
        all.push(id);
    }
    let two = base + secs(120);
    let some = [RunStatus::Success, RunStatus::Cancelled];
    let cases: [Case; 6] = [
        (|_| (), &[5, 4, 3, 2, 1, 0]),
        (|filter| filter.tool = Some("a".to_owned()), &[4, 2, 0]),
        (|filter| filter.failed_only = true, &[4, 2, 1]),
        (|filter| filter.limit = 0, &[5]),
        (|filter| filter.limit = u32::MAX, &[5, 4, 3, 2, 1, 0]),
        (|filter| filter.tool = Some("'; DROP".to_owned()), &[]),
    ];
    for since in [None, Some(two), Some(two + SignedDuration::from_millis(1))] {
        let first = since.map_or(0, |since| if since == two { 2 } else { 3 });
        for statuses in [&[][..], &some] {
            for before in [None, Some(4)] {
                for (number, (change, expected)) in cases.iter().enumerate() {
                    let mut filter = RunFilter {
                        statuses: statuses.to_vec(),
                        since,
                        ..RunFilter::default()
                    };
                    filter.before = before.map(|place: usize| all[place]);
                    change(&mut filter);
                    let mut expected: Vec<usize> = expected.to_vec();
                    if filter.limit == 0 {
                        // One run, whichever is the newest of those that are asked for.
                        expected = vec![5, 4, 3, 2, 1, 0];
                    }
                    expected.retain(|place| *place >= first && before.is_none_or(|before| *place < before));
                    expected.retain(|place| statuses.is_empty() || statuses.contains(&made[*place].1));
                    if filter.limit == 0 {
                        expected.truncate(1);
                    }
                    let page = store.list(&filter).await.unwrap();
                    let place = |id| all.iter().position(|known| *known == id).unwrap();
                    let got: Vec<usize> = page.runs.iter().map(|run| place(run.id)).collect();
                    assert_eq!(got, expected, "case {number}: {filter:?}");
                }
            }
        }
    }
}

async fn a_page_neither_skips_nor_repeats(store: &dyn Store) {
    let mut there = BTreeSet::new();
    for n in 0..53_u64 {
        let id = RunId::generate();
        let status = if n % 3 == 0 {
            RunStatus::Failed
        } else {
            RunStatus::Success
        };
        ended(
            store,
            id,
            if n % 2 == 0 { "even" } else { "odd" },
            status,
            Timestamp::now(),
        )
        .await;
        there.insert(id);
    }
    for (filter, expected) in [
        (RunFilter::default(), 53),
        (
            RunFilter {
                tool: Some("even".into()),
                ..RunFilter::default()
            },
            27,
        ),
        (
            RunFilter {
                failed_only: true,
                ..RunFilter::default()
            },
            18,
        ),
    ] {
        let mut seen = Vec::new();
        let mut before = None;
        loop {
            let page = store
                .list(&RunFilter {
                    before,
                    limit: 7,
                    ..filter.clone()
                })
                .await
                .unwrap();
            assert!(page.runs.len() <= 7);
            seen.extend(page.runs.iter().map(|run| run.id).filter(|id| there.contains(id)));
            // Runs arrive between the pages.
            ended(
                store,
                RunId::generate(),
                "even",
                RunStatus::Failed,
                Timestamp::now(),
            )
            .await;
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), expected);
        assert!(
            seen.is_sorted_by(|earlier, later| earlier > later),
            "newest first, none twice"
        );
    }
    // A last page that is exactly full has no next.
    let page = store
        .list(&RunFilter {
            tool: Some("odd".into()),
            limit: 26,
            ..RunFilter::default()
        })
        .await
        .unwrap();
    assert_eq!((page.runs.len(), page.next), (26, None));
}

async fn a_run_is_found_by_the_beginning_of_its_id(store: &dyn Store) {
    let at: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
    let ids: Vec<RunId> = (0..12).map(|n| id_at(at, n)).collect();
    for id in &ids {
        ended(store, *id, "t", RunStatus::Success, at).await;
    }
    let other = id_at(at + SignedDuration::from_hours(24 * 365), 0);
    ended(store, other, "t", RunStatus::Success, at).await;
    let text = other.as_text();
    for prefix in [
        &text[..4],
        &text[..13],
        &text,
        &text.to_uppercase(),
        &text.replace('-', ""),
    ] {
        assert_eq!(store.find(prefix).await.unwrap().summary.id, other, "{prefix}");
    }
    let whole = ids[3].as_text();
    assert_eq!(store.find(&whole).await.unwrap().summary.id, ids[3]);
    let error = store.find(&whole[..8]).await.unwrap_err();
    let StoreError::Ambiguous { candidates, more, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        *candidates,
        ids.iter().rev().take(10).copied().collect::<Vec<_>>(),
        "the newest ten"
    );
    assert!(*more);
    assert!(error.to_string().ends_with(" and others"), "{error}");
    assert!(matches!(store.find("ffff").await, Err(StoreError::NoSuchRun(_))));
    for bad in ["", "abc", "xyzw", "%%%%", "____", "0193' OR 1"] {
        assert!(
            matches!(store.find(bad).await, Err(StoreError::BadPrefix(_))),
            "{bad}"
        );
    }
}
