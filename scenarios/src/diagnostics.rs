//! All mistakes of a scenario, each drawn under its lines.
use crate::source::{Sources, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NarratableReportHandler};
use std::{cell::RefCell, collections::HashSet, fmt};

/// Mistakes that are drawn; the others are counted.
const SHOWN: usize = 50;
/// Mistakes that are kept.
const KEPT: usize = 1000;

/// One mistake: what is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Mistake {
    /// A stable name of the kind of mistake, such as `unknown-port`.
    pub code: &'static str,
    /// The mistake.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// Places, with a word on each; the first is the main one.
    pub labels: Vec<(Span, String)>,
}

impl Mistake {
    /// A mistake at a place.
    pub fn new(code: &'static str, span: &Span, message: impl Into<String>) -> Self {
        let labels = vec![(span.clone(), String::new())];
        Self { code, message: message.into(), help: String::new(), labels }
    }
    /// A mistake that has no place.
    pub fn whole(code: &'static str, message: impl Into<String>) -> Self {
        Self { labels: Vec::new(), ..Self::new(code, &(0..0), message) }
    }
    /// A word under the main place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.1 = text.into();
        }
        self
    }
    /// Another place.
    #[must_use]
    pub fn also(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push((span.clone(), text.into()));
        self
    }
    /// The remedy.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }
}

/// By which a mistake is known to be there already: place, code, what it says.
type Key = (usize, &'static str, String);

/// Collects mistakes while the plan goes on.
///
/// One mistake of a template or an array shows up once per instance; it is kept once.
#[derive(Debug, Default)]
pub struct Sink {
    mistakes: RefCell<(Vec<Mistake>, HashSet<Key>)>,
}

impl Sink {
    /// Adds a mistake.
    pub fn push(&self, mistake: Mistake) {
        let (list, seen) = &mut *self.mistakes.borrow_mut();
        let at = mistake.labels.first().map_or(0, |l| l.0.start);
        // Two mistakes of one kind at one place differ by what they name, never by the instance.
        let key = mistake.message.split(" of `").next().unwrap_or_default().to_owned();
        if list.len() < KEPT && seen.insert((at, mistake.code, key)) {
            list.push(mistake);
        }
    }
    /// The number of mistakes so far.
    pub fn len(&self) -> usize {
        self.mistakes.borrow().0.len()
    }
    /// True while there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Does something whose mistakes nobody hears of.
    pub fn unheard<T>(&self, something: impl FnOnce() -> T) -> T {
        let before = self.mistakes.take();
        let result = something();
        self.mistakes.replace(before);
        result
    }
    /// Whether there is a mistake of a kind.
    pub fn mistakes_of(&self, code: &str) -> bool {
        self.mistakes.borrow().0.iter().any(|m| m.code == code)
    }
    /// The mistakes in the order of the text.
    pub fn finish(self, sources: Sources) -> Diagnostics {
        let mut mistakes = self.mistakes.into_inner().0;
        mistakes.sort_by_key(|m| m.labels.first().map_or(0, |l| l.0.start));
        Diagnostics { mistakes, sources }
    }
}

/// The mistakes of a scenario, with its texts.
#[derive(Debug, Default)]
pub struct Diagnostics {
    mistakes: Vec<Mistake>,
    sources: Sources,
}

impl Diagnostics {
    /// The mistakes, in the order of the text.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
    /// The number of mistakes.
    pub fn len(&self) -> usize {
        self.mistakes.len()
    }
    /// True without mistakes.
    pub fn is_empty(&self) -> bool {
        self.mistakes.is_empty()
    }
    /// File (or option) and line, from 1, of a mistake.
    pub fn line(&self, mistake: &Mistake) -> Option<(&str, usize)> {
        mistake.labels.first().map(|l| self.sources.line(l.0.start))
    }
    /// Its column, from 1.
    pub fn column(&self, mistake: &Mistake) -> Option<usize> {
        mistake.labels.first().map(|l| self.sources.column(l.0.start))
    }

    /// Draws all mistakes: with colours and box characters on a terminal, else in plain ASCII.
    pub fn render(&self, terminal: bool) -> String {
        let theme = if terminal { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
        let width = 100;
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false)
            .with_context_lines(1);
        let mut out = String::new();
        for mistake in self.mistakes.iter().take(SHOWN) {
            let drawn = Drawn { mistake, sources: &self.sources };
            let mut one = String::new();
            if handler.render_report(&mut one, &drawn).is_err() {
                one.clear();
                let plain = NarratableReportHandler::new().render_report(&mut one, &drawn);
                if plain.is_err() {
                    one = format!("{}: {}\n", mistake.code, mistake.message);
                }
            }
            out.push_str(one.trim_start_matches('\n'));
            out.push('\n');
        }
        if self.len() > SHOWN {
            out.push_str(&format!("... and {} more mistakes\n", self.len() - SHOWN));
        }
        let plural = if self.len() == 1 { "" } else { "s" };
        out.push_str(&format!("{} mistake{plural}\n", self.len()));
        out
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// A mistake with the texts it points into.
#[derive(Debug)]
struct Drawn<'a> {
    mistake: &'a Mistake,
    sources: &'a Sources,
}

impl Drawn<'_> {
    /// The places that can be drawn.
    fn shown(&self) -> impl Iterator<Item = &(Span, String)> {
        self.mistake.labels.iter().filter(|(span, _)| self.sources.hidden(span.start).is_none())
    }
}

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistake.message)?;
        for (span, text) in &self.mistake.labels {
            if let Some(place) = self.sources.hidden(span.start) {
                write!(f, "; {text}{}at {place}", if text.is_empty() { "" } else { " " })?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Drawn<'_> {}

impl miette::Diagnostic for Drawn<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        Some(Box::new(self.mistake.code))
    }
    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        let help = &self.mistake.help;
        (!help.is_empty()).then(|| Box::new(help) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.shown().next().map(|_| self.sources as &dyn miette::SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.shown().map(|(span, text)| {
            let span = self.sources.drawable(span);
            let text = (!text.is_empty()).then(|| text.clone());
            LabeledSpan::new(text, span.start, span.len())
        })))
    }
}
