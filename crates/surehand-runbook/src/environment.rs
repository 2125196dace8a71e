//! What a script finds in its environment.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use crate::{
    argv::Platform,
    manifest::{InheritEnv, Manifest, Runbook, SecretSource, is_reserved, resolve},
    regular_file,
};

/// A list of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// That of this process, now.
    #[must_use]
    pub fn of_process() -> Self {
        Self::new(std::env::vars_os())
    }

    /// These variables.
    pub fn new<N: Into<OsString>, V: Into<OsString>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        Self {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    /// The value of a variable. Case is ignored where the platform that this runs on ignores it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .iter()
            .find(|(other, _)| same_name(other, name, Platform::current()))
            .map(|(_, value)| value.as_os_str())
    }

    /// The value of a variable, if it is valid Unicode.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.to_str().map(str::to_owned)
    }
}

fn same_name(left: &OsStr, right: &str, platform: Platform) -> bool {
    match platform {
        Platform::Unix => left == right,
        Platform::Windows => left.eq_ignore_ascii_case(right),
    }
}

/// What every script gets, however little it inherits. On Windows nothing starts without the last few.
const BASIC: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "TZ",
    "TMPDIR",
    "TERM",
    "SystemRoot",
    "SystemDrive",
    "ComSpec",
    "PATHEXT",
    "TEMP",
    "TMP",
];
const WINDOWS_ONLY: usize = 7;

/// The complete environment of a runbook's script.
pub(crate) fn child_environment(
    manifest: &Manifest,
    runbook: &Runbook,
    server: &Environment,
    secrets: &[Secret],
    platform: Platform,
) -> Environment {
    let inherited = manifest.inherited(runbook);
    let mut child = Environment {
        variables: server
            .variables
            .iter()
            .filter(|(name, _)| is_inherited(name, inherited, platform))
            .cloned()
            .collect(),
    };
    let set = runbook
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let taken = secrets
        .iter()
        .map(|secret| (secret.variable.as_str(), secret.value.as_str()));
    for (name, value) in set.chain(taken) {
        child
            .variables
            .retain(|(other, _)| !same_name(other, name, platform));
        child.variables.push((name.into(), value.into()));
    }
    child
}

impl Environment {
    /// All variables.
    pub(crate) fn into_variables(self) -> Vec<(OsString, OsString)> {
        self.variables
    }
}

fn is_inherited(name: &OsStr, inherited: &InheritEnv, platform: Platform) -> bool {
    // Bytes that are no Unicode do not begin a reserved name differently: only its ASCII start counts.
    if is_reserved(&name.to_string_lossy()) {
        return false;
    }
    match inherited {
        InheritEnv::All => true,
        InheritEnv::Only(names) => {
            let basic = match platform {
                Platform::Unix => &BASIC[..WINDOWS_ONLY],
                Platform::Windows => &BASIC[..],
            };
            basic.iter().any(|basic| same_name(name, basic, platform))
                || name.to_string_lossy().starts_with("LC_")
                || names.iter().any(|listed| same_name(name, listed, platform))
        }
    }
}

/// A secret with its value, for one call.
#[derive(Clone)]
pub(crate) struct Secret {
    pub(crate) variable: String,
    pub(crate) value: String,
}

/// The largest secret, in bytes: a larger one would cost too much to be looked for in all output.
const LARGEST_SECRET: u64 = 16 << 10;

/// Fetches a runbook's secrets. The errors name what is missing, never a value.
pub(crate) fn secrets(
    manifest: &Manifest,
    runbook: &Runbook,
    server: &Environment,
) -> Result<Vec<Secret>, Vec<String>> {
    let mut found = Vec::with_capacity(runbook.env_from.len());
    let mut problems = Vec::new();
    for (variable, source) in &runbook.env_from {
        match fetch(source, manifest.folder(), server) {
            Ok(value) => found.push(Secret {
                variable: variable.clone(),
                value,
            }),
            Err(cause) => {
                let cure = match source {
                    SecretSource::Variable(_) => "; set it where the server runs",
                    SecretSource::File(_) => "",
                };
                problems.push(format!(
                    "the secret {variable} is not available: {source} {cause}{cure}"
                ));
            }
        }
    }
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(problems)
    }
}

/// What the runbook's secrets lack that come from files, by variable. (The variables that a server has are its
/// own: who validates a manifest mostly has others.)
pub(crate) fn missing_files(manifest: &Manifest, runbook: &Runbook) -> Vec<(String, String)> {
    let files = runbook
        .env_from
        .iter()
        .filter(|(_, source)| matches!(source, SecretSource::File(_)));
    files
        .filter_map(|(variable, source)| {
            let cause = fetch(source, manifest.folder(), &Environment::default()).err()?;
            Some((variable.clone(), format!("{source} {cause}")))
        })
        .collect()
}

fn fetch(source: &SecretSource, folder: &Path, server: &Environment) -> Result<String, String> {
    let value = match source {
        SecretSource::Variable(name) => server
            .get(name)
            .ok_or("is not set")?
            .to_str()
            .ok_or("is not valid Unicode")?
            .to_owned(),
        SecretSource::File(path) => {
            let bytes = regular_file::read(&resolve(folder, path), LARGEST_SECRET)
                .map_err(|error| error.to_string())?;
            let text = String::from_utf8(bytes).map_err(|_| "is not valid UTF-8")?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        }
    };
    if value.is_empty() {
        return Err("is empty".to_owned());
    }
    if value.contains('\0') {
        return Err("contains NUL".to_owned());
    }
    if value.len() as u64 > LARGEST_SECRET {
        return Err(format!("is larger than {} KiB", LARGEST_SECRET >> 10));
    }
    Ok(value)
}

/// Why a variable decides what a program loads or runs, if it does.
pub(crate) fn loader_variable(name: &str) -> Option<&'static str> {
    const LOADERS: &[(&str, &str)] = &[
        (
            "LD_PRELOAD",
            "loads code into every program that the script starts",
        ),
        ("LD_AUDIT", "loads code into every program that the script starts"),
        ("LD_LIBRARY_PATH", "decides which libraries every program loads"),
        (
            "DYLD_INSERT_LIBRARIES",
            "loads code into every program that the script starts",
        ),
        ("DYLD_LIBRARY_PATH", "decides which libraries every program loads"),
        ("BASH_ENV", "is run by bash before the script"),
        ("ENV", "is run by sh before interactive commands"),
        ("SHELLOPTS", "changes how bash runs the script"),
        ("PROMPT_COMMAND", "is run by bash"),
        ("NODE_OPTIONS", "can load code into node"),
        ("PYTHONSTARTUP", "is run by python"),
        ("PYTHONHOME", "decides which python library is used"),
        ("PERL5OPT", "can load code into perl"),
        ("RUBYOPT", "can load code into ruby"),
        ("JAVA_TOOL_OPTIONS", "can load code into java"),
        ("GIT_SSH", "is run by git"),
        ("GIT_SSH_COMMAND", "is run by git"),
        ("GIT_EXEC_PATH", "decides which programs git runs"),
    ];
    LOADERS
        .iter()
        .find(|(loader, _)| loader.eq_ignore_ascii_case(name))
        .map(|(_, effect)| *effect)
}

#[cfg(test)]
mod tests;
