//! What a client may make us hold.

use std::sync::atomic::Ordering;

use serde_json::json;
use surehand_mcp::ServeOptions;

use crate::harness::{Client, Fake, options};

#[tokio::test]
async fn a_line_over_the_limit_is_refused_and_the_session_goes_on() {
    let limit = 1 << 20;
    let mut client = Client::with(
        Fake::default(),
        ServeOptions {
            line_limit: limit,
            ..options()
        },
    );
    let shell =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":""}}}"#;
    for (length, fits) in [(limit, true), (limit + 1, false), (3 * limit, false)] {
        let fill = "x".repeat(length - shell.len());
        client
            .send(&shell.replace(r#""a":"""#, &format!(r#""a":"{fill}""#)))
            .await;
        let answer = client.receive().await;
        if fits {
            assert_eq!(
                answer["result"]["structuredContent"]["a"].as_str().unwrap().len(),
                fill.len()
            );
        } else {
            assert_eq!(
                answer,
                json!({"jsonrpc": "2.0", "id": null, "error": {
                    "code": -32600, "message": "invalid request: a line of more than 1048576 bytes (1 MiB)"
                }})
            );
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn the_default_limit_is_64_mib() {
    let mut client = Client::new();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        client.send_bytes(&block).await;
    }
    client.send("").await;
    assert_eq!(
        client.receive().await["error"]["code"],
        json!(-32700),
        "64 MiB are read, and are no JSON"
    );
    for _ in 0..64 {
        client.send_bytes(&block).await;
    }
    client.send("x").await;
    let answer = client.receive().await;
    assert_eq!(answer["error"]["code"], json!(-32600));
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("64 MiB"),
        "{answer}"
    );
    client.assert_alive().await;
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_all_answered() {
    let mut client = Client::legacy("2025-11-25").await;
    for id in 0..100 {
        client.call(id, "sleep", &json!({"ms": 100})).await;
    }
    let mut ids: Vec<i64> = Vec::new();
    for _ in 0..100 {
        let answer = client.receive().await;
        assert_eq!(answer["result"]["content"][0]["text"], json!("slept"));
        ids.push(answer["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_flood_is_bounded_and_everything_is_answered() {
    let mut client = Client::with(
        Fake::default(),
        ServeOptions {
            in_flight_limit: 20,
            ..options()
        },
    );
    for id in 0..20 {
        client.call(id, "sleep", &json!({"ms": 3000})).await;
    }
    client.started(20).await;
    for id in 20..25 {
        client.call(id, "sleep", &json!({"ms": 3000})).await;
        let answer = client.receive().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32603))
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("too many requests in flight: 20")
        );
    }
    // Withdrawing still works, and makes room.
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#)
        .await;
    client.call(25, "echo", &json!({})).await;
    assert_eq!(client.receive().await["id"], json!(25));
    for _ in 1..20 {
        assert_eq!(client.receive().await["result"]["isError"], json!(false));
    }
    assert_eq!(client.fake.started.load(Ordering::SeqCst), 21);
    client.assert_alive().await;
}

#[tokio::test]
async fn a_long_pipe_of_quick_requests_is_answered_whole() {
    let mut client = Client::with(
        Fake::default(),
        ServeOptions {
            in_flight_limit: 10,
            ..options()
        },
    );
    for id in 0..300 {
        client.call(id, "sleep", &json!({"ms": 1})).await;
    }
    for _ in 0..300 {
        assert_eq!(client.receive().await["result"]["isError"], json!(false));
    }
}

#[tokio::test]
async fn the_bytes_of_open_requests_are_bounded() {
    let mut client = Client::with(
        Fake::default(),
        ServeOptions {
            in_flight_bytes: 10_000,
            ..options()
        },
    );
    client
        .call(1, "sleep", &json!({"ms": 300, "x": "y".repeat(8000)}))
        .await;
    client
        .call(2, "sleep", &json!({"ms": 300, "x": "y".repeat(8000)}))
        .await;
    let answer = client.receive().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(2), &json!(-32603))
    );
    assert_eq!(client.receive().await["id"], json!(1));
    client.call(3, "echo", &json!({"x": "y".repeat(8000)})).await;
    assert_eq!(client.receive().await["id"], json!(3));
}

#[tokio::test]
async fn a_client_that_reads_late_gets_every_answer() {
    let mut client = Client::new();
    for id in 0..500 {
        client.call(id, "echo", &json!({"x": "y".repeat(2000)})).await;
    }
    let mut ids: Vec<i64> = Vec::new();
    for _ in 0..500 {
        ids.push(client.receive().await["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_batch_is_bounded() {
    let mut client = Client::legacy("2025-03-26").await;
    client.send(&format!("[{}1]", "1,".repeat(1000))).await;
    let answer = client.receive().await;
    assert_eq!(answer["error"]["code"], json!(-32600));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("more than 1000 messages"),
        "{answer}"
    );
    client.assert_alive().await;
}
