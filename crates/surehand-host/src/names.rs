//! The one table of tool names.

use std::{collections::HashMap, sync::Arc};

use surehand_core::{Caller, Channel, Ctx, ListError, Tool, Toolset};

use crate::guarded::guarded;

/// More pages than any real toolset has; a cursor that never ends stops here.
const MOST_PAGES: usize = 1_000;

/// Two tools with one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tool {name:?} is offered twice, by {first} and by {second}; give the tools of one of them \
     another name with the `prefix` key"
)]
pub struct Clash {
    /// The name.
    pub name: String,
    /// The source that was added first.
    pub first: String,
    /// The other one; the same where one source offers a name twice.
    pub second: String,
}

/// The tools do not make a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Two tools with one name.
    #[error(transparent)]
    Clash(#[from] Clash),
    /// A source does not say what it offers.
    #[error("{toolset} cannot list its tools: {problem}")]
    Source {
        /// The source.
        toolset: String,
        /// What went wrong.
        problem: String,
    },
}

/// A tool and who offers it.
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    pub(crate) toolset: Arc<dyn Toolset>,
}

/// All tools, by name and in order. Never changes: a reload makes a new one.
pub(crate) struct NameTable {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

impl NameTable {
    /// Asks every toolset for its whole list.
    pub(crate) async fn build(toolsets: &[Arc<dyn Toolset>]) -> Result<Self, TableError> {
        let mut table = Self {
            entries: Vec::new(),
            by_name: HashMap::new(),
        };
        for toolset in toolsets {
            for tool in whole_list(toolset.as_ref()).await? {
                table.add(tool, toolset)?;
            }
        }
        Ok(table)
    }

    fn add(&mut self, tool: Tool, toolset: &Arc<dyn Toolset>) -> Result<(), Clash> {
        if let Some(first) = self.get(&tool.name) {
            return Err(Clash {
                first: first.toolset.name().to_owned(),
                second: toolset.name().to_owned(),
                name: tool.name,
            });
        }
        self.by_name.insert(tool.name.clone(), self.entries.len());
        self.entries.push(Entry {
            tool,
            toolset: Arc::clone(toolset),
        });
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|&at| &self.entries[at])
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// All pages of a toolset's list. Who may see what of it is the policy's business, so the toolset is asked
/// on behalf of Surehand itself.
async fn whole_list(toolset: &dyn Toolset) -> Result<Vec<Tool>, TableError> {
    let cx = Ctx::builder(Caller::new("surehand", Channel::InProcess)).build();
    let problem = |problem: String| TableError::Source {
        toolset: toolset.name().to_owned(),
        problem,
    };
    let mut tools = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let listing = guarded(toolset.list(&cx, cursor.as_deref()))
            .await
            .map_err(problem)?
            .map_err(|error: ListError| problem(error.to_string()))?;
        tools.extend(listing.tools);
        match listing.next {
            None => return Ok(tools),
            Some(next) if cursor.as_ref() == Some(&next) => {
                return Err(problem(format!("cursor {next:?} leads back to itself")));
            }
            Some(next) => cursor = Some(next),
        }
    }
    Err(problem(format!("more than {MOST_PAGES} pages")))
}
