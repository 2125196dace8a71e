//! Standard input and output for real: this program starts itself as the server that it then talks to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, ExitCode, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use surehand_core::{Answer, Call, CallError, Ctx, ListError, Listing, Offers, Outcome, Prepared, Toolset};
use surehand_mcp::{ServeOptions, serve_stdio};

const SERVE: &str = "SUREHAND_MCP_TEST_SERVE";

/// A tool that takes its time and says on standard error when it was cancelled.
struct Slow;

#[async_trait]
impl Toolset for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn offers(&self) -> Offers {
        Offers { tools: true }
    }

    async fn list(&self, _: &Ctx, _: Option<&str>) -> Result<Listing, ListError> {
        Ok(Listing::default())
    }

    async fn prepare(&self, _: &Ctx, _: Call) -> Result<Prepared, CallError> {
        Err(CallError::Unavailable("no plan".to_owned()))
    }

    async fn call(&self, cx: &Ctx, call: Call) -> Result<Answer, CallError> {
        let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64).unwrap_or(0);
        let wait = Duration::from_millis(number("ms"));
        tokio::select! {
            () = tokio::time::sleep(wait) => {
                let bytes = usize::try_from(number("bytes")).unwrap_or(0);
                Ok(Answer::Done(Outcome::text("x".repeat(bytes))))
            }
            () = cx.cancel.cancelled() => {
                eprintln!("cancelled");
                Err(CallError::Cancelled)
            }
        }
    }
}

fn serve() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let options = ServeOptions::new("slow", "0", "ann");
    match runtime.block_on(serve_stdio(Arc::new(Slow), options)) {
        Ok(ended) => {
            eprintln!("{ended:?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .env(SERVE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn call(id: i64, arguments: &Value) -> String {
    let params = json!({"name": "slow", "arguments": arguments});
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    )
}

/// The exit code and what was said on standard error, in time.
fn wait(mut child: Child, limit: Duration) -> (Option<i32>, String) {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            return (status.code(), said);
        }
        if begun.elapsed() > limit {
            child.kill().unwrap();
            panic!("still running after {limit:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn piped_lines_are_answered_before_the_end() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    for id in 0..20 {
        input.write_all(call(id, &json!({"ms": 200})).as_bytes()).unwrap();
    }
    input
        .write_all(br#"{"jsonrpc":"2.0","id":99,"method":"ping"}"#)
        .unwrap();
    drop(input);
    let answers = BufReader::new(child.stdout.take().unwrap()).lines().count();
    let (code, said) = wait(child, Duration::from_secs(2));
    assert_eq!((answers, code, said.as_str()), (21, Some(0), "Closed\n"));
}

fn a_client_that_only_closes_our_input_ends_us_within_two_seconds() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(call(1, &json!({"ms": 60_000})).as_bytes())
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(input);
    let begun = Instant::now();
    let output = child.stdout.take().unwrap();
    let (code, said) = wait(child, Duration::from_secs(2));
    assert!(begun.elapsed() > Duration::from_secs(1), "a grace was given");
    assert_eq!((code, said.as_str()), (Some(0), "cancelled\nClosed\n"));
    assert_eq!(
        BufReader::new(output).lines().count(),
        1,
        "and the call was answered"
    );
}

fn a_client_that_is_gone_ends_its_calls_at_once() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(call(1, &json!({"ms": 60_000})).as_bytes())
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(child.stdout.take());
    drop(input);
    let begun = Instant::now();
    let (code, said) = wait(child, Duration::from_secs(2));
    assert_eq!(code, Some(0));
    assert!(said.contains("cancelled"), "{said}");
    if cfg!(unix) {
        assert!(
            begun.elapsed() < Duration::from_millis(800),
            "{:?}",
            begun.elapsed()
        );
        assert!(said.ends_with("Gone\n"), "{said}");
    }
}

fn a_client_that_stops_reading_is_noticed_at_the_next_answer() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    input
        .write_all(call(1, &json!({"ms": 60_000})).as_bytes())
        .unwrap();
    input.write_all(call(2, &json!({})).as_bytes()).unwrap();
    let (code, said) = wait(child, Duration::from_secs(2));
    assert_eq!((code, said.as_str()), (Some(0), "cancelled\nGone\n"));
}

fn large_answers_to_a_slow_reader_arrive_whole() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    for id in 0..10 {
        input
            .write_all(call(id, &json!({"bytes": 3_000_000})).as_bytes())
            .unwrap();
    }
    let mut output = BufReader::new(child.stdout.take().unwrap());
    thread::sleep(Duration::from_millis(300));
    for _ in 0..10 {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            answer["result"]["content"][0]["text"].as_str().unwrap().len(),
            3_000_000
        );
    }
    drop(input);
    assert_eq!(wait(child, Duration::from_secs(2)).0, Some(0));
}

#[cfg(unix)]
fn streams_that_others_made_non_blocking_work() {
    use std::os::{fd::AsFd, unix::net::UnixStream};

    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .env(SERVE, "1")
        .stdin(theirs.as_fd().try_clone_to_owned().unwrap())
        .stdout(theirs.as_fd().try_clone_to_owned().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(theirs);
    let mut input = ours.try_clone().unwrap();
    let mut output = BufReader::new(ours);
    for id in 0..3 {
        thread::sleep(Duration::from_millis(50));
        input
            .write_all(call(id, &json!({"bytes": 3_000_000})).as_bytes())
            .unwrap();
        thread::sleep(Duration::from_millis(50));
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.len() > 3_000_000);
    }
    input.shutdown(std::net::Shutdown::Write).unwrap();
    let (code, said) = wait(child, Duration::from_secs(2));
    assert_eq!((code, said.as_str()), (Some(0), "Closed\n"));
}

fn main() -> ExitCode {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    let tests: &[(&str, fn())] = &[
        (
            "piped_lines_are_answered_before_the_end",
            piped_lines_are_answered_before_the_end,
        ),
        (
            "a_client_that_only_closes_our_input_ends_us_within_two_seconds",
            a_client_that_only_closes_our_input_ends_us_within_two_seconds,
        ),
        (
            "a_client_that_is_gone_ends_its_calls_at_once",
            a_client_that_is_gone_ends_its_calls_at_once,
        ),
        (
            "a_client_that_stops_reading_is_noticed_at_the_next_answer",
            a_client_that_stops_reading_is_noticed_at_the_next_answer,
        ),
        (
            "large_answers_to_a_slow_reader_arrive_whole",
            large_answers_to_a_slow_reader_arrive_whole,
        ),
        #[cfg(unix)]
        (
            "streams_that_others_made_non_blocking_work",
            streams_that_others_made_non_blocking_work,
        ),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}
