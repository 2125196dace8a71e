//! Whether somebody still reads our standard output.

/// Whether its reader has closed it, as `| head` does when it has seen enough. Nothing is written to find out;
/// where the system does not tell, the next write will.
#[cfg(unix)]
pub(crate) fn has_left() -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        stdio,
    };

    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut output = [PollFd::from_borrowed_fd(stdio::stdout(), PollFlags::empty())];
    // POLLERR on a pipe without readers, POLLHUP on a terminal or socket that is gone: poll(2).
    poll(&mut output, Some(&at_once)).is_ok()
        && output[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
pub(crate) fn has_left() -> bool {
    false
}
