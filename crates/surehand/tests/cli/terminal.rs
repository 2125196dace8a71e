//! For a person at a terminal.

#![cfg(unix)]

use serde_json::json;

use crate::project;

#[test]
fn a_server_says_what_it_waits_for() {
    let project = project().runbook("hello", "echo hi", json!({}));
    let terminal = project.on_a_terminal([]);
    terminal.shows("serving 1 runbook(s)");
    terminal.shows("waits for an MCP client");
    testkit::send(terminal.process(), testkit::Signal::INT);
    assert_eq!(terminal.ended().0, Some(0));
}

#[test]
fn a_call_shows_that_it_goes_on_and_its_output_as_it_comes() {
    let project = project().runbook("slow", "echo first; sleep 1.2; echo last", json!({}));
    let terminal = project.on_a_terminal(["call", "slow"]);
    terminal.shows("first\r\n");
    assert!(!terminal.screen().contains("last"));
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0));
    assert!(screen.contains("last\r\n"), "{screen:?}");
    assert!(screen.contains("slow: exit 0 ({T})"), "{screen:?}");
    // The spinner was there, with the tool's name and the time.
    assert!(
        screen.contains("slow 00:00:01") || screen.contains("slow 1s"),
        "{screen:?}"
    );
}

fn ask(answer: &str) -> (Option<i32>, String, bool) {
    let project = project().runbook("wipe", "touch wiped; echo wiped", json!({"confirm": true}));
    let mut terminal = project.on_a_terminal(["call", "wipe"]);
    terminal.shows("Run this?\r\n$ sh {DIR}/wipe.sh\r\n");
    terminal.shows("[y/N]");
    terminal.types(answer);
    let (code, screen) = terminal.ended();
    (code, screen, project.path("wiped").exists())
}

#[test]
fn a_person_is_asked_and_yes_runs_it() {
    let (code, screen, ran) = ask("y");
    assert!(ran, "{screen:?}");
    assert_eq!(code, Some(0), "{screen:?}");
}

#[test]
fn anything_but_yes_is_no() {
    for answer in ["", "n", "yess", "Nope"] {
        let (code, screen, ran) = ask(answer);
        assert!(!ran, "{screen:?}");
        assert_eq!(code, Some(3), "{screen:?}");
        assert!(screen.contains("not confirmed"), "{screen:?}");
    }
}

#[test]
fn colours_only_on_a_terminal() {
    let terminal = project().on_a_terminal(["frobnicate"]);
    let (_, screen) = terminal.ended();
    assert!(screen.contains('\u{1b}'), "{screen:?}");
    let ran = project().run(["frobnicate"]).go();
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn an_interrupted_question_is_no_yes() {
    let project = project().runbook("wipe", "touch wiped", json!({"confirm": true}));
    let terminal = project.on_a_terminal(["call", "wipe"]);
    terminal.shows("[y/N]");
    testkit::send(terminal.process(), testkit::Signal::INT);
    assert_eq!(terminal.ended().0, Some(1));
    assert!(!project.path("wiped").exists());
}
