//! One session from its first byte to its end.

use std::{io, sync::Arc, time::Duration};

use surehand_core::Toolset;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    changes, front, handler::Handler, options::ServeOptions, session::Session, transport::FrontTransport,
};

/// How long a cancelled call may take to end.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How long the client may take to read the last answers.
const WRITE_GRACE: Duration = Duration::from_secs(1);
/// How often we look whether the client is still there once its input has ended.
const LOOK: Duration = Duration::from_millis(50);
/// Requests between the reader and `rmcp`.
const QUEUE: usize = 64;

/// How a session ended. Each is a good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client closed our input.
    Closed,
    /// The client no longer reads what we write; what was running was cancelled at once.
    Gone,
    /// [`ServeOptions::shutdown`] fired.
    ShutDown,
}

/// Why a session broke off.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The input cannot be read.
    #[error("cannot read the client's messages: {0}")]
    Read(#[source] io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Serves `toolset` to the client that writes to `reader` and reads from `writer`, until one of them ends or
/// [`ServeOptions::shutdown`] fires. When this returns, no call is running, except one that did not heed its
/// cancellation for two seconds.
///
/// # Errors
/// When the input cannot be read. Calls are cancelled then too.
pub async fn serve<R, W>(
    toolset: Arc<dyn Toolset>,
    reader: R,
    writer: W,
    options: ServeOptions,
) -> Result<Ended, ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    run(toolset, options, |parts| {
        let Parts {
            session,
            requests,
            stop,
            read,
            written,
        } = parts;
        let outbox = session.outbox.clone();
        tokio::spawn(async move {
            // The receiver waits for as long as the session lives.
            let _ = read.send(front::read(reader, session, requests, stop).await);
        });
        tokio::spawn(async move {
            outbox.write_to(writer).await;
            let _ = written.send(());
        });
        Ok(|| false)
    })
    .await
}

/// What reads and writes for a session is given.
pub(crate) struct Parts {
    pub(crate) session: Arc<Session>,
    pub(crate) requests: mpsc::Sender<rmcp::model::ClientJsonRpcMessage>,
    /// Fires when nothing more is to be read.
    pub(crate) stop: CancellationToken,
    /// Takes what came of [`front::read`].
    pub(crate) read: oneshot::Sender<io::Result<()>>,
    /// Takes the end of [`crate::outbox::Outbox::write_to`].
    pub(crate) written: oneshot::Sender<()>,
}

/// Runs a session whose reader and writer are started by `start`, which gives back a way to look whether the
/// client has stopped listening.
pub(crate) async fn run<S, G>(
    toolset: Arc<dyn Toolset>,
    options: ServeOptions,
    start: S,
) -> Result<Ended, ServeError>
where
    S: FnOnce(Parts) -> Result<G, ServeError>,
    G: Fn() -> bool,
{
    let changes = toolset.changes();
    let session = Session::new(toolset, options);
    let shutdown = session.options.shutdown.clone();
    let stop = CancellationToken::new();
    let end = End {
        session: session.clone(),
        stop: stop.clone(),
    };
    let (requests, queue) = mpsc::channel(QUEUE);
    let (read, input_ended) = oneshot::channel();
    let (written, output_ended) = oneshot::channel();
    let is_gone = start(Parts {
        session: session.clone(),
        requests,
        stop,
        read,
        written,
    })?;
    let answered = CancellationToken::new();
    let transport = FrontTransport::new(session.clone(), queue, answered.clone());
    let handler = Handler {
        session: session.clone(),
    };
    let service = rmcp::service::serve_directly(handler, transport, None);
    let watcher = changes.map(|changes| tokio::spawn(changes::pass_on(changes, session.clone())));

    let ended = tokio::select! {
        ended = input_ended => match ended {
            Ok(Ok(())) => Ok(wait_for_answers(&session, &is_gone).await),
            Ok(Err(error)) if is_hang_up(&error) => Ok(Ended::Gone),
            Ok(Err(error)) => Err(ServeError::Read(error)),
            Err(_) => Err(ServeError::Read(io::Error::other("the reader ended unasked"))),
        },
        () = session.outbox.broken().cancelled() => Ok(Ended::Gone),
        () = shutdown.cancelled() => Ok(Ended::ShutDown),
    };

    drop(end);
    if timeout(CANCEL_GRACE, session.in_flight.all_finished())
        .await
        .is_err()
    {
        let calls = session.in_flight.len();
        tracing::warn!(calls, "calls did not end when they were cancelled");
    }
    if let Some(watcher) = watcher {
        watcher.abort();
    }
    answered.cancel();
    session.outbox.close();
    if timeout(WRITE_GRACE, output_ended).await.is_err() {
        tracing::warn!("the client does not read its last answers");
    }
    drop(service);
    ended
}

/// Ends what runs for a session, also when the future that serves it is dropped.
struct End {
    session: Arc<Session>,
    stop: CancellationToken,
}

impl Drop for End {
    fn drop(&mut self) {
        self.stop.cancel();
        self.session.elicitations.close();
        self.session.in_flight.cancel_all();
    }
}

/// After the end of the input: lets calls end by themselves for a while, as long as somebody may want their
/// answers.
async fn wait_for_answers(session: &Session, is_gone: &impl Fn() -> bool) -> Ended {
    // Nobody can answer a question or cancel a subscription any more.
    session.elicitations.close();
    session.in_flight.cancel_waiting_for_changes();
    tokio::select! {
        () = session.in_flight.all_finished() => Ended::Closed,
        () = until(is_gone) => Ended::Gone,
        () = sleep(session.options.eof_grace) => Ended::Closed,
    }
}

async fn until(is_gone: &impl Fn() -> bool) {
    while !is_gone() {
        sleep(LOOK).await;
    }
}

/// Sockets report a client that died as an error where pipes report the end of the input.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof
    )
}
