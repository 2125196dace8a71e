//! However a run ends, history knows.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, json};
use surehand_core::{Answer, CallError, Ctx, Outcome, RunId, RunStatus, Toolset};

use crate::fakes::{Door, Fake, Memory, ada, builder, call, host, ok, outcome, run, tool, until};

#[tokio::test]
async fn the_end_says_what_the_work_said() {
    let (host, memory) = host([tool("a", |_| async {
        let mut structured = Map::new();
        structured.insert("exit_code".to_owned(), json!(3));
        structured.insert("signal".to_owned(), json!("SIGKILL"));
        Ok(Answer::Done(Outcome {
            structured: Some(structured),
            status: RunStatus::TimedOut,
            ..Outcome::failure("took too long\nmuch")
        }))
    })])
    .await;
    assert!(outcome(run(&host, &ada(), "a").await).is_error);
    let end = &memory.ends()[0];
    assert_eq!(end.status, RunStatus::TimedOut);
    assert_eq!(end.exit_code, Some(3));
    assert_eq!(end.signal.as_deref(), Some("SIGKILL"));
    assert_eq!(end.error.as_deref(), Some("took too long"));
}

#[tokio::test]
async fn the_time_is_measured_from_the_end_of_the_wait() {
    let (host, memory) = host([tool("a", |_| async {
        tokio::time::sleep(Duration::from_millis(120)).await;
        ok("done")
    })
    .lock("db", 1)])
    .await;
    let cx = ada();
    let (one, two) = futures::future::join(run(&host, &cx, "a"), run(&host, &cx, "a")).await;
    outcome(one);
    outcome(two);
    for end in memory.ends() {
        assert!((100..230).contains(&end.duration_ms), "{end:?}");
    }
}

#[tokio::test]
async fn work_that_panics_costs_its_own_run_and_nothing_else() {
    let (host, memory) = host([
        tool("bad", |_| async { panic!("out of {}", "cheese") }).lock("db", 1),
        tool(
            "worse",
            |_| -> futures::future::Ready<Result<Answer, CallError>> { panic!("at once") },
        ),
        tool("good", |_| async { ok("ran") }).lock("db", 1),
    ])
    .await;
    let error = run(&host, &ada(), "bad").await.unwrap_err();
    assert_eq!(error.to_string(), "internal error: bad: panicked: out of cheese");
    run(&host, &ada(), "worse").await.unwrap_err();
    outcome(run(&host, &ada(), "good").await);
    let ends = memory.ends();
    assert_eq!(ends[0].status, RunStatus::Failed);
    assert!(ends[0].error.as_deref().unwrap().contains("out of cheese"));
    assert_eq!(ends[1].status, RunStatus::Failed);
    assert_eq!(ends[2].status, RunStatus::Success);
}

#[tokio::test]
async fn a_call_whose_caller_is_dropped_is_withdrawn_and_recorded() {
    let door = Door::new();
    let (host, memory) = host([
        door.tool("slow").lock("db", 1),
        tool("next", |_| async { ok("ran") }).lock("db", 1),
    ])
    .await;
    {
        let cx = ada();
        let mut dropped = Box::pin(host.call(&cx, call("slow")));
        tokio::select! {
            _ = &mut dropped => panic!("nobody opened the door"),
            () = door.until_arrived(1) => {}
        }
    }
    let ends = memory.ended(1).await;
    assert_eq!(ends[0].status, RunStatus::Cancelled);
    assert_eq!(outcome(run(&host, &ada(), "next").await).joined_text(), "ran");
}

#[tokio::test]
async fn a_run_can_be_cancelled_by_its_id_and_its_caller_is_told() {
    let door = Door::new();
    let (host, memory) = host([door.tool("slow").lock("db", 1)]).await;
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { run(&host, &ada(), "slow").await })
        })
        .collect();
    until(|| memory.events().len() == 3 && door.arrived() == 1).await;
    let ids: Vec<RunId> = memory
        .events()
        .iter()
        .filter_map(|event| match event {
            surehand_core::RunEvent::Start(start) => Some(start.id),
            _ => None,
        })
        .collect();
    // The one that waits, then the one that runs.
    assert!(host.cancel(ids[1]));
    until(|| memory.ends().len() == 1).await;
    assert!(host.cancel(ids[0]));
    for call in calls {
        let outcome = outcome(call.await.unwrap());
        assert!(outcome.is_error);
        assert!(
            outcome.joined_text().contains("cancelled while it"),
            "{outcome:?}"
        );
    }
    assert!(memory.ends().iter().all(|end| end.status == RunStatus::Cancelled));
    assert!(!host.cancel(ids[0]));
    assert!(!host.cancel(RunId::generate()));
}

#[tokio::test]
async fn a_shutdown_ends_all_runs_and_takes_no_more() {
    let door = Door::new();
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new("fake", [door.tool("slow").lock("db", 2)]))
        .build()
        .await
        .unwrap();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { run(&host, &ada(), "slow").await })
        })
        .collect();
    door.until_arrived(2).await;
    until(|| memory.events().len() == 7).await;
    let before = Instant::now();
    assert_eq!(host.shutdown().await, 0);
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(memory.ends().len(), 5);
    for call in calls {
        assert!(outcome(call.await.unwrap()).is_error);
    }
    assert!(matches!(
        run(&host, &ada(), "slow").await,
        Err(CallError::Unavailable(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_listen_is_given_up() {
    let (host, memory) = host([tool("deaf", |_: Ctx| std::future::pending())]).await;
    let cx = ada();
    let cancel = cx.cancel.clone();
    let calling = tokio::spawn({
        let host = host.clone();
        async move { run(&host, &cx, "deaf").await }
    });
    until(|| memory.events().len() == 2).await;
    cancel.cancel();
    assert!(matches!(calling.await.unwrap(), Err(CallError::Cancelled)));
    assert_eq!(memory.story(), ["scheduled", "running", "cancelled"]);
}

#[test]
fn a_runtime_that_ends_takes_no_run_with_it_unrecorded() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let door = Door::new();
    let memory = runtime.block_on(async {
        let (host, memory) = host([door.tool("slow")]).await;
        tokio::spawn(async move { run(&host, &ada(), "slow").await });
        door.until_arrived(1).await;
        memory
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(memory.story(), ["scheduled", "running", "cancelled"]);
}
