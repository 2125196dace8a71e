//! Processes by `/proc` (proc(5)).

use std::{fs, io, os::unix::fs::MetadataExt};

use super::{Liveness, ProcessIdentity};

pub(super) fn current() -> ProcessIdentity {
    let pid = std::process::id();
    identity(pid).unwrap_or(ProcessIdentity {
        pid,
        started: 0,
        boot: String::new(),
        namespace: 0,
    })
}

/// None where `/proc` does not tell all of it.
pub(super) fn identity(pid: u32) -> Option<ProcessIdentity> {
    Some(ProcessIdentity {
        pid,
        started: stat(pid).ok()??.started,
        boot: boot()?,
        namespace: namespace()?,
    })
}

pub(super) fn liveness(process: &ProcessIdentity) -> Liveness {
    let (Some(boot), Some(namespace)) = (boot(), namespace()) else {
        return Liveness::Unknown;
    };
    if process.boot.is_empty() {
        return Liveness::Unknown;
    }
    if process.boot != boot {
        return Liveness::Dead;
    }
    if process.namespace != namespace {
        return Liveness::Unknown;
    }
    match stat(process.pid) {
        Ok(Some(stat)) if stat.started == process.started && !stat.ended => Liveness::Alive,
        Ok(Some(_)) => Liveness::Dead,
        Err(error) if error.kind() == io::ErrorKind::NotFound => hidden_or_dead(process.pid),
        // ESRCH: it ended between the opening and the reading of the file.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Liveness::Dead,
        Ok(None) | Err(_) => Liveness::Unknown,
    }
}

/// `/proc` may be mounted so that it hides other users' processes (`hidepid`): the kernel is asked.
fn hidden_or_dead(pid: u32) -> Liveness {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return Liveness::Dead;
    };
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Liveness::Dead,
        _ => Liveness::Unknown,
    }
}

struct Stat {
    started: u64,
    ended: bool,
}

/// `Ok(None)`: there, but not to be understood.
fn stat(pid: u32) -> io::Result<Option<Stat>> {
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    Ok(parse_stat(&text))
}

/// The second field is the program's name in parentheses and may hold spaces, parentheses and any byte.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end_of_name = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&text[end_of_name + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        started: fields.get(22 - 3)?.parse().ok()?,
    })
}

fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"7 (a) R (b\xff) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.started, 4242);
        assert!(!stat.ended);
        assert!(parse_stat(b"7 (a) Z 1").is_none());
        assert!(parse_stat(b"").is_none());
    }
}
