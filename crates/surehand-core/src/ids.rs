//! Identifiers.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id of one run: a UUID version 7 (RFC 9562), so that ids sort by the time of their making.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// A new id, later than every id made before it on this machine.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id's canonical text: 36 characters, lower case.
    #[must_use]
    pub fn as_text(&self) -> String {
        self.0.to_string()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({})", self.0)
    }
}

/// The text is not a run id.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text:?} is not a run id (a UUID such as 0193a1b2-...)")]
pub struct ParseRunIdError {
    text: String,
}

impl FromStr for RunId {
    type Err = ParseRunIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text).map(Self).map_err(|_| ParseRunIdError {
            text: text.to_owned(),
        })
    }
}
