//! The terminal, some columns narrower than it is.

use std::io::{self, Write};

use indicatif::TermLike;

use crate::term;

/// The columns that are left free: a spinner fills its line, and the `^C` that the terminal shows behind it must
/// not break the line, which could then not be wiped.
const FREE: usize = 4;

/// Standard error as a place for a spinner.
#[derive(Debug)]
pub(crate) struct Narrow;

impl Narrow {
    fn write(text: &str) -> io::Result<()> {
        io::stderr().lock().write_all(text.as_bytes())
    }

    /// A control sequence of ECMA-48 with a count; zero would count as one.
    fn move_cursor(count: usize, direction: char) -> io::Result<()> {
        match count {
            0 => Ok(()),
            _ => Self::write(&format!("\u{1b}[{count}{direction}")),
        }
    }
}

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        u16::try_from(term::columns().saturating_sub(FREE).max(1)).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        Self::move_cursor(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        Self::move_cursor(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        Self::move_cursor(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        Self::move_cursor(count, 'D')
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        Self::write(&format!("{line}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        Self::write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        Self::write("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
