//! Who imports whom: a graph of the files of a crate.
//!
//! **What is measured.** File A imports file B if A names an item that B declares, in a `use` or in
//! a path (`crate::…`, `super::…`, through an imported module or a child module, also inside of
//! macros). A re-export is followed to the file that declares the item, so that a façade such as
//! `mod.rs` does not tie its rooms together; the re-export itself counts for the order of rooms and
//! not for circles. Code for tests does not count. What the measure does not see: methods that are
//! called on a value without naming its type, and macros by their short name.
use super::sources::{for_tests, parsed, sources};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::{
    Item, UseTree, Visibility,
    visit::{self, Visit},
};

type Segments = Vec<String>;

/// A file and what it declares.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// Names of items of its own.
    items: BTreeSet<String>,
    /// Re-exported names, with the path where they come from; `*` for all of a module.
    exports: Vec<(String, Segments)>,
    /// Imported names, with their paths.
    imports: Vec<(String, Segments)>,
    /// Paths in the code.
    paths: Vec<Segments>,
    public: BTreeSet<String>,
}

/// The imports of a crate.
#[derive(Debug)]
pub(super) struct Imports {
    modules: BTreeMap<Segments, Module>,
}

impl Imports {
    /// Reads a crate from its folder.
    pub(super) fn read(folder: &str) -> Self {
        let mut all = BTreeMap::new();
        let mut skipped = Vec::new();
        for (file, text) in sources(folder) {
            let path = module_path(file.strip_prefix(folder).expect("in the folder"));
            let mut reader =
                Reader { at: path.clone(), tests: Vec::new(), module: Module::default() };
            reader.visit_file(&parsed(&file, &text));
            skipped.append(&mut reader.tests);
            all.insert(path, Module { file, ..reader.module });
        }
        all.retain(|path, _| !skipped.iter().any(|s| path.starts_with(s)));
        Self { modules: all }
    }

    /// The module that declares what a path names, and the name.
    fn declared(&self, path: &[String], depth: usize) -> Option<(&Segments, String)> {
        let mut at: Segments = Vec::new();
        for (i, segment) in path.iter().enumerate() {
            let below = [at.as_slice(), std::slice::from_ref(segment)].concat();
            if self.modules.contains_key(&below) {
                at = below;
                continue;
            }
            let (key, module) = self.modules.get_key_value(&at)?;
            if module.items.contains(segment) {
                return Some((key, segment.clone()));
            }
            let named = module.exports.iter().filter(|(n, _)| n == segment || n == "*");
            return named.filter(|_| depth < 8).find_map(|(name, from)| {
                let star = if name == "*" { &path[i..] } else { &path[i + 1..] };
                self.declared(&[from.as_slice(), star].concat(), depth + 1)
            });
        }
        None
    }

    /// Pairs of files: who imports, and from whom. With re-exports, if wanted.
    pub(super) fn edges(&self, with_exports: bool) -> BTreeSet<(&str, &str)> {
        let mut edges = BTreeSet::new();
        for (at, module) in &self.modules {
            let short: BTreeMap<_, _> = module.imports.iter().map(|(n, p)| (n, p)).collect();
            let mut add = |path: &[String]| {
                if let Some((to, _)) = self.declared(path, 0).filter(|(to, _)| *to != at) {
                    edges.insert((module.file.as_str(), self.modules[to].file.as_str()));
                }
            };
            module.imports.iter().for_each(|(_, path)| add(path));
            if with_exports {
                module.exports.iter().for_each(|(_, path)| add(path));
            }
            for path in &module.paths {
                let child = [at.as_slice(), &path[..1]].concat();
                match (path[0].as_str(), short.get(&path[0])) {
                    ("crate", _) => add(&path[1..]),
                    (_, Some(import)) => add(&[import.as_slice(), &path[1..]].concat()),
                    _ if self.modules.contains_key(&child) => {
                        add(&[at.as_slice(), path].concat());
                    }
                    _ => {}
                }
            }
        }
        edges
    }

    /// Sets of files that import each other around a circle, the largest first.
    pub(super) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let edges = self.edges(false);
        let reached = |from: &str| {
            let (mut seen, mut stack) = (BTreeSet::new(), vec![from]);
            while let Some(file) = stack.pop() {
                for (_, to) in edges.iter().filter(|(a, _)| *a == file) {
                    if seen.insert(*to) {
                        stack.push(to);
                    }
                }
            }
            seen
        };
        let all: BTreeMap<&str, BTreeSet<&str>> =
            self.modules.values().map(|m| (m.file.as_str(), reached(&m.file))).collect();
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for (file, to) in all.iter().filter(|(file, to)| to.contains(**file)) {
            if !circles.iter().any(|c| c.contains(file)) {
                circles.push(to.iter().copied().filter(|t| all[t].contains(file)).collect());
            }
        }
        circles.sort_by_key(|c| std::cmp::Reverse(c.len()));
        circles
    }

    /// Items that users of the crate can name: `file: name`.
    pub(super) fn public_items(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut stack: Vec<Segments> = vec![Vec::new()];
        while let Some(at) = stack.pop() {
            let module = &self.modules[&at];
            for name in &module.public {
                let below = [at.as_slice(), std::slice::from_ref(name)].concat();
                if self.modules.contains_key(&below) {
                    stack.push(below);
                } else if module.items.contains(name) {
                    found.insert(format!("{}: {name}", module.file));
                } else {
                    let from = module.exports.iter().filter(|(n, _)| n == name);
                    let targets = from.filter_map(|(_, path)| self.declared(path, 0));
                    found.extend(targets.map(|(m, n)| format!("{}: {n}", self.modules[m].file)));
                }
            }
        }
        found
    }
}

/// `/solve/ode/mod.rs` is `solve::ode`.
fn module_path(file: &str) -> Segments {
    let mut path: Segments = file
        .trim_start_matches('/')
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// A path as seen from the root of the crate.
fn absolute(at: &[String], path: &[String]) -> Segments {
    let ups = path.iter().take_while(|s| *s == "super" || *s == "self");
    let up = ups.clone().filter(|s| *s == "super").count();
    [&at[..at.len().saturating_sub(up)], &path[ups.count()..]].concat()
}

/// Collects what a file declares and names.
struct Reader {
    /// The module; inside of inline modules, that one.
    at: Segments,
    /// Modules for tests.
    tests: Vec<Segments>,
    module: Module,
}

impl Reader {
    fn leaves(tree: &UseTree, before: &[String], found: &mut Vec<(String, Segments)>) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(p) => Self::leaves(&p.tree, &with(p.ident.to_string()), found),
            UseTree::Group(g) => g.items.iter().for_each(|t| Self::leaves(t, before, found)),
            UseTree::Glob(_) => found.push(("*".to_owned(), before.to_vec())),
            UseTree::Name(n) if n.ident == "self" => {
                found.push((before.last().cloned().unwrap_or_default(), before.to_vec()));
            }
            UseTree::Name(n) => found.push((n.ident.to_string(), with(n.ident.to_string()))),
            UseTree::Rename(r) => found.push((r.rename.to_string(), with(r.ident.to_string()))),
        }
    }

    /// Paths in the tokens of a macro: names with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Segments::new(), 0);
        for token in tokens {
            match &token {
                TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.keep(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                _ => {
                    self.keep(std::mem::take(&mut path));
                    colons = 0;
                }
            }
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
        }
        self.keep(path);
    }

    fn keep(&mut self, path: Segments) {
        match path.first().map(String::as_str) {
            Some("self" | "super") => {
                let path = absolute(&self.at, &path);
                self.module.paths.push([&["crate".to_owned()], path.as_slice()].concat());
            }
            _ if path.len() > 1 => self.module.paths.push(path),
            _ => {}
        }
    }
}

/// The name that an item declares, and whether everybody sees it.
fn declared(item: &Item) -> Option<(String, bool)> {
    let public = |v: &Visibility| matches!(v, Visibility::Public(_));
    Some(match item {
        Item::Const(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Enum(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Fn(i) => (i.sig.ident.to_string(), public(&i.vis)),
        Item::Static(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Struct(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Trait(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Type(i) => (i.ident.to_string(), public(&i.vis)),
        Item::Union(i) => (i.ident.to_string(), public(&i.vis)),
        // A macro that declares an item begins with its name: `unit_kind! { /// … Gain = "gain", … }`.
        Item::Macro(i) if i.ident.is_none() => {
            let first = i.mac.tokens.clone().into_iter().find_map(|token| match token {
                TokenTree::Ident(name) => Some(name.to_string()),
                _ => None,
            });
            (first.filter(|name| name.starts_with(char::is_uppercase))?, true)
        }
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_file(&mut self, file: &'a syn::File) {
        for item in file.items.iter().filter(|i| !for_tests(attributes(i))) {
            if let Some((name, public)) = declared(item) {
                self.module.items.insert(name.clone());
                if public {
                    self.module.public.insert(name);
                }
            }
        }
        file.items.iter().for_each(|item| self.visit_item(item));
    }
    fn visit_item(&mut self, item: &'a Item) {
        if let (true, Item::Mod(m)) = (for_tests(attributes(item)), item) {
            self.tests.push([self.at.as_slice(), &[m.ident.to_string()]].concat());
        }
        if !for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if matches!(item.vis, Visibility::Public(_)) {
            self.module.public.insert(item.ident.to_string());
        }
        self.at.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.at.pop();
    }
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let mut leaves = Vec::new();
        Self::leaves(&item.tree, &[], &mut leaves);
        for (name, path) in leaves {
            let path = match path[0].as_str() {
                "crate" => path[1..].to_vec(),
                "self" | "super" => absolute(&self.at, &path),
                // A child module, or another crate, which no module has the name of.
                _ => [self.at.as_slice(), &path].concat(),
            };
            let public = matches!(item.vis, Visibility::Public(_));
            if public {
                self.module.public.insert(name.clone());
            }
            match item.vis {
                Visibility::Inherited => self.module.imports.push((name, path)),
                _ => self.module.exports.push((name, path)),
            }
        }
    }
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.keep(path.segments.iter().map(|s| s.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }
}
