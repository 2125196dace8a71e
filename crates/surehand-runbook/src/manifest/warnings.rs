//! What is allowed and yet probably not meant.

use super::{
    model::{Manifest, Runbook},
    params::{Param, Params},
    paths::resolve,
    problem::Problem,
    rules::obstacles,
};
use crate::{
    argv::{Surroundings, find_program, program},
    environment::{child_environment, loader_variable, missing_files},
    regular_file,
};

/// Some clients refuse a tool whose description is longer, in characters.
const LONGEST_DESCRIPTION: usize = 1024;

/// Above this, an answer is more than most clients take.
const LARGE_OUTPUT: u32 = 1_000_000;

/// Everything in a valid manifest that deserves a second look. Nothing of this keeps it from being served.
#[must_use]
pub fn warnings(manifest: &Manifest, surroundings: &Surroundings) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for runbook in &manifest.runbooks {
        let name = &runbook.name;
        let mut warn = |place: String, message: String| warnings.push(Problem::new(place, message));
        for obstacle in obstacles(manifest, runbook) {
            warn(name.clone(), format!("every call will be refused: {obstacle}"));
        }
        if let Some(message) = start_problem(manifest, runbook, surroundings) {
            warn(name.clone(), message);
        }
        for variable in runbook.env.keys().chain(runbook.env_from.keys()) {
            if let Some(effect) = loader_variable(variable) {
                warn(format!("{name}.env.{variable}"), format!("{variable} {effect}"));
            }
        }
        for (variable, lacking) in missing_files(manifest, runbook) {
            warn(
                format!("{name}.envFrom.{variable}"),
                format!("every call will be refused: {lacking}"),
            );
        }
        if runbook.description.chars().count() > LONGEST_DESCRIPTION {
            warn(
                name.clone(),
                format!("some clients refuse descriptions of more than {LONGEST_DESCRIPTION} characters"),
            );
        }
        if runbook.max_output_chars > LARGE_OUTPUT {
            warn(
                name.clone(),
                format!("few clients take answers of more than {LARGE_OUTPUT} characters (maxOutputChars)"),
            );
        }
        param_warnings(name, &runbook.params, &mut warn);
    }
    warnings
}

fn param_warnings(runbook: &str, params: &Params, warn: &mut impl FnMut(String, String)) {
    for (name, param) in params.iter() {
        let place = || format!("{runbook}.params.{name}");
        let has_default = match param {
            Param::Boolean(param) => param.default.is_some(),
            Param::String(param) => param.default.is_some(),
            Param::Number(param) => param.default.is_some(),
            Param::Array(param) => param.default.is_some(),
        };
        if param.common().required && has_default {
            warn(
                place(),
                "is required and has a default; the default is used when it is left out".to_owned(),
            );
        }
        let Some(pattern) = param.text_rule().and_then(|rule| rule.pattern.as_ref()) else {
            continue;
        };
        if pattern.accepts_everything() {
            warn(
                place(),
                format!(
                    "the pattern {} accepts every text, so it checks nothing",
                    pattern.as_str()
                ),
            );
        }
        if pattern.nests_repetitions() {
            let here = if pattern.backtracks() {
                "here, a value that takes too long is refused"
            } else {
                "not here"
            };
            warn(
                place(),
                format!(
                    "the pattern {} repeats a repetition, which can take exponential time in engines that \
                     backtrack ({here})",
                    pattern.as_str()
                ),
            );
        }
    }
}

/// Why the script would not start, as far as that can be told beforehand.
fn start_problem(manifest: &Manifest, runbook: &Runbook, surroundings: &Surroundings) -> Option<String> {
    let script = resolve(manifest.folder(), &runbook.script);
    if regular_file::metadata(&script).is_err() {
        // The files stage says so.
        return None;
    }
    let Surroundings {
        environment,
        platform,
    } = surroundings;
    let program = program(
        runbook.interpreter,
        &manifest.interpreters,
        *platform,
        environment,
        &|path| std::path::Path::new(path).is_file(),
    );
    let Some(program) = program else {
        return (!crate::argv::is_executable(&script))
            .then(|| format!("the script may not be executed (chmod +x): {}", script.display()));
    };
    let child = child_environment(manifest, runbook, environment, &[], *platform);
    let cwd = resolve(manifest.folder(), &runbook.cwd);
    if find_program(&program, child.get("PATH"), &cwd).is_none() {
        return Some(format!(
            "the interpreter {program:?} is not found in the script's PATH, or may not be executed"
        ));
    }
    regular_file::open(&script)
        .err()
        .map(|error| format!("the script {error}: {}", script.display()))
}
