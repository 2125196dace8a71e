//! What comes of a call.

use serde_json::{Map, Value, json};

use crate::RunStatus;

/// One block of a result's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Any other MCP content block, as it goes over the wire.
    Raw(Value),
}

/// The end of a call that was carried out, well or badly.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model reads.
    pub content: Vec<Content>,
    /// The same for programs.
    pub structured: Option<Map<String, Value>>,
    /// The called thing failed; the content says how.
    pub is_error: bool,
    /// How the run ended, for history.
    pub status: RunStatus,
    /// One line on what went wrong, for history.
    pub error: Option<String>,
}

impl Outcome {
    /// A result that is one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::Text(text.into())],
            structured: None,
            is_error: false,
            status: RunStatus::Success,
            error: None,
        }
    }

    /// A failed result that is one text.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            error: Some(text.lines().next().unwrap_or_default().to_owned()),
            is_error: true,
            status: RunStatus::Failed,
            ..Self::text(text)
        }
    }

    /// All text blocks, joined by line ends.
    #[must_use]
    pub fn joined_text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                Content::Text(text) => Some(text.as_str()),
                Content::Raw(_) => None,
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A question that only a person can answer (MCP elicitation).
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// What to show the person.
    pub message: String,
    /// JSON Schema of the form to fill in: a flat object of primitive properties.
    pub schema: Map<String, Value>,
}

impl InputRequest {
    /// A yes-or-no question. Its answer is accepted with an empty form.
    #[must_use]
    pub fn confirmation(message: impl Into<String>) -> Self {
        let Value::Object(schema) = json!({"type": "object", "properties": {}}) else {
            unreachable!("a literal object")
        };
        Self {
            message: message.into(),
            schema,
        }
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum InputAnswer {
    /// Yes, with the form's content.
    Accept(Map<String, Value>),
    /// No.
    Decline,
    /// Closed without an answer.
    Cancel,
}

/// What a toolset answers to a call.
///
/// A toolset never awaits a person inside a call: it returns [`Answer::NeedsInput`] and is called again
/// with the answers in [`crate::Ctx::inputs`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The call was carried out.
    Done(Outcome),
    /// A person has to answer first.
    NeedsInput {
        /// The questions, each with the key under which its answer comes back.
        requests: Vec<(String, InputRequest)>,
        /// What must come back with the answers. The protocol layer seals it, binds it to caller and
        /// request, and lets it expire.
        state: Value,
    },
}
