//! The entrance.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::{Finished, Run, pool::Pool, supervise::supervise};

/// How an [`Executor`] works.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExecutorConfig {
    /// The program that is executed as the spawner: it must begin with [`crate::take_over`]. None: the
    /// running program itself, which must then do so too.
    pub spawner: Option<PathBuf>,
}

/// A run could not even be tried. (A command that does not start is a [`Finished`] run.)
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The embedding program does not call [`crate::take_over`].
    #[error("this program does not begin with surehand_exec::take_over() and no other spawner is named")]
    NotPrepared,
    /// The spawner does not start.
    #[error("the spawner of processes did not start: {0}")]
    Spawner(String),
    /// The run was withdrawn before it began.
    #[error("cancelled before it began")]
    Cancelled,
    /// The command cannot be described to the kernel.
    #[error("{0}")]
    Invalid(String),
    /// A system call failed that only fails when the system is out of something.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
}

/// Runs commands. Cheap to clone; starts nothing before the first run.
///
/// Dropping the last clone while runs are under way does not end them; cancel them first, or drop the futures.
#[derive(Clone)]
pub struct Executor {
    pool: Arc<Pool>,
}

impl Executor {
    /// An executor. Starts nothing yet.
    #[must_use]
    pub fn new(config: ExecutorConfig) -> Self {
        Self {
            pool: Arc::new(Pool::new(config.spawner)),
        }
    }

    /// Runs a command to its end. Needs a Tokio runtime with I/O and time.
    ///
    /// When the future is dropped, the command's tree is killed.
    ///
    /// # Errors
    /// When the run could not be tried at all.
    pub async fn run(&self, run: Run) -> Result<Finished, ExecError> {
        supervise(&self.pool, run).await
    }

    /// The process id of the spawner, if it runs.
    pub async fn spawner_pid(&self) -> Option<u32> {
        self.pool.spawner_pid().await
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}
