//! From the start of the process to the answer to `initialize`.

use crate::{
    Failure,
    bench::{Figure, Subjects, median, one_script, or_dash, project::Project, session::Server},
};

const TARGET_MS: f64 = 2.5;

pub(crate) fn measure(subjects: &Subjects) -> Result<Figure, Failure> {
    let project = one_script("exit 0\n")?;
    let ours = starts(&subjects.ours, &project, 40)?;
    let bare = median(
        (0..40)
            .map(|_| {
                let begun = std::time::Instant::now();
                std::process::Command::new("/bin/true").status()?;
                Ok(begun.elapsed().as_secs_f64() * 1e3)
            })
            .collect::<Result<_, Failure>>()?,
    );
    let peer = subjects.of_peer(|peer| starts(peer, &project, 5))?;
    Ok(Figure {
        what: "start to initialize answer",
        ours: format!("{ours:.2} ms"),
        baseline: format!("/bin/true {bare:.2} ms"),
        peer: or_dash(peer, |ms| format!("{ms:.0} ms")),
        target: "<= 2.5 ms (RunboxJS)",
        met: ours <= TARGET_MS,
    })
}

fn starts(server: &Server, project: &Project, times: usize) -> Result<f64, Failure> {
    let took = (0..times).map(|_| Ok(server.open(project)?.1.as_secs_f64() * 1e3));
    Ok(median(took.collect::<Result<_, Failure>>()?))
}
