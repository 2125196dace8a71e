//! The Node original, for comparison, where npm can bring it.

use std::{fs, process::Command};

use crate::{Failure, bench::session::Server, paths, process};

const PACKAGE: &str = "@systemdox/runbook-mcp@0.1.3";

/// Installs it. Says so and gives None where that is not possible.
pub(crate) fn install() -> Option<Server> {
    match try_install() {
        Ok(server) => Some(server),
        Err(failure) => {
            println!("without the Node original: {failure}");
            None
        }
    }
}

fn try_install() -> Result<Server, Failure> {
    let folder = paths::tools().join("peer");
    let program = folder.join("node_modules/@systemdox/runbook-mcp/dist/cli.js");
    if !program.exists() {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            PACKAGE,
        ]);
        process::output(npm.current_dir(&folder))?;
    }
    Ok(Server::new(vec![
        "node".to_owned(),
        program.display().to_string(),
    ]))
}
