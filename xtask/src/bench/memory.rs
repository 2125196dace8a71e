//! Memory of an idle server with its spawner.

use std::{thread::sleep, time::Duration};

use crate::{
    Failure,
    bench::{Figure, Subjects, one_script, or_dash, project::Project, session::Server},
};

const TARGET_MIB: f64 = 12.0;

pub(crate) fn measure(subjects: &Subjects) -> Result<Figure, Failure> {
    let project = one_script("exit 0\n")?;
    let (before, after) = idle(&subjects.ours, &project)?;
    let peer = subjects.of_peer(|peer| idle(peer, &project))?;
    Ok(Figure {
        what: "idle memory, all processes",
        ours: format!("{after:.1} MiB"),
        baseline: format!("before a call {before:.1} MiB"),
        peer: or_dash(peer.map(|(_, after)| after), |mib| format!("{mib:.0} MiB")),
        target: "<= 12 MB",
        met: after * 1.048_576 <= TARGET_MIB,
    })
}

/// Before the first call, and after it, when the spawner runs.
fn idle(server: &Server, project: &Project) -> Result<(f64, f64), Failure> {
    let (mut session, _) = server.open(project)?;
    sleep(Duration::from_millis(300));
    let before = session.memory()?.0;
    session.call("t0")?;
    sleep(Duration::from_millis(500));
    Ok((before, session.memory()?.0))
}
