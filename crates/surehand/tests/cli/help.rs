//! The help of every command, as it is.

use crate::project;

fn help_of(words: &[&str]) -> String {
    let words = words.iter().copied().chain(["--help"]);
    project().run(words).go().exits(0).says("").stdout
}

#[test]
fn help_of_every_command() {
    for command in [
        "",
        "serve",
        "init",
        "validate",
        "tools",
        "call",
        "runs",
        "runs list",
        "runs show",
        "runs logs",
        "runs cancel",
        "runs approve",
        "runs reject",
        "doctor",
        "completions",
    ] {
        let words: Vec<&str> = command.split_whitespace().collect();
        let name = format!("help {command}").trim().replace(' ', "_");
        insta::assert_snapshot!(name, help_of(&words));
    }
}

/// What fits a narrow terminal can be read, and what is to be copied is whole.
#[cfg(unix)]
#[test]
fn help_on_a_narrow_terminal_breaks_no_example() {
    let terminal = project().on_a_terminal_of(40, ["completions", "--help"]);
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0));
    for line in [
        "d=~/.local/share/bash-completion/completions\r\n",
        "mkdir -p $d\r\n",
        "surehand completions bash >$d/surehand\r\n",
    ] {
        assert!(screen.contains(line), "{line}: {screen:?}");
    }
}

#[test]
fn help_names_what_people_of_the_original_look_for() {
    let help = help_of(&[]);
    for word in [
        "--manifest",
        "init",
        "validate",
        "--version",
        "RUNBOOK_MCP_MANIFEST",
        "RUNBOOK_MCP_DRY_RUN",
        "RUNBOOK_MCP_BASH",
    ] {
        assert!(help.contains(word), "{word}");
    }
    let run = |words: &[&str]| project().run(words.iter().copied()).go().exits(0).says("").stdout;
    assert!(run(&["-h"]).contains("validate"));
    assert!(run(&["help"]).contains("validate"));
}

#[test]
fn the_version_is_a_bare_number() {
    for words in [["--version"], ["-v"], ["version"]] {
        let version = concat!(env!("CARGO_PKG_VERSION"), "\n");
        project().run(words).go().exits(0).prints(version).says("");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = project()
            .run(["completions", shell])
            .go()
            .exits(0)
            .says("")
            .stdout;
        assert!(script.contains("surehand"), "{shell}");
    }
}
