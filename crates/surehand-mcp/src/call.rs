//! One `tools/call` request from its parameters to its result, questions to a person included.

use std::{collections::BTreeMap, panic::AssertUnwindSafe};

use futures::FutureExt;
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, InputRequiredResult, RequestId, RequestMetaObject},
};
use serde_json::{Map, Value, json};
use surehand_core::{Answer, Call, CallError, Ctx, InputRequest, Inputs};

use crate::{
    convert,
    elicit::{self, Asked},
    in_flight::Ticket,
    peer::Peer,
    progress,
    sealed_state::Binding,
    session::Session,
    wire::RawField,
};

/// How often one call may ask, in the era where the server asks.
const ROUNDS: usize = 10;

/// Carries out a call and says what to answer.
pub(crate) async fn call_tool(
    session: &Session,
    id: &RequestId,
    meta: &RequestMetaObject,
    params: CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let peer = session.peer(meta);
    let ticket = session
        .in_flight
        .ticket(id)
        .ok_or_else(|| internal("the request is not open"))?;
    let mut call = Round {
        session,
        id,
        meta,
        peer,
        ticket,
        tool: params.name.into_owned(),
        arguments: params.arguments.unwrap_or_default(),
    };
    if let Some(problem) = &call.ticket.unreadable {
        return Ok(convert::failure(format!("Refused: {}: {problem}", call.tool)).into());
    }
    let mut inputs = match (
        call.peer.is_modern(),
        params.request_state,
        params.input_responses,
    ) {
        (true, Some(state), responses) => call.open(&state, &responses.unwrap_or_default())?,
        (true, None, Some(_)) => {
            let problem = "params.inputResponses came without params.requestState";
            return Err(ErrorData::invalid_params(problem, None));
        }
        _ => Inputs::default(),
    };
    for _ in 0..ROUNDS {
        let (requests, state) = match call.carry_out(inputs).await {
            Ok(Answer::Done(outcome)) => {
                let (result, raw) = convert::outcome(outcome).map_err(internal)?;
                if let Some(raw) = raw {
                    session.in_flight.attach(id, raw);
                }
                return Ok(result.into());
            }
            Ok(Answer::NeedsInput { requests, state }) => (requests, state),
            Err(error) => return convert::call_error(&call.tool, &error).map(Into::into),
        };
        if !call.peer.elicitation {
            tracing::error!(tool = call.tool, "a question to a client that cannot ask");
            return Err(internal(
                "the tool has a question, and the client cannot ask its person",
            ));
        }
        if call.peer.is_modern() {
            return call.hand_over(&requests, state);
        }
        inputs = match call.ask(&requests).await {
            Ok(Some(answers)) => Inputs {
                answers,
                state: Some(state),
            },
            // It said that it can ask, and cannot: then it is treated as one that never said so.
            Ok(None) => {
                call.peer.elicitation = false;
                Inputs::default()
            }
            Err(error) => return convert::call_error(&call.tool, &error).map(Into::into),
        };
    }
    tracing::error!(tool = call.tool, "a tool asks without end");
    Err(internal("the tool asks without end"))
}

fn internal(problem: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("internal error: {problem}"), None)
}

/// Whether this is a `traceparent` (W3C Trace Context, section 3.2). Anything else is to be passed over.
fn is_traceparent(text: &str) -> bool {
    let mut lengths = [2, 32, 16, 2].into_iter();
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    text.split('-')
        .all(|part| lengths.next() == Some(part.len()) && is_hex(part))
        && lengths.next().is_none()
}

/// A call, in whichever of its rounds.
struct Round<'a> {
    session: &'a Session,
    id: &'a RequestId,
    meta: &'a RequestMetaObject,
    peer: Peer,
    ticket: Ticket,
    tool: String,
    arguments: Map<String, Value>,
}

impl Round<'_> {
    async fn carry_out(&mut self, inputs: Inputs) -> Result<Answer, CallError> {
        if self.ticket.cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let cx = self.ctx(inputs);
        // Only a client that can be asked sees a second round.
        let arguments = if self.peer.elicitation {
            self.arguments.clone()
        } else {
            std::mem::take(&mut self.arguments)
        };
        let call = Call::new(self.tool.clone(), arguments);
        AssertUnwindSafe(async { self.session.toolset.call(&cx, call).await })
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(CallError::Internal("the tool panicked".to_owned())))
    }

    fn ctx(&self, inputs: Inputs) -> Ctx {
        let token = self.meta.get("progressToken");
        let progress = token
            .filter(|token| token.is_string() || token.is_number())
            .map(|token| {
                progress::sink(
                    token.clone(),
                    self.ticket.gate.clone(),
                    self.session.outbox.clone(),
                )
            });
        self.session
            .ctx(&self.peer)
            .cancel(self.ticket.cancel.clone())
            .progress(progress)
            .trace(
                self.meta
                    .get_traceparent()
                    .filter(|text| is_traceparent(text))
                    .map(str::to_owned),
            )
            .inputs(inputs)
            .build()
    }

    fn binding(&self) -> Binding {
        Binding::new(&self.session.options.principal, &self.tool, &self.arguments)
    }

    fn open(&self, state: &str, responses: &BTreeMap<String, Value>) -> Result<Inputs, ErrorData> {
        self.session
            .seal
            .open(&self.binding(), state, responses)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }

    /// Gives the questions to the client, which calls again with the answers.
    fn hand_over(
        &self,
        requests: &[(String, InputRequest)],
        state: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        let keys = requests.iter().map(|(key, _)| key.clone()).collect();
        let sealed = self
            .session
            .seal
            .seal(&self.binding(), keys, state)
            .map_err(internal)?;
        let requests: Map<String, Value> = requests
            .iter()
            .map(|(key, request)| {
                let params = elicit::params(request, &self.peer.revision);
                (
                    key.clone(),
                    json!({"method": "elicitation/create", "params": params}),
                )
            })
            .collect();
        let json = serde_json::value::to_raw_value(&requests)
            .map_err(internal)?
            .into();
        let name = "inputRequests";
        self.session.in_flight.attach(self.id, RawField { name, json });
        Ok(InputRequiredResult::from_request_state(sealed).into())
    }

    /// Asks one question after the other and waits for the answers. None where the client turns out unable to ask.
    async fn ask(
        &self,
        requests: &[(String, InputRequest)],
    ) -> Result<Option<BTreeMap<String, surehand_core::InputAnswer>>, CallError> {
        let mut answers = BTreeMap::new();
        for (key, request) in requests {
            let asked = self.session.elicitations.ask(
                request,
                &self.peer.revision,
                &self.ticket.cancel,
                &self.session.outbox,
            );
            match asked.await {
                Asked::Answered(answer) => answers.insert(key.clone(), answer),
                Asked::Cancelled => return Err(CallError::Cancelled),
                Asked::Failed(problem) => {
                    tracing::warn!(tool = self.tool, "{problem}");
                    return Ok(None);
                }
            };
        }
        Ok(Some(answers))
    }
}

#[cfg(test)]
mod tests {
    use super::is_traceparent;

    #[test]
    fn a_traceparent_has_four_parts() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        assert!(is_traceparent(good));
        for bad in [
            "",
            "00",
            &good[1..],
            &good[..54],
            &format!("{good}-01"),
            &good.to_uppercase(),
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }
}
