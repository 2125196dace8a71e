//! A team's scripts as agent tools.
//!
//! A manifest (`runbooks.json`) declares scripts, each with typed parameters whose every value must fit a
//! pattern, an enumeration or bounds. [`load_manifest`] reads one and finds everything that is wrong with it,
//! [`validate`] shows what agents will get, [`Runbooks`] offers the runbooks as a
//! [`surehand_core::Toolset`], which any transport can serve.
//!
//! This crate must never let a value reach a script that the manifest does not allow, run anything that the
//! manifest does not name, start a process itself (that is `surehand-exec`'s), take longer over a pattern than
//! its budget, or show a secret.

mod argv;
mod environment;
mod execute;
mod listing;
mod manifest;
mod pattern;
mod published;
mod regular_file;
mod script;
mod starter;
mod toolset;
mod values;

pub use argv::{Invocation, Platform, Surroundings, build_invocation};
pub use environment::Environment;
pub use listing::{Report, validate};
pub use manifest::{
    ArrayParam, BooleanParam, Common, Confine, Confirm, InheritEnv, Interpreter, Manifest, ManifestError,
    NumberParam, Param, Params, Problem, Runbook, SecretSource, Stage, StringParam, TextRule, check_files,
    load_manifest, manifest_reference, manifest_schema, parse_manifest, validate_manifest, warnings,
};
pub use pattern::{Budget, Fit, Pattern};
pub use starter::{Started, StarterError, write_starter};
pub use toolset::{LoadError, RunbookOptions, Runbooks, WatchError, Watching};
