//! Questions to a person, in both eras.

use std::time::Duration;

use serde_json::{Value, json};
use surehand_mcp::ServeOptions;

use crate::harness::{Client, Fake, modern_meta, options};

fn call(arguments: &Value, extra: Value) -> Value {
    let mut params =
        json!({"name": "ask", "arguments": arguments, "_meta": modern_meta(&json!({"elicitation": {}}))});
    if let Value::Object(extra) = extra {
        params.as_object_mut().unwrap().extend(extra);
    }
    params
}

async fn ask(client: &mut Client, arguments: &Value) -> String {
    let answer = client
        .request("a", "tools/call", &call(arguments, json!({})))
        .await;
    let result = &answer["result"];
    assert_eq!(result["resultType"], json!("input_required"));
    assert_eq!(
        result["inputRequests"],
        json!({"sure": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Really?", "requestedSchema": {"type": "object", "properties": {}}
        }}})
    );
    result["requestState"].as_str().unwrap().to_owned()
}

fn retry(arguments: &Value, state: &str, answer: &Value) -> Value {
    call(
        arguments,
        json!({"requestState": state, "inputResponses": {"sure": answer}}),
    )
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn modern_questions_come_back_with_their_answers() {
    let mut client = Client::new();
    for (given, expected) in [
        (
            json!({"action": "accept", "content": {"a": 1}}),
            "yes {\"a\":1} {\"n\":4}",
        ),
        (json!({"action": "accept"}), "yes {} {\"n\":4}"),
        (json!({"action": "decline"}), "no: Decline"),
        (json!({"action": "cancel"}), "no: Cancel"),
    ] {
        let state = ask(&mut client, &json!({"n": 4})).await;
        let answer = client
            .request("b", "tools/call", &retry(&json!({"n": 4}), &state, &given))
            .await;
        assert_eq!(text(&answer), expected);
        assert_eq!(answer["result"]["resultType"], json!("complete"));
    }
}

#[tokio::test]
async fn a_state_that_is_not_ours_unchanged_fresh_and_for_this_call_is_refused() {
    let mut client = Client::new();
    let yes = json!({"action": "accept"});
    let arguments = json!({"n": 4});
    let state = ask(&mut client, &arguments).await;
    let assert_refused = |answer: Value, words: &str| {
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    };
    // Changed, made up, for other arguments, for another tool.
    let changed = format!("{}A", &state[..state.len() - 1]);
    let changed = if changed == state {
        format!("{}B", &state[..state.len() - 1])
    } else {
        changed
    };
    for wrong in [changed.as_str(), "", "x", "rs1.AAAA.BBBB"] {
        let answer = client
            .request("b", "tools/call", &retry(&arguments, wrong, &yes))
            .await;
        assert_refused(answer, "was not given out for this call");
    }
    let answer = client
        .request("b", "tools/call", &retry(&json!({"n": 5}), &state, &yes))
        .await;
    assert_refused(answer, "was not given out for this call");
    let mut other = retry(&arguments, &state, &yes);
    other["name"] = json!("echo");
    assert_refused(
        client.request("b", "tools/call", &other).await,
        "was not given out for this call",
    );
    // Another server, or the same one after a new start.
    let mut stranger = Client::new();
    let answer = stranger
        .request("b", "tools/call", &retry(&arguments, &state, &yes))
        .await;
    assert_refused(answer, "was not given out for this call");
    // Without answers, or with ones that make no sense.
    let answer = client
        .request(
            "b",
            "tools/call",
            &call(&arguments, json!({"requestState": state})),
        )
        .await;
    assert_refused(answer, "params.inputResponses.sure is missing");
    let answer = client
        .request(
            "b",
            "tools/call",
            &retry(&arguments, &state, &json!({"action": "yes"})),
        )
        .await;
    assert_refused(answer, "params.inputResponses.sure: action must be");
    let answers_only = call(&arguments, json!({"inputResponses": {"sure": yes}}));
    assert_refused(
        client.request("b", "tools/call", &answers_only).await,
        "without params.requestState",
    );
    // None of that ran anything or used it up; a second use does.
    let answer = client
        .request("b", "tools/call", &retry(&arguments, &state, &yes))
        .await;
    assert_eq!(text(&answer), "yes {} {\"n\":4}");
    let answer = client
        .request("b", "tools/call", &retry(&arguments, &state, &yes))
        .await;
    assert_refused(answer, "was used before");
}

#[tokio::test]
async fn a_state_belongs_to_its_caller() {
    let mut ann = Client::new();
    let state = ask(&mut ann, &json!({})).await;
    let mut bob = Client::with(
        Fake::default(),
        ServeOptions {
            principal: "bob".to_owned(),
            ..options()
        },
    );
    let params = retry(&json!({}), &state, &json!({"action": "accept"}));
    let answer = bob.request("b", "tools/call", &params).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_not_asked() {
    let mut client = Client::legacy("2025-11-25").await;
    client.call(1, "ask", &json!({})).await;
    assert_eq!(client.receive().await["error"]["code"], json!(-32603));
    let params = json!({"name": "ask", "_meta": modern_meta(&json!({}))});
    assert_eq!(
        client.request("2", "tools/call", &params).await["error"]["code"],
        json!(-32603)
    );
    let url_only = json!({"elicitation": {"url": {}}});
    let params = json!({"name": "ask", "_meta": modern_meta(&url_only)});
    assert_eq!(
        client.request("3", "tools/call", &params).await["error"]["code"],
        json!(-32603)
    );
}

async fn asked(client: &mut Client, revision: &str) -> Value {
    client.call(1, "ask", &json!({"n": 4})).await;
    let question = client.receive().await;
    let mut params = json!({"message": "Really?", "requestedSchema": {"type": "object", "properties": {}}});
    if revision >= "2025-11-25" {
        params["mode"] = json!("form");
    }
    assert_eq!(
        question,
        json!({"jsonrpc": "2.0", "id": question["id"], "method": "elicitation/create", "params": params})
    );
    question["id"].clone()
}

#[tokio::test]
async fn legacy_questions_are_asked_while_the_call_waits() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::legacy_with(revision, &json!({"elicitation": {}})).await;
        for (given, expected) in [
            (
                json!({"action": "accept", "content": {"a": 1}}),
                "yes {\"a\":1} {\"n\":4}",
            ),
            (json!({"action": "decline"}), "no: Decline"),
            (json!({"action": "cancel"}), "no: Cancel"),
        ] {
            let id = asked(&mut client, revision).await;
            client.assert_alive().await;
            client
                .say(&json!({"jsonrpc": "2.0", "id": id, "result": given}))
                .await;
            assert_eq!(text(&client.receive().await), expected);
            // A second answer goes nowhere.
            client
                .say(&json!({"jsonrpc": "2.0", "id": id, "result": given}))
                .await;
            client.assert_alive().await;
        }
        let id = asked(&mut client, revision).await;
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no window"}}))
            .await;
        // The tool is called again as by a client that cannot ask; this one asks all the same.
        assert_eq!(client.receive().await["error"]["code"], json!(-32603));
        let id = asked(&mut client, revision).await;
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": 3}}))
            .await;
        assert_eq!(client.receive().await["error"]["code"], json!(-32603));
    }
}

#[tokio::test]
async fn two_questions_at_once_get_their_own_answers() {
    let mut client = Client::legacy_with("2025-11-25", &json!({"elicitation": {"form": {}}})).await;
    let mut questions = Vec::new();
    for n in [10, 11] {
        client.call(n, "ask", &json!({"n": n})).await;
        questions.push(client.receive().await["id"].clone());
    }
    for (question, n) in questions.iter().zip([10, 11]).rev() {
        client.say(&json!({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"for": n}}})).await;
        let answer = client.receive().await;
        assert_eq!(answer["id"], json!(n));
        assert_eq!(text(&answer), format!("yes {{\"for\":{n}}} {{\"n\":{n}}}"));
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_with_its_call() {
    let mut client = Client::legacy_with("2025-11-25", &json!({"elicitation": {}})).await;
    let id = asked(&mut client, "2025-11-25").await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn["method"], json!("notifications/cancelled"));
    assert_eq!(withdrawn["params"]["requestId"], id);
    client.assert_alive().await;
}

#[tokio::test]
async fn a_question_is_closed_when_nobody_can_answer_any_more() {
    let mut client = Client::with(
        Fake::default(),
        ServeOptions {
            eof_grace: Duration::from_mins(1),
            ..options()
        },
    );
    client.handshake("2025-11-25", &json!({"elicitation": {}})).await;
    asked(&mut client, "2025-11-25").await;
    let (messages, _) = client.rest().await;
    assert_eq!(text(messages.last().unwrap()), "no: Cancel");
}

#[tokio::test]
async fn a_tool_that_asks_without_end_is_stopped() {
    let mut client = Client::legacy_with("2025-11-25", &json!({"elicitation": {}})).await;
    client.call(1, "ask_for_ever", &json!({})).await;
    for _ in 0..10 {
        let id = client.receive().await["id"].clone();
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}}))
            .await;
    }
    assert_eq!(client.receive().await["error"]["code"], json!(-32603));
}
