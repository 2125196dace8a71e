//! The stages of loading, one after another.

use std::{io::ErrorKind, path::Path};

use serde_json::Value;

use super::{
    json,
    model::Manifest,
    paths::absolute,
    problem::{ManifestError, Problem, Stage},
    rules,
    shape::shape,
};
use crate::regular_file::{self, FileError};

/// The largest manifest that is read, in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Reads a manifest and checks everything but the files that it names (see [`super::check_files`]).
///
/// # Errors
/// With all problems of the first stage that has any.
pub fn load_manifest(path: &Path) -> Result<Manifest, ManifestError> {
    let path = absolute(path);
    let label = path.display().to_string();
    let text = read(&path).map_err(|cause| {
        ManifestError::message(
            &label,
            Stage::Read,
            format!("cannot read manifest {label}: {cause}"),
        )
    })?;
    parse_manifest(&text, &path)
}

/// As [`load_manifest`], for a text that was read from `path`.
///
/// # Errors
/// With all problems of the first stage that has any.
pub fn parse_manifest(text: &str, path: &Path) -> Result<Manifest, ManifestError> {
    let label = path.display().to_string();
    let document = json::parse(text).map_err(|cause| {
        ManifestError::message(&label, Stage::Json, format!("{label}: not valid JSON — {cause}"))
    })?;
    check(&document, path).map_err(|(stage, problems)| ManifestError::problems(&label, stage, problems))
}

/// All problems of the first stage that has any, for a document that stands in no file. An empty list means
/// that it is a valid manifest.
#[must_use]
pub fn validate_manifest(document: &Value) -> Vec<Problem> {
    check(document, Path::new("/runbooks.json"))
        .err()
        .map(|(_, problems)| problems)
        .unwrap_or_default()
}

fn check(document: &Value, path: &Path) -> Result<Manifest, (Stage, Vec<Problem>)> {
    let shaped = shape(document, path).map_err(|problems| (Stage::Schema, problems))?;
    rules::check(shaped).map_err(|problems| (Stage::Rules, problems))
}

/// The error is in the words that the original uses where it has any.
fn read(path: &Path) -> Result<String, String> {
    // Its folder becomes a part of commands, which are text.
    if path.to_str().is_none() {
        return Err("its path is not valid Unicode".to_owned());
    }
    let shown = path.display();
    let bytes = regular_file::read(path, LARGEST).map_err(|error| match &error {
        FileError::Io(io) if io.kind() == ErrorKind::NotFound => {
            format!("ENOENT: no such file or directory, open '{shown}'")
        }
        FileError::Io(io) if io.kind() == ErrorKind::PermissionDenied => {
            format!("EACCES: permission denied, open '{shown}'")
        }
        FileError::Other(regular_file::FOLDER) => "EISDIR: illegal operation on a directory, read".to_owned(),
        _ => format!("it {error}"),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        format!("it is not valid UTF-8 (line {line}, byte {at})")
    })
}
