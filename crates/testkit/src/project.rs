//! A folder of its own for one test.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Ran, Session};

/// A folder with a manifest and scripts, and a state folder that nobody shares.
pub struct Project {
    program: PathBuf,
    home: TempDir,
}

impl Project {
    /// An empty one, for runs of this program.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let home = tempfile::tempdir().expect("a folder can be made");
        let project = Self {
            program: program.into(),
            home,
        };
        fs::create_dir(project.folder()).expect("a folder can be made");
        project
    }

    /// Where the manifest is and where commands are run.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Where history and locks are.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// A file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a file, its folders included.
    #[must_use]
    pub fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
        self
    }

    /// Writes `runbooks.json` with these runbooks.
    #[must_use]
    pub fn runbooks(self, runbooks: &Value) -> Self {
        let manifest = json!({"version": 1, "runbooks": runbooks});
        self.file("runbooks.json", &manifest.to_string())
    }

    /// One runbook `name` that runs this text with `sh`, with other keys as given.
    #[must_use]
    pub fn runbook(self, name: &str, script: &str, keys: Value) -> Self {
        let mut runbook = json!({
            "name": name,
            "description": "For a test.",
            "script": format!("{name}.sh"),
            "interpreter": "sh",
        });
        if let (Some(runbook), Value::Object(keys)) = (runbook.as_object_mut(), keys) {
            runbook.extend(keys);
        }
        let written = fs::read_to_string(self.path("runbooks.json"))
            .ok()
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .and_then(|manifest| manifest["runbooks"].as_array().cloned());
        let mut runbooks = written.unwrap_or_default();
        runbooks.push(runbook);
        self.file(&format!("{name}.sh"), script)
            .runbooks(&Value::Array(runbooks))
    }

    /// The program with these words, to be run.
    #[must_use]
    pub fn run<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Invocation {
        Invocation {
            command: self.command(words),
            stdin: Vec::new(),
            names: self.names(),
        }
    }

    /// The program as an MCP server, with a client.
    #[must_use]
    pub fn serve<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Session {
        Session::start(self.command(words), self.names())
    }

    /// The program on a terminal.
    #[cfg(unix)]
    #[must_use]
    pub fn on_a_terminal<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> crate::Terminal {
        self.on_a_terminal_of(80, words)
    }

    /// The program on a terminal with so many columns.
    #[cfg(unix)]
    #[must_use]
    pub fn on_a_terminal_of<'w>(
        &self,
        columns: u16,
        words: impl IntoIterator<Item = &'w str>,
    ) -> crate::Terminal {
        crate::Terminal::start(self.command(words), self.names(), columns)
    }

    /// In the folder, with an environment that does not depend on who runs the test.
    fn command<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TZ", "UTC")
            .env("SUREHAND_USER", "ada")
            .env("SUREHAND_STATE_DIR", self.state());
        command
    }

    /// What is called by another name in expected texts.
    fn names(&self) -> Vec<(String, &'static str)> {
        let text = |path: &Path| path.display().to_string();
        vec![(text(&self.folder()), "{DIR}"), (text(&self.state()), "{STATE}")]
    }
}

/// One run of the program.
pub struct Invocation {
    command: Command,
    stdin: Vec<u8>,
    names: Vec<(String, &'static str)>,
}

impl Invocation {
    /// With this variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Without this variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// With this on standard input.
    #[must_use]
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Runs it to its end with nobody reading its standard output.
    pub fn to_a_reader_that_leaves(mut self) -> Ran {
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        Ran::new(&output, &self.names)
    }

    /// Runs it to its end.
    pub fn go(mut self) -> Ran {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = self.stdin;
        // A program that ends without reading breaks the pipe, which is not the test's business.
        let feeder = thread::spawn(move || stdin.write_all(&input).ok());
        let output = child.wait_with_output().expect("the program ends");
        feeder.join().expect("the input was written");
        Ran::new(&output, &self.names)
    }
}
