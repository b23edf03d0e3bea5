//! Data that every step of planning shares.
use crate::{
    diagnostics::{Mistake, Sink},
    source::{Sources, Span},
};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use superdense_kernel::{Guards, Options, time::Resolution};
use superdense_models::{
    kinds::{Located, ParamError},
    maths::expr::{ExprError, Function, nearest},
};

/// Declared functions by their names.
pub(super) type Library = BTreeMap<String, Function>;

/// The texts, the mistakes so far, and the facts of the run.
pub(super) struct Session {
    pub sources: Sources,
    pub sink: Sink,
    /// Things that are probably not meant, though they can be run.
    warnings: RefCell<Vec<String>>,
    /// Folder of the scenario file.
    pub folder: PathBuf,
    pub resolution: Resolution,
    /// Ticks in one of the file.
    pub finer: i64,
    pub seed: u64,
    /// The last micro-step of an instant.
    pub micro_steps: u32,
    /// Seconds after which the scenario says that it ends, whatever `--until` says.
    pub horizon: Cell<f64>,
    /// Factor on what decides the accuracy of units.
    pub tighten: f64,
    /// Units compute by their second family of methods.
    pub second_family: bool,
    /// Parameters that are being evaluated, to find rings.
    pub evaluating: RefCell<Vec<(String, Span)>>,
    /// Declared functions, once they are read.
    functions: OnceCell<Arc<Library>>,
    none: Arc<Library>,
}

impl Session {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            sources: Sources::default(),
            sink: Sink::default(),
            warnings: RefCell::default(),
            folder: file.parent().unwrap_or(Path::new("")).to_owned(),
            resolution: Resolution::NANO,
            finer: 1,
            seed: 1,
            micro_steps: Guards::default().micro_steps,
            horizon: Cell::new(f64::INFINITY),
            tighten: 1.0,
            second_family: false,
            evaluating: RefCell::new(Vec::new()),
            functions: OnceCell::new(),
            none: Arc::default(),
        }
    }

    /// Functions that the scenario declares.
    pub(super) fn functions(&self) -> &Arc<Library> {
        self.functions.get().unwrap_or(&self.none)
    }

    /// Makes declared functions known.
    pub(super) fn learn(&self, library: Library) {
        let first = self.functions.set(Arc::new(library));
        debug_assert!(first.is_ok(), "functions are read once");
    }

    /// Options of every simulation of this scenario.
    pub(super) fn options(&self) -> Options {
        let guards = Guards { micro_steps: self.micro_steps, ..Guards::default() };
        Options { resolution: self.resolution, guards, ..Options::default() }
    }

    pub(super) fn report(&self, mistake: Mistake) {
        self.sink.push(mistake);
    }

    /// Warns of what is written at `span`; once for all instances of a template.
    pub(super) fn warn(&self, span: &Span, message: &str) {
        let (file, line) = self.sources.line(span.start);
        let warning = format!("{file}, line {line}: {message}");
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    /// Mistakes of an expression, under their part of the text.
    pub(super) fn expression(&self, text: &Located<String>, errors: &[ExprError]) {
        self.expression_where(text, errors, |_| None);
    }

    /// Mistakes of an expression where other remedies help.
    pub(super) fn expression_where(
        &self,
        text: &Located<String>,
        errors: &[ExprError],
        remedy: impl Fn(&ExprError) -> Option<&'static str>,
    ) {
        for e in errors {
            let (start, end) = (e.span().start as usize, e.span().end as usize);
            let span = self.sources.inside(&text.span, &text.value, start..end);
            let remedy = remedy(e).map(Into::into);
            let help = remedy.or_else(|| e.help()).unwrap_or_else(|| {
                let help = match e {
                    ExprError::UnknownVariable { .. } => {
                        "names are those of [parameters], of the template's parameters, and the \
                         index i"
                    }
                    _ => "the guide to the format says how formulas are written",
                };
                help.into()
            });
            self.report(Mistake::new("expression", &span, e.to_string()).help(help));
        }
    }

    /// Mistakes that a unit kind found.
    pub(super) fn unit_errors(&self, unit: &Span, path: &str, errors: Vec<ParamError>) {
        for e in errors {
            // An empty span may be the end of a formula; what has no place is at the very start.
            let span = e.span.filter(|s| *s != (0..0) && self.sources.holds(s));
            let help = e.help.unwrap_or_else(|| {
                format!(
                    "change or remove this in unit `{path}`; `superdense list` tells what it may be"
                )
            });
            let span = span.unwrap_or_else(|| unit.clone());
            let mistake = Mistake::new("unit", &span, e.message).help(help);
            let also = e.also.iter().filter(|(place, _)| self.sources.holds(place));
            self.report(also.fold(mistake, |m, (place, word)| m.also(place, word)));
        }
    }
}

/// "did you mean", or the list of what there is.
pub(super) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> String {
    let mut known: Vec<&str> = known.into_iter().filter(|k| !k.contains('~')).collect();
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if known.is_empty() {
        return format!("there are no {what}");
    }
    let count = known.len();
    known.truncate(16);
    let more = if count > known.len() { ", ..." } else { "" };
    format!("{what}: {}{more}", known.join(", "))
}
