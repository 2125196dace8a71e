//! `surehand runs logs`.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    time::Duration,
};

use clap::Args;
use serde_json::{Map, Value, json};
use surehand_core::{RunId, StreamName};
use surehand_store::{OutputContent, RunRecord, SqliteStore, Store};

use super::{find, words};
use crate::{
    cli::Common,
    errors::{CliError, hint_line, warn},
    term,
};

const STREAMS: [StreamName; 2] = [StreamName::Stdout, StreamName::Stderr];
/// How often a run that goes on is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// Show what a run wrote: its standard output to standard output, its standard error to standard error
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The run's id, or the beginning of it
    id: String,

    /// Go on until the run ends
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) async fn run(args: &LogsArgs, store: Option<&SqliteStore>) -> Result<(), CliError> {
    let (store, record) = find(store, &args.id).await?;
    if args.json {
        return as_json(store, &record).await;
    }
    let id = record.summary.id;
    let mut shown = Shown::default();
    let mut status = record.summary.status;
    while args.follow && !status.is_final() {
        shown.what_grew(&store.run_folder(id))?;
        tokio::time::sleep(LOOK_EVERY).await;
        status = status_of(store, id).await?;
    }
    shown.rest(store, id).await?;
    if !status.is_final() {
        warn(format_args!(
            "the run is {}: this is not all yet",
            status.as_str()
        ));
        hint_line("`surehand runs logs -f` follows it");
    }
    report_cuts(&find(Some(store), &id.as_text()).await?.1);
    Ok(())
}

async fn status_of(store: &SqliteStore, id: RunId) -> Result<surehand_core::RunStatus, CliError> {
    match store.get(id).await? {
        Some(record) => Ok(record.summary.status),
        None => Err(CliError::usage(format!(
            "run {id} was deleted while it was followed"
        ))),
    }
}

/// How much of each stream was shown.
#[derive(Default)]
struct Shown {
    bytes: [u64; 2],
}

impl Shown {
    /// Shows what was added to the files of a run that goes on.
    fn what_grew(&mut self, folder: &Path) -> Result<(), CliError> {
        for (stream, shown) in STREAMS.into_iter().zip(&mut self.bytes) {
            let path = folder.join(stream.as_str());
            *shown += copy_from(&path, *shown, stream)?;
        }
        Ok(())
    }

    /// Shows what is kept and was not shown yet.
    async fn rest(&mut self, store: &SqliteStore, id: RunId) -> Result<(), CliError> {
        for (stream, shown) in STREAMS.into_iter().zip(&mut self.bytes) {
            *shown += match store.output(id, stream).await?.map(|output| output.content) {
                Some(OutputContent::Inline(bytes)) => {
                    let from = usize::try_from(*shown).unwrap_or(usize::MAX).min(bytes.len());
                    write_to(stream, &bytes[from..])?;
                    (bytes.len() - from) as u64
                }
                Some(OutputContent::File(path)) => copy_from(&path, *shown, stream)?,
                None => copy_from(&store.run_folder(id).join(stream.as_str()), *shown, stream)?,
            };
        }
        Ok(())
    }
}

/// Copies a file from a place on. A file that does not exist (yet) has nothing to show.
fn copy_from(path: &Path, from: u64, stream: StreamName) -> Result<u64, CliError> {
    let failed = |source| CliError::File {
        path: path.to_owned(),
        source,
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened.map_err(failed)?,
    };
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut piece = vec![0; PIECE];
    let mut copied = 0;
    loop {
        let read = file.read(&mut piece).map_err(failed)?;
        if read == 0 {
            return Ok(copied);
        }
        write_to(stream, &piece[..read])?;
        copied += read as u64;
    }
}

fn write_to(stream: StreamName, bytes: &[u8]) -> Result<(), CliError> {
    let written = match stream {
        StreamName::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        StreamName::Stderr => io::stderr().lock().write_all(bytes),
    };
    written.map_err(CliError::Output)
}

/// Says what the history does not have.
fn report_cuts(record: &RunRecord) {
    for output in &record.outputs {
        if output.kept_bytes < output.total_bytes {
            warn(format_args!(
                "{}: {} of {} bytes were kept",
                output.stream.as_str(),
                output.kept_bytes,
                output.total_bytes
            ));
        }
    }
}

async fn as_json(store: &SqliteStore, record: &RunRecord) -> Result<(), CliError> {
    let run = &record.summary;
    let mut logs = Map::new();
    logs.insert("run_id".to_owned(), json!(run.id));
    logs.insert("status".to_owned(), json!(run.status));
    logs.insert("state".to_owned(), json!(words::state(run)));
    for stream in STREAMS {
        let output = store.output(run.id, stream).await?;
        let value = match output {
            None => Value::Null,
            Some(output) => {
                let bytes = match output.content {
                    OutputContent::Inline(bytes) => bytes,
                    OutputContent::File(path) => {
                        std::fs::read(&path).map_err(|source| CliError::File { path, source })?
                    }
                };
                json!({
                    "text": String::from_utf8_lossy(&bytes),
                    "total_bytes": output.summary.total_bytes,
                    "kept_bytes": output.summary.kept_bytes,
                    "sha256": output.summary.sha256,
                })
            }
        };
        logs.insert(stream.as_str().to_owned(), value);
    }
    term::out_json(&logs)
}
