//! Processes where there is no `/proc` as Linux has it: a number that is in use counts as alive.

use super::{Liveness, ProcessIdentity};

pub(super) fn current() -> ProcessIdentity {
    ProcessIdentity {
        pid: std::process::id(),
        started: 0,
        boot: String::new(),
        namespace: 0,
    }
}

#[cfg(unix)]
pub(super) fn liveness(process: &ProcessIdentity) -> Liveness {
    let Some(pid) = i32::try_from(process.pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return Liveness::Dead;
    };
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Liveness::Dead,
        // The number may have been given to another process since.
        _ => Liveness::Unknown,
    }
}

#[cfg(not(unix))]
pub(super) fn liveness(process: &ProcessIdentity) -> Liveness {
    if process.pid == std::process::id() {
        Liveness::Alive
    } else {
        Liveness::Unknown
    }
}
