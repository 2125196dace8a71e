//! The vocabulary of `surehand-core` to the shapes of MCP.

use std::sync::Arc;

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use surehand_core::{CallError, Content, ListError, Outcome, Tool};

use crate::wire::RawField;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Map<String, Value>>,
    annotations: WireAnnotations,
}

/// All four are always said: what an absent one means differs from hint to hint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the hints of MCP")]
struct WireAnnotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

/// Tools as a JSON array. Schemas go over word for word.
pub(crate) fn tools(tools: &[Tool]) -> serde_json::Result<Arc<RawValue>> {
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| WireTool {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: &tool.description,
            input_schema: &tool.input_schema,
            output_schema: tool.output_schema.as_deref(),
            annotations: WireAnnotations {
                read_only_hint: tool.effects.read_only,
                destructive_hint: tool.effects.destructive,
                idempotent_hint: tool.effects.idempotent,
                open_world_hint: tool.effects.open_world,
            },
        })
        .collect();
    serde_json::value::to_raw_value(&tools).map(Arc::from)
}

/// The result of a call. Content that is not all text comes beside it, word for word, as the field that is to
/// stand in its place.
pub(crate) fn outcome(outcome: Outcome) -> serde_json::Result<(CallToolResult, Option<RawField>)> {
    let mut result = CallToolResult::success(Vec::new());
    result.is_error = Some(outcome.is_error);
    result.structured_content = outcome.structured.map(Value::Object);
    if outcome
        .content
        .iter()
        .any(|block| matches!(block, Content::Raw(_)))
    {
        return Ok((result, Some(raw_content(&outcome.content)?)));
    }
    result.content = outcome
        .content
        .into_iter()
        .filter_map(|block| match block {
            Content::Text(text) => Some(ContentBlock::text(text)),
            Content::Raw(_) => None,
        })
        .collect();
    Ok((result, None))
}

fn raw_content(blocks: &[Content]) -> serde_json::Result<RawField> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Block<'a> {
        Text { r#type: &'static str, text: &'a str },
        Raw(&'a Value),
    }
    let blocks: Vec<_> = blocks
        .iter()
        .map(|block| match block {
            Content::Text(text) => Block::Text { r#type: "text", text },
            Content::Raw(value) => Block::Raw(value),
        })
        .collect();
    Ok(RawField {
        name: "content",
        json: serde_json::value::to_raw_value(&blocks)?.into(),
    })
}

/// A failed result that says why. The model reads it and may repair its call.
pub(crate) fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// What the model can act on is a result; the rest is an error of the protocol.
pub(crate) fn call_error(tool: &str, error: &CallError) -> Result<CallToolResult, ErrorData> {
    match error {
        CallError::UnknownTool { .. } => Err(ErrorData::invalid_params(error.to_string(), None)),
        CallError::Refused(_) | CallError::Unavailable(_) => Ok(failure(error.to_string())),
        CallError::Denied { reason } => Ok(failure(format!("Refused: {tool}: not allowed: {reason}"))),
        CallError::Cancelled => Ok(failure(format!(
            "Cancelled: {tool}: the server or the session is ending"
        ))),
        CallError::Internal(_) => {
            tracing::error!(tool, %error, "a call failed");
            Err(ErrorData::internal_error(error.to_string(), None))
        }
    }
}

/// The same for a list.
pub(crate) fn list_error(error: &ListError) -> ErrorData {
    match error {
        ListError::UnknownCursor(_) => ErrorData::invalid_params(format!("params.cursor: {error}"), None),
        ListError::Internal(_) => {
            tracing::error!(%error, "the tools cannot be listed");
            ErrorData::internal_error(error.to_string(), None)
        }
    }
}
