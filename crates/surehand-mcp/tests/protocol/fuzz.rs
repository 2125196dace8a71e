//! Whatever is sent, the session lives, and a ping afterwards is answered.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::Client;

/// Sends bytes and then a ping; every line that comes must be JSON.
fn survives(handshake: Option<&str>, bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut client = match handshake {
            Some(revision) => Client::legacy(revision).await,
            None => Client::new(),
        };
        client.send_bytes(bytes).await;
        client
            .send("\n{\"jsonrpc\":\"2.0\",\"id\":\"alive!\",\"method\":\"ping\"}")
            .await;
        let alive = json!({"jsonrpc": "2.0", "id": "alive!", "result": {}});
        while client.receive().await != alive {}
    });
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

/// Almost a message: the right fields with the wrong things in them.
fn almost() -> impl Strategy<Value = Value> {
    let field = |right: Vec<Value>| prop_oneof![3 => prop::sample::select(right), 1 => any_json()];
    let methods = [
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "tools/call",
        "subscriptions/listen",
        "notifications/cancelled",
        "notifications/initialized",
        "resources/list",
        "tasks/get",
    ];
    let params = vec![
        json!({}),
        json!({"name": "echo", "arguments": {"a": 1}}),
        json!({"name": "ask", "_meta": crate::harness::modern_meta(&json!({"elicitation": {}}))}),
        json!({"name": "ask", "requestState": "x", "inputResponses": {"sure": 1}}),
        json!({"_meta": crate::harness::modern_meta(&json!({}))}),
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 3, "progressToken": {}}}),
        json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "a", "version": "b"}}),
        json!({"requestId": 1}),
        json!({"notifications": {"toolsListChanged": true}}),
    ];
    let entries = (
        prop::option::weighted(0.95, field(vec![json!("2.0")])),
        prop::option::weighted(0.8, field(vec![json!(1), json!("x"), json!(2)])),
        prop::option::weighted(0.95, field(methods.iter().map(|method| json!(method)).collect())),
        prop::option::weighted(0.9, field(params)),
        prop::option::weighted(0.1, any_json()),
    );
    entries.prop_map(|(jsonrpc, id, method, params, result)| {
        [
            ("jsonrpc", jsonrpc),
            ("id", id),
            ("method", method),
            ("params", params),
            ("result", result),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        survives(None, &bytes);
    }

    #[test]
    fn any_json_text(values in prop::collection::vec(any_json(), 0..4)) {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        survives(Some("2025-03-26"), lines.join("\n").as_bytes());
    }

    #[test]
    fn almost_messages(
        messages in prop::collection::vec(almost(), 0..8), in_a_batch in any::<bool>(),
        revision in prop::sample::select(vec![None, Some("2025-03-26"), Some("2025-11-25")])
    ) {
        let text = if in_a_batch {
            json!(messages).to_string()
        } else {
            messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
        };
        survives(revision, text.as_bytes());
    }

    #[test]
    fn cut_messages(message in almost(), cut in 0_usize..200, flip in any::<u8>()) {
        let mut bytes = message.to_string().into_bytes();
        let at = cut % bytes.len();
        bytes[at] ^= flip;
        survives(None, &bytes);
        survives(None, &bytes[..at]);
    }
}
