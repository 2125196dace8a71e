//! Runs one command under the executor: nothing of it is left when this program ends, however it ends.
//!
//! Also the spawner for programs that cannot begin with `take_over` themselves.

use std::{env, ffi::OsString, process::ExitCode, time::Duration};

use surehand_exec::{Command, Ended, Executor, ExecutorConfig, Limits, Run, Stdin, Stream};

const USAGE: &str = "usage: surehand-exec [--timeout SECONDS] PROGRAM [ARGUMENT...]";

fn main() -> ExitCode {
    surehand_exec::take_over();
    let mut args = env::args_os().skip(1).peekable();
    let mut limits = Limits::default();
    if args.next_if(|arg| arg == "--timeout").is_some() {
        match args.next().and_then(|text| text.to_str()?.parse().ok()) {
            Some(seconds) => limits.timeout = Duration::from_secs(seconds),
            None => return usage(),
        }
    }
    let Some(program) = args.next().filter(|program| program != "--help") else {
        return usage();
    };
    match run(program, args.collect(), limits) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("surehand-exec: {error}");
            ExitCode::from(4)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn run(
    program: OsString,
    args: Vec<OsString>,
    limits: Limits,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut run = Run::new(
        Command {
            program,
            args,
            cwd: env::current_dir()?,
            env: env::vars_os().collect(),
            stdin: Stdin::Null,
            confinement: None,
        },
        limits,
    );
    run.lines = Some(std::sync::Arc::new(|stream, line: &str| match stream {
        Stream::Stdout => println!("{line}"),
        Stream::Stderr => eprintln!("{line}"),
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let finished = runtime.block_on(Executor::new(ExecutorConfig::default()).run(run))?;
    if finished.timed_out {
        eprintln!("surehand-exec: timed out");
    }
    Ok(match finished.ended {
        Ended::Exited(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ended::Signaled(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        Ended::NotStarted(error) => return Err(error.into()),
        Ended::Lost => return Err("the run was lost with its reaper".into()),
    })
}
