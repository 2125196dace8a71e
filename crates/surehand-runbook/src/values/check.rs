//! Which values a parameter accepts.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use surehand_core::{Refusal, nearest};

use super::{
    characters::refused_character,
    number::{to_digits, to_ecmascript},
};
use crate::{
    manifest::{ArrayParam, NumberParam, Param, Params, TextRule},
    pattern::{Budget, Fit},
};

/// How many values of an `enum` a message lists.
const MOST_LISTED: usize = 40;

/// A value that was accepted, as it goes to the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    Boolean(bool),
    Text(String),
    Number(String),
    List(Vec<String>),
}

/// The accepted arguments of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Arguments<'m> {
    /// In the order of the manifest. What was neither sent nor has a default is not here.
    pub(crate) values: Vec<(&'m Param, Argument)>,
    /// The same as JSON, defaults included.
    pub(crate) used: Map<String, Value>,
}

/// Checks all arguments of a call and fills in defaults. `null` is a value of the wrong type, for required and
/// optional parameters alike. All problems are reported together.
pub(crate) fn check_arguments<'m>(
    tool: &str,
    params: &'m Params,
    arguments: &Map<String, Value>,
    budget: &mut Budget,
) -> Result<Arguments<'m>, Refusal> {
    let mut problems = Vec::new();
    let mut accepted = Arguments::default();
    for (name, param) in params.iter() {
        let Some(value) = arguments.get(name).cloned().or_else(|| default(param)) else {
            if param.common().required {
                problems.push(format!("{name} is required"));
            }
            continue;
        };
        match check(param, &value, budget) {
            Ok(argument) => {
                accepted.values.push((param, argument));
                accepted.used.insert(name.to_owned(), value);
            }
            Err(what) => problems.push(format!("{name} {what}")),
        }
    }
    for name in arguments.keys() {
        if params.get(name).is_none() {
            problems.push(unknown(name, params));
        }
    }
    if problems.is_empty() {
        Ok(accepted)
    } else {
        Err(Refusal {
            tool: tool.to_owned(),
            problems,
        })
    }
}

fn unknown(name: &str, params: &Params) -> String {
    let names: Vec<&str> = params.iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        return format!("unknown argument {name:?}; there are no arguments");
    }
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("unknown argument {name:?}; did you mean {near:?}?"),
        None => format!(
            "unknown argument {name:?}; the arguments are: {}",
            names.join(", ")
        ),
    }
}

/// A parameter's default as JSON.
fn default(param: &Param) -> Option<Value> {
    match param {
        Param::Boolean(param) => param.default.map(Value::Bool),
        Param::String(param) => param.default.clone().map(Value::String),
        Param::Number(param) => param.default.clone().map(Value::Number),
        Param::Array(param) => param.default.clone().map(Value::from),
    }
}

/// Checks one value. The error ends a sentence that begins with the parameter's name.
pub(crate) fn check(param: &Param, value: &Value, budget: &mut Budget) -> Result<Argument, String> {
    match (param, value) {
        (Param::Boolean(_), Value::Bool(value)) => Ok(Argument::Boolean(*value)),
        (Param::String(string), Value::String(text)) => {
            check_text(&string.rule, string.common.positional, text, budget)?;
            Ok(Argument::Text(text.clone()))
        }
        (Param::Number(number), Value::Number(value)) => check_number(number, value).map(Argument::Number),
        (Param::Array(array), Value::Array(items)) => check_items(array, items, budget).map(Argument::List),
        _ => Err(wrong_type(param, value)),
    }
}

/// What is wrong with a parameter's default, if anything is.
pub(crate) fn check_default(param: &Param) -> Option<String> {
    let value = default(param)?;
    check(param, &value, &mut Budget::default()).err()
}

fn wrong_type(param: &Param, value: &Value) -> String {
    let expected = match param {
        Param::Boolean(_) => "a boolean",
        Param::String(_) => "a string",
        Param::Number(_) => "a number",
        Param::Array(_) => "an array of strings",
    };
    let received = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let hint = match (param, value) {
        (_, Value::Null) => "; leave it out instead",
        (Param::Boolean(_), _) => "; send true or false, without quotes",
        (Param::Number(_), Value::String(_)) => "; send the number without quotes",
        (Param::String(_), Value::Number(_) | Value::Bool(_)) => "; send it in quotes",
        (Param::Array(_), Value::String(_)) => "; send [\"...\"], even for one item",
        _ => "",
    };
    format!("must be {expected}, not {received}{hint}")
}

fn check_text(rule: &TextRule, positional: bool, text: &str, budget: &mut Budget) -> Result<(), String> {
    if let Some(problem) = refused_character(text) {
        return Err(problem);
    }
    if let Some(choices) = &rule.choices {
        // What the manifest lists is the team's own word, a leading dash included.
        return if choices.iter().any(|choice| choice == text) {
            Ok(())
        } else {
            Err(format!("must be one of: {}", listed(choices)))
        };
    }
    let Some(pattern) = &rule.pattern else {
        return Err("cannot be checked: it has neither pattern nor enum".to_owned());
    };
    match pattern.fits(text, budget) {
        Fit::Yes => {}
        Fit::No => return Err(format!("must match {}", pattern.as_str())),
        Fit::Unknown => {
            return Err(format!(
                "cannot be checked against {} within the limit on work; send a shorter value, or have the \
                 pattern simplified",
                pattern.as_str()
            ));
        }
    }
    if positional && !rule.allow_leading_dash && text.starts_with('-') {
        return Err(
            "must not begin with -, which the script could take for a flag (the manifest can set \
             allowLeadingDash)"
                .to_owned(),
        );
    }
    Ok(())
}

fn listed(choices: &[String]) -> String {
    let mut text = choices
        .iter()
        .take(MOST_LISTED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if choices.len() > MOST_LISTED {
        // Writing to a string cannot fail.
        let _ = write!(text, ", ... ({} in all)", choices.len());
    }
    text
}

fn check_number(param: &NumberParam, value: &serde_json::Number) -> Result<String, String> {
    let double = value
        .as_f64()
        .filter(|double| double.is_finite())
        .ok_or("must be a finite number")?;
    let text = if param.integer {
        to_digits(value)?
    } else {
        to_ecmascript(double)
    };
    if let Some(minimum) = param.minimum.filter(|minimum| double < *minimum) {
        return Err(format!("must be >= {}", to_ecmascript(minimum)));
    }
    if let Some(maximum) = param.maximum.filter(|maximum| double > *maximum) {
        return Err(format!("must be <= {}", to_ecmascript(maximum)));
    }
    Ok(text)
}

fn check_items(param: &ArrayParam, items: &[Value], budget: &mut Budget) -> Result<Vec<String>, String> {
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let least = param.least();
    if count < least {
        return Err(format!("must have at least {least} item{}", plural(least)));
    }
    if let Some(most) = param.max_items.filter(|most| count > *most) {
        return Err(format!("must have at most {most} item{}", plural(most)));
    }
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let text = check_item(param, item, budget).map_err(|what| format!("item {} {what}", index + 1))?;
        texts.push(text);
    }
    Ok(texts)
}

fn check_item(param: &ArrayParam, item: &Value, budget: &mut Budget) -> Result<String, String> {
    let Some(text) = item.as_str() else {
        return Err(format!(
            "must be a string, not {}",
            match item {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                Value::Array(_) => "an array",
                _ => "an object",
            }
        ));
    };
    check_text(&param.rule, param.common.positional, text, budget)?;
    match param.join.as_deref().filter(|join| text.contains(join)) {
        Some(join) => Err(format!(
            "must not contain {join:?}, by which the items are joined"
        )),
        None => Ok(text.to_owned()),
    }
}

/// Why no agent could ever send this value of an `enum`.
pub(crate) fn unusable_choice(param: &Param, choice: &str) -> Option<String> {
    let join = match param {
        Param::Array(array) => array.join.as_deref(),
        _ => None,
    };
    refused_character(choice).or_else(|| {
        join.filter(|join| choice.contains(join))
            .map(|join| format!("must not contain {join:?}, by which the items are joined"))
    })
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
