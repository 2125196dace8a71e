//! Handing a call to the executor, and following it.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use surehand_core::{
    CallError, Ctx, OutputLine, Progress, ProgressSink, Redactor, RedactorStream, RunEvent, StreamName,
    StreamRecord,
};
use surehand_exec::{
    Captured, Command, Confinement, ExecError, Executor, Filter, Finished, Limits, Run, Stdin, Stream,
};

/// How often progress is reported at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// After how long without news a sign of life is given.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Whether this machine can confine scripts at all; else, what it lacks.
pub(crate) fn confinement_enforceable() -> Result<(), String> {
    Confinement::default().enforceable()
}

/// A command, ready to be run.
pub(crate) struct Job {
    pub(crate) command: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) timeout: Duration,
    pub(crate) max_output_chars: u32,
    pub(crate) redactor: Redactor,
}

/// Runs a command to its end, telling the caller about it meanwhile and the history afterwards.
pub(crate) async fn execute(executor: &Executor, job: Job, cx: &Ctx) -> Result<Finished, CallError> {
    let news = Arc::new(Mutex::new(None));
    let redactor = job.redactor.clone();
    let run = run(job, cx, &news);
    // Boxed, or every future around it would carry its many kilobytes.
    let running = Box::pin(executor.run(run));
    let finished = match &cx.progress {
        Some(sink) => with_progress(running, sink, &news).await,
        None => running.await,
    };
    let finished = finished.map_err(|error| match error {
        ExecError::Cancelled => CallError::Cancelled,
        other => CallError::Unavailable(redactor.text(&other.to_string())),
    })?;
    for (stream, captured) in [
        (StreamName::Stdout, &finished.stdout),
        (StreamName::Stderr, &finished.stderr),
    ] {
        cx.run.record(RunEvent::Output {
            id: cx.run.id(),
            record: record(stream, captured),
        });
    }
    Ok(finished)
}

/// The newest line that was not reported yet.
type News = Arc<Mutex<Option<String>>>;

fn run(job: Job, cx: &Ctx, news: &News) -> Run {
    let mut words = job.command.into_iter().map(OsString::from);
    let command = Command {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        cwd: job.cwd,
        env: job.environment,
        stdin: Stdin::Null,
        confinement: job.confinement,
    };
    let limits = Limits {
        timeout: job.timeout,
        tail_chars: usize::try_from(job.max_output_chars).unwrap_or(usize::MAX),
        ..Limits::default()
    };
    let mut run = Run::new(command, limits);
    run.cancel = cx.cancel.clone();
    run.folder = cx.run.folder();
    if !job.redactor.is_empty() {
        let redactor = job.redactor;
        run.filter = Some(Arc::new(move || {
            Box::new(Blackened(redactor.stream())) as Box<dyn Filter>
        }));
    }
    if cx.output.is_none() {
        run.lines_every = Some(PROGRESS_EVERY);
    }
    if cx.output.is_some() || cx.progress.is_some() {
        let output = cx.output.clone();
        let news = cx.progress.is_some().then(|| Arc::clone(news));
        run.lines = Some(Arc::new(move |stream, line| {
            if let Some(news) = &news
                && !line.trim().is_empty()
            {
                *news.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.to_owned());
            }
            if let Some(output) = &output {
                output(OutputLine {
                    stream: name(stream),
                    text: line.to_owned(),
                });
            }
        }));
    }
    run
}

/// Awaits a run, reporting its newest line at a bounded rate and a sign of life when there is none.
async fn with_progress<T>(running: impl Future<Output = T>, sink: &ProgressSink, news: &News) -> T {
    let begun = Instant::now();
    let mut reported = begun;
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(running);
    loop {
        tokio::select! {
            biased;
            result = &mut running => return result,
            _ = ticks.tick() => {}
        }
        let line = news.lock().unwrap_or_else(PoisonError::into_inner).take();
        let elapsed = begun.elapsed();
        let message = match line {
            Some(line) => line,
            None if reported.elapsed() >= HEARTBEAT => format!("running for {} s", elapsed.as_secs()),
            None => continue,
        };
        reported = Instant::now();
        sink(Progress {
            done: elapsed.as_secs_f64(),
            total: None,
            message,
        });
    }
}

/// Keeps secrets out of a stream.
struct Blackened(RedactorStream);

impl Filter for Blackened {
    fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.0.feed(piece, out);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.0.finish(out);
    }
}

fn name(stream: Stream) -> StreamName {
    match stream {
        Stream::Stdout => StreamName::Stdout,
        Stream::Stderr => StreamName::Stderr,
    }
}

fn record(stream: StreamName, captured: &Captured) -> StreamRecord {
    StreamRecord {
        stream,
        total_bytes: captured.total_bytes,
        kept_bytes: captured.kept_bytes,
        sha256: hex::encode(captured.sha256),
        inline: captured.inline.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use surehand_core::{Progress, ProgressSink};

    use super::with_progress;

    #[tokio::test]
    async fn fault_16_progress_tells_the_newest_line_at_a_bounded_rate() {
        let told = Arc::new(Mutex::new(Vec::<Progress>::new()));
        let sink: ProgressSink = {
            let told = Arc::clone(&told);
            Arc::new(move |progress| told.lock().unwrap().push(progress))
        };
        let news = Arc::new(Mutex::new(None));
        let writer = Arc::clone(&news);
        let running = async {
            for line in 0..100 {
                *writer.lock().unwrap() = Some(format!("line {line}"));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            7
        };
        assert_eq!(with_progress(running, &sink, &news).await, 7);
        let told = told.lock().unwrap();
        assert!((3..=12).contains(&told.len()), "{told:?}");
        assert_eq!(told.last().unwrap().message, "line 99");
        assert!(
            told.windows(2).all(|pair| pair[0].done < pair[1].done),
            "{told:?}"
        );
    }

    #[tokio::test]
    async fn fault_16_a_silent_run_gives_a_sign_of_life() {
        let told = Arc::new(Mutex::new(Vec::<Progress>::new()));
        let sink: ProgressSink = {
            let told = Arc::clone(&told);
            Arc::new(move |progress| told.lock().unwrap().push(progress))
        };
        let silence = tokio::time::sleep(Duration::from_millis(5_600));
        with_progress(silence, &sink, &Arc::default()).await;
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].message, "running for 5 s");
    }
}
