//! `surehand runs`: what ran, and what waits.

mod cancel;
mod decide;
mod list;
mod logs;
mod show;
mod words;

use clap::{Args, Subcommand};
use surehand_core::{Action, Decision, Policy, Resource};
use surehand_policy::LocalPolicy;
use surehand_store::{RunRecord, SqliteOptions, SqliteStore, Store};

use crate::{
    cli::Common,
    compose::caller,
    config::Settings,
    errors::{CliError, Exit},
};

/// See, follow, cancel and release runs
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    verb: RunsVerb,
}

impl RunsArgs {
    pub(crate) fn into_parts(self) -> (RunsVerb, Common) {
        let common = match &self.verb {
            RunsVerb::List(args) => &args.common,
            RunsVerb::Show(args) => &args.common,
            RunsVerb::Logs(args) => &args.common,
            RunsVerb::Cancel(args) => &args.common,
            RunsVerb::Approve(args) => &args.common,
            RunsVerb::Reject(args) => &args.common,
        };
        let common = common.clone();
        (self.verb, common)
    }
}

/// What can be done with runs. A run is named by its id or the beginning of it.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Logs(logs::LogsArgs),
    Cancel(cancel::CancelArgs),
    Approve(decide::ApproveArgs),
    Reject(decide::RejectArgs),
}

impl RunsVerb {
    fn action(&self) -> Action {
        match self {
            Self::List(_) | Self::Show(_) | Self::Logs(_) => Action::ReadHistory,
            Self::Cancel(_) => Action::Cancel,
            Self::Approve(_) | Self::Reject(_) => Action::Approve,
        }
    }
}

pub(crate) async fn run(verb: RunsVerb, settings: &Settings) -> Result<Exit, CliError> {
    let caller = caller(settings);
    if let Decision::Deny { reason } = LocalPolicy.authorise(&caller, verb.action(), &Resource::History) {
        return Err(CliError::Denied(reason));
    }
    let store = open(settings).await?;
    let by = caller.principal;
    match verb {
        RunsVerb::List(args) => list::run(&args, store.as_ref()).await?,
        RunsVerb::Show(args) => show::run(&args, store.as_ref()).await?,
        RunsVerb::Logs(args) => logs::run(&args, store.as_ref()).await?,
        RunsVerb::Cancel(args) => cancel::run(&args, store.as_ref(), &by).await?,
        RunsVerb::Approve(args) => decide::approve(&args, store.as_ref(), &by).await?,
        RunsVerb::Reject(args) => decide::reject(&args, store.as_ref(), &by).await?,
    }
    Ok(Exit::Done)
}

/// The history, if anything was ever recorded.
async fn open(settings: &Settings) -> Result<Option<SqliteStore>, CliError> {
    let folder = settings.state_folder.as_ref().ok_or(CliError::NoStateFolder)?;
    Ok(SqliteStore::open_existing(folder, &SqliteOptions::default()).await?)
}

/// The run that `name` names, and the store it is in.
async fn find<'s>(
    store: Option<&'s SqliteStore>,
    name: &str,
) -> Result<(&'s SqliteStore, RunRecord), CliError> {
    let store = store.ok_or_else(|| CliError::usage("there is no run yet"))?;
    let record = store.find(name).await?;
    Ok((store, record))
}
