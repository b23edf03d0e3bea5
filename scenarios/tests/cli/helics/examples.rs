//! The page about federations.
use super::Bench;
use std::fs;

fn snippet<'a>(page: &'a str, words: &str, number: usize) -> &'a str {
    let open = format!("```{words}\n");
    page.split(&open).nth(number + 1).and_then(|text| text.split("```").next()).expect("a snippet")
}

/// Acceptance 1: the example of docs/federation.md runs as it stands, and says what the page says.
#[test]
fn the_example_of_the_page() {
    let page = include_str!("../../../../docs/federation.md");
    let Some(bench) = Bench::new("page") else { return };
    fs::write(bench.dir.join("grid.py"), snippet(page, "python", 1)).unwrap();
    let text = snippet(page, "toml helics", 0).replace("python3", bench.python);
    fs::write(bench.dir.join("building.toml"), text).unwrap();
    let told = bench.run("run building.toml");
    let lowest = told.lines().find(|l| l.contains("lowest")).expect("the result");
    let value = lowest.split_whitespace().nth(1).unwrap();
    assert!(page.contains(&format!("`lowest` is {value}")), "{lowest}");
}

/// The other table of the page has no mistakes.
#[test]
fn the_keys_of_the_page() {
    let page = include_str!("../../../../docs/federation.md");
    let dir = super::folder("helics-keys");
    fs::write(dir.join("s.toml"), snippet(page, "toml helics", 1)).unwrap();
    let output = super::command(&dir, "check s.toml").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
