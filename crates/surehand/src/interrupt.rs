//! The person, or the system, wants the program to end.

use std::process;

use tokio_util::sync::CancellationToken;

use crate::errors::{CliError, Exit};

/// A token that fires at the first SIGINT or SIGTERM (Ctrl-C on Windows). The second ends the program at
/// once; what it runs dies with it.
pub(crate) fn token() -> Result<CancellationToken, CliError> {
    let token = CancellationToken::new();
    let mut signals = Signals::new().map_err(|error| CliError::Internal(format!("signals: {error}")))?;
    let fired = token.clone();
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("ending; a second signal ends at once");
        fired.cancel();
        signals.next().await;
        process::exit(i32::from(Exit::Failed as u8));
    });
    Ok(token)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
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

    async fn next(&mut self) {
        // It never ends while the program runs.
        let _ = self.interrupt.recv().await;
    }
}
