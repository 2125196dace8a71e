//! What a toolset offers.

use std::sync::Arc;

use serde_json::{Map, Value};

/// What a call may do to the world, as its author declared it. Published as MCP tool annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the four hints of the MCP specification"
)]
pub struct Effects {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy what is there.
    pub destructive: bool,
    /// A second identical call changes nothing more.
    pub idempotent: bool,
    /// Reaches things outside the team's own systems.
    pub open_world: bool,
}

/// One tool as a caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name to call it by, unique in a served list.
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// What it may do.
    pub effects: Effects,
    /// The toolset it comes from, for example `runbooks`.
    pub toolset: String,
}
