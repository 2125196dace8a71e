//! The few system calls that Rust cannot vouch for. The only file of the project with `unsafe` code.
#![allow(unsafe_code)]

use std::{
    io,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::Command,
};

use rustix::process::Pid;

/// Which side of a fork this is.
pub(crate) enum Fork {
    /// The one that forked, and its child.
    Parent(Pid),
    /// The new one.
    Child,
}

/// Forks.
///
/// Must only be called by a process with one thread: only then is everything that the child may do after
/// it as safe as before.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the spawner, the only caller, has one thread (it runs before any runtime is built), so no lock
    // can be held by a thread that does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Pid::from_raw(pid)
            .map(Fork::Parent)
            .ok_or_else(|| io::Error::other("fork gave no process id")),
    }
}

/// Ends this process at once, without the exit handlers that it shares with its parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from the fourth on: those that the embedding program got from its own parent without a
/// mark to close them would otherwise reach every command.
///
/// Must be called before this process opens anything of its own.
pub(crate) fn close_inherited_descriptors() -> io::Result<()> {
    // SAFETY: the spawner, the only caller, has opened nothing yet, so no value that owns a descriptor exists.
    match unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The signals that end a program politely.
const POLITE: [i32; 7] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGPIPE,
];

/// Makes this process deaf to the signals that end a program politely, and keeps SIGCHLD for a descriptor.
///
/// Handled by nothing rather than ignored: an ignored signal stays ignored in every program that is executed.
pub(crate) fn close_ears() -> io::Result<()> {
    extern "C" fn nothing(_signal: i32) {}
    for signal in POLITE {
        // SAFETY: a zeroed sigaction is a valid one; the handler does nothing, which is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    set_mask(libc::SIG_BLOCK, &blocked())
}

/// Starts a program with no signal blocked, which it would inherit.
///
/// A SIGCHLD that arrives meanwhile is lost: the caller must look for ended children by itself once.
pub(crate) fn with_open_ears<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    set_mask(libc::SIG_SETMASK, &signal_set(&[]))?;
    let started = start();
    set_mask(libc::SIG_BLOCK, &blocked())?;
    started
}

fn blocked() -> libc::sigset_t {
    let mut all = POLITE.to_vec();
    all.push(libc::SIGCHLD);
    signal_set(&all)
}

fn set_mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is initialised, and no old set is asked for.
    match unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A descriptor that is readable while a SIGCHLD waits. The signal must be blocked.
pub(crate) fn child_signal_descriptor() -> io::Result<OwnedFd> {
    let set = signal_set(&[libc::SIGCHLD]);
    // SAFETY: `set` is initialised; a result other than -1 is a new descriptor that nobody else owns.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Lets `prepare` run in the new process, just before the program.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: reapers have one thread, so the child of their fork may allocate and lock as it likes.
    unsafe {
        command.pre_exec(prepare);
    }
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set; sigaddset gets an initialised set and valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}
