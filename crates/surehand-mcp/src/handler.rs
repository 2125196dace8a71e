//! What `rmcp` calls for each method.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ServerCapabilities, ServerConfig, SubscriptionFilter, ToolsCapability,
    },
    service::{RequestContext, SubscriptionContext},
};
use surehand_core::ListError;

use crate::{call, changes, convert, peer::Handshake, session::Session, wire::RawField};

pub(crate) struct Handler {
    pub(crate) session: Arc<Session>,
}

impl Handler {
    fn offers_tools(&self, method: &str) -> Result<(), ErrorData> {
        if self.session.toolset.offers().tools {
            Ok(())
        } else {
            Err(unknown_method(method))
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let options = &self.session.options;
        let mut capabilities = ServerCapabilities::default();
        if self.session.toolset.offers().tools {
            let mut tools = ToolsCapability::default();
            tools.list_changed = self.session.tells_changes.then_some(true);
            capabilities.tools = Some(tools);
        }
        let mut implementation = Implementation::new(&options.name, &options.version);
        implementation.title.clone_from(&options.title);
        let mut config = ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(implementation);
        config.instructions = self.session.toolset.instructions();
        config
    }

    async fn initialize(
        &self,
        params: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let revision = Handshake::new(&params).revision;
        self.session.greet(&self.session.peer(&context.meta));
        // `rmcp` goes by this for the shape of later answers.
        context
            .peer
            .set_peer_info(params.with_protocol_version(revision.clone()));
        Ok(self.get_info().with_protocol_version(revision))
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.offers_tools("tools/list")?;
        let session = &self.session;
        let ticket = session.in_flight.ticket(&context.id);
        let cx = session
            .ctx(&session.peer(&context.meta))
            .cancel(ticket.map(|ticket| ticket.cancel).unwrap_or_default())
            .build();
        let cursor = params.and_then(|params| params.cursor);
        let page = session
            .tools
            .page(session.toolset.as_ref(), &cx, cursor.as_deref());
        let page = AssertUnwindSafe(page)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(ListError::Internal("the toolset panicked".to_owned())))
            .map_err(|error| convert::list_error(&error))?;
        let raw = RawField {
            name: "tools",
            json: page.tools,
        };
        session.in_flight.attach(&context.id, raw);
        let mut result = ListToolsResult::with_all_items(Vec::new());
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.offers_tools("tools/call")?;
        call::call_tool(&self.session, &context.id, &context.meta, params).await
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let filter = SubscriptionFilter::builder();
        Some(if self.session.tells_changes {
            filter.tools_list_changed().build()
        } else {
            filter.build()
        })
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let ticket = self.session.in_flight.ticket(subscription.sink().id());
        let Some((cancel, changes)) = ticket.and_then(|ticket| Some((ticket.cancel, ticket.changes?))) else {
            return Err(ErrorData::internal_error(
                "internal error: the request is not open",
                None,
            ));
        };
        changes::listen(&subscription, changes, &cancel).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_method(&request.method))
    }
}

fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("method not found: {method}"),
        None,
    )
}
