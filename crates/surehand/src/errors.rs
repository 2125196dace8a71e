//! The one place where an error becomes words for a person, a hint and an exit code.

use std::{fmt, io, path::PathBuf, process::ExitCode};

use anstyle::{AnsiColor, Style};
use surehand_core::CallError;
use surehand_host::BuildError;
use surehand_runbook::{LoadError, ManifestError, StarterError};
use surehand_store::StoreError;

use crate::{config::DEFAULT_MANIFEST, term::say};

/// What to do where no manifest was found.
pub(crate) const NO_MANIFEST_HINT: &str =
    "`surehand init` writes a starter manifest; --manifest PATH names one elsewhere";

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// What was asked for was done.
    Done = 0,
    /// The called thing failed.
    Failed = 1,
    /// Usage, or invalid input.
    Usage = 2,
    /// Policy or a missing confirmation kept it from running.
    Refused = 3,
    /// Surehand itself failed.
    Internal = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Everything that can go wrong at the command line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line does not make sense; clap says why.
    #[error("{0}")]
    Clap(#[from] clap::Error),
    /// A word that is no command.
    #[error("Unknown command: {word}")]
    UnknownCommand {
        word: String,
        /// The commands before it, each with a space behind; empty where it is the first.
        within: String,
        nearest: Option<String>,
    },
    /// `--manifest` without a value.
    #[error("--manifest needs a path")]
    ManifestNeedsPath,
    /// Anything else that the person has to put right.
    #[error("{message}")]
    Usage { message: String, hint: Option<String> },
    /// The manifest cannot be loaded.
    #[error("{}", .0.format())]
    Manifest(#[from] ManifestError),
    /// None was named and there is none here.
    #[error("{}", .0.format())]
    NoManifest(ManifestError),
    /// The same, for what calls and lists.
    #[error("there is no {DEFAULT_MANIFEST} in {}", .0.display())]
    NothingHere(PathBuf),
    /// Some of the manifests cannot be loaded, or not together.
    #[error(transparent)]
    Manifests(#[from] LoadError),
    /// The starter cannot be written.
    #[error(transparent)]
    Starter(#[from] StarterError),
    /// The tools do not make a list.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The call was not carried out.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The history cannot be read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no history to look into.
    #[error("there is no folder for the history: neither SUREHAND_STATE_DIR nor HOME is set")]
    NoStateFolder,
    /// Policy says no.
    #[error("not allowed: {0}")]
    Denied(String),
    /// The reader of our output went away.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A file or folder of ours.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Surehand itself failed.
    #[error("internal error: {0}")]
    Internal(String),
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn usage_with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Clap(_)
            | Self::UnknownCommand { .. }
            | Self::ManifestNeedsPath
            | Self::Usage { .. }
            | Self::Manifest(_)
            | Self::NoManifest(_)
            | Self::NothingHere(_)
            | Self::Manifests(_)
            | Self::Starter(StarterError::Exists(_))
            | Self::Build(BuildError::Table(_))
            | Self::NoStateFolder
            | Self::Call(CallError::UnknownTool { .. } | CallError::Refused(_)) => Exit::Usage,
            Self::Call(CallError::Unavailable(_) | CallError::Cancelled) => Exit::Failed,
            Self::Call(CallError::Denied { .. }) | Self::Denied(_) => Exit::Refused,
            // Without a fault of its own, the store was asked for something that does not exist.
            Self::Store(error) if error.fault().is_none() => Exit::Usage,
            Self::Build(_)
            | Self::Call(CallError::Internal(_))
            | Self::Store(_)
            | Self::Output(_)
            | Self::File { .. }
            | Self::Starter(_)
            | Self::Internal(_) => Exit::Internal,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownCommand { within, nearest, .. } => {
                let asked = nearest
                    .as_ref()
                    .map(|nearest| format!("did you mean `{within}{nearest}`? "))
                    .unwrap_or_default();
                Some(format!("{asked}`surehand {within}--help` lists all commands"))
            }
            Self::Usage { hint, .. } => hint.clone(),
            Self::Call(CallError::UnknownTool { .. }) => {
                Some("`surehand tools` shows what can be called".to_owned())
            }
            Self::NoManifest(_) | Self::NothingHere(_) => Some(NO_MANIFEST_HINT.to_owned()),
            Self::Store(error) => error.hint(),
            Self::NoStateFolder => Some("set SUREHAND_STATE_DIR to a folder of your own".to_owned()),
            _ => None,
        }
    }

    /// Says it on standard error, and how the program ends.
    pub(crate) fn report(self) -> ExitCode {
        match &self {
            // clap knows its colours, and that help is no error.
            Self::Clap(error) => {
                // Whoever reads the help may have seen enough of it.
                let _ = error.print();
                return if error.use_stderr() {
                    Exit::Usage
                } else {
                    Exit::Done
                }
                .into();
            }
            // Whoever read us has seen enough; as with `| head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Done.into(),
            // Word for word as scripts and editors know them.
            Self::Manifest(_) | Self::NoManifest(_) | Self::Manifests(_) => say(&self),
            Self::ManifestNeedsPath => say(format_args!("surehand: {self}")),
            _ => say(labelled("error", AnsiColor::Red, &self)),
        }
        if let Some(hint) = self.hint() {
            hint_line(&hint);
        }
        self.exit().into()
    }
}

/// Something that is not well and stops nothing.
pub(crate) fn warn(message: impl fmt::Display) {
    say(labelled("warning", AnsiColor::Yellow, &message));
}

/// What to do about what was said before.
pub(crate) fn hint_line(hint: &str) {
    say(labelled("hint", AnsiColor::Cyan, &hint));
}

fn labelled(label: &str, colour: AnsiColor, message: &dyn fmt::Display) -> String {
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{style}{label}:{style:#} {message}")
}

#[cfg(test)]
mod tests {
    use surehand_core::{CallError, Refusal};

    use super::{CliError, Exit};

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        let refusal = Refusal::new("deploy", "to is required");
        for (error, exit) in [
            (CliError::ManifestNeedsPath, Exit::Usage),
            (CliError::usage("no"), Exit::Usage),
            (CliError::Call(refusal.into()), Exit::Usage),
            (
                CliError::Call(CallError::Denied {
                    reason: "no".to_owned(),
                }),
                Exit::Refused,
            ),
            (
                CliError::Call(CallError::Unavailable("no".to_owned())),
                Exit::Failed,
            ),
            (
                CliError::Call(CallError::Internal("no".to_owned())),
                Exit::Internal,
            ),
            (CliError::Denied("no".to_owned()), Exit::Refused),
        ] {
            assert_eq!(error.exit(), exit, "{error}");
        }
    }
}
