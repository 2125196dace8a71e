//! What is shown of a stream: cleaned, filtered, its end kept, its lines reported.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    clean::{Cleaner, Sink},
    run::{Filter, LineSink, MakeFilter, Stream},
    spool::Spool,
    tail::Tail,
};

/// From raw bytes to what people and models read.
pub(crate) struct View {
    cleaner: Cleaner,
    shown: Shown,
    latest: Option<Latest>,
}

/// Everything behind the cleaner.
struct Shown {
    /// Secrets are looked for again in the cleaned text: an escape sequence may have stood in the middle of one.
    filter: Option<Box<dyn Filter>>,
    make_filter: Option<MakeFilter>,
    filtered: Vec<u8>,
    /// What the filter has cut in the middle of a character.
    cut: Vec<u8>,
    tail: Tail,
    /// Where filtered text is kept; with a filter, raw bytes are not.
    spool: Option<Spool>,
    each: Option<EachLine>,
}

/// Reports every line.
struct EachLine {
    stream: Stream,
    sink: LineSink,
    line: String,
}

/// Reports the newest line now and then.
struct Latest {
    stream: Stream,
    sink: LineSink,
    every: Duration,
    next: Instant,
}

impl View {
    /// With a filter, `spool` gets what is shown.
    pub(crate) fn new(
        stream: Stream,
        tail_chars: usize,
        make_filter: Option<MakeFilter>,
        spool: Option<Spool>,
        lines: Option<(LineSink, Option<Duration>)>,
    ) -> Self {
        let (mut each, mut latest) = (None, None);
        match lines {
            None => {}
            Some((sink, None)) => {
                each = Some(EachLine {
                    stream,
                    sink,
                    line: String::new(),
                });
            }
            Some((sink, Some(every))) => {
                latest = Some(Latest {
                    stream,
                    sink,
                    every,
                    next: Instant::now(),
                });
            }
        }
        Self {
            cleaner: Cleaner::new(),
            shown: Shown {
                filter: make_filter.as_ref().map(|make| make()),
                make_filter,
                filtered: Vec::new(),
                cut: Vec::new(),
                tail: Tail::new(tail_chars),
                spool,
                each,
            },
            latest,
        }
    }

    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.cleaner.feed(piece, &mut self.shown);
        if let Some(latest) = &mut self.latest {
            let now = Instant::now();
            if now >= latest.next {
                latest.next = now + latest.every;
                (latest.sink)(latest.stream, &self.shown.newest(&self.cleaner));
            }
        }
    }

    /// Lets others follow what is kept.
    pub(crate) fn show(&mut self) {
        if let Some(spool) = &mut self.shown.spool {
            spool.show();
        }
    }

    /// The end of the text, how many UTF-16 code units came before it, and what was kept of it.
    pub(crate) fn finish(mut self) -> (String, u64, Option<Spool>) {
        self.cleaner.finish(&mut self.shown);
        self.shown.finish();
        let (text, dropped) = self.shown.tail.finish();
        (text, dropped, self.shown.spool)
    }
}

impl Sink for Shown {
    fn ascii(&mut self, text: &[u8]) {
        match self.filter {
            Some(_) => self.filter(text),
            None if self.each.is_some() => self.passed(&String::from_utf8_lossy(text)),
            None => self.tail.push_ascii(text),
        }
    }

    fn text(&mut self, text: &str) {
        match self.filter {
            Some(_) => self.filter(text.as_bytes()),
            None => self.passed(text),
        }
    }
}

impl Shown {
    fn filter(&mut self, text: &[u8]) {
        if let Some(filter) = &mut self.filter {
            filter.feed(text, &mut self.filtered);
        }
        self.pass_filtered();
    }

    fn finish(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.finish(&mut self.filtered);
        }
        self.pass_filtered();
        if !self.cut.is_empty() {
            self.cut.clear();
            self.passed("\u{fffd}");
        }
        if let Some(each) = &self.each
            && !each.line.is_empty()
        {
            (each.sink)(each.stream, &each.line);
        }
    }

    fn pass_filtered(&mut self) {
        let mut bytes = std::mem::take(&mut self.cut);
        bytes.append(&mut self.filtered);
        if let Some(spool) = &mut self.spool {
            spool.push(&bytes[..]);
        }
        let cut = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.cut = bytes.split_off(cut);
        self.passed(&String::from_utf8_lossy(&bytes));
    }

    fn passed(&mut self, text: &str) {
        self.tail.push(text);
        if let Some(each) = &mut self.each {
            for part in text.split_inclusive('\n') {
                if let Some(end) = part.strip_suffix('\n') {
                    each.line.push_str(end);
                    (each.sink)(each.stream, &each.line);
                    each.line.clear();
                } else {
                    each.line.push_str(part);
                }
            }
        }
    }

    /// What the stream says just now: the unfinished line, or the one before if that is empty. Of an unfinished line
    /// that may yet turn out to end in a secret, that end is left out.
    fn newest(&self, cleaner: &Cleaner) -> String {
        let line = cleaner.line();
        let line = match &self.make_filter {
            None => line.into_owned(),
            // Where a long line was cut, a secret may have been.
            Some(_) if cleaner.is_continued() => String::new(),
            Some(make) => {
                let mut shown = Vec::new();
                make().feed(line.as_bytes(), &mut shown);
                String::from_utf8_lossy(&shown).into_owned()
            }
        };
        if line.trim().is_empty() {
            self.tail.last_line().into_owned()
        } else {
            line
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Replaces `secret` by `[-]`.
    #[derive(Default)]
    struct Hide(Vec<u8>);

    impl Filter for Hide {
        fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
            self.0.extend_from_slice(piece);
            let text = String::from_utf8(self.0.clone())
                .unwrap()
                .replace("secret", "[-]");
            let keep = (1..6)
                .rev()
                .find(|length| text.ends_with(&"secret"[..*length]))
                .unwrap_or(0);
            out.extend_from_slice(&text.as_bytes()[..text.len() - keep]);
            self.0 = text.as_bytes()[text.len() - keep..].to_vec();
        }

        fn finish(&mut self, out: &mut Vec<u8>) {
            out.append(&mut self.0);
        }
    }

    fn hide() -> MakeFilter {
        Arc::new(|| Box::new(Hide::default()))
    }

    #[test]
    fn a_secret_with_an_escape_sequence_inside_is_found() {
        let mut view = View::new(Stream::Stdout, 1000, Some(hide()), None, None);
        for piece in ["a sec\u{1b}[31mr", "et\u{1b}[0m b\nsecX\u{8}ret", " sec\u{7}ret"] {
            view.feed(piece.as_bytes());
        }
        assert_eq!(view.finish().0, "a [-] b\n[-] [-]");
    }

    #[test]
    fn every_line_is_reported_once_and_in_its_last_form() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink: LineSink = {
            let lines = Arc::clone(&lines);
            Arc::new(move |_, line: &str| lines.lock().unwrap().push(line.to_owned()))
        };
        let mut view = View::new(Stream::Stdout, 10, None, None, Some((sink, None)));
        for piece in ["on", "e\ntw", "o\n\n1%\r", "2%\nend"] {
            view.feed(piece.as_bytes());
        }
        view.finish();
        assert_eq!(*lines.lock().unwrap(), ["one", "two", "", "2%", "end"]);
    }

    #[test]
    fn the_newest_line_shows_progress_and_no_beginning_of_a_secret() {
        let mut view = View::new(Stream::Stdout, 100, Some(hide()), None, None);
        view.feed(b"done\n");
        assert_eq!(view.shown.newest(&view.cleaner), "done");
        view.feed(b"10%\r20%");
        assert_eq!(view.shown.newest(&view.cleaner), "20%");
        view.feed(b" secr");
        assert_eq!(view.shown.newest(&view.cleaner), "20% ");
    }

    #[test]
    fn the_newest_line_shows_no_end_of_a_secret_that_a_long_line_was_cut_in() {
        for length in 16_380..16_390 {
            let mut view = View::new(Stream::Stdout, 1 << 20, Some(hide()), None, None);
            view.feed("x".repeat(length).as_bytes());
            for byte in b"secret" {
                view.feed(&[*byte]);
            }
            let newest = view.shown.newest(&view.cleaner);
            assert!(
                !newest.ends_with("et") && !newest.ends_with('t'),
                "{length}: {}",
                &newest[newest.len() - 10..]
            );
        }
    }
}
