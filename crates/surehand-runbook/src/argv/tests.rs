//! Commands and how they are shown.

use std::{collections::BTreeMap, path::Path};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    Invocation, Platform, Surroundings, build_invocation, compatible_line, line, powershell::is_quote,
    powershell::quoted, program,
};
use crate::{
    environment::Environment,
    manifest::{Interpreter, Manifest, parse_manifest},
};

fn manifest(document: &Value) -> Manifest {
    parse_manifest(&document.to_string(), Path::new("/m/runbooks.json"))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
fn with(interpreter: &str, params: Value) -> Manifest {
    manifest(&json!({"version": 1, "runbooks": [
        {"name": "t", "description": "d", "script": "a.sh", "interpreter": interpreter, "params": params}
    ]}))
}

fn unix() -> Surroundings {
    Surroundings {
        environment: Environment::default(),
        platform: Platform::Unix,
    }
}

fn call(manifest: &Manifest, arguments: Value) -> Result<Invocation, Vec<String>> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    build_invocation(manifest, &manifest.runbooks[0], &arguments, &unix()).map_err(|refusal| refusal.problems)
}

fn words(manifest: &Manifest, arguments: Value) -> Vec<String> {
    call(manifest, arguments).unwrap().command.split_off(2)
}

#[test]
fn parameters_come_in_the_order_of_the_manifest() {
    let manifest = with(
        "bash",
        json!({
            "z": {"type": "string", "flag": "--z", "pattern": "^[a-z ]*$"},
            "p": {"type": "string", "positional": true, "enum": ["x", "-rf"]},
            "b": {"type": "boolean", "flag": "-b"},
            "n": {"type": "number", "flag": "-n"},
            "g": {"type": "number", "positional": true},
            "a": {"type": "array", "flag": "-a", "pattern": "^.$"},
            "j": {"type": "array", "flag": "-j", "pattern": "^[a-z]*$", "join": ","},
            "q": {"type": "array", "positional": true, "pattern": "^[a-z]$"},
        }),
    );
    assert_eq!(
        words(
            &manifest,
            json!({"q": ["y", "z"], "j": ["k", "", "l"], "a": ["1", "2"], "g": -7, "n": 1e21, "b": true, "p": "-rf",
                   "z": ""})
        ),
        [
            "--z", "", "-rf", "-b", "-n", "1e+21", "-7", "-a", "1", "-a", "2", "-j", "k,,l", "y", "z"
        ]
    );
    assert_eq!(
        words(&manifest, json!({"b": false, "a": [], "j": [], "q": []})),
        [] as [&str; 0]
    );
    assert_eq!(words(&manifest, json!({"n": -0.0})), ["-n", "0"]);
}

#[test]
fn each_interpreter_gets_its_command() {
    for (interpreter, command) in [
        ("bash", vec!["bash", "/m/a.sh"]),
        ("sh", vec!["sh", "/m/a.sh"]),
        ("node", vec!["node", "/m/a.sh"]),
        ("python", vec!["python3", "/m/a.sh"]),
        ("exe", vec!["/m/a.sh"]),
    ] {
        assert_eq!(
            call(&with(interpreter, json!({})), json!({})).unwrap().command,
            command
        );
    }
    for interpreter in ["powershell", "pwsh"] {
        let command = call(&with(interpreter, json!({})), json!({})).unwrap().command;
        assert_eq!(
            command,
            [
                "pwsh",
                "-NoProfile",
                "-NonInteractive",
                "-ExecutionPolicy",
                "Bypass",
                "-Command",
                "$ProgressPreference = 'SilentlyContinue'; [Console]::OutputEncoding = \
                 [System.Text.Encoding]::UTF8; & '/m/a.sh'; exit $LASTEXITCODE"
            ]
        );
    }
}

#[test]
fn programs_on_windows() {
    let environment = Environment::new([
        ("ProgramFiles", r"C:\Program Files\"),
        ("LocalAppData", r"C:\Local"),
    ]);
    let on_windows = |interpreter, environment: &Environment, there: &str| {
        program(
            interpreter,
            &BTreeMap::new(),
            Platform::Windows,
            environment,
            &|path| path == there,
        )
    };
    let user = r"C:\Local\Programs\Git\bin\bash.exe";
    let machine = r"C:\Program Files\Git\bin\bash.exe";
    for interpreter in [Interpreter::Bash, Interpreter::Sh] {
        assert_eq!(on_windows(interpreter, &environment, machine).unwrap(), machine);
        assert_eq!(on_windows(interpreter, &environment, user).unwrap(), user);
        assert_eq!(on_windows(interpreter, &environment, "").unwrap(), "bash");
        let named = Environment::new([
            ("RUNBOOK_MCP_BASH", r"D:\bash.exe"),
            ("ProgramFiles", r"C:\Program Files"),
        ]);
        assert_eq!(on_windows(interpreter, &named, machine).unwrap(), r"D:\bash.exe");
        // The variable means nothing elsewhere.
        let elsewhere = program(interpreter, &BTreeMap::new(), Platform::Unix, &named, &|_| true).unwrap();
        assert!(!elsewhere.contains("D:"), "{elsewhere}");
    }
    assert_eq!(
        on_windows(Interpreter::Python, &environment, "").unwrap(),
        "python"
    );
    assert_eq!(
        on_windows(Interpreter::Powershell, &environment, "").unwrap(),
        "powershell.exe"
    );
    assert_eq!(on_windows(Interpreter::Pwsh, &environment, "").unwrap(), "pwsh");
    assert_eq!(on_windows(Interpreter::Exe, &environment, ""), None);
    let overrides = BTreeMap::from([(Interpreter::Bash, "./mine".to_owned())]);
    let mine = program(
        Interpreter::Bash,
        &overrides,
        Platform::Windows,
        &environment,
        &|_| true,
    );
    assert_eq!(mine.unwrap(), "./mine");
}

#[test]
fn fault_07_powershell_values_cannot_leave_their_quotes() {
    assert_eq!(quoted("it's ’; calc; ‘"), "'it''s ’’; calc; ‘‘'");
    let manifest = with(
        "pwsh",
        json!({
            "s": {"type": "string", "flag": "-S", "pattern": "^.*$"},
            "k": {"type": "array", "flag": "-Keep", "pattern": "^.*$"},
            "j": {"type": "array", "flag": "-J", "pattern": "^.*$", "join": ";"},
            "n": {"type": "number", "flag": "-N"},
            "p": {"type": "array", "positional": true, "pattern": "^.*$"},
            "b": {"type": "boolean", "flag": "-B"},
        }),
    );
    let command = call(
        &manifest,
        json!({"s": "‚x‛", "k": ["a", "b'c"], "j": ["d", "e"], "n": -1.5, "p": ["f", "g"], "b": true}),
    )
    .unwrap()
    .command;
    assert!(
        command[6].ends_with(
            "; & '/m/a.sh' -S '‚‚x‛‛' -Keep 'a','b''c' -J 'd;e' -N '-1.5' 'f','g' -B; exit $LASTEXITCODE"
        ),
        "{}",
        command[6]
    );
    let nothing = call(&manifest, json!({"k": [], "p": [], "j": []}))
        .unwrap()
        .command;
    assert!(nothing[6].contains("& '/m/a.sh'; exit"), "{}", nothing[6]);
}

#[test]
fn fault_08_positional_values_are_no_flags() {
    let strict = with(
        "bash",
        json!({
            "s": {"type": "string", "positional": true, "pattern": "^\\S*$"},
            "a": {"type": "array", "positional": true, "pattern": "^\\S*$"},
            "f": {"type": "string", "flag": "--f", "pattern": "^\\S*$"},
        }),
    );
    let refused = call(&strict, json!({"s": "--rm", "a": ["x", "-rf"]})).unwrap_err();
    assert!(refused[0].starts_with("s must not begin with -"), "{refused:?}");
    assert!(
        refused[1].starts_with("a item 2 must not begin with -"),
        "{refused:?}"
    );
    assert_eq!(
        words(&strict, json!({"f": "-x", "s": "a-b"})),
        ["a-b", "--f", "-x"]
    );
    let free = with(
        "bash",
        json!({"s": {"type": "string", "positional": true, "pattern": "^\\S*$", "allowLeadingDash": true}}),
    );
    assert_eq!(words(&free, json!({"s": "--rm"})), ["--rm"]);
}

#[test]
fn fault_05_to_24_refusals_name_parameter_and_rule_all_together() {
    let manifest = with(
        "bash",
        json!({
            "s": {"type": "string", "flag": "--s", "pattern": "^[a-z]+$", "required": true},
            "e": {"type": "string", "flag": "--e", "enum": ["dev", "it's"]},
            "n": {"type": "number", "flag": "-n", "integer": true, "minimum": -2, "maximum": 10},
            "b": {"type": "boolean", "flag": "-b"},
            "a": {"type": "array", "flag": "-a", "enum": ["x"], "maxItems": 2},
        }),
    );
    for (arguments, problems) in [
        (json!({}), vec!["s is required"]),
        (
            json!({"s": null}),
            vec!["s must be a string, not null; leave it out instead"],
        ),
        (
            json!({"s": 1}),
            vec!["s must be a string, not a number; send it in quotes"],
        ),
        (json!({"s": "A"}), vec!["s must match ^[a-z]+$"]),
        (
            json!({"s": "abc\n"}),
            vec!["s must not contain double quotes or control characters"],
        ),
        (
            json!({"s": "a", "b": "true"}),
            vec!["b must be a boolean, not a string; send true or false, without quotes"],
        ),
        (
            json!({"s": "a", "n": "3"}),
            vec!["n must be a number, not a string; send the number without quotes"],
        ),
        (json!({"s": "a", "n": 11}), vec!["n must be <= 10"]),
        (json!({"s": "a", "n": -3}), vec!["n must be >= -2"]),
        (json!({"s": "a", "n": 1.5}), vec!["n must be an integer"]),
        (json!({"s": "a", "e": "DEV"}), vec!["e must be one of: dev, it's"]),
        (
            json!({"s": "a", "a": ["x", 1]}),
            vec!["a item 2 must be a string, not a number"],
        ),
        (
            json!({"s": "a", "a": ["x", "x", "x"]}),
            vec!["a must have at most 2 items"],
        ),
        (
            json!({"s": "a", "a": "x"}),
            vec!["a must be an array of strings, not a string; send [\"...\"], even for one item"],
        ),
        (
            json!({"n": true, "e": [], "z": 1}),
            vec![
                "s is required",
                "e must be a string, not an array",
                "n must be a number, not a boolean",
                "unknown argument \"z\"; the arguments are: s, e, n, b, a",
            ],
        ),
    ] {
        assert_eq!(
            call(&manifest, arguments.clone()).unwrap_err(),
            problems,
            "{arguments}"
        );
    }
}

#[test]
fn fault_10_unknown_arguments_are_refused_with_the_nearest_name() {
    let manifest = with("bash", json!({"reportOnly": {"type": "boolean", "flag": "-r"}}));
    assert_eq!(
        call(&manifest, json!({"report_only": true})).unwrap_err(),
        ["unknown argument \"report_only\"; did you mean \"reportOnly\"?"]
    );
    let none = with("bash", json!({}));
    assert_eq!(
        call(&none, json!({"x": 1})).unwrap_err(),
        ["unknown argument \"x\"; there are no arguments"]
    );
    // A key of Surehand's own is no argument unless the manifest offers it.
    assert!(call(&none, json!({"dryRun": true})).is_err());
}

#[test]
fn fault_12_one_rule_for_defaults() {
    let manifest = with(
        "bash",
        json!({
            "s": {"type": "string", "flag": "--s", "enum": ["dft", "x"], "default": "dft", "required": true},
            "n": {"type": "number", "flag": "-n", "default": 3.5},
            "a": {"type": "array", "flag": "-a", "enum": ["p"], "default": ["p"]},
        }),
    );
    let invocation = call(&manifest, json!({})).unwrap();
    assert_eq!(invocation.command[2..], ["--s", "dft", "-n", "3.5", "-a", "p"]);
    assert_eq!(
        Value::Object(invocation.arguments),
        json!({"s": "dft", "n": 3.5, "a": ["p"]})
    );
    assert_eq!(
        words(&manifest, json!({"a": [], "s": "x"})),
        ["--s", "x", "-n", "3.5"]
    );
    assert!(call(&manifest, json!({"s": null})).is_err());
}

#[test]
fn fault_31_empty_required_arrays_and_separators_in_items_are_refused() {
    let manifest = with(
        "bash",
        json!({
            "p": {"type": "array", "positional": true, "pattern": "^[^ ]+$", "required": true, "join": ","},
            "q": {"type": "array", "flag": "-q", "pattern": "^.+$", "minItems": 2},
        }),
    );
    assert_eq!(
        call(&manifest, json!({"p": []})).unwrap_err(),
        ["p must have at least 1 item"]
    );
    assert_eq!(
        call(&manifest, json!({"p": ["a,b"], "q": ["x"]})).unwrap_err(),
        [
            "p item 1 must not contain \",\", by which the items are joined",
            "q must have at least 2 items"
        ]
    );
    assert_eq!(words(&manifest, json!({"p": ["a", "b"]})), ["a,b"]);
}

#[test]
fn surehands_own_arguments_do_not_reach_the_script() {
    let manifest = manifest(&json!({"version": 1, "runbooks": [
        {"name": "t", "description": "d", "script": "a.sh", "interpreter": "sh", "dryRun": true, "confirm": "token"}
    ]}));
    let invocation = call(&manifest, json!({"dryRun": true, "confirmToken": "abc"})).unwrap();
    assert!(invocation.dry_run);
    assert_eq!(invocation.token.as_deref(), Some("abc"));
    assert_eq!(invocation.command, ["sh", "/m/a.sh"]);
    assert!(invocation.arguments.is_empty());
    // Never run for real what was meant as a dry run.
    for wrong in [json!("true"), json!(1), Value::Null] {
        assert!(call(&manifest, json!({"dryRun": wrong})).is_err());
    }
}

#[test]
fn fault_28_the_command_line_can_be_pasted() {
    for (argument, shown) in [
        ("plain", "plain"),
        ("a=b,c.d/e:%+@é", "a=b,c.d/e:%+@é"),
        ("a b", "\"a b\""),
        ("it's", "\"it's\""),
        ("a&b", "\"a&b\""),
        ("\\", "\"\\\\\""),
        ("a * b", "\"a * b\""),
        ("$x", "'$x'"),
        ("`id`", "'`id`'"),
        ("a $b's", "'a $b'\\''s'"),
        ("*", "'*'"),
        ("{a,b}", "'{a,b}'"),
        ("~", "'~'"),
        ("#", "'#'"),
        ("!", "'!'"),
        ("", "''"),
    ] {
        assert_eq!(line(&[argument.to_owned()], false), shown, "{argument:?}");
    }
    let with_empty = ["x".to_owned(), String::new(), "y".to_owned()];
    assert_eq!(line(&with_empty, false), "x '' y");
    assert_eq!(compatible_line(&with_empty, false), "x  y");
    assert_eq!(line(&["$a b".to_owned()], true), "\"$a b\"");
}

/// What a POSIX shell makes of a line without expansions (XCU section 2.2); None if it would expand anything.
fn shell_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '!' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '$' | '`' | '&' | ';' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '{' | '}' | '~' | '#'
            | '!' => {
                return None;
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// The strings that PowerShell reads from single-quoted text that begins here, and what follows them.
fn powershell_string(text: &str) -> Option<(String, &str)> {
    let mut chars = text.char_indices().skip(1).peekable();
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        if !is_quote(c) {
            value.push(c);
        } else if chars.peek().is_some_and(|(_, next)| is_quote(*next)) {
            value.extend(chars.next().map(|(_, c)| c));
        } else {
            return Some((value, &text[at + c.len_utf8()..]));
        }
    }
    None
}

proptest! {
    #[test]
    fn a_shell_reads_the_line_as_the_command(
        command in prop::collection::vec("[ -~é\u{a0}\t’]{0,12}|[$`'\"\\\\ *!]{0,6}", 1..5)
    ) {
        prop_assert_eq!(shell_words(&line(&command, false)), Some(command));
    }

    #[test]
    fn powershell_reads_a_quoted_value_as_itself(value in "[a-z;$(){}`& '‘’‚‛]{0,16}") {
        let text = quoted(&value);
        prop_assert_eq!(powershell_string(&text), Some((value, "")));
    }
}
