//! What is no request, and what does not fit its method.

use serde_json::{Value, json};

use crate::harness::Client;

/// Each line, and the answer to it: code, id, and words of the message.
const LINES: [(&str, i64, Option<i64>, &str); 25] = [
    ("{nonsense", -32700, None, "parse error: key must be a string"),
    ("nonsense", -32700, None, "parse error"),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        -32700,
        None,
        "parse error: EOF",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        -32700,
        None,
        "trailing characters",
    ),
    (
        "17",
        -32600,
        None,
        "expected a JSON-RPC message, which is an object",
    ),
    (
        r#""ping""#,
        -32600,
        None,
        "expected a JSON-RPC message, which is an object",
    ),
    ("[]", -32600, None, "an empty batch"),
    (
        r#"{"jsonrpc":"2.0","id":5}"#,
        -32600,
        Some(5),
        "method is missing",
    ),
    (
        r#"{"id":5,"method":"ping"}"#,
        -32600,
        Some(5),
        r#"jsonrpc must be "2.0""#,
    ),
    (
        r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
        -32600,
        Some(5),
        r#"jsonrpc must be "2.0""#,
    ),
    (
        r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#,
        -32600,
        Some(5),
        r#"jsonrpc must be "2.0""#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        -32600,
        None,
        "id must be a string or an integer, not null",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        -32600,
        None,
        "id must be a string or an integer, not 1.5",
    ),
    (
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        -32600,
        None,
        "id must be a string or an integer, not {}",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":42}"#,
        -32600,
        Some(5),
        "method must be a string, not 42",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}"#,
        -32600,
        None,
        "duplicate field `id`",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"no/such"}"#,
        -32601,
        Some(5),
        "method not found: no/such",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"resources/list"}"#,
        -32601,
        Some(5),
        "resources/list",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#,
        -32601,
        Some(5),
        "prompts/list",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"debug"}}"#,
        -32601,
        Some(5),
        "logging/setLevel",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#,
        -32602,
        Some(5),
        "params must be an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#,
        -32602,
        Some(5),
        "params.name is missing",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":"x"}}"#,
        -32602,
        Some(5),
        "params.arguments must be an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ecko"}}"#,
        -32602,
        Some(5),
        r#"unknown tool "ecko"; did you mean "echo"?"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"x"}}"#,
        -32602,
        Some(5),
        r#"params.cursor: unknown cursor "x""#,
    ),
];

fn assert_error(answer: &Value, code: i64, id: Option<i64>, words: &str) {
    assert_eq!(answer["error"]["code"], json!(code), "{answer}");
    assert_eq!(answer.get("id"), Some(&json!(id)), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message:?} lacks {words:?}");
}

#[tokio::test]
async fn every_wrong_line_is_answered_and_the_session_goes_on() {
    for handshake in [false, true] {
        let mut client = Client::new();
        if handshake {
            client.handshake("2025-06-18", &json!({})).await;
        }
        for (line, code, id, words) in LINES {
            client.send(line).await;
            assert_error(&client.receive().await, code, id, words);
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_no_json() {
    let mut client = Client::new();
    client
        .send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n")
        .await;
    assert_error(&client.receive().await, -32700, None, "invalid UTF-8 at byte 34");
    client.assert_alive().await;
}

#[tokio::test]
async fn depth_is_bounded() {
    let mut client = Client::new();
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":{open}{close}}}}}}}"#
        ))
        .await;
    assert_error(&client.receive().await, -32700, Some(5), "127 levels");
    client.send(&open).await;
    assert_error(&client.receive().await, -32700, None, "127 levels");
    client.assert_alive().await;
}

#[tokio::test]
async fn arguments_that_json_has_and_we_have_not_are_refused_as_such() {
    let mut client = Client::new();
    for (arguments, words) in [
        (r#"{"n":1e999}"#, "number out of range"),
        (r#"{"s":"\ud800"}"#, "surrogate"),
        (r#"{"a":"x","a":"y"}"#, "duplicate key \"a\""),
        (r#"{"l":[{"deep":{"k":1,"k":1}}]}"#, "duplicate key \"k\""),
    ] {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
            ))
            .await;
        let result = client.receive().await["result"].take();
        assert_eq!(result["isError"], json!(true));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("Refused: echo: arguments: ") && text.contains(words),
            "{text}"
        );
    }
}

#[tokio::test]
async fn blank_lines_line_ends_and_the_mark_at_the_start_do_not_matter() {
    let mut client = Client::new();
    client
        .send_bytes("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\r\n \t\n\n".as_bytes())
        .await;
    assert_eq!(
        client.line().await.unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    // A message in pieces, cut in the middle of a character.
    let line =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":"é😀"}}}"#;
    let cut = line.find('é').unwrap() + 1;
    client.send_bytes(&line.as_bytes()[..cut]).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    client.send_bytes(&line.as_bytes()[cut..]).await;
    // Two messages in one packet, the last without an end.
    client
        .send_bytes(b"\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}")
        .await;
    let (mut answers, _) = client.rest().await;
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["result"]["structuredContent"]["a"], json!("é😀"));
    assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 3, "result": {}}));
}

#[tokio::test]
async fn notifications_and_responses_are_never_answered() {
    let mut client = Client::new();
    for line in [
        r#"{"jsonrpc":"2.0","method":"no/such"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","id":"surehand-1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,
    ] {
        client.send(line).await;
    }
    client.assert_alive().await;
    assert_eq!(client.fake.started.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn batches_are_answered_in_one_line_where_the_revision_has_them() {
    for revision in ["2024-11-05", "2025-03-26"] {
        let mut client = Client::legacy(revision).await;
        client
            .send(concat!(
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7,"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":30}}},"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"initialize"}]"#
            ))
            .await;
        let answer = client.receive().await;
        let answers = answer.as_array().unwrap();
        assert_eq!(answers.len(), 5, "{answer}");
        assert_eq!(
            answers.last().unwrap()["result"]["content"][0]["text"],
            json!("slept")
        );
        assert!(
            answers
                .iter()
                .any(|answer| answer["id"] == json!(3) && answer["error"]["code"] == json!(-32600))
        );
        assert!(answers.contains(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
        // Only notifications: no answer. A withdrawn request: none for it.
        client.send(r#"[{"jsonrpc":"2.0","method":"x"}]"#).await;
        client
            .send(concat!(
                r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":9000}}},"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"ping"},"#,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]"#
            ))
            .await;
        assert_eq!(
            client.receive().await,
            json!([{"jsonrpc": "2.0", "id": 2, "result": {}}])
        );
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn batches_elsewhere_are_refused_once() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::legacy(revision).await;
        client.send(batch).await;
        assert_error(
            &client.receive().await,
            -32600,
            None,
            &format!("MCP {revision} has no batches"),
        );
        client.assert_alive().await;
    }
    let mut client = Client::new();
    client.send(batch).await;
    assert_error(&client.receive().await, -32600, None, "a batch before initialize");
    client.assert_alive().await;
}

#[tokio::test]
async fn a_batch_right_behind_the_handshake_is_understood() {
    let mut client = Client::new();
    client
        .send(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","#,
            r#""capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
            "\n",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#
        ))
        .await;
    let answers = [client.receive().await, client.receive().await];
    assert!(
        answers.contains(&json!([{"jsonrpc": "2.0", "id": 1, "result": {}}])),
        "{answers:?}"
    );
}

#[tokio::test]
async fn a_second_request_under_an_open_id_is_refused_without_that_id() {
    let mut client = Client::new();
    client.call(1, "sleep", &json!({"ms": 100})).await;
    client.call(1, "echo", &json!({})).await;
    assert_error(
        &client.receive().await,
        -32600,
        None,
        "id 1 belongs to a request that is not yet answered",
    );
    let answer = client.receive().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(1), &json!("slept"))
    );
    client.call(1, "echo", &json!({})).await;
    assert_eq!(client.receive().await["result"]["isError"], json!(false));
}
