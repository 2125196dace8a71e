//! Toolsets, recorders and approvals that a test can look into.

use std::{
    collections::BTreeMap,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value};
use surehand_core::{
    Answer, ApprovalRequest, Approvals, ApprovalsError, Call, CallError, Caller, Change, Channel,
    ClientCapabilities, Confirm, Ctx, Effects, Inputs, ListError, Listing, Lock, Offers, Outcome, Plan,
    Prepared, Progress, Recorder, RunEnd, RunEvent, RunId, RunStatus, Tool, Toolset,
};
use surehand_host::{Host, HostBuilder};
use surehand_policy::LocalPolicy;
use tokio::sync::{Semaphore, broadcast};

pub(crate) type Reply = Pin<Box<dyn Future<Output = Result<Answer, CallError>> + Send>>;
type Action = Arc<dyn Fn(Ctx) -> Reply + Send + Sync>;

/// One tool of a [`Fake`].
#[derive(Clone)]
pub(crate) struct FakeTool {
    name: String,
    action: Action,
    locks: Vec<Lock>,
    confirm: Confirm,
}

pub(crate) fn tool<F>(name: &str, action: impl Fn(Ctx) -> F + Send + Sync + 'static) -> FakeTool
where
    F: Future<Output = Result<Answer, CallError>> + Send + 'static,
{
    FakeTool {
        name: name.to_owned(),
        action: Arc::new(move |cx| Box::pin(action(cx))),
        locks: Vec::new(),
        confirm: Confirm::No,
    }
}

impl FakeTool {
    pub(crate) fn lock(mut self, key: &str, limit: u32) -> Self {
        self.locks.push(Lock {
            key: key.to_owned(),
            limit,
        });
        self
    }

    pub(crate) fn confirm(mut self, confirm: Confirm) -> Self {
        self.confirm = confirm;
        self
    }
}

/// What work ends with that did what it should.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it stands where work ends, which may fail"
)]
pub(crate) fn ok(text: &str) -> Result<Answer, CallError> {
    Ok(Answer::Done(Outcome::text(text)))
}

/// A toolset whose tools may be exchanged.
pub(crate) struct Fake {
    name: String,
    tools: Mutex<Vec<FakeTool>>,
    changes: broadcast::Sender<Change>,
    /// How many tools a page holds.
    page: usize,
}

impl Fake {
    pub(crate) fn new(name: &str, tools: impl IntoIterator<Item = FakeTool>) -> Arc<Self> {
        Self::paged(name, tools, 100)
    }

    pub(crate) fn paged(name: &str, tools: impl IntoIterator<Item = FakeTool>, page: usize) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            tools: Mutex::new(tools.into_iter().collect()),
            changes: broadcast::channel(8).0,
            page,
        })
    }

    pub(crate) fn exchange(&self, tools: impl IntoIterator<Item = FakeTool>) {
        *self.tools.lock().unwrap() = tools.into_iter().collect();
        self.changes.send(Change::Tools).unwrap();
    }
}

#[async_trait]
impl Toolset for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn offers(&self) -> Offers {
        Offers { tools: true }
    }

    fn instructions(&self) -> Option<String> {
        Some(format!("how to use {}", self.name))
    }

    async fn list(&self, _cx: &Ctx, cursor: Option<&str>) -> Result<Listing, ListError> {
        let from: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.tools.lock().unwrap();
        let next = from + self.page;
        Ok(Listing {
            tools: tools
                .iter()
                .skip(from)
                .take(self.page)
                .map(|tool| listed(&self.name, &tool.name))
                .collect(),
            next: (next < tools.len()).then(|| next.to_string()),
        })
    }

    async fn prepare(&self, _cx: &Ctx, call: Call) -> Result<Prepared, CallError> {
        let tools = self.tools.lock().unwrap();
        let tool =
            tools
                .iter()
                .find(|tool| tool.name == call.tool)
                .ok_or_else(|| CallError::UnknownTool {
                    name: call.tool.clone(),
                    nearest: Some("a secret of the toolset".to_owned()),
                })?;
        let mut arguments = call.arguments;
        let token = arguments
            .shift_remove("confirmToken")
            .and_then(|token| token.as_str().map(str::to_owned));
        let plan = Plan {
            toolset: self.name.clone(),
            tool: call.tool,
            display: format!("run {}", Value::Object(arguments.clone())),
            command: vec!["run".to_owned()],
            cwd: Some("/srv".to_owned()),
            effects: Effects::default(),
            locks: tool.locks.clone(),
            confirm: tool.confirm,
            token,
            digest: format!("{}{}", tool.name, Value::Object(arguments.clone())),
            arguments,
            dry_run: call.dry_run,
        };
        let action = Arc::clone(&tool.action);
        let dry_run = call.dry_run;
        Ok(Prepared {
            plan,
            work: Box::new(move |cx| {
                if dry_run {
                    Box::pin(async { ok("would run") })
                } else {
                    action(cx)
                }
            }),
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.changes.subscribe())
    }
}

fn listed(toolset: &str, name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: String::new(),
        input_schema: Arc::new(Map::new()),
        output_schema: None,
        effects: Effects::default(),
        toolset: toolset.to_owned(),
    }
}

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Memory {
    events: Mutex<Vec<RunEvent>>,
}

impl Recorder for Memory {
    fn record(&self, event: RunEvent) {
        self.events.lock().unwrap().push(event);
    }

    fn run_folder(&self, id: RunId) -> Option<PathBuf> {
        Some(PathBuf::from("/runs").join(id.as_text()))
    }
}

impl Memory {
    pub(crate) fn events(&self) -> Vec<RunEvent> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) fn ends(&self) -> Vec<RunEnd> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                RunEvent::End(end) => Some(*end),
                _ => None,
            })
            .collect()
    }

    /// What happened, each event as one word, in order.
    pub(crate) fn story(&self) -> Vec<String> {
        self.events()
            .iter()
            .map(|event| match event {
                RunEvent::Start(start) => start.status.as_str().to_owned(),
                RunEvent::Running { .. } => "running".to_owned(),
                RunEvent::Output { .. } => "output".to_owned(),
                RunEvent::End(end) => end.status.as_str().to_owned(),
            })
            .collect()
    }

    pub(crate) fn only_run(&self) -> RunId {
        match self.events().first() {
            Some(RunEvent::Start(start)) => start.id,
            other => panic!("no start but {other:?}"),
        }
    }

    /// Waits until `count` runs have ended.
    pub(crate) async fn ended(&self, count: usize) -> Vec<RunEnd> {
        until(|| self.ends().len() >= count).await;
        self.ends()
    }
}

/// Principal, tool and digest.
type Asked = (String, String, String);

/// Approvals in memory: what was asked, as which run, and whether a yes is there.
#[derive(Default)]
pub(crate) struct Desk {
    waiting: Mutex<BTreeMap<Asked, (RunId, bool)>>,
    broken: bool,
}

impl Desk {
    /// One that can look nothing up.
    pub(crate) fn broken() -> Self {
        Self {
            broken: true,
            ..Self::default()
        }
    }

    pub(crate) fn say_yes(&self) {
        for (_, yes) in self.waiting.lock().unwrap().values_mut() {
            *yes = true;
        }
    }
}

#[async_trait]
impl Approvals for Desk {
    async fn ask(&self, request: ApprovalRequest) -> Result<RunId, ApprovalsError> {
        assert_eq!(request.run.status, RunStatus::PendingApproval);
        let key = (request.run.caller.principal, request.run.tool, request.digest);
        let mut waiting = self.waiting.lock().unwrap();
        Ok(waiting.entry(key).or_insert((request.run.id, false)).0)
    }

    async fn take(&self, principal: &str, tool: &str, digest: &str) -> Result<Option<RunId>, ApprovalsError> {
        if self.broken {
            return Err(ApprovalsError("the database is damaged".to_owned()));
        }
        let key = (principal.to_owned(), tool.to_owned(), digest.to_owned());
        let mut waiting = self.waiting.lock().unwrap();
        match waiting.get(&key) {
            Some((id, true)) => {
                let id = *id;
                waiting.remove(&key);
                Ok(Some(id))
            }
            _ => Ok(None),
        }
    }
}

pub(crate) fn builder(memory: &Arc<Memory>) -> HostBuilder {
    let recorder: Arc<dyn Recorder> = Arc::clone(memory) as _;
    Host::builder().policy(Arc::new(LocalPolicy)).recorder(recorder)
}

/// A host over these tools, and what it remembers.
pub(crate) async fn host(tools: impl IntoIterator<Item = FakeTool>) -> (Host, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let host = builder(&memory)
        .toolset(Fake::new("fake", tools))
        .build()
        .await
        .unwrap();
    (host, memory)
}

pub(crate) fn ada() -> Ctx {
    Ctx::builder(Caller::new("ada", Channel::Stdio)).build()
}

pub(crate) fn ada_with_a_screen(inputs: Inputs) -> Ctx {
    Ctx::builder(Caller::new("ada", Channel::Stdio))
        .client(ClientCapabilities { elicitation: true })
        .inputs(inputs)
        .build()
}

/// A context whose progress messages can be read.
pub(crate) fn watched() -> (Ctx, Arc<Mutex<Vec<Progress>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let heard = Arc::clone(&heard);
        Arc::new(move |progress| heard.lock().unwrap().push(progress))
    };
    let cx = Ctx::builder(Caller::new("ada", Channel::Stdio))
        .progress(Some(sink))
        .build();
    (cx, heard)
}

pub(crate) fn call(tool: &str) -> Call {
    Call::new(tool, Map::new())
}

pub(crate) fn call_with(tool: &str, arguments: Value) -> Call {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    Call::new(tool, arguments)
}

pub(crate) async fn run(host: &Host, cx: &Ctx, tool: &str) -> Result<Answer, CallError> {
    host.call(cx, call(tool)).await
}

pub(crate) fn outcome(answer: Result<Answer, CallError>) -> Outcome {
    match answer.unwrap() {
        Answer::Done(outcome) => outcome,
        other @ Answer::NeedsInput { .. } => panic!("not done: {other:?}"),
    }
}

pub(crate) async fn until(condition: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("did not come true within ten seconds");
}

/// A door that work waits at until the test opens it, and how many have come there.
#[derive(Clone)]
pub(crate) struct Door {
    open: Arc<Semaphore>,
    arrived: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new() -> Self {
        Self {
            open: Arc::new(Semaphore::new(0)),
            arrived: Arc::new(Semaphore::new(0)),
        }
    }

    /// A tool that waits at this door, or for its withdrawal.
    pub(crate) fn tool(&self, name: &str) -> FakeTool {
        let door = self.clone();
        tool(name, move |cx| {
            let door = door.clone();
            async move {
                door.arrived.add_permits(1);
                tokio::select! {
                    permit = door.open.acquire() => {
                        permit.unwrap().forget();
                        ok("done")
                    }
                    () = cx.cancel.cancelled() => Err(CallError::Cancelled),
                }
            }
        })
    }

    pub(crate) fn let_through(&self, count: usize) {
        self.open.add_permits(count);
    }

    pub(crate) fn arrived(&self) -> usize {
        self.arrived.available_permits()
    }

    pub(crate) async fn until_arrived(&self, count: usize) {
        until(|| self.arrived() >= count).await;
    }
}
