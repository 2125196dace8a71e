//! Who the person at this machine is.

use crate::{config::Environment, errors::CliError};

/// The name to record as the caller: `SUREHAND_USER`, else the system's name for the user. It is asserted
/// by the environment and proves nothing.
///
/// # Errors
/// When the name holds control characters: it stands in history and before people's eyes.
pub(crate) fn principal(environment: &Environment) -> Result<String, CliError> {
    let name = environment.user().unwrap_or_else(|| system_user(environment));
    if name.chars().any(char::is_control) {
        return Err(CliError::usage(format!(
            "SUREHAND_USER is no name of a person: {name:?}"
        )));
    }
    Ok(name)
}

/// What tells this user's files from those of others in a folder that all may write to.
#[cfg(unix)]
pub(crate) fn number() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The folder for temporary files is the user's own here.
#[cfg(not(unix))]
pub(crate) fn number() -> u32 {
    0
}

#[cfg(unix)]
fn system_user(environment: &Environment) -> String {
    let id = rustix::process::geteuid().as_raw();
    std::fs::read_to_string("/etc/passwd")
        .ok()
        .and_then(|accounts| name_of(id, &accounts).map(str::to_owned))
        .or_else(|| environment.text("USER"))
        .or_else(|| environment.text("LOGNAME"))
        // An account that exists nowhere, as in many containers.
        .unwrap_or_else(|| format!("uid-{id}"))
}

#[cfg(not(unix))]
fn system_user(environment: &Environment) -> String {
    environment
        .text("USERNAME")
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The account of this id in a file in the form of passwd(5).
#[cfg(unix)]
fn name_of(id: u32, accounts: &str) -> Option<&str> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == id).then_some(name)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::name_of;

    #[test]
    fn an_account_is_found_by_its_id() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\n# odd\n::\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(name_of(1000, accounts), Some("ada"));
        assert_eq!(name_of(0, accounts), Some("root"));
        assert_eq!(name_of(7, accounts), None);
    }
}
