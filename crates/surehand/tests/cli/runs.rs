//! `surehand runs`.

use serde_json::json;
use testkit::Project;

use crate::project;

fn one_run() -> (Project, String) {
    let project = project().runbook("talk", "echo out; echo err >&2; exit 3", json!({}));
    project.run(["call", "talk"]).go().exits(1);
    let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
    let id = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    (project, id)
}

#[test]
fn nothing_ran_yet() {
    project()
        .run(["runs", "list"])
        .go()
        .exits(0)
        .prints("No runs.\n")
        .says("");
    let empty = project().run(["runs", "list", "--json"]).go().exits(0).json();
    assert_eq!(empty, json!({"runs": [], "next": null}));
    project()
        .run(["runs", "show", "0123abcd"])
        .go()
        .exits(2)
        .says("error: there is no run yet\n");
}

#[test]
fn a_list_of_runs() {
    let (project, _) = one_run();
    let list = project.run(["runs", "list"]).go().exits(0).says("").stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(lines[0].starts_with("ID "), "{list}");
    assert!(lines[1].starts_with("{RUN}  failed (exit 3)  talk  "), "{list}");
    for (words, count) in [
        (&["--failed"][..], 1),
        (&["--status", "success"], 0),
        (&["--status", "success", "--status", "failed"], 1),
        (&["--tool", "talk"], 1),
        (&["--tool", "other"], 0),
    ] {
        let words = ["runs", "list", "--json"]
            .into_iter()
            .chain(words.iter().copied());
        let runs = project.run(words).go().exits(0).json();
        assert_eq!(runs["runs"].as_array().unwrap().len(), count);
    }
}

#[test]
fn a_status_that_is_none() {
    let ran = project()
        .run(["runs", "list", "--status", "sucess"])
        .go()
        .exits(2);
    for words in ["'success'", "timed_out"] {
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn pages_lead_to_each_other() {
    let project = project().runbook("hello", "echo hi", json!({}));
    for _ in 0..3 {
        project.run(["call", "hello"]).go().exits(0);
    }
    let first = project
        .run(["runs", "list", "--json", "--limit", "2"])
        .go()
        .exits(0)
        .json();
    let next = first["next"].as_str().expect("a next page").to_owned();
    let second = project
        .run(["runs", "list", "--json", "--before", &next])
        .go()
        .exits(0)
        .json();
    assert_eq!(second["runs"].as_array().unwrap().len(), 1, "{second}");
    assert!(second["next"].is_null());
    let words = project.run(["runs", "list", "--limit", "2"]).go().exits(0).stdout;
    assert!(
        words.ends_with("More: surehand runs list --limit 2 --before {RUN}\n"),
        "{words}"
    );
    let filters = ["--tool", "hello", "--status", "success", "--limit", "1"];
    let words = project
        .run(["runs", "list"].into_iter().chain(filters))
        .go()
        .exits(0)
        .stdout;
    assert!(
        words.ends_with("More: surehand runs list --tool hello --status success --limit 1 --before {RUN}\n"),
        "{words}"
    );
}

#[test]
fn only_a_page_that_has_another_after_it_names_one() {
    let project = project().runbook("hello", "echo hi", json!({}));
    for _ in 0..3 {
        project.run(["call", "hello"]).go().exits(0);
    }
    for filters in [&[][..], &["--tool", "hello"], &["--status", "success"]] {
        let mut next: Option<String> = None;
        for left in [2, 1, 0] {
            let before = next.as_deref().map(|id| ["--before", id]);
            let words = ["runs", "list", "--json", "--limit", "1"]
                .into_iter()
                .chain(filters.iter().copied())
                .chain(before.into_iter().flatten());
            let page = project.run(words).go().exits(0).json();
            assert_eq!(page["runs"].as_array().unwrap().len(), 1, "{page}");
            next = page["next"].as_str().map(str::to_owned);
            assert_eq!(next.is_some(), left > 0, "{filters:?}: {page}");
        }
    }
}

#[test]
fn a_huge_argument_leaves_a_small_history() {
    let params = json!({"text": {"type": "string", "positional": true, "pattern": "^x*$"}});
    let project = project().runbook("eat", "echo ${#1}", json!({"params": params}));
    let huge = json!({"text": "x".repeat(100_000)}).to_string();
    project
        .run(["call", "eat", "--args", &huge])
        .go()
        .exits(0)
        .prints("100000\n");
    let id = project.run(["runs", "list", "--json"]).go().exits(0).json()["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    let kept = run["arguments"]["text"].as_str().unwrap();
    assert!(
        kept.len() < 66_000 && kept.ends_with(" more bytes]"),
        "{}",
        kept.len()
    );
}

#[test]
fn one_run_in_words_and_in_json() {
    let (project, id) = one_run();
    let words = project.run(["runs", "show", &id]).go().exits(0).says("").stdout;
    for line in [
        "status  failed (exit 3)",
        "command  sh {DIR}/talk.sh",
        "by  ada over command_line",
    ] {
        assert!(words.contains(line), "{line}: {words}");
    }
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    assert_eq!(run["id"], id.as_str());
    assert_eq!(run["exit_code"], 3);
    assert_eq!(run["command"], json!(["sh", project.path("talk.sh")]));
}

#[test]
fn logs_go_where_the_script_sent_them() {
    let (project, id) = one_run();
    for flags in [&[][..], &["-f"]] {
        let words = ["runs", "logs", id.as_str()]
            .into_iter()
            .chain(flags.iter().copied());
        project.run(words).go().exits(0).prints("out\n").says("err\n");
    }
    let logs = project.run(["runs", "logs", &id, "--json"]).go().exits(0).json();
    assert_eq!(logs["stdout"]["text"], "out\n");
    assert_eq!(logs["stderr"]["text"], "err\n");
}

#[test]
fn a_run_may_be_named_by_its_beginning() {
    let (project, id) = one_run();
    project.run(["runs", "show", &id[..13]]).go().exits(0);
    project.run(["runs", "show", "ffffffff"]).go().exits(2);
}

#[test]
fn logs_can_be_followed_and_a_run_cancelled_from_elsewhere() {
    let project = project().runbook(
        "slow",
        "for i in 1 2 3; do echo line $i; sleep 0.4; done; echo started > started; sleep 60",
        json!({}),
    );
    let mut session = project.serve([]).initialized();
    let call = session.send_call("slow", &json!({}));
    let id = testkit::until(std::time::Duration::from_secs(10), || {
        let runs = project
            .run(["runs", "list", "--json", "--status", "running"])
            .go()
            .exits(0)
            .json();
        runs["runs"][0]["id"].as_str().map(str::to_owned)
    })
    .expect("a running run");
    let follower = std::thread::scope(|scope| {
        let follower = scope.spawn(|| project.run(["runs", "logs", "-f", &id]).go());
        testkit::until(std::time::Duration::from_secs(10), || {
            project.path("started").exists().then_some(())
        })
        .expect("the script goes on");
        let cancelled = project.run(["runs", "cancel", &id]).go().exits(0);
        assert!(cancelled.stdout.contains("is being cancelled"), "{cancelled:?}");
        follower.join().unwrap()
    });
    let follower = follower.exits(0).prints("line 1\nline 2\nline 3\n");
    drop(follower);
    let answer = session.answer(call);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
    assert_eq!(run["status"], "cancelled", "{run}");
    project.run(["runs", "cancel", &id]).go().exits(2);
    session.close().exits(0);
}
