//! The signals that are written and drawn: `record` and `[[plot]]`.
use super::{
    Aggregate, Axes, Between, Figure, Plot, Record, Source, Style, bonds, connect,
    evaluate::Evaluator,
    selector::{self, Piece, Selector, Step},
    session::{Session, did_you_mean},
    tree::{Body, End, Tree},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use std::collections::{HashMap, hash_map::Entry};
use superdense_models::kinds::{Located, PortKind, ValueType};

/// Columns of a scenario that does not say what to record.
const DEFAULT_RECORDS: usize = 64;
/// Most columns.
const MAX_RECORDS: usize = 200_000;
/// Most plots: they are panels of one picture.
const MAX_PLOTS: usize = 100;
const PLOT_KEYS: &[&str] = &[
    "title",
    "kind",
    "y",
    "to",
    "x_label",
    "y_label",
    "events",
    "style",
    "x",
    "names",
    "values",
    "x_range",
    "y_range",
    "log",
    "time_unit",
    "bands",
];
const TIME_UNITS: &[(&str, f64)] = &[
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];
const STYLES: &[(&str, Style)] =
    &[("line", Style::Line), ("step", Style::Step), ("points", Style::Points)];
const KINDS: &[(&str, Figure)] = &[
    ("curves", Figure::Curves),
    ("timeline", Figure::Timeline),
    ("distribution", Figure::Distribution),
];

/// The records and plots of a scenario.
pub(super) fn results(root: &Table, tree: &Tree, session: &Session) -> (Vec<Record>, Vec<Plot>) {
    let mut r = Recorder { tree, session, records: Vec::new(), labels: HashMap::new() };
    let example = "record = [\"tank.level\", \"sum(plant[*].power)\"]";
    let list = root.get("record").and_then(|n| n.list("`record`", example, &session.sink));
    for item in list.unwrap_or_default() {
        if let Some(text) = item.text("a record", "\"tank.level\"", &session.sink) {
            r.add(&text);
        }
    }
    let example = "[[plot]] with two brackets";
    let plots = root.get("plot").and_then(|n| n.list("`plot`", example, &session.sink));
    let plots = plots.unwrap_or_default();
    if let Some(node) = plots.get(MAX_PLOTS) {
        let message = format!("{} plots are more than {MAX_PLOTS}", plots.len());
        let mistake = Mistake::new("too-large", &node.span, message);
        session.report(mistake.help("all stand in one picture: draw several curves in a plot"));
    }
    let plots: Vec<Plot> = plots.iter().take(MAX_PLOTS).filter_map(|n| r.plot(n)).collect();
    if list.is_none() && r.records.is_empty() {
        r.defaults();
    }
    (r.records, plots)
}

/// The outputs that a path names; mistakes are reported.
pub(super) fn outputs(tree: &Tree, session: &Session, piece: Piece<'_>) -> Vec<Record> {
    let r = Recorder { tree, session, records: Vec::new(), labels: HashMap::new() };
    r.ports(piece)
}

struct Recorder<'a> {
    tree: &'a Tree,
    session: &'a Session,
    records: Vec<Record>,
    /// Places of records.
    labels: HashMap<String, usize>,
}

/// A label with the group and end it stands for.
type Found = (String, u32, End);

impl Recorder<'_> {
    /// Adds what a text names; the labels.
    fn add(&mut self, text: &Located<String>) -> Vec<String> {
        let piece = Piece::new(self.session, text);
        let records = match selector::call(piece) {
            Some((name, inner)) => self.aggregate(name, inner, piece),
            None => self.ports(piece),
        };
        let labels = records.iter().map(|r| r.label.clone()).collect();
        for record in records {
            if self.records.len() >= MAX_RECORDS {
                let mistake =
                    Mistake::new("too-large", &text.span, "more than 200 thousand records");
                self.session
                    .report(mistake.help("record an aggregate such as sum(plant[*].power)"));
                break;
            }
            if let Entry::Vacant(new) = self.labels.entry(record.label.clone()) {
                new.insert(self.records.len());
                self.records.push(record);
            }
        }
        labels
    }

    fn ports(&self, piece: Piece<'_>) -> Vec<Record> {
        self.find(piece).into_iter().filter_map(|f| self.record(f)).collect()
    }

    fn record(&self, (label, group, end): Found) -> Option<Record> {
        let spec = self.tree.port(self.tree.groups[group as usize].body(end), false, end.port);
        let (unit, port) = self.tree.origin(group, end)?;
        let unit = &self.tree.units[unit as usize];
        Some(Record {
            label,
            source: Source::Port { unit: unit.path.clone(), port },
            kind: spec.kind,
            ty: spec.ty,
            continuous: unit.kind.is_continuous() && spec.ty != ValueType::Text,
            unit: spec.unit.clone(),
            sampled: spec.sampled,
            band: unit.params.real("exchange_tolerance"),
        })
    }

    fn aggregate(&self, name: Piece<'_>, inner: Piece<'_>, whole: Piece<'_>) -> Vec<Record> {
        let how = match name.text() {
            "sum" => Aggregate::Sum,
            "mean" => Aggregate::Mean,
            "count" => Aggregate::Count,
            other => {
                let help = did_you_mean(other, ["sum", "mean", "count"], "aggregates");
                let message = format!("there is no aggregate `{other}`");
                let mistake = Mistake::new("unknown-aggregate", &name.span(), message);
                self.session.report(mistake.help(help));
                return Vec::new();
            }
        };
        let found = self.ports(inner);
        let Some(first) = found.first() else { return Vec::new() };
        let member = |r: &Record| match &r.source {
            Source::Port { unit, port } => Some((unit.clone(), *port)),
            Source::Aggregate { .. } => None,
        };
        vec![Record {
            label: whole.text().split_whitespace().collect(),
            source: Source::Aggregate { how, members: found.iter().filter_map(member).collect() },
            kind: first.kind,
            ty: first.ty,
            continuous: found.iter().all(|r| r.continuous) && how != Aggregate::Count,
            unit: first.unit.clone().filter(|_| how != Aggregate::Count),
            sampled: found.iter().any(|r| r.sampled),
            band: found.iter().map(|r| r.band).sum(),
        }]
    }

    /// The outputs that a path names, at any depth; wildcards and ranges give many.
    fn find(&self, piece: Piece<'_>) -> Vec<Found> {
        let selector = match selector::selector(piece) {
            Ok(selector) => selector,
            Err(mistake) => {
                self.session.report(Mistake { code: "record-syntax", ..mistake });
                return Vec::new();
            }
        };
        let Some((port, path)) = selector.steps.split_last() else { return Vec::new() };
        let mut places: Vec<(String, u32)> = vec![(String::new(), 0)];
        for (depth, step) in path.iter().enumerate() {
            let last = depth + 1 == path.len();
            let mut next = Vec::new();
            if let [unit, bond] = &path[depth..]
                && let Some(found) =
                    bonds::quantities((self.tree, self.session), &places, (unit, bond), port)
            {
                return found;
            }
            for (label, group) in &places {
                let g = &self.tree.groups[*group as usize];
                let eval = Evaluator::new(self.session, &self.tree.groups[0].scope, &[]);
                let Some((child, members)) = connect::members(g, step, &eval) else {
                    return Vec::new();
                };
                for member in members {
                    let end = End { child, member, port: 0 };
                    let label = format!("{label}{}", g.name_of(end));
                    match (g.body(end), last) {
                        (_, true) => return self.all(&places, step, port, &selector),
                        (Body::Group(inner), false) => next.push((format!("{label}."), inner)),
                        // A bond that was not joined for some mistake is not one more.
                        (Body::Unit(_) | Body::Part(_), false)
                            if ["bond", "joint"]
                                .iter()
                                .any(|c| self.session.sink.mistakes_of(c)) =>
                        {
                            return Vec::new();
                        }
                        (Body::Unit(_) | Body::Part(_), false) => {
                            let message = format!("`{label}` is a unit and has nothing inside");
                            let mistake = Mistake::new("unknown-unit", &step.name.span, message);
                            self.session.report(mistake.help("write unit.output"));
                            return Vec::new();
                        }
                    }
                }
            }
            places = next;
        }
        Vec::new()
    }

    /// The ports at the end of a path, in every group that the path leads to.
    fn all(
        &self,
        places: &[(String, u32)],
        step: &Step,
        port: &Step,
        selector: &Selector,
    ) -> Vec<Found> {
        let mut out = Vec::new();
        for (label, group) in places {
            let g = &self.tree.groups[*group as usize];
            let eval = Evaluator::new(self.session, &self.tree.groups[0].scope, &[]);
            let steps = vec![step.clone(), port.clone()];
            let inner = Selector { steps, span: selector.span.clone() };
            let Some((ends, _)) = connect::ends(self.tree, *group, &inner, false, &eval) else {
                return Vec::new();
            };
            for end in ends {
                let spec = self.tree.port(g.body(end), false, end.port);
                out.push((format!("{label}{}.{}", g.name_of(end), spec.name), *group, end));
            }
        }
        out
    }

    /// All signals of the units at the top, in the order of the text.
    fn defaults(&mut self) {
        let top = &self.tree.groups[0];
        for unit in &top.decl.units {
            let Some(child) = top.find(&unit.name.value) else { continue };
            for (member, &body) in top.children[child as usize].members.iter().enumerate() {
                for (port, spec) in self.tree.ports(body, false).into_iter().enumerate() {
                    if self.records.len() >= DEFAULT_RECORDS {
                        return;
                    }
                    if spec.kind != PortKind::Signal || spec.name.starts_with('~') {
                        continue;
                    }
                    let end = End { child, member: member as u32, port: port as u16 };
                    let label = format!("{}.{}", top.name_of(end), spec.name);
                    let record = self.record((label, 0, end));
                    self.records.extend(record);
                }
            }
        }
        for (label, end) in self.tree.bonds.of_group(0) {
            if self.records.len() < DEFAULT_RECORDS {
                let record = self.record((label, 0, end));
                self.records.extend(record);
            }
        }
    }

    fn plot(&mut self, node: &Node) -> Option<Plot> {
        let sink = &self.session.sink;
        let table = node.table("a plot", "[[plot]]", sink)?;
        for (key, _) in &table.entries {
            if !PLOT_KEYS.contains(&key.value.as_str()) {
                let message = format!("a plot has no key `{}`", key.value);
                let help = did_you_mean(&key.value, PLOT_KEYS.iter().copied(), "known keys");
                sink.push(Mistake::new("unknown-key", &key.span, message).help(help));
            }
        }
        let text = |key: &str| {
            let text = table.get(key)?.text(&format!("`{key}`"), &format!("{key} = \"...\""), sink);
            text.map(|t| t.value)
        };
        let events = self.flag(table, "events", true);
        let style = self.choice(table, "style", "styles", STYLES);
        let kind = self.choice(table, "kind", "kinds of plots", KINDS).unwrap_or(Figure::Curves);
        let (title, x_label, y_label) = (text("title"), text("x_label"), text("y_label"));
        if table.get("y").is_none() {
            let mistake = Mistake::new("missing-key", &node.span, "this plot has no `y`");
            sink.push(mistake.help("add y = [\"tank.level\"]"));
            return None;
        }
        let moves = kind == Figure::Timeline || kind != Figure::Curves && table.get("to").is_some();
        let y = self.outputs(table, "y", moves)?;
        let to = if table.get("to").is_some() { self.outputs(table, "to", true)? } else { vec![] };
        if let Some(node) = table.get("to").filter(|_| kind == Figure::Curves) {
            let message = "`to` is for timelines and distributions";
            let mistake = Mistake::new("contradiction", &node.span, message);
            self.session.report(mistake.help("add kind = \"timeline\" or \"distribution\""));
        }
        if let Some(node) = table.get("style").filter(|_| kind != Figure::Curves) {
            let mistake = Mistake::new("contradiction", &node.span, "`style` is for curves");
            self.session
                .report(mistake.help("delete it: timelines and distributions have their own"));
        }
        if kind == Figure::Distribution && to.is_empty() {
            self.numbers(table, &y);
        }
        let (x, share) = match kind {
            Figure::Distribution if to.is_empty() => ("value", "share of values up to this"),
            Figure::Distribution => ("delay / s", "share with at most this delay"),
            _ => ("time / s", ""),
        };
        let axes = self.axes(table, (kind, &y));
        let unit = table.get("time_unit").and_then(|node| match &node.item {
            Item::Text(unit) => Some(unit.as_str()),
            _ => None,
        });
        let x = match (&axes.x, unit) {
            (Some(x), _) => x.clone(),
            (None, Some(unit)) => format!("time / {unit}"),
            _ => x.to_owned(),
        };
        Some(Plot {
            title: title.unwrap_or_default(),
            kind,
            y,
            to,
            x_label: x_label.unwrap_or(x),
            y_label: y_label.unwrap_or_else(|| share.into()),
            events,
            style,
            axes,
        })
    }

    /// A key that is true or false.
    fn flag(&self, table: &Table, key: &str, default: bool) -> bool {
        match table.get(key) {
            None => default,
            Some(Node { item: Item::Bool(b), .. }) => *b,
            Some(other) => {
                let (what, example) = (format!("`{key}`"), format!("{key} = {}", !default));
                self.session.sink.push(other.wrong_type(&what, "true or false", &example));
                default
            }
        }
    }

    /// The keys of the axes, which are for curves.
    fn axes(&mut self, table: &Table, (kind, y): (Figure, &[String])) -> Axes {
        let keys = &PLOT_KEYS[8..];
        let given = keys.iter().find_map(|key| Some((key, table.get(key)?)));
        if let Some((key, node)) = given.filter(|_| kind != Figure::Curves) {
            let message = format!("`{key}` is for curves");
            let mistake = Mistake::new("contradiction", &node.span, message);
            self.session.report(mistake.help("delete it, or delete `kind`"));
        }
        let x = self.outputs(table, "x", false);
        if let Some(node) = table.get("x").filter(|_| x.as_ref().is_none_or(|x| x.len() != 1)) {
            let mistake = Mistake::new("plot", &node.span, "`x` is not one output");
            self.session.report(mistake.help("name one, such as x = \"pendulum.angle\""));
        }
        let (names, values) = (self.words(table, "names"), self.words(table, "values"));
        if let Some(node) = table.get("names").filter(|_| names.len() != y.len()) {
            let message = format!("{} names for {} curves", names.len(), y.len());
            let mistake = Mistake::new("plot", &node.span, message);
            self.session.report(mistake.help("give one name for each output in `y`"));
        }
        let log = self.flag(table, "log", false);
        let y_range = self.range(table, "y_range");
        if let (Some(node), Some([low, _]), true) = (table.get("y_range"), y_range, log)
            && low <= 0.0
        {
            let message = "a logarithmic axis begins above zero";
            let mistake = Mistake::new("plot", &node.span, message);
            self.session.report(mistake.help("write y_range = [1e-6, 1], or delete `log`"));
        }
        Axes {
            x: x.and_then(|x| x.into_iter().next()),
            names,
            values: if values.is_empty() && kind == Figure::Curves {
                self.value_names(y)
            } else {
                values
            },
            x_range: self.range(table, "x_range"),
            y_range,
            log,
            unit: self.choice(table, "time_unit", "units of time", TIME_UNITS),
            bands: self.bands(table),
            between: self.between(table),
        }
    }

    /// Names of the values of outputs, where all have the same.
    fn value_names(&self, y: &[String]) -> Vec<String> {
        let of = |label: &String| {
            let record = self.records.get(*self.labels.get(label)?)?;
            let Source::Port { unit, port } = &record.source else { return None };
            let unit = self.tree.units.iter().find(|u| u.path == *unit)?;
            let port = unit.ports.outputs.get(usize::from(*port))?;
            let names = unit.kind.value_names(&unit.params, &port.name);
            Some(names).filter(|names| !names.is_empty())
        };
        // More curves than that are read by numbers.
        let mut all = y.iter().take(9).map(of);
        match (all.next().flatten(), y.len() < 9) {
            (Some(first), true) if all.all(|names| names.as_ref() == Some(&first)) => first,
            _ => Vec::new(),
        }
    }

    /// `bands = [{ from = "alarm.up", to = "alarm.down" }, { of = "light.state", is = "red" }]`.
    fn between(&mut self, table: &Table) -> Vec<Between> {
        let Some(Node { item: Item::List(items), .. }) = table.get("bands") else {
            return Vec::new();
        };
        let (session, mut found) = (self.session, Vec::new());
        for item in items {
            let Item::Table(band) = &item.item else { continue };
            let mut one = |key: &str| self.outputs(band, key, true)?.into_iter().next();
            let is = band.get("is").map(|node| match &node.item {
                Item::Text(text) => text.clone(),
                _ => session.sources.slice(&node.span).to_owned(),
            });
            let known = ["from", "to", "of", "is"];
            let strange = band.keys().any(|key| !known.contains(&key));
            let between = match (one("from"), one("to"), one("of"), is) {
                (Some(from), Some(to), None, None) if !strange => {
                    Between { from, to, ..Between::default() }
                }
                (None, None, Some(of), Some(is)) if !strange => {
                    Between { from: of.clone(), to: of, is }
                }
                _ => {
                    let message = "this is no interval between events";
                    let help = "write { from = \"alarm.up\", to = \"alarm.down\" } or \
                                { of = \"light.state\", is = \"red\" }";
                    session.report(Mistake::new("plot", &item.span, message).help(help));
                    continue;
                }
            };
            found.push(between);
        }
        found
    }

    /// A list of texts; empty if there is none.
    fn words(&self, table: &Table, key: &str) -> Vec<String> {
        let Some(node) = table.get(key) else { return Vec::new() };
        let (what, example) = (format!("`{key}`"), format!("{key} = [\"first\", \"second\"]"));
        let sink = &self.session.sink;
        let items = node.list(&what, &example, sink).unwrap_or_default();
        items.iter().filter_map(|item| Some(item.text(&what, &example, sink)?.value)).collect()
    }

    /// Two numbers, the first one below the second.
    fn pair(&self, node: &Node, key: &str) -> Option<[f64; 2]> {
        let (what, example) = (format!("`{key}`"), format!("{key} = [0, 1]"));
        let items = node.list(&what, &example, &self.session.sink)?;
        let eval = Evaluator::new(self.session, &self.tree.groups[0].scope, &[]);
        let numbers: Option<Vec<f64>> =
            items.iter().map(|item| Some(eval.number(item, &what)?.value)).collect();
        match numbers?.as_slice() {
            &[low, high] if low < high && low.is_finite() && high.is_finite() => Some([low, high]),
            _ => {
                let message = format!("{what} has no two numbers in ascending order");
                let mistake = Mistake::new("plot", &node.span, message);
                self.session.report(mistake.help(format!("write {example}")));
                None
            }
        }
    }

    fn range(&self, table: &Table, key: &str) -> Option<[f64; 2]> {
        table.get(key).and_then(|node| self.pair(node, key))
    }

    fn bands(&self, table: &Table) -> Vec<[f64; 2]> {
        let Some(node) = table.get("bands") else { return Vec::new() };
        let example = "bands = [[\"1 s\", \"2 s\"]]";
        let items = node.list("`bands`", example, &self.session.sink).unwrap_or_default();
        let times = items.iter().filter(|item| !matches!(item.item, Item::Table(_)));
        times.filter_map(|item| self.pair(item, "bands")).collect()
    }

    /// The outputs of a plot, which are recorded; of events only, if these are wanted.
    fn outputs(&mut self, table: &Table, key: &str, events: bool) -> Option<Vec<String>> {
        let node = table.get(key)?;
        let items = match &node.item {
            Item::Text(_) => std::slice::from_ref(node),
            _ => {
                let (what, example) = (format!("`{key}`"), format!("{key} = [\"tank.level\"]"));
                node.list(&what, &example, &self.session.sink)?
            }
        };
        if items.is_empty() {
            let mistake = Mistake::new("empty", &node.span, format!("`{key}` names no output"));
            self.session.report(mistake.help("name one, or remove this plot"));
        }
        let mut labels = Vec::new();
        for item in items {
            let Some(text) = item.text("an output", "\"tank.level\"", &self.session.sink) else {
                continue;
            };
            let found = self.add(&text);
            let is_event = |label: &String| {
                let record = self.labels.get(label).and_then(|&k| self.records.get(k));
                record.is_none_or(|r| {
                    r.kind == PortKind::Event && matches!(r.source, Source::Port { .. })
                })
            };
            if events && let Some(label) = found.iter().find(|label| !is_event(label)) {
                let message = format!("`{label}` sends no events");
                let mistake = Mistake::new("type-mismatch", &item.span, message);
                let help = "timelines and delays are of outputs of events, such as packets or jobs";
                self.session.report(mistake.help(help));
            }
            labels.extend(found);
        }
        Some(labels)
    }

    /// Refuses outputs whose values have no distribution.
    fn numbers(&self, table: &Table, y: &[String]) {
        use ValueType::{Bool, Link, Packet, Text, Unit};
        let mut records = y.iter().filter_map(|label| self.records.get(*self.labels.get(label)?));
        let Some(r) = records.find(|r| matches!(r.ty, Bool | Link | Packet | Text | Unit)) else {
            return;
        };
        let message = format!("`{}` sends no numbers, but values of type {}", r.label, r.ty.name());
        let span = table.get("y").map_or(0..0, |node| node.span.clone());
        let mistake = Mistake::new("type-mismatch", &span, message);
        let help = "add `to` for the delays until they arrive there, or name outputs with numbers";
        self.session.report(mistake.help(help));
    }

    /// One of some words.
    fn choice<T: Copy>(
        &self,
        table: &Table,
        key: &str,
        all: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let (what, example) = (format!("`{key}`"), format!("{key} = \"{}\"", words[0].0));
        let text = table.get(key)?.text(&what, &example, &self.session.sink)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let help = did_you_mean(&text.value, words.iter().map(|(word, _)| *word), all);
            let message = format!("there is no {key} \"{}\"", text.value);
            let mistake = Mistake::new("unknown-choice", &text.span, message);
            self.session.report(mistake.help(help));
        }
        found.map(|(_, value)| *value)
    }
}
