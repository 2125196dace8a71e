//! `surehand runs approve` and `surehand runs reject`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use surehand_store::{SqliteStore, Store};

use super::find;
use crate::{cli::Common, errors::CliError, term};

/// Release a call that waits for a person: once, with exactly its arguments, within five minutes
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The run's id, or the beginning of it
    id: String,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

/// Refuse a call that waits for a person
#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run's id, or the beginning of it
    id: String,

    /// Why, for history
    #[arg(long)]
    reason: Option<String>,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) async fn approve(
    args: &ApproveArgs,
    store: Option<&SqliteStore>,
    by: &str,
) -> Result<(), CliError> {
    let (store, record) = find(store, &args.id).await?;
    let run = &record.summary;
    store.approve(run.id, by, Timestamp::now()).await?;
    if args.json {
        return term::out_json(&json!({ "run_id": run.id, "decision": "approved", "by": by }));
    }
    term::out(&format!(
        "Approved: {}\n$ {}\nIt has not run yet: the same call must come again within five minutes.\n",
        term::plain(&run.tool),
        term::plain(&run.display)
    ))
}

pub(super) async fn reject(args: &RejectArgs, store: Option<&SqliteStore>, by: &str) -> Result<(), CliError> {
    let (store, record) = find(store, &args.id).await?;
    let run = &record.summary;
    store
        .reject(run.id, by, args.reason.as_deref(), Timestamp::now())
        .await?;
    if args.json {
        return term::out_json(&json!({ "run_id": run.id, "decision": "rejected", "by": by }));
    }
    term::out(&format!(
        "Rejected: {}\n$ {}\n",
        term::plain(&run.tool),
        term::plain(&run.display)
    ))
}
