//! What the parts of one session share.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use rmcp::model::RequestMetaObject;
use surehand_core::{Caller, ClientCapabilities, ClientInfo, Ctx, CtxBuilder, Toolset};
use tokio::sync::watch;

use crate::{
    elicit::Elicitations,
    in_flight::InFlight,
    options::ServeOptions,
    outbox::Outbox,
    peer::{Handshake, Peer},
    sealed_state::StateSeal,
    tool_list::ToolList,
};

pub(crate) struct Session {
    pub(crate) toolset: Arc<dyn Toolset>,
    pub(crate) options: ServeOptions,
    pub(crate) in_flight: InFlight,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) elicitations: Elicitations,
    pub(crate) seal: StateSeal,
    pub(crate) tools: ToolList,
    /// Whether the toolset tells of changes at all.
    pub(crate) tells_changes: bool,
    /// Counts the changes of the list of tools.
    pub(crate) changes: watch::Sender<u64>,
    handshake: RwLock<Option<Handshake>>,
    /// The client has said that it is ready for notifications.
    initialized: AtomicBool,
    greeted: Mutex<Option<ClientInfo>>,
}

impl Session {
    pub(crate) fn new(toolset: Arc<dyn Toolset>, options: ServeOptions) -> Arc<Self> {
        let changes = toolset.changes();
        Arc::new(Self {
            in_flight: InFlight::new(options.in_flight_limit, options.in_flight_bytes),
            outbox: Arc::default(),
            elicitations: Elicitations::default(),
            seal: StateSeal::default(),
            tells_changes: changes.is_some(),
            tools: ToolList::new(changes),
            changes: watch::Sender::new(0),
            handshake: RwLock::default(),
            initialized: AtomicBool::new(false),
            greeted: Mutex::default(),
            toolset,
            options,
        })
    }

    pub(crate) fn handshake(&self) -> Option<Handshake> {
        self.handshake
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes note of an `initialize` request. Done as soon as it is read, so that what follows in the same
    /// breath is already understood in its revision.
    pub(crate) fn shake_hands(&self, handshake: Handshake) {
        *self.handshake.write().unwrap_or_else(PoisonError::into_inner) = Some(handshake);
    }

    pub(crate) fn set_initialized(&self) {
        self.initialized.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Relaxed)
    }

    /// The other end as a request with this metadata shows it.
    pub(crate) fn peer(&self, meta: &RequestMetaObject) -> Peer {
        Peer::new(meta, self.handshake().as_ref())
    }

    /// Logs each client once.
    pub(crate) fn greet(&self, peer: &Peer) {
        let Some(client) = &peer.client else { return };
        let mut greeted = self.greeted.lock().unwrap_or_else(PoisonError::into_inner);
        if greeted.as_ref() != Some(client) {
            tracing::info!(
                client = client.name,
                version = client.version,
                revision = peer.revision.as_str(),
                "MCP client connected"
            );
            *greeted = Some(client.clone());
        }
    }

    /// Begins the context of a request of this peer.
    pub(crate) fn ctx(&self, peer: &Peer) -> CtxBuilder {
        self.greet(peer);
        Ctx::builder(Caller {
            client: peer.client.clone(),
            ..Caller::new(self.options.principal.clone(), self.options.channel)
        })
        .client(ClientCapabilities {
            elicitation: peer.elicitation,
        })
        .revision(peer.revision.as_str())
    }
}
