//! Who asks, and over what.

use serde::{Deserialize, Serialize};

/// The way by which a call arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// An MCP client that started this process.
    Stdio,
    /// A person, or a script of theirs, at the command line.
    CommandLine,
    /// An MCP client over HTTP, named by its token.
    Http,
    /// Code that embeds a toolset.
    InProcess,
}

impl Channel {
    /// The channel's name in history and policy.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::CommandLine => "command_line",
            Self::Http => "http",
            Self::InProcess => "in_process",
        }
    }
}

/// What a client says of itself in its handshake. Never a basis for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The client's name, for example `claude-code`.
    pub name: String,
    /// The client's version.
    pub version: String,
}

/// The one on whose behalf a call is made.
///
/// On [`Channel::Stdio`] and [`Channel::CommandLine`] the principal is asserted by the environment, not
/// proven: that stops mistakes, not an agent that has a shell as the same user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The person or account.
    pub principal: String,
    /// The way the call arrived.
    pub channel: Channel,
    /// The client program, where it said.
    pub client: Option<ClientInfo>,
}

impl Caller {
    /// A caller without a client program.
    #[must_use]
    pub fn new(principal: impl Into<String>, channel: Channel) -> Self {
        Self {
            principal: principal.into(),
            channel,
            client: None,
        }
    }
}
