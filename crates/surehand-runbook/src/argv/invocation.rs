//! One call, as a command.

use std::{path::PathBuf, time::Duration};

use serde_json::{Map, Value};
use surehand_core::Refusal;

use super::{
    display::line,
    interpreter::{Platform, program},
    powershell,
};
use crate::{
    environment::Environment,
    manifest::{CONFIRM_TOKEN, Confirm, DRY_RUN, Interpreter, Manifest, Param, Runbook, resolve},
    pattern::Budget,
    values::{Argument, Arguments, check_arguments},
};

/// What a command depends on besides manifest and arguments.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The server's environment.
    pub environment: Environment,
    /// The operating system.
    pub platform: Platform,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            environment: Environment::of_process(),
            platform: Platform::current(),
        }
    }
}

/// What a call runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// The tool's name.
    pub tool: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The command as one line for people.
    pub display: String,
    /// The script's absolute path.
    pub script: PathBuf,
    /// The absolute working directory.
    pub cwd: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// How much of the end of each stream is kept, in UTF-16 code units.
    pub max_output_chars: u32,
    /// The arguments as used, defaults included.
    pub arguments: Map<String, Value>,
    /// The caller asked only to be shown the command.
    pub dry_run: bool,
    /// The one-time token that came with the call.
    pub token: Option<String>,
}

/// Works out what a call runs.
///
/// # Errors
/// When arguments are missing, unknown or do not fit; all such problems are named.
pub fn build_invocation(
    manifest: &Manifest,
    runbook: &Runbook,
    arguments: &Map<String, Value>,
    surroundings: &Surroundings,
) -> Result<Invocation, Refusal> {
    let tool = manifest.tool_name(runbook);
    let (own, rest) = own_arguments(&tool, runbook, arguments)?;
    let accepted = check_arguments(&tool, &runbook.params, &rest, &mut Budget::default())?;
    let script = resolve(manifest.folder(), &runbook.script);
    let command = command(
        manifest,
        runbook,
        &script.display().to_string(),
        &accepted,
        surroundings,
    );
    Ok(Invocation {
        display: line(&command, runbook.interpreter.is_powershell()),
        command,
        script,
        cwd: resolve(manifest.folder(), &runbook.cwd),
        timeout: Duration::from_secs(runbook.timeout_seconds.into()),
        max_output_chars: runbook.max_output_chars,
        arguments: accepted.used,
        dry_run: own.dry_run,
        token: own.token,
        tool,
    })
}

/// The arguments that Surehand itself gives a tool.
#[derive(Default)]
struct Own {
    dry_run: bool,
    token: Option<String>,
}

/// Parts what is meant for Surehand from what is meant for the script.
fn own_arguments(
    tool: &str,
    runbook: &Runbook,
    arguments: &Map<String, Value>,
) -> Result<(Own, Map<String, Value>), Refusal> {
    let mut own = Own::default();
    let mut rest = Map::with_capacity(arguments.len());
    for (name, value) in arguments {
        match (name.as_str(), value) {
            (DRY_RUN, Value::Bool(dry_run)) if runbook.dry_run => own.dry_run = *dry_run,
            (DRY_RUN, _) if runbook.dry_run => {
                return Err(Refusal::new(tool, "dryRun must be true or false, without quotes"));
            }
            (CONFIRM_TOKEN, Value::String(token)) if runbook.confirm == Confirm::Token => {
                own.token = Some(token.clone());
            }
            (CONFIRM_TOKEN, _) if runbook.confirm == Confirm::Token => {
                return Err(Refusal::new(tool, "confirmToken must be a string"));
            }
            _ => {
                rest.insert(name.clone(), value.clone());
            }
        }
    }
    Ok((own, rest))
}

fn command(
    manifest: &Manifest,
    runbook: &Runbook,
    script: &str,
    accepted: &Arguments<'_>,
    surroundings: &Surroundings,
) -> Vec<String> {
    let program = program(
        runbook.interpreter,
        &manifest.interpreters,
        surroundings.platform,
        &surroundings.environment,
        &|path| std::path::Path::new(path).is_file(),
    );
    let parts = accepted.values.iter().map(|(param, argument)| {
        let join = match param {
            Param::Array(array) => array.join.as_deref(),
            _ => None,
        };
        (param.common().flag.as_deref(), argument, join)
    });
    let replaced = program.is_some() && runbook.interpreter == Interpreter::Exe;
    let mut command: Vec<String> = program.into_iter().collect();
    if runbook.interpreter.is_powershell() {
        let parts: Vec<_> = parts.collect();
        let fixed = [
            "-NoProfile",
            "-NonInteractive",
            "-ExecutionPolicy",
            "Bypass",
            "-Command",
        ];
        command.extend(fixed.map(str::to_owned));
        command.push(powershell::command_text(script, &parts));
    } else {
        // A program in the place of an exe is what the original shows; planning a call refuses it.
        if !replaced {
            command.push(script.to_owned());
        }
        for (flag, argument, join) in parts {
            push_argument(&mut command, flag, argument, join);
        }
    }
    command
}

fn push_argument(command: &mut Vec<String>, flag: Option<&str>, argument: &Argument, join: Option<&str>) {
    let mut push = |value: Option<&str>| {
        command.extend([flag, value].into_iter().flatten().map(str::to_owned));
    };
    match argument {
        Argument::Boolean(true) => push(None),
        Argument::Boolean(false) => {}
        Argument::Text(text) | Argument::Number(text) => push(Some(text)),
        Argument::List(items) => match join {
            Some(join) if !items.is_empty() => push(Some(&items.join(join))),
            _ => items.iter().for_each(|item| push(Some(item))),
        },
    }
}
