//! Following one run from the server's side: its output, its end, its deadline.

use std::{
    ffi::OsString,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, OnceLock},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags},
    net::RecvFlags,
    pipe::PipeFlags,
};
use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    time::{Instant, sleep_until},
};

use crate::{
    Command, Ended, ExecError, Finished, Run, Stdin, Stream,
    capture::{Buffer, Capture, LARGEST_SIZE, PIPE_SIZE},
    pool::{Pool, Reaper, Spawner},
    wire::{self, Report, StartRequest},
};

/// After this long a run's output is put where another process can follow it.
const SHOW_AFTER: Duration = Duration::from_millis(150);
/// How long after SIGKILL the tree may take to vanish before the answer is given all the same.
const KILL_WAIT: Duration = Duration::from_millis(350);
/// How much is read at the end without waiting: more than a pipe holds.
const LAST_READS: usize = 4 * PIPE_SIZE / LARGEST_SIZE;
/// How much is read from one stream before others are looked at.
const READS: usize = 4;
/// How long a fallen reaper's tree may take to vanish: the spawner has to see it and to end what is left.
const FALL_WAIT: Duration = Duration::from_millis(250);
/// How long a run waits for a reaper at most.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long it is worth to look instead of sleeping.
const SOON: Duration = Duration::from_micros(50);
/// Further in the future than any run lasts.
const FAR: Duration = Duration::from_hours(24 * 365);

/// How often a run is handed to another reaper because the first was gone before it began.
const TRIES: usize = 3;

pub(crate) async fn supervise(pool: &Pool, run: Run) -> Result<Finished, ExecError> {
    let request = request(&run.command)?.to_message();
    let mut run = run;
    for _ in 0..TRIES {
        let waiting = tokio::time::timeout(run.limits.timeout.min(LONGEST_WAIT), pool.reaper());
        let (reaper, spawner) = tokio::select! {
            taken = waiting => taken.map_err(|_| ExecError::Spawner("it does not answer".to_owned()))??,
            () = run.cancel.cancelled() => return Err(ExecError::Cancelled),
        };
        match begin(run, &request, reaper, spawner).await?.follow().await {
            Followed::Finished(finished) => return Ok(*finished),
            Followed::NeverBegun(again) => run = *again,
        }
    }
    Err(ExecError::Spawner("its reapers end before they begin".to_owned()))
}

async fn begin(
    run: Run,
    request: &[u8],
    reaper: Reaper,
    spawner: Arc<Spawner>,
) -> Result<Supervisor, ExecError> {
    let stdin = stdin(&run.command.stdin)?;
    let (stdout, stdout_end) = output_pipe()?;
    let (stderr, stderr_end) = output_pipe()?;
    let begun = Instant::now();
    let reaper = Link::start(
        reaper,
        request,
        &[stdin.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()],
    )
    .await;
    Ok(Supervisor {
        stdout: Capture::new(Stream::Stdout, stdout, &run, "stdout"),
        stderr: Capture::new(Stream::Stderr, stderr, &run, "stderr"),
        reaper,
        spawner,
        begun,
        phase: Phase::Running,
        next: begun + run.limits.timeout.min(FAR),
        show: begun + SHOW_AFTER,
        started: false,
        ended: None,
        empty: false,
        left_behind: 0,
        timed_out: false,
        cancelled: false,
        run,
    })
}

/// What came of handing a run to a reaper.
enum Followed {
    Finished(Box<Finished>),
    /// The reaper was gone before it started anything.
    NeverBegun(Box<Run>),
}

/// Where a run is on its way to the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until the timeout.
    Running,
    /// SIGTERM was sent; until the grace is over.
    Terminating,
    /// The command has ended by itself; its streams are read until the drain is over.
    Draining,
    /// SIGKILL was ordered; until the tree is gone.
    Killing,
    /// The reaper is gone before its tree was; until the spawner has ended the tree.
    Fallen,
    /// Over.
    Done,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each says another thing that has happened"
)]
struct Supervisor {
    run: Run,
    stdout: Capture,
    stderr: Capture,
    reaper: Link,
    spawner: Arc<Spawner>,
    begun: Instant,
    phase: Phase,
    /// When the phase ends.
    next: Instant,
    show: Instant,
    /// The command was started.
    started: bool,
    ended: Option<Ended>,
    /// No process of the tree is left.
    empty: bool,
    left_behind: u32,
    timed_out: bool,
    cancelled: bool,
}

impl Supervisor {
    async fn follow(mut self) -> Followed {
        let mut buffer = Buffer::new();
        let (cancel, reaper) = (self.run.cancel.clone(), self.reaper.reaper.pid);
        let (mut shown, mut looked) = (false, false);
        while self.phase != Phase::Done {
            if self.reaper.closed && !self.started && self.ended.is_none() {
                self.spawner.refill(None);
                return Followed::NeverBegun(Box::new(self.run));
            }
            tokio::select! {
                report = self.reaper.report(), if !self.reaper.closed => self.take(report),
                () = self.stdout.readable(), if self.stdout.is_open() => self.stdout.read(&mut buffer, READS),
                () = self.stderr.readable(), if self.stderr.is_open() => self.stderr.read(&mut buffer, READS),
                () = cancel.cancelled(), if !self.cancelled && self.phase == Phase::Running => {
                    self.cancelled = true;
                    self.terminate().await;
                }
                () = self.spawner.cleaned(reaper), if self.phase == Phase::Fallen => self.tree_is_gone(),
                () = sleep_until(self.next) => self.phase_over().await,
                () = sleep_until(self.show), if !shown => {
                    shown = true;
                    self.stdout.show();
                    self.stderr.show();
                }
            }
            let closed = !self.stdout.is_open() && !self.stderr.is_open();
            if closed && self.ended.is_none() && self.phase == Phase::Running && !looked {
                looked = true;
                if let Some(report) = self.reaper.soon() {
                    self.take(Some(report));
                }
            }
            if self.empty && self.ended.is_some() && closed {
                self.phase = Phase::Done;
            }
        }
        self.stdout.read(&mut buffer, LAST_READS);
        self.stderr.read(&mut buffer, LAST_READS);
        // Only now, so as not to take time from the command. A run that is given up takes its reaper with it.
        let reusable = self.empty && self.ended != Some(Ended::Lost);
        self.spawner
            .refill(if reusable { self.reaper.idle() } else { None });
        Followed::Finished(Box::new(Finished {
            ended: self.ended.unwrap_or(Ended::Lost),
            timed_out: self.timed_out,
            cancelled: self.cancelled,
            left_behind: self.left_behind,
            unconfirmed: !self.empty,
            duration: self.begun.elapsed(),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }))
    }

    fn take(&mut self, report: Option<Report>) {
        match report {
            Some(Report::Started) => self.started = true,
            Some(Report::Ended { ended, remaining }) => {
                // How it ended is not its own doing when the spawner's end was the cause.
                self.ended.get_or_insert(ended);
                self.empty = !remaining;
                if self.phase == Phase::Running {
                    self.enter(Phase::Draining, self.run.limits.drain);
                } else if self.empty && self.phase != Phase::Draining {
                    // The tree went in answer to a signal: nothing of it holds the streams.
                    self.enter(Phase::Draining, self.run.limits.drain);
                }
            }
            Some(Report::Empty { killed }) => {
                self.empty = true;
                if !self.timed_out && !self.cancelled {
                    self.left_behind = killed;
                }
                // What still holds the streams now is a stranger.
                let drain = if self.phase == Phase::Killing {
                    Duration::ZERO
                } else {
                    self.run.limits.drain
                };
                if self.phase != Phase::Draining {
                    self.enter(Phase::Draining, drain);
                }
            }
            Some(Report::Orphaned) => {
                self.ended = Some(Ended::Lost);
                self.enter(Phase::Killing, KILL_WAIT);
            }
            None if !self.started && self.ended.is_none() => {}
            // After a last report this is the reaper's way. Before it, the reaper was killed, and the spawner kills the
            // tree.
            None => {
                self.ended.get_or_insert(Ended::Lost);
                if !self.empty {
                    self.spawner.wake();
                    self.enter(Phase::Fallen, FALL_WAIT);
                }
            }
        }
    }

    fn tree_is_gone(&mut self) {
        self.empty = true;
        self.enter(Phase::Draining, Duration::ZERO);
    }

    async fn phase_over(&mut self) {
        match self.phase {
            Phase::Running => {
                self.timed_out = true;
                self.terminate().await;
            }
            Phase::Terminating => self.kill().await,
            Phase::Draining if !self.empty => self.kill().await,
            // It does not do what it is told: a command may have stopped it.
            Phase::Killing if !self.reaper.closed => {
                self.reaper.reaper.kill();
                self.spawner.wake();
                self.enter(Phase::Fallen, FALL_WAIT);
            }
            Phase::Draining | Phase::Killing | Phase::Fallen | Phase::Done => self.phase = Phase::Done,
        }
    }

    async fn terminate(&mut self) {
        self.reaper.reaper.wake();
        self.reaper.send(wire::TERM).await;
        self.enter(Phase::Terminating, self.run.limits.grace);
    }

    async fn kill(&mut self) {
        self.reaper.send(wire::KILL).await;
        self.enter(Phase::Killing, KILL_WAIT);
    }

    fn enter(&mut self, phase: Phase, length: Duration) {
        self.phase = phase;
        self.next = Instant::now() + length;
    }
}

/// The socket to a reaper.
struct Link {
    reaper: Reaper,
    received: Vec<u8>,
    closed: bool,
}

impl Link {
    /// Tells a reaper what to start.
    async fn start(reaper: Reaper, message: &[u8], streams: &[BorrowedFd<'_>]) -> Self {
        // Directly: the socket is empty, and Tokio might first want to hear from the system that it is. When the
        // reaper is gone, the end of the socket says so as well.
        let sent = wire::send_with_descriptors(&reaper.socket, message, streams).unwrap_or(message.len());
        let mut link = Self {
            reaper,
            received: Vec::new(),
            closed: false,
        };
        let _ = link.reaper.socket.write_all(&message[sent..]).await;
        link
    }

    /// The socket, if everything that the reaper said was heard.
    fn idle(self) -> Option<Reaper> {
        (!self.closed && self.received.is_empty()).then_some(self.reaper)
    }

    /// Gives an order. A reaper that cannot be reached is gone, which its socket tells by itself.
    async fn send(&mut self, order: u8) {
        let _ = self.reaper.socket.write_all(&wire::message(order, &[])).await;
    }

    /// The next report, if it comes at once. When both streams have ended, the command most likely has too, and its
    /// reaper is about to say so: going to sleep and being woken takes longer.
    fn soon(&mut self) -> Option<Report> {
        let begun = std::time::Instant::now();
        let mut piece = [0; 64];
        while begun.elapsed() < SOON {
            // Not by Tokio, which would first want to hear from the system that there is something.
            match rustix::net::recv(&self.reaper.socket, &mut piece, RecvFlags::DONTWAIT) {
                // The end is for others to find.
                Ok((0, _)) => return None,
                Ok((count, _)) => {
                    self.received.extend_from_slice(&piece[..count]);
                    if let Ok(Some(report)) = Report::take(&mut self.received) {
                        return Some(report);
                    }
                }
                Err(rustix::io::Errno::AGAIN) => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
        None
    }

    /// The next report; None when there will be none.
    async fn report(&mut self) -> Option<Report> {
        loop {
            match Report::take(&mut self.received) {
                Ok(Some(report)) => return Some(report),
                Ok(None) => {}
                Err(_) => break,
            }
            if self.reaper.socket.readable().await.is_err() {
                break;
            }
            match self.reaper.socket.try_read_buf(&mut self.received) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                Err(_) => break,
            }
        }
        self.closed = true;
        None
    }
}

/// What a reaper is told. What no kernel could take is refused here.
fn request(command: &Command) -> Result<StartRequest<'_>, ExecError> {
    use std::os::unix::ffi::OsStrExt;
    let has_nul = |text: &std::ffi::OsStr| text.as_bytes().contains(&0);
    if has_nul(&command.program) || command.args.iter().any(|arg| has_nul(arg)) {
        return Err(ExecError::Invalid(
            "an argument contains a NUL character".to_owned(),
        ));
    }
    if !command.cwd.is_absolute() {
        return Err(ExecError::Invalid(format!(
            "the working directory {} is not absolute",
            command.cwd.display()
        )));
    }
    for (name, value) in &command.env {
        if name.is_empty() || name.as_bytes().contains(&b'=') || has_nul(name) || has_nul(value) {
            return Err(ExecError::Invalid(format!(
                "the environment variable {:?} has an impossible name or value",
                name.to_string_lossy()
            )));
        }
    }
    Ok(StartRequest {
        program: &command.program,
        args: command.args.iter().map(OsString::as_os_str).collect(),
        cwd: &command.cwd,
        env: command
            .env
            .iter()
            .filter(|(name, _)| !name.as_bytes().starts_with(b"SUREHAND_"))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            .collect(),
        confinement: command.confinement.clone(),
    })
}

fn stdin(stdin: &Stdin) -> io::Result<OwnedFd> {
    match stdin {
        Stdin::Null => null()?.try_clone(),
        Stdin::Bytes(bytes) => {
            use std::io::{Seek, Write};
            let memory = rustix::fs::memfd_create("stdin", rustix::fs::MemfdFlags::CLOEXEC)?;
            let mut file = std::fs::File::from(memory);
            file.write_all(bytes)?;
            file.rewind()?;
            Ok(file.into())
        }
    }
}

/// `/dev/null`, opened once.
fn null() -> io::Result<&'static OwnedFd> {
    static NULL: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(null) = NULL.get() {
        return Ok(null);
    }
    let opened = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(NULL.get_or_init(|| opened))
}

/// A pipe whose reading end does not block and whose writing end does.
fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    // It is a pipe and does not block: no need to have that looked up.
    Ok((pipe::Receiver::from_owned_fd_unchecked(reader)?, writer))
}
