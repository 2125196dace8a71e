//! The person, or the system, wants the program to end.

use std::process;

use tokio_util::sync::CancellationToken;

use crate::errors::{CliError, Exit};

/// A token that fires at the first SIGINT, SIGTERM or SIGHUP (Ctrl-C on Windows). Another SIGINT or SIGTERM
/// ends the program at once; what it runs dies with it. A terminal that closes may send SIGHUP more than once.
pub(crate) fn token() -> Result<CancellationToken, CliError> {
    let token = CancellationToken::new();
    let mut signals = Signals::new().map_err(|error| CliError::Internal(format!("signals: {error}")))?;
    let fired = token.clone();
    tokio::spawn(async move {
        signals.first().await;
        tracing::info!("ending; a second signal ends at once");
        fired.cancel();
        signals.second().await;
        process::exit(i32::from(Exit::Failed as u8));
    });
    Ok(token)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// None where whoever started the program wants it to outlive the terminal (nohup).
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!hangup_is_ignored())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    async fn first(&mut self) {
        let Some(mut hangup) = self.hangup.take() else {
            return self.second().await;
        };
        tokio::select! {
            _ = hangup.recv() => {}
            () = self.second() => {}
        }
    }

    async fn second(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Where the system does not tell (all but Linux), it counts as not ignored.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

/// Reads the mask of ignored signals in `/proc/PID/status`; SIGHUP is signal 1, its lowest bit.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: tokio::signal::windows::ctrl_c()?,
        })
    }

    async fn first(&mut self) {
        self.second().await;
    }

    async fn second(&mut self) {
        // It never ends while the program runs.
        let _ = self.interrupt.recv().await;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn the_mask_tells_whether_hangups_are_ignored() {
        assert!(ignores_hangup(
            "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"
        ));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}
