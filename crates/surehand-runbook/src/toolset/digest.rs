//! What a confirmation is bound to.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::identity::Identity;
use crate::{argv::Invocation, environment::Environment, manifest::Runbook};

/// SHA-256 over all that decides what a call does: tool, command, working directory, timeout, the variables
/// that the manifest sets (secrets by where they come from, so that nobody can guess at their values), `PATH`,
/// the confinement, and which script it is.
pub(super) fn digest(
    runbook: &Runbook,
    invocation: &Invocation,
    server: &Environment,
    script: &Identity,
) -> String {
    let sources: Vec<(&str, String)> = runbook
        .env_from
        .iter()
        .map(|(variable, source)| (variable.as_str(), source.to_string()))
        .collect();
    let confine = runbook
        .confine
        .as_ref()
        .map(|confine| json!([confine.read, confine.write, confine.network]));
    let all = json!([
        "runbook/1",
        invocation.tool,
        invocation.command,
        invocation.cwd,
        invocation.timeout.as_secs(),
        runbook.env,
        sources,
        server.get("PATH").map(|path| path.to_string_lossy()),
        confine,
        script.to_json(),
    ]);
    hex::encode(Sha256::digest(all.to_string()))
}
