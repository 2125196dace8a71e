//! `tools/list` of a large manifest.

use std::time::Instant;

use serde_json::json;

use crate::{
    Failure,
    bench::{Figure, Subjects, median, or_dash, project::Project, session::Server},
};

const RUNBOOKS: usize = 1000;
const TARGET_MS: f64 = 2.0;

pub(crate) fn measure(subjects: &Subjects) -> Result<Figure, Failure> {
    let project = Project::new(RUNBOOKS, "exit 0\n")?;
    let (ours, bytes) = lists(&subjects.ours, &project, 50)?;
    let peer = subjects.of_peer(|peer| Ok(lists(peer, &project, 5)?.0))?;
    Ok(Figure {
        what: "tools/list, 1,000 runbooks",
        ours: format!("{ours:.2} ms"),
        baseline: format!("{bytes} bytes"),
        peer: or_dash(peer, |ms| format!("{ms:.0} ms")),
        target: "<= 2 ms",
        met: ours <= TARGET_MS,
    })
}

fn lists(server: &Server, project: &Project, times: usize) -> Result<(f64, usize), Failure> {
    let (mut session, _) = server.open(project)?;
    let (mut took, mut bytes) = (Vec::new(), 0);
    for _ in 0..times {
        let begun = Instant::now();
        bytes = session.request("tools/list", &json!({}))?.len();
        took.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok((median(took), bytes))
}
