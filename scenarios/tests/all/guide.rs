//! Every snippet of the guide to the format, of the page about conditions and of the README is a
//! scenario: complete ones are run, fragments are put into a scenario around them.
use crate::Folder;
use superdense::Overrides;
use superdense_kernel::{Options, Simulation};

/// Snippets with the words behind "```toml", and their lines.
fn snippets(guide: &str) -> Vec<(usize, bool, String)> {
    let mut out = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (n, line) in guide.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) if words.starts_with("toml") => {
                open = Some((n + 1, words.contains("fragment"), String::new()));
            }
            (None, _) => {}
            (Some(_), Some(_)) => out.extend(open.take()),
            (Some((_, _, text)), None) => *text += &format!("{line}\n"),
        }
    }
    out
}

/// Units that fragments may refer to.
const AROUND: &str = "stop = 1\n[unit.load]\nkind = 'sine'\nfrequency = 50\ncount = 10\n";
const PUMP: &str = "[template.included_pump.unit.a]\nkind = 'constant'\nvalue = 1\n";

/// Runs a snippet, or only reads it if it is a fragment; says what is wrong with it.
fn tried(folder: &Folder, name: &str, fragment: bool, text: &str) -> Result<(), String> {
    // Keys of the top come before the first table.
    let at = text.find("\n[").map_or(text.len(), |at| at + 1);
    let (head, tables) = text.split_at(at);
    let whole = if fragment { format!("{head}{AROUND}{tables}") } else { text.to_owned() };
    let file = folder.write(name, whole);
    let plan = superdense::load(&file, &[], &Overrides::default()).map_err(|d| d.to_string())?;
    if fragment {
        return Ok(());
    }
    let options = Options { resolution: plan.resolution, ..Options::default() };
    let mut simulation = Simulation::new(plan.model, options).map_err(|e| e.to_string())?;
    simulation.run_through(plan.stop).map_err(|e| e.to_string())?;
    let idle = simulation.counts().cycles == 0;
    if idle { Err("nothing happened".to_owned()) } else { Ok(()) }
}

/// Tries all snippets of a page, and tells of all that fail.
fn page(path: &str, least: usize) {
    let folder = Folder::new(&path.replace(['/', '.'], "_"));
    std::fs::create_dir_all(folder.0.join("parts")).unwrap();
    folder.write("parts/pump.toml", PUMP);
    for domain in ["electrical", "translation", "rotation", "thermal"] {
        let parts = std::fs::read_to_string(format!("parts/{domain}.toml")).unwrap();
        folder.write(&format!("parts/{domain}.toml"), parts);
    }
    let guide = std::fs::read_to_string(path).unwrap();
    let snippets = snippets(&guide);
    assert!(snippets.len() >= least, "{path} has {} snippets", snippets.len());
    let bad: Vec<_> = snippets
        .into_iter()
        .filter_map(|(line, fragment, text)| {
            let tried = tried(&folder, &format!("line{line}.toml"), fragment, &text);
            tried.err().map(|why| format!("{path}, line {line}: {why}"))
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn snippets_run() {
    page("../docs/format.md", 10);
}

#[test]
fn snippets_of_the_readme_run() {
    page("../README.md", 1);
}

#[test]
fn snippets_about_conditions_run() {
    page("../docs/conditions.md", 15);
}

#[test]
fn snippets_about_connectors_run() {
    page("../docs/connectors.md", 4);
}

#[test]
fn snippets_of_the_cookbook_run() {
    page("../docs/cookbook.md", 7);
}

#[test]
fn snippets_of_the_tutorial_run() {
    page("../docs/tutorial.md", 3);
}

#[test]
fn recipes_have_the_results_of_the_page() {
    assert!(results_of("../docs/cookbook.md") > 20);
}

#[test]
fn the_tutorial_has_the_results_of_the_page() {
    assert_eq!(results_of("../docs/tutorial.md"), 8);
}

/// Scenarios of a page print the results that stand below them; gives how many these are.
fn results_of(page: &str) -> usize {
    let text = std::fs::read_to_string(page).unwrap();
    let mut lines = 0;
    for part in text.split("```toml\n").skip(1) {
        let (recipe, rest) = part.split_once("```").unwrap();
        let (_, rest) = rest.split_once("```text\n").unwrap();
        let (told, _) = rest.split_once("```").unwrap();
        let plan = crate::plan(recipe).unwrap_or_else(|d| panic!("{d}"));
        let keep = superdense::run::memory::Keep::default();
        let done =
            superdense::run::memory::run(plan, keep, Default::default(), &Default::default());
        let done = done.expect("no failure").expect("nobody interrupts it");
        for line in told.lines() {
            let mut words = line.split_whitespace();
            let (name, value) = (words.next().unwrap(), words.next().unwrap());
            let found = done.summary.results.iter().find(|line| line.name == name);
            let found = found.and_then(|line| line.outcome.value()).expect(name);
            let value: f64 = value.parse().unwrap();
            assert!((found - value).abs() <= 1e-8 * value.abs(), "{name}: {found}, not {value}");
            lines += 1;
        }
        assert_eq!(told.lines().count(), done.summary.results.len(), "{recipe}");
    }
    lines
}

/// The page has all rules, under their numbers and in their order.
#[test]
fn the_rules_are_numbered() {
    let text = std::fs::read_to_string("../docs/conditions.md").unwrap();
    let numbers = text.lines().filter_map(|line| line.strip_prefix("**")?.split_once(". "));
    let numbers: Vec<u32> = numbers.filter_map(|(number, _)| number.parse().ok()).collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
}

#[test]
fn every_key_of_the_format_is_explained() {
    let guide = std::fs::read_to_string("../docs/format.md").unwrap();
    let schema = superdense::schema::schema();
    for (key, _) in schema["properties"].as_object().unwrap() {
        let named = [format!("`{key}`"), format!("[{key}"), format!("{key} =")];
        assert!(named.iter().any(|n| guide.contains(n)), "docs/format.md does not mention {key}");
    }
}
