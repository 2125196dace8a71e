//! From a file to a manifest that can be served.

mod fields;
mod files;
mod hints;
mod json;
mod load;
mod model;
mod params;
mod paths;
mod problem;
mod rules;
mod schema;
mod shape;
mod shape_params;
mod warnings;

#[cfg(test)]
mod tests;

pub use files::check_files;
pub use load::{load_manifest, parse_manifest, validate_manifest};
pub use model::{Confine, Confirm, InheritEnv, Interpreter, Manifest, Runbook, SecretSource};
pub use params::{ArrayParam, BooleanParam, Common, NumberParam, Param, Params, StringParam, TextRule};
pub use problem::{ManifestError, Problem, Stage};
pub use schema::{manifest_reference, manifest_schema};
pub use warnings::warnings;

pub(crate) use files::{contained, granted, script_mismatch};
pub(crate) use load::LARGEST as LARGEST_MANIFEST;
pub(crate) use paths::{absolute, relative, resolve};
pub(crate) use rules::{CONFIRM_TOKEN, DRY_RUN, is_reserved, obstacles};
