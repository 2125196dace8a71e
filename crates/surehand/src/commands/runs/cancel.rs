//! `surehand runs cancel`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use surehand_store::{Cancelled, SqliteStore, Store};

use super::find;
use crate::{cli::Common, errors::CliError, term};

/// Cancel a run that waits or goes on, in whatever process it is
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run's id, or the beginning of it
    id: String,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) async fn run(args: &CancelArgs, store: Option<&SqliteStore>, by: &str) -> Result<(), CliError> {
    let (store, record) = find(store, &args.id).await?;
    let id = record.summary.id;
    let (word, text) = match store.request_cancel(id, by, Timestamp::now()).await? {
        Cancelled::Now => ("cancelled", format!("{id} is cancelled\n")),
        Cancelled::Requested => (
            "requested",
            format!("{id} is being cancelled; `surehand runs show {id}` tells when it has ended\n"),
        ),
    };
    if args.json {
        return term::out_json(&json!({ "run_id": id, "cancel": word }));
    }
    term::out(&text)
}
