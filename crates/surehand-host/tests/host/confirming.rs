//! Calls that need a person's yes, or the caller's second one.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};
use surehand_core::{
    Answer, Approvals, CallError, Caller, Channel, Confirm, Ctx, InputAnswer, Inputs, RunStatus, Toolset,
};
use surehand_host::Host;

use crate::fakes::{
    Desk, Fake, FakeTool, Memory, ada, ada_with_a_screen, builder, call_with, host, ok, outcome, tool,
};

fn deploy(confirm: Confirm) -> FakeTool {
    tool("deploy", |cx: Ctx| async move {
        ok(&format!("ran as {}", cx.run.id()))
    })
    .confirm(confirm)
}

async fn host_with(desk: Option<Arc<Desk>>) -> (Host, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new("fake", [deploy(Confirm::Person)]))
        .approvals(desk.map(|desk| desk as Arc<dyn Approvals>))
        .build()
        .await
        .unwrap();
    (host, memory)
}

async fn asked(host: &Host, to: &str) -> (String, Value) {
    let cx = ada_with_a_screen(Inputs::default());
    match host
        .call(&cx, call_with("deploy", json!({ "to": to })))
        .await
        .unwrap()
    {
        Answer::NeedsInput { requests, state } => {
            assert_eq!(requests.len(), 1);
            assert_eq!(requests[0].0, "confirm");
            (requests[0].1.message.clone(), state)
        }
        done @ Answer::Done(_) => panic!("was not asked: {done:?}"),
    }
}

async fn answer(
    host: &Host,
    to: &str,
    state: Value,
    answer: Option<InputAnswer>,
) -> Result<Answer, CallError> {
    let answers: BTreeMap<_, _> = answer
        .into_iter()
        .map(|yes| ("confirm".to_owned(), yes))
        .collect();
    let cx = ada_with_a_screen(Inputs {
        answers,
        state: Some(state),
    });
    host.call(&cx, call_with("deploy", json!({ "to": to }))).await
}

fn yes() -> InputAnswer {
    InputAnswer::Accept(Map::new())
}

#[tokio::test]
async fn a_person_who_says_yes_lets_the_call_run() {
    let (host, memory) = host_with(None).await;
    let (question, state) = asked(&host, "live").await;
    assert!(
        question.starts_with("Run this?\n$ run {\"to\":\"live\"}\nin /srv\n"),
        "{question}"
    );
    assert!(memory.events().is_empty());
    outcome(answer(&host, "live", state, Some(yes())).await);
    assert_eq!(memory.story(), ["scheduled", "running", "success"]);
}

#[tokio::test]
async fn a_yes_to_one_call_is_not_a_yes_to_another() {
    let (host, memory) = host_with(None).await;
    let (_, state) = asked(&host, "test").await;
    let error = answer(&host, "live", state, Some(yes())).await.unwrap_err();
    assert!(matches!(error, CallError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("changed since it was confirmed"));
    assert!(answer(&host, "live", json!({}), Some(yes())).await.is_err());
    assert!(memory.events().is_empty());
}

#[tokio::test]
async fn an_answer_without_a_question_asks() {
    let (host, memory) = host_with(None).await;
    let cx = ada_with_a_screen(Inputs {
        answers: BTreeMap::from([("confirm".to_owned(), InputAnswer::Accept(Map::new()))]),
        state: None,
    });
    let answer = host.call(&cx, call_with("deploy", json!({"to": "live"}))).await;
    assert!(matches!(answer, Ok(Answer::NeedsInput { .. })));
    let (_, state) = asked(&host, "live").await;
    assert!(answer_missing(&host, state).await);
    assert!(memory.events().is_empty());
}

async fn answer_missing(host: &Host, state: Value) -> bool {
    matches!(
        answer(host, "live", state, None).await,
        Err(CallError::Refused(_))
    )
}

#[tokio::test]
async fn a_person_who_says_no_is_heard_and_recorded() {
    for no in [InputAnswer::Decline, InputAnswer::Cancel] {
        let (host, memory) = host_with(None).await;
        let (_, state) = asked(&host, "live").await;
        let outcome = outcome(answer(&host, "live", state, Some(no)).await);
        assert!(outcome.is_error);
        assert!(outcome.joined_text().contains("not confirmed"), "{outcome:?}");
        assert_eq!(memory.story(), ["scheduled", "cancelled"]);
    }
}

#[tokio::test]
async fn without_a_screen_the_call_waits_for_a_yes_and_runs_under_its_id() {
    let desk = Arc::new(Desk::default());
    let (host, memory) = host_with(Some(Arc::clone(&desk))).await;
    let live = || call_with("deploy", json!({"to": "live"}));
    let pending = outcome(host.call(&ada(), live()).await);
    assert!(pending.is_error);
    assert_eq!(pending.status, RunStatus::PendingApproval);
    let structured = pending.structured.clone().unwrap();
    assert_eq!(structured["status"], "pending_approval");
    let id = structured["run_id"].as_str().unwrap();
    let text = pending.joined_text();
    assert!(text.starts_with("pending_approval: "), "{text}");
    assert!(text.contains(&format!("surehand runs approve {id}")), "{text}");
    // Asking again changes nothing.
    assert_eq!(
        outcome(host.call(&ada(), live()).await).structured.unwrap()["run_id"],
        id
    );
    assert!(memory.events().is_empty());

    desk.say_yes();
    // Neither other arguments nor another caller can use it.
    let other = outcome(host.call(&ada(), call_with("deploy", json!({"to": "all"}))).await);
    assert_eq!(other.status, RunStatus::PendingApproval);
    let bob = Ctx::builder(Caller::new("bob", Channel::Stdio)).build();
    assert_eq!(
        outcome(host.call(&bob, live()).await).status,
        RunStatus::PendingApproval
    );
    let done = outcome(host.call(&ada(), live()).await);
    assert_eq!(done.joined_text(), format!("ran as {id}"));
    assert_eq!(memory.only_run().as_text(), id);
    // Once only.
    assert_eq!(
        outcome(host.call(&ada(), live()).await).status,
        RunStatus::PendingApproval
    );
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_call_is_refused() {
    let broken = Arc::new(Desk::broken());
    for desk in [None, Some(broken)] {
        let (host, memory) = host_with(desk).await;
        let error = host
            .call(&ada(), call_with("deploy", json!({})))
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::Denied { .. }), "{error:?}");
        assert!(memory.events().is_empty());
    }
}

#[tokio::test]
async fn a_token_confirms_the_same_call_once() {
    let (host, memory) = host([deploy(Confirm::Token)]).await;
    let first = outcome(
        host.call(&ada(), call_with("deploy", json!({"to": "live"})))
            .await,
    );
    assert!(first.is_error);
    let structured = first.structured.clone().unwrap();
    assert_eq!(structured["status"], "confirmation_required");
    assert_eq!(structured["expires_in_seconds"], 300);
    let token = structured["confirm_token"].as_str().unwrap();
    assert!(first.joined_text().contains(token));
    assert!(memory.events().is_empty());

    let with = |to: &str, token: &str| call_with("deploy", json!({"to": to, "confirmToken": token}));
    outcome(host.call(&ada(), with("live", token)).await);
    assert_eq!(memory.story(), ["scheduled", "running", "success"]);
    for (to, token) in [("live", token), ("live", "guess")] {
        let error = host.call(&ada(), with(to, token)).await.unwrap_err();
        assert!(matches!(error, CallError::Refused(_)), "{error:?}");
    }
    assert_eq!(memory.ends().len(), 1);
}

#[tokio::test]
async fn a_token_is_not_good_for_other_arguments() {
    let (host, memory) = host([deploy(Confirm::Token)]).await;
    let first = outcome(
        host.call(&ada(), call_with("deploy", json!({"to": "test"})))
            .await,
    );
    let token = first.structured.unwrap()["confirm_token"].clone();
    let other = call_with("deploy", json!({"to": "live", "confirmToken": token}));
    let error = host.call(&ada(), other).await.unwrap_err();
    assert!(error.to_string().contains("another call"), "{error}");
    assert!(memory.events().is_empty());
}
