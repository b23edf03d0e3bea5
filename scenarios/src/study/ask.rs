//! `[ask.NAME]`: questions as they are written.
use super::{
    Sets,
    file::{Reader, known_keys},
    first::Variant,
    vary::{Parameter, target},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use superdense_models::{
    kinds::{Located, files},
    maths::{
        expr::{Comparison, Condition, Logic, Names, VarId, nearest},
        quantity::Quantity,
    },
};
use superdense_study::{
    Judged, Point, Range, Replication, design,
    replicate::Width,
    sobol::{self, DIMENSIONS},
};

/// The methods that a question may name.
const METHODS: [&str; 6] = ["boundary", "first", "grid", "latin-hypercube", "sobol", "list"];
/// Replicates at most where a study says only when to stop.
const MOST: u32 = 64;

/// A question.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Its name.
    pub name: Located<String>,
    /// Settings of its own.
    pub sets: Sets,
    /// The method, with what belongs to it.
    pub kind: Kind,
    /// How many replicates its points get.
    pub replication: Replication,
    /// Numbers of results, and how exact their means are wanted.
    pub until: Vec<(usize, Width)>,
}

/// A method, with what belongs to it. Parameters are numbers of those of the study.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Where a condition changes.
    Boundary {
        /// The parameter.
        over: usize,
        /// The condition.
        keep: Keep,
    },
    /// The first point of variants that meets a condition.
    First {
        /// The parameters of all variants.
        over: Vec<usize>,
        /// The condition.
        keep: Keep,
        /// The variants in their order.
        variants: Vec<Variant>,
    },
    /// Points that are known beforehand.
    Design {
        /// The method's name.
        method: &'static str,
        /// The parameters.
        over: Vec<usize>,
        /// The points.
        points: Vec<Point>,
    },
}

impl Kind {
    /// Numbers of the parameters that points give values to.
    pub fn over(&self) -> &[usize] {
        match self {
            Self::Boundary { over, .. } => std::slice::from_ref(over),
            Self::Design { over, .. } | Self::First { over, .. } => over,
        }
    }

    /// The condition, where the method has one.
    pub fn keep(&self) -> Option<&Keep> {
        match self {
            Self::Boundary { keep, .. } | Self::First { keep, .. } => Some(keep),
            Self::Design { .. } => None,
        }
    }
}

/// A condition on results.
#[derive(Debug, Clone)]
pub struct Keep {
    /// As it is written.
    pub text: String,
    condition: Condition,
}

impl Keep {
    /// Whether it names a result of something that never happened.
    pub fn absent(&self, results: &[Option<f64>]) -> bool {
        let absent = |v: &VarId| results.get(v.0 as usize).copied().flatten().is_none();
        self.condition.vars().iter().any(absent)
    }

    /// Whether it is one comparison of order. Then replicates are judged by the mean of the difference of its sides,
    /// else by the share of those that hold.
    pub fn compares_means(&self) -> bool {
        let ordered = self.condition.atoms().len() == 1
            && matches!(self.condition.atoms()[0].relation, Comparison::Less | Comparison::LessEq);
        let logic = self.condition.logic();
        ordered && matches!(logic, [Logic::Atom(_)] | [Logic::Atom(_), Logic::Not(_)])
    }

    /// Whether it holds for the results of a run. What never happened compares with nothing: the condition
    /// fails.
    pub fn judge(&self, results: &[Option<f64>]) -> Judged {
        if self.absent(results) {
            return Judged { holds: false, margin: None };
        }
        let vars: Vec<f64> = results.iter().map(|r| r.unwrap_or(f64::NAN)).collect();
        let z = || self.condition.atoms()[0].z.eval(&vars);
        let margin = self.compares_means().then(|| match self.condition.logic() {
            [Logic::Atom(_)] => -z(),
            _ => z(),
        });
        Judged { holds: self.condition.eval(&vars), margin }
    }
}

/// The settings of `[replicate]`, or of a question.
#[derive(Debug, Clone)]
pub(super) struct Replicates {
    pub rule: Replication,
    pub until: Vec<(usize, Width)>,
}

/// Reads `[replicate]`.
pub(super) fn replicates(table: &Table, reader: &Reader<'_>) -> Replicates {
    known_keys(table, &["least", "most", "until"], "[replicate]", reader.sink);
    let number = |key: &str, default: u32| match table.get(key) {
        None => default,
        Some(node) => reader.count(node, &format!("`{key}`"), 2).unwrap_or(default),
    };
    let until = match table.get("until") {
        None => Vec::new(),
        Some(node) => node
            .table("`until`", "until = { nadir = 0.01 }", reader.sink)
            .map(|t| t.entries.iter().filter_map(|(k, n)| width(k, n, reader)).collect())
            .unwrap_or_default(),
    };
    let least = number("least", 8);
    let most = number("most", if until.is_empty() { least } else { MOST.max(least) });
    if most < least {
        let node = table.get("most").or(table.get("least"));
        let message = format!("`most` is {most}, and `least` {least}");
        let help = "write the smaller number as `least`";
        reader.refuse("study-replicate", node, message, help);
    }
    Replicates { rule: Replication { least, most: most.max(least) }, until }
}

fn width(key: &Located<String>, node: &Node, reader: &Reader<'_>) -> Option<(usize, Width)> {
    let result = reader.result(&key.value, &key.span)?;
    let width = match &node.item {
        Item::Int(i) => Some(Width::Absolute(*i as f64)),
        Item::Real(x, _) => Some(Width::Absolute(*x)),
        Item::Text(text) => match Quantity::parse(text) {
            Ok(Some(q)) if text.trim_end().ends_with('%') => Some(Width::Relative(q.si())),
            Ok(Some(q)) => Some(Width::Absolute(q.si())),
            _ => None,
        },
        _ => None,
    };
    let positive = |w: &Width| match w {
        Width::Absolute(x) | Width::Relative(x) => *x > 0.0,
    };
    match width.filter(positive) {
        Some(width) => Some((result, width)),
        None => {
            let message = format!("`{}` is not how exact a mean can be", key.value);
            let help = "write half the width of its interval, such as 0.01, or \"5 %\" of the mean";
            reader.refuse("study-replicate", Some(node), message, help);
            None
        }
    }
}

/// Reads `[ask]`.
pub(super) fn asks(table: &Table, usual: &Replicates, reader: &Reader<'_>) -> Vec<Ask> {
    let ask = |(name, node): &(Located<String>, Node)| {
        let table = node.table(&format!("`{}`", name.value), "[ask.limit]", reader.sink)?;
        One { name, node, table, reader }.ask(usual)
    };
    table.entries.iter().filter_map(ask).collect()
}

/// One question.
pub(super) struct One<'a> {
    pub(super) name: &'a Located<String>,
    pub(super) node: &'a Node,
    pub(super) table: &'a Table,
    pub(super) reader: &'a Reader<'a>,
}

impl One<'_> {
    pub(super) fn refuse<T>(
        &self,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        let name = &self.name.span;
        let span = self.table.get(key).map_or(name, |node| &node.span);
        let mistake = Mistake::new("study-ask", span, message);
        self.reader.sink.push(mistake.help(help));
        None
    }

    fn ask(&self, usual: &Replicates) -> Option<Ask> {
        let sink = self.reader.sink;
        let Some(node) = self.table.get("method") else {
            let message = format!("the question `{}` has no method", self.name.value);
            let help = format!("write method = \"...\", one of {}", METHODS.join(", "));
            return self.refuse("method", message, help);
        };
        let method = node.text("`method`", "method = \"grid\"", sink)?.value;
        let of_method: &[&str] = match method.as_str() {
            "boundary" => &["keep"],
            "first" => &["keep", "variant"],
            "latin-hypercube" | "sobol" => &["samples"],
            "list" => &["file"],
            _ => &[],
        };
        let known = [&["method", "over", "set", "replicate"], of_method].concat();
        if METHODS.contains(&method.as_str()) {
            known_keys(self.table, &known, &format!("a question of method `{method}`"), sink);
        }
        let kind = match method.as_str() {
            "boundary" => self.boundary(),
            "first" => self.first(),
            "grid" => self.grid(),
            "latin-hypercube" => self.latin_hypercube(),
            "sobol" => self.sobol(),
            "list" => self.list(),
            _ => {
                let near = nearest(&method, METHODS);
                let help = near.map_or_else(
                    || format!("methods are {}", METHODS.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                return self.refuse("method", format!("there is no method `{method}`"), help);
            }
        };
        let sets = self.table.get("set").map(|node| self.reader.sets(node)).unwrap_or_default();
        let own = self.own_replication();
        let (kind, own) = (kind?, own?);
        self.unused(&kind, &sets);
        let mut until = usual.until.clone();
        if own.is_some() || kind.keep().is_some() {
            until.clear();
        }
        let replication = own.unwrap_or(usual.rule);
        self.seeds(&kind, replication);
        Some(Ask { name: self.name.clone(), sets, kind, replication, until })
    }

    /// `replicate = 1`: exactly so many.
    fn own_replication(&self) -> Option<Option<Replication>> {
        let Some(node) = self.table.get("replicate") else { return Some(None) };
        let n = self.reader.count(node, "`replicate`", 1)?;
        Some(Some(Replication { least: n, most: n }))
    }

    /// Refuses seeds at points whose replicates have seeds of their own: those would be lost.
    fn seeds(&self, kind: &Kind, replication: Replication) {
        let is_seed = |&at: &usize| self.reader.parameters[at].path.value == "seed";
        if replication.most > 1 && kind.over().iter().any(is_seed) {
            let message = "the question varies `seed`, and replicates have seeds of their own";
            let help = "write replicate = 1, or take `seed` out of `over`";
            self.refuse::<()>("over", message, help);
        }
    }

    /// Refuses settings of what the question varies: they would be lost.
    fn unused(&self, kind: &Kind, sets: &Sets) {
        for (path, _) in sets {
            let varies =
                |&at: &usize| target(&self.reader.parameters[at].path.value) == target(path);
            if kind.over().iter().any(varies) {
                let message = format!("`{path}` is set, and the question varies it");
                self.refuse::<()>("set", message, "take it out of `set`, or out of `over`");
            }
        }
    }

    fn boundary(&self) -> Option<Kind> {
        let keep = self.keep();
        let example = "over = \"network.delay\"";
        let Some(node) = self.table.get("over") else {
            return self.refuse(
                "over",
                "it is not said over which parameter",
                format!("write {example}"),
            );
        };
        let path = node.text("`over`", example, self.reader.sink)?;
        let over = self.reader.parameter(&path.value, &path.span)?;
        let parameter = &self.reader.parameters[over];
        if let Range::Interval { step: None, .. } = parameter.range {
            let message = format!("it is not said how exactly `{}` is wanted", path.value);
            let help =
                "add a `step` to its interval in [vary]: { from = 0.0, to = 1.0, step = 0.001 }";
            return self.refuse("over", message, help);
        }
        Some(Kind::Boundary { over, keep: keep? })
    }

    pub(super) fn keep(&self) -> Option<Keep> {
        let example = "keep = \"nadir > 59.3\"";
        let Some(node) = self.table.get("keep") else {
            let message = "it is not said which condition is to be kept";
            return self.refuse(
                "keep",
                message,
                format!("write a condition on results, such as {example}"),
            );
        };
        let text = match Self::goals(node) {
            Some(all) => Located::new(all, node.span.clone()),
            None => node.text("`keep`", example, self.reader.sink)?,
        };
        let names = (0..)
            .zip(self.reader.results)
            .fold(Names::new(), |names, (i, name)| names.var(name, i));
        match Condition::parse(&text.value, &names) {
            Ok(condition) if !condition.vars().is_empty() => {
                Some(Keep { text: text.value, condition })
            }
            Ok(_) => self.refuse(
                "keep",
                "the condition names no result",
                format!("write such as {example}"),
            ),
            Err(errors) => {
                for e in errors {
                    let known = self.reader.results_listed();
                    let help = e.help().map_or(known, Into::into);
                    let mistake = Mistake::new("expression", &text.span, e.to_string());
                    self.reader.sink.push(mistake.help(help));
                }
                None
            }
        }
    }

    /// `over = { path = levels }`, or a list of paths.
    pub(super) fn over(&self) -> Option<Vec<(usize, Option<&Node>)>> {
        let Some(node) = self.table.get("over") else {
            let help = "write over = [\"network.delay\", \"network.loss\"], names of [vary]";
            return self.refuse("over", "it is not said over which parameters", help);
        };
        let found: Vec<Option<_>> = match &node.item {
            Item::Table(table) => {
                let flat = crate::study::file::flat(table);
                let of = |(path, node): (Located<String>, _)| {
                    Some((self.reader.parameter(&path.value, &path.span)?, Some(node)))
                };
                flat.into_iter().map(of).collect()
            }
            Item::Text(path) => vec![Some((self.reader.parameter(path, &node.span)?, None))],
            _ => {
                let list = node.list("`over`", "over = [\"network.delay\"]", self.reader.sink)?;
                let of = |node: &Node| {
                    let path =
                        node.text("a path of `over`", "\"network.delay\"", self.reader.sink)?;
                    Some((self.reader.parameter(&path.value, &path.span)?, None))
                };
                list.iter().map(of).collect()
            }
        };
        let found: Vec<_> = found.into_iter().collect::<Option<_>>()?;
        let mut seen: Vec<usize> = found.iter().map(|f| f.0).collect();
        seen.sort_unstable();
        if found.is_empty() || seen.windows(2).any(|w| w[0] == w[1]) {
            return self.refuse(
                "over",
                "it must name one parameter or more, each once",
                "correct the list",
            );
        }
        Some(found)
    }

    fn grid(&self) -> Option<Kind> {
        let over = self.over()?;
        let levels: Vec<_> = over.iter().map(|(at, node)| self.levels(*at, *node)).collect();
        let levels = levels.into_iter().collect::<Option<Vec<_>>>()?;
        let runs = levels.iter().map(|l| l.len() as f64).product();
        self.reader.fits(runs, self.node, &self.name.value)?;
        let points = design::grid(&levels);
        Some(Kind::Design { method: "grid", over: over.iter().map(|o| o.0).collect(), points })
    }

    /// The levels of a parameter of a grid: so many, those of a list, or all that there are.
    pub(super) fn levels(&self, at: usize, node: Option<&Node>) -> Option<Vec<f64>> {
        let parameter = &self.reader.parameters[at];
        let path = &parameter.path.value;
        match (node.map(|n| (&n.item, n)), &parameter.range) {
            (None, Range::Values(values)) => Some(values.clone()),
            (None, Range::Interval { .. }) => {
                let message = format!("it is not said at how many values of `{path}`");
                let help = format!("write over = {{ \"{path}\" = 12 }}, or a list of its values");
                self.refuse("over", message, help)
            }
            (Some((Item::List(list), node)), _) => {
                let values: Vec<Option<f64>> =
                    list.iter().map(|n| self.reader.value(parameter, n)).collect();
                match values.into_iter().collect::<Option<Vec<f64>>>() {
                    Some(values) if values.is_empty() => {
                        let message = format!("`{path}` has no values");
                        self.reader.refuse("study-ask", Some(node), message, "write one or more");
                        None
                    }
                    values => values,
                }
            }
            (Some((_, node)), range) => {
                let n = self.reader.count(node, &format!("the number of values of `{path}`"), 2)?;
                self.reader.fits(f64::from(n), node, &self.name.value)?;
                let levels = range.levels(n as usize);
                // Equal values are one level.
                if let Range::Values(values) = range
                    && ![values.len(), levels.len()].contains(&(n as usize))
                {
                    let message =
                        format!("`{path}` is a list of {} values, not of {n}", levels.len());
                    let help = format!("write over = [\"{path}\"], or the values of this grid");
                    self.reader.refuse("study-ask", Some(node), message, &help);
                    return None;
                }
                Some(levels)
            }
        }
    }

    fn samples(&self) -> Option<u32> {
        let Some(node) = self.table.get("samples") else {
            return self.refuse("samples", "it is not said how many points", "write samples = 64");
        };
        let n = self.reader.count(node, "`samples`", 1)?;
        self.reader.fits(f64::from(n), node, &self.name.value)?;
        Some(n)
    }

    /// Parameters and their ranges, for designs that fill them.
    fn ranges(&self) -> Option<(Vec<usize>, Vec<Range>)> {
        let over = self.over()?;
        if let Some((_, Some(node))) = over.iter().find(|o| o.1.is_some()) {
            let help = "write over = [\"a\", \"b\"]; how many points there are says `samples`";
            let message = "this method takes no values of single parameters";
            self.reader.refuse("study-ask", Some(*node), message, help);
            return None;
        }
        let numbers: Vec<usize> = over.iter().map(|o| o.0).collect();
        let ranges = numbers.iter().map(|&at| self.reader.parameters[at].range.clone()).collect();
        Some((numbers, ranges))
    }

    fn latin_hypercube(&self) -> Option<Kind> {
        let (ranges, n) = (self.ranges(), self.samples());
        let ((over, ranges), n) = (ranges?, n?);
        let points = design::latin_hypercube(&ranges, n as usize, self.reader.seed);
        Some(Kind::Design { method: "latin-hypercube", over, points })
    }

    fn sobol(&self) -> Option<Kind> {
        let (ranges, n) = (self.ranges(), self.samples());
        let n = n?;
        if !n.is_power_of_two() {
            let message =
                format!("`samples` is {n}, and Sobol' points are even only by powers of two");
            let (below, above) = (1 << n.ilog2(), n.next_power_of_two());
            return self.refuse("samples", message, format!("write samples = {below}, or {above}"));
        }
        let (over, ranges) = ranges?;
        let Some(points) = design::sobol(&ranges, n, self.reader.seed) else {
            let message = format!("`over` names more than {DIMENSIONS} parameters");
            return self.refuse(
                "over",
                message,
                "name fewer, or take method = \"latin-hypercube\"",
            );
        };
        debug_assert!(ranges.len() <= sobol::DIMENSIONS);
        Some(Kind::Design { method: "sobol", over, points })
    }

    fn list(&self) -> Option<Kind> {
        let Some(node) = self.table.get("file") else {
            return self.refuse(
                "file",
                "it is not said where the points are",
                "write file = \"points.csv\"",
            );
        };
        let name = node.text("`file`", "file = \"points.csv\"", self.reader.sink)?;
        let file = self.reader.folder.join(&name.value);
        match points(&file, self.reader.parameters) {
            Ok((over, points)) => {
                self.reader.fits(points.len() as f64, node, &self.name.value)?;
                Some(Kind::Design { method: "list", over, points })
            }
            Err(why) => {
                let help = "a .csv file has paths of [vary] in its first line, and below quantities, or \
                            numbers in SI units (temperatures as [vary] writes them)";
                self.refuse("file", format!("the points of `{}`: {why}", name.value), help)
            }
        }
    }
}

/// Points of a file: the parameters of its columns, and its rows.
fn points(
    file: &std::path::Path,
    parameters: &[Parameter],
) -> Result<(Vec<usize>, Vec<Point>), String> {
    let rows = files::rows(file).map_err(|e| e.to_string())?;
    let [head, rows @ ..] = &rows[..] else { return Err("it is empty".to_owned()) };
    let column = |name: &String| {
        let at = parameters.iter().position(|p| p.path.value == *name);
        at.ok_or_else(|| format!("`{name}` is no parameter of [vary]"))
    };
    let over = head.iter().map(column).collect::<Result<Vec<usize>, _>>()?;
    let twice = |(k, name): &(usize, &String)| head[..*k].contains(*name);
    if let Some((_, name)) = head.iter().enumerate().find(twice) {
        return Err(format!("`{name}` has two columns"));
    }
    let mut points = Vec::new();
    for (row, at) in rows.iter().zip(1..) {
        if row.len() != over.len() {
            return Err(format!("point {at} has {} cells, not {}", row.len(), over.len()));
        }
        let value = |(cell, &p): (&String, &usize)| {
            let parameter = &parameters[p];
            let value = parameter.read(cell).and_then(|x| parameter.admit(x));
            value.ok_or_else(|| {
                let (path, choices) = (&parameter.path.value, parameter.choices());
                format!("point {at}: `{cell}` is no value of `{path}`, which is {choices}")
            })
        };
        points.push(row.iter().zip(&over).map(value).collect::<Result<Point, _>>()?);
    }
    if points.is_empty() { Err("it has no points".to_owned()) } else { Ok((over, points)) }
}
