//! What the one who serves may choose.

use std::time::Duration;

use surehand_core::Channel;
use tokio_util::sync::CancellationToken;

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The server's name, as clients see it (`serverInfo.name`).
    pub name: String,
    /// The server's version (`serverInfo.version`).
    pub version: String,
    /// The server's name for people (`serverInfo.title`).
    pub title: Option<String>,
    /// On whose behalf every call is made.
    pub principal: String,
    /// The way by which calls arrive.
    pub channel: Channel,
    /// Fires when the server is to end: nothing more is read, calls are cancelled, and what ends within two
    /// seconds is still answered.
    pub shutdown: CancellationToken,
    /// How long calls may go on after the end of the input. A request that was piped in gets its answer; a
    /// client that went away does not keep a script running. Clients that end a session by closing our input
    /// wait two seconds before they kill, so more than that is for pipelines only.
    pub eof_grace: Duration,
    /// The longest line that is read, in bytes. A longer one is passed over and answered with an error.
    pub line_limit: usize,
    /// How many requests may be unanswered at once. One more is answered with an error.
    pub in_flight_limit: usize,
    /// How many bytes unanswered requests may hold together.
    pub in_flight_bytes: usize,
}

impl ServeOptions {
    /// Options for a server of this name and version that calls on behalf of `principal`; all else at its
    /// default: standard input, a grace of 1.5 seconds, lines of 64 MiB, 1,000 requests and 256 MiB in flight.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>, principal: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            principal: principal.into(),
            channel: Channel::Stdio,
            shutdown: CancellationToken::new(),
            eof_grace: Duration::from_millis(1500),
            line_limit: 64 << 20,
            in_flight_limit: 1000,
            in_flight_bytes: 256 << 20,
        }
    }
}
