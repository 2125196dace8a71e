//! One file a command.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod tools;
pub(crate) mod validate;

use std::future::Future;

use crate::{
    cli::{Cli, Common, Running, Verb},
    config::{Environment, Settings},
    errors::{CliError, Exit},
    logging::{self, Reader},
    term,
};

/// Half of the processors is enough for a server whose work is done by other processes.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| (processors.get() / 2).clamp(1, 4))
}

/// Carries out the command.
pub(crate) fn run(cli: Cli, environment: &Environment) -> Result<Exit, CliError> {
    let (before, verb) = cli.into_parts()?;
    let reader = match verb {
        Verb::Serve(_) => Reader::Operator,
        _ => Reader::Person,
    };
    let settings = |common: Common, running: &Running| {
        logging::start(environment, reader)?;
        Settings::new(&common, running, environment)
    };
    let looking = |common| settings(before.looking(common)?, &Running::default());
    match verb {
        // These work however wrong the settings are.
        Verb::Version => version(),
        Verb::Completions(args) => completions::run(&args),
        Verb::Init(args) => init::run(&looking(args.common)?),
        Verb::Validate(args) => validate::run(&looking(args.common)?),
        Verb::Doctor(args) => wait_for(doctor::run(args.json, &looking(args.common)?)),
        Verb::Tools(args) => wait_for(tools::run(args.json, &looking(args.common)?)),
        Verb::Runs(args) => {
            let (verb, common) = args.into_parts();
            wait_for(runs::run(verb, &looking(common)?))
        }
        Verb::Call(args) => {
            let (common, running) = before.running(args.common, &args.running)?;
            wait_for(call::run(&args.call, &settings(common, &running)?))
        }
        Verb::Serve(args) => {
            let (common, running, serving) = before.serving(args);
            wait_for(serve::run(&serving, &settings(common, &running)?))
        }
    }
}

/// The bare number, for scripts.
fn version() -> Result<Exit, CliError> {
    term::out(concat!(env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(Exit::Done)
}

fn wait_for<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .map_err(|error| CliError::Internal(format!("cannot start threads: {error}")))?;
    let done = runtime.block_on(work);
    // Whatever still blocks a thread (a read of standard input) ends with the process.
    runtime.shutdown_background();
    done
}
