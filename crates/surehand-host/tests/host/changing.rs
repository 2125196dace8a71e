//! Toolsets that change while they are served.

use std::sync::Arc;

use surehand_core::{CallError, Change, Toolset};
use surehand_host::Host;

use crate::fakes::{Fake, FakeTool, Memory, ada, builder, ok, outcome, run, tool};

fn saying(name: &str, text: &'static str) -> FakeTool {
    tool(name, move |_| async move { ok(text) })
}

async fn serve(toolsets: &[&Arc<Fake>]) -> Host {
    let memory = Arc::new(Memory::default());
    let mut builder = builder(&memory);
    for toolset in toolsets {
        builder = builder.toolset(Arc::clone(toolset) as Arc<dyn Toolset>);
    }
    builder.build().await.unwrap()
}

async fn names(host: &Host) -> Vec<String> {
    let listing = host.list(&ada(), None).await.unwrap();
    listing.tools.into_iter().map(|tool| tool.name).collect()
}

#[tokio::test]
async fn a_change_is_served_and_passed_on() {
    let fake = Fake::new("fake", [saying("old", "old")]);
    let host = serve(&[&fake]).await;
    let mut changes = host.changes().unwrap();
    fake.exchange([saying("new", "new")]);
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
    assert_eq!(names(&host).await, ["new"]);
    assert_eq!(outcome(run(&host, &ada(), "new").await).joined_text(), "new");
    assert!(matches!(
        run(&host, &ada(), "old").await,
        Err(CallError::UnknownTool { nearest: None, .. })
    ));
}

#[tokio::test]
async fn a_change_that_makes_two_tools_of_one_name_leaves_the_last_good_list() {
    let left = Fake::new("left", [saying("a", "left")]);
    let right = Fake::new("right", [saying("b", "right")]);
    let host = serve(&[&left, &right]).await;
    let mut changes = host.changes().unwrap();
    right.exchange([saying("b", "right"), saying("a", "right")]);
    right.exchange([saying("b", "better")]);
    assert_eq!(changes.recv().await.unwrap(), Change::Tools);
    assert_eq!(names(&host).await, ["a", "b"]);
    assert_eq!(outcome(run(&host, &ada(), "a").await).joined_text(), "left");
    assert_eq!(outcome(run(&host, &ada(), "b").await).joined_text(), "better");
}

#[tokio::test]
async fn a_name_that_went_away_in_this_moment_tells_nothing_of_its_toolset() {
    let fake = Fake::new("fake", [saying("report", "x"), saying("gone", "x")]);
    let host = serve(&[&fake]).await;
    // On one thread, the host cannot have heard of it before the call is made.
    fake.exchange([saying("report", "x")]);
    let error = run(&host, &ada(), "gone").await.unwrap_err();
    assert_eq!(error.to_string(), "unknown tool \"gone\"");
}
