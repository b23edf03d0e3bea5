//! The tables of `expected/`: which runs, what is measured, what the paper prints,
//! and what ours must be.
use serde::Deserialize;
use std::collections::BTreeMap;

/// The numbers by which one document, or a part of it, is checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Three digits.
    pub document: String,
    /// Authors, year, title.
    pub source: String,
    /// Where the numbers of checks come from that no paper prints.
    pub unprinted: Kind,
    /// Runs by name; they are made when something needs them.
    #[serde(default)]
    pub run: BTreeMap<String, Run>,
    /// Numbers for formulas.
    #[serde(default)]
    pub value: BTreeMap<String, Value>,
    /// In the order in which they are printed.
    #[serde(default)]
    pub check: Vec<Check>,
    /// Pictures.
    #[serde(default)]
    pub figure: Vec<Figure>,
}

impl Table {
    /// The run and the measure of the check or value with this name.
    pub(super) fn named(&self, name: &str) -> Option<(Option<&str>, &Measure)> {
        let check = self.check.iter().find(|c| c.id.as_deref() == Some(name));
        check.map(|c| (c.run.as_deref(), &c.measure)).or_else(|| {
            let value = self.value.get(name)?;
            Some((Some(value.run.as_str()), &value.measure))
        })
    }

    /// The run of a measure; for a formula that of the first number in it.
    pub(super) fn run_of(&self, run: Option<&str>, what: &Measure) -> Option<&Run> {
        let Measure::Formula(text) = what else { return self.run.get(run?) };
        super::words(text).find_map(|word| {
            let (run, what) = self.named(word)?;
            self.run_of(run, what)
        })
    }
}

/// A run of a library scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// Path below the library.
    pub scenario: String,
    /// As by `--set`.
    #[serde(default)]
    pub set: toml::Table,
    /// As by `--until`.
    pub until: Option<String>,
    /// As by `--sample`.
    pub sample: Option<String>,
    /// Why it takes long, if it does.
    pub slow: Option<String>,
}

/// A number for formulas that is no line of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    /// Which run.
    pub run: String,
    /// The quantity that is measured.
    pub measure: Measure,
}

/// One measurement, which is one line for each number in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// By which formulas and figures refer to it.
    pub id: Option<String>,
    /// Where it stands in the paper, and what it is.
    pub item: String,
    /// Of each number, when there are many.
    #[serde(default)]
    pub names: Vec<String>,
    /// Which run; none for formulas.
    pub run: Option<String>,
    /// The quantity that is measured.
    pub measure: Measure,
    /// The number that the paper prints.
    pub paper: Option<Paper>,
    /// Largest relative deviation from what the paper prints.
    pub paper_within: Option<f64>,
    /// The number that ours must be.
    pub expected: Option<Numbers>,
    /// Largest relative deviation from it.
    pub within: Option<f64>,
    /// Largest absolute deviation from it.
    pub absolute: Option<f64>,
    /// Ours must not be below.
    pub least: Option<f64>,
    /// Ours must not be above.
    pub most: Option<f64>,
    /// How the paper was understood, and what is behind a deviation.
    pub reading: String,
    /// The verdict on the paper's number.
    #[serde(default)]
    pub verdict: Verdict,
    /// Where the number comes from, if not from where those of the table do.
    pub kind: Option<Kind>,
    /// Why there is only one bound, or why bounds are around our own number; and what is behind a verdict that is not
    /// `equal`, if the reading does not say so.
    pub reason: Option<String>,
}

impl Check {
    /// Where the number comes from.
    pub(super) fn kind(&self, table: &Table) -> Kind {
        match self.paper {
            Some(Paper::Numbers(_)) => Kind::Printed,
            Some(Paper::Says(_)) => self.kind.unwrap_or(Kind::Derived),
            None => self.kind.unwrap_or(table.unprinted),
        }
    }
}

/// Where a number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The paper prints it.
    Printed,
    /// It follows from what the paper prints.
    Derived,
    /// It is of an instance of ours, as the paper prints too little.
    Own,
}

impl Kind {
    /// As it is printed.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Derived => "derived",
            Self::Own => "own",
        }
    }
}

/// The list of all that the papers print.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    /// In the order of the documents.
    pub entry: Vec<Entry>,
}

/// A numbered figure or table, or another result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Three digits.
    pub document: String,
    /// Of a document with several ones.
    pub article: Option<String>,
    /// Its name.
    pub item: String,
    /// Parts of names of items and pictures that show it.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Why there are none.
    pub reason: Option<String>,
}

/// Numbers, or one for all.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Numbers {
    /// One.
    One(f64),
    /// One for each.
    Many(Vec<f64>),
}

impl Numbers {
    /// The n-th.
    pub(super) fn get(&self, n: usize) -> Option<f64> {
        match self {
            Self::One(x) => Some(*x),
            Self::Many(all) => all.get(n).copied(),
        }
    }
}

/// A number that a paper prints.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Paper {
    /// Numbers.
    Numbers(Numbers),
    /// A statement, in our words.
    Says(String),
}

/// A verdict on a printed number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Verdict {
    /// Ours is the same within the tolerance.
    #[default]
    #[serde(rename = "equal")]
    Equal,
    /// The paper has a mistake, and ours deviates as it must.
    #[serde(rename = "misprint")]
    Misprint,
    /// No reading gives it.
    #[serde(rename = "not reproducible as printed")]
    NotReproducible,
}

impl Verdict {
    /// As it is printed.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Misprint => "misprint",
            Self::NotReproducible => "not reproducible as printed",
        }
    }
}

/// How the errors of several columns become one number.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Norm {
    /// Sum of the absolute values.
    Sum,
    /// The largest absolute value.
    Max,
    /// Square root of the sum of squares.
    Euclid,
}

/// Columns of a run against those of another one at the same instants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Comparison {
    /// Columns of the run.
    pub of: Vec<String>,
    /// The other run.
    pub against: String,
    /// Its columns, if they have other names.
    #[serde(default)]
    pub to: Vec<String>,
    /// Of several columns.
    pub norm: Option<Norm>,
}

impl Comparison {
    /// Pairs of columns.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&String, &String)> {
        let to = if self.to.is_empty() { &self.of } else { &self.to };
        self.of.iter().zip(to)
    }
}

/// A quantity that is measured in a run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Measure {
    /// Columns at the end.
    End(Vec<String>),
    /// Largest values of columns.
    Max(Vec<String>),
    /// The n-th values that columns take, counted from 1; for columns that change in steps.
    Values {
        /// Column.
        of: String,
        /// Which.
        nth: Vec<usize>,
    },
    /// Instants of the n-th events of a name, counted from 1.
    Times {
        /// Name of the event.
        event: String,
        /// Which.
        nth: Vec<usize>,
    },
    /// Number of events of a name, in a span of time.
    Count {
        /// Name of the event; all events without.
        event: Option<String>,
        /// First and last instant in seconds.
        between: Option<(f64, f64)>,
    },
    /// Largest distance in time between the events of the run and of another one, which must be
    /// the same in the same order.
    Lag {
        /// The other run.
        against: String,
    },
    /// Largest error of each column.
    Errors(Comparison),
    /// Largest error of all columns together, by their norm at each instant.
    Worst(Comparison),
    /// Root mean square over all instants of the norm of the errors.
    Rms(Comparison),
    /// Numbers of the summary.
    Facts(Vec<String>),
    /// Results that the scenario names in `[result]`.
    Results(Vec<String>),
    /// Spectral radius of the map of one macro step of this length, or, without, of what one
    /// exchange brings back to the inputs.
    Radius {
        /// Seconds, or with a unit.
        step: Option<String>,
    },
    /// A formula of other checks.
    Formula(String),
}

impl Measure {
    /// The run that it is held against.
    pub(super) fn against(&self) -> Option<&str> {
        match self {
            Self::Lag { against } => Some(against),
            Self::Errors(c) | Self::Worst(c) | Self::Rms(c) => Some(&c.against),
            _ => None,
        }
    }
}

/// A picture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Name of the file.
    pub name: String,
    /// Heading.
    pub title: String,
    /// The caption, in our words.
    pub caption: String,
    /// The x axis: first and last value; from the curves, if not given.
    pub span: Option<(f64, f64)>,
    /// From top to bottom.
    pub panel: Vec<Panel>,
}

/// A panel of a picture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Panel {
    /// Heading.
    #[serde(default)]
    pub title: String,
    /// Label of the x axis.
    #[serde(default = "seconds")]
    pub x_label: String,
    /// Label of the y axis.
    #[serde(default)]
    pub y_label: String,
    /// Decimal logarithms of both axes are drawn.
    #[serde(default)]
    pub logarithmic: bool,
    /// Values beyond are left out.
    pub within: Option<(f64, f64)>,
    /// The curves that are drawn.
    pub curve: Vec<Curve>,
}

fn seconds() -> String {
    "time / s".to_owned()
}

/// A curve.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    /// In the legend.
    pub label: String,
    /// A column of a run over time.
    pub run: Option<String>,
    /// The column; with `against`, the columns whose errors are added.
    #[serde(default)]
    pub y: Vec<String>,
    /// A run from which the errors are counted.
    pub against: Option<String>,
    /// Its columns, if they have other names.
    #[serde(default)]
    pub to: Vec<String>,
    /// Instead of a run: abscissae of the checks in `checks`.
    #[serde(default)]
    pub x: Vec<f64>,
    /// Checks by id.
    #[serde(default)]
    pub checks: Vec<String>,
    /// `line`, `step` or `points`.
    pub style: Option<String>,
    /// Instead of one column over time: numbered columns at one instant, over their place from 0 to 1.
    pub across: Option<Across>,
    /// Lines of a body, instead of a run or by numbered columns at its nodes.
    pub sketch: Option<Sketch>,
}

/// Numbered columns at an instant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Across {
    /// Their name before the number, such as `tooth.profile`.
    pub columns: String,
    /// Seconds.
    pub at: f64,
}

/// A body by `heat-conformal`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sketch {
    /// Its boundary, a formula over theta.
    pub rho: String,
    /// Lines of its grid.
    pub n: usize,
    /// The lines that are drawn.
    pub show: Show,
    /// Of equal values: which.
    #[serde(default)]
    pub level: f64,
}

/// Lines of a body.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Show {
    /// The grid in the square.
    Square,
    /// The grid in the disk.
    Disk,
    /// The grid in the body.
    Body,
    /// A value of the columns in `across`.
    Level,
    /// A value of the first Christoffel symbol.
    Christoffel11,
    /// A value of the second one.
    Christoffel12,
}

/// Reads the index.
///
/// # Errors
/// When the text has a mistake.
pub(super) fn index(text: &str) -> Result<Index, String> {
    toml::from_str(text).map_err(|e| format!("index: {e}"))
}

/// Reads a table.
///
/// # Errors
/// When the text has a mistake; the tables are part of the program, so that a test finds it.
pub(super) fn parse(name: &str, text: &str) -> Result<Table, String> {
    toml::from_str(text).map_err(|e| format!("{name}: {e}"))
}
