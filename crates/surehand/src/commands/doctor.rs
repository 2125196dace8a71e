//! `surehand doctor`.

use std::{env, path::Path, path::PathBuf};

use clap::Args;
use serde_json::json;
use surehand_exec::Confinement;
use surehand_runbook::Surroundings;
use surehand_store::{SqliteOptions, SqliteStore, Store};

use crate::{
    cli::Common,
    config::Settings,
    errors::{CliError, Exit, NO_MANIFEST_HINT},
    term,
};

/// Programs that runbooks name as their interpreter.
const INTERPRETERS: [&str; 5] = ["bash", "sh", "node", "python3", "pwsh"];

/// Look at what is there and what is not: interpreters, isolation, history, manifest
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// How a thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// There and well.
    Well,
    /// Not there, which matters only to who needs it.
    Absent,
    /// Something has to be done.
    Ill,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Absent => "absent",
            Self::Ill => "problem",
        }
    }
}

struct Finding {
    what: String,
    mark: Mark,
    detail: String,
}

impl Finding {
    fn new(what: impl Into<String>, mark: Mark, detail: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            mark,
            detail: detail.into(),
        }
    }

    fn line(&self) -> String {
        let line = format!("{:<8} {:<12} {}", self.mark.word(), self.what, self.detail);
        format!("{}\n", line.trim_end())
    }
}

pub(crate) async fn run(as_json: bool, settings: &Settings) -> Result<Exit, CliError> {
    let mut findings = vec![Finding::new(
        "surehand",
        Mark::Well,
        format!(
            "{} on {} {}",
            env!("CARGO_PKG_VERSION"),
            env::consts::OS,
            env::consts::ARCH
        ),
    )];
    findings.extend(INTERPRETERS.map(interpreter));
    findings.push(confinement());
    let state = state_folder(settings);
    let usable = state.mark == Mark::Well;
    findings.push(state);
    findings.push(if usable {
        history(settings).await
    } else {
        Finding::new("history", Mark::Absent, "needs the state folder")
    });
    findings.extend(manifests(settings));

    let ill = findings.iter().any(|finding| finding.mark == Mark::Ill);
    if as_json {
        let all: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({"what": finding.what, "state": finding.mark.word(), "detail": finding.detail})
            })
            .collect();
        term::out_json(&json!({ "findings": all }))?;
    } else {
        let lines: Vec<String> = findings.iter().map(Finding::line).collect();
        term::out(&lines.concat())?;
    }
    Ok(if ill { Exit::Failed } else { Exit::Done })
}

fn interpreter(name: &str) -> Finding {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths)
        .map(|folder| folder.join(program_file(name)))
        .find(|path| is_program(path));
    match found {
        Some(path) => Finding::new(name, Mark::Well, path.display().to_string()),
        None => Finding::new(name, Mark::Absent, "not found in PATH"),
    }
}

fn program_file(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}{}", env::consts::EXE_SUFFIX))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn confinement() -> Finding {
    let everything = Confinement {
        read: vec![PathBuf::from("/")],
        ..Confinement::default()
    };
    match everything.enforceable() {
        Ok(()) => Finding::new("confinement", Mark::Well, "Landlock and seccomp are enforced"),
        Err(lacking) => Finding::new("confinement", Mark::Absent, lacking),
    }
}

fn state_folder(settings: &Settings) -> Finding {
    match &settings.state_folder {
        Some(folder) => match surehand_store::try_state_directory(folder) {
            Ok(()) => Finding::new("state", Mark::Well, folder.display().to_string()),
            Err(error) => Finding::new("state", Mark::Ill, format!("{error}; {}", error.hint())),
        },
        None => Finding::new(
            "state",
            Mark::Ill,
            "no folder is known: set SUREHAND_STATE_DIR or HOME",
        ),
    }
}

async fn history(settings: &Settings) -> Finding {
    let Some(folder) = &settings.state_folder else {
        return Finding::new("history", Mark::Absent, "there is no folder for it");
    };
    let opened = SqliteStore::open_existing(folder, &SqliteOptions::default()).await;
    let checked = match opened {
        Ok(None) => return Finding::new("history", Mark::Well, "nothing ran yet"),
        Ok(Some(store)) => store.check().await,
        Err(error) => Err(error),
    };
    match checked {
        Ok(faults) if faults.is_empty() => Finding::new("history", Mark::Well, "whole"),
        Ok(faults) => Finding::new("history", Mark::Ill, faults.join("; ")),
        Err(error) => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            Finding::new("history", Mark::Ill, format!("{error}{hint}"))
        }
    }
}

fn manifests(settings: &Settings) -> Vec<Finding> {
    if settings.manifests.is_empty() {
        return vec![Finding::new(
            "manifest",
            Mark::Absent,
            format!("none is named and there is no runbooks.json here; {NO_MANIFEST_HINT}"),
        )];
    }
    settings
        .manifests
        .iter()
        .map(
            |path| match surehand_runbook::validate(path, &Surroundings::of_process()) {
                Ok(report) if report.problems.is_empty() => {
                    Finding::new("manifest", Mark::Well, path.display().to_string())
                }
                Ok(report) => Finding::new(
                    "manifest",
                    Mark::Ill,
                    format!(
                        "{}: {} problem(s) on disk; `surehand validate` names them",
                        path.display(),
                        report.problems.len()
                    ),
                ),
                Err(error) => Finding::new(
                    "manifest",
                    Mark::Ill,
                    error.to_string().lines().next().unwrap_or_default().to_owned(),
                ),
            },
        )
        .collect()
}
