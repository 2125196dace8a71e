//! What a manifest says.
//!
//! The documentation comments of these types are what people read in the JSON Schema and in the manifest
//! reference, both of which are made from them. A default that stands in a comment stands in the code as well.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;

use super::params::Params;

/// The scripts that a team lets its agents run.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Where this manifest's own JSON Schema is. For editors; not read.
    #[schemars(rename = "$schema")]
    pub schema: Option<String>,
    /// The version of the format: 1.
    #[schemars(extend("const" = 1))]
    pub version: u8,
    /// Programs to use instead of the usual ones, by interpreter: one executable, no arguments. A name is
    /// looked up in `PATH`; a relative path is resolved in the runbook's working directory.
    #[schemars(default, extend("default" = {}))]
    pub interpreters: BTreeMap<Interpreter, String>,
    /// Put before the name of every tool of this manifest, so that two manifests with equal names can be
    /// served together.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$"))]
    pub prefix: Option<String>,
    /// What scripts inherit of the server's environment: `true`, all of it but `SUREHAND_*`; a list, only
    /// `PATH`, `HOME`, `USER`, `LANG`, `LC_*`, `TZ`, `TMPDIR` and `TERM` besides the names in the list.
    #[schemars(default, extend("default" = true))]
    pub inherit_env: InheritEnv,
    /// Refuse scripts and working directories that are, symbolic links resolved, outside the manifest's
    /// folder.
    #[schemars(default)]
    pub contain_scripts: bool,
    /// The runbooks, in the order in which agents see them.
    #[schemars(length(min = 1))]
    pub runbooks: Vec<Runbook>,
    /// The manifest's own absolute path.
    #[schemars(skip)]
    pub path: PathBuf,
}

impl Manifest {
    /// The folder that relative paths start from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The name of the tool that a runbook becomes.
    #[must_use]
    pub fn tool_name(&self, runbook: &Runbook) -> String {
        format!("{}{}", self.prefix.as_deref().unwrap_or_default(), runbook.name)
    }

    /// What a runbook's script inherits of the server's environment.
    #[must_use]
    pub fn inherited<'a>(&'a self, runbook: &'a Runbook) -> &'a InheritEnv {
        runbook.inherit_env.as_ref().unwrap_or(&self.inherit_env)
    }
}

/// One script, as one tool.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the manifest format"
)]
pub struct Runbook {
    /// The tool's name, in snake case.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$"))]
    pub name: String,
    /// What it does and when to use it: this is what the agent reads.
    #[schemars(length(min = 1))]
    pub description: String,
    /// The script: relative to the manifest's folder, or absolute.
    #[schemars(length(min = 1))]
    pub script: String,
    /// What runs the script.
    pub interpreter: Interpreter,
    /// The working directory: relative to the manifest's folder (which it is by default), or absolute.
    #[schemars(default)]
    pub cwd: String,
    /// After so many seconds the script is killed with all that it started.
    #[schemars(default = "default_timeout", range(min = 1, max = 86_400))]
    pub timeout_seconds: u32,
    /// How much of the end of each output stream the agent gets, in UTF-16 code units. What is dropped is
    /// reported.
    #[schemars(default = "default_output", range(min = 1, max = 10_000_000))]
    pub max_output_chars: u32,
    /// Variables for the script, taken literally. Not for secrets: those belong in `envFrom`.
    #[schemars(default)]
    pub env: BTreeMap<String, String>,
    /// Secrets for the script: each variable's value comes from `env:NAME` (the server's environment) or
    /// `file:PATH` (relative to the manifest's folder) at the time of the call. They are blacked out in all
    /// output.
    #[schemars(default, with = "BTreeMap<String, String>", extend("default" = {}))]
    pub env_from: BTreeMap<String, SecretSource>,
    /// As `inheritEnv` of the manifest, for this runbook.
    pub inherit_env: Option<InheritEnv>,
    /// It changes nothing. Told to clients.
    #[schemars(default)]
    pub read_only: bool,
    /// It may destroy what is there. Told to clients; two such calls of one runbook never overlap unless
    /// `concurrency` says so.
    #[schemars(default)]
    pub destructive: bool,
    /// A second identical call changes nothing more. Told to clients.
    #[schemars(default)]
    pub idempotent: bool,
    /// How many calls of this runbook may run at once.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// Of all runbooks that name the same lock, one runs at a time.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]{0,63}$"))]
    pub lock: Option<String>,
    /// The SHA-256 of the script. Checked when the manifest is loaded and again right before each run.
    #[schemars(with = "Option<String>", regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    pub sha256: Option<[u8; 32]>,
    /// What the script may reach, enforced by the kernel (Linux: Landlock and seccomp). Where that cannot be
    /// enforced, the manifest is refused.
    pub confine: Option<Confine>,
    /// What must come before a run.
    #[schemars(default, extend("default" = false))]
    pub confirm: Confirm,
    /// Offer agents an argument `dryRun` that shows the command instead of running it.
    #[schemars(default)]
    pub dry_run: bool,
    /// The tool's arguments, in the order in which they reach the script.
    #[schemars(default)]
    pub params: Params,
}

pub(super) fn default_timeout() -> u32 {
    300
}

pub(super) fn default_output() -> u32 {
    60_000
}

/// What runs a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
pub enum Interpreter {
    /// Windows PowerShell on Windows, PowerShell 7 elsewhere.
    Powershell,
    /// PowerShell 7.
    Pwsh,
    /// Bash.
    Bash,
    /// The POSIX shell.
    Sh,
    /// Node.
    Node,
    /// Python 3.
    Python,
    /// The script itself is the program.
    Exe,
}

impl Interpreter {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::Powershell,
        Self::Pwsh,
        Self::Bash,
        Self::Sh,
        Self::Node,
        Self::Python,
        Self::Exe,
    ];

    /// The name in a manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Powershell => "powershell",
            Self::Pwsh => "pwsh",
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Node => "node",
            Self::Python => "python",
            Self::Exe => "exe",
        }
    }

    /// The interpreter of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|interpreter| interpreter.as_str() == name)
    }

    /// Whether the script travels inside a PowerShell command text.
    #[must_use]
    pub fn is_powershell(self) -> bool {
        matches!(self, Self::Powershell | Self::Pwsh)
    }
}

/// What a script inherits of the server's environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(untagged, inline)]
pub enum InheritEnv {
    /// Everything but `SUREHAND_*`.
    #[default]
    #[schemars(
        with = "bool",
        description = "true: everything but `SUREHAND_*`; false: as an empty list."
    )]
    All,
    /// The basic variables and these.
    Only(Vec<String>),
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the server's environment.
    Variable(String),
    /// A file, relative to the manifest's folder.
    File(String),
}

impl std::fmt::Display for SecretSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// What a confined script may reach besides the system's programs, its own file and its interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub struct Confine {
    /// Files and folders that it may read and execute, relative to the manifest's folder.
    #[schemars(default)]
    pub read: Vec<String>,
    /// Files and folders that it may read and change, relative to the manifest's folder.
    #[schemars(default)]
    pub write: Vec<String>,
    /// Whether it may open network connections.
    #[schemars(default)]
    pub network: bool,
}

/// What must come before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema)]
#[schemars(untagged, inline)]
pub enum Confirm {
    /// Nothing.
    #[default]
    #[schemars(
        with = "bool",
        description = "`true`: the agent's person says yes; `false`: nothing."
    )]
    No,
    /// The agent's person says yes.
    #[schemars(skip)]
    Person,
    /// The agent repeats the call with a one-time token.
    #[schemars(
        with = "TokenWord",
        description = "`\"token\"`: the agent repeats the call with a one-time token. A guard against slips, \
                       not against an agent."
    )]
    Token,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "stands for a word in the JSON Schema")]
enum TokenWord {
    Token,
}
