//! Bytes to lines, with bounded memory.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end.
    Text(Vec<u8>),
    /// A line that was longer than the limit and was passed over.
    TooLong,
}

/// Cuts lines out of a stream. A line ends with LF; CR before it and blank lines are left to the parser, to
/// which they are white space. The last line needs no end. A byte-order mark at the very beginning is dropped.
pub(crate) struct LineReader<R> {
    reader: R,
    limit: usize,
    chunk: Box<[u8]>,
    /// The part of `chunk` that is not yet looked at.
    fresh: std::ops::Range<usize>,
    at_start: bool,
}

const CHUNK: usize = 64 << 10;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            fresh: 0..0,
            at_start: true,
        }
    }

    /// The next line; None at the end of the input.
    ///
    /// Not safe to drop half-way: the beginning of a line would be lost.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut length = 0;
        loop {
            if self.fresh.is_empty() {
                match self.reader.read(&mut self.chunk).await {
                    Ok(0) if length == 0 => return Ok(None),
                    Ok(0) => return Ok(Some(self.finish(line, length))),
                    Ok(count) => self.fresh = 0..count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
            }
            let fresh = &self.chunk[self.fresh.clone()];
            let end = memchr::memchr(b'\n', fresh);
            let part = &fresh[..end.unwrap_or(fresh.len())];
            length += part.len();
            if length > self.limit {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            self.fresh.start += part.len() + usize::from(end.is_some());
            if end.is_some() {
                return Ok(Some(self.finish(line, length)));
            }
        }
    }

    fn finish(&mut self, mut line: Vec<u8>, length: usize) -> Line {
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if length > self.limit {
            Line::TooLong
        } else {
            Line::Text(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, LineReader};

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut reader = LineReader::new(input, limit);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn text(text: &str) -> Line {
        Line::Text(text.into())
    }

    #[tokio::test]
    async fn lines_end_with_lf_and_the_last_needs_none() {
        assert_eq!(
            lines(b"a\r\n\nb\nc", 9).await,
            [text("a\r"), text(""), text("b"), text("c")]
        );
        assert_eq!(lines(b"", 9).await, []);
        assert_eq!(lines(b"a\n", 9).await, [text("a")]);
    }

    #[tokio::test]
    async fn only_the_first_byte_order_mark_is_dropped() {
        assert_eq!(
            lines("\u{feff}a\n\u{feff}b\n".as_bytes(), 9).await,
            [text("a"), text("\u{feff}b")]
        );
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_passed_over() {
        let long = "x".repeat(200_000);
        let input = format!("{long}\nabc\nabcd\n{long}");
        assert_eq!(
            lines(input.as_bytes(), 3).await,
            [Line::TooLong, text("abc"), Line::TooLong, Line::TooLong]
        );
        assert_eq!(lines(input.as_bytes(), 200_000).await.len(), 4);
    }
}
