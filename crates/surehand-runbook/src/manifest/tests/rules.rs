//! The fourth stage.

use serde_json::json;

use super::{places, texts, valid, with_params, with_runbook};
use crate::manifest::{Param, validate_manifest};

#[test]
fn the_rules_are_checked_in_the_known_words() {
    assert_eq!(
        texts(&with_params(json!({
            "a": {"type": "string", "flag": "-a", "positional": true, "enum": ["x"]},
            "b": {"type": "boolean"},
            "c": {"type": "boolean", "flag": "-c", "positional": true},
            "d": {"type": "number"},
            "e": {"type": "string", "flag": "-e"},
            "f": {"type": "array", "positional": false, "pattern": "^a$"},
            "g": {"type": "string", "flag": "-g", "pattern": "^a$", "enum": ["a"]},
            "h": {"type": "string", "flag": "-h", "pattern": "a$"},
            "j": {"type": "string", "flag": "-j", "pattern": "^(a$"},
            "k": {"type": "array", "flag": "-k", "pattern": "["},
        }))),
        [
            "t.params.a: choose either flag or positional, not both",
            "t.params.b: boolean parameters need a flag to emit",
            "t.params.c: choose either flag or positional, not both",
            "t.params.c: boolean parameters cannot be positional",
            "t.params.d: declare a flag (e.g. \"--name\") or \"positional\": true",
            "t.params.e: string parameters must declare an anchored \"pattern\" or an \"enum\" — free text never \
             reaches the shell",
            "t.params.f: declare a flag (e.g. \"--name\") or \"positional\": true",
            "t.params.g: declare \"pattern\" or \"enum\", not both",
            "t.params.h: pattern must be anchored (^...$)",
            "t.params.j: pattern does not compile — Invalid regular expression: /^(a$/: Unterminated group",
            "t.params.k: pattern must be anchored (^...$)",
            "t.params.k: pattern does not compile — Invalid regular expression: /[/: Unterminated character class",
        ]
    );
}

#[test]
fn defaults_must_fit() {
    assert_eq!(
        texts(&with_params(json!({
            "a": {"type": "string", "flag": "-a", "pattern": "^[a-z]+$", "default": "A"},
            "b": {"type": "string", "flag": "-b", "enum": ["x", "y"], "default": "z"},
            "c": {"type": "number", "flag": "-c", "integer": true, "default": 1.5},
            "d": {"type": "number", "flag": "-d", "minimum": 2, "default": 1},
            "e": {"type": "array", "flag": "-e", "enum": ["x"], "maxItems": 1, "default": ["x", "x"]},
            "f": {"type": "array", "flag": "-f", "pattern": "^a$", "default": ["a", "b"]},
            "g": {"type": "string", "flag": "-g", "pattern": "^.*$", "default": "\""},
            "h": {"type": "string", "positional": true, "pattern": "^.*$", "default": "-x"},
        }))),
        [
            "t.params.a: default must match ^[a-z]+$",
            "t.params.b: default must be one of: x, y",
            "t.params.c: default must be an integer",
            "t.params.d: default must be >= 2",
            "t.params.e: default must have at most 1 item",
            "t.params.f: default item 2 must match ^a$",
            "t.params.g: default must not contain double quotes or control characters",
            "t.params.h: default must not begin with -, which the script could take for a flag (the manifest can \
             set allowLeadingDash)",
        ]
    );
}

#[test]
fn fault_29_what_can_never_work_is_refused_at_load() {
    let problems = texts(&with_params(json!({
        "n": {"type": "number", "flag": "-n", "minimum": 5, "maximum": 1},
        "i": {"type": "number", "flag": "-i", "integer": true, "minimum": 1.2, "maximum": 1.8},
        "e": {"type": "string", "flag": "-e", "enum": ["a", "b", "a"]},
        "q": {"type": "string", "flag": "-q", "enum": ["\""]},
        "b": {"type": "boolean", "flag": "-n"},
        "m": {"type": "array", "flag": "-m", "enum": ["x"], "minItems": 3, "maxItems": 2},
        "j": {"type": "array", "flag": "-j", "enum": ["x,y"], "join": ","},
    })));
    assert_eq!(
        problems,
        [
            "t.params.n: minimum 5 is greater than maximum 1",
            "t.params.i: there is no integer from 1.2 to 1.8",
            "t.params.e: enum lists \"a\" twice",
            "t.params.q: enum value \"\\\"\" can never be sent: it must not contain double quotes or control \
             characters",
            "t.params.b: flag -n is already the flag of n",
            "t.params.m: minItems 3 is greater than maxItems 2",
            "t.params.j: enum value \"x,y\" can never be sent: it must not contain \",\", by which the items are \
             joined",
        ]
    );
}

#[test]
fn names_must_be_unique_with_and_without_prefix() {
    let two = json!({"version": 1, "interpreters": {"zsh": "/bin/zsh", "Node": "node"}, "runbooks": [
        {"name": "a", "description": "d", "script": "a", "interpreter": "sh"},
        {"name": "a", "description": "d", "script": "a", "interpreter": "sh"},
    ]});
    assert_eq!(
        places(&validate_manifest(&two)),
        ["interpreters.zsh", "interpreters.Node", "a"]
    );
    let mut long = with_runbook(json!({"name": "n".repeat(60)}));
    assert_eq!(texts(&long), [] as [&str; 0]);
    long["prefix"] = json!("ops_x");
    assert!(texts(&long)[0].contains("longer than 64"));
    let mut good = with_runbook(json!({}));
    good["prefix"] = json!("ops_");
    let manifest = valid(&good);
    assert_eq!(manifest.tool_name(&manifest.runbooks[0]), "ops_t");
}

#[test]
fn surehands_own_arguments_and_variables_cannot_be_taken() {
    let param = json!({"dryRun": {"type": "boolean", "flag": "-d"}, "confirmToken": {"type": "boolean", "flag": "-c"}});
    assert_eq!(texts(&with_runbook(json!({"params": param}))), [] as [&str; 0]);
    let both = with_runbook(json!({"params": param, "dryRun": true, "confirm": "token"}));
    assert_eq!(
        places(&validate_manifest(&both)),
        ["t.params.dryRun", "t.params.confirmToken"]
    );
    let reserved = with_runbook(json!({
        "env": {"SUREHAND_X": "1"}, "envFrom": {"surehand_y": "env:A", "K": "env:SUREHAND_KEY", "A=B": "env:C"}
    }));
    assert_eq!(
        places(&validate_manifest(&reserved)),
        [
            "t.env.SUREHAND_X",
            "t.envFrom.A=B",
            "t.envFrom.K",
            "t.envFrom.surehand_y"
        ]
    );
}

#[test]
fn fault_26_names_of_javascript_objects_are_names_like_others() {
    let manifest = valid(&with_params(json!({
        "constructor": {"type": "string", "flag": "-c", "pattern": "^[a-z]+$"},
        "toString": {"type": "boolean", "flag": "-t"}
    })));
    assert!(matches!(
        manifest.runbooks[0].params.get("constructor"),
        Some(Param::String(_))
    ));
    assert!(manifest.runbooks[0].params.get("valueOf").is_none());
}
