//! A call of a script that does nothing, beside starting the same script and waiting for it.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    Failure,
    bench::{Figure, Subjects, median, one_script, or_dash, project::Project, session::Server},
};

const TIMES: usize = 500;
const TARGET: f64 = 1.25;

pub(crate) fn measure(subjects: &Subjects) -> Result<Figure, Failure> {
    let project = one_script("exit 0\n")?;
    let (ours, bare) = calls(&subjects.ours, &project)?;
    let peer = subjects.of_peer(|peer| Ok(calls(peer, &project)?.0))?;
    let ratio = ours / bare;
    Ok(Figure {
        what: "tools/call of an empty script",
        ours: format!("{:.2} ms ({ratio:.2} x)", ours * 1e3),
        baseline: format!("spawn + wait {:.2} ms", bare * 1e3),
        peer: or_dash(peer, |seconds| format!("{:.2} ms", seconds * 1e3)),
        target: "<= 1.25 x spawn",
        met: ratio <= TARGET,
    })
}

/// The medians of calls and of bare runs, taken in turns so that both see the same machine.
fn calls(server: &Server, project: &Project) -> Result<(f64, f64), Failure> {
    let (mut session, _) = server.open(project)?;
    let (mut called, mut bare) = (Vec::new(), Vec::new());
    for round in 0..TIMES + 20 {
        let begun = Instant::now();
        session.call("t0")?;
        let call = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let output = Command::new("sh")
            .arg(project.script())
            .stdin(Stdio::null())
            .output()?;
        let spawn = begun.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err("the bare script failed".into());
        }
        // The first rounds warm caches up.
        if round >= 20 {
            called.push(call);
            bare.push(spawn);
        }
    }
    Ok((median(called), median(bare)))
}
