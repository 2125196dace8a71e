//! What is said to somebody who got it wrong.

use crate::project;

fn complains(words: &[&str], text: &str) {
    project()
        .run(words.iter().copied())
        .go()
        .exits(2)
        .prints("")
        .says(text);
}

#[test]
fn an_unknown_command() {
    complains(
        &["frobnicate"],
        "error: Unknown command: frobnicate\nhint: `surehand --help` lists all commands\n",
    );
    complains(
        &["validte", "--manifest", "x"],
        "error: Unknown command: validte\n\
         hint: did you mean `validate`? `surehand --help` lists all commands\n",
    );
}

#[test]
fn an_unknown_command_of_a_command() {
    let text = "error: Unknown command: lis\nhint: did you mean `runs list`? `surehand runs --help` lists all commands\n";
    complains(&["runs", "lis"], text);
    complains(&["help", "runs", "lis"], text);
    complains(
        &["runs", "frobnicate", "--json"],
        "error: Unknown command: frobnicate\nhint: `surehand runs --help` lists all commands\n",
    );
}

#[test]
fn an_argument_of_a_tool_written_as_an_option() {
    for word in ["--name=x", "--name"] {
        complains(
            &["call", "hello", word],
            "error: `surehand call` has no option --name\n\
             hint: an argument of the tool is written name=VALUE, without dashes\n",
        );
    }
    let ran = project().run(["call", "hello", "--dryrun"]).go().exits(2);
    assert!(ran.stderr.contains("'--dry-run'"), "{ran:?}");
}

#[test]
fn a_manifest_without_a_path() {
    for words in [
        &["--manifest"][..],
        &["validate", "--manifest"],
        &["--manifest="],
        &["validate", "-m", ""],
    ] {
        complains(words, "surehand: --manifest needs a path\n");
    }
}

#[test]
fn unknown_options_are_errors_and_nothing_is_served() {
    let ran = project().run(["--frobnicate"]).go().exits(2).prints("");
    assert!(
        ran.stderr
            .starts_with("error: unexpected argument '--frobnicate' found"),
        "{ran:?}"
    );
    let ran = project().run(["validate", "surplus"]).go().exits(2).prints("");
    assert!(
        ran.stderr
            .starts_with("error: unexpected argument 'surplus' found"),
        "{ran:?}"
    );
}

#[test]
fn a_log_level_that_is_none() {
    project()
        .run(["tools"])
        .env("SUREHAND_LOG", "lots")
        .go()
        .exits(2)
        .prints("")
        .says(
            "error: SUREHAND_LOG: \"lots\" is no level\n\
             hint: a level is one of off, error, warn, info, debug, trace; MODULE=LEVEL sets one module's\n",
        );
    // What needs no log works.
    project()
        .run(["--version"])
        .env("SUREHAND_LOG", "lots")
        .go()
        .exits(0)
        .says("");
}

#[test]
fn flags_that_do_not_go_together() {
    complains(
        &["--version", "tools"],
        "error: --version and --list-tools go with no command\n",
    );
    complains(
        &["--drain", "1", "tools"],
        "error: --drain only goes with serving\n",
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for words in [&["completions", "zsh"][..], &["--help"], &["runs", "--help"]] {
        project()
            .run(words.iter().copied())
            .to_a_reader_that_leaves()
            .exits(0)
            .says("");
    }
}

#[test]
fn a_user_that_is_no_name() {
    project()
        .run(["tools"])
        .env("SUREHAND_USER", "ada\u{1b}[2J")
        .go()
        .exits(2)
        .says("error: SUREHAND_USER is no name of a person: \"ada\\u{1b}[2J\"\n");
}
