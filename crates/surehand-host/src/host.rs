//! The host: many toolsets served as one.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use surehand_core::{
    Action, Approvals, Call, CallError, Caller, Change, Ctx, Decision, ListError, Listing, Offers, Policy,
    Prepared, Resource, RunId, Tool, Toolset, nearest,
};
use tokio::sync::broadcast;

use crate::{
    BuildError, HostBuilder, changes,
    dispatch::{Dispatch, unless_withdrawn},
    file_lock::LockFolder,
    guarded::guarded,
    holds::Gates,
    names::{Entry, NameTable},
    runs::Runs,
    tokens::Tokens,
};

/// How long [`Host::shutdown`] waits for runs to end.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(3);

/// Many toolsets served as one, with permission, confirmation, locks, limits and history.
///
/// Clones are handles on the same host.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    toolsets: Vec<Arc<dyn Toolset>>,
    policy: Arc<dyn Policy>,
    table: RwLock<Arc<NameTable>>,
    changes: Option<broadcast::Sender<Change>>,
    dry_run: bool,
    pub(crate) approvals: Option<Arc<dyn Approvals>>,
    pub(crate) tokens: Tokens,
    pub(crate) gates: Gates,
    pub(crate) runs: Runs,
}

impl Host {
    /// Starts with nothing: no toolset, no policy, no history.
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::new()
    }

    pub(crate) async fn from_builder(builder: HostBuilder) -> Result<Self, BuildError> {
        let policy = builder.policy.ok_or(BuildError::NoPolicy)?;
        if builder.limits.max_running == 0 {
            return Err(BuildError::NothingMayRun);
        }
        // Followed before the lists are asked for, so that no change falls between.
        let (sender, sources) = changes::sender(&builder.toolsets);
        let table = NameTable::build(&builder.toolsets).await?;
        let lock_folder = builder.lock_folder.map(LockFolder::new);
        let inner = Arc::new(Inner {
            toolsets: builder.toolsets,
            policy,
            table: RwLock::new(Arc::new(table)),
            changes: sender,
            dry_run: builder.dry_run,
            approvals: builder.approvals,
            tokens: Tokens::default(),
            gates: Gates::new(builder.limits.max_running, lock_folder),
            runs: Runs::new(builder.recorder),
        });
        if !sources.is_empty() {
            tokio::spawn(changes::follow(Arc::downgrade(&inner), sources));
        }
        Ok(Self { inner })
    }

    /// Withdraws a live run of this host. False where no such run is live here.
    #[must_use]
    pub fn cancel(&self, run: RunId) -> bool {
        self.inner.runs.cancel(run)
    }

    /// Takes no more calls, withdraws all live runs, and waits up to three seconds until each has its end in
    /// history. How many had not ended by then; those are recorded when their future is dropped.
    pub async fn shutdown(&self) -> usize {
        self.inner.runs.close(SHUTDOWN_PATIENCE).await
    }
}

impl Inner {
    /// The one question behind lists and calls: what this says no to is neither listed nor known.
    fn permits(&self, caller: &Caller, tool: &Tool) -> bool {
        let resource = Resource::Tool {
            toolset: &tool.toolset,
            name: &tool.name,
        };
        [Action::See, Action::Run]
            .iter()
            .all(|action| self.policy.authorise(caller, *action, &resource) == Decision::Allow)
    }

    fn table(&self) -> Arc<NameTable> {
        // The lock only guards the exchange of the pointer.
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the caller may use, in order.
    fn offered<'t>(&self, table: &'t NameTable, caller: &Caller) -> impl Iterator<Item = &'t Entry> {
        table
            .entries()
            .iter()
            .filter(|entry| self.permits(caller, &entry.tool))
    }

    /// The toolset behind a name that the caller may use. A name that does not exist and one that the caller
    /// may not use get the same answer, so that nobody learns names from it.
    fn resolve(&self, caller: &Caller, name: &str) -> Result<Arc<dyn Toolset>, CallError> {
        let table = self.table();
        match table.get(name).filter(|entry| self.permits(caller, &entry.tool)) {
            Some(entry) => Ok(Arc::clone(&entry.toolset)),
            None => Err(self.unknown(&table, caller, name)),
        }
    }

    fn unknown(&self, table: &NameTable, caller: &Caller, name: &str) -> CallError {
        // The name itself may still stand in a list that has just changed.
        let offered = self
            .offered(table, caller)
            .map(|entry| entry.tool.name.as_str())
            .filter(|offered| *offered != name);
        CallError::UnknownTool {
            name: name.to_owned(),
            nearest: nearest(name, offered).map(str::to_owned),
        }
    }

    /// Takes over what the toolsets now offer; where that makes no table, the last good one stays.
    pub(crate) async fn reload(&self) {
        match NameTable::build(&self.toolsets).await {
            Ok(table) => {
                *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
                if let Some(changes) = &self.changes {
                    // Nobody may be listening, which is no fault.
                    let _ = changes.send(Change::Tools);
                }
            }
            Err(error) => {
                tracing::error!(%error, "the tools changed and are not served: the last good list stays");
            }
        }
    }
}

#[async_trait]
impl Toolset for Host {
    fn name(&self) -> &'static str {
        "surehand"
    }

    /// Tools, always: where there are none, the list is empty.
    fn offers(&self) -> Offers {
        Offers { tools: true }
    }

    fn instructions(&self) -> Option<String> {
        let all: Vec<String> = self
            .inner
            .toolsets
            .iter()
            .filter_map(|toolset| toolset.instructions())
            .collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }

    /// Everything in one page: many clients read no other.
    async fn list(&self, cx: &Ctx, cursor: Option<&str>) -> Result<Listing, ListError> {
        if let Some(cursor) = cursor {
            return Err(ListError::UnknownCursor(cursor.to_owned()));
        }
        let table = self.inner.table();
        Ok(Listing {
            tools: self
                .inner
                .offered(&table, &cx.caller)
                .map(|entry| entry.tool.clone())
                .collect(),
            next: None,
        })
    }

    async fn prepare(&self, cx: &Ctx, mut call: Call) -> Result<Prepared, CallError> {
        call.dry_run |= self.inner.dry_run;
        let name = call.tool.clone();
        let toolset = self.inner.resolve(&cx.caller, &name)?;
        let prepared = unless_withdrawn(cx, guarded(toolset.prepare(cx, call)))
            .await?
            .map_err(|problem| CallError::Internal(format!("{name}: {problem}")))?;
        let Prepared { plan, work } = prepared.map_err(|error| match error {
            // The list changed in this moment. The toolset does not know who may see what.
            CallError::UnknownTool { .. } => self.inner.unknown(&self.inner.table(), &cx.caller, &name),
            other => other,
        })?;
        let inner = Arc::clone(&self.inner);
        let own = plan.clone();
        Ok(Prepared {
            plan,
            work: Box::new(move |cx| Box::pin(Dispatch::new(inner, own, work).carry_out(cx))),
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.inner.changes.as_ref().map(broadcast::Sender::subscribe)
    }
}
