//! The fourth stage: rules between keys.

use std::collections::{HashMap, HashSet};

use super::{
    fields::below,
    hints,
    model::{Interpreter, Manifest, Runbook, SecretSource},
    params::{NumberParam, Param, TextRule},
    problem::Problem,
    shape::{Shaped, is_snake_case},
};
use crate::values::{check_default, to_ecmascript, unusable_choice};

/// The argument that shows a command instead of running it.
pub(crate) const DRY_RUN: &str = "dryRun";
/// The argument that brings back a one-time token.
pub(crate) const CONFIRM_TOKEN: &str = "confirmToken";

/// Checks the rules.
pub(super) fn check(shaped: Shaped) -> Result<Manifest, Vec<Problem>> {
    let Shaped {
        manifest,
        unknown_interpreters,
    } = shaped;
    let mut problems = Vec::new();
    let names: Vec<&str> = Interpreter::ALL.iter().map(|known| known.as_str()).collect();
    for name in &unknown_interpreters {
        problems.push(Problem::new(
            below("interpreters", name),
            format!(
                "unknown interpreter (expected one of {}){}",
                names.join(", "),
                hints::interpreter(name)
            ),
        ));
    }
    for (interpreter, program) in &manifest.interpreters {
        no_nul(
            &below("interpreters", interpreter.as_str()),
            program,
            &mut problems,
        );
    }
    let mut seen = HashSet::new();
    for runbook in &manifest.runbooks {
        if !seen.insert(runbook.name.as_str()) {
            problems.push(Problem::new(&*runbook.name, "duplicate runbook name"));
        }
        let tool = manifest.tool_name(runbook);
        if !is_snake_case(&tool) {
            problems.push(Problem::new(
                &*runbook.name,
                format!("with the prefix the tool name is {tool:?}, which is longer than 64 characters"),
            ));
        }
        check_runbook(runbook, &mut problems);
    }
    if problems.is_empty() {
        Ok(manifest)
    } else {
        Err(problems)
    }
}

fn check_runbook(runbook: &Runbook, problems: &mut Vec<Problem>) {
    let name = &*runbook.name;
    no_nul(&below(name, "script"), &runbook.script, problems);
    no_nul(&below(name, "cwd"), &runbook.cwd, problems);
    check_environment(runbook, problems);
    let mut flags: HashMap<&str, &str> = HashMap::new();
    for (param_name, param) in runbook.params.iter() {
        let place = format!("{name}.params.{param_name}");
        let reserved = (runbook.dry_run && param_name == DRY_RUN)
            || (runbook.confirm == super::Confirm::Token && param_name == CONFIRM_TOKEN);
        if reserved {
            let key = if param_name == DRY_RUN {
                "\"dryRun\": true"
            } else {
                "\"confirm\": \"token\""
            };
            problems.push(Problem::new(
                &*place,
                format!("{key} gives the tool an argument of this name; rename the parameter"),
            ));
        }
        check_param(&place, param, problems);
        if let Some(flag) = param.common().flag.as_deref()
            && let Some(other) = flags.insert(flag, param_name)
        {
            problems.push(Problem::new(
                place,
                format!("flag {flag} is already the flag of {other}"),
            ));
        }
    }
}

fn check_environment(runbook: &Runbook, problems: &mut Vec<Problem>) {
    let name = &*runbook.name;
    for variable in runbook.env.keys().filter(|variable| is_reserved(variable)) {
        problems.push(Problem::new(
            format!("{name}.env.{variable}"),
            "names that begin with SUREHAND_ are reserved",
        ));
    }
    for (variable, source) in &runbook.env_from {
        let place = format!("{name}.envFrom.{variable}");
        if !is_variable_name(variable) {
            problems.push(Problem::new(
                &*place,
                "a variable's name must not be empty or contain = or NUL",
            ));
        }
        if is_reserved(variable) {
            problems.push(Problem::new(
                &*place,
                "names that begin with SUREHAND_ are reserved",
            ));
        }
        match source {
            SecretSource::Variable(from) if is_reserved(from) => {
                problems.push(Problem::new(
                    &*place,
                    "variables that begin with SUREHAND_ are never passed on",
                ));
            }
            SecretSource::Variable(from) if from.contains(['=', '\0']) => {
                problems.push(Problem::new(
                    &*place,
                    "a variable's name must not contain = or NUL",
                ));
            }
            SecretSource::File(path) => no_nul(&place, path, problems),
            SecretSource::Variable(_) => {}
        }
        if runbook.env.contains_key(variable) {
            problems.push(Problem::new(place, "is set in env as well; keep one of the two"));
        }
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// What in a valid manifest keeps this runbook from ever being run. The original serves such a manifest, so it
/// is not refused as a whole: `validate` warns, and each call is refused.
pub(crate) fn obstacles(manifest: &Manifest, runbook: &Runbook) -> Vec<String> {
    let mut obstacles = Vec::new();
    for (variable, value) in &runbook.env {
        if !is_variable_name(variable) {
            obstacles.push(format!(
                "env names a variable {variable:?}, but a name must not be empty or contain = or NUL"
            ));
        }
        if value.contains('\0') {
            obstacles.push(format!("env sets {variable} to a value that contains NUL"));
        }
    }
    if runbook.interpreter == Interpreter::Exe
        && let Some(program) = manifest.interpreters.get(&Interpreter::Exe)
    {
        obstacles.push(format!(
            "interpreters.exe ({program:?}) takes the place of the script, which would never run; remove it, or \
             name that program as the script"
        ));
    }
    obstacles
}

/// Whether a variable belongs to Surehand itself and is kept from every script.
pub(crate) fn is_reserved(variable: &str) -> bool {
    variable
        .get(..9)
        .is_some_and(|start| start.eq_ignore_ascii_case("SUREHAND_"))
}

fn no_nul(place: &str, text: &str, problems: &mut Vec<Problem>) {
    if text.contains('\0') {
        problems.push(Problem::new(place, "must not contain NUL"));
    }
}

fn check_param(place: &str, param: &Param, problems: &mut Vec<Problem>) {
    let common = param.common();
    let mut complain = |message: String| problems.push(Problem::new(place, message));
    if common.flag.is_some() && common.positional {
        complain("choose either flag or positional, not both".to_owned());
    }
    if let Param::Boolean(_) = param {
        if common.flag.is_none() {
            complain("boolean parameters need a flag to emit".to_owned());
        }
        if common.positional {
            complain("boolean parameters cannot be positional".to_owned());
        }
    } else if common.flag.is_none() && !common.positional {
        complain("declare a flag (e.g. \"--name\") or \"positional\": true".to_owned());
    }
    let checkable = match param {
        Param::Boolean(_) => true,
        Param::Number(number) => check_bounds(number, &mut complain),
        Param::String(string) => check_rule(param, &string.rule, &mut complain),
        Param::Array(array) => {
            if let Some(most) = array.max_items.filter(|most| array.least() > *most) {
                complain(format!(
                    "minItems {} is greater than maxItems {most}",
                    array.least()
                ));
            }
            if array.join.as_deref().is_some_and(|join| join.contains('\0')) {
                complain("join must not contain NUL".to_owned());
            }
            check_rule(param, &array.rule, &mut complain)
        }
    };
    if checkable && let Some(problem) = check_default(param) {
        complain(format!("default {problem}"));
    }
}

fn check_bounds(number: &NumberParam, complain: &mut impl FnMut(String)) -> bool {
    let (Some(minimum), Some(maximum)) = (number.minimum, number.maximum) else {
        return true;
    };
    if minimum > maximum {
        complain(format!(
            "minimum {} is greater than maximum {}",
            to_ecmascript(minimum),
            to_ecmascript(maximum)
        ));
        return false;
    }
    if number.integer && minimum.ceil() > maximum.floor() {
        complain(format!(
            "there is no integer from {} to {}",
            to_ecmascript(minimum),
            to_ecmascript(maximum)
        ));
        return false;
    }
    true
}

/// Whether a default can be checked against the rule.
fn check_rule(param: &Param, rule: &TextRule, complain: &mut impl FnMut(String)) -> bool {
    match (&rule.pattern, &rule.choices) {
        (None, None) => {
            complain(format!(
                "{} parameters must declare an anchored \"pattern\" or an \"enum\" — free text never reaches \
                 the shell",
                param.kind()
            ));
            return false;
        }
        (Some(_), Some(_)) => complain("declare \"pattern\" or \"enum\", not both".to_owned()),
        _ => {}
    }
    for (index, choice) in rule.choices.iter().flatten().enumerate() {
        let before = rule.choices.iter().flatten().take(index);
        if before.into_iter().any(|other| other == choice) {
            complain(format!("enum lists {choice:?} twice"));
        }
        if let Some(problem) = unusable_choice(param, choice) {
            complain(format!("enum value {choice:?} can never be sent: it {problem}"));
        }
    }
    let Some(pattern) = &rule.pattern else {
        return true;
    };
    if let Some(problem) = pattern.anchoring_problem() {
        complain(problem);
    }
    if let Some(error) = pattern.error() {
        complain(format!("pattern does not compile — {error}"));
        return false;
    }
    true
}
