//! The server's side of the spawner: a pool of reapers that are ready.

use std::{
    collections::{HashSet, VecDeque},
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as BlockingStream, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::{
    net::SendFlags,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};
use tokio::{
    io::Interest,
    net::UnixStream,
    sync::{Mutex as AsyncMutex, Notify},
    task::JoinHandle,
};

use crate::{
    ExecError,
    take_over::{self, ROLE, SPAWNER},
    wire,
};

/// So many reapers wait for work, so that a call does not wait for a fork.
const READY: usize = 2;

/// A spawner that runs makes a reaper in less.
const UNHURRIED: Duration = Duration::from_millis(500);

/// Gives out reapers, and starts the spawner when the first is wanted.
pub(crate) struct Pool {
    program: Option<PathBuf>,
    spawner: AsyncMutex<Option<Arc<Spawner>>>,
}

impl Pool {
    /// `program` is executed as the spawner; None: the running program itself.
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self {
            program,
            spawner: AsyncMutex::new(None),
        }
    }

    /// A reaper for one run.
    pub(crate) async fn reaper(&self) -> Result<(Reaper, Arc<Spawner>), ExecError> {
        // A second try, because the spawner may have been killed since the last run.
        for _ in 0..2 {
            let spawner = self.spawner().await?;
            match spawner.take().await {
                Some(reaper) => return Ok((reaper, spawner)),
                None => self.forget(&spawner).await,
            }
        }
        Err(ExecError::Spawner(
            "it ended as soon as it was started".to_owned(),
        ))
    }

    /// The process id of the spawner, if it runs.
    pub(crate) async fn spawner_pid(&self) -> Option<u32> {
        self.spawner
            .lock()
            .await
            .as_ref()
            .and_then(|spawner| spawner.pid())
    }

    async fn spawner(&self) -> Result<Arc<Spawner>, ExecError> {
        let mut current = self.spawner.lock().await;
        if let Some(spawner) = &*current {
            return Ok(Arc::clone(spawner));
        }
        let spawner = Spawner::start(self.program.as_ref())?;
        *current = Some(Arc::clone(&spawner));
        Ok(spawner)
    }

    async fn forget(&self, gone: &Arc<Spawner>) {
        let mut current = self.spawner.lock().await;
        if current.as_ref().is_some_and(|spawner| Arc::ptr_eq(spawner, gone)) {
            tracing::warn!("the spawner has ended; starting another");
            *current = None;
        }
    }
}

/// A reaper that is ready.
pub(crate) struct Reaper {
    pub(crate) socket: UnixStream,
    /// Its process, as a number that the spawner knows and as one that is safe against reuse.
    pub(crate) pid: i32,
    process: OwnedFd,
}

impl Reaper {
    fn new(pid: i32, socket: OwnedFd) -> io::Result<Self> {
        let socket = BlockingStream::from(socket);
        socket.set_nonblocking(true)?;
        let number = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process id"))?;
        Ok(Self {
            socket: UnixStream::from_std(socket)?,
            pid,
            process: pidfd_open(number, PidfdFlags::empty())?,
        })
    }

    /// Ends a reaper that does not do what it is told; the spawner then ends its tree.
    pub(crate) fn kill(&self) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }

    /// Wakes a reaper that was stopped.
    pub(crate) fn wake(&self) {
        let _ = pidfd_send_signal(&self.process, Signal::CONT);
    }
}

/// A running spawner. Ends with its last user.
pub(crate) struct Spawner {
    shared: Arc<Shared>,
    receiving: JoinHandle<()>,
    child: Option<Child>,
}

struct Shared {
    socket: UnixStream,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Reaper>,
    /// How many were asked for and have not arrived.
    coming: usize,
    /// Reapers that fell, and whose trees the spawner has ended.
    cleaned: HashSet<i32>,
    gone: bool,
}

impl Spawner {
    fn start(program: Option<&PathBuf>) -> Result<Arc<Self>, ExecError> {
        let program = match program {
            Some(program) => program.clone(),
            None if take_over::is_prepared() => PathBuf::from("/proc/self/exe"),
            None => return Err(ExecError::NotPrepared),
        };
        let (ours, theirs) = BlockingStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&program)
            .arg0("surehand-spawner")
            .env_clear()
            .env(ROLE, SPAWNER)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| ExecError::Spawner(format!("{}: {error}", program.display())))?;
        let shared = Arc::new(Shared {
            socket: UnixStream::from_std(ours)?,
            state: Mutex::default(),
            arrived: Notify::new(),
        });
        shared.top_up(READY);
        let receiving = tokio::spawn(receive(Arc::clone(&shared)));
        Ok(Arc::new(Self {
            shared,
            receiving,
            child: Some(child),
        }))
    }

    /// Takes back a reaper whose tree is empty, if it is to be used again, and fills the pool.
    pub(crate) fn refill(&self, again: Option<Reaper>) {
        if let Some(reaper) = again {
            let mut state = lock(&self.shared.state);
            if state.ready.len() < READY {
                // To the front: what ran last is still warm.
                state.ready.push_front(reaper);
            }
        }
        self.shared.top_up(READY);
    }

    /// The next reaper; None when the spawner is gone.
    async fn take(&self) -> Option<Reaper> {
        loop {
            let arrived = self.shared.arrived.notified();
            {
                let mut state = lock(&self.shared.state);
                if let Some(reaper) = state.ready.pop_front() {
                    return Some(reaper);
                }
                if state.gone {
                    return None;
                }
            }
            self.shared.top_up(1);
            if tokio::time::timeout(UNHURRIED, arrived).await.is_err() {
                // A command may have stopped it.
                self.wake();
            }
        }
    }

    /// Returns when the spawner has ended the tree of a reaper that fell, or is gone itself.
    pub(crate) async fn cleaned(&self, reaper: i32) {
        loop {
            let arrived = self.shared.arrived.notified();
            {
                let mut state = lock(&self.shared.state);
                if state.cleaned.remove(&reaper) || state.gone {
                    return;
                }
            }
            arrived.await;
        }
    }

    /// Wakes the spawner if it was stopped.
    pub(crate) fn wake(&self) {
        let pid = self
            .pid()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // A child that was not waited for: its number is its own.
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// The spawner's process id.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // Its socket ends here, so it ends by itself; somebody has to wait for it, but not this thread.
        self.receiving.abort();
        if let Some(mut child) = self.child.take() {
            std::thread::spawn(move || child.wait());
        }
    }
}

impl Shared {
    /// Asks for as many reapers as are missing.
    fn top_up(&self, wanted: usize) {
        let mut state = lock(&self.state);
        let missing = wanted.saturating_sub(state.ready.len() + state.coming);
        if missing == 0 {
            return;
        }
        // Not by Tokio, which would first want to hear from the system that the socket can be written. When it is
        // full of questions or closed, the next run asks again.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if let Ok(sent) = rustix::net::send(&self.socket, &vec![wire::MORE; missing], flags) {
            state.coming += sent;
        }
    }

    fn hear(&self, word: [u8; wire::WORD], sockets: Vec<OwnedFd>) {
        let (what, pid) = wire::read_word(word);
        {
            let mut state = lock(&self.state);
            if what == wire::CLEANED {
                state.cleaned.insert(pid);
            }
            for socket in sockets {
                // Whoever had the number before is forgotten.
                state.cleaned.remove(&pid);
                state.coming = state.coming.saturating_sub(1);
                // One that cannot be registered is closed, and so ends.
                if let Ok(reaper) = Reaper::new(pid, socket) {
                    state.ready.push_back(reaper);
                }
            }
        }
        self.arrived.notify_waiters();
    }

    fn end(&self) {
        lock(&self.state).gone = true;
        self.arrived.notify_waiters();
    }
}

/// Takes in reapers for as long as the spawner lives.
async fn receive(shared: Arc<Shared>) {
    let mut word = [0; wire::WORD];
    while shared.socket.readable().await.is_ok() {
        let received = shared.socket.try_io(Interest::READABLE, || {
            wire::receive_with_descriptors(&shared.socket, &mut word)
        });
        match received {
            // Words are sent whole, and so short that the system does not cut them.
            Ok((wire::WORD, sockets)) => shared.hear(word, sockets),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Ok(_) | Err(_) => break,
        }
    }
    shared.end();
}

/// A lock whose holder panicked is still good: every change under it is complete in itself.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
