//! What came of a run of the program.

use std::process::Output;

use regex::Regex;

/// The end of a run: exit code and output, with what differs from run to run called by a name: folders
/// (`{DIR}`, `{STATE}`), times taken (`{T}`), run ids (`{RUN}`).
#[derive(Debug)]
pub struct Ran {
    /// The exit code; None where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Standard output as it was.
    pub raw_stdout: String,
}

impl Ran {
    pub(crate) fn new(output: &Output, names: &[(String, &'static str)]) -> Self {
        let raw_stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Self {
            code: output.status.code(),
            stdout: named(&raw_stdout, names),
            stderr: named(&String::from_utf8_lossy(&output.stderr), names),
            raw_stdout,
        }
    }

    /// It ended with this code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// This, and nothing else, is on standard output.
    pub fn prints(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "{self:#?}");
        self
    }

    /// This, and nothing else, is on standard error.
    pub fn says(self, text: &str) -> Self {
        assert_eq!(self.stderr, text, "{self:#?}");
        self
    }

    /// Standard output as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.raw_stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// `text` with what differs from run to run called by its name.
pub(crate) fn named(text: &str, names: &[(String, &'static str)]) -> String {
    let mut text = text.to_owned();
    for (value, name) in names {
        text = text.replace(value, name);
    }
    for (pattern, name) in [
        (r"\(\d+\.\d+s\)", "({T})"),
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "{RUN}",
        ),
    ] {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, name).into_owned();
    }
    text
}
