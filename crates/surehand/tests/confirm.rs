//! `confirm: true` through the whole program: asked of the person in both protocol eras, released by hand where the
//! client cannot ask, and never got around.

use std::fs;

use serde_json::{Value, json};
use testkit::{Project, Session};

fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_surehand")).runbook(
        "wipe",
        "echo \"$2\" >> ran; echo wiped",
        json!({
            "destructive": true,
            "confirm": true,
            "params": {"what": {"type": "string", "flag": "--what", "enum": ["a", "b"], "required": true}}
        }),
    )
}

fn ran(project: &Project) -> String {
    fs::read_to_string(project.path("ran")).unwrap_or_default()
}

/// A client of the handshake era that can ask its person.
fn asking(project: &Project) -> Session {
    let mut session = project.serve([]);
    session.request(
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"}
        }),
    );
    session.notify("notifications/initialized", &json!({}));
    session
}

/// Answers the question that the server asks, in the handshake era.
fn answer_question(session: &mut Session, answer: &str) -> String {
    let question = session.notified("elicitation/create");
    let message = question["params"]["message"].as_str().unwrap().to_owned();
    session.respond(&question["id"], &json!({"action": answer, "content": {}}));
    message
}

#[test]
fn the_handshake_era_asks_and_runs_on_yes_alone() {
    let project = project();
    let mut session = asking(&project);
    let id = session.send_call("wipe", &json!({"what": "a"}));
    let message = answer_question(&mut session, "accept");
    assert!(
        message.contains("wipe.sh --what a"),
        "the person sees the command line: {message}"
    );
    assert_eq!(
        session.answer(id)["result"]["structuredContent"]["stdout"],
        "wiped\n"
    );
    for no in ["decline", "cancel"] {
        let id = session.send_call("wipe", &json!({"what": "b"}));
        answer_question(&mut session, no);
        let answer = session.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    assert_eq!(ran(&project), "a\n");
    session.close().exits(0);
    // What the person said is remembered with each run, the latest first.
    let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
    let decisions: Vec<Value> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let id = run["id"].as_str().unwrap();
            let run = project.run(["runs", "show", id, "--json"]).go().exits(0).json();
            assert_eq!(run["approval"]["decided_by"], "ada", "{run}");
            run["approval"]["decision"].clone()
        })
        .collect();
    assert_eq!(decisions, ["rejected", "rejected", "approved"]);
}

fn modern(what: &str, more: &Value) -> Value {
    let mut params = json!({
        "name": "wipe",
        "arguments": {"what": what},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}
        }
    });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    params
}

#[test]
fn the_modern_era_asks_in_the_result_and_the_state_is_good_for_one_call() {
    let project = project();
    let mut session = project.serve([]);
    let first = session.request("tools/call", &modern("a", &json!({})));
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let key = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let state = result["requestState"].as_str().unwrap().to_owned();
    let accept = |state: &str| {
        json!({
            "inputResponses": {key.clone(): {"action": "accept", "content": {}}},
            "requestState": state
        })
    };
    assert_eq!(ran(&project), "", "nothing runs before the answer");

    let other = session.request("tools/call", &modern("b", &accept(&state)));
    assert_eq!(
        other["error"]["code"], -32602,
        "the state is bound to the arguments: {other}"
    );
    let forged = session.request("tools/call", &modern("a", &accept("forged")));
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let stateless = session.request("tools/call", &modern("a", &accept("")));
    assert_ne!(
        stateless["result"]["structuredContent"]["stdout"], "wiped\n",
        "{stateless}"
    );
    assert_eq!(ran(&project), "");

    let second = session.request("tools/call", &modern("a", &accept(&state)));
    assert_eq!(
        second["result"]["structuredContent"]["stdout"], "wiped\n",
        "{second}"
    );
    let again = session.request("tools/call", &modern("a", &accept(&state)));
    assert_eq!(again["error"]["code"], -32602, "{again}");
    assert_eq!(ran(&project), "a\n");
}

#[test]
fn without_a_question_a_person_releases_exactly_these_arguments_once() {
    let project = project();
    let mut session = project.serve([]).initialized();
    let waiting = session.call("wipe", &json!({"what": "a"}));
    assert_eq!(
        waiting["structuredContent"]["status"], "pending_approval",
        "{waiting}"
    );
    let id = waiting["structuredContent"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    project.run(["runs", "approve", &id]).go().exits(0);

    let other = session.call("wipe", &json!({"what": "b"}));
    assert_eq!(
        other["structuredContent"]["status"], "pending_approval",
        "{other}"
    );
    let released = session.call("wipe", &json!({"what": "a"}));
    assert_eq!(released["structuredContent"]["run_id"], id.as_str(), "{released}");
    assert_eq!(released["structuredContent"]["exit_code"], 0);
    let again = session.call("wipe", &json!({"what": "a"}));
    assert_eq!(
        again["structuredContent"]["status"], "pending_approval",
        "{again}"
    );
    assert_eq!(ran(&project), "a\n");
}

#[test]
fn a_client_that_cannot_ask_though_it_said_so_leaves_the_call_to_be_released() {
    let project = project();
    let mut session = asking(&project);
    let id = session.send_call("wipe", &json!({"what": "a"}));
    let question = session.notified("elicitation/create");
    session.respond_with_error(&question["id"], -32601, "Method not found");
    let waiting = session.answer(id);
    assert_eq!(
        waiting["result"]["structuredContent"]["status"], "pending_approval",
        "{waiting}"
    );
    assert_eq!(ran(&project), "");
}

#[test]
fn without_history_a_call_that_cannot_be_asked_for_is_refused() {
    let project = project();
    let mut session = project.serve(["--no-history"]).initialized();
    let refused = session.call("wipe", &json!({"what": "a"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(ran(&project), "");
}
