//! From a call to a plan, and to the work that carries it out.

use std::sync::Arc;

use serde_json::{Map, Value};
use surehand_core::{Answer, CallError, Confirm, Ctx, Lock, Plan, Prepared, Redactor, Refusal};
use surehand_exec::Executor;

use super::{
    digest::digest,
    identity::{Identity, Scripts},
    result::{Told, dry_run_outcome, outcome},
    served::Entry,
};
use crate::{
    argv::{Invocation, Surroundings, build_invocation, compatible_line},
    environment::{Secret, child_environment, secrets},
    execute::{Job, execute},
    manifest::{
        self, Manifest, Param, Runbook, SecretSource, contained, obstacles, resolve, script_mismatch,
    },
    published::{TOOLSET, effects},
    regular_file,
};

/// Arguments up to this size, in bytes, are checked at once.
const LIGHT: usize = 4096;

/// Scripts up to this size, in bytes, are hashed at once.
const LIGHT_SCRIPT: u64 = 256 << 10;

/// Whether planning is so little work that handing it to another thread would cost more.
pub(super) fn is_light(entry: &Entry, arguments: &Map<String, Value>) -> bool {
    let runbook = entry.runbook();
    let mut left = LIGHT;
    let backtracks = |param: &Param| {
        param
            .text_rule()
            .and_then(|rule| rule.pattern.as_ref())
            .is_some_and(crate::pattern::Pattern::backtracks)
    };
    arguments.values().all(|value| fits(value, &mut left))
        && !runbook.params.iter().any(|(_, param)| backtracks(param))
        && !runbook
            .env_from
            .values()
            .any(|source| matches!(source, SecretSource::File(_)))
        && (!binds_bytes(runbook) || is_light_script(&entry.manifest, runbook))
}

/// Whether a pin or a person's yes is bound to the script's bytes.
fn binds_bytes(runbook: &Runbook) -> bool {
    runbook.sha256.is_some() || runbook.confirm != manifest::Confirm::No
}

fn is_light_script(manifest: &Manifest, runbook: &Runbook) -> bool {
    regular_file::metadata(&resolve(manifest.folder(), &runbook.script))
        .map_or(true, |metadata| metadata.len() <= LIGHT_SCRIPT)
}

fn fits(value: &Value, left: &mut usize) -> bool {
    let size = match value {
        Value::String(text) => text.len(),
        _ => 8,
    };
    let Some(rest) = left.checked_sub(size) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(map) => map.values().all(|item| fits(item, left)),
        _ => true,
    }
}

/// Everything that a call is planned from.
pub(super) struct Planner {
    pub(super) entry: Arc<Entry>,
    pub(super) surroundings: Arc<Surroundings>,
    pub(super) scripts: Arc<Scripts>,
    pub(super) executor: Executor,
    pub(super) dry_run: bool,
}

impl Planner {
    /// Checks a call and plans it.
    pub(super) fn prepare(self, arguments: &Map<String, Value>) -> Result<Prepared, CallError> {
        let manifest = Arc::clone(&self.entry.manifest);
        let runbook = self.entry.runbook();
        let mut invocation = build_invocation(&manifest, runbook, arguments, &self.surroundings)?;
        invocation.dry_run |= self.dry_run;
        let refuse = |problems| Refusal {
            tool: invocation.tool.clone(),
            problems,
        };
        let obstacles = obstacles(&manifest, runbook);
        if !obstacles.is_empty() {
            return Err(refuse(obstacles).into());
        }
        let secrets = secrets(&manifest, runbook, &self.surroundings.environment).map_err(refuse)?;
        let bound = binds_bytes(runbook) && !invocation.dry_run;
        let script = self
            .scripts
            .identity(&invocation.script, bound)
            .map_err(|problem| refuse(vec![problem]))?;
        if !invocation.dry_run {
            check_script(&manifest, runbook, &invocation).map_err(|problem| refuse(vec![problem]))?;
        }
        let redactor = Redactor::new(secrets.iter().map(|secret| secret.value.as_str()));
        let digest = digest(runbook, &invocation, &self.surroundings.environment, &script);
        let plan = plan(&self.entry, &invocation, &redactor, digest);
        let powershell = runbook.interpreter.is_powershell();
        let told = Told::of(
            &plan,
            &compatible_line(&invocation.command, powershell),
            &redactor,
        );
        let prepared = ReadyCall {
            planner: self,
            invocation,
            secrets,
            redactor,
            script,
            told,
        };
        Ok(Prepared {
            plan,
            work: Box::new(move |cx| Box::pin(async move { prepared.carry_out(cx).await })),
        })
    }
}

/// Checks what may have changed on disk since the manifest was loaded.
fn check_script(manifest: &Manifest, runbook: &Runbook, invocation: &Invocation) -> Result<(), String> {
    contained(manifest, runbook)?;
    script_mismatch(runbook, &invocation.script).map_or(Ok(()), Err)
}

fn plan(entry: &Entry, invocation: &Invocation, redactor: &Redactor, digest: String) -> Plan {
    let runbook = entry.runbook();
    Plan {
        toolset: TOOLSET.to_owned(),
        tool: invocation.tool.clone(),
        display: redactor.text(&invocation.display),
        command: invocation
            .command
            .iter()
            .map(|word| redactor.text(word))
            .collect(),
        cwd: Some(redactor.text(&invocation.cwd.display().to_string())),
        effects: effects(runbook),
        locks: locks(entry),
        confirm: match runbook.confirm {
            manifest::Confirm::No => Confirm::No,
            manifest::Confirm::Person => Confirm::Person,
            manifest::Confirm::Token => Confirm::Token,
        },
        token: invocation.token.clone(),
        arguments: redactor.map(&invocation.arguments),
        digest,
        dry_run: invocation.dry_run,
    }
}

/// What a call must hold: its runbook's own places, and the lock that it shares with others.
fn locks(entry: &Entry) -> Vec<Lock> {
    let runbook = entry.runbook();
    let limit = runbook.concurrency.or(runbook.destructive.then_some(1));
    let own = limit.into_iter().flat_map(|limit| {
        entry.places.iter().map(move |place| Lock {
            key: format!("runbook:{}:{}", place.display(), runbook.name),
            limit,
        })
    });
    let shared = runbook.lock.as_ref().map(|name| Lock {
        key: format!("lock:{name}"),
        limit: 1,
    });
    own.chain(shared).collect()
}

/// A call that was checked and may begin.
struct ReadyCall {
    planner: Planner,
    invocation: Invocation,
    secrets: Vec<Secret>,
    redactor: Redactor,
    /// The script that was planned with.
    script: Identity,
    told: Told,
}

impl ReadyCall {
    async fn carry_out(mut self, cx: Ctx) -> Result<Answer, CallError> {
        if self.invocation.dry_run {
            let outcome = dry_run_outcome(&self.told, &self.invocation);
            return Ok(Answer::Done(outcome));
        }
        if self.must_be_checked_again() {
            self = tokio::task::spawn_blocking(move || self.checked_again())
                .await
                .map_err(|error| CallError::Internal(error.to_string()))??;
        }
        let timeout = match cx.deadline {
            Some(deadline) => self
                .invocation
                .timeout
                .min(deadline.saturating_duration_since(std::time::Instant::now())),
            None => self.invocation.timeout,
        };
        let job = Job {
            command: self.invocation.command.clone(),
            cwd: self.invocation.cwd.clone(),
            environment: child_environment(
                &self.planner.entry.manifest,
                self.planner.entry.runbook(),
                &self.planner.surroundings.environment,
                &self.secrets,
                self.planner.surroundings.platform,
            )
            .into_variables(),
            confinement: self.planner.entry.confinement(&self.invocation.script),
            timeout,
            max_output_chars: self.invocation.max_output_chars,
            redactor: self.redactor.clone(),
        };
        let finished = execute(&self.planner.executor, job, &cx).await?;
        let outcome = outcome(&self.told, &finished, timeout, &cx.run.id(), &self.redactor);
        Ok(Answer::Done(outcome))
    }

    /// Whether the wait for a person, a lock or a place could have made the plan untrue.
    fn must_be_checked_again(&self) -> bool {
        let runbook = self.planner.entry.runbook();
        runbook.sha256.is_some()
            || runbook.confirm != manifest::Confirm::No
            || self.planner.entry.manifest.contain_scripts
    }

    fn checked_again(self) -> Result<Self, CallError> {
        let runbook = self.planner.entry.runbook();
        let refuse = |problem: String| CallError::from(Refusal::new(&*self.invocation.tool, problem));
        check_script(&self.planner.entry.manifest, runbook, &self.invocation).map_err(refuse)?;
        let confirmed = runbook.confirm != manifest::Confirm::No;
        let scripts = &self.planner.scripts;
        if confirmed && scripts.identity(&self.invocation.script, true).map_err(refuse)? != self.script {
            return Err(refuse(
                "the script was changed after the call was confirmed; call again to have the new one confirmed"
                    .to_owned(),
            ));
        }
        Ok(self)
    }
}
