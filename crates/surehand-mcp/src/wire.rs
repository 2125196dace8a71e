//! Messages as bytes.

use rmcp::model::RequestId;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, value::RawValue};

/// JSON-RPC 2.0 (section 5.1): what came is not JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// JSON-RPC 2.0 (section 5.1): what came is not a request.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC 2.0 (section 5.1): the parameters do not fit the method.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC 2.0 (section 5.1): the server failed.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// One field of a result that is already JSON.
#[derive(Debug, Clone)]
pub(crate) struct RawField {
    /// The field's name.
    pub(crate) name: &'static str,
    /// Its value.
    pub(crate) json: std::sync::Arc<RawValue>,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: T,
}

/// A result, with `raw` in place of the field of that name.
pub(crate) fn response(
    id: &RequestId,
    result: &impl Serialize,
    raw: Option<&RawField>,
) -> serde_json::Result<Vec<u8>> {
    let jsonrpc = "2.0";
    let Some(raw) = raw else {
        return serde_json::to_vec(&Response { jsonrpc, id, result });
    };
    let Value::Object(rest) = serde_json::to_value(result)? else {
        return Err(serde::ser::Error::custom("a result is an object"));
    };
    let result = Spliced { rest, raw };
    let mut bytes = Vec::with_capacity(raw.json.get().len() + 256);
    serde_json::to_writer(&mut bytes, &Response { jsonrpc, id, result })?;
    Ok(bytes)
}

struct Spliced<'a> {
    rest: Map<String, Value>,
    raw: &'a RawField,
}

impl Serialize for Spliced<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.rest.iter().filter(|(name, _)| *name != self.raw.name) {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry(self.raw.name, &*self.raw.json)?;
        map.end()
    }
}

/// An error; without an id where the request's id could not be read.
pub(crate) fn error(id: Option<&RequestId>, code: i32, message: &str) -> Vec<u8> {
    object(&serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

/// A notification.
pub(crate) fn notification(method: &str, params: Option<&Value>) -> Vec<u8> {
    match params {
        Some(params) => object(&serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params})),
        None => object(&serde_json::json!({"jsonrpc": "2.0", "method": method})),
    }
}

/// A request of ours.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Vec<u8> {
    object(&serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn object(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Escapes the three characters that JSON may hold as they are but that many readers take for the end of a
/// line: U+0085, U+2028 and U+2029. In JSON they can only stand inside a string.
pub(crate) fn keep_on_one_line(json: Vec<u8>) -> Vec<u8> {
    let ends = |at: usize| match json[at..] {
        [0xC2, 0x85, ..] => Some((2, &br"\u0085"[..])),
        [0xE2, 0x80, 0xA8, ..] => Some((3, &br"\u2028"[..])),
        [0xE2, 0x80, 0xA9, ..] => Some((3, &br"\u2029"[..])),
        _ => None,
    };
    let mut found = memchr::memchr2_iter(0xC2, 0xE2, &json)
        .filter_map(|at| ends(at).map(|(length, escape)| (at, length, escape)))
        .peekable();
    if found.peek().is_none() {
        drop(found);
        return json;
    }
    let mut out = Vec::with_capacity(json.len() + 64);
    let mut from = 0;
    for (at, length, escape) in found {
        out.extend_from_slice(&json[from..at]);
        out.extend_from_slice(escape);
        from = at + length;
    }
    out.extend_from_slice(&json[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::keep_on_one_line;

    #[test]
    fn what_readers_take_for_a_line_end_is_escaped() {
        let text = "a\u{2028}b\u{2029}\u{85}c é \u{2027} end\u{2028}";
        let json = serde_json::to_vec(text).unwrap();
        let line = keep_on_one_line(json);
        let line = String::from_utf8(line).unwrap();
        assert!(
            line.contains(r"\u2028b\u2029\u0085c é") && !line.contains(['\u{2028}', '\u{2029}', '\u{85}'])
        );
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        assert_eq!(keep_on_one_line(b"plain".to_vec()), b"plain");
    }
}
