//! Which process carries out a run, and whether it still lives.

#[cfg(target_os = "linux")]
#[path = "process/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "process/other.rs"]
mod platform;

use serde::{Deserialize, Serialize};

/// A process, told apart from every other one that ever had the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: u32,
    /// When it started: clock ticks since the machine's start (`/proc/PID/stat`, field 22); 0 where the
    /// platform does not say.
    pub started: u64,
    /// The machine's start that it belongs to (`/proc/sys/kernel/random/boot_id`); empty where the platform
    /// does not say.
    pub boot: String,
    /// The namespace that its number counts in (`/proc/PID/ns/pid`); 0 where the platform does not say.
    pub namespace: u64,
}

/// What can be said of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It lives.
    Alive,
    /// It is gone for certain.
    Dead,
    /// It cannot be seen from here, for example because it lives in another container.
    Unknown,
}

impl ProcessIdentity {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        platform::current()
    }

    /// Whether the process still lives. A zombie does not.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        platform::liveness(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives() {
        let me = ProcessIdentity::current();
        assert_eq!(me.pid, std::process::id());
        assert_ne!(me.liveness(), Liveness::Dead);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn others_are_told_apart_on_linux() {
        let me = ProcessIdentity::current();
        assert_eq!(me.liveness(), Liveness::Alive);
        let reused = ProcessIdentity {
            started: me.started + 1,
            ..me.clone()
        };
        assert_eq!(reused.liveness(), Liveness::Dead);
        let earlier_boot = ProcessIdentity {
            boot: "another".to_owned(),
            ..me.clone()
        };
        assert_eq!(earlier_boot.liveness(), Liveness::Dead);
        let elsewhere = ProcessIdentity {
            namespace: me.namespace + 1,
            ..me
        };
        assert_eq!(elsewhere.liveness(), Liveness::Unknown);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_zombie_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let identity = platform::identity(child.id()).unwrap();
        let mut seen = identity.liveness();
        for _ in 0..200 {
            if seen == Liveness::Dead {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
            seen = identity.liveness();
        }
        assert_eq!(seen, Liveness::Dead, "not reaped, but ended");
        child.wait().unwrap();
        assert_eq!(identity.liveness(), Liveness::Dead);
    }
}
