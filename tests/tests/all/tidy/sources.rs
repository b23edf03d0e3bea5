//! The files of the workspace, as text and as syntax trees.
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of the workspace.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below a folder with one of these endings, with their text, in the order of their paths.
/// Paths are relative to the workspace and have `/` in them.
pub(super) fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let (root, mut found, mut stack) = (root(), Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = stack.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&root).expect("below the root").to_string_lossy();
            let name = name.replace('\\', "/");
            if path.is_dir() {
                stack.push(path);
            } else if endings.iter().any(|e| name.ends_with(e)) {
                let text = fs::read_to_string(&path).expect("a text");
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}

/// All Rust files below a folder.
pub(super) fn sources(folder: &str) -> Vec<(String, String)> {
    let found = files(folder, &[".rs"]);
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

/// Lines of code: no comments, no documentation.
pub(super) fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|l| !l.trim_start().starts_with("//"))
}

/// The syntax tree of a file.
pub(super) fn parsed(name: &str, text: &str) -> syn::File {
    syn::parse_file(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Whether an item is compiled for tests only.
pub(super) fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        let tokens = match &a.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => return false,
        };
        tokens == "test" || (tokens.starts_with("all") && tokens.contains("test"))
    })
}

/// Fails with the list if something is found more often than it was. The number may only go down:
/// whoever removes a finding lowers it.
pub(super) fn at_most(most: usize, what: &str, found: &[String]) {
    let list = found.join("\n  ");
    assert!(
        found.len() <= most,
        "{what}: {} found, at most {most} allowed:\n  {list}",
        found.len()
    );
}
