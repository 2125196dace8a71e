//! `surehand call`.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Map, Value};
use surehand_core::{
    Answer, Call, CallError, ClientCapabilities, Ctx, InputAnswer, InputRequest, Inputs, Outcome, RunStatus,
    Tool, Toolset, nearest,
};
use surehand_host::Host;
use tokio_util::sync::CancellationToken;

use crate::{
    arguments,
    cli::{Common, Running},
    compose::{Composed, caller},
    config::Settings,
    errors::{CliError, Exit, warn},
    interrupt,
    live::{Live, Seen},
    term,
};

/// Call a tool as an agent would, and see its output as it comes
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) call: ToCall,

    #[command(flatten)]
    pub(crate) running: Running,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What is to be called.
#[derive(Debug, Args)]
pub(crate) struct ToCall {
    /// The tool's name
    tool: String,

    /// Arguments; an array is given by repeating its name
    #[arg(value_name = "NAME=VALUE", conflicts_with = "json")]
    words: Vec<String>,

    /// All arguments as one JSON object
    #[arg(long = "args", visible_alias = "json", value_name = "JSON")]
    json: Option<String>,
}

pub(crate) async fn run(args: &ToCall, settings: &Settings) -> Result<Exit, CliError> {
    Composed::require_manifest(settings)?;
    let cancel = interrupt::token()?;
    let composed = Composed::with_history(settings).await?;
    let cx = Ctx::builder(caller(settings))
        .cancel(cancel)
        .client(ClientCapabilities {
            elicitation: term::can_ask(),
        })
        .build();
    let called = call(&composed.host, cx, args).await;
    composed.close().await;
    called
}

async fn call(host: &Host, cx: Ctx, args: &ToCall) -> Result<Exit, CliError> {
    let tool = find(host, &cx, &args.tool).await?;
    let arguments = match &args.json {
        Some(text) => arguments::from_json(text),
        None => arguments::from_words(&tool, &args.words),
    };
    let arguments = arguments.map_err(|error| {
        CliError::usage_with_hint(error.to_string(), "`surehand tools` shows what each tool takes")
    })?;
    let call = Call::new(&args.tool, arguments);
    match once(host, cx.clone(), call.clone()).await? {
        Answered::Done(exit) => Ok(exit),
        Answered::Asked { requests, state } => {
            let answers = ask(&cx.cancel, &requests).await?;
            let declined = answers
                .values()
                .any(|answer| !matches!(answer, InputAnswer::Accept(_)));
            let mut cx = cx;
            cx.inputs = Inputs {
                answers,
                state: Some(state),
            };
            match once(host, cx, call).await? {
                Answered::Done(_) if declined => Ok(Exit::Refused),
                Answered::Done(exit) => Ok(exit),
                Answered::Asked { .. } => Err(CliError::Internal("the tool asked twice".to_owned())),
            }
        }
    }
}

async fn find(host: &Host, cx: &Ctx, name: &str) -> Result<Tool, CliError> {
    let listing = host
        .list(cx, None)
        .await
        .map_err(|error| CliError::Internal(error.to_string()))?;
    let close = nearest(name, listing.tools.iter().map(|tool| tool.name.as_str())).map(str::to_owned);
    listing
        .tools
        .into_iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| {
            CallError::UnknownTool {
                name: name.to_owned(),
                nearest: close,
            }
            .into()
        })
}

enum Answered {
    Done(Exit),
    Asked {
        requests: Vec<(String, InputRequest)>,
        state: Value,
    },
}

/// One round: the call runs or comes back with a question.
async fn once(host: &Host, mut cx: Ctx, call: Call) -> Result<Answered, CliError> {
    let live = Live::start(&call.tool, cx.cancel.clone());
    cx.output = Some(live.output());
    cx.progress = live.progress();
    let answer = host.call(&cx, call).await;
    let seen = live.finish()?;
    if seen == Seen::Unread {
        warn("nobody reads the output any more");
    }
    match answer? {
        Answer::NeedsInput { requests, state } => Ok(Answered::Asked { requests, state }),
        Answer::Done(outcome) => {
            show(&outcome, seen)?;
            Ok(Answered::Done(exit(&outcome)))
        }
    }
}

/// What was not shown while it ran: all of it where there was nothing to follow, else how it ended.
fn show(outcome: &Outcome, seen: Seen) -> Result<(), CliError> {
    let text = outcome.joined_text();
    match seen {
        Seen::Lines | Seen::Unread => {}
        Seen::Nothing if outcome.is_error => {
            term::say(&text);
            return Ok(());
        }
        Seen::Nothing => return term::out(&format!("{text}\n")),
    }
    for line in text.lines().take_while(|line| !line.is_empty()) {
        term::say(line);
    }
    // Said at the very end of the text, after the output.
    let left_behind = outcome
        .structured
        .as_ref()
        .is_some_and(|fields| fields.contains_key("left_behind"));
    if let Some(note) = text.lines().last().filter(|_| left_behind) {
        term::say(note);
    }
    Ok(())
}

fn exit(outcome: &Outcome) -> Exit {
    match (outcome.is_error, outcome.status) {
        (false, _) => Exit::Done,
        (true, RunStatus::PendingApproval) => Exit::Refused,
        (true, _) => Exit::Failed,
    }
}

/// Puts the questions to the person.
async fn ask(
    cancel: &CancellationToken,
    requests: &[(String, InputRequest)],
) -> Result<BTreeMap<String, InputAnswer>, CliError> {
    let mut answers = BTreeMap::new();
    for (key, request) in requests {
        let takes_a_form = request
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|form| !form.is_empty());
        if takes_a_form {
            return Err(CliError::Internal(
                "the tool asks for a form, which the command line cannot show".to_owned(),
            ));
        }
        let question = request.message.clone();
        let asked = tokio::task::spawn_blocking(move || term::confirm(&question));
        let answered = tokio::select! {
            // The read goes on until the process ends, which is now.
            () = cancel.cancelled() => {
                // The cursor still stands behind the question.
                term::say("");
                return Err(CallError::Cancelled.into());
            }
            asked = asked => asked.map_err(|error| CliError::Internal(error.to_string()))??,
        };
        let answer = match answered {
            term::Answered::Yes => InputAnswer::Accept(Map::new()),
            term::Answered::No => InputAnswer::Decline,
            term::Answered::Nothing => InputAnswer::Cancel,
        };
        answers.insert(key.clone(), answer);
    }
    Ok(answers)
}
