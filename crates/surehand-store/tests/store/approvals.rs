//! Calls that wait for a person.

use jiff::{SignedDuration, Timestamp};
use surehand_core::{PersonAnswer, RunEvent, RunId, RunStart, RunStatus};
use surehand_store::{ApprovalDecision, Cancelled, Store, StoreError};

use crate::support::*;

checks!(
    a_yes_is_taken_once_and_the_run_goes_on,
    a_call_waits_once,
    a_yes_is_for_one_call_only,
    a_yes_lasts_five_minutes,
    a_call_waits_a_day,
    a_yes_cannot_be_given_twice,
    a_no_ends_the_run,
    a_yes_can_be_taken_back_until_it_is_used,
    a_waiting_call_can_be_cancelled,
    only_what_waits_is_approved,
    a_taken_call_whose_process_dies_is_settled,
    an_answer_given_before_the_run_is_kept_with_it,
    names_and_arguments_are_kept_within_bounds,
);

async fn an_answer_given_before_the_run_is_kept_with_it(store: &dyn Store) {
    let asked_at = Timestamp::now();
    let answered_at = asked_at + secs(3);
    for yes in [true, false] {
        let id = RunId::generate();
        let start = RunEvent::Start(Box::new(RunStart {
            answer: Some(PersonAnswer {
                digest: "d".to_owned(),
                asked_at,
                answered_at,
                yes,
            }),
            ..run(id)
        }));
        // Written again after a failure in between, it is the same.
        store.apply(&me(), std::slice::from_ref(&start)).await.unwrap();
        store.apply(&me(), &[start, running(id)]).await.unwrap();
        let approval = store.get(id).await.unwrap().unwrap().approval.unwrap();
        let (decision, taken) = if yes {
            (ApprovalDecision::Approved, true)
        } else {
            (ApprovalDecision::Rejected, false)
        };
        assert_eq!(approval.decision, Some(decision));
        assert_eq!(approval.decided_by.as_deref(), Some("ada"));
        assert_eq!(approval.taken_at.is_some(), taken);
        assert_eq!(
            approval.decided_at.unwrap().duration_since(approval.asked_at),
            secs(3)
        );
        // It is used up: nobody else gets anything of it.
        let taken = store
            .take(&me(), "ada", "cleanup", "d", answered_at)
            .await
            .unwrap();
        assert_eq!(taken, None);
    }
}

async fn names_and_arguments_are_kept_within_bounds(store: &dyn Store) {
    let id = RunId::generate();
    let mut start = run(id);
    let huge = "x".repeat(1 << 20);
    if let Some(client) = &mut start.caller.client {
        client.name.clone_from(&huge);
    }
    start.arguments.insert("text".to_owned(), huge.as_str().into());
    start.command.push(huge.clone());
    start.display = huge;
    store
        .apply(&me(), &[RunEvent::Start(Box::new(start))])
        .await
        .unwrap();
    let record = store.get(id).await.unwrap().unwrap();
    let kept = serde_json::to_string(&record).unwrap().len();
    assert!(kept < 200_000, "{kept}");
    assert_eq!(record.command[..2], ["bash", "clean.sh"]);
    for text in [
        &record.summary.display,
        &record.client.unwrap().name,
        &record.command[3],
    ] {
        assert!(text.ends_with(" more bytes]"));
    }
}

async fn a_yes_is_taken_once_and_the_run_goes_on(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    assert_eq!(status(store, id).await, RunStatus::PendingApproval);
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", now).await.unwrap(),
        None,
        "nobody said yes"
    );
    store.approve(id, "bob", now).await.unwrap();
    assert_eq!(status(store, id).await, RunStatus::PendingApproval);
    let later = now + secs(10);
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", later).await.unwrap(),
        Some(id)
    );
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", later).await.unwrap(),
        None,
        "once"
    );
    assert_eq!(status(store, id).await, RunStatus::Scheduled);

    let goes_on = RunStart {
        display: "as it is now".to_owned(),
        at: later,
        ..run(id)
    };
    store
        .apply(
            &me(),
            &[
                RunEvent::Start(Box::new(goes_on)),
                RunEvent::Running {
                    id,
                    at: later + secs(1),
                },
                end(id, RunStatus::Success),
            ],
        )
        .await
        .unwrap();
    let found = store.get(id).await.unwrap().unwrap();
    assert_eq!(found.summary.status, RunStatus::Success);
    assert_eq!(found.summary.display, "as it is now");
    assert_eq!(
        found.summary.created_at.as_millisecond(),
        now.as_millisecond(),
        "when it was asked for"
    );
    assert_eq!(
        found.summary.started_at.unwrap().as_millisecond(),
        (later + secs(1)).as_millisecond()
    );
    let approval = found.approval.unwrap();
    assert_eq!(approval.decision, Some(ApprovalDecision::Approved));
    assert_eq!(approval.decided_by.as_deref(), Some("bob"));
    assert_eq!(
        approval.taken_at.unwrap().as_millisecond(),
        later.as_millisecond()
    );
}

async fn a_call_waits_once(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    for n in 1..5 {
        assert_eq!(store.ask(&me(), &request("d", now + secs(n))).await.unwrap(), id);
    }
    assert_eq!(
        store
            .list(&surehand_store::RunFilter::default())
            .await
            .unwrap()
            .runs
            .len(),
        1
    );
    store.approve(id, "bob", now).await.unwrap();
    assert_eq!(
        store.ask(&me(), &request("d", now)).await.unwrap(),
        id,
        "approved and not used"
    );
    assert_ne!(store.ask(&me(), &request("other", now)).await.unwrap(), id);
    store
        .take(&me(), "ada", "cleanup", "d", now)
        .await
        .unwrap()
        .unwrap();
    let next = store.ask(&me(), &request("d", now)).await.unwrap();
    assert_ne!(next, id, "used: the next call waits anew");
    assert_ne!(
        store
            .ask(&me(), &request("d", now + SignedDuration::from_hours(24)))
            .await
            .unwrap(),
        next,
        "expired: the next call waits anew"
    );
}

async fn a_yes_is_for_one_call_only(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    for (principal, tool, digest) in [
        ("eve", "cleanup", "d"),
        ("ada", "other", "d"),
        ("ada", "cleanup", "e"),
        ("ada", "cleanup", "D"),
    ] {
        assert_eq!(
            store.take(&me(), principal, tool, digest, now).await.unwrap(),
            None
        );
    }
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", now).await.unwrap(),
        Some(id)
    );
}

async fn a_yes_lasts_five_minutes(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    let too_late = now + SignedDuration::from_millis(300_001);
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", too_late).await.unwrap(),
        None
    );
    // A clock that was put back does not make it last longer.
    assert_eq!(
        store
            .take(&me(), "ada", "cleanup", "d", now - secs(61))
            .await
            .unwrap(),
        None
    );
    let in_time = now + SignedDuration::from_millis(300_000);
    assert_eq!(
        store.take(&me(), "ada", "cleanup", "d", in_time).await.unwrap(),
        Some(id)
    );

    let id = store.ask(&me(), &request("e", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    assert_eq!(store.settle(too_late).await.unwrap(), [id]);
    let found = store.get(id).await.unwrap().unwrap();
    assert_eq!(found.summary.status, RunStatus::Cancelled);
    assert!(
        found
            .summary
            .error
            .unwrap()
            .starts_with("expired: approved by bob, but")
    );
    assert_eq!(found.approval.unwrap().decision, Some(ApprovalDecision::Expired));
    assert_eq!(store.take(&me(), "ada", "cleanup", "e", now).await.unwrap(), None);
}

async fn a_call_waits_a_day(store: &dyn Store) {
    let now = Timestamp::now();
    let day = SignedDuration::from_hours(24);
    let id = store.ask(&dead(), &request("d", now)).await.unwrap();
    assert!(
        store.settle(now + day - secs(1)).await.unwrap().is_empty(),
        "it outlives the one that asked"
    );
    let error = store.approve(id, "bob", now + day).await.unwrap_err();
    assert!(matches!(error, StoreError::ApprovalExpired { .. }), "{error}");
    let found = store.get(id).await.unwrap().unwrap().summary;
    assert_eq!(found.status, RunStatus::Cancelled);
    assert_eq!(
        found.error.as_deref(),
        Some("expired: nobody approved it within 24 hours")
    );
    let error = store.approve(id, "bob", now).await.unwrap_err();
    assert!(
        matches!(error, StoreError::ApprovalExpired { .. }),
        "it stays so: {error}"
    );
    let error = store.reject(id, "bob", None, now).await.unwrap_err();
    assert!(matches!(error, StoreError::ApprovalExpired { .. }), "{error}");
}

async fn a_yes_cannot_be_given_twice(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    let error = store.approve(id, "eve", now + secs(200)).await.unwrap_err();
    assert!(
        error.to_string().contains("was approved already, by bob at "),
        "{error}"
    );
    assert_eq!(
        store
            .take(&me(), "ada", "cleanup", "d", now + secs(400))
            .await
            .unwrap(),
        None,
        "a second yes does not lengthen the first"
    );
}

async fn a_no_ends_the_run(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store
        .reject(id, "bob", Some("not on a Friday"), now)
        .await
        .unwrap();
    let found = store.get(id).await.unwrap().unwrap();
    assert_eq!(found.summary.status, RunStatus::Cancelled);
    assert_eq!(
        found.summary.error.as_deref(),
        Some("rejected by bob: not on a Friday")
    );
    assert_eq!(found.approval.unwrap().reason.as_deref(), Some("not on a Friday"));
    for again in [
        store.approve(id, "eve", now).await,
        store.reject(id, "eve", None, now).await,
    ] {
        let error = again.unwrap_err();
        assert!(
            error.to_string().contains("was rejected already, by bob at "),
            "{error}"
        );
    }
    assert_eq!(store.take(&me(), "ada", "cleanup", "d", now).await.unwrap(), None);
    let without = store.ask(&me(), &request("d", now)).await.unwrap();
    store.reject(without, "bob", None, now).await.unwrap();
    let found = store.get(without).await.unwrap().unwrap();
    assert_eq!(found.summary.error.as_deref(), Some("rejected by bob"));
}

async fn a_yes_can_be_taken_back_until_it_is_used(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    store.reject(id, "bob", Some("wrong one"), now).await.unwrap();
    assert_eq!(store.take(&me(), "ada", "cleanup", "d", now).await.unwrap(), None);
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    store
        .take(&me(), "ada", "cleanup", "d", now)
        .await
        .unwrap()
        .unwrap();
    let error = store.reject(id, "bob", None, now).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::NotWaiting {
                status: RunStatus::Scheduled,
                ..
            }
        ),
        "{error}"
    );
}

async fn a_waiting_call_can_be_cancelled(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    assert_eq!(
        store.request_cancel(id, "ada", now).await.unwrap(),
        Cancelled::Now
    );
    let found = store.get(id).await.unwrap().unwrap();
    assert_eq!(found.summary.status, RunStatus::Cancelled);
    assert_eq!(found.summary.error.as_deref(), Some("cancelled by ada"));
    assert_eq!(store.take(&me(), "ada", "cleanup", "d", now).await.unwrap(), None);
    let error = store.approve(id, "bob", now).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::NotWaiting {
                status: RunStatus::Cancelled,
                ..
            }
        ),
        "{error}"
    );
    // It cannot come back to life.
    store.apply(&me(), &[start(id), running(id)]).await.unwrap();
    assert_eq!(status(store, id).await, RunStatus::Cancelled);
}

async fn only_what_waits_is_approved(store: &dyn Store) {
    let now = Timestamp::now();
    let error = store.approve(RunId::generate(), "bob", now).await.unwrap_err();
    assert!(matches!(error, StoreError::NoSuchRun(_)), "{error}");
    let id = RunId::generate();
    store.apply(&me(), &[start(id), running(id)]).await.unwrap();
    let error = store.approve(id, "bob", now).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("does not wait for approval: it is running"),
        "{error}"
    );
    store.apply(&me(), &[end(id, RunStatus::Success)]).await.unwrap();
    let error = store.reject(id, "bob", None, now).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("does not wait for approval: it is success"),
        "{error}"
    );
    let mut not_waiting = request("d", now);
    not_waiting.run.status = RunStatus::Running;
    assert!(store.ask(&me(), &not_waiting).await.is_err());
}

async fn a_taken_call_whose_process_dies_is_settled(store: &dyn Store) {
    let now = Timestamp::now();
    let id = store.ask(&me(), &request("d", now)).await.unwrap();
    store.approve(id, "bob", now).await.unwrap();
    store
        .take(&dead(), "ada", "cleanup", "d", now)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status(store, id).await, RunStatus::Failed);
}

/// Two servers and more at once: one of them gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_take_at_once_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let asking = open(dir.path()).await;
    for round in 0..20 {
        let digest = format!("d{round}");
        let now = Timestamp::now();
        let id = asking.ask(&me(), &request(&digest, now)).await.unwrap();
        asking.approve(id, "bob", now).await.unwrap();
        let mut takers = Vec::new();
        for _ in 0..4 {
            let store = open(dir.path()).await;
            let digest = digest.clone();
            takers.push(tokio::spawn(async move {
                store.take(&me(), "ada", "cleanup", &digest, now).await.unwrap()
            }));
        }
        let mut won = Vec::new();
        for taker in takers {
            won.extend(taker.await.unwrap());
        }
        assert_eq!(won, [id]);
    }
}

/// Two servers that are asked the same at once show one waiting run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_ask_at_once_one_waits() {
    let dir = tempfile::tempdir().unwrap();
    let now = Timestamp::now();
    let mut askers = Vec::new();
    for _ in 0..8 {
        let store = open(dir.path()).await;
        askers.push(tokio::spawn(async move {
            store.ask(&me(), &request("d", now)).await.unwrap()
        }));
    }
    let mut ids = std::collections::BTreeSet::new();
    for asker in askers {
        ids.insert(asker.await.unwrap());
    }
    assert_eq!(ids.len(), 1);
}

/// Approving and rejecting at once: one word counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_yes_and_a_cancellation_at_once_agree() {
    let dir = tempfile::tempdir().unwrap();
    let asking = open(dir.path()).await;
    for round in 0..20 {
        let digest = format!("d{round}");
        let now = Timestamp::now();
        let id = asking.ask(&me(), &request(&digest, now)).await.unwrap();
        asking.approve(id, "bob", now).await.unwrap();
        let (taking, cancelling) = (open(dir.path()).await, open(dir.path()).await);
        let taken =
            tokio::spawn(async move { taking.take(&me(), "ada", "cleanup", &digest, now).await.unwrap() });
        let cancelled = tokio::spawn(async move { cancelling.request_cancel(id, "eve", now).await.unwrap() });
        match (taken.await.unwrap(), cancelled.await.unwrap()) {
            (Some(_), Cancelled::Requested) => {
                assert_eq!(
                    asking.pending_cancels(&[id]).await.unwrap(),
                    [id],
                    "and the wish is kept"
                );
            }
            (None, Cancelled::Now) => assert_eq!(status(&asking, id).await, RunStatus::Cancelled),
            other => panic!("{other:?}"),
        }
    }
}
