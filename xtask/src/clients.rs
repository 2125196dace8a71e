//! MCP clients that others wrote, installed for the tests.

use std::{fs, path::PathBuf, process::Command};

use crate::{Failure, paths, process};

/// The Python SDK of each era.
const PYTHON_SDKS: [(&str, &str); 2] = [("python1", "mcp==1.30.0"), ("python2", "mcp==2.3.0")];

/// What was installed, as environment variables for the tests, and what was not.
#[derive(Default)]
pub(crate) struct Clients {
    pub(crate) variables: Vec<(String, PathBuf)>,
    pub(crate) missing: Vec<String>,
}

/// Installs what can be installed here. What is already there is not installed again.
pub(crate) fn prepare() -> Clients {
    let mut clients = Clients::default();
    clients.note("the TypeScript clients (Node and npm)", node());
    for (name, requirement) in PYTHON_SDKS {
        clients.note(
            &format!("the Python client {requirement}"),
            python(name, requirement),
        );
    }
    clients
}

impl Clients {
    fn note(&mut self, what: &str, installed: Result<(String, PathBuf), Failure>) {
        match installed {
            Ok(variable) => self.variables.push(variable),
            Err(failure) => self.missing.push(format!("{what}: {failure}")),
        }
    }
}

fn node() -> Result<(String, PathBuf), Failure> {
    if !process::is_there("node") || !process::is_there("npm") {
        return Err("not on this machine".into());
    }
    let folder = paths::tools().join("node");
    let source = paths::root().join("xtask/clients/node");
    let lock = fs::read(source.join("package-lock.json"))?;
    let mark = folder.join("installed");
    if fs::read(&mark).ok().as_ref() != Some(&lock) {
        fs::create_dir_all(&folder)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), folder.join(file))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
        process::output(npm.current_dir(&folder))?;
        fs::write(mark, lock)?;
    }
    Ok((
        "SUREHAND_TEST_NODE_MODULES".to_owned(),
        folder.join("node_modules"),
    ))
}

fn python(name: &str, requirement: &str) -> Result<(String, PathBuf), Failure> {
    if !process::is_there("python3") {
        return Err("not on this machine".into());
    }
    let folder = paths::tools().join(name);
    let mark = folder.join("installed");
    let python = folder.join("bin/python");
    if fs::read_to_string(&mark).ok().as_deref() != Some(requirement) {
        process::output(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        )?;
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            requirement,
        ]);
        process::output(&mut pip)?;
        fs::write(mark, requirement)?;
    }
    Ok((format!("SUREHAND_TEST_{}", name.to_uppercase()), python))
}
