//! Looking after processes.

use std::{
    fs,
    time::{Duration, Instant},
};

#[cfg(unix)]
pub use rustix::process::Signal;

/// Whether the process lives (Linux only). One that has ended and was not yet waited for counts as dead.
#[must_use]
pub fn is_alive(process: u32) -> bool {
    // The state comes after the name, which stands in parentheses and may hold any of them itself.
    fs::read_to_string(format!("/proc/{process}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(')')?.1.trim_start().chars().next())
        .is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Sends a signal to a process that the test has started.
#[cfg(unix)]
pub fn send(process: u32, signal: Signal) {
    let process = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("a process id");
    rustix::process::kill_process(process, signal).expect("the process can be signalled");
}

/// Waits until `condition` gives something, but not longer than `patience`.
#[must_use]
pub fn until<T>(patience: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = condition() {
            return Some(found);
        }
        if started.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
