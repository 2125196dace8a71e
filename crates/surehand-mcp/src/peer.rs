//! Who is at the other end, and which revision of the protocol a request is made in.

use rmcp::model::{
    ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion, RequestMetaObject,
};
use surehand_core::ClientInfo;

/// The oldest revision that was ever published. `rmcp` does not list it; it differs from its successor in
/// nothing that is used here.
const FIRST_REVISION: &str = "2024-10-07";
/// The revisions that know batches.
const WITH_BATCHES: [&str; 3] = [FIRST_REVISION, "2024-11-05", "2025-03-26"];

/// What an `initialize` request settled.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    /// The negotiated revision.
    pub(crate) revision: ProtocolVersion,
    client: ClientInfo,
    elicitation: bool,
}

impl Handshake {
    /// Settles on the revision that the client wants where it has a handshake at all, else on the newest that
    /// has one.
    pub(crate) fn new(params: &InitializeRequestParams) -> Self {
        let wanted = &params.protocol_version;
        let is_served = ProtocolVersion::KNOWN_VERSIONS.contains(wanted) || wanted.as_str() == FIRST_REVISION;
        Self {
            revision: if is_served && wanted.has_initialize() {
                wanted.clone()
            } else {
                ProtocolVersion::LATEST_WITH_INITIALIZE
            },
            client: client_info(&params.client_info),
            elicitation: has_elicitation(&params.capabilities),
        }
    }

    pub(crate) fn allows_batches(&self) -> bool {
        WITH_BATCHES.contains(&self.revision.as_str())
    }
}

/// The other end, as one request shows it.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The request's revision.
    pub(crate) revision: ProtocolVersion,
    /// What the client says it is.
    pub(crate) client: Option<ClientInfo>,
    /// Whether it can put a question to its person.
    pub(crate) elicitation: bool,
}

impl Peer {
    /// A request of the modern era speaks for itself alone; any other for what the handshake settled, if there
    /// was one.
    pub(crate) fn new(meta: &RequestMetaObject, handshake: Option<&Handshake>) -> Self {
        match meta.protocol_version() {
            Some(revision) if !revision.has_initialize() => Self {
                revision,
                client: meta.client_info().as_ref().map(client_info),
                elicitation: meta.client_capabilities().as_ref().is_some_and(has_elicitation),
            },
            revision => Self {
                revision: revision
                    .or_else(|| handshake.map(|handshake| handshake.revision.clone()))
                    .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE),
                client: handshake.map(|handshake| handshake.client.clone()),
                elicitation: handshake.is_some_and(|handshake| handshake.elicitation),
            },
        }
    }

    /// Whether the request belongs to the era without a handshake, in which a server asks nothing by itself.
    pub(crate) fn is_modern(&self) -> bool {
        !self.revision.has_initialize()
    }
}

fn client_info(client: &Implementation) -> ClientInfo {
    ClientInfo {
        name: client.name.clone(),
        version: client.version.clone(),
    }
}

/// Form mode; a client that names no mode means that one (MCP 2025-11-25, "Elicitation").
fn has_elicitation(capabilities: &ClientCapabilities) -> bool {
    capabilities
        .elicitation
        .as_ref()
        .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}
