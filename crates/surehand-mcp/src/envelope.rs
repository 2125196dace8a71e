//! A line to a JSON-RPC 2.0 message, or to the answer that says why it is none.

use std::{fmt, sync::Arc};

use rmcp::model::RequestId;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::wire::{INVALID_REQUEST, PARSE_ERROR};

/// How deep arrays and objects of one line may be nested.
const DEPTH: usize = 127;

const NO_OBJECT: &str = "a JSON-RPC message is an object";

/// Why a message cannot be taken.
#[derive(Debug, PartialEq)]
pub(crate) struct Invalid {
    /// The message's id, where it could be read.
    pub(crate) id: Option<RequestId>,
    /// [`PARSE_ERROR`] or [`INVALID_REQUEST`].
    pub(crate) code: i32,
    /// What is wrong.
    pub(crate) message: String,
}

impl Invalid {
    pub(crate) fn request(id: Option<RequestId>, message: impl Into<String>) -> Self {
        Self {
            id,
            code: INVALID_REQUEST,
            message: format!("invalid request: {}", message.into()),
        }
    }

    fn json(message: impl fmt::Display) -> Self {
        Self {
            id: None,
            code: PARSE_ERROR,
            message: format!("parse error: {message}"),
        }
    }
}

/// What one line holds.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// White space.
    Blank,
    /// One message.
    Single(&'a str),
    /// Several messages.
    Batch(Vec<&'a RawValue>),
}

/// One message. Parameters and results are not looked into.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request {
        id: RequestId,
        method: String,
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        method: String,
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours: with a result, or with an error.
    Response {
        id: RequestId,
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Looks at a line from outside.
pub(crate) fn frame(line: &[u8], batch_limit: usize) -> Result<Frame<'_>, Invalid> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Invalid::json(format_args!("invalid UTF-8 at byte {}", error.valid_up_to())))?
        .trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Ok(Frame::Blank);
    }
    if is_too_deep(text.as_bytes()) {
        let id = message(text).ok().and_then(|message| match message {
            Message::Request { id, .. } => Some(id),
            _ => None,
        });
        let problem = format_args!("more than {DEPTH} levels of arrays and objects");
        return Err(Invalid {
            id,
            ..Invalid::json(problem)
        });
    }
    if !text.starts_with('[') {
        return Ok(Frame::Single(text));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let entries = deserializer
        .deserialize_seq(Entries { limit: batch_limit })
        .and_then(|entries| deserializer.end().map(|()| entries))
        .map_err(|error| from_serde(&error))?;
    if entries.is_empty() {
        return Err(Invalid::request(None, "an empty batch"));
    }
    Ok(Frame::Batch(entries))
}

/// Reads one message.
pub(crate) fn message(text: &str) -> Result<Message<'_>, Invalid> {
    // An array would be read as the fields in their order.
    if text.starts_with('[') {
        return Err(Invalid::request(None, NO_OBJECT));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| from_serde(&error))?;
    let id = envelope.id.map(|id| (id, read_id(id)));
    let readable = id.as_ref().and_then(|(_, id)| id.clone());
    let invalid = |problem: &str| Err(Invalid::request(readable.clone(), problem));
    if envelope.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
        return invalid(r#"jsonrpc must be "2.0""#);
    }
    if let Some((raw, None)) = id {
        return invalid(&format!(
            "id must be a string or an integer, not {}",
            excerpt(raw)
        ));
    }
    let Some(method) = envelope.method else {
        return match (readable, envelope.result, envelope.error) {
            (Some(id), Some(result), None) => Ok(Message::Response {
                id,
                outcome: Ok(result),
            }),
            (Some(id), None, Some(error)) => Ok(Message::Response {
                id,
                outcome: Err(error),
            }),
            // An error that names no request is about something we sent; nobody waits for it.
            (None, None, Some(error)) => Ok(Message::Notification {
                method: String::new(),
                params: Some(error),
            }),
            (id, ..) => Err(Invalid::request(id, "method is missing")),
        };
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return invalid(&format!("method must be a string, not {}", excerpt(method)));
    };
    let params = envelope.params;
    Ok(match readable {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

/// An id that MCP allows: a string, or an integer of 64 bits.
pub(crate) fn read_id(raw: &RawValue) -> Option<RequestId> {
    if raw.get().starts_with('"') {
        serde_json::from_str::<Arc<str>>(raw.get())
            .ok()
            .map(RequestId::String)
    } else {
        serde_json::from_str::<i64>(raw.get()).ok().map(RequestId::Number)
    }
}

/// The beginning of a value, for a message.
pub(crate) fn excerpt(raw: &RawValue) -> String {
    const LONGEST: usize = 40;
    let text = raw.get();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a JSON-RPC message, which is an object")]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells a field that is `null` from one that is absent.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

struct Entries {
    limit: usize,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = seq.next_element()? {
            if entries.len() == self.limit {
                let problem = format_args!("a batch of more than {} messages", self.limit);
                return Err(serde::de::Error::custom(problem));
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

fn from_serde(error: &serde_json::Error) -> Invalid {
    if error.is_data() {
        Invalid::request(None, error.to_string())
    } else {
        Invalid::json(error)
    }
}

/// Whether brackets are nested deeper than the parser goes. Brackets in strings do not count.
fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DEPTH, Frame, Message, frame, message};

    fn code(text: &str) -> Option<i32> {
        match frame(text.as_bytes(), 3) {
            Ok(Frame::Single(text)) => message(text).err().map(|invalid| invalid.code),
            Ok(_) => None,
            Err(invalid) => Some(invalid.code),
        }
    }

    #[test]
    fn what_is_not_json_is_told_from_what_is_not_json_rpc() {
        for text in [
            "{",
            "nonsense",
            "{}x",
            "\"a",
            "[1,",
            "{\"a\":tru}",
            "{\"jsonrpc\":\"2.0\",}",
        ] {
            assert_eq!(code(text), Some(-32700), "{text}");
        }
        for text in [
            "1",
            "null",
            "\"a\"",
            "{}",
            "[]",
            "[1,2,3,4]",
            "{\"id\":1,\"id\":2}",
        ] {
            assert_eq!(code(text), Some(-32600), "{text}");
        }
        for text in ["", " \t\r", "[1,2,3]", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"] {
            assert_eq!(code(text), None, "{text}");
        }
    }

    #[test]
    fn an_array_is_no_message() {
        assert_eq!(message(r#"["2.0",1,"ping"]"#).unwrap_err().code, -32600);
    }

    #[test]
    fn a_null_id_is_not_an_absent_one() {
        let error = message(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).unwrap_err();
        assert_eq!((error.code, error.id), (-32600, None));
        assert!(matches!(
            message(r#"{"jsonrpc":"2.0","id":"\u00e9","method":"pi\u006eg"}"#),
            Ok(Message::Request { id, method, .. }) if id.to_string() == "é" && method == "ping"
        ));
    }

    #[test]
    fn nesting_is_bounded_and_strings_do_not_count() {
        let nested = |levels: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{}{}}}"#,
                "[".repeat(levels - 1),
                "]".repeat(levels - 1)
            )
        };
        assert!(frame(nested(DEPTH).as_bytes(), 3).is_ok());
        let error = frame(nested(DEPTH + 1).as_bytes(), 3).unwrap_err();
        assert_eq!(
            (error.code, error.id),
            (-32700, Some(rmcp::model::RequestId::Number(7)))
        );
        let brackets = format!(r#"{{"jsonrpc":"2.0","method":"{}\"["}}"#, "[".repeat(500));
        assert!(frame(brackets.as_bytes(), 3).is_ok());
        assert_eq!(frame("[".repeat(1 << 20).as_bytes(), 3).unwrap_err().code, -32700);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Frame::Single(text)) = frame(&bytes, 3) {
                let _ = message(text);
            }
        }
    }
}
