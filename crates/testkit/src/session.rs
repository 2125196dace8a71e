//! A small MCP client that drives the program over pipes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::Ran;

/// How long an answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server and its client.
pub struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    names: Vec<(String, &'static str)>,
    kept: Vec<Value>,
    last_id: i64,
}

impl Session {
    pub(crate) fn start(mut command: Command, names: Vec<(String, &'static str)>) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = child.stderr.take().expect("a pipe");
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("{error} in what the server wrote: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut all = Vec::new();
            stderr.read_to_end(&mut all).expect("a pipe can be read");
            all
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            stderr: Some(stderr),
            names,
            kept: Vec::new(),
            last_id: 0,
        }
    }

    /// The server's process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Opens the session as a client of revision 2025-11-25.
    #[must_use]
    pub fn initialized(mut self) -> Self {
        let opening = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "testkit", "version": "0"},
        });
        let answer = self.request("initialize", &opening);
        assert!(answer.get("result").is_some(), "{answer}");
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    /// Sends a request and gives its id.
    pub fn send(&mut self, method: &str, params: &Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a call of a tool and gives its id.
    pub fn send_call(&mut self, tool: &str, arguments: &Value) -> i64 {
        self.send("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: i64) -> Value {
        self.wait_for(|message| message.get("id") == Some(&json!(id)) && message.get("method").is_none())
            .unwrap_or_else(|| panic!("no answer to {id}; there were {:?}", self.kept))
    }

    /// Whether a request was answered so far.
    pub fn is_answered(&mut self, id: i64) -> bool {
        self.kept.extend(self.messages.try_iter());
        self.kept
            .iter()
            .any(|message| message.get("id") == Some(&json!(id)) && message.get("method").is_none())
    }

    /// Answers a request of the server.
    pub fn respond(&mut self, id: &Value, result: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Answers a request of the server with an error.
    pub fn respond_with_error(&mut self, id: &Value, code: i64, message: &str) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    /// Waits for a notification, or a request, of the server.
    pub fn notified(&mut self, method: &str) -> Value {
        self.wait_for(|message| message.get("method") == Some(&json!(method)))
            .unwrap_or_else(|| panic!("no {method}; there were {:?}", self.kept))
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool and waits for its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.answer(id)["result"].clone()
    }

    fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return Some(self.kept.remove(at));
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) if wanted(&message) => return Some(message),
                Ok(message) => self.kept.push(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("the session is open");
        writeln!(stdin, "{message}").expect("the server reads");
    }

    /// Closes the client's end and waits for the server to end.
    pub fn close(mut self) -> Ran {
        self.stdin = None;
        self.ended()
    }

    /// Waits for the server to end by itself.
    pub fn ended(mut self) -> Ran {
        let status = crate::until(PATIENCE, || {
            self.child.try_wait().expect("a child can be waited for")
        })
        .expect("the server ends");
        let stderr = self.stderr.take().expect("only taken here").join();
        let output = Output {
            status,
            stdout: Vec::new(),
            stderr: stderr.expect("standard error was read"),
        };
        Ran::new(&output, &self.names)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
