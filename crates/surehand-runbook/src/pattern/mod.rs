//! Patterns in the JavaScript dialect, matched in bounded time.
//!
//! A manifest's `pattern` is what `new RegExp(pattern)` accepts (ECMA-262 with Annex B, no flags): it works on
//! UTF-16 code units, `.` is one unit, `\w` and `\d` are ASCII, and look-around and back references are
//! there. A value fits if the pattern matches the *whole* of it.
//!
//! [`parse`] makes a tree, [`analysis`] judges the tree, [`program`] turns it into instructions, and one of two
//! machines runs those: [`linear`] (time proportional to the value's length) wherever the pattern is a
//! regular expression in the strict sense, [`backtrack`] where it has look-around or back references. Both
//! spend a [`Budget`], so neither can hang.

mod analysis;
mod backtrack;
mod budget;
mod linear;
mod parse;
mod program;
mod tree;
mod units;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub use budget::Budget;

use analysis::Anchoring;
use parse::Parsed;
use program::Program;

/// Whether a value fits a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The whole value matches.
    Yes,
    /// It does not.
    No,
    /// The budget ran out before that was known. To be treated as [`Fit::No`], and said.
    Unknown,
}

/// A pattern as written in a manifest.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    compiled: Result<Arc<Compiled>, String>,
}

#[derive(Debug)]
struct Compiled {
    parsed: Parsed,
    program: Program,
}

impl Pattern {
    /// Takes a pattern. One that does not compile matches nothing and says why in [`Pattern::error`].
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let compiled = parse::parse(&text)
            .map_err(|what| format!("Invalid regular expression: /{text}/: {what}"))
            .and_then(|parsed| {
                let program = Program::compile(&parsed).ok_or_else(|| {
                    format!(
                        "its counted repetitions make more than {} steps",
                        program::MOST_STEPS
                    )
                })?;
                Ok(Arc::new(Compiled { parsed, program }))
            });
        Self { text, compiled }
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Why it does not compile.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.compiled.as_ref().err().map(String::as_str)
    }

    /// Why it is not anchored at both ends, if it is not: a pattern that is meant for whole values must say so.
    #[must_use]
    pub fn anchoring_problem(&self) -> Option<String> {
        if !(self.text.starts_with('^') && self.text.ends_with('$')) {
            return Some("pattern must be anchored (^...$)".to_owned());
        }
        let compiled = self.compiled.as_ref().ok()?;
        match analysis::anchoring(&compiled.parsed.root) {
            Anchoring::Whole => None,
            Anchoring::EscapedEnd => Some(format!(
                "pattern is not anchored at its end: its last $ is escaped and stands for a dollar sign; write {}$",
                self.text
            )),
            Anchoring::SomeAlternatives => Some(format!(
                "pattern is not anchored in all its alternatives: ^ and $ bind closer than |; write {}",
                analysis::anchored_as_a_whole(&self.text, &compiled.parsed.bars)
            )),
        }
    }

    /// Whether it accepts practically every text, so that it checks nothing.
    #[must_use]
    pub fn accepts_everything(&self) -> bool {
        self.compiled
            .as_ref()
            .is_ok_and(|compiled| analysis::accepts_everything(&compiled.parsed.root))
    }

    /// Whether an unbounded repetition repeats itself, as in `(a+)+`: a backtracking engine may need
    /// exponential time for it.
    #[must_use]
    pub fn nests_repetitions(&self) -> bool {
        self.compiled
            .as_ref()
            .is_ok_and(|compiled| analysis::nests_repetitions(&compiled.parsed.root))
    }

    /// Whether it needs the backtracking machine (look-around, back references).
    #[must_use]
    pub fn backtracks(&self) -> bool {
        self.compiled
            .as_ref()
            .is_ok_and(|compiled| !compiled.program.is_regular())
    }

    /// Whether the pattern matches the whole of `value`.
    #[must_use]
    pub fn fits(&self, value: &str, budget: &mut Budget) -> Fit {
        let Ok(compiled) = &self.compiled else {
            return Fit::No;
        };
        let units: Vec<u16> = value.encode_utf16().collect();
        if compiled.program.is_regular() {
            linear::fits(&compiled.program, &units, budget)
        } else {
            backtrack::fits(&compiled.program, &units, budget)
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^\^[\s\S]*\$$" })
    }
}
