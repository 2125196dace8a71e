//! A gigabyte of output, beside `cat` reading the same.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    Failure,
    bench::{Figure, Subjects, median, one_script, or_dash, project::Project, session::Server},
};

const SCRIPT: &str = "head -c 1073741824 /dev/zero | tr '\\0' x\n";
const ROUNDS: usize = 5;
const TARGET: f64 = 0.85;
const TARGET_MIB: f64 = 24.0;

pub(crate) fn measure(subjects: &Subjects) -> Result<Figure, Failure> {
    let project = one_script(SCRIPT)?;
    let (ours, cat, memory) = gigabyte(&subjects.ours, &project, ROUNDS)?;
    let peer = subjects.of_peer(|peer| gigabyte(peer, &project, 1))?;
    let ratio = cat / ours;
    Ok(Figure {
        what: "1 GiB of output",
        ours: format!("{ratio:.2} x cat, {memory:.1} MiB"),
        baseline: format!("cat {:.0} MB/s", 1073.7 / cat),
        peer: or_dash(peer.map(|(seconds, cat, _)| cat / seconds), |ratio| {
            format!("{ratio:.2} x cat")
        }),
        target: ">= 0.85 x cat, < 24 MB",
        met: ratio >= TARGET && memory * 1.048_576 < TARGET_MIB,
    })
}

/// The medians of seconds for a call and for `cat`, and the server's highest memory.
fn gigabyte(server: &Server, project: &Project, rounds: usize) -> Result<(f64, f64, f64), Failure> {
    let (mut session, _) = server.open(project)?;
    let (mut ours, mut cat) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        let mut script = Command::new("sh")
            .arg(project.script())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipe = script.stdout.take().ok_or("no pipe")?;
        Command::new("cat").stdin(pipe).stdout(Stdio::null()).status()?;
        script.wait()?;
        cat.push(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        session.call("t0")?;
        ours.push(begun.elapsed().as_secs_f64());
    }
    let memory = session.memory()?.1;
    Ok((median(ours), median(cat), memory))
}
