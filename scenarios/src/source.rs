//! The texts that a scenario comes from, in one row.
//!
//! A scenario is read from a file, its includes, and options of the command line. Every text gets
//! its own stretch of one long range of positions, so that a span (a plain range) also says which
//! text it lies in. Units report mistakes with such spans and never hear of files.
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
pub use superdense_models::kinds::Span;

/// Bytes that are shown at most of a line on each side of a place.
const AROUND: usize = 200;
/// Bytes that are underlined at most; lines beyond 65 535 columns cannot be drawn at all.
const UNDERLINED: usize = 2000;

/// One text.
#[derive(Debug)]
struct Text {
    name: String,
    folder: PathBuf,
    start: usize,
    text: String,
    /// Its lines are not shown.
    hidden: bool,
}

/// All texts of a scenario.
#[derive(Debug, Default)]
pub struct Sources {
    texts: Vec<Text>,
    files: Mutex<BTreeSet<PathBuf>>,
}

impl Sources {
    /// Notes a file that was read.
    pub fn note(&self, file: &Path) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(file.to_owned());
    }

    /// All files that were noted, in the order of their names.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a text and returns the position of its first byte.
    pub fn add(&mut self, name: String, folder: &Path, text: String) -> usize {
        let start = self.texts.last().map_or(0, |t| t.start + t.text.len() + 1);
        self.texts.push(Text { name, folder: folder.to_owned(), start, text, hidden: false });
        start
    }

    /// Lines of the text that was added last are never shown: a scenario may include files that its
    /// readers must not see.
    pub fn hide_last(&mut self) {
        if let Some(last) = self.texts.last_mut() {
            last.hidden = true;
        }
    }

    /// File, line and column of a position in a text that is not shown.
    pub fn hidden(&self, at: usize) -> Option<String> {
        let text = self.of(at).filter(|t| t.hidden)?;
        let (name, line) = self.line(at);
        let before = &text.text.as_bytes()[..at - text.start];
        let column = 1 + before.iter().rev().take_while(|&&b| b != b'\n').count();
        Some(format!("{name}:{line}:{column}"))
    }

    fn of(&self, at: usize) -> Option<&Text> {
        let after = self.texts.partition_point(|t| t.start <= at);
        let text = self.texts.get(after.checked_sub(1)?)?;
        (at <= text.start + text.text.len()).then_some(text)
    }

    /// Whether two positions are in the same text.
    pub fn same(&self, a: usize, b: usize) -> bool {
        let start = |at| self.of(at).map(|t| t.start);
        start(a) == start(b)
    }

    /// Whether a span lies in one of the texts.
    pub fn holds(&self, span: &Span) -> bool {
        self.of(span.start).is_some_and(|t| span.end <= t.start + t.text.len())
    }

    /// The text under a span.
    pub fn slice(&self, span: &Span) -> &str {
        let Some(t) = self.of(span.start) else { return "" };
        t.text.get(span.start - t.start..span.end.saturating_sub(t.start)).unwrap_or("")
    }

    /// Name of the text and line (from 1) of a position.
    pub fn line(&self, at: usize) -> (&str, usize) {
        let Some(t) = self.of(at) else { return ("", 0) };
        let before = &t.text.as_bytes()[..at - t.start];
        (&t.name, 1 + before.iter().filter(|&&b| b == b'\n').count())
    }

    /// The column of a position in its line, in characters from 1.
    pub fn column(&self, at: usize) -> usize {
        let Some(t) = self.of(at) else { return 0 };
        let before = &t.text[..floor(&t.text, at - t.start)];
        1 + before.chars().rev().take_while(|c| *c != '\n').count()
    }

    /// As much of a span as can be drawn.
    pub fn drawable(&self, span: &Span) -> Span {
        let Some(t) = self.of(span.start) else { return span.clone() };
        let end = span.end.min(span.start + UNDERLINED) - t.start;
        span.start..t.start + floor(&t.text, end)
    }

    /// The folder that file names at this position are relative to.
    pub fn folder(&self, at: usize) -> &Path {
        self.of(at).map_or(Path::new(""), |t| &t.folder)
    }

    /// The span of the characters `inner` of a string whose contents stand at `span`, counted in
    /// the decoded string. Escapes make the two differ.
    pub fn inside(&self, span: &Span, decoded: &str, inner: std::ops::Range<usize>) -> Span {
        let raw = self.slice(span);
        if raw.len() == decoded.len() {
            let start = (span.start + inner.start).min(span.end);
            return start..(span.start + inner.end).clamp(start, span.end);
        }
        let place = |offset: usize| span.start + raw_offset(raw, offset);
        place(inner.start)..place(inner.end)
    }
}

/// The last place up to `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0)
}

/// Where the decoded byte `offset` of a string with escapes stands in its raw text.
fn raw_offset(raw: &str, offset: usize) -> usize {
    let mut decoded = 0;
    let mut at = 0;
    while decoded < offset && at < raw.len() {
        let rest = &raw[at..];
        let first = rest.chars().next().map_or(1, char::len_utf8);
        if !rest.starts_with('\\') {
            at += first;
            decoded += first;
            continue;
        }
        let digits = match rest.as_bytes().get(1) {
            Some(b'u') => 4,
            Some(b'U') => 8,
            Some(b'x') => 2,
            Some(b'\n' | b'\r' | b' ' | b'\t') => {
                at += 1 + rest[1..].len() - rest[1..].trim_start().len();
                continue;
            }
            _ => 0,
        };
        let code = rest.get(2..2 + digits).and_then(|d| u32::from_str_radix(d, 16).ok());
        decoded += code.and_then(char::from_u32).filter(|_| digits > 0).map_or(1, char::len_utf8);
        at += 2 + digits;
    }
    at.min(raw.len())
}

impl SourceCode for Sources {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = self.of(span.offset()).ok_or(MietteError::OutOfBounds)?;
        if text.hidden {
            return Err(MietteError::OutOfBounds);
        }
        let bytes = text.text.as_bytes();
        if span.offset() + span.len() > text.start + bytes.len() {
            // Two labels in different texts cannot be drawn in one piece.
            return Err(MietteError::OutOfBounds);
        }
        let mut from = (span.offset() - text.start).min(bytes.len());
        let mut to = (from + span.len()).min(bytes.len());
        // Miette asks without context for line and column, and with context for what it draws:
        // whole lines, because a word alone would not show what it belongs to.
        if before > 0 {
            from = bytes[..from].iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
            to = bytes[to..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| to + n);
            // Of long lines what is around.
            let place = span.offset() - text.start;
            from = from.max(floor(&text.text, place.saturating_sub(AROUND)));
            to = to.min(floor(&text.text, place + span.len() + AROUND));
            if to - from > UNDERLINED + 2 * AROUND {
                return Err(MietteError::OutOfBounds);
            }
        }
        let (before, after) = (before.saturating_sub(1), after.saturating_sub(1));
        let local = SourceSpan::new(from.into(), to - from);
        let inner = text.text.read_span(&local, before, after)?;
        let shown = *inner.span();
        let shifted = SourceSpan::new((shown.offset() + text.start).into(), shown.len());
        Ok(Box::new(MietteSpanContents::new_named(
            text.name.clone(),
            inner.data(),
            shifted,
            inner.line(),
            inner.column(),
            inner.line_count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_know_their_text_and_line() {
        let mut s = Sources::default();
        assert_eq!(s.add("a".into(), Path::new(""), "one\ntwo".into()), 0);
        assert_eq!(s.add("b".into(), Path::new("x"), "three".into()), 8);
        assert_eq!(s.line(4), ("a", 2));
        assert_eq!(s.line(8), ("b", 1));
        assert_eq!(s.slice(&(8..11)), "thr");
        assert_eq!(s.folder(9), Path::new("x"));
        assert_eq!(s.slice(&(99..100)), "");
    }

    #[test]
    fn escapes_are_stepped_over() {
        assert_eq!(raw_offset(r"a\tb", 2), 3);
        assert_eq!(raw_offset(r"\u00e9x", 2), 6);
        assert_eq!(raw_offset("a\\\n   b", 1), 1);
        assert_eq!(raw_offset("a\\\n   b", 2), 7);
    }
}
