//! Measures `echo_server` over pipes, as a client meets it: the start, a call, a list of a thousand tools.
//!
//! ```sh
//! cargo build --release --example echo_server && cargo run --release --example roundtrip
//! ```

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"roundtrip","version":"0"}}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const MODERN_LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(program: &Path, tools: &str) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(program)
            .arg(tools)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no output")?);
        Ok(Self {
            child,
            input,
            output,
            line: String::new(),
        })
    }

    /// Sends a line and reads one; how long that took.
    fn ask(&mut self, line: &str) -> Result<Duration, Box<dyn Error>> {
        let begun = Instant::now();
        self.input.write_all(line.as_bytes())?;
        self.input.write_all(b"\n")?;
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        let took = begun.elapsed();
        if !self.line.contains(r#""result""#) {
            return Err(format!("no result: {}", self.line).into());
        }
        Ok(took)
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.input);
        let mut child = self.child;
        child.wait()?;
        Ok(())
    }
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!(
        "{what}: p50 {:.3} ms, p99 {:.3} ms ({} times)",
        at(50),
        at(99),
        times.len()
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?.with_file_name("echo_server");
    let mut times = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        let mut server = Server::start(&program, "0")?;
        server.ask(INITIALIZE)?;
        times.push(begun.elapsed());
        server.end()?;
    }
    report("start to the answer of initialize", times);

    let mut server = Server::start(&program, "0")?;
    server.ask(INITIALIZE)?;
    for _ in 0..200 {
        server.ask(CALL)?;
    }
    report(
        "tools/call",
        (0..5000).map(|_| server.ask(CALL)).collect::<Result<_, _>>()?,
    );
    server.end()?;

    let mut server = Server::start(&program, "999")?;
    server.ask(INITIALIZE)?;
    let first = server.ask(LIST)?;
    println!(
        "tools/list of 1,000 tools, {} bytes: first {:.3} ms",
        server.line.len(),
        first.as_secs_f64() * 1e3
    );
    report(
        "tools/list, again",
        (0..300).map(|_| server.ask(LIST)).collect::<Result<_, _>>()?,
    );
    report(
        "tools/list, again, 2026-07-28",
        (0..300)
            .map(|_| server.ask(MODERN_LIST))
            .collect::<Result<_, _>>()?,
    );
    server.end()
}
