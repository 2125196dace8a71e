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

    /// Whether every call is a dry run: `1` says so.
    ///
    /// # Errors
    /// Whoever sets it to something else that is no clear no means a dry run, and must not get a run.
    pub(crate) fn dry_run(&self) -> Result<bool, CliError> {
        let value = self.text(DRY_RUN_VARIABLE).unwrap_or_default();
        match value.to_ascii_lowercase().as_str() {
            "1" => Ok(true),
            "" | "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(CliError::usage_with_hint(
                format!("{DRY_RUN_VARIABLE} is {value:?}, which is neither a yes nor a no"),
                format!("{DRY_RUN_VARIABLE}=1 makes every call a dry run; unset it to run for real"),
            )),
        }
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
            dry_run: environment.dry_run()? || running.dry_run,
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
    // Where the folder itself was deleted, nothing is in it.
    let Ok(here) = absolute(Path::new(DEFAULT_MANIFEST)) else {
        return Ok(Vec::new());
    };
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
    fn only_1_makes_a_dry_run_and_what_might_mean_one_is_refused() {
        let read = |value| environment(&[("RUNBOOK_MCP_DRY_RUN", value)]).dry_run().ok();
        assert_eq!(read("1"), Some(true));
        for value in ["", "0", "false", "No", "OFF"] {
            assert_eq!(read(value), Some(false), "{value}");
        }
        for value in ["true", "yes", "01", " 1", "on"] {
            assert_eq!(read(value), None, "{value}");
        }
    }
}
