//! The results of calls.

use serde_json::{Value, json};

use crate::harness::{Client, modern_meta};

async fn result(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.call(1, tool, &arguments).await;
    client.receive().await
}

#[tokio::test]
async fn a_result_always_says_whether_it_is_an_error() {
    let mut client = Client::legacy("2025-11-25").await;
    assert_eq!(
        result(&mut client, "echo", json!({"z": 1, "a": [null]})).await["result"],
        json!({
            "content": [{"type": "text", "text": "{\"z\":1,\"a\":[null]}"}],
            "structuredContent": {"z": 1, "a": [null]},
            "isError": false
        })
    );
    assert_eq!(
        result(&mut client, "fail", json!({})).await["result"],
        json!({"content": [{"type": "text", "text": "exit 3"}], "isError": true})
    );
}

#[tokio::test]
async fn what_the_model_can_act_on_is_a_result() {
    let mut client = Client::legacy("2025-11-25").await;
    for (tool, text) in [
        (
            "refuse",
            "Refused: refuse: a must be b\nRefused: refuse: c is missing",
        ),
        ("deny", "Refused: deny: not allowed: not you"),
        ("unavailable", "try later"),
    ] {
        assert_eq!(
            result(&mut client, tool, json!({})).await["result"],
            json!({"content": [{"type": "text", "text": text}], "isError": true}),
            "{tool}"
        );
    }
    for (tool, code) in [("nothing", -32602), ("internal", -32603), ("panic", -32603)] {
        let answer = result(&mut client, tool, json!({})).await;
        assert_eq!(answer["error"]["code"], json!(code), "{tool}: {answer}");
    }
    client.assert_alive().await;
}

#[tokio::test]
async fn content_goes_over_word_for_word() {
    let mut client = Client::new();
    for meta in [json!({}), modern_meta(&json!({}))] {
        let answer = client
            .request("1", "tools/call", &json!({"name": "raw", "_meta": meta}))
            .await;
        assert_eq!(
            answer["result"]["content"],
            json!([{"type": "text", "text": "a"}, {"type": "hologram", "x-unknown": [1, 2]}])
        );
        assert_eq!(answer["result"]["isError"], json!(false));
    }
}

#[tokio::test]
async fn no_text_breaks_a_line() {
    let mut client = Client::new();
    let text = "a\u{2028}b\u{85}c\nd\u{202e}e";
    client.call(1, "echo", &json!({"t": text})).await;
    let line = client.line().await.unwrap();
    assert!(!line.contains(['\u{2028}', '\u{85}']), "{line}");
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["t"], json!(text));
}

#[tokio::test]
async fn ids_come_back_as_they_were() {
    let mut client = Client::new();
    for id in [
        "0",
        "-9223372036854775808",
        "9223372036854775807",
        r#""""#,
        r#""a\"b""#,
        r#""1""#,
    ] {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
            .await;
        assert_eq!(
            client.line().await.unwrap(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }
}
