//! The third stage, for parameters.

use serde_json::Value;

use super::{
    fields::{Fields, as_object, below, non_empty},
    hints,
    params::{ArrayParam, BooleanParam, Common, NumberParam, Param, Params, StringParam, TextRule},
    problem::Problem,
};
use crate::pattern::Pattern;

const KINDS: [&str; 4] = ["boolean", "string", "number", "array"];

pub(super) fn params(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Params {
    let Some(map) = as_object(value, path, problems) else {
        return Params::default();
    };
    let mut params = Vec::with_capacity(map.len());
    for (name, value) in map {
        let path = below(path, name);
        if !is_identifier(name) {
            problems.push(Problem::new(
                &*path,
                "parameter names must be identifiers (^[a-zA-Z][a-zA-Z0-9_]{0,63}$)",
            ));
        }
        if let Some(param) = param(value, &path, problems) {
            params.push((name.clone(), param));
        }
    }
    Params(params)
}

fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn param(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Option<Param> {
    let mut fields = Fields::of(value, path, problems)?;
    let kind = fields.get("type");
    let param = match kind.and_then(Value::as_str) {
        Some("boolean") => Param::Boolean(BooleanParam {
            common: common(&mut fields, problems),
            default: fields.boolean("default", problems),
        }),
        Some("string") => Param::String(StringParam {
            common: common(&mut fields, problems),
            rule: text_rule(&mut fields, problems),
            default: fields.string("default", problems).map(str::to_owned),
        }),
        Some("number") => Param::Number(NumberParam {
            common: common(&mut fields, problems),
            integer: fields.boolean("integer", problems).unwrap_or_default(),
            minimum: fields.number("minimum", problems),
            maximum: fields.number("maximum", problems),
            default: fields
                .number("default", problems)
                .and(fields.get("default"))
                .and_then(Value::as_number)
                .cloned(),
        }),
        Some("array") => Param::Array(ArrayParam {
            common: common(&mut fields, problems),
            rule: text_rule(&mut fields, problems),
            join: join(&mut fields, problems),
            min_items: fields.integer("minItems", 0, u32::MAX, problems),
            max_items: fields.integer("maxItems", 1, u32::MAX, problems),
            default: fields.strings("default", false, problems),
        }),
        other => {
            let message = format!(
                "Invalid discriminator value. Expected 'boolean' | 'string' | 'number' | 'array'{}",
                other.map_or_else(String::new, |word| hints::param_type(word, KINDS))
            );
            problems.push(Problem::new(fields.path("type"), message));
            return None;
        }
    };
    fields.finish(problems);
    Some(param)
}

fn common(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Common {
    let common = Common {
        description: fields.string("description", problems).map(str::to_owned),
        flag: fields.string("flag", problems).map(str::to_owned),
        positional: fields.boolean("positional", problems).unwrap_or_default(),
        required: fields.boolean("required", problems).unwrap_or_default(),
    };
    if common.flag.as_deref().is_some_and(|flag| !is_flag(flag)) {
        problems.push(Problem::new(
            fields.path("flag"),
            "flag must look like -Name or --name (^-{1,2}[A-Za-z][A-Za-z0-9-]*$)",
        ));
    }
    common
}

fn is_flag(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else {
        return false;
    };
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn text_rule(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> TextRule {
    let rule = TextRule {
        pattern: fields.string("pattern", problems).map(Pattern::new),
        choices: fields.strings("enum", true, problems),
        allow_leading_dash: fields.boolean("allowLeadingDash", problems).unwrap_or_default(),
    };
    if rule.choices.as_ref().is_some_and(Vec::is_empty) {
        problems.push(Problem::new(
            fields.path("enum"),
            "Array must contain at least 1 element(s)",
        ));
    }
    rule
}

fn join(fields: &mut Fields<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    let join = fields.string("join", problems)?;
    non_empty(join, &fields.path("join"), problems);
    Some(join.to_owned())
}
