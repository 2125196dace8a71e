//! What is logged, to standard error.

use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{config::Environment, errors::CliError};

/// Starts logging. `SUREHAND_LOG` is a level (`warn` where it is not set), or a list of levels by module such
/// as `info,surehand_exec=debug`.
pub(crate) fn start(environment: &Environment) -> Result<(), CliError> {
    let text = environment.log();
    let targets = targets(text.as_deref().unwrap_or("warn")).map_err(|part| {
        CliError::usage_with_hint(
            format!("SUREHAND_LOG: {part:?} is no level"),
            "a level is one of off, error, warn, info, debug, trace; MODULE=LEVEL sets one module's",
        )
    })?;
    let colours = io::stderr().is_terminal() && environment.get("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(colours);
    tracing_subscriber::registry()
        .with(lines)
        .with(targets)
        .try_init()
        .map_err(|error| CliError::Internal(error.to_string()))
}

/// What is logged, by module. The error is the part that makes no sense.
fn targets(text: &str) -> Result<Targets, &str> {
    // The protocol library warns of every answer that is an error, which is the client's to know.
    let mut targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("rmcp", LevelFilter::ERROR);
    for part in text.split(',').map(str::trim) {
        // The parser takes an empty text for a level.
        let level = |text: &str| {
            (!text.is_empty())
                .then(|| text.parse::<LevelFilter>().ok())
                .flatten()
                .ok_or(part)
        };
        targets = match part.split_once('=') {
            Some((module, text)) => targets.with_target(module, level(text)?),
            None => targets.with_default(level(part)?),
        };
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::targets;

    #[test]
    fn levels_may_be_given_by_module() {
        let all = targets("info, surehand_exec=debug").unwrap();
        assert!(all.would_enable("surehand", &Level::INFO));
        assert!(!all.would_enable("surehand", &Level::DEBUG));
        assert!(all.would_enable("surehand_exec::pool", &Level::DEBUG));
        assert!(!targets("off").unwrap().would_enable("surehand", &Level::ERROR));
    }

    #[test]
    fn what_is_no_level_is_named() {
        assert_eq!(targets("lots").unwrap_err(), "lots");
        assert_eq!(targets("info,x=much").unwrap_err(), "x=much");
        assert_eq!(targets("info,").unwrap_err(), "");
    }
}
