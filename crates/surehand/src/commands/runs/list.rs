//! `surehand runs list`.

use clap::Args;
use serde_json::json;
use surehand_core::{RunId, RunStatus};
use surehand_store::{Page, RunFilter, RunSummary, SqliteStore, Store};

use super::words;
use crate::{cli::Common, errors::CliError, term};

/// Show runs, the latest first
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How many to show, at most 1000
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,

    /// Only those of this tool
    #[arg(long)]
    tool: Option<String>,

    /// Only those in this state; may be given several times
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<RunStatus>,

    /// Only those that failed or took too long
    #[arg(long)]
    failed: bool,

    /// Only those before this run, as the end of the last page says
    #[arg(long, value_name = "ID", value_parser = run_id)]
    before: Option<RunId>,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

fn status(text: &str) -> Result<RunStatus, String> {
    let names = RunStatus::ALL.map(RunStatus::as_str);
    RunStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == text)
        .ok_or_else(|| {
            let nearest = surehand_core::nearest(text, names)
                .map(|nearest| format!("; did you mean {nearest}?"))
                .unwrap_or_default();
            format!("a status is one of {}{nearest}", names.join(", "))
        })
}

fn run_id(text: &str) -> Result<RunId, String> {
    text.parse()
        .map_err(|error: surehand_core::ParseRunIdError| error.to_string())
}

pub(super) async fn run(args: &ListArgs, store: Option<&SqliteStore>) -> Result<(), CliError> {
    let page = match store {
        None => Page {
            runs: Vec::new(),
            next: None,
        },
        Some(store) => {
            let filter = RunFilter {
                statuses: args.status.clone(),
                tool: args.tool.clone(),
                failed_only: args.failed,
                before: args.before,
                limit: args.limit,
                ..RunFilter::default()
            };
            store.list(&filter).await?
        }
    };
    if args.json {
        return term::out_json(&json!({ "runs": page.runs, "next": page.next }));
    }
    if page.runs.is_empty() {
        return term::out("No runs.\n");
    }
    term::out(&table(&page.runs))?;
    match page.next {
        Some(next) => term::out(&format!("More: surehand runs list --before {next}\n")),
        None => Ok(()),
    }
}

fn table(runs: &[RunSummary]) -> String {
    let mut rows = vec![["ID", "STATUS", "TOOL", "STARTED", "TOOK"].map(str::to_owned)];
    rows.extend(runs.iter().map(|run| {
        [
            run.id.as_text(),
            words::state(run),
            term::plain(&run.tool),
            words::time(run.started_at.unwrap_or(run.created_at)),
            run.duration_ms.map(words::duration).unwrap_or_default(),
        ]
    }));
    let widths: Vec<usize> = (0..5)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            format!("{}\n", cells.join("  ").trim_end())
        })
        .collect::<Vec<_>>()
        .concat()
}
