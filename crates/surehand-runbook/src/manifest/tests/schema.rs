//! Schema and reference against the code.

use serde_json::{Value, json};

use super::{valid, with_params, with_runbook};
use crate::manifest::{InheritEnv, manifest_reference, manifest_schema, validate_manifest};

/// Every key of the published schema, by the kind of object that it belongs to.
fn schema_keys(pointer: &str) -> Vec<String> {
    let schema = manifest_schema();
    let object = schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
    assert_eq!(object["additionalProperties"], json!(false), "{pointer}");
    object["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
fn the_schema_names_exactly_the_keys_that_are_read() {
    let all_null = |keys: Vec<String>| -> Value {
        let mut keys = keys;
        keys.push("unheard_of".to_owned());
        keys.into_iter()
            .map(|key| (key, Value::Null))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let unknown = |document: &Value, place: &str| {
        let problems = validate_manifest(document);
        let found: Vec<_> = problems
            .iter()
            .filter(|problem| problem.message.starts_with("Unrecognized"))
            .collect();
        assert_eq!(found.len(), 1, "{problems:?}");
        assert_eq!(found[0].location, place);
        assert_eq!(found[0].message, "Unrecognized key(s) in object: 'unheard_of'");
        // And what is read stands in the schema: every key that was null is complained of or may be null.
    };
    unknown(&all_null(schema_keys("")), "(root)");
    unknown(
        &json!({"version": 1, "runbooks": [all_null(schema_keys("/$defs/Runbook"))]}),
        "runbooks.0",
    );
    unknown(
        &with_runbook(json!({"confine": all_null(schema_keys("/$defs/Confine"))})),
        "runbooks.0.confine",
    );
    for (index, kind) in ["boolean", "string", "number", "array"].into_iter().enumerate() {
        let mut param = all_null(schema_keys(&format!("/$defs/Param/oneOf/{index}")));
        param["type"] = json!(kind);
        unknown(&with_params(json!({"p": param})), "runbooks.0.params.p");
    }
}

#[test]
fn the_reference_tells_of_every_key() {
    let page = manifest_reference();
    for pointer in ["", "/$defs/Runbook", "/$defs/Confine", "/$defs/Param/oneOf/3"] {
        for key in schema_keys(pointer) {
            assert!(page.contains(&format!("| `{key}` |")), "{key}");
        }
    }
}

#[test]
fn defaults_in_the_schema_are_those_of_the_code() {
    let manifest = valid(&with_runbook(json!({})));
    let runbook = &manifest.runbooks[0];
    let schema = manifest_schema();
    let default = |key: &str| {
        schema
            .pointer(&format!("/$defs/Runbook/properties/{key}/default"))
            .cloned()
    };
    assert_eq!(default("timeoutSeconds"), Some(json!(runbook.timeout_seconds)));
    assert_eq!(default("maxOutputChars"), Some(json!(runbook.max_output_chars)));
    assert_eq!(default("readOnly"), Some(json!(runbook.read_only)));
    assert_eq!(default("confirm"), Some(json!(false)));
    assert_eq!(
        schema.pointer("/properties/inheritEnv/default"),
        Some(&json!(true))
    );
    assert_eq!(manifest.inherited(runbook), &InheritEnv::All);
}
