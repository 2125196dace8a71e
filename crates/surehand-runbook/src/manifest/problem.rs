//! What is wrong with a manifest.

use std::fmt::{self, Write as _};

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: a dotted path from the root (`runbooks.3.params.a.flag`) while the shape is checked, a runbook
    /// and what belongs to it (`sync.params.a`) afterwards.
    pub location: String,
    /// What.
    pub message: String,
}

impl Problem {
    /// A problem.
    #[must_use]
    pub fn new(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            location: location.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

/// How far loading came. All problems of one stage are reported together; stages do not mix, because the
/// problems of a later one would mostly be echoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reading the file.
    Read,
    /// Understanding it as JSON.
    Json,
    /// The shape: keys, types, bounds.
    Schema,
    /// The rules between keys.
    Rules,
    /// Scripts and folders on disk.
    Files,
}

/// A manifest that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.format())]
pub struct ManifestError {
    /// The manifest, as people know it: mostly its path.
    pub label: String,
    /// Where loading stopped.
    pub stage: Stage,
    /// The message of the first two stages, whose problem has no location inside the manifest.
    pub message: Option<String>,
    /// All problems of the stage.
    pub problems: Vec<Problem>,
}

impl ManifestError {
    pub(crate) fn message(label: &str, stage: Stage, message: String) -> Self {
        Self {
            label: label.to_owned(),
            stage,
            message: Some(message),
            problems: Vec::new(),
        }
    }

    pub(crate) fn problems(label: &str, stage: Stage, problems: Vec<Problem>) -> Self {
        Self {
            label: label.to_owned(),
            stage,
            message: None,
            problems,
        }
    }

    /// The error for people: one line, then one for each problem.
    #[must_use]
    pub fn format(&self) -> String {
        let label = &self.label;
        let mut text = match (&self.message, self.stage) {
            (Some(message), _) => message.clone(),
            (None, Stage::Files) => format!("{label}: refusing to start"),
            (None, _) => format!("{label}: invalid manifest"),
        };
        for problem in &self.problems {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  - {problem}");
        }
        text
    }
}
