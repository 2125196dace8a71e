//! `surehand tools`.

use clap::Args;
use serde_json::{Map, Value, json};
use surehand_core::{Ctx, Tool, Toolset};

use crate::{
    cli::Common,
    compose::{Composed, caller},
    config::Settings,
    errors::{CliError, Exit},
    term,
};

/// Show what an agent sees
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// As JSON, in the shape of an MCP tools/list result
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

impl ToolsArgs {
    pub(crate) fn as_json(json: bool) -> Self {
        Self {
            json,
            common: Common::default(),
        }
    }
}

pub(crate) async fn run(json: bool, settings: &Settings) -> Result<Exit, CliError> {
    Composed::require_manifest(settings)?;
    let composed = Composed::without_history(settings).await?;
    let cx = Ctx::builder(caller(settings)).build();
    let tools = composed
        .host
        .list(&cx, None)
        .await
        .map_err(|error| CliError::Internal(error.to_string()))?
        .tools;
    if json {
        let tools: Vec<Value> = tools.iter().map(as_listed).collect();
        term::out_json(&json!({ "tools": tools }))?;
    } else {
        let text = if tools.is_empty() {
            "No tools: the manifest declares none.\n".to_owned()
        } else {
            tools.iter().map(for_people).collect::<Vec<_>>().join("\n")
        };
        term::out(&text)?;
    }
    Ok(Exit::Done)
}

fn as_listed(tool: &Tool) -> Value {
    let mut listed = Map::new();
    listed.insert("name".to_owned(), json!(tool.name));
    if let Some(title) = &tool.title {
        listed.insert("title".to_owned(), json!(title));
    }
    listed.insert("description".to_owned(), json!(tool.description));
    listed.insert("inputSchema".to_owned(), json!(*tool.input_schema));
    if let Some(schema) = &tool.output_schema {
        listed.insert("outputSchema".to_owned(), json!(**schema));
    }
    let effects = tool.effects;
    let annotations = json!({
        "readOnlyHint": effects.read_only,
        "destructiveHint": effects.destructive,
        "idempotentHint": effects.idempotent,
        "openWorldHint": effects.open_world,
    });
    listed.insert("annotations".to_owned(), annotations);
    Value::Object(listed)
}

/// A signature and what the agent reads.
fn for_people(tool: &Tool) -> String {
    let none = Map::new();
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let required: Vec<&str> = tool
        .input_schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let parameters: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let optional = if required.contains(&name.as_str()) {
                ""
            } else {
                "?"
            };
            let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
            format!("{name}{optional}: {kind}")
        })
        .collect();
    let description = tool
        .description
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("  {line}\n"))
        .collect::<Vec<_>>()
        .concat();
    format!("{}({})\n{description}", tool.name, parameters.join(", "))
}
