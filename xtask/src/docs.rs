//! `cargo xtask docs`: what is written by a program so that it cannot be out of date.

use std::{fs, path::Path, process::Command};

use clap::Args;

use crate::{Failure, paths, process};

/// Options of `cargo xtask docs`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write nothing; fail if anything would change.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let schema = serde_json::to_string_pretty(&surehand_runbook::manifest_schema())? + "\n";
    let files = [
        ("docs/reference/runbooks.schema.json", schema),
        (
            "docs/reference/manifest.md",
            surehand_runbook::manifest_reference(),
        ),
        ("docs/reference/cli.md", command_line()?),
    ];
    let mut stale = Vec::new();
    for (name, text) in files {
        let path = paths::root().join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale.push(name);
            if !options.check {
                fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
                fs::write(&path, text)?;
            }
        }
    }
    match (options.check, stale.as_slice()) {
        (_, []) => println!("generated files are up to date"),
        (true, stale) => {
            return Err(format!("out of date: {}; run `cargo xtask docs`", stale.join(", ")).into());
        }
        (false, stale) => println!("written: {}", stale.join(", ")),
    }
    Ok(())
}

/// The help of every verb, as the binary prints it.
fn command_line() -> Result<String, Failure> {
    process::succeed(process::cargo().args(["build", "--quiet", "--package", "surehand"]))?;
    let binary = paths::target().join("debug/surehand");
    let help = |verbs: &[&str]| {
        let mut command = Command::new(&binary);
        process::output(
            command
                .args(verbs)
                .arg("--help")
                .env("COLUMNS", "100")
                .env("NO_COLOR", "1"),
        )
    };
    let mut page = "# Command line\n\n<!-- Written by `cargo xtask docs`; do not edit. -->\n".to_owned();
    let mut open = vec![Vec::new()];
    while let Some(verbs) = open.pop() {
        let words: Vec<&str> = verbs.iter().map(String::as_str).collect();
        let text = help(&words)?;
        let name = ["surehand"]
            .iter()
            .chain(&words)
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        page += &format!("\n## `{name}`\n\n```text\n{}\n```\n", text.trim_end());
        for verb in verbs_in(&text).into_iter().rev() {
            open.push(
                words
                    .iter()
                    .map(|word| (*word).to_owned())
                    .chain([verb])
                    .collect(),
            );
        }
    }
    Ok(page)
}

/// The verbs that a help text lists under "Commands:".
fn verbs_in(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| line.trim() != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .map(ToOwned::to_owned)
        .collect()
}
