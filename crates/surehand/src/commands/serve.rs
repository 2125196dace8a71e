//! `surehand serve`, and `surehand` alone.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use surehand_mcp::{ServeOptions, serve_stdio};

use crate::{
    cli::{Common, Running},
    compose::Composed,
    config::Settings,
    errors::{CliError, Exit, NO_MANIFEST_HINT, hint_line},
    interrupt,
    term::say,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Serve over standard input and output (this is also what no command does)
#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) serving: Serving,

    #[command(flatten)]
    pub(crate) running: Running,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What only a server takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Serving {
    /// How many seconds calls may go on after the client has closed its end
    #[arg(long, value_name = "SECONDS")]
    drain: Option<u32>,
}

impl Serving {
    pub(crate) fn is_set(&self) -> bool {
        self.drain.is_some()
    }

    pub(crate) fn and(&self, after: &Self) -> Self {
        Self {
            drain: after.drain.or(self.drain),
        }
    }
}

pub(crate) async fn run(serving: &Serving, settings: &Settings) -> Result<Exit, CliError> {
    let shutdown = interrupt::token()?;
    let composed = Composed::with_history(settings).await?;
    let watching = composed.follow_edits();
    say_what_is_served(&composed, settings);

    let mut options = ServeOptions::new("surehand", VERSION, settings.principal.as_str());
    options.shutdown = shutdown;
    if let Some(seconds) = serving.drain {
        options.eof_grace = Duration::from_secs(seconds.into());
    }
    let ended = serve_stdio(Arc::new(composed.host.clone()), options).await;
    drop(watching);
    composed.close().await;
    match ended {
        Ok(_closed_or_gone_or_asked_to_end) => Ok(Exit::Done),
        Err(error) => Err(CliError::Internal(error.to_string())),
    }
}

/// One line for whoever reads the client's log, in the form that tools know.
fn say_what_is_served(composed: &Composed, settings: &Settings) {
    if settings.manifests.is_empty() {
        say(format_args!(
            "surehand {VERSION}: serving no tools: there is no runbooks.json here"
        ));
        hint_line(NO_MANIFEST_HINT);
    } else {
        let paths: Vec<String> = settings
            .manifests
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        say(format_args!(
            "surehand {VERSION}: serving {} runbook(s) from {}",
            composed.runbook_count(),
            paths.join(", ")
        ));
    }
    if io::stdin().is_terminal() {
        say("This is a server: it waits for an MCP client's messages on standard input. Ctrl-C ends it.");
        hint_line("`surehand call TOOL` calls a tool from here; `surehand tools` lists them");
    }
}
