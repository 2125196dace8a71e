//! Finding and ending all processes of a tree.
//!
//! A process that makes itself a session, forks twice or ignores signals stays a descendant of the subreaper
//! above it: when its parent dies it is handed to the subreaper, not to init (prctl(2),
//! `PR_SET_CHILD_SUBREAPER`). So the tree is whole as long as the subreaper lives.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, pidfd_send_signal, wait,
};

/// After this long, what still lives cannot be killed (it sleeps in the kernel, or belongs to another user).
const GIVE_UP: Duration = Duration::from_secs(10);

/// A process, safe against reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pid: Pid,
    started: u64,
}

/// All live descendants of `root`, those below one of `except` left out.
pub(crate) fn descendants(root: Pid, except: &HashSet<Pid>) -> Vec<Process> {
    let mut children: HashMap<Pid, Vec<(Process, bool)>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    for entry in entries.flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw);
        if let Some((parent, process, alive)) = pid.and_then(read_stat) {
            children.entry(parent).or_default().push((process, alive));
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (process, alive) in children.remove(&parent).into_iter().flatten() {
            if except.contains(&process.pid) {
                continue;
            }
            if alive {
                found.push(process);
            }
            open.push(process.pid);
        }
    }
    found
}

/// Parent, identity, and whether it is more than a zombie, from `/proc/PID/stat` (proc(5)).
fn read_stat(pid: Pid) -> Option<(Pid, Process, bool)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat", pid = pid.as_raw_nonzero())).ok()?;
    // The second field is the name in parentheses, which may hold anything, parentheses too.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?)?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, Process { pid, started }, !matches!(state, "Z" | "X")))
}

/// Sends a signal to exactly this process, or to nobody.
fn signal(process: Process, signal: Signal) {
    let Ok(descriptor) = pidfd_open(process.pid, PidfdFlags::empty()) else {
        return;
    };
    // The descriptor names whoever has the number now; the start time tells whether it is still the same.
    if read_stat(process.pid).is_some_and(|(_, now, _)| now == process) {
        // It may have ended in between, or belong to another user: then there is nothing to be done here.
        let _ = pidfd_send_signal(descriptor, signal);
    }
}

/// Sends SIGTERM to every descendant of `root`, and SIGCONT so that a stopped one hears it.
pub(crate) fn terminate(root: Pid) {
    let tree = descendants(root, &HashSet::new());
    for &process in &tree {
        signal(process, Signal::TERM);
    }
    for &process in &tree {
        signal(process, Signal::CONT);
    }
}

/// Ends every descendant of `root`, this process, apart from those below `except`: stop, scan, kill, until
/// none is left. Reports each child that was waited for. Returns how many were killed.
pub(crate) fn kill_all(root: Pid, except: &HashSet<Pid>, mut waited: impl FnMut(Pid, WaitStatus)) -> u32 {
    let begun = Instant::now();
    let mut killed = HashSet::new();
    loop {
        // A stopped process cannot fork, so when a scan finds nothing new the set is whole.
        let mut stopped = HashSet::new();
        loop {
            let new: Vec<Process> = descendants(root, except)
                .into_iter()
                .filter(|process| stopped.insert(*process))
                .collect();
            if new.is_empty() {
                break;
            }
            for process in new {
                signal(process, Signal::STOP);
            }
            if begun.elapsed() > GIVE_UP {
                break;
            }
        }
        for &process in &stopped {
            signal(process, Signal::KILL);
        }
        killed.extend(stopped.iter().copied());
        reap(&mut waited);
        if stopped.is_empty() || begun.elapsed() > GIVE_UP {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for every child that has ended. Returns whether any child is left.
pub(crate) fn reap(mut waited: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => waited(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// This process's own id.
pub(crate) fn own_pid() -> Pid {
    rustix::process::getpid()
}

/// Makes this process the one to which orphans below it are handed.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(own_pid()))?)
}
