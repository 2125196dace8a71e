//! A server under measurement, and a session with it.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Failure, bench::project::Project};

/// A program that serves a manifest over stdio.
pub(crate) struct Server {
    command: Vec<String>,
}

impl Server {
    pub(crate) fn new(command: Vec<String>) -> Self {
        Self { command }
    }

    /// Starts it and shakes hands. Gives the session and the time from start to answer.
    pub(crate) fn open(&self, project: &Project) -> Result<(Session, Duration), Failure> {
        let begun = Instant::now();
        let mut child = Command::new(&self.command[0])
            .args(&self.command[1..])
            .arg("--manifest")
            .arg(project.manifest())
            .env("SUREHAND_STATE_DIR", project.state())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let mut session = Session {
            child,
            input: Some(input),
            output: BufReader::with_capacity(1 << 20, output),
            id: 0,
        };
        session.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "0"}
            }),
        )?;
        let took = begun.elapsed();
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok((session, took))
    }
}

/// A session that ends with its value.
pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Session {
    /// Asks, and gives the text of the answer's line.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<String, Failure> {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}))?;
        let wanted = format!("\"id\":{}", self.id);
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server closed the session".into());
            }
            if line.contains(&wanted) {
                return Ok(line);
            }
        }
    }

    /// Calls a tool, which must succeed.
    pub(crate) fn call(&mut self, tool: &str) -> Result<String, Failure> {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": {}}))?;
        if answer.contains("\"isError\":true") || !answer.contains("\"result\"") {
            return Err(format!(
                "the call failed: {}",
                answer.chars().take(500).collect::<String>()
            )
            .into());
        }
        Ok(answer)
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or("the session is closed")?;
        writeln!(input, "{message}")?;
        Ok(())
    }

    /// The memory in MiB that the server and every process below it hold now, and the server's highest. A page that
    /// several of them share counts once in all (proportional set size, proc(5)).
    pub(crate) fn memory(&self) -> Result<(f64, f64), Failure> {
        let mut sum = 0.0;
        let mut open = vec![self.child.id()];
        while let Some(pid) = open.pop() {
            sum += field(&format!("/proc/{pid}/smaps_rollup"), "Pss")?;
            for task in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                open.extend(
                    children
                        .split_whitespace()
                        .filter_map(|pid| pid.parse::<u32>().ok()),
                );
            }
        }
        Ok((sum, field(&format!("/proc/{}/status", self.child.id()), "VmHWM")?))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.input = None;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A field of a file of `/proc/PID`, in MiB.
fn field(path: &str, name: &str) -> Result<f64, Failure> {
    let text = fs::read_to_string(path)?;
    let kib: f64 = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.split_whitespace().next())
        .ok_or_else(|| format!("no {name} in {path}"))?
        .parse()?;
    Ok(kib / 1024.0)
}
