//! What can be said on the command line.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args, CommandFactory, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use surehand_core::nearest;

use crate::{commands, errors::CliError};

// A narrow terminal breaks lines and keeps their indent: names stand on lines of their own.
const ENVIRONMENT: &str = "\
Without a command, serves over standard input and output.

Manifests are looked up in this order: --manifest PATH, $RUNBOOK_MCP_MANIFEST, ./runbooks.json.

Environment variables:
  RUNBOOK_MCP_MANIFEST
      The manifest, where no --manifest is given
  RUNBOOK_MCP_DRY_RUN=1
      Say what each call would run instead of running it
  RUNBOOK_MCP_BASH
      Where bash.exe is on Windows (default: Git for Windows)
  SUREHAND_STATE_DIR
      The folder for history and locks
  SUREHAND_USER
      Who calls, for history (default: the system user)
  SUREHAND_LOG
      What is logged: error, warn (default), info, debug or trace
  NO_COLOR
      No colours

Exit codes:
  0  done
  1  the called thing failed
  2  usage or invalid input
  3  refused
  4  internal error";

/// Gives AI agents sure hands: serves the scripts that a team has declared as MCP tools, and nothing else
#[derive(Debug, Parser)]
#[command(
    name = "surehand",
    disable_version_flag = true,
    after_help = ENVIRONMENT,
    subcommand_precedence_over_arg = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,

    #[command(flatten)]
    pub(crate) running: Running,

    #[command(flatten)]
    pub(crate) serving: commands::serve::Serving,

    /// Show what an agent sees; the same as `surehand tools`
    #[arg(long)]
    list_tools: bool,

    /// With --list-tools: as JSON
    #[arg(long, requires = "list_tools")]
    json: bool,

    /// Print the version
    #[arg(short = 'v', long)]
    version: bool,

    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Common {
    /// A manifest to use; may be given several times
    #[arg(short, long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) manifest: Vec<PathBuf>,

    // Not a doc comment, where the variable would need backticks.
    #[arg(
        long,
        value_name = "DIR",
        help = "The folder for history and locks [env: SUREHAND_STATE_DIR]"
    )]
    pub(crate) state_dir: Option<PathBuf>,
}

impl Common {
    /// What was said before the command and after it.
    fn and(&self, after: Self) -> Self {
        let mut manifest = self.manifest.clone();
        manifest.extend(after.manifest);
        Self {
            manifest,
            state_dir: after.state_dir.or_else(|| self.state_dir.clone()),
        }
    }
}

/// What only a command takes that runs something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Running {
    /// Say what would be run instead of running it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Remember nothing of what runs
    #[arg(long)]
    pub(crate) no_history: bool,
}

impl Running {
    fn and(&self, after: &Self) -> Self {
        Self {
            dry_run: self.dry_run || after.dry_run,
            no_history: self.no_history || after.no_history,
        }
    }
}

/// Flags that were said before the command.
#[derive(Debug, Default)]
pub(crate) struct Before {
    common: Common,
    running: Running,
    serving: commands::serve::Serving,
}

impl Before {
    /// For a command that runs nothing.
    pub(crate) fn looking(&self, common: Common) -> Result<Common, CliError> {
        if self.running != Running::default() {
            return Err(CliError::usage(
                "--dry-run and --no-history only go with `call` and with serving",
            ));
        }
        self.no_serving()?;
        Ok(self.common.and(common))
    }

    /// For a command that runs something once.
    pub(crate) fn running(&self, common: Common, running: &Running) -> Result<(Common, Running), CliError> {
        self.no_serving()?;
        Ok((self.common.and(common), self.running.and(running)))
    }

    /// For a server.
    pub(crate) fn serving(
        &self,
        args: commands::serve::ServeArgs,
    ) -> (Common, Running, commands::serve::Serving) {
        (
            self.common.and(args.common),
            self.running.and(&args.running),
            self.serving.and(&args.serving),
        )
    }

    fn no_serving(&self) -> Result<(), CliError> {
        if self.serving.is_set() {
            return Err(CliError::usage("--drain only goes with serving"));
        }
        Ok(())
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Serve(commands::serve::ServeArgs),
    Init(commands::init::InitArgs),
    Validate(commands::validate::ValidateArgs),
    Tools(commands::tools::ToolsArgs),
    Call(commands::call::CallArgs),
    Runs(commands::runs::RunsArgs),
    Doctor(commands::doctor::DoctorArgs),
    Completions(commands::completions::CompletionsArgs),
    /// Print the version
    Version,
}

impl Cli {
    /// The command, once flags that are commands by another name are made commands.
    pub(crate) fn into_parts(self) -> Result<(Before, Verb), CliError> {
        let by_flag = match (self.version, self.list_tools) {
            (true, _) => Some(Verb::Version),
            (false, true) => Some(Verb::Tools(commands::tools::ToolsArgs::as_json(self.json))),
            (false, false) => None,
        };
        let verb = match (by_flag, self.verb) {
            (Some(_), Some(_)) => {
                return Err(CliError::usage("--version and --list-tools go with no command"));
            }
            (Some(verb), None) | (None, Some(verb)) => verb,
            (None, None) => Verb::Serve(commands::serve::ServeArgs::default()),
        };
        let before = Before {
            common: self.common,
            running: self.running,
            serving: self.serving,
        };
        Ok((before, verb))
    }
}

/// The whole command line as clap sees it.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, CliError> {
    let words: Vec<OsString> = words.into_iter().collect();
    Cli::try_parse_from(&words).map_err(|error| in_our_words(error, &words))
}

/// Says in our own way what scripts and people look for; leaves the rest to clap.
fn in_our_words(error: clap::Error, words: &[OsString]) -> CliError {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    if error.kind() == ErrorKind::InvalidSubcommand {
        let word = text(ContextKind::InvalidSubcommand)
            .unwrap_or_default()
            .to_owned();
        let (within, verbs) = verbs_before(&word, words);
        let nearest = nearest(&word, verbs.iter().map(String::as_str)).map(str::to_owned);
        return CliError::UnknownCommand {
            word,
            within,
            nearest,
        };
    }
    // Both a missing and an empty value are reported as an invalid one.
    if error.kind() == ErrorKind::InvalidValue
        && argument.starts_with("--manifest")
        && text(ContextKind::InvalidValue).is_none_or(str::is_empty)
    {
        return CliError::ManifestNeedsPath;
    }
    // clap would have it written behind `--`, where it is no argument either.
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(name) = argument.strip_prefix("--")
        && !is_near_an_option_of_call(name)
        && verbs_before(argument, words).0 == "call "
    {
        return CliError::usage_with_hint(
            format!("`surehand call` has no option {argument}"),
            format!("an argument of the tool is written {name}=VALUE, without dashes"),
        );
    }
    CliError::Clap(error)
}

fn is_near_an_option_of_call(name: &str) -> bool {
    let command = command();
    let options = command
        .find_subcommand("call")
        .into_iter()
        .flat_map(clap::Command::get_arguments)
        .filter_map(clap::Arg::get_long);
    nearest(name, options).is_some()
}

/// The commands that stand before `word`, and those that could stand in its place.
fn verbs_before(word: &str, words: &[OsString]) -> (String, Vec<String>) {
    let mut within = String::new();
    let mut innermost = command();
    for said in words.iter().skip(1).take_while(|said| *said != word) {
        let verb = said
            .to_str()
            .and_then(|said| innermost.find_subcommand(said))
            .cloned();
        if let Some(verb) = verb {
            within.push_str(verb.get_name());
            within.push(' ');
            innermost = verb;
        }
    }
    let verbs = innermost
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    (within, verbs)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Cli, Verb, parse};
    use crate::errors::CliError;

    fn read(words: &[&str]) -> Result<Cli, CliError> {
        parse(
            std::iter::once("surehand")
                .chain(words.iter().copied())
                .map(OsString::from),
        )
    }

    #[test]
    fn the_definition_is_sound() {
        super::command().debug_assert();
    }

    #[test]
    fn a_manifest_may_be_named_before_and_after_the_command() {
        let (before, verb) = read(&["-m", "a", "--manifest=b", "validate", "--manifest", "-c"])
            .unwrap()
            .into_parts()
            .unwrap();
        let Verb::Validate(args) = verb else {
            panic!("not validate")
        };
        let all = before.looking(args.common).unwrap();
        assert_eq!(all.manifest, ["a", "b", "-c"].map(std::path::PathBuf::from));
    }

    #[test]
    fn a_manifest_needs_a_path() {
        for words in [
            &["--manifest"][..],
            &["--manifest="],
            &["-m"],
            &["validate", "--manifest"],
            &["call", "x", "--manifest", ""],
        ] {
            let error = read(words).unwrap_err();
            assert!(
                matches!(error, CliError::ManifestNeedsPath),
                "{words:?}: {error:?}"
            );
        }
    }

    #[test]
    fn an_unknown_command_is_named_with_the_nearest() {
        for (words, expected) in [
            (&["validat"][..], ("validat", "", Some("validate"))),
            (&["frobnicate"], ("frobnicate", "", None)),
            (&["runs", "lis"], ("lis", "runs ", Some("list"))),
            (
                &["--state-dir", "x", "runs", "shwo", "--json"],
                ("shwo", "runs ", Some("show")),
            ),
            (&["help", "runs", "lis"], ("lis", "runs ", Some("list"))),
        ] {
            match read(words).unwrap_err() {
                CliError::UnknownCommand {
                    word,
                    within,
                    nearest,
                } => {
                    assert_eq!((word.as_str(), within.as_str(), nearest.as_deref()), expected);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn unknown_options_and_surplus_words_are_errors() {
        for words in [&["--frobnicate"][..], &["validate", "x"], &["tools", "--verbose"]] {
            assert!(matches!(read(words), Err(CliError::Clap(_))), "{words:?}");
        }
    }

    #[test]
    fn a_flag_that_would_change_nothing_is_an_error() {
        for flag in ["--drain=5", "--dry-run", "--no-history"] {
            let (before, verb) = read(&[flag, "validate"]).unwrap().into_parts().unwrap();
            let Verb::Validate(args) = verb else {
                panic!("not validate")
            };
            assert!(
                matches!(before.looking(args.common), Err(CliError::Usage { .. })),
                "{flag}"
            );
            assert!(read(&["runs", "cancel", "0123", flag]).is_err(), "{flag}");
        }
    }
}
