//! State that travels through a client and comes back (MCP 2026-07-28, "Multi Round-Trip Requests").
//!
//! What comes back is in an attacker's hands. It is sealed with HMAC-SHA256 under a key that only this process
//! has, bound to caller, tool and arguments, dies after five minutes, and is taken once.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use rmcp::model::{InputResponses, RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use surehand_core::Inputs;
use uuid::Uuid;

use crate::elicit;

const LIFE: Duration = Duration::from_mins(5);

/// Why a state does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error(
        "params.requestState was not given out for this call: it was changed, or made for another tool, other arguments, another caller or an earlier start of the server"
    )]
    Foreign,
    #[error("params.requestState has expired: make the call again without it")]
    Expired,
    #[error("params.requestState was used before: make the call again without it")]
    Used,
    #[error("params.inputResponses.{key} is missing")]
    Unanswered { key: String },
    #[error("params.inputResponses.{key}: {problem}")]
    Malformed { key: String, problem: String },
}

/// There is no key to seal with.
#[derive(Debug, thiserror::Error)]
#[error("state cannot be sealed: {0}")]
pub(crate) struct SealError(String);

/// What a state belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding([u8; 32]);

impl Binding {
    /// The order of keys does not count: clients may send the same arguments in another.
    pub(crate) fn new(principal: &str, tool: &str, arguments: &Map<String, Value>) -> Self {
        let mut digest = Sha256::new();
        for part in [principal, tool] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.update(sorted_map(arguments).to_string());
        Self(digest.finalize().into())
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => sorted_map(map),
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn sorted_map(map: &Map<String, Value>) -> Value {
    let sorted: BTreeMap<&String, Value> = map.iter().map(|(key, value)| (key, sorted(value))).collect();
    Value::Object(
        sorted
            .into_iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
    )
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    once: Uuid,
    keys: Vec<String>,
    state: Value,
}

/// Seals and opens.
#[derive(Default)]
pub(crate) struct StateSeal {
    codec: OnceLock<RequestStateCodec>,
    used: Mutex<Used>,
}

/// The states that were taken and might come again.
#[derive(Default)]
struct Used {
    known: HashSet<Uuid>,
    by_age: VecDeque<(Instant, Uuid)>,
}

impl StateSeal {
    /// Seals `state` together with the keys of the questions that it goes with.
    pub(crate) fn seal(
        &self,
        binding: &Binding,
        keys: Vec<String>,
        state: Value,
    ) -> Result<String, SealError> {
        self.seal_for(LIFE, binding, keys, state)
    }

    fn seal_for(
        &self,
        life: Duration,
        binding: &Binding,
        keys: Vec<String>,
        state: Value,
    ) -> Result<String, SealError> {
        let once = Uuid::new_v4();
        let options = SealOptions::new().associated_data(&binding.0).ttl(life);
        self.codec()?
            .seal_json_with(&Sealed { once, keys, state }, &options)
            .map_err(|error| SealError(error.to_string()))
    }

    /// Opens what [`StateSeal::seal`] made for the same binding, and reads the answers that came with it. The
    /// state is used up only when all is well.
    pub(crate) fn open(
        &self,
        binding: &Binding,
        sealed: &str,
        responses: &InputResponses,
    ) -> Result<Inputs, StateError> {
        // Without a key nothing was sealed.
        let codec = self.codec.get().ok_or(StateError::Foreign)?;
        let Sealed { once, keys, state } =
            codec
                .open_json_with(sealed, &binding.0)
                .map_err(|error| match error {
                    RequestStateError::Expired => StateError::Expired,
                    _ => StateError::Foreign,
                })?;
        let mut answers = BTreeMap::new();
        for key in keys {
            let Some(response) = responses.get(&key) else {
                return Err(StateError::Unanswered { key });
            };
            match elicit::answer(response) {
                Ok(answer) => answers.insert(key, answer),
                Err(problem) => return Err(StateError::Malformed { key, problem }),
            };
        }
        self.use_up(once)?;
        Ok(Inputs {
            answers,
            state: Some(state),
        })
    }

    fn use_up(&self, once: Uuid) -> Result<(), StateError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((at, old)) = used.by_age.front().copied()
            && at.elapsed() > LIFE
        {
            used.by_age.pop_front();
            used.known.remove(&old);
        }
        if !used.known.insert(once) {
            return Err(StateError::Used);
        }
        used.by_age.push_back((Instant::now(), once));
        Ok(())
    }

    /// The key is made at the first use.
    fn codec(&self) -> Result<&RequestStateCodec, SealError> {
        if let Some(codec) = self.codec.get() {
            return Ok(codec);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| SealError(error.to_string()))?;
        let codec = RequestStateCodec::try_new(key).map_err(|error| SealError(error.to_string()))?;
        Ok(self.codec.get_or_init(|| codec))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::model::InputResponses;
    use serde_json::{Map, Value, json};
    use surehand_core::InputAnswer;

    use super::{Binding, StateError, StateSeal};

    fn arguments(json: Value) -> Map<String, Value> {
        match json {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    fn accepted() -> InputResponses {
        [("q".to_owned(), json!({"action": "accept"}))].into()
    }

    #[test]
    fn a_state_opens_once_for_its_call() {
        let seal = StateSeal::default();
        let binding = Binding::new("ann", "drop", &arguments(json!({"a": {"x": 1, "y": 2}, "b": 2})));
        let sealed = seal
            .seal(&binding, vec!["q".to_owned()], json!({"n": 1}))
            .unwrap();
        let same = Binding::new("ann", "drop", &arguments(json!({"b": 2, "a": {"y": 2, "x": 1}})));
        let inputs = seal.open(&same, &sealed, &accepted()).unwrap();
        assert_eq!(inputs.state, Some(json!({"n": 1})));
        assert_eq!(inputs.answers["q"], InputAnswer::Accept(Map::new()));
        assert_eq!(seal.open(&same, &sealed, &accepted()), Err(StateError::Used));
    }

    #[test]
    fn a_state_opens_for_no_other_call() {
        let seal = StateSeal::default();
        let binding = Binding::new("ann", "drop", &arguments(json!({"a": 1})));
        let sealed = seal.seal(&binding, vec![], json!(1)).unwrap();
        for (principal, tool, args) in [
            ("bob", "drop", json!({"a": 1})),
            ("ann", "drop2", json!({"a": 1})),
            ("annd", "rop", json!({"a": 1})),
            ("ann", "drop", json!({"a": 2})),
            ("ann", "drop", json!({"a": "1"})),
        ] {
            let other = Binding::new(principal, tool, &arguments(args));
            assert_eq!(seal.open(&other, &sealed, &accepted()), Err(StateError::Foreign));
        }
        for at in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(
                seal.open(&binding, &changed, &accepted()),
                Err(StateError::Foreign),
                "byte {at}"
            );
        }
        assert_eq!(
            StateSeal::default().open(&binding, &sealed, &accepted()),
            Err(StateError::Foreign)
        );
        assert!(
            seal.open(&binding, &sealed, &accepted()).is_ok(),
            "and it is not used up by all that"
        );
    }

    #[test]
    fn a_state_expires() {
        let seal = StateSeal::default();
        let binding = Binding::new("ann", "drop", &Map::new());
        let sealed = seal
            .seal_for(Duration::from_millis(20), &binding, vec![], json!(1))
            .unwrap();
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(
            seal.open(&binding, &sealed, &accepted()),
            Err(StateError::Expired)
        );
    }

    #[test]
    fn a_state_wants_all_its_answers() {
        let seal = StateSeal::default();
        let binding = Binding::new("ann", "drop", &Map::new());
        let sealed = seal.seal(&binding, vec!["q".to_owned()], json!(1)).unwrap();
        assert!(matches!(
            seal.open(&binding, &sealed, &InputResponses::new()),
            Err(StateError::Unanswered { .. })
        ));
        let wrong = [("q".to_owned(), json!({"action": "yes"}))].into();
        assert!(matches!(
            seal.open(&binding, &sealed, &wrong),
            Err(StateError::Malformed { .. })
        ));
        assert!(seal.open(&binding, &sealed, &accepted()).is_ok());
    }
}
