//! What a manifest says of a runbook's arguments.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::pattern::Pattern;

/// A runbook's parameters by name, in the order in which they reach the script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params(pub Vec<(String, Param)>);

impl Params {
    /// Names and parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Param)> {
        self.0.iter().map(|(name, param)| (name.as_str(), param))
    }

    /// The parameter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Param> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, param)| param)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for Params {
    fn schema_name() -> Cow<'static, str> {
        "Params".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": generator.subschema_for::<Param>(),
            "propertyNames": { "pattern": "^[a-zA-Z][a-zA-Z0-9_]{0,63}$" }
        })
    }
}

impl serde::Serialize for Params {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only ever asked of the default, for the JSON Schema.
        serializer.collect_map(std::iter::empty::<(&str, &str)>())
    }
}

/// One argument of a tool. It becomes a fixed flag of the script, or a positional argument.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(tag = "type", rename_all = "lowercase")]
pub enum Param {
    /// Emits its flag when true and nothing when false.
    Boolean(BooleanParam),
    /// A text that fits `pattern` or stands in `enum`.
    String(StringParam),
    /// A number.
    Number(NumberParam),
    /// Texts that each fit `pattern` or stand in `enum`.
    Array(ArrayParam),
}

impl Param {
    /// What all kinds have.
    #[must_use]
    pub fn common(&self) -> &Common {
        match self {
            Self::Boolean(param) => &param.common,
            Self::String(param) => &param.common,
            Self::Number(param) => &param.common,
            Self::Array(param) => &param.common,
        }
    }

    /// The kind's name in a manifest.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "boolean",
            Self::String(_) => "string",
            Self::Number(_) => "number",
            Self::Array(_) => "array",
        }
    }

    /// The rule for its texts, where it has texts.
    #[must_use]
    pub fn text_rule(&self) -> Option<&TextRule> {
        match self {
            Self::String(param) => Some(&param.rule),
            Self::Array(param) => Some(&param.rule),
            Self::Boolean(_) | Self::Number(_) => None,
        }
    }
}

/// What all parameters have.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Common {
    /// Shown to the agent.
    pub description: Option<String>,
    /// The flag to emit, for example `--name` or `-ReportOnly`.
    #[schemars(regex(pattern = "^-{1,2}[A-Za-z][A-Za-z0-9-]*$"))]
    pub flag: Option<String>,
    /// Emit the value without a flag. Not for booleans.
    #[schemars(default)]
    pub positional: bool,
    /// Refuse a call without it.
    #[schemars(default)]
    pub required: bool,
}

/// A boolean parameter.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, inline)]
pub struct BooleanParam {
    /// What all parameters have.
    #[schemars(flatten)]
    pub common: Common,
    /// Used when the agent leaves it out.
    pub default: Option<bool>,
}

/// What a text must be like.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TextRule {
    /// A regular expression in the JavaScript dialect, anchored (`^...$`), that every value must match as a
    /// whole. This or `enum`.
    pub pattern: Option<Pattern>,
    /// The only values accepted. This or `pattern`.
    #[schemars(rename = "enum", length(min = 1), inner(length(min = 1)))]
    pub choices: Option<Vec<String>>,
    /// Accept values that begin with `-` although they are positional and the script may take them for
    /// flags. Values of an `enum` are accepted as they are.
    #[schemars(default)]
    pub allow_leading_dash: bool,
}

/// A string parameter.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, inline)]
pub struct StringParam {
    /// What all parameters have.
    #[schemars(flatten)]
    pub common: Common,
    /// What the text must be like.
    #[schemars(flatten)]
    pub rule: TextRule,
    /// Used when the agent leaves it out.
    pub default: Option<String>,
}

/// A number parameter.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, inline)]
pub struct NumberParam {
    /// What all parameters have.
    #[schemars(flatten)]
    pub common: Common,
    /// Accept whole numbers only.
    #[schemars(default)]
    pub integer: bool,
    /// The least value accepted.
    pub minimum: Option<f64>,
    /// The greatest value accepted.
    pub maximum: Option<f64>,
    /// Used when the agent leaves it out.
    #[schemars(with = "Option<f64>")]
    pub default: Option<serde_json::Number>,
}

/// An array parameter.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, inline)]
pub struct ArrayParam {
    /// What all parameters have.
    #[schemars(flatten)]
    pub common: Common,
    /// What each item must be like.
    #[schemars(flatten)]
    pub rule: TextRule,
    /// Emit one argument, the items joined by this, instead of one for each. An item may then not contain
    /// it.
    #[schemars(length(min = 1))]
    pub join: Option<String>,
    /// The least number of items; 1 where the parameter is required, else 0, unless given.
    pub min_items: Option<u32>,
    /// The greatest number of items.
    #[schemars(range(min = 1))]
    pub max_items: Option<u32>,
    /// Used when the agent leaves it out.
    pub default: Option<Vec<String>>,
}

impl ArrayParam {
    /// The least number of items.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.min_items.unwrap_or(u32::from(self.common.required))
    }
}
