//! What people write who think of another format, and what it is called here.

use surehand_core::nearest;

use super::model::Interpreter;

/// Keys by other names. Only those known at the place are proposed.
const KEYS: [(&str, &str); 27] = [
    ("timeout", "timeoutSeconds"),
    ("timeoutsec", "timeoutSeconds"),
    ("args", "params"),
    ("arguments", "params"),
    ("parameters", "params"),
    ("inputs", "params"),
    ("environment", "env"),
    ("secrets", "envFrom"),
    ("desc", "description"),
    ("cmd", "script"),
    ("command", "script"),
    ("run", "script"),
    ("path", "script"),
    ("shell", "interpreter"),
    ("workdir", "cwd"),
    ("workingdir", "cwd"),
    ("workingdirectory", "cwd"),
    ("directory", "cwd"),
    ("approval", "confirm"),
    ("sandbox", "confine"),
    ("tools", "runbooks"),
    ("regex", "pattern"),
    ("choices", "enum"),
    ("min", "minimum"),
    ("max", "maximum"),
    ("option", "flag"),
    ("separator", "join"),
];

/// Interpreters by other names.
const INTERPRETERS: [(&str, Interpreter); 8] = [
    ("py", Interpreter::Python),
    ("python3", Interpreter::Python),
    ("js", Interpreter::Node),
    ("nodejs", Interpreter::Node),
    ("javascript", Interpreter::Node),
    ("shell", Interpreter::Sh),
    ("ps1", Interpreter::Powershell),
    ("binary", Interpreter::Exe),
];

/// Interpreters that are none of ours, whatever they look like.
const OTHERS: [&str; 11] = [
    "zsh", "dash", "ksh", "csh", "fish", "ruby", "perl", "php", "deno", "bun", "lua",
];

/// The key that was probably meant.
pub(super) fn key<'k>(wanted: &str, known: &[&'k str]) -> Option<&'k str> {
    let folded = wanted.to_lowercase().replace(['-', '_'], "");
    let meant = KEYS.iter().find(|(other, _)| *other == folded);
    meant
        .and_then(|(_, ours)| known.iter().copied().find(|key| key == ours))
        .or_else(|| nearest(wanted, known.iter().copied()))
}

/// What to write instead of an interpreter that there is not; empty, or the rest of a message.
pub(super) fn interpreter(wanted: &str) -> String {
    let folded = wanted.to_lowercase();
    let meant = INTERPRETERS
        .iter()
        .find(|(other, _)| *other == folded)
        .map(|(_, ours)| ours.as_str());
    let near = || {
        let names = Interpreter::ALL.map(Interpreter::as_str);
        nearest(wanted, names).filter(|_| !OTHERS.contains(&&*folded))
    };
    match meant.or_else(near) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => "; for any other, make the script executable, begin it with #!, and write 'exe'".to_owned(),
    }
}

/// What to write instead of a type of parameters that there is not; empty, or the rest of a message.
pub(super) fn param_type(wanted: &str, known: [&str; 4]) -> String {
    let meant = match wanted.to_lowercase().as_str() {
        "integer" | "int" => return "; write \"type\": \"number\" with \"integer\": true".to_owned(),
        "enum" | "choice" => return "; write \"type\": \"string\" with \"enum\": [...]".to_owned(),
        "bool" | "flag" | "switch" => Some("boolean"),
        "str" | "text" => Some("string"),
        "float" | "double" | "num" => Some("number"),
        "list" => Some("array"),
        _ => nearest(wanted, known),
    };
    meant.map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

#[cfg(test)]
mod tests {
    use super::{interpreter, key, param_type};

    #[test]
    fn a_key_is_proposed_only_where_it_is_known() {
        let known = ["script", "params", "timeoutSeconds", "description"];
        for (wanted, meant) in [
            ("timeout", Some("timeoutSeconds")),
            ("args", Some("params")),
            ("cmd", Some("script")),
            ("Command", Some("script")),
            ("desc", Some("description")),
            ("descripton", Some("description")),
            ("environment", None),
            ("colour", None),
        ] {
            assert_eq!(key(wanted, &known), meant, "{wanted}");
        }
        assert_eq!(key("working-directory", &["cwd"]), Some("cwd"));
    }

    #[test]
    fn interpreters_have_other_names() {
        for (wanted, meant) in [
            ("Python", "'python'"),
            ("python3", "'python'"),
            ("bsh", "'bash'"),
            ("nodejs", "'node'"),
            ("zsh", "write 'exe'"),
            ("dash", "write 'exe'"),
            ("cobol", "write 'exe'"),
        ] {
            assert!(interpreter(wanted).contains(meant), "{wanted}");
        }
    }

    #[test]
    fn types_have_other_names() {
        let known = ["boolean", "string", "number", "array"];
        for (wanted, meant) in [
            ("integer", "\"integer\": true"),
            ("bool", "'boolean'"),
            ("str", "'string'"),
            ("list", "'array'"),
            ("Number", "'number'"),
            ("enum", "\"enum\""),
        ] {
            assert!(param_type(wanted, known).contains(meant), "{wanted}");
        }
        assert_eq!(param_type("date", known), "");
    }
}
