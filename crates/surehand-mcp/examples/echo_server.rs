//! The smallest server: one tool that says back what it was told, slowly if asked to, over standard input and
//! output.
//!
//! ```sh
//! echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}' \
//!   | cargo run --example echo_server
//! ```
//!
//! `echo_server N` offers N tools more, that do nothing.

use std::{process::ExitCode, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use surehand_core::{
    Answer, Call, CallError, Ctx, Effects, InputAnswer, InputRequest, ListError, Listing, Offers, Outcome,
    Prepared, Progress, Tool, Toolset, nearest,
};
use surehand_mcp::{ServeOptions, serve_stdio};

struct Echo {
    tools: Vec<Tool>,
}

impl Echo {
    fn new(more: usize) -> Self {
        let schema = object(json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to say back."},
                "times": {"type": "integer", "description": "How often, ten times a second."},
                "confirm": {"type": "boolean", "description": "Ask a person first."}
            },
            "additionalProperties": false
        }));
        let schema = Arc::new(schema);
        let tool = |name: String| Tool {
            title: Some(name.clone()),
            name,
            description: "Says back what it is told. Use it to see whether the connection works.".to_owned(),
            input_schema: schema.clone(),
            output_schema: None,
            effects: Effects {
                read_only: true,
                idempotent: true,
                ..Effects::default()
            },
            toolset: "echo".to_owned(),
        };
        let names = (0..more).map(|n| format!("echo_{n}"));
        Self {
            tools: std::iter::once("echo".to_owned())
                .chain(names)
                .map(tool)
                .collect(),
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[async_trait]
impl Toolset for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn offers(&self) -> Offers {
        Offers { tools: true }
    }

    async fn list(&self, _: &Ctx, _: Option<&str>) -> Result<Listing, ListError> {
        Ok(Listing {
            tools: self.tools.clone(),
            next: None,
        })
    }

    async fn prepare(&self, _: &Ctx, _: Call) -> Result<Prepared, CallError> {
        Err(CallError::Unavailable("an echo has no plan".to_owned()))
    }

    async fn call(&self, cx: &Ctx, call: Call) -> Result<Answer, CallError> {
        if !self.tools.iter().any(|tool| tool.name == call.tool) {
            let names = self.tools.iter().map(|tool| tool.name.as_str());
            return Err(CallError::UnknownTool {
                nearest: nearest(&call.tool, names).map(str::to_owned),
                name: call.tool,
            });
        }
        if call.arguments.get("confirm") == Some(&Value::Bool(true)) {
            match cx.inputs.answers.get("confirm") {
                Some(InputAnswer::Accept(_)) => {}
                Some(_) => return Ok(Answer::Done(Outcome::failure("not confirmed"))),
                None if !cx.client.elicitation => {
                    return Err(CallError::Unavailable(
                        "your client cannot ask its person".to_owned(),
                    ));
                }
                None => {
                    return Ok(Answer::NeedsInput {
                        requests: vec![("confirm".to_owned(), InputRequest::confirmation("Say it?"))],
                        state: Value::Null,
                    });
                }
            }
        }
        let text = call
            .arguments
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let times = call.arguments.get("times").and_then(Value::as_u64).unwrap_or(0);
        for time in 1..=u32::try_from(times).unwrap_or(u32::MAX) {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
                () = cx.cancel.cancelled() => return Err(CallError::Cancelled),
            }
            if let Some(progress) = &cx.progress {
                progress(Progress {
                    done: f64::from(time),
                    total: None,
                    message: text.to_owned(),
                });
            }
        }
        Ok(Answer::Done(Outcome {
            structured: Some(object(json!({"text": text}))),
            ..Outcome::text(text)
        }))
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let more = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    let options = ServeOptions::new("echo", env!("CARGO_PKG_VERSION"), "nobody");
    match serve_stdio(Arc::new(Echo::new(more)), options).await {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
