//! Putting a host together.

use std::{path::PathBuf, sync::Arc};

use surehand_core::{Approvals, NoRecorder, Policy, Recorder, Toolset};

use crate::{Host, TableError};

/// How much a host does at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// How many calls run at once over all tools; the rest wait in order. At least 1.
    pub max_running: u32,
}

impl Default for HostLimits {
    /// 16 at once.
    fn default() -> Self {
        Self { max_running: 16 }
    }
}

/// Why a host cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Nobody would decide who may do what.
    #[error("a host needs a policy")]
    NoPolicy,
    /// A limit that would let nothing run.
    #[error("max_running must be at least 1")]
    NothingMayRun,
    /// The tools do not make a list.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Builds a [`Host`]. A policy is required; without a recorder nothing is remembered.
pub struct HostBuilder {
    pub(crate) toolsets: Vec<Arc<dyn Toolset>>,
    pub(crate) policy: Option<Arc<dyn Policy>>,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) approvals: Option<Arc<dyn Approvals>>,
    pub(crate) limits: HostLimits,
    pub(crate) lock_folder: Option<PathBuf>,
    pub(crate) dry_run: bool,
}

impl HostBuilder {
    pub(crate) fn new() -> Self {
        Self {
            toolsets: Vec::new(),
            policy: None,
            recorder: Arc::new(NoRecorder),
            approvals: None,
            limits: HostLimits::default(),
            lock_folder: None,
            dry_run: false,
        }
    }

    /// Adds a toolset. Tools are listed in the order in which their toolsets were added.
    #[must_use]
    pub fn toolset(mut self, toolset: Arc<dyn Toolset>) -> Self {
        self.toolsets.push(toolset);
        self
    }

    /// Says who decides who may do what.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Says what remembers runs.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Says where calls wait for a person who cannot be asked through the client. Without it such calls
    /// are refused.
    #[must_use]
    pub fn approvals(mut self, approvals: Option<Arc<dyn Approvals>>) -> Self {
        self.approvals = approvals;
        self
    }

    /// Says how much is done at once.
    #[must_use]
    pub fn limits(mut self, limits: HostLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Says in which folder locks are shared with other processes. Without it they hold in this process
    /// only; with a folder that cannot be used, calls that need a lock are refused.
    #[must_use]
    pub fn lock_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.lock_folder = folder;
        self
    }

    /// Makes every call a dry run.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// The host. Asks each toolset for its list, and follows their changes from then on; must be called
    /// within a tokio runtime.
    ///
    /// # Errors
    /// When there is no policy, nothing may run, a list cannot be had, or two tools have one name.
    pub async fn build(self) -> Result<Host, BuildError> {
        Host::from_builder(self).await
    }
}
