//! A toolset to serve and a client to serve it to.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use surehand_core::{
    Answer, Call, CallError, Change, Content, Ctx, Effects, InputAnswer, InputRequest, ListError, Listing,
    Offers, Outcome, Prepared, Progress, ProgressSink, Refusal, Tool, Toolset,
};
use surehand_mcp::{Ended, ServeError, ServeOptions, serve};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::broadcast,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Tools that do what their names say.
pub(crate) struct Fake {
    pub(crate) started: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) listed: AtomicUsize,
    pub(crate) tools: AtomicUsize,
    pub(crate) offers: Offers,
    /// The sink of the last call of `progress`, kept beyond its end.
    pub(crate) sink: Mutex<Option<ProgressSink>>,
    pub(crate) changes: Option<broadcast::Sender<Change>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            started: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            listed: AtomicUsize::new(0),
            tools: AtomicUsize::new(1),
            offers: Offers { tools: true },
            sink: Mutex::new(None),
            changes: Some(broadcast::channel(16).0),
        }
    }
}

pub(crate) fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: Some(format!("The {name}")),
        description: "Does it.".to_owned(),
        input_schema: Arc::new(map(json!({"type": "object", "x-kept": [1]}))),
        output_schema: None,
        effects: Effects {
            read_only: true,
            ..Effects::default()
        },
        toolset: "fake".to_owned(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "every arm of the match is a result")]
fn done(text: impl Into<String>) -> Result<Answer, CallError> {
    Ok(Answer::Done(Outcome::text(text)))
}

#[async_trait]
impl Toolset for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn offers(&self) -> Offers {
        self.offers
    }

    fn instructions(&self) -> Option<String> {
        Some("Use with care.".to_owned())
    }

    async fn list(&self, _: &Ctx, cursor: Option<&str>) -> Result<Listing, ListError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        let tools = self.tools.load(Ordering::SeqCst);
        match cursor {
            None => Ok(Listing {
                tools: (0..tools).map(|n| tool(&format!("tool_{n}"))).collect(),
                next: (tools > 5).then(|| "more".to_owned()),
            }),
            Some("more") => Ok(Listing {
                tools: vec![tool("last")],
                next: None,
            }),
            Some(other) => Err(ListError::UnknownCursor(other.to_owned())),
        }
    }

    async fn prepare(&self, _: &Ctx, _: Call) -> Result<Prepared, CallError> {
        Err(CallError::Internal("the protocol never prepares".to_owned()))
    }

    async fn call(&self, cx: &Ctx, call: Call) -> Result<Answer, CallError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64).unwrap_or(0);
        match call.tool.as_str() {
            "echo" => Ok(Answer::Done(Outcome {
                structured: Some(call.arguments.clone()),
                ..Outcome::text(Value::Object(call.arguments).to_string())
            })),
            "fail" => Ok(Answer::Done(Outcome::failure("exit 3"))),
            "raw" => Ok(Answer::Done(Outcome {
                content: vec![
                    Content::Text("a".to_owned()),
                    Content::Raw(json!({"type": "hologram", "x-unknown": [1, 2]})),
                ],
                ..Outcome::text("")
            })),
            "context" => done(
                json!({
                    "principal": cx.caller.principal, "channel": cx.caller.channel, "client": cx.caller.client,
                    "revision": cx.revision, "elicitation": cx.client.elicitation, "trace": cx.trace,
                    "progress": cx.progress.is_some(),
                })
                .to_string(),
            ),
            "sleep" => {
                tokio::select! {
                    () = sleep(Duration::from_millis(number("ms"))) => done("slept"),
                    () = cx.cancel.cancelled() => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        Err(CallError::Cancelled)
                    }
                }
            }
            "stubborn" => {
                sleep(Duration::from_millis(number("ms"))).await;
                done("slept")
            }
            "progress" => {
                let sink = cx.progress.clone().expect("a progress token");
                let count = u32::try_from(number("n")).unwrap();
                for n in 1..=count {
                    sink(Progress {
                        done: f64::from(n),
                        total: Some(f64::from(count)),
                        message: format!("line {n}"),
                    });
                    if number("ms") > 0 {
                        sleep(Duration::from_millis(number("ms"))).await;
                    }
                }
                *self.sink.lock().unwrap() = Some(sink);
                done("done")
            }
            "ask" => match cx.inputs.answers.get("sure") {
                None => Ok(Answer::NeedsInput {
                    requests: vec![("sure".to_owned(), InputRequest::confirmation("Really?"))],
                    state: json!({"n": number("n")}),
                }),
                Some(InputAnswer::Accept(form)) => {
                    done(format!("yes {} {}", json!(form), cx.inputs.state.as_ref().unwrap()))
                }
                Some(other) => done(format!("no: {other:?}")),
            },
            "ask_for_ever" => Ok(Answer::NeedsInput {
                requests: vec![("sure".to_owned(), InputRequest::confirmation("And now?"))],
                state: Value::Null,
            }),
            "refuse" => Err(Refusal {
                tool: "refuse".to_owned(),
                problems: vec!["a must be b".to_owned(), "c is missing".to_owned()],
            }
            .into()),
            "deny" => Err(CallError::Denied {
                reason: "not you".to_owned(),
            }),
            "unavailable" => Err(CallError::Unavailable("try later".to_owned())),
            "internal" => Err(CallError::Internal("broken".to_owned())),
            "panic" => panic!("on purpose"),
            name => Err(CallError::UnknownTool {
                name: name.to_owned(),
                nearest: Some("echo".to_owned()),
            }),
        }
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.changes.as_ref().map(broadcast::Sender::subscribe)
    }
}

/// A client that speaks in raw lines.
pub(crate) struct Client {
    pub(crate) fake: Arc<Fake>,
    pub(crate) shutdown: CancellationToken,
    input: Option<DuplexStream>,
    output: Option<BufReader<DuplexStream>>,
    server: JoinHandle<Result<Ended, ServeError>>,
}

pub(crate) fn options() -> ServeOptions {
    ServeOptions {
        title: Some("Server".to_owned()),
        ..ServeOptions::new("server", "1.2.3", "ann")
    }
}

impl Client {
    pub(crate) fn new() -> Self {
        Self::with(Fake::default(), options())
    }

    pub(crate) fn with(fake: Fake, options: ServeOptions) -> Self {
        let fake = Arc::new(fake);
        let shutdown = options.shutdown.clone();
        let (input, reader) = tokio::io::duplex(1 << 16);
        let (writer, output) = tokio::io::duplex(1 << 16);
        let server = tokio::spawn(serve(fake.clone(), reader, writer, options));
        Self {
            fake,
            shutdown,
            input: Some(input),
            output: Some(BufReader::new(output)),
            server,
        }
    }

    /// A client that has shaken hands over this revision.
    pub(crate) async fn legacy(revision: &str) -> Self {
        Self::legacy_with(revision, &json!({})).await
    }

    pub(crate) async fn legacy_with(revision: &str, capabilities: &Value) -> Self {
        let mut client = Self::new();
        client.handshake(revision, capabilities).await;
        client
    }

    pub(crate) async fn handshake(&mut self, revision: &str, capabilities: &Value) {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "9"}
        });
        let answer = self.request("hello", "initialize", &params).await;
        assert!(answer["result"].is_object(), "{answer}");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// The next line, as it is; None at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let output = self.output.as_mut().unwrap();
        let read = timeout(Duration::from_secs(20), output.read_line(&mut line));
        match read.await.expect("an answer in time").unwrap() {
            0 => None,
            _ => Some(line.trim_end().to_owned()),
        }
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.line().await.expect("a line before the end");
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.send(&message.to_string()).await;
    }

    pub(crate) async fn request(&mut self, id: &str, method: &str, params: &Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }

    pub(crate) async fn call(&mut self, id: i64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }

    /// The server still answers, and has nothing else to say.
    pub(crate) async fn assert_alive(&mut self) {
        self.send(r#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#)
            .await;
        assert_eq!(
            self.line().await.unwrap(),
            r#"{"jsonrpc":"2.0","id":"alive","result":{}}"#
        );
    }

    /// Waits until so many calls have begun.
    pub(crate) async fn started(&self, calls: usize) {
        eventually(|| self.fake.started.load(Ordering::SeqCst) >= calls).await;
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    pub(crate) async fn ended(self) -> Ended {
        let ended = timeout(Duration::from_secs(20), self.server).await;
        ended.expect("an end in time").unwrap().unwrap()
    }

    /// Closes the input and gives back every line that still comes, and the end.
    pub(crate) async fn rest(mut self) -> (Vec<Value>, Ended) {
        self.close_input();
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(serde_json::from_str(&line).unwrap());
        }
        (lines, self.ended().await)
    }
}

pub(crate) async fn eventually(mut condition: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to that");
}

/// `_meta` of a request of the modern era.
pub(crate) fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "2"}
    })
}
