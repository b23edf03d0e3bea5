//! Everything that code and pages refer to exists: rules, cases, works, links, files.
use super::sources::{files, root};
use std::{collections::BTreeSet, fs};

/// Folders with sources and pages.
const FOLDERS: [&str; 7] =
    ["kernel", "models", "adapters", "scenarios", "tests", "benches", "docs"];

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Sources, pages and scenarios, with the pages of the root.
fn everything(endings: &[&str]) -> Vec<(String, String)> {
    let mut all: Vec<_> = FOLDERS.iter().flat_map(|folder| files(folder, endings)).collect();
    if endings.contains(&".md") {
        all.extend(["README.md", "CHANGELOG.md"].map(|name| (name.to_owned(), page(name))));
    }
    all
}

/// Comments of sources and scenarios, and all of a page: place and line.
fn prose(endings: &[&str]) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (name, text) in everything(endings) {
        let mark = if name.ends_with(".rs") { "//" } else { "#" };
        for (i, line) in text.lines().enumerate() {
            let comment = if name.ends_with(".md") { Some(0) } else { line.find(mark) };
            if let Some(at) = comment {
                lines.push((format!("{name}:{}", i + 1), line[at..].to_owned()));
            }
        }
    }
    lines
}

/// The number of an id such as `R12`.
fn number(word: &str, letter: char) -> Option<u32> {
    let digits = word.strip_prefix(letter)?;
    digits.parse().ok().filter(|_| !digits.starts_with('0') && digits.len() <= 2)
}

/// Cells that begin a row of a table.
fn first_cells(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|l| l.strip_prefix("| ")?.split(" |").next())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// In comments of sources, every `R5` is a rule.
#[test]
fn cited_rules_are_written_down() {
    let text = page("docs/rules.md");
    let rules: BTreeSet<u32> = first_cells(&text).filter_map(|cell| number(cell, 'R')).collect();
    assert!((1..=15).all(|n| rules.contains(&n)), "rules in docs/rules.md: {rules:?}");
    let (mut cited, mut unknown) = (BTreeSet::new(), Vec::new());
    for (place, line) in prose(&[".rs"]) {
        for n in words(&line).filter_map(|w| number(w, 'R')) {
            cited.insert(n);
            if !rules.contains(&n) {
                unknown.push(format!("{place}: R{n}"));
            }
        }
    }
    assert!(cited.len() > 5, "no citations were found");
    none("rules that docs/rules.md does not have", &unknown);
}

/// An id of a case is one at the beginning of a comment (`/// H7: …`), after `case`, or alone in
/// parentheses (`(H22)`); elsewhere `T2` and `H2` are quantities.
#[test]
fn cited_cases_are_written_down() {
    let text = page("docs/rules.md");
    let mut known = BTreeSet::new();
    for cell in first_cells(&text) {
        for letter in ['T', 'P', 'H', 'F', 'W'] {
            let mut ids = words(cell).filter_map(|w| number(w, letter));
            if let Some(first) = ids.next() {
                known.extend((first..=ids.next().unwrap_or(first)).map(|n| (letter, n)));
            }
        }
    }
    assert!(known.len() >= 11 + 33 + 24 + 9 + 6, "cases in docs/rules.md: {}", known.len());
    let (mut cited, mut unknown) = (0, Vec::new());
    for (place, line) in prose(&[".rs"]) {
        let start = line.trim_start_matches(['/', '!']).trim_start();
        let begins = words(start).next().unwrap_or_default();
        let after = start.split("case ").nth(1).and_then(|t| words(t).next()).unwrap_or_default();
        let alone = start.split('(').skip(1).filter_map(|t| t.split_once(')')).map(|(t, _)| t);
        for id in [begins, after].into_iter().chain(alone) {
            let listed = start.starts_with(&format!("{id}:")) || id != begins;
            let found = ['T', 'P', 'H', 'F', 'W'].iter().find_map(|&l| Some((l, number(id, l)?)));
            if let Some((letter, n)) = found.filter(|_| listed) {
                cited += 1;
                if !known.contains(&(letter, n)) {
                    unknown.push(format!("{place}: {letter}{n}"));
                }
            }
        }
    }
    assert!(cited > 5, "no citations were found");
    none("cases that docs/rules.md does not have", &unknown);
}

/// Works are cited by year, after `Surname et al.` or `Surname & Surname`; the bibliography has a row
/// with this text. Works of a single author are not looked for.
#[test]
fn cited_works_are_in_the_bibliography() {
    let text = page("docs/bibliography.md");
    let (mut cited, mut unknown) = (BTreeSet::new(), Vec::new());
    for (place, line) in prose(&[".rs", ".md", ".toml"]) {
        let list: Vec<&str> = line.split_whitespace().collect();
        for (i, word) in list.iter().enumerate().skip(3) {
            let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
            let is_year = digits.parse().is_ok_and(|y: u32| (1900..2030).contains(&y));
            let authors = &list[i - 3..i];
            let cites = authors[1..] == ["et", "al."] || authors[1] == "&";
            if is_year && digits.len() == 4 && cites {
                let work = format!("{} {digits}", authors.join(" "));
                let work = work.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned();
                if !text.contains(&work) {
                    unknown.push(format!("{place}: {work}"));
                }
                cited.insert(work);
            }
        }
    }
    assert!(cited.len() > 20, "no citations were found: {cited:?}");
    none("works that docs/bibliography.md does not have", &unknown);
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Links between pages lead to files that exist, and to headings that exist; those of the guide stay in it, since the book
/// has nothing else. The head of
/// `docs/reproduce.md` stands with the test that makes this page, and its links count from there.
#[test]
fn links_resolve() {
    let (mut checked, mut broken) = (0, Vec::new());
    let guide = root().join("docs").canonicalize().expect("a folder");
    for (name, text) in everything(&[".md"]) {
        if name == "scenarios/tests/cli/reproduce.md" {
            continue;
        }
        let folder = root().join(&name).parent().expect("a folder").to_path_buf();
        for target in text.split("](").skip(1).filter_map(|t| t.split(')').next()) {
            if target.starts_with("http") || target.contains(char::is_whitespace) {
                continue;
            }
            checked += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root().join(&name) } else { folder.join(file) };
            let Ok(path) = path.canonicalize() else {
                broken.push(format!("{name}: {target}"));
                continue;
            };
            if name.starts_with("docs/") && !path.starts_with(&guide) {
                broken.push(format!("{name}: {target} is not in the book"));
            }
            if !heading.is_empty() {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let titles = text.lines().filter(|l| l.starts_with('#'));
                if !titles.map(|l| anchor(l.trim_start_matches('#'))).any(|a| a == heading) {
                    broken.push(format!("{name}: {target} has no such heading"));
                }
            }
        }
    }
    assert!(checked > 20, "no links were found");
    none("links that lead nowhere", &broken);
}

/// All pages of the guide are chapters of the book that `docs/SUMMARY.md` makes of them.
#[test]
fn pages_are_chapters() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let pages = everything(&[".md"]).into_iter().filter_map(|(name, _)| {
        let page = name.strip_prefix("docs/").filter(|page| *page != "SUMMARY.md")?;
        (!summary.contains(&format!("]({page})"))).then(|| page.to_owned())
    });
    none("pages that are no chapters", &pages.collect::<Vec<_>>());
}

/// Tests that pages name in backquotes, with their file, exist; the taxonomy has all of its leaves, once each.
#[test]
fn named_tests_exist() {
    let (mut checked, mut missing) = (0, Vec::new());
    for (name, text) in everything(&[".md"]) {
        for quoted in text.split('`').skip(1).step_by(2) {
            let Some((file, test)) = quoted.split_once("::").filter(|(f, _)| f.ends_with(".rs"))
            else {
                continue;
            };
            checked += 1;
            let source = fs::read_to_string(root().join(file)).unwrap_or_default();
            let head = format!("fn {test}(");
            if !source.split("#[test]").skip(1).any(|rest| rest.trim_start().starts_with(&head)) {
                missing.push(format!("{name}: {quoted}"));
            }
        }
    }
    assert!(checked > 50, "only {checked} tests are named");
    none("tests that are not there", &missing);
    let page = fs::read_to_string(root().join("docs/taxonomy.md")).unwrap();
    let rows = page.lines().filter_map(|l| l.strip_prefix("| ")?.split(" | ").next());
    let leaves: Vec<&str> = rows.filter(|l| !["leaf", "---"].contains(l)).collect();
    let once: std::collections::BTreeSet<&&str> = leaves.iter().collect();
    assert_eq!((leaves.len(), once.len()), (66, 66));
    // Each test that was shown to fail, with the line whose change it notices.
    let cells = page.lines().filter_map(|l| l.strip_prefix("| ")?.strip_suffix(" |"));
    let mutations =
        cells.filter_map(|row| row.split(" | ").nth(3)).filter(|c| c.contains(".rs`: "));
    assert!(mutations.count() >= 61, "a mutation has gone");
}

/// Files that pages name in backquotes, with their folder, exist.
#[test]
fn named_files_exist() {
    let (mut checked, mut missing) = (0, Vec::new());
    for (name, text) in everything(&[".md"]).into_iter().filter(|(name, _)| name != "CHANGELOG.md")
    {
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|f| {
                quoted.strip_prefix(f).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
            });
            let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
            if is_path && quoted.chars().all(plain) {
                checked += 1;
                if !root().join(quoted).exists() {
                    missing.push(format!("{name}: {quoted}"));
                }
            }
        }
    }
    assert!(checked > 20, "no files were found");
    none("files that are not there", &missing);
}

/// Lines of a hunk that begin with one of these marks, without it.
fn lines_of(hunk: &str, marks: [char; 2]) -> String {
    let lines = hunk.lines().skip(1).filter_map(|line| line.strip_prefix(marks));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A patch that brings an old mistake back is of use only as long as it applies.
#[test]
fn patches_of_mutants_apply() {
    let mut stale = Vec::new();
    for (name, text) in files("tests/data/mutants", &[".patch"]) {
        let file = text.lines().find_map(|line| line.strip_prefix("--- a/")).expect("a file");
        let source = page(file);
        for hunk in text.split("\n@@ ").skip(1) {
            if source.matches(&lines_of(hunk, [' ', '-'])).count() != 1 {
                stale.push(format!("{name}: @@ {}", hunk.lines().next().unwrap_or_default()));
            }
        }
    }
    none("patches that do not apply", &stale);
}
