//! Every reader of files and bytes, with damaged inputs: no panic, no hang, bounded memory.
//!
//! Inputs are mutations of `tests/data/fuzz` and of files of other tests, numbered, so that a number finds
//! an input again: `SUPERDENSE_FUZZ_FROM=4711 SUPERDENSE_FUZZ=1 cargo nextest run -p superdense-tests fuzz`.
//! `SUPERDENSE_FUZZ=50000` makes so many per reader. Each test prints which kinds of answers there were, and how
//! often: what the inputs reached.
mod mutate;
mod readers;

use mutate::Mutator;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Seconds of CPU that an input may take.
const SECONDS: f64 = 10.0;
/// Memory that a test may take at most.
const MEMORY: u64 = 1_000_000_000;

/// A reader: its name, its seeds, how many inputs there are by default, how many kinds of answers must come.
struct Target {
    name: &'static str,
    text: bool,
    seeds: Vec<Vec<u8>>,
    inputs: u64,
    kinds: usize,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Files of a folder, in the order of their names.
fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// A whole number from the environment.
fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no whole number")))
}

/// A field of a file of the process or thread, where the system has these.
fn system(file: &str, find: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    find(&std::fs::read_to_string(file).ok()?)
}

/// Nanoseconds of CPU of this thread.
fn cpu() -> u64 {
    let first = |text: &str| text.split_whitespace().next()?.parse().ok();
    system("/proc/thread-self/schedstat", first).unwrap_or_default()
}

fn peak_memory() -> u64 {
    let field = |text: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    1024 * system("/proc/self/status", field).unwrap_or_default()
}

/// A message without what changes from input to input: names, numbers, places.
fn kind(message: &str) -> String {
    let line = message.lines().next().unwrap_or("");
    let mut kind = String::new();
    let mut quoted = None;
    for c in line.chars() {
        match quoted {
            Some(end) => {
                if c == end {
                    quoted = None;
                }
            }
            None if matches!(c, '`' | '"' | '\'') => {
                quoted = Some(c);
                kind.push('~');
            }
            None if c.is_ascii_digit() => {
                if !kind.ends_with('0') {
                    kind.push('0');
                }
            }
            None => kind.push(c),
        }
    }
    kind.chars().take(60).collect()
}

/// Tells a thread that waits what the present input is.
type Present = Arc<Mutex<Option<(u64, Vec<u8>)>>>;

/// A thread that ends the process when one input takes very long: a hang has no other end.
fn watch(name: &'static str, present: &Present) -> Arc<AtomicBool> {
    let (present, done) = (Arc::clone(present), Arc::new(AtomicBool::new(false)));
    let ended = Arc::clone(&done);
    std::thread::spawn(move || {
        let mut since = (0, 0u32);
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(500));
            let Some((number, bytes)) = present.lock().unwrap().clone() else { continue };
            since = if since.0 == number { (number, since.1 + 1) } else { (number, 0) };
            // Twelve times as long as allowed, as others may use the machine.
            if since.1 > 240 {
                let file = keep(name, number, &bytes);
                eprintln!("{name}: input {number} hangs; see {}", file.display());
                std::process::exit(101);
            }
        }
    });
    done
}

/// Writes an input down.
fn keep(name: &str, number: u64, bytes: &[u8]) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{number}"));
    std::fs::write(&file, bytes).unwrap();
    file
}

/// Feeds a reader, which gives the kind of its answer, or `ok`.
fn feed(target: &Target, mut read: impl FnMut(&[u8]) -> Result<(), String>) {
    let name = target.name;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for seed in &target.seeds {
        let answer = read(seed);
        assert!(answer.is_ok() || !target.text, "{name}: a seed is refused: {answer:?}");
    }
    let present = Present::default();
    let done = watch(name, &present);
    let from = asked("SUPERDENSE_FUZZ_FROM").unwrap_or(0);
    let count = asked("SUPERDENSE_FUZZ").unwrap_or(target.inputs);
    let mut bad = Vec::new();
    for number in from..from + count {
        let mut bytes = Mutator::new(name, number).next(&target.seeds, target.text);
        if target.text {
            bytes = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
        }
        *present.lock().unwrap() = Some((number, bytes.clone()));
        let begun = cpu();
        let answer = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let seconds = cpu().saturating_sub(begun) as f64 * 1e-9;
        let told = match answer {
            Ok(Ok(())) => "ok".to_owned(),
            Ok(Err(message)) => kind(&message),
            Err(_) => {
                bad.push(format!(
                    "input {number} panics: {}",
                    keep(name, number, &bytes).display()
                ));
                "panic".to_owned()
            }
        };
        if seconds > SECONDS {
            let file = keep(name, number, &bytes);
            bad.push(format!("input {number} takes {seconds:.1} s of CPU: {}", file.display()));
        }
        *kinds.entry(told).or_default() += 1;
    }
    done.store(true, Ordering::Relaxed);
    let memory = peak_memory();
    let mut list: Vec<(&String, &u64)> = kinds.iter().collect();
    list.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    println!("{name}: {count} inputs, {} kinds of answers, {} MB", list.len(), memory / 1_000_000);
    list.iter().take(200).for_each(|(kind, count)| println!("{count:8} {kind}"));
    assert!(bad.is_empty(), "{name}: {} bad inputs\n{}", bad.len(), bad.join("\n"));
    assert!(memory < MEMORY, "{name}: {memory} bytes");
    let enough = count < target.inputs || kinds.len() >= target.kinds;
    assert!(enough, "{name}: only {} kinds of answers, of {}", kinds.len(), target.kinds);
}

#[test]
fn kinds_forget_names_and_numbers() {
    assert_eq!(kind("line 17: `x` is 3.5e3; see \"it\"\nmore"), "line 0: ~ is 0.0e0; see ~");
}
