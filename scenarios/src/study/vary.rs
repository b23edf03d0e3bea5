//! `[vary]`: the values of parameters, and how they are written into the scenario.
use super::Sets;
use crate::{
    diagnostics::{Mistake, Sink},
    document::{Item, Node, Table},
    output::numbers,
};
use superdense_kernel::time::Resolution;
use superdense_models::{
    kinds::Located,
    maths::quantity::{Dimension, Quantity, Unit, unit},
};
use superdense_study::{Range, Step};

/// A parameter that varies.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The path, as behind `--set`.
    pub path: Located<String>,
    /// Its values, in SI base units, or on the scale of temperatures on which its ends are written; for labels their
    /// numbers.
    pub range: Range,
    /// The unit of measure: in SI base units, or a scale of temperatures; empty for a pure number.
    pub unit: String,
    /// Words in place of numbers.
    labels: Vec<String>,
    /// A step is written in the file.
    pub stepped: bool,
}

impl Parameter {
    /// The text by which the scenario is told a value.
    pub fn text(&self, x: f64) -> String {
        match self.labels.get(x as usize) {
            Some(label) => label.clone(),
            None => self.with_unit(x),
        }
    }

    /// A value for a table, without its unit.
    pub fn cell(&self, x: f64) -> String {
        match self.labels.get(x as usize) {
            Some(label) => label.clone(),
            None => number(x),
        }
    }

    /// A value in JSON: a number without its unit, or a word.
    pub fn json(&self, x: f64) -> serde_json::Value {
        match self.labels.get(x as usize) {
            Some(label) => label.as_str().into(),
            None => x.into(),
        }
    }

    fn with_unit(&self, x: f64) -> String {
        let text = number(x);
        if self.unit.is_empty() { text } else { format!("{text} {}", self.unit) }
    }

    /// Values at which the scenario is tried out: both ends, and one between that nobody would write.
    pub fn trials(&self) -> Vec<f64> {
        match &self.range {
            Range::Values(values) => values.clone(),
            Range::Interval { from, to, .. } => vec![*from, *to, self.range.at(0.618_033_988_749)],
        }
    }

    /// Points that a search for one change takes.
    pub fn points_of_search(&self) -> f64 {
        match &self.range {
            Range::Values(values) => values.len() as f64,
            Range::Interval { from, to, step } => {
                let steps = (to - from) / 8.0 / step.map_or(to - from, Step::size);
                9.0 + 3.0 * (steps.max(1.0).ln() / 4f64.ln()).ceil()
            }
        }
    }

    /// A value of its range that is given as text. Between the ends of an interval it is rounded to the step.
    pub fn value(&self, text: &str) -> Option<f64> {
        let x = self.read(text).and_then(|x| self.admit(x))?;
        match &self.range {
            Range::Interval { .. } => Some(self.range.rounded(x)),
            Range::Values(_) => Some(x),
        }
    }

    /// A value that is given as text: a word, a number in SI base units or on the scale of temperatures, or a
    /// quantity.
    pub fn read(&self, text: &str) -> Option<f64> {
        let quantity = || {
            let q = Quantity::parse(text).ok()?.filter(|_| self.labels.is_empty())?;
            let scale = unit(&self.unit).ok().filter(Unit::is_scale);
            match scale {
                Some(scale) if q.unit == scale && q.over.is_none() => Some(q.number.to_f64()),
                Some(scale) if q.unit.dimension() == scale.dimension() => Some(scale.of_si(q.si())),
                None if unit_of(q.unit.dimension()) == self.unit => Some(q.si()),
                _ => None,
            }
        };
        self.parse(text).or_else(quantity)
    }

    /// A number as a value of its range, if it is one. An end, and a value of a list, is met up to rounding: 10 degC
    /// are 50 degF.
    pub fn admit(&self, x: f64) -> Option<f64> {
        let equal = |v: &&f64| (*v - x).abs() <= 1e-12 * v.abs().max(x.abs());
        match &self.range {
            Range::Interval { from, to, .. } => {
                let end = [from, to].into_iter().find(equal).copied();
                end.or_else(|| (*from <= x && x <= *to).then_some(x))
            }
            Range::Values(values) => values.iter().find(equal).copied(),
        }
    }

    /// The values that there are, for messages.
    pub fn choices(&self) -> String {
        match &self.range {
            Range::Interval { from, to, .. } => {
                format!("one from {} to {}", self.text(*from), self.text(*to))
            }
            Range::Values(values) => {
                let texts: Vec<String> = values.iter().map(|x| self.text(*x)).collect();
                format!("one of {}", texts.join(", "))
            }
        }
    }

    /// The number of a word, or a number.
    pub fn parse(&self, text: &str) -> Option<f64> {
        let label = self.labels.iter().position(|l| l == text).map(|at| at as f64);
        label
            .or_else(|| text.parse().ok().filter(|x: &f64| x.is_finite() && self.labels.is_empty()))
    }
}

/// The settings by which a scenario is told a point.
pub fn sets(parameters: &[Parameter], over: &[usize], point: &[f64]) -> Sets {
    let set = |(&at, x): (&usize, &f64)| {
        let parameter = &parameters[at];
        (parameter.path.value.clone(), parameter.text(*x))
    };
    over.iter().zip(point).map(set).collect()
}

/// The shortest decimal of a number.
pub fn number(x: f64) -> String {
    let mut text = String::new();
    numbers::real(&mut text, x);
    text
}

/// A number with its dimension.
struct Amount {
    si: f64,
    dimension: Dimension,
    /// As it is written, of a temperature on a scale.
    scale: Option<(Unit, f64)>,
}

impl Amount {
    /// In the steps of a scale: as it is written there, or a difference in kelvin.
    fn step_of(&self, unit: &Unit) -> f64 {
        match &self.scale {
            Some((own, written)) if own == unit => *written,
            _ => self.si / (unit.to_si(1.0) - unit.to_si(0.0)),
        }
    }
}

/// Reads `[vary]`; nested tables are paths. Also the paths whose values are mistakes.
pub(super) fn read(
    table: &Table,
    resolution: Resolution,
    sink: &Sink,
) -> (Vec<Parameter>, Vec<String>) {
    let (mut parameters, mut wrong) = (Vec::<Parameter>::new(), Vec::new());
    let mut todo: Vec<(String, &Table)> = vec![(String::new(), table)];
    while let Some((prefix, table)) = todo.pop() {
        for (key, node) in &table.entries {
            let path = Located::new(format!("{prefix}{}", key.value), key.span.clone());
            let reader = Reader { path: &path, resolution, sink };
            let found = match &node.item {
                Item::Table(inner) if !["from", "to"].iter().any(|k| inner.get(k).is_some()) => {
                    todo.push((format!("{}.", path.value), inner));
                    continue;
                }
                Item::Table(inner) => reader.interval(inner, node),
                Item::List(list) => reader.list(list, node),
                _ => {
                    sink.push(node.wrong_type(
                        &format!("`{}` of [vary]", path.value),
                        "an interval or a list",
                        "{ from = \"1 ms\", to = \"2 s\" } or [2, 3, 4]",
                    ));
                    None
                }
            };
            match found {
                Some(parameter) => parameters.push(parameter),
                None => wrong.push(path.value),
            }
        }
    }
    parameters.sort_by_key(|p| p.path.span.start);
    for (at, parameter) in parameters.iter().enumerate() {
        let is_other = |p: &&Parameter| target(&p.path.value) == target(&parameter.path.value);
        if let Some(other) = parameters[..at].iter().find(is_other) {
            let message =
                format!("`{}` is the parameter `{}`", parameter.path.value, other.path.value);
            let mistake = Mistake::new("study-vary", &parameter.path.span, message);
            sink.push(mistake.help("vary it once"));
        }
    }
    (parameters, wrong)
}

/// The path to which a setting goes: `a` is short for `parameters.a`.
pub(super) fn target(path: &str) -> &str {
    path.strip_prefix("parameters.").unwrap_or(path)
}

struct Reader<'a> {
    path: &'a Located<String>,
    resolution: Resolution,
    sink: &'a Sink,
}

impl Reader<'_> {
    fn refuse<T>(&self, node: &Node, message: impl Into<String>, help: &str) -> Option<T> {
        self.sink.push(Mistake::new("study-vary", &node.span, message).help(help));
        None
    }

    fn interval(&self, table: &Table, node: &Node) -> Option<Parameter> {
        super::file::known_keys(table, &["from", "to", "step"], "an interval of [vary]", self.sink);
        let path = &self.path.value;
        let end = |key: &str| match table.get(key) {
            Some(node) => self.amount(node),
            None => {
                let message = format!("`{path}` has no `{key}`");
                self.refuse(node, message, "write both ends: { from = \"1 ms\", to = \"2 s\" }")
            }
        };
        let (from, to) = (end("from"), end("to"));
        let (from, to) = (from?, to?);
        let step = match table.get("step") {
            Some(node) => Some((self.amount(node)?, node)),
            None => None,
        };
        if from.dimension != to.dimension
            || step.as_ref().is_some_and(|(s, _)| s.dimension != from.dimension)
        {
            let message = format!("`from`, `to` and `step` of `{path}` measure different things");
            return self.refuse(node, message, "write all of them with one kind of unit");
        }
        let scale = match (&from.scale, &to.scale) {
            (Some((a, low)), Some((b, high))) if a == b => Some((a.clone(), *low, *high)),
            _ => None,
        };
        if from.si.partial_cmp(&to.si) != Some(std::cmp::Ordering::Less) {
            let message = format!("`{path}` goes from {} to {}", number(from.si), number(to.si));
            return self.refuse(node, message, "write the smaller end as `from`");
        }
        // Multiples of a step are told from the zero of the scale on which the ends are written.
        let (low, high, unit) = match &scale {
            Some((unit, low, high)) => (*low, *high, unit.to_string()),
            None => (from.si, to.si, unit_of(from.dimension)),
        };
        let size = |step: &Amount| scale.as_ref().map_or(step.si, |s| step.step_of(&s.0));
        let (stepped, step) = match step {
            Some((step, node)) => match Step::of(size(&step)).filter(|s| s.size() <= high - low) {
                Some(step) => (true, Some(step)),
                None => {
                    let message = format!("the step of `{path}` does not fit into its interval");
                    return self.refuse(
                        node,
                        message,
                        "write a step above zero and below to - from",
                    );
                }
            },
            // Times are whole numbers of ticks.
            None if from.dimension == Dimension::TIME => {
                (false, Step::new(1, -i32::from(self.resolution.exponent())))
            }
            None => (false, None),
        };
        let range = Range::Interval { from: low, to: high, step };
        Some(Parameter { path: self.path.clone(), range, unit, labels: Vec::new(), stepped })
    }

    fn list(&self, list: &[Node], node: &Node) -> Option<Parameter> {
        if list.is_empty() {
            return self.refuse(node, "the list is empty", "write the values, such as [2, 3, 4]");
        }
        let words = list.iter().any(is_word);
        let amounts: Option<Vec<Amount>> = match words {
            false => list.iter().map(|n| self.amount(n)).collect(),
            true => Some(Vec::new()),
        };
        let amounts = amounts?;
        let dimension = amounts.first().map_or(Dimension::NONE, |a| a.dimension);
        if let Some(at) = amounts.iter().position(|a| a.dimension != dimension) {
            let message = format!("the values of `{}` measure different things", self.path.value);
            return self.refuse(&list[at], message, "write all of them with one kind of unit");
        }
        let label = |n: &Node| match &n.item {
            Item::Text(t) => t.clone(),
            Item::Int(i) => i.to_string(),
            Item::Real(x, _) => number(*x),
            Item::Bool(b) => b.to_string(),
            _ => String::new(),
        };
        let labels: Vec<String> = list.iter().filter(|_| words).map(label).collect();
        if let Some(at) = labels.iter().position(String::is_empty) {
            let wrong = list[at].wrong_type("a value of [vary]", "a number or a text", "[2, 3, 4]");
            self.sink.push(wrong);
            return None;
        }
        // Temperatures of one scale stay on it.
        let scale = amounts.first().and_then(|a| Some(a.scale.as_ref()?.0.clone()));
        let on_scale = |a: &Amount| match (&a.scale, &scale) {
            (Some((own, x)), Some(scale)) if own == scale => Some(*x),
            _ => None,
        };
        let scaled: Option<Vec<f64>> = amounts.iter().map(on_scale).collect();
        let (values, unit) = match (words, scaled.zip(scale)) {
            (true, _) => ((0..list.len()).map(|i| i as f64).collect(), String::new()),
            (_, Some((values, scale))) => (values, scale.to_string()),
            _ => (amounts.iter().map(|a| a.si).collect(), unit_of(dimension)),
        };
        let range = Range::Values(values);
        Some(Parameter { path: self.path.clone(), range, unit, labels, stepped: false })
    }

    fn amount(&self, node: &Node) -> Option<Amount> {
        let plain = |si: f64| Some(Amount { si, dimension: Dimension::NONE, scale: None });
        let amount = match &node.item {
            Item::Int(i) => plain(*i as f64),
            Item::Real(x, _) => plain(*x),
            Item::Text(text) => match Quantity::parse(text) {
                Ok(Some(q)) => Some(Amount {
                    si: q.si(),
                    dimension: q.unit.dimension(),
                    scale: q.unit.is_scale().then(|| (q.unit.clone(), q.number.to_f64())),
                }),
                _ => None,
            },
            _ => None,
        };
        match amount.filter(|a| a.si.is_finite()) {
            Some(amount) => Some(amount),
            None => {
                let message = format!("a value of `{}` is no number", self.path.value);
                let help = "write a number such as 0.5, or a quantity such as \"5 ms\"";
                self.refuse(node, message, help)
            }
        }
    }
}

/// A text that is no quantity, or a truth value.
fn is_word(node: &Node) -> bool {
    match &node.item {
        Item::Text(text) => matches!(Quantity::parse(text), Ok(None)),
        Item::Bool(_) => true,
        _ => false,
    }
}

fn unit_of(dimension: Dimension) -> String {
    if dimension == Dimension::NONE { String::new() } else { dimension.symbol() }
}

/// Settings by their paths: a point is its settings, in whatever order a question names them.
pub(super) fn by_path(sets: &Sets) -> Sets {
    let mut sorted = sets.clone();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    sorted
}
