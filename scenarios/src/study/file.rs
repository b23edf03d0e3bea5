//! The study file: reading it, and all of its mistakes.
use super::{
    Sets,
    ask::{self, Ask, Kind},
    runner::ScenarioRunner,
    table,
    trials::trials,
    vary::{self, Parameter},
};
use crate::{
    Diagnostics,
    diagnostics::{Mistake, Sink},
    document::{self, Item, Node, Table},
    source::{Sources, Span},
};
use std::{
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};
use superdense_models::{
    kinds::{Located, files},
    maths::{
        expr::nearest,
        quantity::{Dimension, Quantity},
    },
};
use superdense_study::Replication;

/// Keys of a study.
const KEYS: [&str; 11] = [
    "title",
    "description",
    "scenario",
    "set",
    "seed",
    "timeout",
    "most_runs",
    "vary",
    "result",
    "replicate",
    "ask",
];
/// Runs that nobody asks for by mistake, unless `most_runs` says otherwise.
const MOST_RUNS: f64 = 1e6;
/// Largest file.
const MAX_BYTES: u64 = 64 << 20;

/// A study, checked.
#[derive(Debug)]
pub struct Study {
    /// The stem of the file's name.
    pub name: String,
    /// `title`, or the name.
    pub title: String,
    /// The scenario file.
    pub scenario: PathBuf,
    /// `[set]`, and then `--set`.
    pub sets: Sets,
    /// Seed of designs and replications.
    pub seed: u64,
    /// Wall time that a run may take.
    pub timeout: Option<Duration>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Names of results, in file order.
    pub results: Vec<String>,
    /// Their units of measure, for people; empty where there are none.
    pub units: Vec<String>,
    /// The questions.
    pub asks: Vec<Ask>,
}

impl Study {
    /// Reads and checks a study; `sets` are the `--set path=value` options in their order.
    ///
    /// # Errors
    /// All mistakes of the study, or of its scenario.
    pub fn read(
        file: &Path,
        sets: &[(String, String)],
    ) -> Result<(Self, ScenarioRunner), Diagnostics> {
        let (mut sources, sink) = (Sources::default(), Sink::default());
        match study(file, sets, &mut sources, &sink)? {
            Some(found) if sink.is_empty() => Ok(found),
            _ => Err(sink.finish(sources)),
        }
    }

    /// Only one of the questions.
    ///
    /// # Errors
    /// When there is none of this name: with the remedy.
    pub fn only(&mut self, name: &str) -> Result<(), String> {
        let names: Vec<String> = self.asks.iter().map(|a| a.name.value.clone()).collect();
        self.asks.retain(|a| a.name.value == name);
        match self.asks.is_empty() {
            false => Ok(()),
            true => {
                Err(format!("there is no question `{name}`; questions are {}", names.join(", ")))
            }
        }
    }
}

/// The text of a file that a study names.
pub(super) fn text_of(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read =
        files::open(file, MAX_BYTES).and_then(|f| f.take(MAX_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err("the file does not exist".to_owned())
        }
        Err(e) => Err(e.to_string()),
    }
}

/// Reports keys that nobody knows.
pub(super) fn known_keys(table: &Table, known: &[&str], of: &str, sink: &Sink) {
    for (key, _) in table.entries.iter().filter(|(k, _)| !known.contains(&k.value.as_str())) {
        let help = match nearest(&key.value, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys: {}", known.join(", ")),
        };
        let message = format!("{of} has no key `{}`", key.value);
        sink.push(Mistake::new("unknown-key", &key.span, message).help(help));
    }
}

/// Paths and values of a table, in the order of the text; tables inside are parts of the path.
pub(super) fn flat(table: &Table) -> Vec<(Located<String>, &Node)> {
    let (mut found, mut todo) = (Vec::new(), vec![(String::new(), table)]);
    while let Some((prefix, table)) = todo.pop() {
        for (key, node) in &table.entries {
            let path = format!("{prefix}{}", key.value);
            match &node.item {
                Item::Table(inner) => todo.push((format!("{path}."), inner)),
                _ => found.push((Located::new(path, key.span.clone()), node)),
            }
        }
    }
    found.sort_by_key(|(path, _)| path.span.start);
    found
}

/// A value as it stands behind `--set path=`.
fn text(node: &Node) -> String {
    match &node.item {
        Item::Text(t) => t.clone(),
        Item::List(list) => format!("[{}]", list.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        _ => quoted(node),
    }
}

/// A value in TOML.
fn quoted(node: &Node) -> String {
    match &node.item {
        Item::Text(t) => format!("{t:?}"),
        Item::Int(i) => i.to_string(),
        Item::Real(x, _) => vary::number(*x),
        Item::Bool(b) => b.to_string(),
        Item::Date | Item::Table(_) => String::new(),
        Item::List(_) => text(node),
    }
}

/// Data that the parts of a study share while it is read.
pub(super) struct Reader<'a> {
    pub sink: &'a Sink,
    pub folder: &'a Path,
    pub seed: u64,
    pub parameters: &'a [Parameter],
    /// Paths of `[vary]` whose values are mistakes, which are told once.
    pub wrong: &'a [String],
    pub results: &'a [String],
    pub most_runs: f64,
}

impl Reader<'_> {
    pub(super) fn refuse(
        &self,
        code: &'static str,
        node: Option<&Node>,
        message: impl Into<String>,
        help: &str,
    ) {
        let span = node.map_or(0..0, |n| n.span.clone());
        self.sink.push(Mistake::new(code, &span, message).help(help));
    }

    /// A whole number from `least` on.
    pub(super) fn count(&self, node: &Node, what: &str, least: u32) -> Option<u32> {
        match node.item {
            Item::Int(n) if n >= i64::from(least) && n <= 1 << 31 => Some(n as u32),
            _ => {
                let message = format!("{what} must be a whole number from {least} on");
                self.refuse("wrong-type", Some(node), message, "write a number such as 8");
                None
            }
        }
    }

    pub(super) fn parameter(&self, path: &str, span: &Span) -> Option<usize> {
        let found = self.parameters.iter().position(|p| p.path.value == path);
        if found.is_none() && !self.wrong.iter().any(|wrong| wrong == path) {
            let names = self.parameters.iter().map(|p| p.path.value.as_str());
            let help = match nearest(path, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add it to [vary]: \"{path}\" = {{ from = ..., to = ... }}"),
            };
            let message = format!("`{path}` is no parameter of [vary]");
            self.sink.push(Mistake::new("study-ask", span, message).help(help));
        }
        found
    }

    pub(super) fn result(&self, name: &str, span: &Span) -> Option<usize> {
        let found = self.results.iter().position(|r| r == name);
        if found.is_none() {
            let near = nearest(name, self.results.iter().map(String::as_str));
            let help = near
                .map_or_else(|| self.results_listed(), |near| format!("did you mean `{near}`?"));
            let message = format!("there is no result `{name}`");
            self.sink.push(Mistake::new("study-result", span, message).help(help));
        }
        found
    }

    /// The results that there are, for messages.
    pub(super) fn results_listed(&self) -> String {
        match self.results {
            [] => "give the scenario or the study a table [result]".to_owned(),
            all => format!("results are {}", all.join(", ")),
        }
    }

    /// A value of a parameter, in a question.
    pub(super) fn value(&self, parameter: &Parameter, node: &Node) -> Option<f64> {
        let value = match &node.item {
            Item::Int(i) => Some(*i as f64),
            Item::Real(x, _) => Some(*x),
            Item::Text(text) => parameter.read(text),
            _ => None,
        };
        let known = value.and_then(|x| parameter.admit(x));
        if known.is_none() {
            let message = format!("this is no value of `{}`", parameter.path.value);
            let help = format!("by [vary] it is {}", parameter.choices());
            self.refuse("study-ask", Some(node), message, &help);
        }
        known
    }

    /// Whether so many runs may be meant.
    pub(super) fn fits(&self, runs: f64, node: &Node, name: &str) -> Option<()> {
        if runs <= self.most_runs {
            return Some(());
        }
        let message = format!("the question `{name}` takes {runs:.0} runs");
        let help = "ask for fewer, or write `most_runs` at the top of the study";
        self.refuse("study-size", Some(node), message, help);
        None
    }

    pub(super) fn sets(&self, node: &Node) -> Sets {
        match node.table("`set`", "set = { duration = \"20 s\" }", self.sink) {
            Some(table) => {
                flat(table).into_iter().map(|(path, node)| (path.value, text(node))).collect()
            }
            None => Sets::new(),
        }
    }
}

type Found = Option<(Study, ScenarioRunner)>;

fn study(
    file: &Path,
    options: &[(String, String)],
    sources: &mut Sources,
    sink: &Sink,
) -> Result<Found, Diagnostics> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let Some(root) = opened(file, folder, sources, sink) else { return Ok(None) };
    let mut reader = Reader {
        sink,
        folder,
        seed: 1,
        parameters: &[],
        wrong: &[],
        results: &[],
        most_runs: MOST_RUNS,
    };
    let Some(head) = head(&root, &mut reader) else { return Ok(None) };
    let scenario = folder.join(&head.scenario);
    let plan = |sets: &Sets| ScenarioRunner::new(&scenario, file, sets);
    let sets = with_options(&reader, root.get("set"), options);
    let (runner, resolution) = match (plan(&sets), root.get("set")) {
        (Err(mistakes), Some(node)) => {
            plan(&options.to_vec())?;
            let alone = |set| plan(&options.iter().cloned().chain([set]).collect()).err();
            wrong_sets(&reader, node, &mistakes, alone);
            return Ok(None);
        }
        (planned, _) => planned?,
    };
    let vary = root.get("vary").and_then(|n| n.table("`vary`", "[vary]", sink));
    let (parameters, wrong) = vary.map(|t| vary::read(t, resolution, sink)).unwrap_or_default();
    let results = runner.names().to_vec();
    let reader = Reader { parameters: &parameters, wrong: &wrong, results: &results, ..reader };
    columns(&results, sink);
    let usual =
        match root.get("replicate").and_then(|n| n.table("`replicate`", "[replicate]", sink)) {
            Some(table) => ask::replicates(table, &reader),
            None => ask::Replicates { rule: Replication::ONCE, until: Vec::new() },
        };
    let asks = match root.get("ask").and_then(|n| n.table("`ask`", "[ask.limit]", sink)) {
        Some(table) if !table.entries.is_empty() => ask::asks(table, &usual, &reader),
        _ => {
            let help = "add a table such as [ask.map] with method = \"grid\"";
            sink.push(Mistake::whole("study-ask", "the study asks nothing").help(help));
            Vec::new()
        }
    };
    lost(&reader, &asks, root.get("set"), options);
    if sink.is_empty() {
        trials(&parameters, &asks, &runner, sink);
        size(&asks, &reader);
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let study = Study {
        title: head.title.unwrap_or_else(|| name.clone()),
        name,
        scenario,
        sets,
        seed: reader.seed,
        timeout: head.timeout,
        parameters,
        results,
        units: runner.units().to_vec(),
        asks,
    };
    Ok(Some((study, runner)))
}

/// The tables of a study file.
fn opened(file: &Path, folder: &Path, sources: &mut Sources, sink: &Sink) -> Option<Table> {
    let text = match text_of(file) {
        Ok(text) => text,
        Err(why) => {
            let message = format!("`{}`: {why}", file.display());
            sink.push(
                Mistake::whole("unreadable-file", message).help("check the name of the file"),
            );
            return None;
        }
    };
    let root = document::parse((file.display().to_string(), folder, true), &text, sources, sink);
    if sink.mistakes_of("syntax") {
        return None;
    }
    if let (None, Some((key, _))) =
        (root.get("scenario"), root.entries.iter().find(|(k, _)| k.value == "unit"))
    {
        let message = "this is a scenario, and no study".to_owned();
        let help = format!(
            "run it by `superdense run {0}`, or write a study with scenario = \"{0}\"",
            file.file_name().unwrap_or_default().display()
        );
        sink.push(Mistake::new("no-study", &key.span, message).help(help));
        return None;
    }
    known_keys(&root, &KEYS, "a study", sink);
    Some(root)
}

/// The settings for all runs, and then those of the command line.
fn with_options(reader: &Reader<'_>, set: Option<&Node>, options: &[(String, String)]) -> Sets {
    let mut sets = set.map(|node| reader.sets(node)).unwrap_or_default();
    sets.extend(options.iter().cloned());
    sets
}

/// Refuses results that are named like another column of their table.
fn columns(results: &[String], sink: &Sink) {
    for name in results.iter().filter(|name| table::FIXED.contains(&name.as_str())) {
        let message = format!("the result `{name}` has the name of a column of results.csv");
        sink.push(Mistake::whole("study-result", message).help("give the result another name"));
    }
}

/// Refuses settings for all runs of what all questions vary.
fn lost(reader: &Reader<'_>, asks: &[Ask], set: Option<&Node>, options: &[(String, String)]) {
    let written = set.and_then(|node| match &node.item {
        Item::Table(table) => Some(flat(table)),
        _ => None,
    });
    let written = written.into_iter().flatten().map(|(path, _)| (path.value, path.span));
    let options = options.iter().map(|(path, _)| (path.clone(), 0..0));
    for (path, span) in written.chain(options) {
        let varies =
            |at: &usize| vary::target(&reader.parameters[*at].path.value) == vary::target(&path);
        if !asks.is_empty() && asks.iter().all(|ask| ask.kind.over().iter().any(varies)) {
            let message = format!("`{path}` is set for all runs, and every question varies it");
            let help = "do not set it, or take it out of `over`";
            reader.sink.push(Mistake::new("study-vary", &span, message).help(help));
        }
    }
}

/// Tells mistakes that come of the settings of a study: at the setting that makes them alone, else at all of them.
fn wrong_sets(
    reader: &Reader<'_>,
    node: &Node,
    mistakes: &Diagnostics,
    alone: impl Fn((String, String)) -> Option<Diagnostics>,
) {
    let tell = |span: &Span, found: &Diagnostics| {
        for m in found.mistakes() {
            reader.sink.push(Mistake::new(m.code, span, m.message.clone()).help(m.help.clone()));
        }
    };
    let Item::Table(table) = &node.item else { return };
    let before = reader.sink.len();
    for (path, value) in flat(table) {
        if let Some(found) = alone((path.value, text(value))) {
            tell(&path.span, &found);
        }
    }
    if reader.sink.len() == before {
        tell(&node.span, mistakes);
    }
}

/// Keys at the top.
struct Head {
    title: Option<String>,
    scenario: String,
    timeout: Option<Duration>,
}

fn head(root: &Table, reader: &mut Reader<'_>) -> Option<Head> {
    let sink = reader.sink;
    let title = root.get("title").and_then(|n| n.text("`title`", "title = \"...\"", sink));
    let example = "scenario = \"pump.toml\"";
    let Some(node) = root.get("scenario") else {
        let mistake = Mistake::new("study", &(0..0), "the study does not name its scenario");
        sink.push(
            mistake.label("missing here").help(format!("add `{example}` at the top of the file")),
        );
        return None;
    };
    let scenario = node.text("`scenario`", example, sink)?;
    if !reader.folder.join(&scenario.value).is_file() {
        let message = format!("there is no scenario `{}`", scenario.value);
        let help = "the path is relative to the study file";
        sink.push(Mistake::new("missing-file", &scenario.span, message).help(help));
        return None;
    }
    if let Some(node) = root.get("seed") {
        match node.item {
            Item::Int(seed @ 0..) => reader.seed = seed as u64,
            _ => {
                let message = "`seed` must be a whole number from 0 on";
                reader.refuse("bad-seed", Some(node), message, "write seed = 1");
            }
        }
    }
    if let Some(node) = root.get("most_runs") {
        match node.item {
            Item::Int(most @ 1..) => reader.most_runs = most as f64,
            Item::Real(most, _) if most >= 1.0 => reader.most_runs = most,
            _ => {
                let message = "`most_runs` must be a whole number from 1 on";
                reader.refuse("wrong-type", Some(node), message, "write most_runs = 2000000");
            }
        }
    }
    let timeout = root.get("timeout").and_then(|node| wall_time(node, reader));
    Some(Head { title: title.map(|t| t.value), scenario: scenario.value, timeout })
}

fn wall_time(node: &Node, reader: &Reader<'_>) -> Option<Duration> {
    let seconds = match &node.item {
        Item::Int(i) => Some(*i as f64),
        Item::Real(x, _) => Some(*x),
        Item::Text(text) => match Quantity::parse(text) {
            Ok(Some(q)) if q.unit.dimension() == Dimension::TIME => Some(q.si()),
            _ => None,
        },
        _ => None,
    };
    let found = seconds.filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    if found.is_none() {
        let message = "`timeout` must be a time above zero";
        let help = "write timeout = \"60 s\"; minutes are \"5 min\"";
        reader.refuse("wrong-type", Some(node), message, help);
    }
    found
}

/// Refuses more runs than somebody may have meant.
fn size(asks: &[Ask], reader: &Reader<'_>) {
    for ask in asks {
        let points = match &ask.kind {
            Kind::Boundary { .. } => continue,
            Kind::First { variants, .. } => {
                variants.iter().map(|v| v.points.len() as f64).sum::<f64>()
            }
            Kind::Design { points, .. } => points.len() as f64,
        };
        let runs = points * f64::from(ask.replication.most);
        if runs > reader.most_runs {
            let message = format!("the question `{}` takes up to {runs:.0} runs", ask.name.value);
            let help = "ask for fewer, or write `most_runs` at the top of the study";
            let mistake = Mistake::new("study-size", &ask.name.span, message);
            reader.sink.push(mistake.help(help));
        }
    }
}
