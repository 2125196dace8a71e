//! The list of tools and the news of its changes.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use surehand_core::Change;

use crate::harness::{Client, modern_meta};

fn change(client: &Client, tools: usize) {
    client.fake.tools.store(tools, Ordering::SeqCst);
    client.fake.changes.as_ref().unwrap().send(Change::Tools).unwrap();
}

async fn names(client: &mut Client, params: Value) -> (usize, Option<String>) {
    let answer = client.request("l", "tools/list", &params).await;
    let result = &answer["result"];
    let next = result["nextCursor"].as_str().map(str::to_owned);
    (result["tools"].as_array().unwrap().len(), next)
}

#[tokio::test]
async fn the_first_page_is_kept_until_it_changes() {
    let mut client = Client::new();
    for (tools, listed) in [(1, 1), (3, 2), (0, 3)] {
        if listed > 1 {
            change(&client, tools);
        }
        for _ in 0..3 {
            assert_eq!(names(&mut client, json!({})).await, (tools, None));
        }
        let meta = modern_meta(&json!({}));
        assert_eq!(names(&mut client, json!({"_meta": meta})).await, (tools, None));
        assert_eq!(client.fake.listed.load(Ordering::SeqCst), listed);
    }
    // Without a handshake nobody is told.
    client.assert_alive().await;
}

#[tokio::test]
async fn further_pages_are_asked_for() {
    let mut client = Client::new();
    client.assert_alive().await;
    change(&client, 6);
    for _ in 0..2 {
        assert_eq!(names(&mut client, json!({})).await, (6, Some("more".to_owned())));
        assert_eq!(names(&mut client, json!({"cursor": "more"})).await, (1, None));
    }
    assert_eq!(client.fake.listed.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_client_that_shook_hands_is_told() {
    let mut client = Client::legacy("2025-06-18").await;
    client.assert_alive().await;
    change(&client, 2);
    assert_eq!(
        client.line().await.unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
    );
    assert_eq!(names(&mut client, json!({})).await.0, 2);
}

#[tokio::test]
async fn a_subscriber_is_told_what_it_asked_for_until_it_cancels() {
    let mut client = Client::new();
    let meta = modern_meta(&json!({}));
    let key = "io.modelcontextprotocol/subscriptionId";
    for (id, filter) in [
        (
            json!("with"),
            json!({"toolsListChanged": true, "promptsListChanged": true}),
        ),
        (json!(7), json!({})),
    ] {
        let params = json!({"notifications": filter, "_meta": meta});
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}))
            .await;
        let acknowledged = client.receive().await;
        assert_eq!(
            acknowledged["method"],
            json!("notifications/subscriptions/acknowledged")
        );
        assert_eq!(acknowledged["params"]["_meta"][key], id);
        let accepted = if id == json!("with") {
            json!({"toolsListChanged": true})
        } else {
            json!({})
        };
        assert_eq!(acknowledged["params"]["notifications"], accepted);
    }
    for tools in 2..5 {
        change(&client, tools);
        let told = client.receive().await;
        assert_eq!(told["method"], json!("notifications/tools/list_changed"));
        assert_eq!(told["params"]["_meta"][key], json!("with"));
    }
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "with"}});
    client.say(&cancel).await;
    client.assert_alive().await;
    change(&client, 9);
    client.assert_alive().await;
    // The end of the input ends the other one, in order and at once.
    let begun = std::time::Instant::now();
    let (rest, _) = client.rest().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["id"], json!(7));
    assert_eq!(rest[0]["result"]["resultType"], json!("complete"));
    assert!(begun.elapsed() < std::time::Duration::from_secs(1));
}

#[tokio::test]
async fn subscriptions_are_not_for_the_era_with_a_handshake() {
    let mut client = Client::legacy("2025-11-25").await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let answer = client.request("s", "subscriptions/listen", &params).await;
    assert_eq!(answer["error"]["code"], json!(-32601));
}
