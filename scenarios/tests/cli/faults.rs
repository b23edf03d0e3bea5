//! Errors of the disk, and power failures: no result is lost that was safe, and none is wrong.
//!
//! A library stands before the system's file operations (`faults.c`). It makes the n-th of them fail, or writes
//! all of them down. From these notes the files after a power failure are made: unsynced writes may be
//! lost, torn or come before others, and so may the names of files until their folder was synced.
//! `SUPERDENSE_CUTS` sets how many power failures; without it there are sixty.
use super::*;
use std::collections::BTreeMap;

/// Simulated seconds of a short run.
const UNTIL: u32 = 60;

fn library(dir: &Path) -> PathBuf {
    let (source, library) = (dir.join("faults.c"), dir.join("faults.so"));
    fs::write(&source, include_str!("faults.c")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(cc.status().unwrap().success(), "a C compiler is needed");
    library
}

/// A command whose file operations in the folder `parts` go through the library.
fn watched(dir: &Path, line: &str, setting: (&str, &str)) -> Output {
    let parts = dir.join("parts");
    command(dir, line)
        .env("LD_PRELOAD", dir.join("faults.so"))
        .env("FAULT_DIR", &parts)
        .env(setting.0, setting.1)
        .output()
        .unwrap()
}

fn prepared(name: &str, until: u32) -> (PathBuf, String) {
    let dir = mixed(name).canonicalize().unwrap();
    library(&dir);
    good(&dir, &format!("run mixed.toml --quiet --until {until} --out whole"));
    let line =
        format!("run mixed.toml --quiet --until {until} --out parts --checkpoint-every 0.05");
    (dir, line)
}

/// The changes that a program made to files.
#[derive(Debug, Clone)]
enum Step {
    Create(u64, String),
    Write(u64, usize, Vec<u8>),
    Cut(u64, usize),
    Sync(u64),
    SyncFolder,
    Rename(String, String),
    Remove(String),
}

fn steps(log: &[u8]) -> Vec<Step> {
    let (mut steps, mut at) = (Vec::new(), 0);
    let line = |at: &mut usize| {
        let end = *at + log[*at..].iter().position(|&b| b == b'\n').unwrap();
        let text = std::str::from_utf8(&log[*at..end]).unwrap().to_owned();
        *at = end + 1;
        text
    };
    while at < log.len() {
        let text = line(&mut at);
        let (kind, rest) = text.split_once(' ').unwrap();
        let mut words = rest.split(' ');
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        steps.push(match kind {
            "C" => {
                let (inode, path) = rest.split_once(' ').unwrap();
                Step::Create(inode.parse().unwrap(), path.to_owned())
            }
            "W" => {
                let (inode, offset, length) = (number(), number() as usize, number() as usize);
                at += length;
                Step::Write(inode, offset, log[at - length..at].to_vec())
            }
            "T" => Step::Cut(number(), number() as usize),
            "S" => Step::Sync(number()),
            "D" => Step::SyncFolder,
            "R" => Step::Rename(rest.to_owned(), line(&mut at)),
            "U" => Step::Remove(rest.to_owned()),
            other => panic!("{other}"),
        });
    }
    steps
}

/// A disk: what is safe, and what is only in memory.
#[derive(Default)]
struct Disk {
    files: Vec<(Vec<u8>, Vec<Step>)>,
    by_inode: BTreeMap<u64, usize>,
    names: BTreeMap<String, usize>,
    /// Changes of names, with the file of a new one.
    renamed: Vec<(Step, usize)>,
}

impl Disk {
    fn go(&mut self, step: &Step) {
        match step {
            Step::Create(inode, _) => {
                self.files.push(Default::default());
                self.by_inode.insert(*inode, self.files.len() - 1);
                self.renamed.push((step.clone(), self.files.len() - 1));
            }
            Step::Write(inode, ..) | Step::Cut(inode, _) => {
                let file = self.by_inode[inode];
                self.files[file].1.push(step.clone());
            }
            Step::Sync(inode) => {
                let (safe, waiting) = &mut self.files[self.by_inode[inode]];
                waiting.drain(..).for_each(|step| apply(safe, &step, usize::MAX));
            }
            Step::SyncFolder => {
                for (step, file) in std::mem::take(&mut self.renamed) {
                    rename(&mut self.names, &step, file);
                }
            }
            Step::Rename(..) | Step::Remove(_) => self.renamed.push((step.clone(), 0)),
        }
    }

    /// The files after a power failure.
    fn fail(mut self, draw: &mut impl FnMut(usize) -> usize) -> BTreeMap<String, Vec<u8>> {
        let kept = draw(self.renamed.len() + 1);
        for (number, (step, file)) in self.renamed.iter().enumerate() {
            // In order up to some change, or any of them.
            if number < kept || draw(3) == 0 {
                rename(&mut self.names, step, *file);
            }
        }
        for (safe, waiting) in &mut self.files {
            for step in waiting {
                match draw(4) {
                    0 => {}
                    1 => apply(safe, step, draw(100)),
                    _ => apply(safe, step, usize::MAX),
                }
            }
        }
        self.names.into_iter().map(|(name, file)| (name, self.files[file].0.clone())).collect()
    }
}

/// Writes at most so many bytes of a step.
fn apply(file: &mut Vec<u8>, step: &Step, most: usize) {
    match step {
        Step::Write(_, offset, data) => {
            let data = &data[..data.len().min(most)];
            let end = offset + data.len();
            file.resize(file.len().max(end), 0);
            file[*offset..end].copy_from_slice(data);
        }
        Step::Cut(_, length) => file.resize(*length, 0),
        _ => {}
    }
}

fn rename(names: &mut BTreeMap<String, usize>, step: &Step, file: usize) {
    match step {
        Step::Create(_, path) => {
            names.insert(path.clone(), file);
        }
        Step::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Step::Remove(path) => {
            names.remove(path);
        }
        _ => {}
    }
}

/// The steps of a run that is long enough on this machine for some checkpoints.
fn several_checkpoints(name: &str) -> (PathBuf, Vec<Step>) {
    for doubled in 0..10 {
        let (dir, line) = prepared(name, UNTIL << doubled);
        let log = dir.join("log");
        let done = watched(&dir, &line, ("FAULT_LOG", log.to_str().unwrap()));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let steps = steps(&fs::read(&log).unwrap());
        let is = |step: &&Step| matches!(step, Step::Rename(_, to) if to.ends_with("/checkpoint"));
        if steps.iter().filter(is).count() > 1 {
            return (dir, steps);
        }
    }
    panic!("no run makes two checkpoints");
}

#[test]
fn a_power_failure_loses_no_checkpoint() {
    let (dir, steps) = several_checkpoints("power");
    let parts = dir.join("parts");
    let checkpoint = parts.join("checkpoint").to_str().unwrap().to_owned();
    let seed = u64::from(std::process::id()) | 1;
    let mut state = seed;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below.max(1)
    };
    let wanted = std::env::var("SUPERDENSE_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut resumed = 0;
    for cut in 0..wanted {
        let at = draw(steps.len() + 1);
        let mut disk = Disk::default();
        steps[..at].iter().for_each(|step| disk.go(step));
        // A checkpoint is safe once its folder was synced.
        let safe = disk.names.contains_key(&checkpoint);
        let files = disk.fail(&mut draw);
        let _ = fs::remove_dir_all(&parts);
        fs::create_dir(&parts).unwrap();
        for (path, bytes) in &files {
            fs::write(path, bytes).unwrap();
        }
        let place = format!("seed {seed}, failure {cut} after step {at} of {}", steps.len());
        let ended = parts.join("summary.json").exists();
        if parts.join("checkpoint").exists() || ended {
            let output = superdense(&dir, "resume parts --quiet");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{place}: {said}");
            assert_equal_results(&dir.join("whole"), &parts);
            resumed += 1;
        } else {
            assert!(!safe, "{place}: the checkpoint is lost");
        }
    }
    println!("{resumed} of {wanted} power failures could be resumed, of {} steps", steps.len());
    assert!(resumed > wanted / 5, "{resumed} of {wanted}");
}

#[test]
fn an_error_of_the_disk_loses_nothing() {
    let (dir, line) = prepared("disk", UNTIL);
    let parts = dir.join("parts");
    let (mut failed, mut number) = (0, 0);
    loop {
        number += 1;
        let _ = fs::remove_dir_all(&parts);
        let output = watched(&dir, &line, ("FAULT_AT", &number.to_string()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        if code != Some(0) {
            failed = number;
            assert!(matches!(code, Some(2 | 3)), "operation {number}: {code:?} {said}");
            assert!(said.contains("parts"), "operation {number}: no file is named: {said}");
            let again = match parts.join("checkpoint").exists() {
                true => "resume parts --quiet",
                false => &line,
            };
            good(&dir, again);
        }
        assert_equal_results(&dir.join("whole"), &parts);
        // Operations whose failure does no harm lie between those that end the run.
        if number > failed + 12 {
            break;
        }
    }
    println!("{failed} operations");
    assert!(failed > 20, "only {failed} operations");
}
