//! Who sees and calls what.

use std::sync::Arc;

use surehand_core::{
    Action, CallError, Caller, Channel, Ctx, Decision, ListError, Policy, Resource, Toolset,
};
use surehand_host::{BuildError, Host, HostLimits, TableError};
use surehand_policy::LocalPolicy;

use crate::fakes::{Fake, FakeTool, ada, call, host, ok, outcome, run, tool};

fn simple(name: &str) -> FakeTool {
    tool(name, |_| async { ok("ran") })
}

/// Lets each caller use the tools whose name begins with theirs.
struct OwnTools;

impl Policy for OwnTools {
    fn authorise(&self, caller: &Caller, _action: Action, resource: &Resource<'_>) -> Decision {
        match resource {
            Resource::Tool { name, .. } if name.starts_with(&caller.principal) => Decision::Allow,
            _ => Decision::Deny {
                reason: "not yours".to_owned(),
            },
        }
    }
}

/// Lets everybody look and nobody touch, which a policy must not do.
struct LookOnly;

impl Policy for LookOnly {
    fn authorise(&self, _caller: &Caller, action: Action, _resource: &Resource<'_>) -> Decision {
        match action {
            Action::See => Decision::Allow,
            _ => Decision::Deny {
                reason: "no".to_owned(),
            },
        }
    }
}

async fn names(host: &Host, cx: &Ctx) -> Vec<String> {
    let listing = host.list(cx, None).await.unwrap();
    assert_eq!(listing.next, None);
    listing.tools.into_iter().map(|tool| tool.name).collect()
}

async fn host_with(policy: impl Policy + 'static) -> Host {
    let tools = ["ada_one", "ada_two", "bob_one"].map(simple);
    Host::builder()
        .policy(Arc::new(policy))
        .toolset(Fake::new("fake", tools))
        .build()
        .await
        .unwrap()
}

#[tokio::test]
async fn what_is_not_listed_cannot_be_called() {
    let host = host_with(OwnTools).await;
    for principal in ["ada", "bob", "eve"] {
        let cx = Ctx::builder(Caller::new(principal, Channel::Stdio)).build();
        let listed = names(&host, &cx).await;
        for name in ["ada_one", "ada_two", "bob_one"] {
            let answer = run(&host, &cx, name).await;
            if listed.iter().any(|tool| tool == name) {
                assert_eq!(outcome(answer).joined_text(), "ran");
            } else {
                assert!(matches!(answer, Err(CallError::UnknownTool { .. })), "{answer:?}");
            }
        }
    }
    assert_eq!(
        names(&host, &Ctx::builder(Caller::new("bob", Channel::Stdio)).build()).await,
        ["bob_one"]
    );
}

#[tokio::test]
async fn a_tool_that_may_be_seen_but_not_run_is_neither_listed_nor_known() {
    let host = host_with(LookOnly).await;
    assert!(names(&host, &ada()).await.is_empty());
    assert!(matches!(
        run(&host, &ada(), "ada_one").await,
        Err(CallError::UnknownTool { nearest: None, .. })
    ));
}

#[tokio::test]
async fn nobody_learns_names_from_a_refusal() {
    let host = host_with(OwnTools).await;
    let cx = Ctx::builder(Caller::new("bob", Channel::Stdio)).build();
    let forbidden = run(&host, &cx, "ada_one").await.unwrap_err().to_string();
    let missing = run(&host, &cx, "adx_one").await.unwrap_err().to_string();
    assert_eq!(forbidden, "unknown tool \"ada_one\"");
    assert_eq!(missing, "unknown tool \"adx_one\"");
    let slip = run(&host, &cx, "Bob-one").await.unwrap_err().to_string();
    assert_eq!(slip, "unknown tool \"Bob-one\"; did you mean \"bob_one\"?");
}

#[tokio::test]
async fn a_caller_over_http_gets_nothing_from_the_local_policy() {
    let host = host_with(LocalPolicy).await;
    let cx = Ctx::builder(Caller::new("ada", Channel::Http)).build();
    assert!(names(&host, &cx).await.is_empty());
    assert!(run(&host, &cx, "ada_one").await.is_err());
}

#[tokio::test]
async fn a_host_without_policy_is_not_built() {
    let built = Host::builder().toolset(Fake::new("fake", [simple("a")])).build();
    assert!(matches!(built.await, Err(BuildError::NoPolicy)));
    let limits = HostLimits { max_running: 0 };
    let built = Host::builder()
        .policy(Arc::new(LocalPolicy))
        .limits(limits)
        .build();
    assert!(matches!(built.await, Err(BuildError::NothingMayRun)));
}

#[tokio::test]
async fn two_tools_of_one_name_are_an_error_that_names_both_sources_and_the_cure() {
    let built = Host::builder()
        .policy(Arc::new(LocalPolicy))
        .toolset(Fake::new("left", [simple("deploy")]))
        .toolset(Fake::new("right", [simple("report"), simple("deploy")]))
        .build()
        .await;
    let Err(BuildError::Table(TableError::Clash(clash))) = built else {
        panic!("built")
    };
    let text = clash.to_string();
    for word in ["deploy", "left", "right", "`prefix`"] {
        assert!(text.contains(word), "{text}");
    }
}

#[tokio::test]
async fn every_page_of_every_toolset_stands_in_one_list() {
    let many = (0..7).map(|n| simple(&format!("t{n}")));
    let host = Host::builder()
        .policy(Arc::new(LocalPolicy))
        .toolset(Fake::paged("many", many, 3))
        .toolset(Fake::new("few", [simple("last")]))
        .build()
        .await
        .unwrap();
    assert_eq!(
        names(&host, &ada()).await,
        ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "last"]
    );
    assert!(matches!(
        host.list(&ada(), Some("3")).await,
        Err(ListError::UnknownCursor(_))
    ));
    assert_eq!(host.instructions().unwrap(), "how to use many\n\nhow to use few");
    assert!(host.offers().tools);
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace_and_waits_for_nothing() {
    let (host, memory) = host([simple("a").confirm(surehand_core::Confirm::Person)]).await;
    let mut dry = call("a");
    dry.dry_run = true;
    assert_eq!(outcome(host.call(&ada(), dry).await).joined_text(), "would run");
    assert!(memory.events().is_empty());
}

#[tokio::test]
async fn a_host_for_dry_runs_runs_nothing() {
    let host = Host::builder()
        .policy(Arc::new(LocalPolicy))
        .toolset(Fake::new("fake", [simple("a")]))
        .dry_run(true)
        .build()
        .await
        .unwrap();
    assert_eq!(outcome(run(&host, &ada(), "a").await).joined_text(), "would run");
}
