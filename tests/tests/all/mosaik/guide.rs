//! The pages about simulators.
use super::{Bench, python, rows};

fn snippets<'a>(page: &'a str, words: &str) -> Vec<&'a str> {
    let open = format!("```{words}\n");
    page.split(&open).skip(1).filter_map(|text| text.split("```").next()).collect()
}

/// The example of docs/federation.md runs as it stands, and says what the page says.
#[test]
fn the_example_of_the_documentation() {
    let page = include_str!("../../../../docs/federation.md");
    let Some(python) = python("mosaik_api_v3") else { return };
    let bench = Bench::new("docs", python);
    std::fs::write(bench.folder.join("controller.py"), snippets(page, "python")[0]).unwrap();
    let done = bench.run(&snippets(page, "toml")[0].replace("python3", &bench.python));
    let warmest = done.summary.results[0].outcome.value().unwrap();
    assert!(page.contains(&format!("`warmest` is {warmest:.4}")), "{warmest}");
    let off = rows(&done.trajectory, "control.heat").into_iter().find(|r| r.2.starts_with("0,"));
    let minutes = off.unwrap().0 / 60_000_000_000;
    assert!(page.contains(&format!("after {minutes} min")), "{minutes}");
}

/// All other scenarios of the page have no mistakes.
#[test]
fn snippets_of_the_documentation() {
    let page = include_str!("../../../../docs/federation.md");
    let bench = Bench::new("snippets", String::new());
    for text in snippets(page, "toml").into_iter().skip(1) {
        assert!(bench.load(&format!("stop = 1\n{text}")).is_ok(), "{text}");
    }
    let kind = superdense::kinds::find("mosaik").expect("the feature");
    assert!(kind.doc().contains("kind = \"mosaik\""));
}
