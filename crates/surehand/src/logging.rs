//! What is logged, to standard error.

use std::{
    fmt::Debug,
    io::{self, IsTerminal},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

use crate::{
    config::Environment,
    errors::{CliError, hint_line, warn},
};

/// For whom is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A person who gave one command: the words of warnings and errors, and what to do.
    Person,
    /// Whoever looks after a server: times and places too.
    Operator,
}

/// Starts logging. `SUREHAND_LOG` is a level (`warn` where it is not set), or a list of levels by module such
/// as `info,surehand_exec=debug`.
pub(crate) fn start(environment: &Environment, reader: Reader) -> Result<(), CliError> {
    let text = environment.log();
    let plainly = reader == Reader::Person && text.is_none();
    let targets = targets(text.as_deref().unwrap_or("warn")).map_err(|part| {
        CliError::usage_with_hint(
            format!("SUREHAND_LOG: {part:?} is no level"),
            "a level is one of off, error, warn, info, debug, trace; MODULE=LEVEL sets one module's",
        )
    })?;
    let colours = io::stderr().is_terminal() && environment.get("NO_COLOR").is_none();
    // Where nobody reads standard error any more, there is nobody to tell.
    let lines = (!plainly).then(|| {
        tracing_subscriber::fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(colours)
            .log_internal_errors(false)
    });
    tracing_subscriber::registry()
        .with(lines)
        .with(plainly.then_some(Plainly))
        .with(targets)
        .try_init()
        .map_err(|error| CliError::Internal(error.to_string()))
}

/// Says an event as everything else is said at the command line: as a warning, since what is fatal is the
/// command's own error.
struct Plainly;

impl<S: Subscriber> Layer<S> for Plainly {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut words = Words::default();
        event.record(&mut words);
        warn(format_args!("{}{}", words.message, words.others));
        if !words.hint.is_empty() {
            hint_line(&words.hint);
        }
    }
}

/// The fields of an event.
#[derive(Default)]
struct Words {
    message: String,
    hint: String,
    others: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "hint" => value.clone_into(&mut self.hint),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.others.push_str(&format!("; {name}: {value:?}")),
        }
    }
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
