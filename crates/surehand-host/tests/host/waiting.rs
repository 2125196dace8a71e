//! Locks, limits and lines within one process.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use surehand_core::{CallError, Caller, Channel, Ctx, Progress, RunEvent};
use surehand_host::{Host, HostLimits};
use tokio_util::sync::CancellationToken;

use crate::fakes::{Door, Fake, Memory, ada, builder, host, ok, outcome, run, tool, until, watched};

fn spawn(
    host: &Host,
    cx: Ctx,
    name: &'static str,
) -> tokio::task::JoinHandle<Result<surehand_core::Answer, CallError>> {
    let host = host.clone();
    tokio::spawn(async move { run(&host, &cx, name).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_at_once_are_all_answered_and_never_more_than_sixteen_run() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now_in, most_in) = (Arc::clone(&now), Arc::clone(&most));
    let (host, memory) = host([tool("busy", move |_| {
        let (now, most) = (Arc::clone(&now_in), Arc::clone(&most_in));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            ok("done")
        }
    })])
    .await;
    let answers = join_all((0..100).map(|_| spawn(&host, ada(), "busy"))).await;
    for answer in answers {
        assert_eq!(outcome(answer.unwrap()).joined_text(), "done");
    }
    assert_eq!(most.load(Ordering::SeqCst), 16);
    assert_eq!(memory.ends().len(), 100);
}

#[tokio::test]
async fn a_run_is_scheduled_then_running_then_ended() {
    let (host, memory) = host([tool("a", |cx: Ctx| async move {
        assert!(cx.run.folder().is_some());
        ok(&cx.run.id().as_text())
    })])
    .await;
    let text = outcome(run(&host, &ada(), "a").await).joined_text();
    assert_eq!(memory.story(), ["scheduled", "running", "success"]);
    assert_eq!(text, memory.only_run().as_text());
    let RunEvent::Start(start) = &memory.events()[0] else {
        panic!("no start")
    };
    assert_eq!(start.caller.principal, "ada");
    assert_eq!((start.toolset.as_str(), start.tool.as_str()), ("fake", "a"));
}

#[tokio::test]
async fn calls_under_one_lock_run_in_the_order_in_which_they_came() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let door = Door::new();
    let mut tools = vec![door.tool("first").lock("db", 1)];
    for name in ["second", "third", "fourth"] {
        let order = Arc::clone(&order);
        tools.push(
            tool(name, move |_| {
                order.lock().unwrap().push(name);
                async { ok("done") }
            })
            .lock("db", 1),
        );
    }
    let (host, memory) = host(tools).await;
    let first = spawn(&host, ada(), "first");
    door.until_arrived(1).await;
    let mut rest = Vec::new();
    for (count, name) in ["second", "third", "fourth"].into_iter().enumerate() {
        rest.push(spawn(&host, ada(), name));
        until(|| memory.events().len() == 3 + count).await;
        // It is recorded just before it gets in line.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(order.lock().unwrap().is_empty());
    door.let_through(1);
    outcome(first.await.unwrap());
    for answer in join_all(rest).await {
        outcome(answer.unwrap());
    }
    assert_eq!(*order.lock().unwrap(), ["second", "third", "fourth"]);
}

#[tokio::test]
async fn calls_that_wait_for_a_lock_keep_nobody_from_running() {
    let door = Door::new();
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new(
            "fake",
            [
                door.tool("locked").lock("db", 1),
                tool("free", |_| async { ok("ran") }),
            ],
        ))
        .limits(HostLimits { max_running: 2 })
        .build()
        .await
        .unwrap();
    let locked: Vec<_> = (0..20).map(|_| spawn(&host, ada(), "locked")).collect();
    door.until_arrived(1).await;
    // One place is taken by the holder of the lock; the nineteen others take none.
    for _ in 0..5 {
        assert_eq!(outcome(run(&host, &ada(), "free").await).joined_text(), "ran");
    }
    assert_eq!(door.arrived(), 1);
    door.let_through(20);
    for answer in join_all(locked).await {
        outcome(answer.unwrap());
    }
}

#[tokio::test]
async fn two_locks_in_opposite_order_do_not_wait_for_each_other() {
    let slow = |name| {
        tool(name, |_| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ok("done")
        })
    };
    let (host, _) = host([
        slow("ab").lock("a", 1).lock("b", 1),
        slow("ba").lock("b", 1).lock("a", 1),
        slow("aa").lock("a", 1).lock("a", 1),
    ])
    .await;
    let calls = (0..60).map(|n| spawn(&host, ada(), ["ab", "ba", "aa"][n % 3]));
    for answer in join_all(calls).await {
        outcome(answer.unwrap());
    }
}

#[tokio::test]
async fn one_who_waits_is_told_why_and_progress_never_falls_back() {
    let door = Door::new();
    let (host, _) = host([
        door.tool("slow").lock("db", 1),
        tool("next", |cx: Ctx| async move {
            if let Some(sink) = &cx.progress {
                sink(Progress {
                    done: 0.5,
                    total: Some(2.0),
                    message: "working".to_owned(),
                });
            }
            ok("done")
        })
        .lock("db", 1),
    ])
    .await;
    let slow = spawn(&host, ada(), "slow");
    door.until_arrived(1).await;
    let (cx, heard) = watched();
    let next = spawn(&host, cx, "next");
    until(|| !heard.lock().unwrap().is_empty()).await;
    door.let_through(1);
    outcome(slow.await.unwrap());
    outcome(next.await.unwrap());
    let heard = heard.lock().unwrap();
    let told: Vec<_> = heard
        .iter()
        .map(|progress| (progress.message.as_str(), progress.done, progress.total))
        .collect();
    assert_eq!(
        told,
        [
            ("waiting for another run of slow", 1.0, None),
            ("working", 1.5, Some(3.0))
        ]
    );
}

#[tokio::test]
async fn one_who_waits_for_the_global_limit_is_told_how_many_come_first() {
    let door = Door::new();
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new("fake", [door.tool("slow")]))
        .limits(HostLimits { max_running: 1 })
        .build()
        .await
        .unwrap();
    let mut calls = vec![spawn(&host, ada(), "slow")];
    door.until_arrived(1).await;
    for expected in ["waiting: 1 call ahead", "waiting: 2 calls ahead"] {
        let (cx, heard) = watched();
        calls.push(spawn(&host, cx, "slow"));
        until(|| !heard.lock().unwrap().is_empty()).await;
        assert_eq!(heard.lock().unwrap()[0].message, expected);
    }
    door.let_through(3);
    for answer in join_all(calls).await {
        outcome(answer.unwrap());
    }
}

#[tokio::test]
async fn a_call_withdrawn_while_it_waits_ends_at_once_and_lets_the_next_pass() {
    let door = Door::new();
    let (host, memory) = host([door.tool("slow").lock("db", 1)]).await;
    let first = spawn(&host, ada(), "slow");
    door.until_arrived(1).await;
    let cancel = CancellationToken::new();
    let cx = Ctx::builder(Caller::new("ada", Channel::Stdio))
        .cancel(cancel.clone())
        .build();
    let second = spawn(&host, cx, "slow");
    until(|| memory.events().len() == 3).await;
    let third = spawn(&host, ada(), "slow");
    until(|| memory.events().len() == 4).await;
    let before = Instant::now();
    cancel.cancel();
    assert!(matches!(second.await.unwrap(), Err(CallError::Cancelled)));
    assert!(before.elapsed() < Duration::from_millis(500));
    let ends = memory.ends();
    assert_eq!(ends.len(), 1);
    assert_eq!((ends[0].status.as_str(), ends[0].duration_ms), ("cancelled", 0));
    door.let_through(2);
    outcome(first.await.unwrap());
    outcome(third.await.unwrap());
    assert_eq!(door.arrived(), 2);
}

#[tokio::test]
async fn a_deadline_that_passes_in_line_ends_the_wait() {
    let door = Door::new();
    let (host, memory) = host([door.tool("slow").lock("db", 1)]).await;
    let first = spawn(&host, ada(), "slow");
    door.until_arrived(1).await;
    let cx = Ctx::builder(Caller::new("ada", Channel::Stdio))
        .deadline(Some(Instant::now() + Duration::from_millis(30)))
        .build();
    let outcome_late = outcome(run(&host, &cx, "slow").await);
    assert!(outcome_late.is_error);
    assert!(
        outcome_late.joined_text().contains("deadline"),
        "{outcome_late:?}"
    );
    assert_eq!(memory.ends()[0].status.as_str(), "cancelled");
    door.let_through(1);
    outcome(first.await.unwrap());
}
