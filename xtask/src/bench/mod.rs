//! `cargo xtask bench`: the promises of the design, each with its baseline measured in the same run.
//!
//! Only ratios mean something: the machines that this runs on are shared and noisy.

mod call;
mod list;
mod memory;
mod peer;
mod project;
mod session;
mod start;
mod throughput;

use clap::Args;

use crate::{Failure, bench::project::Project, bench::session::Server, paths, process};

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the figures whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Leave out the Node original.
    #[arg(long)]
    no_peer: bool,
}

/// One line of the result.
struct Figure {
    what: &'static str,
    ours: String,
    baseline: String,
    peer: String,
    target: &'static str,
    met: bool,
}

/// Measures one promise.
type Measure = fn(&Subjects) -> Result<Figure, Failure>;

/// What is measured.
struct Subjects {
    ours: Server,
    peer: Option<Server>,
}

impl Subjects {
    /// Measures the peer in the same way, if there is one.
    fn of_peer<T>(&self, measure: impl FnOnce(&Server) -> Result<T, Failure>) -> Result<Option<T>, Failure> {
        self.peer.as_ref().map(measure).transpose()
    }
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    process::succeed(process::cargo().args(["build", "--release", "--package", "surehand"]))?;
    let peer = if options.no_peer { None } else { peer::install() };
    let subjects = Subjects {
        ours: Server::new(vec![
            paths::target().join("release/surehand").display().to_string(),
        ]),
        peer,
    };
    let measures: [(&str, Measure); 5] = [
        ("start", start::measure),
        ("memory", memory::measure),
        ("call", call::measure),
        ("throughput", throughput::measure),
        ("list", list::measure),
    ];
    println!(
        "{:<34} {:>22} {:>26} {:>22}   {:<22}",
        "what", "Surehand", "baseline", "runbook-mcp (Node)", "target"
    );
    let mut missed = 0;
    for (name, measure) in measures {
        if options
            .only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        let figure = measure(&subjects)?;
        missed += usize::from(!figure.met);
        println!(
            "{:<34} {:>22} {:>26} {:>22}   {:<22} {}",
            figure.what,
            figure.ours,
            figure.baseline,
            figure.peer,
            figure.target,
            if figure.met { "met" } else { "MISSED" }
        );
    }
    if missed > 0 {
        println!("{missed} missed: measure again when nothing else runs before believing it");
    }
    Ok(())
}

/// The middle of some measurements.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A figure of the peer, or a dash.
fn or_dash(value: Option<f64>, show: impl FnOnce(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// A project whose only runbook is this script.
fn one_script(script: &str) -> Result<Project, Failure> {
    Project::new(1, script)
}
