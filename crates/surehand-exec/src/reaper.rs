//! The reaper: the process that owns the whole tree of one run.
//!
//! A reaper is forked before it is needed and waits for a request. It has one run at a time, and may have
//! another when the tree of the last is empty. It kills its tree when the server says so, when the server is
//! gone (its socket ends), and when the spawner is gone (the life line ends).

use std::{
    collections::HashSet,
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, WaitStatus},
};

use crate::{
    Ended, StartError, StartErrorKind, launch, sys, tree,
    wire::{self, Report, StartRequest},
};

/// What a reaper is made with.
pub(crate) struct Reaper {
    /// To the server.
    pub(crate) server: UnixStream,
    /// Ends when the spawner does.
    pub(crate) life_line: OwnedFd,
    /// Readable when a child has ended.
    pub(crate) child_signal: OwnedFd,
}

/// What a reaper does after a run.
#[derive(PartialEq, Eq)]
enum Then {
    /// It is ready for the next.
    Next,
    /// It ends.
    End,
}

/// Why the reaper woke.
#[derive(Default)]
struct Woken {
    server: bool,
    life_line: bool,
    child: bool,
}

impl Reaper {
    /// Does all of the reaper's work and ends the process.
    pub(crate) fn work(self) -> ! {
        // Nobody is left to tell when this fails: the server sees the socket end and reports the run as lost.
        let code = i32::from(self.serve().is_err());
        sys::exit_now(code)
    }

    fn serve(mut self) -> io::Result<()> {
        rustix::process::setsid()?;
        tree::adopt_orphans()?;
        // A reaper whose tree is empty is as good as a new one, and quicker.
        while let Some((payload, descriptors)) = self.next_request()? {
            match start(&StartRequest::from_payload(&payload)?, descriptors) {
                Ok(child) => {
                    self.report(&Report::Started)?;
                    if self.watch(child)? == Then::End {
                        return Ok(());
                    }
                }
                Err(error) => self.report(&Report::Ended {
                    ended: Ended::NotStarted(error),
                    remaining: false,
                })?,
            }
        }
        Ok(())
    }

    /// What to start next; None when there will be nothing more.
    fn next_request(&mut self) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
        loop {
            let woken = self.wait()?;
            if woken.life_line {
                return Ok(None);
            }
            if woken.child {
                self.drain_child_signal();
            }
            if woken.server {
                let Some((tag, payload, descriptors)) = wire::read_message(&self.server)? else {
                    return Ok(None);
                };
                // An order to end a tree that had ended by itself when the order was given.
                if tag == wire::START {
                    return Ok(Some((payload, descriptors)));
                }
            }
        }
    }

    /// Waits for the tree's end, and brings it about when that is asked for.
    fn watch(&mut self, child: Pid) -> io::Result<Then> {
        let mut main_ended = false;
        // The first time without waiting: the command may have ended while it was being started.
        let mut woken = Woken {
            child: true,
            ..Woken::default()
        };
        loop {
            if woken.child {
                self.drain_child_signal();
                let mut ended = None;
                let remaining = tree::reap(|pid, status| {
                    if pid == child {
                        ended = Some(how_it_ended(status));
                    }
                });
                let main_ended_last = ended.is_some();
                if let Some(ended) = ended {
                    main_ended = true;
                    self.report(&Report::Ended { ended, remaining })?;
                }
                if !remaining {
                    // Where the command was the last to go, its own report has said that nothing remains.
                    if !main_ended_last {
                        self.report(&Report::Empty { killed: 0 })?;
                    }
                    return Ok(Then::Next);
                }
            }
            if woken.life_line {
                // The server may be gone too; the tree dies either way.
                let _ = self.report(&Report::Orphaned);
                return self.kill(child, main_ended).map(|()| Then::End);
            }
            if woken.server {
                match wire::read_message(&self.server) {
                    Ok(Some((wire::TERM, ..))) => tree::terminate(tree::own_pid()),
                    Ok(Some(_)) => return self.kill(child, main_ended).map(|()| Then::Next),
                    Ok(None) | Err(_) => return self.kill(child, main_ended).map(|()| Then::End),
                }
            }
            woken = self.wait()?;
        }
    }

    /// Ends the tree and reports, if anybody still listens.
    fn kill(&mut self, child: Pid, mut main_ended: bool) -> io::Result<()> {
        let mut ended = None;
        let mut note = |pid: Pid, status: WaitStatus| {
            if pid == child {
                ended = Some(how_it_ended(status));
            }
        };
        let killed = tree::kill_all(tree::own_pid(), &HashSet::new(), &mut note);
        tree::reap(&mut note);
        if let Some(ended) = ended {
            main_ended = true;
            self.report(&Report::Ended {
                ended,
                remaining: true,
            })?;
        }
        if !main_ended {
            return Err(io::Error::other("the command cannot be killed"));
        }
        self.report(&Report::Empty { killed })
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        self.server.write_all(&report.to_message())
    }

    fn wait(&self) -> io::Result<Woken> {
        let mut descriptors = [
            PollFd::from_borrowed_fd(self.server.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.life_line.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.child_signal.as_fd(), PollFlags::IN),
        ];
        loop {
            match poll(&mut descriptors, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let ready = |index: usize| !descriptors[index].revents().is_empty();
        Ok(Woken {
            server: ready(0),
            life_line: ready(1),
            child: ready(2),
        })
    }

    /// One read takes all that waits: signals of one kind do not queue.
    fn drain_child_signal(&self) {
        let mut buffer = [0_u8; 1024];
        // Nothing there is as good: children are looked for by themselves.
        let _ = rustix::io::read(&self.child_signal, &mut buffer);
    }
}

fn how_it_ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(signal)) => Ended::Signaled(signal),
        (None, None) => Ended::Lost,
    }
}

fn start(request: &StartRequest<'_>, descriptors: Vec<OwnedFd>) -> Result<Pid, StartError> {
    let streams = <[OwnedFd; 3]>::try_from(descriptors).map_err(|_| StartError {
        kind: StartErrorKind::Other(0),
        cause: "the standard descriptors did not arrive".to_owned(),
    })?;
    launch::launch(request, &streams)
}
