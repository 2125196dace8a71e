//! Plans and results. (What really runs is tested with the binary.)

mod plans;
mod results;
mod scripts;
mod serving;

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use surehand_core::{Call, CallError, Caller, Channel, Ctx, Plan, Toolset};
use surehand_exec::{Executor, ExecutorConfig};

use super::{RunbookOptions, Runbooks};
use crate::{Environment, Platform, Surroundings};

fn cx() -> Ctx {
    Ctx::builder(Caller::new("tester", Channel::InProcess)).build()
}

fn options() -> RunbookOptions {
    RunbookOptions {
        dry_run: false,
        surroundings: Surroundings {
            environment: Environment::new([("PATH", "/usr/bin:/bin"), ("TOKEN", "hunter22")]),
            platform: Platform::Unix,
        },
    }
}

/// A folder with a manifest of these runbooks, each with the script `a.sh`.
struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new(runbooks: Value) -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(fixture.path("a.sh"), "echo hi\n").unwrap();
        fixture.write(runbooks);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, runbooks: Value) {
        let mut list = runbooks;
        for runbook in list.as_array_mut().unwrap() {
            let runbook = runbook.as_object_mut().unwrap();
            for (key, value) in [
                ("description", "Does."),
                ("script", "a.sh"),
                ("interpreter", "sh"),
            ] {
                runbook.entry(key).or_insert(value.into());
            }
        }
        let document = json!({"version": 1, "runbooks": list});
        // As editors do it: a new file in the place of the old one.
        std::fs::write(self.path("new"), document.to_string()).unwrap();
        std::fs::rename(self.path("new"), self.path("runbooks.json")).unwrap();
    }

    fn load(&self) -> Arc<Runbooks> {
        Runbooks::load(&[self.path("runbooks.json")], options()).unwrap()
    }

    fn toolset(&self) -> Arc<dyn Toolset> {
        toolset(&self.load())
    }
}

fn toolset(runbooks: &Arc<Runbooks>) -> Arc<dyn Toolset> {
    runbooks.toolset(Executor::new(ExecutorConfig::default()))
}

fn call(tool: &str, arguments: Value) -> Call {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    Call::new(tool, arguments)
}

async fn plan(toolset: &Arc<dyn Toolset>, tool: &str, arguments: Value) -> Result<Plan, CallError> {
    toolset
        .prepare(&cx(), call(tool, arguments))
        .await
        .map(|prepared| prepared.plan)
}
