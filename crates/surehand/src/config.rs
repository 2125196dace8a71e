//! What flags, environment and folder say, made into settings. No decision here looks at anything else.

use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::{
    cli::{Common, Running},
    errors::CliError,
    user,
};

/// The manifest that is looked for where none is named.
pub(crate) const DEFAULT_MANIFEST: &str = "runbooks.json";
const MANIFEST_VARIABLE: &str = "RUNBOOK_MCP_MANIFEST";
const DRY_RUN_VARIABLE: &str = "RUNBOOK_MCP_DRY_RUN";
const STATE_VARIABLE: &str = "SUREHAND_STATE_DIR";
const USER_VARIABLE: &str = "SUREHAND_USER";
const LOG_VARIABLE: &str = "SUREHAND_LOG";

/// The environment variables of this process. An empty one counts as unset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: HashMap<OsString, OsString>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        Self {
            variables: env::vars_os().collect(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsString> {
        self.variables
            .get(&OsString::from(name))
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// The name that the person gave themselves.
    pub(crate) fn user(&self) -> Option<String> {
        self.text(USER_VARIABLE)
    }

    /// Which events are logged.
    pub(crate) fn log(&self) -> Option<String> {
        self.text(LOG_VARIABLE)
    }

    /// Whether every call is a dry run: the value must be exactly `1`.
    pub(crate) fn dry_run(&self) -> bool {
        self.get(DRY_RUN_VARIABLE).is_some_and(|value| value == "1")
    }
}

/// Kinds of system, as far as folders go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Linux and other systems that follow the XDG base directory specification.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    pub(crate) fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Xdg
        }
    }
}

/// The folder for history, spooled output and locks: `SUREHAND_STATE_DIR`, else the platform's place for
/// such things. None where the environment does not tell.
pub(crate) fn state_folder(environment: &Environment, platform: Platform) -> Option<PathBuf> {
    let absolute = |name: &str| {
        environment
            .get(name)
            .map(PathBuf::from)
            .filter(|path| platform == Platform::Windows || path.is_absolute())
    };
    if let Some(folder) = environment.get(STATE_VARIABLE) {
        return Some(PathBuf::from(folder));
    }
    match platform {
        // The specification says that a relative path there is to be ignored.
        Platform::Xdg => absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("surehand")),
        Platform::Mac => absolute("HOME").map(|home| home.join("Library/Application Support/surehand")),
        Platform::Windows => absolute("LOCALAPPDATA").map(|local| local.join("surehand")),
    }
}

/// What a command works with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The manifests to serve, absolute; none where nothing was found.
    pub(crate) manifests: Vec<PathBuf>,
    /// Say what would be done instead of doing it.
    pub(crate) dry_run: bool,
    /// Remember runs.
    pub(crate) history: bool,
    /// The state folder, absolute.
    pub(crate) state_folder: Option<PathBuf>,
    /// On whose behalf calls are made.
    pub(crate) principal: String,
}

impl Settings {
    pub(crate) fn new(
        common: &Common,
        running: &Running,
        environment: &Environment,
    ) -> Result<Self, CliError> {
        let state_folder = common
            .state_dir
            .clone()
            .or_else(|| state_folder(environment, Platform::current()))
            .map(|folder| absolute(&folder))
            .transpose()?;
        Ok(Self {
            manifests: manifests(&common.manifest, environment)?,
            dry_run: running.dry_run || environment.dry_run(),
            history: !running.no_history,
            state_folder,
            principal: user::principal(environment)?,
        })
    }
}

/// The named manifests, else the one that the environment names, else the one that is here.
fn manifests(named: &[PathBuf], environment: &Environment) -> Result<Vec<PathBuf>, CliError> {
    if !named.is_empty() {
        return named.iter().map(|path| absolute(path)).collect();
    }
    if let Some(path) = environment.get(MANIFEST_VARIABLE) {
        return Ok(vec![absolute(Path::new(path))?]);
    }
    let here = absolute(Path::new(DEFAULT_MANIFEST))?;
    match here.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        // Whatever else is wrong with it, the loader says it better.
        _ => Ok(vec![here]),
    }
}

/// The path from the root, without following links.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|source| CliError::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Environment, Platform, state_folder};

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }

    fn folder(platform: Platform, variables: &[(&str, &str)]) -> Option<PathBuf> {
        state_folder(&environment(variables), platform)
    }

    #[test]
    fn each_platform_has_its_place_for_state() {
        let home = [("HOME", "/home/ada")];
        assert_eq!(
            folder(Platform::Xdg, &home),
            Some("/home/ada/.local/state/surehand".into())
        );
        assert_eq!(
            folder(Platform::Mac, &home),
            Some("/home/ada/Library/Application Support/surehand".into())
        );
        let local = [("LOCALAPPDATA", r"C:\Users\ada\AppData\Local")];
        let windows = folder(Platform::Windows, &local).unwrap();
        assert!(windows.starts_with(local[0].1), "{windows:?}");
        for platform in [Platform::Xdg, Platform::Mac, Platform::Windows] {
            assert_eq!(folder(platform, &[]), None);
            let named = [("SUREHAND_STATE_DIR", "/srv/state"), home[0], local[0]];
            assert_eq!(folder(platform, &named), Some("/srv/state".into()));
        }
    }

    #[test]
    fn the_xdg_folder_comes_before_home_if_it_is_absolute() {
        let xdg = |value| folder(Platform::Xdg, &[("XDG_STATE_HOME", value), ("HOME", "/home/ada")]);
        assert_eq!(xdg("/var/ada"), Some("/var/ada/surehand".into()));
        let fallback = Some("/home/ada/.local/state/surehand".into());
        assert_eq!(xdg("var"), fallback);
        assert_eq!(xdg(""), fallback);
    }

    #[test]
    fn only_exactly_1_makes_a_dry_run() {
        for (value, dry) in [("1", true), ("true", false), ("", false), ("01", false)] {
            assert_eq!(environment(&[("RUNBOOK_MCP_DRY_RUN", value)]).dry_run(), dry);
        }
    }
}
