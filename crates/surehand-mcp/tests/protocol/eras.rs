//! Both eras, at once.

use serde_json::{Value, json};

use crate::harness::{Client, modern_meta};

fn tool_0() -> Value {
    json!({
        "name": "tool_0", "title": "The tool_0", "description": "Does it.",
        "inputSchema": {"type": "object", "x-kept": [1]},
        "annotations": {
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false
        }
    })
}

#[tokio::test]
async fn initialize_answers_the_revision_that_is_wanted_or_the_newest_of_its_era() {
    for (wanted, given) in [
        ("2024-10-07", "2024-10-07"),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let mut client = Client::new();
        let params = json!({
            "protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}
        });
        let answer = client.request("1", "initialize", &params).await;
        assert_eq!(
            answer["result"],
            json!({
                "protocolVersion": given,
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "server", "title": "Server", "version": "1.2.3"},
                "instructions": "Use with care."
            })
        );
        client.call(2, "context", &json!({})).await;
        let answer = client.receive().await;
        let context: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(context["revision"], json!(given));
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn nothing_is_announced_that_is_not_offered() {
    let fake = crate::harness::Fake {
        changes: None,
        ..Default::default()
    };
    let mut client = Client::with(fake, crate::harness::options());
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}
    });
    let answer = client.request("1", "initialize", &params).await;
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));

    let fake = crate::harness::Fake {
        offers: surehand_core::Offers::default(),
        ..Default::default()
    };
    let mut client = Client::with(fake, crate::harness::options());
    let answer = client.request("1", "initialize", &params).await;
    assert_eq!(answer["result"]["capabilities"], json!({}));
    for method in ["tools/list", "tools/call"] {
        let answer = client.request("2", method, &json!({"name": "echo"})).await;
        assert_eq!(answer["error"]["code"], json!(-32601), "{method}");
    }
}

#[tokio::test]
async fn initialize_that_does_not_fit_names_the_field() {
    let mut client = Client::new();
    let answer = client
        .request("1", "initialize", &json!({"protocolVersion": "2025-11-25"}))
        .await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`capabilities`"),
        "{answer}"
    );
}

#[tokio::test]
async fn no_handshake_is_needed() {
    let mut client = Client::new();
    let answer = client.request("1", "tools/list", &json!({})).await;
    assert_eq!(answer["result"], json!({"tools": [tool_0()]}));
    client.call(2, "context", &json!({})).await;
    let answer = client.receive().await;
    let context: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        context,
        json!({
            "principal": "ann", "channel": "stdio", "client": null, "revision": "2025-11-25",
            "elicitation": false, "trace": null, "progress": false
        })
    );
    client.handshake("2025-06-18", &json!({})).await;
    client.assert_alive().await;
}

#[tokio::test]
async fn the_modern_era_is_served_before_after_and_without_the_other() {
    let mut client = Client::new();
    for round in 0..2 {
        let meta = modern_meta(&json!({}));
        let answer = client
            .request("d", "server/discover", &json!({"_meta": meta}))
            .await;
        let result = &answer["result"];
        assert_eq!(result["resultType"], json!("complete"));
        assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}}));
        assert_eq!(result["instructions"], json!("Use with care."));
        assert!(
            result["supportedVersions"]
                .as_array()
                .unwrap()
                .contains(&json!("2026-07-28"))
        );
        assert_eq!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            json!("server")
        );

        let answer = client.request("l", "tools/list", &json!({"_meta": meta})).await;
        assert_eq!(
            answer["result"],
            json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [tool_0()]})
        );

        let params = json!({"name": "echo", "arguments": {"b": 1, "a": 2}, "_meta": meta});
        let answer = client.request("c", "tools/call", &params).await;
        assert_eq!(
            answer["result"],
            json!({
                "resultType": "complete", "isError": false, "structuredContent": {"b": 1, "a": 2},
                "content": [{"type": "text", "text": "{\"b\":1,\"a\":2}"}]
            })
        );

        let answer = client.request("p", "ping", &json!({"_meta": meta})).await;
        assert_eq!(answer["error"]["code"], json!(-32601));

        if round == 0 {
            client.handshake("2025-11-25", &json!({})).await;
        }
    }
    let answer = client.request("l", "tools/list", &json!({})).await;
    assert_eq!(answer["result"], json!({"tools": [tool_0()]}));
}

#[tokio::test]
async fn a_modern_request_says_who_asks() {
    let mut client = Client::legacy("2025-06-18").await;
    let mut meta = modern_meta(&json!({"elicitation": {}}));
    meta["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
    meta["progressToken"] = json!(7);
    let params = json!({"name": "context", "_meta": meta});
    let answer = client.request("c", "tools/call", &params).await;
    let context: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        context,
        json!({
            "principal": "ann", "channel": "stdio", "client": {"name": "modern", "version": "2"},
            "revision": "2026-07-28", "elicitation": true, "progress": true,
            "trace": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
        })
    );
    let answer = client
        .request("c", "tools/call", &json!({"name": "context"}))
        .await;
    let context: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(context["client"], json!({"name": "tester", "version": "9"}));
    assert_eq!(
        (&context["revision"], &context["elicitation"]),
        (&json!("2025-06-18"), &json!(false))
    );
}

#[tokio::test]
async fn a_modern_request_that_says_too_little_or_too_much_is_refused() {
    let mut client = Client::new();
    let answer = client.request("1", "server/discover", &json!({})).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    let mut meta = modern_meta(&json!({}));
    meta.as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    let answer = client.request("2", "tools/list", &json!({"_meta": meta})).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    let mut meta = modern_meta(&json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let answer = client.request("3", "tools/list", &json!({"_meta": meta})).await;
    assert_eq!(answer["error"]["code"], json!(-32022));
    assert_eq!(answer["error"]["data"]["requested"], json!("2099-01-01"));
    client.assert_alive().await;
}
