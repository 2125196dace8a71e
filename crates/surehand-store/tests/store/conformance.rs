//! What every store must do with the runs that it is given.

use jiff::Timestamp;
use proptest::prelude::*;
use surehand_core::{RunEnd, RunEvent, RunId, RunStart, RunStatus, StreamName, StreamRecord};
use surehand_store::{Cancelled, OutputContent, RunFilter, Store, StoreError};

use crate::support::*;

checks!(
    a_run_is_kept_whole,
    writing_again_changes_nothing,
    an_ended_run_stays_ended,
    events_of_unknown_runs_are_passed_over,
    a_group_is_written_whole_or_not_at_all,
    odd_text_is_kept,
    outputs_are_inline_or_in_the_folder,
    cancelling_is_asked_for_once,
    what_is_lost_is_settled,
);

async fn a_run_is_kept_whole(store: &dyn Store) {
    let id = RunId::generate();
    let at: Timestamp = "2026-03-29T01:30:00.123456789Z".parse().unwrap();
    store
        .apply(
            &me(),
            &[
                RunEvent::Start(Box::new(RunStart { at, ..run(id) })),
                RunEvent::Running { id, at: at + secs(1) },
                output(id, StreamName::Stdout, b"out"),
                output(id, StreamName::Stderr, b""),
                RunEvent::End(Box::new(RunEnd {
                    id,
                    at: at + secs(3),
                    status: RunStatus::TimedOut,
                    exit_code: None,
                    signal: Some("SIGKILL".to_owned()),
                    error: Some("took longer than 2 s".to_owned()),
                    duration_ms: 2_000,
                })),
            ],
        )
        .await
        .unwrap();
    let found = store.get(id).await.unwrap().unwrap();
    let expected = run(id);
    assert_eq!(found.arguments, expected.arguments);
    assert_eq!(
        found.arguments.keys().collect::<Vec<_>>(),
        expected.arguments.keys().collect::<Vec<_>>(),
        "order is kept"
    );
    assert_eq!(found.command, expected.command);
    assert_eq!(found.cwd, expected.cwd);
    assert_eq!(found.client, expected.caller.client);
    assert_eq!(found.owner, me());
    assert_eq!(found.approval, None);
    let summary = &found.summary;
    assert_eq!(summary.created_at.to_string(), "2026-03-29T01:30:00.123Z");
    assert_eq!(
        summary.started_at.unwrap().to_string(),
        "2026-03-29T01:30:01.123Z"
    );
    assert_eq!(
        summary.completed_at.unwrap().to_string(),
        "2026-03-29T01:30:03.123Z"
    );
    assert_eq!(
        (
            summary.status,
            summary.duration_ms,
            summary.exit_code,
            summary.signal.as_deref()
        ),
        (RunStatus::TimedOut, Some(2_000), None, Some("SIGKILL"))
    );
    assert_eq!(summary.error.as_deref(), Some("took longer than 2 s"));
    assert_eq!(
        (summary.principal.as_str(), summary.channel.as_str()),
        ("ada", "stdio")
    );
    let streams: Vec<_> = found
        .outputs
        .iter()
        .map(|output| (output.stream, output.total_bytes))
        .collect();
    assert_eq!(streams, [(StreamName::Stdout, 10), (StreamName::Stderr, 7)]);
    assert_eq!(store.get(RunId::generate()).await.unwrap(), None);
    let as_json = serde_json::to_value(&found).unwrap();
    assert_eq!(as_json["status"], "timed_out");
    assert_eq!(as_json["outputs"][0]["stream"], "stdout");
    assert_eq!(
        serde_json::from_value::<surehand_store::RunRecord>(as_json).unwrap(),
        found
    );
}

async fn writing_again_changes_nothing(store: &dyn Store) {
    let id = RunId::generate();
    let events = [
        start(id),
        running(id),
        output(id, StreamName::Stdout, b"x"),
        end(id, RunStatus::Success),
    ];
    for upto in 1..=events.len() {
        store.apply(&me(), &events[..upto]).await.unwrap();
        let once = store.get(id).await.unwrap();
        store.apply(&me(), &events[..upto]).await.unwrap();
        assert_eq!(store.get(id).await.unwrap(), once);
    }
}

async fn an_ended_run_stays_ended(store: &dyn Store) {
    let id = RunId::generate();
    store
        .apply(&me(), &[start(id), end(id, RunStatus::Cancelled)])
        .await
        .unwrap();
    store
        .apply(&me(), &[running(id), start(id), end(id, RunStatus::Success)])
        .await
        .unwrap();
    assert_eq!(status(store, id).await, RunStatus::Cancelled);
}

async fn events_of_unknown_runs_are_passed_over(store: &dyn Store) {
    let (unknown, known) = (RunId::generate(), RunId::generate());
    store
        .apply(
            &me(),
            &[
                running(unknown),
                output(unknown, StreamName::Stdout, b"x"),
                end(unknown, RunStatus::Success),
                start(known),
            ],
        )
        .await
        .unwrap();
    assert_eq!(store.get(unknown).await.unwrap(), None);
    assert!(store.get(known).await.unwrap().is_some());
    assert_eq!(store.output(unknown, StreamName::Stdout).await.unwrap(), None);
}

async fn a_group_is_written_whole_or_not_at_all(store: &dyn Store) {
    let id = RunId::generate();
    let error = store
        .apply(&me(), &[start(id), end(id, RunStatus::Running)])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert_eq!(store.get(id).await.unwrap(), None);
    store.apply(&me(), &[start(id)]).await.unwrap();
    assert!(store.get(id).await.unwrap().is_some(), "the store still works");
}

async fn odd_text_is_kept(store: &dyn Store) {
    let odd = "a\0b\u{2028}\u{202e}\u{feff}'\";--\u{fffd}\u{10ffff}\r\n\t😀";
    let id = RunId::generate();
    let mut odd_run = run(id);
    odd_run.tool = odd.to_owned();
    odd_run.caller.principal = odd.to_owned();
    odd_run.display = odd.to_owned();
    odd_run.cwd = Some(odd.to_owned());
    odd_run.command = vec![odd.to_owned(), String::new()];
    odd_run.arguments = [(odd.to_owned(), odd.into())].into_iter().collect();
    let bytes: Vec<u8> = (0..=255).collect();
    store
        .apply(
            &me(),
            &[
                RunEvent::Start(Box::new(odd_run.clone())),
                output(id, StreamName::Stdout, &bytes),
                RunEvent::End(Box::new(RunEnd {
                    id,
                    at: Timestamp::now(),
                    status: RunStatus::Failed,
                    exit_code: Some(-1),
                    signal: None,
                    error: Some(odd.to_owned()),
                    duration_ms: u64::MAX,
                })),
            ],
        )
        .await
        .unwrap();
    let found = store.get(id).await.unwrap().unwrap();
    assert_eq!(found.summary.tool, odd);
    assert_eq!(found.summary.display, odd);
    assert_eq!(found.summary.principal, odd);
    assert_eq!(found.summary.error.as_deref(), Some(odd));
    assert_eq!(found.command, odd_run.command);
    assert_eq!(found.arguments, odd_run.arguments);
    let kept = store.output(id, StreamName::Stdout).await.unwrap().unwrap();
    assert_eq!(kept.content, OutputContent::Inline(bytes));
    let filter = RunFilter {
        tool: Some(odd.to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(store.list(&filter).await.unwrap().runs.len(), 1);
}

async fn outputs_are_inline_or_in_the_folder(store: &dyn Store) {
    let id = RunId::generate();
    store
        .apply(&me(), &[start(id), output(id, StreamName::Stdout, b"a\xff\0b")])
        .await
        .unwrap();
    let inline = store.output(id, StreamName::Stdout).await.unwrap().unwrap();
    assert_eq!(inline.content, OutputContent::Inline(b"a\xff\0b".to_vec()));
    assert_eq!((inline.summary.total_bytes, inline.summary.kept_bytes), (11, 4));
    assert_eq!(
        store.output(id, StreamName::Stderr).await.unwrap(),
        None,
        "not complete yet"
    );
    let record = StreamRecord {
        stream: StreamName::Stderr,
        total_bytes: 1 << 40,
        kept_bytes: 64 << 20,
        sha256: "cd".repeat(32),
        inline: None,
    };
    store
        .apply(&me(), &[RunEvent::Output { id, record }])
        .await
        .unwrap();
    let spooled = store.output(id, StreamName::Stderr).await.unwrap().unwrap();
    let OutputContent::File(path) = spooled.content else {
        panic!()
    };
    assert_eq!(path, store.run_folder(id).join("stderr"));
    assert!(store.run_folder(id).ends_with(format!("runs/{id}")));
    assert_eq!(spooled.summary.total_bytes, 1 << 40);
}

async fn cancelling_is_asked_for_once(store: &dyn Store) {
    let (id, other) = (RunId::generate(), RunId::generate());
    store
        .apply(&me(), &[start(id), running(id), start(other)])
        .await
        .unwrap();
    let now = Timestamp::now();
    assert!(store.pending_cancels(&[id, other]).await.unwrap().is_empty());
    assert_eq!(
        store.request_cancel(id, "ada", now).await.unwrap(),
        Cancelled::Requested
    );
    assert_eq!(
        store.request_cancel(id, "bob", now).await.unwrap(),
        Cancelled::Requested
    );
    let wish = store
        .get(id)
        .await
        .unwrap()
        .unwrap()
        .summary
        .cancel_requested
        .unwrap();
    assert_eq!(wish.by, "ada", "the first one is remembered");
    assert_eq!(store.pending_cancels(&[id, other]).await.unwrap(), [id]);
    assert!(
        store.pending_cancels(&[other]).await.unwrap().is_empty(),
        "not asked about"
    );
    assert_eq!(
        status(store, id).await,
        RunStatus::Running,
        "a wish is not yet a fact"
    );
    store
        .apply(&me(), &[end(id, RunStatus::Cancelled)])
        .await
        .unwrap();
    assert!(store.pending_cancels(&[id, other]).await.unwrap().is_empty());
    let error = store.request_cancel(id, "ada", now).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::AlreadyEnded {
                status: RunStatus::Cancelled,
                ..
            }
        ),
        "{error}"
    );
    let error = store
        .request_cancel(RunId::generate(), "ada", now)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::NoSuchRun(_)), "{error}");
}

async fn what_is_lost_is_settled(store: &dyn Store) {
    let ids: Vec<RunId> = (0..5).map(|_| RunId::generate()).collect();
    store
        .apply(&me(), &[start(ids[0]), start(ids[1]), running(ids[1])])
        .await
        .unwrap();
    store
        .apply(
            &dead(),
            &[
                start(ids[2]),
                start(ids[3]),
                running(ids[3]),
                start(ids[4]),
                end(ids[4], RunStatus::Success),
            ],
        )
        .await
        .unwrap();
    let filter = RunFilter {
        statuses: vec![RunStatus::Running],
        ..RunFilter::default()
    };
    let running = store.list(&filter).await.unwrap().runs;
    assert_eq!(
        running.iter().map(|run| run.id).collect::<Vec<_>>(),
        [ids[1]],
        "a reader never sees the dead run"
    );
    for id in &ids[2..4] {
        let found = store.get(*id).await.unwrap().unwrap().summary;
        assert_eq!(found.status, RunStatus::Failed);
        assert_eq!(
            found.error.as_deref(),
            Some("interrupted: the serving process ended")
        );
        assert!(found.completed_at.is_some());
        assert_eq!((found.duration_ms, found.exit_code), (None, None), "nobody knows");
    }
    assert_eq!(status(store, ids[0]).await, RunStatus::Scheduled);
    assert_eq!(status(store, ids[4]).await, RunStatus::Success);
    assert!(store.settle(Timestamp::now()).await.unwrap().is_empty(), "once");
    let lost = RunId::generate();
    store.apply(&dead(), &[start(lost)]).await.unwrap();
    assert_eq!(store.settle(Timestamp::now()).await.unwrap(), [lost]);
    // Asking for the cancellation of a run that nobody carries out would wait for ever.
    let lost = RunId::generate();
    store.apply(&dead(), &[start(lost)]).await.unwrap();
    let error = store
        .request_cancel(lost, "ada", Timestamp::now())
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::AlreadyEnded {
                status: RunStatus::Failed,
                ..
            }
        ),
        "{error}"
    );
}

/// Something that is done to one of a few runs.
#[derive(Debug, Clone)]
enum Step {
    Start,
    Running,
    Output,
    End(RunStatus),
    Cancel,
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        Just(Step::Start),
        Just(Step::Running),
        Just(Step::Output),
        prop_oneof![
            Just(RunStatus::Success),
            Just(RunStatus::Failed),
            Just(RunStatus::Cancelled)
        ]
        .prop_map(Step::End),
        Just(Step::Cancel),
        Just(Step::Settle),
    ];
    proptest::collection::vec((0_usize..3, step), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order, a run begins once and ends once, and its end stays.
    #[test]
    fn a_run_begins_once_and_ends_once(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path()).await;
            let ids: Vec<RunId> = (0..3).map(|_| RunId::generate()).collect();
            let mut expected: Vec<Option<RunStatus>> = vec![None; 3];
            for (which, step) in steps {
                let id = ids[which];
                let state = &mut expected[which];
                let event = match step {
                    Step::Start => {
                        state.get_or_insert(RunStatus::Scheduled);
                        start(id)
                    }
                    Step::Running => {
                        if *state == Some(RunStatus::Scheduled) {
                            *state = Some(RunStatus::Running);
                        }
                        running(id)
                    }
                    Step::Output => output(id, StreamName::Stdout, b"x"),
                    Step::End(how) => {
                        if state.is_some_and(|state| !state.is_final()) {
                            *state = Some(how);
                        }
                        end(id, how)
                    }
                    Step::Cancel => {
                        let asked = store.request_cancel(id, "ada", Timestamp::now()).await;
                        prop_assert_eq!(asked.is_ok(), state.is_some_and(|state| !state.is_final()));
                        continue;
                    }
                    Step::Settle => {
                        prop_assert!(store.settle(Timestamp::now()).await.unwrap().is_empty());
                        continue;
                    }
                };
                store.apply(&me(), &[event]).await.unwrap();
            }
            for (id, expected) in ids.iter().zip(expected) {
                let found = store.get(*id).await.unwrap();
                prop_assert_eq!(found.as_ref().map(|run| run.summary.status), expected);
                if let Some(run) = found {
                    prop_assert_eq!(run.summary.completed_at.is_some(), run.summary.status.is_final());
                }
            }
            prop_assert!(store.check().await.unwrap().is_empty());
            Ok(())
        })?;
    }
}
