//! Folders with runbooks to measure on.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Failure;

/// A folder with a manifest of so many runbooks `t0`, `t1`, ..., all of one `sh` script.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new(runbooks: usize, script: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("t.sh"), script)?;
        let runbooks: Vec<Value> = (0..runbooks).map(runbook).collect();
        let manifest = json!({"version": 1, "runbooks": runbooks});
        fs::write(
            folder.path().join("runbooks.json"),
            serde_json::to_string(&manifest)?,
        )?;
        Ok(Self { folder })
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.path().join("runbooks.json")
    }

    pub(crate) fn script(&self) -> PathBuf {
        self.folder.path().join("t.sh")
    }

    /// A state folder of its own, so that the benchmark leaves no history.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }
}

/// A runbook with a parameter of each type, as they are in real manifests.
fn runbook(number: usize) -> Value {
    json!({
        "name": format!("t{number}"),
        "description": "Does a thing that is described in a sentence or two, as runbooks are.",
        "script": "t.sh",
        "interpreter": "sh",
        "params": {
            "a": {"type": "string", "flag": "-a", "pattern": "^[a-z]+$", "description": "A name."},
            "b": {"type": "boolean", "flag": "-b"},
            "c": {"type": "number", "flag": "-c", "minimum": 1},
            "d": {"type": "array", "flag": "-d", "enum": ["x", "y"]}
        }
    })
}
