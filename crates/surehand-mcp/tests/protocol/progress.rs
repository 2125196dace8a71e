//! Progress: in order, before the answer, never after.

use serde_json::{Value, json};
use surehand_core::Progress;

use crate::harness::{Client, modern_meta};

#[tokio::test]
async fn progress_comes_in_order_before_the_answer_and_never_after() {
    let mut client = Client::legacy("2025-11-25").await;
    for meta in [json!({}), modern_meta(&json!({}))] {
        for token in [json!("tok"), json!(3)] {
            let mut meta = meta.clone();
            meta["progressToken"] = token.clone();
            let params = json!({"name": "progress", "arguments": {"n": 100}, "_meta": meta});
            client
                .say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
                .await;
            for n in 1..=100 {
                assert_eq!(
                    client.receive().await,
                    json!({
                        "jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {
                            "progressToken": token, "progress": n, "total": 100, "message": format!("line {n}")
                        }
                    })
                );
            }
            assert_eq!(client.receive().await["id"], json!(1));
            let late = client.fake.sink.lock().unwrap().take().unwrap();
            late(Progress {
                done: 1000.0,
                total: None,
                message: "late".to_owned(),
            });
            client.assert_alive().await;
        }
    }
}

#[tokio::test]
async fn progress_goes_to_the_call_that_asked_for_it() {
    let mut client = Client::new();
    for id in 0..10 {
        let params = json!({"name": "progress", "arguments": {"n": 5, "ms": 5}, "_meta": {"progressToken": format!("t{id}")}});
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }
    let mut seen = [0; 10];
    let mut answered = 0;
    while answered < 10 {
        let message: Value = client.receive().await;
        if message.get("method").is_some() {
            let token = message["params"]["progressToken"].as_str().unwrap();
            let id: usize = token[1..].parse().unwrap();
            seen[id] += 1;
            assert_eq!(message["params"]["progress"], json!(seen[id]));
        } else {
            let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
            assert_eq!(seen[id], 5, "all progress before the answer");
            answered += 1;
        }
    }
}
