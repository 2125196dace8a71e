//! The spawner: keeps reapers ready and picks up after one that was killed.
//!
//! It is the embedding program, executed again, with one thread and one socket (as its standard input). For
//! every byte that it reads it forks a reaper and sends the server the other end of that reaper's socket. It
//! ends when its socket does.

use std::{
    collections::HashSet,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process},
};

use crate::{reaper::Reaper, sys, tree, wire};

/// A reaper that has not ended by itself after this long never will.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longer than a reaper needs for its tree.
const LONGEST_END: Duration = Duration::from_secs(15);

/// Does all of the spawner's work and ends the process.
pub(crate) fn work() -> ! {
    // Nobody is left to tell when this fails: the server sees the socket end and says so.
    let code = i32::from(serve().is_err());
    sys::exit_now(code)
}

struct Spawner {
    server: UnixStream,
    child_signal: OwnedFd,
    /// Every reaper watches this; it ends when the spawner does, who alone holds the other end.
    life_line: OwnedFd,
    life: OwnedFd,
    reapers: HashSet<Pid>,
}

fn serve() -> io::Result<()> {
    sys::close_inherited_descriptors()?;
    let server = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // A terminal's signals are for the server, which ends its runs in order.
    rustix::process::setsid()?;
    sys::close_ears()?;
    tree::adopt_orphans()?;
    wake_when_orphaned()?;
    // Sockets, because nobody can open those by their name in /proc and hold them.
    let (life_line, life) = UnixStream::pair()?;
    rustix::stdio::dup2_stdin(null()?)?;
    Spawner {
        server,
        child_signal: sys::child_signal_descriptor()?,
        life_line: life_line.into(),
        life: life.into(),
        reapers: HashSet::new(),
    }
    .run()
}

impl Spawner {
    fn run(mut self) -> io::Result<()> {
        loop {
            let (asked, child) = self.wait()?;
            if child {
                self.pick_up();
            }
            if asked {
                let mut wanted = [0; 64];
                match rustix::io::read(&self.server, &mut wanted) {
                    Ok(0) => return self.end(),
                    Ok(count) => {
                        for _ in wanted[..count].iter().filter(|byte| **byte == wire::MORE) {
                            self.make_reaper()?;
                        }
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// The server is gone. Every reaper sees that by itself and kills its tree; one that was killed or stopped leaves
    /// its tree here, so this process must be the last to go.
    fn end(mut self) -> io::Result<()> {
        let begun = Instant::now();
        self.life = null()?;
        self.signal_reapers(Signal::CONT);
        while !self.reapers.is_empty() && begun.elapsed() < LONGEST_END {
            let mut descriptors = [PollFd::from_borrowed_fd(self.child_signal.as_fd(), PollFlags::IN)];
            let _ = poll(
                &mut descriptors,
                Some(&Timespec {
                    tv_sec: 0,
                    tv_nsec: 100_000_000,
                }),
            );
            self.pick_up();
            if begun.elapsed() > PATIENCE {
                self.signal_reapers(Signal::KILL);
            }
        }
        Ok(())
    }

    /// Reapers are children that were not waited for, so their numbers are theirs.
    fn signal_reapers(&self, signal: Signal) {
        for reaper in &self.reapers {
            let _ = kill_process(*reaper, signal);
        }
    }

    fn wait(&self) -> io::Result<(bool, bool)> {
        let mut descriptors = [
            PollFd::from_borrowed_fd(self.server.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.child_signal.as_fd(), PollFlags::IN),
        ];
        match poll(&mut descriptors, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok((
            !descriptors[0].revents().is_empty(),
            !descriptors[1].revents().is_empty(),
        ))
    }

    fn make_reaper(&mut self) -> io::Result<()> {
        let (ours, reapers) = UnixStream::pair()?;
        // The reaper needs a signal descriptor of its own: one made here would report this process's children.
        match sys::fork()? {
            sys::Fork::Parent(pid) => {
                self.reapers.insert(pid);
                let word = wire::word(wire::REAPER, pid.as_raw_nonzero().get());
                wire::send_with_descriptors(&self.server, &word, &[ours.as_fd()])?;
                Ok(())
            }
            sys::Fork::Child => {
                drop(ours);
                self.become_reaper(reapers)
            }
        }
    }

    /// In the new process: lets go of what is the spawner's, above all of the writing end of the life line.
    fn become_reaper(&mut self, server: UnixStream) -> ! {
        let replaced = (|| {
            wake_when_orphaned()?;
            self.life = null()?;
            self.server = UnixStream::from(null()?);
            io::Result::Ok(Reaper {
                server,
                life_line: self.life_line.try_clone()?,
                child_signal: sys::child_signal_descriptor()?,
            })
        })();
        match replaced {
            Ok(reaper) => reaper.work(),
            Err(_) => sys::exit_now(1),
        }
    }

    /// Waits for reapers that have ended. One that was killed leaves its tree to this process: kills it.
    fn pick_up(&mut self) {
        let mut buffer = [0_u8; 1024];
        while rustix::io::read(&self.child_signal, &mut buffer).is_ok_and(|read| read > 0) {}
        let mut fallen = Vec::new();
        let mut orphan = false;
        tree::reap(|pid, status| {
            if !self.reapers.remove(&pid) {
                orphan = true;
            } else if status.exit_status() != Some(0) {
                fallen.push(pid);
            }
        });
        if orphan || !fallen.is_empty() {
            let mut gone = Vec::new();
            tree::kill_all(tree::own_pid(), &self.reapers, |pid, _| gone.push(pid));
            fallen.extend(gone.into_iter().filter(|pid| self.reapers.remove(pid)));
        }
        for reaper in fallen {
            // The server may be gone, and then nobody needs to know.
            let word = wire::word(wire::CLEANED, reaper.as_raw_nonzero().get());
            let _ = wire::send_with_descriptors(&self.server, &word, &[]);
        }
    }
}

/// A stopped process does not see that a socket has ended. Its parent's end wakes it.
fn wake_when_orphaned() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(
        Signal::CONT,
    ))?)
}

/// A descriptor that holds nothing open.
fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?)
}
