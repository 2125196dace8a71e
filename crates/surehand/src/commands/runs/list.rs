//! `surehand runs list`.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use surehand_core::{RunId, RunStatus};
use surehand_store::{Page, RunFilter, RunSummary, SqliteStore, Store};

use super::words;
use crate::{cli::Common, errors::CliError, term};

const DEFAULT_LIMIT: u32 = 20;

/// Show runs, the latest first
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How many to show, at most 1000
    #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,

    /// Only those of this tool
    #[arg(long)]
    tool: Option<String>,

    /// Only those in this state; may be given several times
    #[arg(long, value_name = "STATUS", value_parser = status())]
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

/// Their names are known to help and completions.
fn status() -> impl TypedValueParser<Value = RunStatus> {
    PossibleValuesParser::new(RunStatus::ALL.map(RunStatus::as_str)).try_map(|name| {
        RunStatus::ALL
            .into_iter()
            .find(|status| status.as_str() == name)
            .ok_or("no status")
    })
}

impl ListArgs {
    /// What narrows the list, as it would be said again.
    fn filters(&self) -> String {
        let mut words = String::new();
        if let Some(tool) = &self.tool {
            // A tool's name needs no quotes; whatever else was asked for has no next page.
            words.push_str(&format!(" --tool {}", term::plain(tool)));
        }
        for status in &self.status {
            words.push_str(&format!(" --status {}", status.as_str()));
        }
        if self.failed {
            words.push_str(" --failed");
        }
        if self.limit != DEFAULT_LIMIT {
            words.push_str(&format!(" --limit {}", self.limit));
        }
        words
    }
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
        Some(next) => term::out(&format!(
            "More: surehand runs list{} --before {next}\n",
            args.filters()
        )),
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
