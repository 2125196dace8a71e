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
fn a_token_is_asked_for_at_the_terminal() {
    for (answer, expected, ran) in [("y", 0, true), ("n", 3, false)] {
        let project = project().runbook("wipe", "touch wiped", json!({"confirm": "token"}));
        let mut terminal = project.on_a_terminal(["call", "wipe"]);
        terminal.shows("[y/N]");
        std::thread::sleep(std::time::Duration::from_millis(20));
        terminal.types(answer);
        let (code, screen) = terminal.ended();
        assert_eq!(code, Some(expected), "{screen:?}");
        assert_eq!(project.path("wiped").exists(), ran, "{screen:?}");
        // Who let it happen, or did not, is remembered.
        let runs = project.run(["runs", "list", "--json"]).go().exits(0).json();
        let id = runs["runs"][0]["id"].as_str().unwrap().to_owned();
        let run = project.run(["runs", "show", &id, "--json"]).go().exits(0).json();
        let decision = if ran { "approved" } else { "rejected" };
        assert_eq!(run["approval"]["decision"], decision, "{run}");
        assert_eq!(run["approval"]["decided_by"], "ada", "{run}");
        let time = |name: &str| {
            run["approval"][name]
                .as_str()
                .unwrap()
                .parse::<jiff::Timestamp>()
                .unwrap()
        };
        assert!(time("asked_at") < time("decided_at"), "{run}");
        let words = project.run(["runs", "show", &id]).go().exits(0).stdout;
        assert!(
            words.contains(&format!("approval  {decision} by ada at 20")),
            "{words}"
        );
        assert!(!words.contains("used"), "{words}");
    }
}

#[test]
fn an_end_of_input_closes_the_question_and_nothing_is_drawn_over_it() {
    let project = project().runbook("wipe", "touch wiped", json!({"confirm": true}));
    let mut terminal = project.on_a_terminal(["call", "wipe"]);
    terminal.shows("[y/N]");
    terminal.types_alone("\u{4}");
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(3), "{screen:?}");
    assert!(screen.contains("closed without an answer"), "{screen:?}");
    assert!(screen.contains("[y/N] \r\n"), "{screen:?}");
    assert!(!project.path("wiped").exists());
}

#[test]
fn the_spinner_leaves_room_for_what_the_terminal_shows_of_a_key() {
    let line = "x".repeat(300);
    let project = project().runbook(
        "slow",
        &format!("echo {line}; touch started; sleep 60"),
        json!({}),
    );
    let terminal = project.on_a_terminal(["call", "slow"]);
    terminal.shows("slow 1s");
    testkit::send(terminal.process(), testkit::Signal::INT);
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(1), "{screen:?}");
    // A line of 80 is never full while the spinner is on it.
    let spinner = screen.rsplit("slow 1s").next().unwrap();
    let drawn = spinner.split(['\r', '\u{1b}']).next().unwrap();
    assert_eq!(
        "⠁ slow 1s".chars().count() + drawn.chars().count(),
        76,
        "{drawn:?}"
    );
}

#[test]
fn what_a_script_wrote_does_not_steer_the_terminal() {
    let project = project().runbook("paint", r"printf '\033[31mred\007\n'", json!({}));
    project.run(["call", "paint"]).go().exits(0);
    let id = project.run(["runs", "list", "--json"]).go().exits(0).json()["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (code, screen) = project.on_a_terminal(["runs", "logs", &id]).ended();
    assert_eq!(code, Some(0));
    assert!(screen.contains("␛[31mred␇\r\n"), "{screen:?}");
    // For a pipe, it is as it was written.
    let piped = project.run(["runs", "logs", &id]).go().exits(0);
    assert_eq!(piped.raw_stdout, "\u{1b}[31mred\u{7}\n");
}

#[test]
fn a_warning_does_not_tear_the_spinner() {
    let project = project()
        .runbook("slow", "sleep 0.4", json!({}))
        .file("in-the-way", "");
    let folder = project.path("in-the-way/state").display().to_string();
    let (code, screen) = project
        .on_a_terminal(["call", "slow", "--state-dir", &folder])
        .ended();
    assert_eq!(code, Some(0), "{screen:?}");
    let (before, _) = screen
        .split_once("warning:")
        .unwrap_or_else(|| panic!("no warning: {screen:?}"));
    // The line is wiped first.
    let last_line = before.rsplit(['\n', '\r']).next().unwrap();
    assert!(!last_line.contains("slow"), "{screen:?}");
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
