//! Every snippet of the guide to the format is what the reader accepts: complete ones are run,
//! fragments are put into a scenario around them.
use crate::Folder;
use superdense::{Overrides, Plan};
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

/// What fragments may refer to.
const AROUND: &str = "stop = 1\n[unit.load]\nkind = 'sine'\nfrequency = 50\ncount = 10\n";
const PUMP: &str = "[template.included_pump.unit.a]\nkind = 'constant'\nvalue = 1\n";

fn load(folder: &Folder, line: usize, text: &str) -> Plan {
    let file = folder.write(&format!("line{line}.toml"), text);
    superdense::load(&file, &[], &Overrides::default())
        .unwrap_or_else(|d| panic!("FORMAT.md, line {line}:\n{d}"))
}

#[test]
fn snippets_run() {
    let folder = Folder::new("guide");
    std::fs::create_dir_all(folder.0.join("parts")).unwrap();
    folder.write("parts/pump.toml", PUMP);
    let guide = std::fs::read_to_string("FORMAT.md").unwrap();
    let snippets = snippets(&guide);
    assert!(snippets.len() >= 10);
    for (line, fragment, text) in snippets {
        if fragment {
            // Keys of the top come before the first table.
            let at = text.find("\n[").map_or(text.len(), |at| at + 1);
            let (head, tables) = text.split_at(at);
            load(&folder, line, &format!("{head}{AROUND}{tables}"));
            continue;
        }
        let plan = load(&folder, line, &text);
        let options = Options { resolution: plan.resolution, ..Options::default() };
        let mut simulation = Simulation::new(plan.model, options)
            .unwrap_or_else(|e| panic!("FORMAT.md, line {line}: {e}"));
        simulation.run_through(plan.stop).unwrap_or_else(|e| panic!("FORMAT.md, line {line}: {e}"));
        assert!(simulation.counts().cycles > 0, "FORMAT.md, line {line}: nothing happened");
    }
}

#[test]
fn every_key_of_the_format_is_explained() {
    let guide = std::fs::read_to_string("FORMAT.md").unwrap();
    let schema = superdense::schema::schema();
    for (key, _) in schema["properties"].as_object().unwrap() {
        let named = [format!("`{key}`"), format!("[{key}"), format!("{key} =")];
        assert!(named.iter().any(|n| guide.contains(n)), "FORMAT.md does not mention {key}");
    }
}
