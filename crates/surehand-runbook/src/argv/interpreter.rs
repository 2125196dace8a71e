//! Which program runs a script.
//!
//! Everything here is a function of its arguments, so that what happens on Windows is tested everywhere.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::{environment::Environment, manifest::Interpreter};

/// A kind of operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux, macOS and their kin.
    Unix,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one that this program was built for.
    #[must_use]
    pub const fn current() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Unix }
    }
}

/// The variable that names `bash.exe` on Windows.
const BASH_VARIABLE: &str = "RUNBOOK_MCP_BASH";

/// The program for an interpreter; None for `exe`, whose script is the program, unless the manifest replaces it.
pub(crate) fn program(
    interpreter: Interpreter,
    overrides: &BTreeMap<Interpreter, String>,
    platform: Platform,
    environment: &Environment,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if let Some(program) = overrides.get(&interpreter) {
        return Some(program.clone());
    }
    let name = match (interpreter, platform) {
        (Interpreter::Exe, _) => return None,
        (Interpreter::Bash | Interpreter::Sh, Platform::Windows) => {
            return Some(windows_bash(environment, exists));
        }
        (Interpreter::Bash, Platform::Unix) => "bash",
        (Interpreter::Sh, Platform::Unix) => "sh",
        (Interpreter::Node, _) => "node",
        (Interpreter::Python, Platform::Unix) => "python3",
        (Interpreter::Python, Platform::Windows) => "python",
        (Interpreter::Powershell, Platform::Windows) => "powershell.exe",
        (Interpreter::Powershell, Platform::Unix) | (Interpreter::Pwsh, _) => "pwsh",
    };
    Some(name.to_owned())
}

/// Bash on Windows: what the variable says, else where Git for Windows puts it, else whatever `PATH` has.
fn windows_bash(environment: &Environment, exists: &dyn Fn(&str) -> bool) -> String {
    if let Some(named) = environment.text(BASH_VARIABLE).filter(|named| !named.is_empty()) {
        return named;
    }
    [
        ("ProgramFiles", r"Git\bin\bash.exe"),
        ("ProgramW6432", r"Git\bin\bash.exe"),
        ("ProgramFiles(x86)", r"Git\bin\bash.exe"),
        ("LocalAppData", r"Programs\Git\bin\bash.exe"),
    ]
    .into_iter()
    .filter_map(|(variable, below)| {
        let folder = environment.text(variable).filter(|folder| !folder.is_empty())?;
        Some(format!(r"{}\{below}", folder.trim_end_matches('\\')))
    })
    .find(|path| exists(path))
    .unwrap_or_else(|| "bash".to_owned())
}

/// Where a program is that would be started from `cwd` with this `PATH`: a path as it is, a name looked up.
/// None if there is no such file, or it may not be executed.
pub(crate) fn find_program(program: &str, search_path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if program.contains(['/', std::path::MAIN_SEPARATOR]) {
        return Some(cwd.join(program)).filter(|path| is_executable(path));
    }
    std::env::split_paths(search_path?)
        .map(|folder| cwd.join(folder).join(program))
        .find(|path| is_executable(path))
}

#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}
