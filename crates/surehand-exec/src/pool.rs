//! The server's side of the spawner: a pool of reapers that are ready.

use std::{
    collections::VecDeque,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as BlockingStream, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use rustix::net::SendFlags;
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
    pub(crate) async fn reaper(&self) -> Result<(UnixStream, Arc<Spawner>), ExecError> {
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
    ready: VecDeque<UnixStream>,
    /// How many were asked for and have not arrived.
    coming: usize,
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
    pub(crate) fn refill(&self, again: Option<UnixStream>) {
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
    async fn take(&self) -> Option<UnixStream> {
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
            arrived.await;
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

    fn arrive(&self, reapers: Vec<OwnedFd>) {
        {
            let mut state = lock(&self.state);
            for reaper in reapers {
                state.coming = state.coming.saturating_sub(1);
                let reaper = BlockingStream::from(reaper);
                // One that cannot be registered is closed, and so ends.
                if let Ok(reaper) = reaper
                    .set_nonblocking(true)
                    .and_then(|()| UnixStream::from_std(reaper))
                {
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
    let mut byte = [0; 1];
    while shared.socket.readable().await.is_ok() {
        let received = shared.socket.try_io(Interest::READABLE, || {
            wire::receive_with_descriptors(&shared.socket, &mut byte)
        });
        match received {
            Ok((0, _)) => break,
            Ok((_, reapers)) => shared.arrive(reapers),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => break,
        }
    }
    shared.end();
}

/// A lock whose holder panicked is still good: every change under it is complete in itself.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
