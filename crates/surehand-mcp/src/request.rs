//! A method and its parameters to the typed request of `rmcp`.
//!
//! Only the methods that are served have a type here; every other goes on under its name and is answered as
//! unknown. `rmcp`'s own reading would take a known method with parameters that do not fit for an unknown
//! one, without saying what is wrong.

use rmcp::model::{
    CallToolRequestParams, ClientRequest, CustomRequest, DiscoverRequestParams, GetMeta,
    InitializeRequestParams, JsonObject, PaginatedRequestParams, Request, RequestMetaObject, RequestNoParam,
    RequestOptionalParam, SubscriptionsListenRequestParams,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use surehand_core::parse_strict;

use crate::envelope::{excerpt, present};

/// The methods that have a type here, `tools/call` aside.
const SERVED: [&str; 5] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "subscriptions/listen",
];

/// A request that fits its method.
pub(crate) struct Typed {
    /// The request.
    pub(crate) request: ClientRequest,
    /// Why the arguments of a tool call cannot be held: well-formed JSON all the same, such as `1e999`, half of a
    /// surrogate pair, or an object with a key twice. The request then has none.
    pub(crate) unreadable: Option<String>,
}

impl From<ClientRequest> for Typed {
    fn from(request: ClientRequest) -> Self {
        Self {
            request,
            unreadable: None,
        }
    }
}

/// Reads the parameters of `method`.
///
/// # Errors
/// What is wrong with them, naming the field.
pub(crate) fn typed(method: &str, params: Option<&RawValue>) -> Result<Typed, String> {
    if method == "tools/call" {
        return call_tool(params);
    }
    let mut params = match object("params", params) {
        // That there is no such method is the greater problem.
        Err(_) if !SERVED.contains(&method) => JsonObject::new(),
        params => params?,
    };
    let meta = match params.remove("_meta") {
        None => None,
        Some(Value::Object(meta)) => Some(RequestMetaObject::from(meta)),
        Some(_) if !SERVED.contains(&method) => None,
        Some(_) => return Err("params._meta must be an object".to_owned()),
    };
    let mut request = match method {
        "initialize" => {
            ClientRequest::InitializeRequest(Request::new(read::<InitializeRequestParams>(params)?))
        }
        "ping" => ClientRequest::PingRequest(RequestNoParam::default()),
        "server/discover" => ClientRequest::DiscoverRequest(Request::new(DiscoverRequestParams::default())),
        "tools/list" => ClientRequest::ListToolsRequest(RequestOptionalParam::with_param(read::<
            PaginatedRequestParams,
        >(params)?)),
        "subscriptions/listen" => ClientRequest::SubscriptionsListenRequest(Request::new(read::<
            SubscriptionsListenRequestParams,
        >(params)?)),
        _ => ClientRequest::CustomRequest(CustomRequest::new(method, None)),
    };
    if let Some(meta) = meta {
        *request.get_meta_mut() = meta;
    }
    Ok(request.into())
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "params must be an object")]
struct CallParams<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    request_state: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "_meta", deserialize_with = "present")]
    meta: Option<&'a RawValue>,
}

fn call_tool(params: Option<&RawValue>) -> Result<Typed, String> {
    let params = params.map_or("null", RawValue::get);
    if !params.starts_with('{') {
        return Err("params must be an object with the tool's name".to_owned());
    }
    let params: CallParams<'_> = serde_json::from_str(params).map_err(|error| format!("params: {error}"))?;
    let mut call = CallToolRequestParams::new(match params.name {
        None => return Err("params.name is missing".to_owned()),
        Some(name) => string("params.name", name)?,
    });
    let mut unreadable = None;
    if let Some(arguments) = params.arguments
        && arguments.get() != "null"
    {
        if !arguments.get().starts_with('{') {
            let found = excerpt(arguments);
            return Err(format!("params.arguments must be an object, not {found}"));
        }
        match parse_strict(arguments.get()) {
            Ok(Value::Object(arguments)) => call.arguments = Some(arguments),
            // It begins with a brace.
            Ok(_) => return Err("params.arguments must be an object".to_owned()),
            Err(error) => unreadable = Some(format!("arguments: {}", cannot_hold(&error))),
        }
    }
    if let Some(responses) = params.input_responses {
        let responses = object("params.inputResponses", Some(responses))?;
        call.input_responses = Some(responses.into_iter().collect());
    }
    if let Some(state) = params.request_state {
        call.request_state = Some(string("params.requestState", state)?);
    }
    let mut request = ClientRequest::CallToolRequest(Request::new(call));
    if let Some(meta) = params.meta {
        let meta = object("params._meta", Some(meta))?;
        let token = meta.get("progressToken").unwrap_or(&Value::Null);
        if !(token.is_string() || token.is_number() || token.is_null()) {
            return Err("params._meta.progressToken must be a string or an integer".to_owned());
        }
        *request.get_meta_mut() = RequestMetaObject::from(meta);
    }
    Ok(Typed { request, unreadable })
}

/// Why well-formed JSON cannot be held. Its escapes have four digits each, so what is wrong with one can only be
/// that it stands alone.
fn cannot_hold(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.contains("surrogate") || text.contains("hex escape") {
        let column = error.column();
        format!("half of a surrogate pair, which is no character, at column {column}")
    } else {
        text
    }
}

/// The object called `name`; an empty one where there is none.
fn object(name: &str, raw: Option<&RawValue>) -> Result<JsonObject, String> {
    match raw.map(|raw| (raw, serde_json::from_str::<Value>(raw.get()))) {
        None | Some((_, Ok(Value::Null))) => Ok(JsonObject::new()),
        Some((_, Ok(Value::Object(object)))) => Ok(object),
        Some((raw, Ok(_))) => Err(format!("{name} must be an object, not {}", excerpt(raw))),
        Some((_, Err(error))) => Err(format!("{name}: {error}")),
    }
}

fn string(name: &str, raw: &RawValue) -> Result<String, String> {
    serde_json::from_str(raw.get()).map_err(|_| format!("{name} must be a string, not {}", excerpt(raw)))
}

fn read<T: DeserializeOwned>(params: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(params)).map_err(|error| format!("params: {error}"))
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientRequest, GetMeta};
    use serde_json::value::RawValue;

    use super::typed;

    fn try_typed(method: &str, params: &str) -> Result<super::Typed, String> {
        let raw: &RawValue = serde_json::from_str(params).unwrap();
        typed(method, Some(raw))
    }

    #[test]
    fn a_problem_names_its_field() {
        for (method, params, problem) in [
            (
                "tools/call",
                "null",
                "params must be an object with the tool's name",
            ),
            (
                "tools/call",
                "[]",
                "params must be an object with the tool's name",
            ),
            ("tools/call", "{}", "params.name is missing"),
            (
                "tools/call",
                r#"{"name":1}"#,
                "params.name must be a string, not 1",
            ),
            (
                "tools/call",
                r#"{"name":"t","arguments":[1]}"#,
                "params.arguments must be an object, not [1]",
            ),
            (
                "tools/call",
                r#"{"name":"t","requestState":{}}"#,
                "params.requestState must be a string, not {}",
            ),
            (
                "tools/call",
                r#"{"name":"t","_meta":3}"#,
                "params._meta must be an object, not 3",
            ),
            (
                "tools/call",
                r#"{"name":"t","_meta":{"progressToken":[]}}"#,
                "params._meta.progressToken must be a string or an integer",
            ),
            ("tools/list", "[1]", "params must be an object, not [1]"),
            (
                "initialize",
                r#"{"capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
                "params: missing field `protocolVersion`",
            ),
        ] {
            assert_eq!(
                try_typed(method, params).err().as_deref(),
                Some(problem),
                "{method} {params}"
            );
        }
        assert_eq!(
            typed("tools/call", None).err().as_deref(),
            Some("params must be an object with the tool's name")
        );
    }

    #[test]
    fn an_unknown_method_is_unknown_whatever_its_parameters() {
        for params in ["[1]", "1e999", r#"{"_meta":1}"#] {
            assert!(try_typed("no/such", params).is_ok(), "{params}");
        }
    }

    #[test]
    fn arguments_that_cannot_be_held_are_told_and_left_out() {
        for arguments in [
            r#"{"n":1e999}"#,
            r#"{"s":"\ud800"}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
        ] {
            let call = try_typed(
                "tools/call",
                &format!(r#"{{"name":"t","arguments":{arguments}}}"#),
            )
            .unwrap();
            assert!(call.unreadable.is_some(), "{arguments}");
        }
    }

    #[test]
    fn meta_arrives() {
        for method in ["ping", "tools/list", "no/such"] {
            let request = try_typed(method, r#"{"_meta":{"a":1}}"#).unwrap().request;
            assert_eq!(request.get_meta().0.0["a"], 1, "{method}");
        }
        let call = try_typed("tools/call", r#"{"name":"t","_meta":{"a":1}}"#)
            .unwrap()
            .request;
        assert_eq!(call.get_meta().0.0["a"], 1);
        assert!(matches!(call, ClientRequest::CallToolRequest(_)));
    }
}
