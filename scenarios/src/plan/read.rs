//! Files into one document: reading with limits, includes.
use super::data;
use crate::{
    diagnostics::{Mistake, Sink},
    document::{self, Item, Node, Table},
    output::remedy,
    ses,
    source::{Sources, Span},
};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

use superdense_models::kinds::files;

/// Largest scenario file.
const MAX_BYTES: u64 = 16 << 20;
/// Deepest chain of includes.
const MAX_INCLUDES: usize = 16;
/// Most files of one scenario.
const MAX_FILES: usize = 256;
/// Tables that an included file may hold.
const SHARED: &[&str] = &[
    "include",
    "description",
    "parameters",
    "function",
    "table",
    "unit",
    "template",
    "connections",
    "link",
];

/// Reads a scenario file, unless its text is known, and everything that it includes into one table.
pub(super) fn read(
    (file, known): (&Path, Option<&str>),
    sources: &mut Sources,
    sink: &Sink,
) -> Option<Table> {
    let folder = canonical(match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    });
    let mut reader = Reader { sources, sink, folder, open: Vec::new(), done: Vec::new() };
    let text = match known.map_or_else(|| scenario_of(file), |text| Ok(text.to_owned())) {
        Ok(text) => text,
        Err((problem, help)) => {
            let message = format!("`{}` {problem}", file.display());
            let help = help.unwrap_or("check the name of the file");
            sink.push(Mistake::whole("unreadable-file", message).help(help));
            return None;
        }
    };
    reader.open.push(canonical(file));
    reader.sources.note(file);
    Some(reader.document(file, &text))
}

/// The text of a scenario file, or of one around an FMU that is to be run alone.
fn scenario_of(file: &Path) -> Result<String, (String, Option<&'static str>)> {
    #[cfg(feature = "fmi")]
    if file.extension().is_some_and(|e| e == "fmu") {
        let help = "`superdense fmu check` tells more about an FMU";
        return superdense_adapters::fmi::report::scenario(file)
            .map_err(|why| (format!("is no FMU that can be run: {why}"), Some(help)));
    }
    text_of(file)
}

/// Adds the `[result]` of a study to that of its scenario.
pub(super) fn join_results(study: &Path, root: &mut Table, sources: &mut Sources, sink: &Sink) {
    // The study was read by whoever runs it, with all mistakes of its own.
    let Ok(text) = text_of(study) else { return };
    let folder = study.parent().unwrap_or(Path::new(""));
    let name = (study.display().to_string(), folder, true);
    let mut table = document::parse(name, &text, sources, sink);
    let Some(at) = table.entries.iter().position(|(k, _)| k.value == "result") else { return };
    let (key, node) = table.entries.remove(at);
    match (root.get_mut("result"), node.item) {
        (None, item) => root.entries.push((key, Node { item, span: node.span })),
        (Some(Node { item: Item::Table(own), .. }), Item::Table(more)) => {
            for (name, value) in more.entries {
                match own.entries.iter().find(|(k, _)| k.value == name.value) {
                    Some((first, _)) => {
                        let message = format!("the result `{}` is defined twice", name.value);
                        let mistake = Mistake::new("duplicate-name", &name.span, message);
                        let mistake = mistake.also(&first.span, "by the scenario, too");
                        sink.push(mistake.help("rename it in the study"));
                    }
                    None => own.entries.push((name, value)),
                }
            }
        }
        // A wrong type is reported where results are read.
        (Some(own), item) => own.item = item,
    }
}

struct Reader<'a> {
    sources: &'a mut Sources,
    sink: &'a Sink,
    /// The folder of the scenario; lines of files elsewhere are never shown.
    folder: PathBuf,
    /// The chain of files that are being read.
    open: Vec<PathBuf>,
    done: Vec<PathBuf>,
}

impl Reader<'_> {
    fn document(&mut self, file: &Path, text: &str) -> Table {
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut name = file.display().to_string();
        if ses::is_structure(file) {
            name += ", the scenario made of it";
        }
        let shown = canonical(file).starts_with(&self.folder);
        let mut table = document::parse((name, folder, shown), text, self.sources, self.sink);
        self.parameters(folder, &mut table);
        let Some(at) = table.entries.iter().position(|(k, _)| k.value == "include") else {
            return table;
        };
        let (_, include) = table.entries.remove(at);
        let example = "include = [\"../parts/pump.toml\"]";
        let items = match &include.item {
            Item::Text(_) => std::slice::from_ref(&include),
            _ => include.list("`include`", example, self.sink).unwrap_or_default(),
        };
        for item in items {
            if let Some(path) = item.text("a file of `include`", example, self.sink)
                && let Some(part) = self.include(folder, &path.value, &path.span)
            {
                merge(&mut table, part, self.sink);
            }
        }
        table
    }

    /// Puts the content of data files in the place of their names: `parameters = "pump.json"`.
    fn parameters(&self, folder: &Path, table: &mut Table) {
        for (key, node) in &mut table.entries {
            match &mut node.item {
                Item::Table(inner) => self.parameters(folder, inner),
                Item::Text(name) if key.value == "parameters" => {
                    let file = folder.join(&*name);
                    self.sources.note(&file);
                    let read = text_of(&file).map_err(|(why, _)| why);
                    match read.and_then(|text| data::parameters(&file, &text, &node.span)) {
                        Ok(content) => node.item = Item::Table(content),
                        Err(why) => {
                            let message = format!("the parameters of `{name}`: {why}");
                            let help = "a .json file holds an object of names and values; a .csv file has \
                                        the columns name, value and, if wanted, unit";
                            let mistake = Mistake::new("parameter-file", &node.span, message);
                            self.sink.push(mistake.help(help));
                            node.item = Item::Table(Table::default());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn include(&mut self, folder: &Path, name: &str, span: &Span) -> Option<Table> {
        let file = folder.join(name);
        let full = canonical(&file);
        let refuse = |code, message: String, help: &str| {
            self.sink.push(Mistake::new(code, span, message).help(help));
            None
        };
        if self.open.contains(&full) {
            let ring = self.open.iter().skip_while(|f| **f != full).chain([&full]);
            let names: Vec<_> = ring.filter_map(|f| f.file_name()?.to_str()).collect();
            let message = format!("these files include each other: {}", names.join(" -> "));
            return refuse("include-cycle", message, "move what both need into a third file");
        }
        if self.done.contains(&full) {
            return None;
        }
        if self.open.len() > MAX_INCLUDES || self.done.len() >= MAX_FILES {
            let message =
                format!("includes are more than {MAX_INCLUDES} deep or {MAX_FILES} in number");
            return refuse("include-depth", message, "include the files directly");
        }
        let text = match text_of(&file) {
            Ok(text) => text,
            Err((problem, help)) => {
                let message = format!("the included file `{name}` {problem}");
                let help = help.unwrap_or("the path is relative to the file that includes it");
                return refuse("include-missing", message, help);
            }
        };
        self.sources.note(&file);
        self.open.push(full.clone());
        let table = self.document(&file, &text);
        self.open.pop();
        self.done.push(full);
        Some(self.only_shared(table))
    }

    /// Refuses what only the scenario itself may say.
    fn only_shared(&self, mut table: Table) -> Table {
        table.entries.retain(|(key, _)| {
            let own = super::declare::ROOT_KEYS.contains(&key.value.as_str());
            let keep = SHARED.contains(&key.value.as_str()) || !own;
            if !keep {
                let message = format!("an included file cannot set `{}`", key.value);
                self.sink.push(
                    Mistake::new("include-content", &key.span, message)
                        .help("move it to the scenario that is run"),
                );
            }
            keep
        });
        table
    }
}

fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The mistake of a file and the remedy, if the mistake is not its name.
type Unreadable = (String, Option<&'static str>);

/// The text of a file.
fn text_of(file: &Path) -> Result<String, Unreadable> {
    let say = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => ("does not exist".to_owned(), None),
        // Of our own, with the remedy.
        _ if e.raw_os_error().is_none() => (e.to_string(), None),
        _ => (format!("cannot be read: {e}"), remedy(&e)),
    };
    let mut bytes = Vec::new();
    let open = files::open(file, MAX_BYTES).map_err(say)?;
    open.take(MAX_BYTES).read_to_end(&mut bytes).map_err(say)?;
    String::from_utf8(bytes).map_err(|e| {
        let (at, bytes) = (e.utf8_error().valid_up_to(), e.as_bytes());
        let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
        let byte = bytes[at];
        let why = format!("is not UTF-8 text: byte {byte:#04x} in line {line} (offset {at})");
        (why, Some("save it as UTF-8 in your editor, or convert it with iconv"))
    })
}

/// Adds an included document: units, templates and parameters by name, connections and links to
/// the lists. The including file's parameters win.
fn merge(into: &mut Table, part: Table, sink: &Sink) {
    for (key, node) in part.entries {
        let own = into.entries.iter_mut().find(|(k, _)| k.value == key.value).map(|(_, n)| n);
        let Some(own) = own else {
            into.entries.push((key, node));
            continue;
        };
        match (key.value.as_str(), &mut own.item, node.item) {
            ("parameters", Item::Table(a), Item::Table(b)) => defaults(a, b),
            ("unit" | "template" | "function" | "table", Item::Table(a), Item::Table(b)) => {
                for (name, value) in b.entries {
                    match a.entries.iter().find(|(k, _)| k.value == name.value) {
                        Some((first, _)) => sink.push(
                            Mistake::new(
                                "duplicate-name",
                                &first.span,
                                format!("`{}` is also defined by an included file", name.value),
                            )
                            .also(&name.span, "the other definition")
                            .help("rename one of the two"),
                        ),
                        None => a.entries.push((name, value)),
                    }
                }
            }
            ("connections" | "link", Item::List(a), Item::List(b)) => a.extend(b),
            // A wrong type is reported where the document is read.
            _ => {}
        }
    }
}

fn defaults(own: &mut Table, part: Table) {
    for (key, node) in part.entries {
        match own.get_mut(&key.value) {
            None => own.entries.push((key, node)),
            Some(Node { item: Item::Table(a), .. }) => {
                if let Item::Table(b) = node.item {
                    defaults(a, b);
                }
            }
            Some(_) => {}
        }
    }
}
