//! Confinement of a process and all its descendants by the kernel.
//!
//! Paths, signals and abstract sockets by Landlock (landlock(7)); sockets, and what Landlock does not know of, by
//! seccomp (seccomp(2)). What is refused answers EACCES or EPERM; what could make a socket by another way
//! (`io_uring`) answers ENOSYS.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use crate::Confinement;

/// The oldest Landlock that also guards renaming between folders and truncation.
const REQUIRED: ABI = ABI::V3;
/// The first Landlock that also guards signals and abstract sockets.
const SCOPED: ABI = ABI::V6;

/// What every program needs to be loaded at all: read and execute.
const SYSTEM: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr"];
/// What most programs read when they start.
const SYSTEM_FILES: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/alternatives",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
];
/// What programs write to without meaning anything by it.
const SINKS: &[&str] = &["/dev/null"];
/// What programs with a network need to read.
const NETWORK_FILES: &[&str] = &[
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/run/systemd/resolve",
];

impl Confinement {
    /// Whether this machine's kernel can enforce it.
    ///
    /// # Errors
    /// In words for a person, what is missing.
    pub fn enforceable(&self) -> Result<(), String> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(REQUIRED))
            .and_then(Ruleset::create)
            .map_err(|_| {
                "this kernel cannot confine paths: Landlock version 3 (Linux 6.2) or newer is needed"
                    .to_owned()
            })?;
        guard_filters()
            .and_then(|_| socket_filters())
            .map_err(|error| format!("this machine cannot confine system calls: {error}"))?;
        Ok(())
    }
}

/// A confinement that is ready to be entered.
pub(crate) struct Sealed {
    confinement: Confinement,
    program: PathBuf,
    filters: Vec<BpfProgram>,
}

/// Makes everything ready that can fail early.
pub(crate) fn prepare(confinement: &Confinement, program: &Path) -> io::Result<Sealed> {
    confinement.enforceable().map_err(io::Error::other)?;
    for path in confinement.read.iter().chain(&confinement.write) {
        granted(path, AccessFs::from_read(REQUIRED)).map_err(io::Error::other)?;
    }
    Ok(Sealed {
        confinement: confinement.clone(),
        program: program.to_owned(),
        filters: if confinement.network {
            guard_filters()?
        } else {
            [guard_filters()?, socket_filters()?].concat()
        },
    })
}

impl Sealed {
    /// Confines this process for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.restrict_paths().map_err(io::Error::other)?;
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn restrict_paths(&self) -> Result<(), Fault> {
        let all = AccessFs::from_all(REQUIRED);
        let read = AccessFs::from_read(REQUIRED);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(SCOPED))?
            .scope(Scope::from_all(SCOPED))?
            .create()?
            .set_compatibility(CompatLevel::HardRequirement);
        let network: &[&str] = if self.confinement.network {
            NETWORK_FILES
        } else {
            &[]
        };
        for path in SYSTEM.iter().chain(SYSTEM_FILES).chain(network) {
            // Not every system has every one of these; what is not there needs no rule.
            if Path::new(path).exists() {
                rules = rules.add_rule(rule(Path::new(path), read)?)?;
            }
        }
        for path in SINKS {
            rules = rules.add_rule(rule(Path::new(path), all)?)?;
        }
        rules = rules.add_rule(rule(&self.program, read)?)?;
        for path in &self.confinement.read {
            rules = rules.add_rule(granted(path, read)?)?;
        }
        // Devices are no files: whoever may make them reaches what is behind them.
        let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        for path in &self.confinement.write {
            rules = rules.add_rule(granted(path, write)?)?;
        }
        let status = rules.restrict_self()?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err("the kernel did not take the confinement".into());
        }
        Ok(())
    }
}

/// A rule for a path of the system.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<OwnedFd>, Fault> {
    rule_for(path, access, ResolveFlags::empty())
}

/// A rule for a path that was granted: not for what somebody has put a link to in its place since.
fn granted(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<OwnedFd>, Fault> {
    rule_for(path, access, ResolveFlags::NO_SYMLINKS)
}

/// For a file, without the rights that only folders have.
fn rule_for(
    path: &Path,
    access: BitFlags<AccessFs>,
    resolve: ResolveFlags,
) -> Result<PathBeneath<OwnedFd>, Fault> {
    let opened = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
        .map_err(|error| format!("confine: {}: {}", path.display(), std::io::Error::from(error)))?;
    let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode) == FileType::Directory;
    let allowed = if is_folder {
        access
    } else {
        access & AccessFs::from_file(REQUIRED)
    };
    Ok(PathBeneath::new(opened, allowed))
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Refuses to make sockets of any family (through a Unix socket a process could reach a service of the host),
/// and what could make one by another way.
fn socket_filters() -> io::Result<Vec<BpfProgram>> {
    Ok(vec![
        refuse(libc::EACCES, [(libc::SYS_socket, Vec::new())])?,
        refuse(libc::ENOSYS, [(libc::SYS_io_uring_setup, Vec::new())])?,
    ])
}

/// Refuses what Landlock does not know of: changes to what files outside are (mode, owner, times, attributes), to
/// what other processes are (limits, priorities, memory), what processes share without a path, and the machine itself.
fn guard_filters() -> io::Result<Vec<BpfProgram>> {
    let always = ALWAYS_REFUSED.iter().map(|call| (*call, Vec::new()));
    let other = OF_OTHERS.iter().map(|call| Ok((*call, vec![unless_zero(0)?])));
    let of_others: Vec<_> = other.collect::<io::Result<_>>()?;
    let whose = [
        (libc::SYS_setpriority, vec![unless_zero(0)?, unless_zero(1)?]),
        (libc::SYS_ioprio_set, vec![unless_zero(1)?]),
        // Without a path it is for an open file, and sets its times to now or to what its owner likes.
        (libc::SYS_utimensat, vec![unless_zero(1)?]),
        (
            libc::SYS_ioctl,
            FILE_FLAGS
                .iter()
                .map(|flags| when_equal(1, *flags))
                .collect::<io::Result<_>>()?,
        ),
    ];
    Ok(vec![
        refuse(libc::EPERM, always.chain(of_others).chain(whose))?,
        refuse_other_numbering(),
    ])
}

/// What `ioctl` does to the flags of a file that may only be read: `FS_IOC_SETFLAGS` (of 64 and of 32
/// bits), `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION` (linux/fs.h).
const FILE_FLAGS: &[u64] = &[0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602];

/// Calls whose first argument is a process; zero is the caller.
const OF_OTHERS: &[libc::c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// No confined program needs these, or it must do without. Those that came late have no name in every libc.
const ALWAYS_REFUSED: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    FILE_SETATTR,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_mount,
    MOUNT_SETATTR,
    OPEN_TREE,
    MOVE_MOUNT,
    FSOPEN,
    FSCONFIG,
    FSMOUNT,
    FSPICK,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_inotify_init1,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    // Memory, queues and semaphores that belong to nobody's folder.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];
// The same on every architecture (the kernel's syscall.tbl).
const OPEN_TREE: libc::c_long = 428;
const MOVE_MOUNT: libc::c_long = 429;
const FSOPEN: libc::c_long = 430;
const FSCONFIG: libc::c_long = 431;
const FSMOUNT: libc::c_long = 432;
const FSPICK: libc::c_long = 433;
const MOUNT_SETATTR: libc::c_long = 442;
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// A rule that holds when this argument is not zero.
fn unless_zero(argument: u8) -> io::Result<SeccompRule> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}

/// A rule that holds when the lower half of this argument is this.
fn when_equal(argument: u8, value: u64) -> io::Result<SeccompRule> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}

/// A filter that lets system calls fail. A call in the numbering of another architecture ends the process.
fn refuse(
    errno: i32,
    calls: impl IntoIterator<Item = (libc::c_long, Vec<SeccompRule>)>,
) -> io::Result<BpfProgram> {
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    SeccompFilter::new(
        calls.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        architecture,
    )
    .and_then(TryInto::try_into)
    .map_err(io::Error::other)
}

/// Refuses the x32 numbering of `x86_64`, which names the same calls by other numbers of the same architecture.
/// No call of any other architecture has such a number.
fn refuse_other_numbering() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    let statement = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    vec![
        statement(LOAD_NUMBER, 0, 0),
        statement(JUMP_IF_AT_LEAST, 1, X32_BIT),
        statement(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        statement(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
