//! Ratchets: numbers that may fall and may not rise.
use super::{
    imports::Imports,
    sources::{at_most, for_tests, parsed, sources},
};
use syn::{
    spanned::Spanned,
    visit::{self, Visit},
};

/// Files of the largest circle of imports per crate.
const LARGEST_CIRCLE: [(&str, usize); 2] = [("kernel/src", 7), ("models/src", 6)];

/// Functions of more than 70 lines in the sources of all crates, as [`Functions`] counts them.
const LONG_FUNCTIONS: usize = 0;

/// Items of `models` that its users can name: types, traits, functions, constants, kinds. Modules,
/// methods and fields do not count.
const PUBLIC_ITEMS: usize = 335;

/// Mentions of `Result<_, String>` in the code of `models`: errors that say nothing by their type.
const TEXT_ERRORS: usize = 0;

/// Files, or beginnings of their paths, below `models/src`: what takes part in finding out that a condition
/// becomes true, and in what follows from that. Remarks tell, and take no part.
const EVENT_PATH: [&str; 20] = [
    "blocks/crossing.rs",
    "blocks/detector.rs",
    "blocks/hysteresis.rs",
    "blocks/switch.rs",
    "equations/events.rs",
    "equations/foresee.rs",
    "equations/link_texts.rs",
    "equations/slide.rs",
    "maths/expr/condition.rs",
    "maths/expr/freeze.rs",
    "solve/bounded.rs",
    "solve/core.rs",
    "solve/equations.rs",
    "solve/ode/locate",
    "solve/qss/errors.rs",
    "solve/qss/exits.rs",
    "solve/stepped.rs",
    "solve/tendency.rs",
    "solve/watch.rs",
    "unit/",
];

/// Lines of code in these files, without comments, blank lines and tests. They were 6967 before modes that are entered again
/// (rule 13), links that are over or fall through (rules 12 and 20), equations that are apart, steps past whole numbers of
/// the time, relations whose signs tolerances do not tell, events that come ever faster in turns, and chatter by tolerances came in.
const EVENT_PATH_LINES: usize = 7247;

/// The rooms of `models` in their order: each imports only from those before it.
const ROOMS: [&str; 12] = [
    "maths",
    "signal",
    "solve",
    "unit",
    "kinds",
    "equations",
    "couplings",
    "blocks",
    "network",
    "grid",
    "heat",
    "catalogue",
];

/// Rust files without those that hold tests only.
fn production(folder: &str) -> impl Iterator<Item = (String, String)> {
    let tests = |file: &str| file.contains("/tests/") || file.ends_with("/tests.rs");
    sources(folder).into_iter().filter(move |(file, _)| !tests(file))
}

#[test]
fn circles_of_imports_do_not_grow() {
    for (folder, most) in LARGEST_CIRCLE {
        let imports = Imports::read(folder);
        let circles = imports.circles();
        let largest: Vec<String> =
            circles.first().into_iter().flatten().map(|f| f.to_string()).collect();
        at_most(most, &format!("files of {folder} in one circle of imports"), &largest);
        assert!(imports.edges(false).len() > 100, "{folder}: imports were not understood");
    }
}

#[test]
fn rooms_of_models_have_one_way_doors() {
    let imports = Imports::read("models/src");
    let room = |file: &str| {
        let name = file.trim_start_matches("models/src/").split('/').next().unwrap_or_default();
        let place = ROOMS.iter().position(|r| name.trim_end_matches(".rs") == *r);
        place.unwrap_or_else(|| panic!("{file} is in no room: add it to ROOMS"))
    };
    let edges = imports.edges(true);
    let inside = edges.iter().filter(|(a, b)| !a.ends_with("/lib.rs") && !b.ends_with("/lib.rs"));
    let against: Vec<String> = inside
        .filter(|(from, to)| room(from) < room(to))
        .map(|(from, to)| format!("{from} imports {to}"))
        .collect();
    at_most(0, "imports against the order of rooms", &against);
}

#[test]
fn functions_are_at_most_70_lines_long() {
    let mut found = Vec::new();
    let folders =
        ["kernel", "models", "adapters", "scenarios", "scenarios/study", "tests", "benches"];
    for folder in folders {
        for (file, text) in production(&format!("{folder}/src")) {
            let mut functions = Functions { file: &file, long: &mut found };
            functions.visit_file(&parsed(&file, &text));
        }
    }
    at_most(LONG_FUNCTIONS, "functions of more than 70 lines", &found);
}

#[test]
fn fewer_names_are_public() {
    let items: Vec<String> = Imports::read("models/src").public_items().into_iter().collect();
    assert!(items.len() > 50, "names were not found");
    at_most(PUBLIC_ITEMS, "public items of models", &items);
}

#[test]
fn errors_have_types() {
    let mut found = Vec::new();
    for (file, text) in production("models/src") {
        let mut results = TextErrors { file: &file, found: &mut found };
        results.visit_file(&parsed(&file, &text));
    }
    at_most(TEXT_ERRORS, "`Result<_, String>` in models", &found);
}

#[test]
fn the_event_path_does_not_grow() {
    let (mut found, mut all) = (Vec::new(), 0);
    for (file, text) in production("models/src") {
        let name = file.trim_start_matches("models/src/");
        let tells = name.starts_with("unit/remarks/");
        if !tells && EVENT_PATH.iter().any(|start| name.starts_with(start)) {
            let lines = lines_of_code(&file, &text);
            found.push(format!("{lines:5} {name}"));
            all += lines;
        }
    }
    let list = found.join("\n");
    println!("{list}\n{all:5} in all");
    assert!(all <= EVENT_PATH_LINES, "the event path has {all} lines of code:\n{list}");
}

/// Lines of code in a file, without comments, blank lines and tests.
fn lines_of_code(file: &str, text: &str) -> usize {
    let parsed = parsed(file, text);
    let tests: Vec<_> = parsed
        .items
        .iter()
        .filter(|item| match item {
            syn::Item::Mod(m) => for_tests(&m.attrs),
            syn::Item::Fn(f) => for_tests(&f.attrs),
            syn::Item::Use(u) => for_tests(&u.attrs),
            _ => false,
        })
        .map(|item| item.span().start().line..=item.span().end().line)
        .collect();
    let counts = |(number, line): (usize, &str)| {
        let line = line.trim_start();
        let empty = line.is_empty() || line.starts_with("//");
        !empty && !tests.iter().any(|test| test.contains(&number))
    };
    (1..).zip(text.lines()).filter(|both| counts(*both)).count()
}

/// Long functions, methods included: lines from `fn` to the closing brace.
struct Functions<'a> {
    file: &'a str,
    long: &'a mut Vec<String>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let from = signature.span().start().line;
        let lines = body.span().end().line + 1 - from;
        if lines > 70 {
            self.long.push(format!("{}:{from}: {} ({lines} lines)", self.file, signature.ident));
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
        self.measure(&f.sig, &f.block);
        visit::visit_item_fn(self, f);
    }
    fn visit_impl_item_fn(&mut self, f: &'a syn::ImplItemFn) {
        self.measure(&f.sig, &f.block);
        visit::visit_impl_item_fn(self, f);
    }
    fn visit_trait_item_fn(&mut self, f: &'a syn::TraitItemFn) {
        if let Some(body) = &f.default {
            self.measure(&f.sig, body);
        }
        visit::visit_trait_item_fn(self, f);
    }
}

/// Types `Result<_, String>` outside of tests.
struct TextErrors<'a> {
    file: &'a str,
    found: &'a mut Vec<String>,
}

impl<'a> Visit<'a> for TextErrors<'_> {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
    fn visit_type_path(&mut self, ty: &'a syn::TypePath) {
        let last = ty.path.segments.last().filter(|s| s.ident == "Result");
        if let Some(syn::PathArguments::AngleBracketed(arguments)) = last.map(|s| &s.arguments) {
            let error = arguments.args.iter().nth(1);
            if let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = error
                && error.path.is_ident("String")
            {
                self.found.push(format!("{}:{}", self.file, ty.span().start().line));
            }
        }
        visit::visit_type_path(self, ty);
    }
}
