//! `surehand runs logs`.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Seek, SeekFrom, Write},
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
    term::{self, Visible},
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
    let mut streams = STREAMS.map(Shown::of);
    let mut status = record.summary.status;
    while args.follow && !status.is_final() {
        for shown in &mut streams {
            shown.what_grew(&store.run_folder(id))?;
        }
        tokio::time::sleep(LOOK_EVERY).await;
        status = status_of(store, id).await?;
    }
    for shown in &mut streams {
        shown.rest(store, id).await?;
    }
    if !status.is_final() {
        warn(format_args!(
            "the run is {}: this is not all yet",
            status.as_str()
        ));
        hint_line(&format!("`surehand runs logs -f {id}` follows it"));
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

/// One stream of a run on its way to ours of the same name.
struct Shown {
    stream: StreamName,
    /// How many bytes of it were shown.
    bytes: u64,
    /// Where ours is a terminal: it must not obey what a script wrote.
    visible: Option<Visible>,
}

impl Shown {
    fn of(stream: StreamName) -> Self {
        let terminal = match stream {
            StreamName::Stdout => io::stdout().is_terminal(),
            StreamName::Stderr => io::stderr().is_terminal(),
        };
        Self {
            stream,
            bytes: 0,
            visible: terminal.then(Visible::default),
        }
    }

    /// Shows what was added to the file of a run that goes on.
    fn what_grew(&mut self, folder: &Path) -> Result<(), CliError> {
        self.copy(&folder.join(self.stream.as_str()))
    }

    /// Shows what is kept and was not shown yet.
    async fn rest(&mut self, store: &SqliteStore, id: RunId) -> Result<(), CliError> {
        let output = store.output(id, self.stream).await?;
        match output.map(|output| output.content) {
            Some(OutputContent::Inline(bytes)) => {
                let from = usize::try_from(self.bytes).unwrap_or(usize::MAX).min(bytes.len());
                self.write(&bytes[from..])?;
            }
            Some(OutputContent::File(path)) => self.copy(&path)?,
            None => self.what_grew(&store.run_folder(id))?,
        }
        match self.visible.as_mut().map(Visible::end) {
            Some(end) => write_to(self.stream, end.as_bytes()),
            None => Ok(()),
        }
    }

    /// Copies a file from where it was left on. One that does not exist (yet) has nothing to show.
    fn copy(&mut self, path: &Path) -> Result<(), CliError> {
        let failed = |source| CliError::File {
            path: path.to_owned(),
            source,
        };
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        file.seek(SeekFrom::Start(self.bytes)).map_err(failed)?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece).map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            self.write(&piece[..read])?;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.bytes += bytes.len() as u64;
        match &mut self.visible {
            Some(visible) => write_to(self.stream, visible.piece(bytes).as_bytes()),
            None => write_to(self.stream, bytes),
        }
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
