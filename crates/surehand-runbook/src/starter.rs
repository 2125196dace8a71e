//! The files that `init` writes.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::manifest::absolute;

const SCRIPT: &str = r#"#!/bin/sh
# Says hello. The manifest beside this folder decides which arguments an agent may send.
set -eu

name=world
shout=no

while [ $# -gt 0 ]; do
  case $1 in
    --name) name=$2; shift 2 ;;
    --shout) shout=yes; shift ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
  esac
done

greeting="Hello, $name!"
if [ "$shout" = yes ]; then
  greeting=$(printf '%s' "$greeting" | tr '[:lower:]' '[:upper:]')
fi
printf '%s\n' "$greeting"
"#;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The manifest.
    pub manifest: PathBuf,
    /// The script.
    pub script: PathBuf,
    /// The script was there before and is as it was.
    pub script_kept: bool,
    /// What to do next, for people.
    pub next_steps: String,
}

/// Why the starter could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StarterError {
    /// There is a manifest already.
    #[error("{} already exists — not overwriting it.", .0.display())]
    Exists(PathBuf),
    /// A folder or file could not be made.
    #[error("cannot write {}: {cause}", .path.display())]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
}

/// Writes a manifest to `path` and a script to `runbooks/hello.sh` beside it. Overwrites nothing.
///
/// # Errors
/// When there is a manifest already, or a file cannot be written.
pub fn write_starter(path: &Path) -> Result<Started, StarterError> {
    let manifest = absolute(path);
    if manifest.symlink_metadata().is_ok() {
        return Err(StarterError::Exists(manifest));
    }
    let folder = manifest.parent().unwrap_or(Path::new("/")).join("runbooks");
    let script = folder.join("hello.sh");
    std::fs::create_dir_all(&folder).map_err(|cause| StarterError::Write {
        path: folder.clone(),
        cause,
    })?;
    let script_kept = match write_new(&script, SCRIPT) {
        Ok(()) => false,
        Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => true,
        Err(cause) => return Err(StarterError::Write { path: script, cause }),
    };
    write_new(&manifest, &manifest_text()).map_err(|cause| {
        if cause.kind() == std::io::ErrorKind::AlreadyExists {
            StarterError::Exists(manifest.clone())
        } else {
            StarterError::Write {
                path: manifest.clone(),
                cause,
            }
        }
    })?;
    Ok(Started {
        next_steps: next_steps(&manifest),
        manifest,
        script,
        script_kept,
    })
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?
        .write_all(text.as_bytes())
}

fn manifest_text() -> String {
    let manifest = json!({
        "version": 1,
        "runbooks": [{
            "name": "hello",
            "description": "Says hello. Use it to check that runbooks work.",
            "script": "runbooks/hello.sh",
            "interpreter": "sh",
            "readOnly": true,
            "idempotent": true,
            "params": {
                "name": {
                    "type": "string",
                    "flag": "--name",
                    "pattern": "^[A-Za-z][A-Za-z0-9 _-]{0,40}$",
                    "default": "world",
                    "description": "Whom to greet."
                },
                "shout": {
                    "type": "boolean",
                    "flag": "--shout",
                    "description": "In capital letters."
                }
            }
        }]
    });
    format!("{manifest:#}\n")
}

fn next_steps(manifest: &Path) -> String {
    let client = json!({
        "mcpServers": {
            "runbooks": {
                "command": "surehand",
                "args": ["--manifest", manifest.display().to_string()]
            }
        }
    });
    format!(
        "Next:\n  1. Look at what agents will get:\n       surehand validate --manifest {path}\n  2. Call it as an \
         agent would:\n       surehand call hello name=team --manifest {path}\n  3. Tell your MCP client, for \
         example in .mcp.json:\n{client:#}\n",
        path = crate::argv::line(&[manifest.display().to_string()], false),
    )
}

#[cfg(test)]
mod tests {
    use super::{StarterError, write_starter};
    use crate::{Surroundings, validate};

    #[test]
    fn writes_a_manifest_that_is_valid_and_warns_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/deep/runbooks.json");
        let started = write_starter(&path).unwrap();
        assert!(started.next_steps.contains(path.to_str().unwrap()));
        let report = validate(&path, &Surroundings::of_process()).unwrap();
        assert_eq!(report.problems, []);
        assert_eq!(report.warnings, []);
        assert!(
            report
                .listing
                .contains("hello  [sh, read-only]  runbooks/hello.sh")
        );
    }

    #[test]
    fn overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runbooks.json");
        std::fs::create_dir(folder.path().join("runbooks")).unwrap();
        let script = folder.path().join("runbooks/hello.sh");
        std::fs::write(&script, "mine").unwrap();
        assert!(write_starter(&path).unwrap().script_kept);
        assert_eq!(std::fs::read_to_string(&script).unwrap(), "mine");
        let before = std::fs::read(&path).unwrap();
        let error = write_starter(&path).unwrap_err();
        assert!(matches!(error, StarterError::Exists(_)));
        assert!(
            error
                .to_string()
                .ends_with("already exists — not overwriting it.")
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn says_which_file_it_could_not_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = write_starter(&file.join("runbooks.json")).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
    }
}
