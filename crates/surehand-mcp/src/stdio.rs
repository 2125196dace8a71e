//! Standard input and output.
//!
//! Both may be shared with other processes, so neither is switched to non-blocking: that would switch it for
//! all of them. A pipe is opened a second time instead, for this process alone; anything else gets a thread of
//! its own, which keeps nobody waiting while it waits in `read` or `write`.

use std::{
    io::{self, Read, Write},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};

use surehand_core::Toolset;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    runtime::Handle,
};

use crate::{
    front,
    options::ServeOptions,
    serve::{Ended, Parts, ServeError, run},
};

/// Serves `toolset` over this process's standard input and output; see [`crate::serve`].
///
/// Must be called in a runtime. After a return for another reason than the end of the input, a thread may
/// still wait for input: it ends with the next line, or with the process.
///
/// # Errors
/// When the input cannot be read, or no thread can be started.
pub async fn serve_stdio(toolset: Arc<dyn Toolset>, options: ServeOptions) -> Result<Ended, ServeError> {
    let runtime = Handle::current();
    run(toolset, options, move |parts| {
        let Parts {
            session,
            requests,
            stop,
            read,
            written,
        } = parts;
        let outbox = session.outbox.clone();
        // Nobody waits for the reader once the session has ended.
        if let Some(input) = platform::pipe_of_stdin() {
            runtime.spawn(async move {
                let _ = read.send(front::read(input, session, requests, stop).await);
            });
        } else {
            in_thread("mcp-stdin", &runtime, async move {
                let input = Blocking(io::stdin());
                let _ = read.send(front::read(input, session, requests, stop).await);
            })?;
        }
        if let Some(output) = platform::pipe_of_stdout() {
            runtime.spawn(async move {
                outbox.write_to(output).await;
                let _ = written.send(());
            });
        } else {
            in_thread("mcp-stdout", &runtime, async move {
                outbox.write_to(Blocking(io::stdout())).await;
                let _ = written.send(());
            })?;
        }
        Ok(platform::stdout_is_gone)
    })
    .await
}

fn in_thread(
    name: &str,
    runtime: &Handle,
    work: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let runtime = runtime.clone();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || runtime.block_on(work))
        .map_err(ServeError::Thread)?;
    Ok(())
}

/// A blocking stream in the place of an asynchronous one. Only for a thread that does nothing else.
struct Blocking<T>(T);

impl<T: Read + Unpin> AsyncRead for Blocking<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = loop {
            match self.0.read(buffer.initialize_unfilled()) {
                // Somebody else has made the stream non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_for_stdin()?,
                result => break result?,
            }
        };
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_for_stdout()?,
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.0.flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_for_stdout()?,
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

#[cfg(unix)]
mod platform {
    use std::{
        fs::{File, OpenOptions},
        io,
        os::{fd::AsFd, unix::fs::OpenOptionsExt},
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{FileType, OFlags},
    };
    use tokio::net::unix::pipe;

    /// For this process's own opening of the pipe alone.
    const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

    /// Whether nobody reads our output any more. Says no where it cannot be told.
    pub(super) fn stdout_is_gone() -> bool {
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        poll(&mut fds, Some(&Timespec::default())).is_ok()
            && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// The pipe that is our input, opened for ourselves; None where it is no pipe, or there is no `/proc`.
    pub(super) fn pipe_of_stdin() -> Option<pipe::Receiver> {
        let file = again(&io::stdin(), OpenOptions::new().read(true), "/proc/self/fd/0")?;
        pipe::Receiver::from_file(file).ok()
    }

    /// The pipe that is our output, likewise.
    pub(super) fn pipe_of_stdout() -> Option<pipe::Sender> {
        let file = again(&io::stdout(), OpenOptions::new().write(true), "/proc/self/fd/1")?;
        pipe::Sender::from_file(file).ok()
    }

    /// Opens a pipe a second time. Nothing else is opened: that might do something.
    fn again(stream: &impl AsFd, options: &mut OpenOptions, path: &str) -> Option<File> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode);
        if kind != FileType::Fifo {
            return None;
        }
        options.custom_flags(NONBLOCK).open(path).ok()
    }

    pub(super) fn wait_for_stdin() -> io::Result<()> {
        wait(&io::stdin(), PollFlags::IN)
    }

    pub(super) fn wait_for_stdout() -> io::Result<()> {
        wait(&io::stdout(), PollFlags::OUT)
    }

    fn wait(stream: &impl AsFd, flags: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(stream, flags)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io;

    /// Not told beforehand here: the next write finds out.
    pub(super) fn stdout_is_gone() -> bool {
        false
    }

    pub(super) fn pipe_of_stdin() -> Option<tokio::io::Empty> {
        None
    }

    pub(super) fn pipe_of_stdout() -> Option<tokio::io::Sink> {
        None
    }

    pub(super) fn wait_for_stdin() -> io::Result<()> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        Ok(())
    }

    pub(super) fn wait_for_stdout() -> io::Result<()> {
        wait_for_stdin()
    }
}
