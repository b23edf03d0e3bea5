//! No file but a run's own is ever changed, replaced or removed, whatever stands in its directory.
//!
//! `SUPERDENSE_TREES` sets how many random trees; without it there are three hundred.
use super::*;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use std::{cell::Cell, collections::BTreeMap, time::SystemTime};

/// A scenario with a random number, a plot and an event; a run takes a moment.
const SMALL: &str = "stop = 0.01\nsample = 0.005\nrecord = ['c.y']\n\
                     [unit.c]\nkind = 'clock'\nperiod = 0.004\nvalue = 1\n";

fn small(name: &str) -> PathBuf {
    let dir = folder(name);
    for scenario in ["small.toml", "other.toml", "...toml"] {
        fs::write(dir.join(scenario), SMALL).unwrap();
    }
    dir
}

/// Everything by which a change would show.
#[derive(Debug, Clone, PartialEq)]
struct Sight {
    kind: &'static str,
    content: Vec<u8>,
    modified: Option<SystemTime>,
}

fn sight(path: &Path) -> Option<Sight> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let (kind, content) = if metadata.is_symlink() {
        ("link", fs::read_link(path).unwrap().to_string_lossy().into_owned().into_bytes())
    } else if metadata.is_dir() {
        ("folder", Vec::new())
    } else {
        ("file", fs::read(path).unwrap())
    };
    // A folder changes by what else is put into it.
    let modified = (kind != "folder").then(|| metadata.modified().unwrap());
    Some(Sight { kind, content, modified })
}

/// All below a folder.
fn sights(dir: &Path, found: &mut BTreeMap<PathBuf, Sight>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let seen = sight(&path).unwrap();
        if seen.kind == "folder" {
            sights(&path, found);
        }
        found.insert(path, seen);
    }
}

/// Foreign files, as they were when they were made.
#[derive(Default)]
struct Foreign(BTreeMap<PathBuf, Sight>);

impl Foreign {
    fn note(&mut self, path: &Path) {
        if let Some(seen) = sight(path) {
            self.0.insert(path.to_owned(), seen);
        }
    }
    fn changed(&self) -> Vec<String> {
        let differs = |(path, then): &(&PathBuf, &Sight)| sight(path).as_ref() != Some(*then);
        let told = |(path, then): (&PathBuf, &Sight)| {
            format!("{}: {then:?} is now {:?}", path.display(), sight(path))
        };
        self.0.iter().filter(differs).map(told).collect()
    }
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Puts something foreign under a name of the output directory, or beside it.
    fn plant(dir: &Path, what: &str, path: &Path, foreign: &mut Foreign) {
        let precious = dir.join("precious");
        fs::create_dir_all(&precious).unwrap();
        for name in ["samples.csv", "notes.txt", "summary.json"] {
            let file = precious.join(name);
            if !file.exists() {
                fs::write(&file, "precious\n").unwrap();
            }
            foreign.note(&file);
        }
        if what == "second name" {
            // Of an own file: its bytes are foreign, too, once they have another name.
            let kept = dir.join("kept");
            if path.is_file() && !kept.exists() {
                fs::hard_link(path, &kept).unwrap();
                foreign.note(&kept);
            }
            return;
        }
        let is_folder = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
        if is_folder {
            return;
        }
        if what == "edit" && !path.is_file() {
            return;
        }
        if what != "edit" {
            let _ = fs::remove_file(path);
            foreign.0.remove(path);
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match what {
            "file" => fs::write(path, "mine\n").unwrap(),
            "edit" => {
                let mut bytes = fs::read(path).unwrap();
                let middle = bytes.len() / 2;
                match bytes.get_mut(middle) {
                    Some(byte) => *byte = byte.wrapping_add(1),
                    None => bytes.push(b'x'),
                }
                fs::remove_file(path).unwrap();
                fs::write(path, bytes).unwrap();
            }
            "folder" => {
                fs::create_dir(path).unwrap();
                for name in ["samples.csv", "summary.json"] {
                    fs::write(path.join(name), "mine\n").unwrap();
                    foreign.note(&path.join(name));
                }
            }
            "link" => symlink(precious.join("samples.csv"), path).unwrap(),
            "link to a folder" => symlink(&precious, path).unwrap(),
            "dangling link" => symlink("nowhere", path).unwrap(),
            other => panic!("{other}"),
        }
        foreign.note(path);
    }

    /// Each was replaced, emptied, removed or written through.
    #[test]
    fn foreign_files_stay() {
        for (number, (first, what, name, then)) in [
            ("run small.toml", "link to a folder", "tightened-1", "run small.toml --force"),
            ("run small.toml", "folder", "tightened-1", "run small.toml --force"),
            ("run small.toml", "folder", "permuted", "run small.toml --force --ties 3"),
            ("", "file", "samples.csv", "run small.toml --force"),
            ("run small.toml", "edit", "samples.csv", "run small.toml --force"),
            ("run small.toml", "second name", "samples.csv", "run small.toml --force"),
            ("", "link", "summary.json.part", "run small.toml --force"),
            ("", "file", "samples.csv.part", "run small.toml --force"),
            ("", "link", "plot.svg", "run small.toml --force"),
            ("run small.toml", "link", "plot.svg", "plot out/small"),
            ("run small.toml --plot png", "edit", "plot.png", "plot out/small"),
            ("run small.toml", "file", "manifest.json", "run small.toml --force"),
            ("run small.toml", "link", "manifest.json", "plot out/small"),
            ("", "dangling link", "events.csv", "run small.toml --force"),
            ("run small.toml --verify", "edit", "tightened-2/events.csv", "run small.toml --force"),
            ("run small.toml --verify", "file", "tightened-1/mine", "run small.toml --force"),
        ]
        .into_iter()
        .enumerate()
        {
            let dir = small(&format!("foreign-{number}"));
            let mut foreign = Foreign::default();
            if !first.is_empty() {
                good(&dir, first);
            }
            plant(&dir, what, &dir.join("out/small").join(name), &mut foreign);
            let output = superdense(&dir, then);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let changed = foreign.changed();
            assert!(changed.is_empty(), "{what} {name}, {then}: {changed:#?}\n{said}");
            let refused = output.status.code() == Some(2);
            assert!(refused || output.status.success(), "{what} {name}: {said}");
            assert!(!refused || said.contains("move it away"), "{what} {name}: {said}");
        }
    }

    const KINDS: [&str; 7] =
        ["file", "edit", "folder", "link", "link to a folder", "dangling link", "second name"];
    const NAMES: [&str; 24] = [
        "events.csv",
        "samples.csv",
        "trajectory.csv",
        "summary.json",
        "units.csv",
        "plots.json",
        "performance.json",
        "plot.svg",
        "plot.png",
        "checkpoint",
        "verifying.json",
        "verify.json",
        "manifest.json",
        "event_bars.csv",
        "tightened-1",
        "tightened-2",
        "tightened-1/samples.csv",
        "tightened-1/manifest.json",
        "permuted",
        "summary.json.part",
        ".summary.json.part",
        "mine",
        "tightened-mine",
        "trajectory-00000.parquet",
    ];
    const LINES: [&str; 9] = [
        "run small.toml",
        "run small.toml --force",
        "run small.toml --checkpoint-every 0 --force",
        "run small.toml --force --verify",
        "run small.toml --force --ties 3",
        "plot out/small",
        "resume out/small",
        "run other.toml --out out/small --force",
        "run ...toml --force",
    ];

    /// Random trees of files, folders and links, between random commands.
    #[test]
    fn random_trees_are_left_alone() {
        let count = std::env::var("SUPERDENSE_TREES").ok().and_then(|n| n.parse().ok());
        let config =
            Config { cases: count.unwrap_or(300), failure_persistence: None, ..Config::default() };
        let plants = || prop::collection::vec((0..KINDS.len(), 0..NAMES.len()), 0..3);
        let steps = prop::collection::vec((plants(), 0..LINES.len()), 1..4);
        let dir = small("foreign-random");
        let (done, refused) = (Cell::new(0), Cell::new(0));
        TestRunner::new(config)
            .run(&steps, |steps| {
                let mut foreign = Foreign::default();
                for folder in ["out", "precious"] {
                    let _ = fs::remove_dir_all(dir.join(folder));
                }
                let _ = fs::remove_file(dir.join("kept"));
                for scenario in ["small.toml", "other.toml", "...toml"] {
                    foreign.note(&dir.join(scenario));
                }
                for (planted, line) in steps {
                    for (kind, name) in planted {
                        let path = dir.join("out/small").join(NAMES[name]);
                        let parent = path.parent().unwrap();
                        let real = |p: &Path| fs::symlink_metadata(p).map_or(true, |m| m.is_dir());
                        if real(parent) {
                            plant(&dir, KINDS[kind], &path, &mut foreign);
                        }
                    }
                    let output = superdense(&dir, LINES[line]);
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    let changed = foreign.changed();
                    prop_assert!(changed.is_empty(), "{}: {changed:#?}\n{said}", LINES[line]);
                    prop_assert!(
                        matches!(output.status.code(), Some(0 | 2)),
                        "{}: {said}",
                        LINES[line]
                    );
                    let count = if output.status.success() { &done } else { &refused };
                    count.set(count.get() + 1);
                    // Nothing appears outside of the output directory.
                    let mut all = BTreeMap::new();
                    sights(&dir, &mut all);
                    let out = dir.join("out");
                    all.retain(|path, _| !path.starts_with(&out) && !foreign.0.contains_key(path));
                    all.retain(|path, _| path != &dir.join("precious"));
                    prop_assert!(all.is_empty(), "{}: {all:#?}", LINES[line]);
                }
                Ok(())
            })
            .unwrap();
        println!("{} commands were done, {} refused", done.get(), refused.get());
        assert!(done.get() > 50 && refused.get() > 50, "trees that say something");
    }
}

/// The results of the run before are replaced, however it ended; all else needs `--force`.
#[test]
fn own_results_need_no_force() {
    let dir = small("own");
    let refused = |line: &str, says: &str| {
        let output = superdense(&dir, line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(says), "{line}: {said}");
    };
    for options in ["", "--until 0.02", "--verify", "--ties 2", "--checkpoint-every 0", ""] {
        good(&dir, &format!("run small.toml {options}"));
    }
    assert!(
        !dir.join("out/small/tightened-1").exists() && !dir.join("out/small/permuted").exists()
    );
    refused("run other.toml --out out/small", "small.toml; choose another directory with --out");
    good(&dir, "run other.toml --out out/small --force");
    refused("run small.toml", "other.toml; choose another directory");
    fs::create_dir(dir.join("notes")).unwrap();
    fs::write(dir.join("notes/mine.txt"), "mine").unwrap();
    refused("run small.toml --out notes", "--force");
    good(&dir, "run small.toml --out notes --force");
    good(&dir, "run small.toml --out notes");
    assert_eq!(read(&dir, "notes/mine.txt"), "mine");
    refused("run ...toml", "`..`");
    good(&dir, "run ...toml --out dots");
    let failing = "stop = 2\n[unit.x]\nkind = 'equations'\nstates = { x = 1 }\n\
                   derivatives = { x = 'x*x' }\noutputs = { x = 'x' }\n";
    fs::write(dir.join("fails.toml"), failing).unwrap();
    for _ in 0..2 {
        assert_eq!(superdense(&dir, "run fails.toml").status.code(), Some(3));
    }
}

/// A manifest that another hand changed, if only by one digit, is not of the run any more.
#[test]
fn a_changed_manifest_is_foreign() {
    let dir = small("manifest-changed");
    good(&dir, "run small.toml");
    let file = dir.join("out/small/manifest.json");
    let whole = fs::read_to_string(&file).unwrap();
    let digit = whole.find(r#""sha256": ""#).unwrap() + 11;
    let other = if &whole[digit..=digit] == "0" { "1" } else { "0" };
    let spaced = whole.replacen(": 2", ":  2", 1);
    for changed in [format!("{}{other}{}", &whole[..digit], &whole[digit + 1..]), spaced] {
        assert!(changed != whole);
        fs::write(&file, &changed).unwrap();
        for line in ["run small.toml --force", "plot out/small"] {
            let output = superdense(&dir, line);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2), "{line}: {said}");
            assert_eq!(fs::read_to_string(&file).unwrap(), changed, "{line}: {said}");
        }
    }
}

/// The manifest is what `sha256sum` says.
#[test]
fn the_manifest_lists_all_files() {
    let dir = mixed("manifest");
    good(&dir, "run mixed.toml --verify --until 1");
    let out = dir.join("out/mixed");
    let manifest = json(&read(&out, "manifest.json"));
    let files = manifest["files"].as_object().unwrap();
    let folders: Vec<_> = manifest["folders"].as_array().unwrap().iter().collect();
    assert_eq!(folders, ["second-family-1", "second-family-2", "tightened-1", "tightened-2"]);
    for entry in fs::read_dir(&out).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name == "manifest.json" || entry.path().is_dir() {
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        assert_eq!(files[&name]["bytes"], bytes.len(), "{name}");
        assert_eq!(files[&name]["grows"], false, "{name}");
        assert_eq!(files[&name]["sha256"].as_str().unwrap().len(), 64, "{name}");
    }
    assert_eq!(files.len() + folders.len() + 1, fs::read_dir(&out).unwrap().count());
}

/// `reproduce` leaves what was changed in its directory, too.
#[test]
fn a_changed_scenario_of_a_paper_stays() {
    let dir = folder("foreign-reproduce");
    let line = "reproduce --out papers --quick";
    let none = superdense(&dir, &format!("{line} no-such-item"));
    assert_eq!(none.status.code(), Some(2));
    let file = dir.join("papers/scenarios/library/thermostat.toml");
    fs::write(&file, "# mine\n").unwrap();
    let refused = superdense(&dir, &format!("{line} no-such-item"));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("thermostat.toml") && said.contains("changed"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
}
