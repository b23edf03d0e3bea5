//! Studies: files that depend on nothing but the study, failures, resuming, intervals, mistakes.
use crate::Folder;
use serde_json::Value as Json;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};
use superdense::{
    run::pulse::Pulse,
    study::{
        Home, Limits, Lost, Row, Runner, ScenarioRunner, Sets, Store, Study, answer, conduct, table,
    },
};
use superdense_kernel::message::Digest;

/// A scenario that ends at once.
pub(crate) const SCENARIO: &str = "stop = '1 s'\n[parameters]\na = 1.0\nb = 2.0\ndelay = '1 ms'\n\
    [unit.x]\nkind = 'constant'\nvalue = 'a + b + delay'\n[result]\ny = 'final(x.y)'\nz = 'y/2'\n";

/// Questions of all methods.
const STUDY: &str = "
scenario = 'scenario.toml'
[vary]
a = { from = 0.0, to = 4.0, step = 0.001 }
b = [1, 2, 3]
delay = { from = '1 ms', to = '2 s' }
[replicate]
least = 3
most = 20
until = { y = 0.3 }
[ask.rises]
method = 'boundary'
over = 'a'
keep = 'y > 1.5'
replicate = 1
[ask.noisy]
method = 'boundary'
over = 'a'
keep = 'y > 2.5'
[ask.map]
method = 'grid'
over = { a = 5, b = [1, 3] }
[ask.cube]
method = 'latin-hypercube'
over = ['a', 'delay']
samples = 10
[ask.even]
method = 'sobol'
over = ['a', 'delay']
samples = 16
set = { b = 1.5 }
";

/// The double's answer to a point.
type Does = fn(&Sets, Option<u64>, &Pulse) -> Result<Row, Lost>;

/// Stands for a scenario, and takes uneven times.
struct Double {
    names: Vec<String>,
    does: Does,
    runs: AtomicUsize,
}

impl Runner for Double {
    type Plan = (Sets, Option<u64>);

    fn results(&self) -> &[String] {
        &self.names
    }

    fn plan(&self, sets: &Sets, seed: Option<u64>) -> Result<(u64, Self::Plan), String> {
        let mut digest = Digest::new();
        sets.iter().for_each(|(k, v)| digest.bytes(format!("{k}={v}").as_bytes()));
        Ok((digest.finish(), (sets.clone(), seed)))
    }

    fn run(&self, (sets, seed): Self::Plan, pulse: &Pulse) -> Result<Row, Lost> {
        let n = self.runs.fetch_add(1, Ordering::Relaxed) as u64;
        thread::sleep(Duration::from_micros(n * 7919 % 500));
        (self.does)(&sets, seed, pulse)
    }
}

fn number(sets: &Sets, name: &str) -> f64 {
    let text = sets.iter().rev().find(|(k, _)| k == name).map_or("0", |(_, v)| v);
    text.split(' ').next().unwrap().parse().unwrap()
}

/// a + noise, b.
fn noisy(sets: &Sets, seed: Option<u64>, _: &Pulse) -> Result<Row, Lost> {
    let noise = seed.map_or(0.0, |s| s as f64 / 2f64.powi(53) - 0.5);
    let results = vec![Some(number(sets, "a") + noise), Some(number(sets, "b"))];
    Ok(Row { trace_hash: "0123456789abcdef".into(), results })
}

fn double(does: Does) -> Double {
    Double { names: vec!["y".into(), "z".into()], does, runs: AtomicUsize::new(0) }
}

fn study_of(folder: &Folder, text: &str) -> (Study, ScenarioRunner) {
    folder.write("scenario.toml", SCENARIO);
    Study::read(&folder.write("study.toml", text), &[]).unwrap_or_else(|d| panic!("{d}"))
}

/// The outcome of a study.
struct Ran {
    csv: String,
    json: String,
    fresh: usize,
    lost: usize,
}

/// Runs a study with its store in this folder, until it has heard of `most` runs.
fn some(
    study: &Study,
    runner: &impl Runner,
    (folder, workers, most): (&Folder, usize, usize),
) -> Option<Ran> {
    let file = folder.0.join("study.sqlite");
    let (store, known) = Store::open(&file, &study.results, false, &[]).unwrap();
    let limits = Limits { workers, timeout: study.timeout, piece: None };
    // It is asked whenever a run is there, however fast they come.
    let heard = std::cell::Cell::new(0);
    let stop = || {
        heard.set(heard.get() + 1);
        heard.get() > most
    };
    let found = conduct(study, runner, (&store, &known), limits, &stop, &mut |_| ()).unwrap();
    store.close().unwrap();
    let found = found?;
    let json = answer::json(&answer::answers(study, &found));
    Some(Ran {
        csv: table::csv(study, &found),
        json: String::from_utf8(json).unwrap(),
        fresh: found.fresh,
        lost: found.lost(),
    })
}

fn all(study: &Study, runner: &impl Runner, folder: &Folder, workers: usize) -> Ran {
    some(study, runner, (folder, workers, usize::MAX)).unwrap()
}

#[test]
fn files_do_not_depend_on_workers() {
    let folder = Folder::new("study-workers");
    let (study, _) = study_of(&folder, STUDY);
    let mut first: Option<Ran> = None;
    for workers in [1, 2, 7] {
        let of = Folder::new(&format!("study-workers-{workers}"));
        let ran = all(&study, &double(noisy), &of, workers);
        assert!(ran.fresh > 100 && ran.lost == 0, "{} runs", ran.fresh);
        if let Some(first) = &first {
            assert_eq!((&ran.csv, &ran.json), (&first.csv, &first.json), "{workers} workers");
        }
        first.get_or_insert(ran);
    }
    let text = first.unwrap().json;
    assert!(text.contains("\"holds\": 1.501,\n    \"fails\": 1.5,"), "{text}");
    assert!(text.contains("\"band\""), "{text}");
}

#[test]
fn a_study_that_was_stopped_goes_on() {
    let folder = Folder::new("study-stopped");
    let (study, _) = study_of(&folder, STUDY);
    let whole = all(&study, &double(noisy), &Folder::new("study-whole"), 2);
    let parts = Folder::new("study-parts");
    let runner = double(noisy);
    let mut stops = 0;
    let last = loop {
        let most = 20 * (stops + 1);
        match some(&study, &runner, (&parts, 2, most)) {
            Some(ran) => break ran,
            None => stops += 1,
        }
        assert!(stops < 100);
    };
    assert_eq!((&last.csv, &last.json), (&whole.csv, &whole.json));
    // Runs that were under way when the study was stopped are lost, and no others.
    let runs = runner.runs.load(Ordering::Relaxed);
    assert!(stops > 0 && runs <= whole.fresh + 2 * stops * 2, "{runs} of {}", whole.fresh);
    // Nothing is left to do.
    assert_eq!(all(&study, &runner, &parts, 2).fresh, 0);
}

#[test]
fn a_directory_belongs_to_one_study() {
    let folder = Folder::new("study-other");
    let (study, _) = study_of(&folder, STUDY);
    let out = folder.0.join("out");
    let open = |name: &str| {
        let file = folder.write(name, STUDY);
        Home::open(&study, &file, &out, false).and_then(Home::close)
    };
    open("first.toml").expect("a fresh directory");
    open("first.toml").expect("its own directory");
    let error = open("second.toml").expect_err("the directory of another study").to_string();
    assert!(error.contains("first.toml") && error.contains("--out"), "{error}");
    std::fs::rename(folder.0.join("first.toml"), folder.0.join("moved.toml")).expect("moved");
    open("moved.toml").expect("a study file that was moved");
}

#[test]
fn more_samples_add_only_new_runs_and_questions_share_them() {
    let folder = Folder::new("study-samples");
    let ask = |name: &str, n: u32| {
        format!("[ask.{name}]\nmethod = 'sobol'\nover = ['a', 'b']\nsamples = {n}\n")
    };
    let head = "scenario = 'scenario.toml'\n[vary]\na = { from = 0.0, to = 1.0 }\nb = [1, 2]\n";
    let runner = double(noisy);
    for (asks, fresh) in [
        (ask("few", 16), 16),
        (ask("many", 64), 48),
        (ask("few", 16) + &ask("other", 64), 0),
        (format!("# a comment\n{}", ask("few", 32)), 0),
    ] {
        let (study, _) = study_of(&folder, &format!("{head}{asks}"));
        assert_eq!(all(&study, &runner, &folder, 2).fresh, fresh, "{asks}");
    }
    // Replicates of another seed are other runs.
    let (study, _) = study_of(&folder, &format!("seed = 2\n{head}{}", ask("few", 16)));
    assert_eq!(all(&study, &runner, &folder, 2).fresh, 16);
}

const GRID: &str = "scenario = 'scenario.toml'\n[vary]\na = { from = 0.0, to = 4.0 }\n\
    [ask.map]\nmethod = 'grid'\nover = { a = 5 }\n";

#[test]
fn failures_are_rows() {
    let folder = Folder::new("study-failures");
    let (study, _) = study_of(&folder, GRID);
    let fails = |sets: &Sets, seed, pulse: &Pulse| match number(sets, "a") {
        1.0 => Err(Lost::Failed("it broke".into())),
        2.0 => panic!("a panic of a test"),
        _ => noisy(sets, seed, pulse),
    };
    let ran = all(&study, &double(fails), &folder, 2);
    assert_eq!(ran.lost, 2);
    let rows: Vec<&str> = ran.csv.lines().collect();
    assert_eq!(
        rows,
        [
            "ask,point,replicate,a,y,z,status,trace_hash",
            "map,0,0,0,0,0,done,0123456789abcdef",
            "map,1,0,1,,,failed,",
            "map,2,0,2,,,failed,",
            "map,3,0,3,3,0,done,0123456789abcdef",
            "map,4,0,4,4,0,done,0123456789abcdef",
        ]
    );
    assert!(ran.json.contains("\"failed\": 2,\n    \"incomplete\": true"), "{}", ran.json);
    // They stay failed until they are to be done again.
    let again = all(&study, &double(noisy), &folder, 2);
    assert_eq!((again.lost, again.fresh), (2, 0));
    Store::open(&folder.0.join("study.sqlite"), &study.results, true, &[])
        .unwrap()
        .0
        .close()
        .unwrap();
    let again = all(&study, &double(noisy), &folder, 2);
    assert_eq!((again.lost, again.fresh), (0, 2));
}

/// Points that have all their replicates and are not as exact as was asked are counted; equal values are one point.
#[test]
fn intervals_that_stay_wide_are_told() {
    for (until, told) in [("0.01", Some(2)), ("9.0", None)] {
        let text = format!(
            "scenario = 'scenario.toml'\n[vary]\na = [1.0, 2.0, 1]\n\
             [replicate]\nleast = 4\nmost = 6\nuntil = {{ y = {until} }}\n\
             [ask.g]\nmethod = 'grid'\nover = {{ a = 3 }}\n"
        );
        let folder = Folder::new("study-wide");
        let (study, _) = study_of(&folder, &text);
        let ran = all(&study, &double(noisy), &folder, 1);
        let json: Json = serde_json::from_str(&ran.json).unwrap();
        let answer = json.pointer("/answers/g").or(json.pointer("/g")).unwrap_or(&json);
        assert_eq!(answer["points"], 2, "{}", ran.json);
        assert_eq!(answer["wide"].as_u64(), told, "{}", ran.json);
    }
}

/// Steps of temperatures on a scale count from its zero, and not from that of the kelvin.
#[test]
fn temperatures_go_in_steps_of_their_scale() {
    let scenario = "stop = '1 s'\n[parameters]\na = '20 degC'\n[unit.x]\nkind = 'constant'\nvalue = 'a'\n\
                    [result]\ny = 'final(x.y)'\n";
    for (step, from) in [("1 K", "15 degC"), ("0.5 degC", "15 degC"), ("0.1 K", "59 degF")] {
        let to = if from.ends_with('F') { "77 degF" } else { "25 degC" };
        let text = format!(
            "scenario = 'scenario.toml'\n[vary]\na = {{ from = '{from}', to = '{to}', step = '{step}' }}\n\
             [ask.map]\nmethod = 'grid'\nover = {{ a = 11 }}\n"
        );
        let folder = Folder::new("study-temperatures");
        folder.write("scenario.toml", scenario);
        let study = Study::read(&folder.write("study.toml", &text), &[]);
        let (study, runner) = study.unwrap_or_else(|d| panic!("{d}"));
        let ran = all(&study, &runner, &folder, 1);
        let wanted = (0..11).map(|k| 288.15 + f64::from(k));
        let cells =
            ran.csv.lines().skip(1).map(|row| row.split(',').nth(4).unwrap().parse::<f64>());
        for (cell, wanted) in cells.zip(wanted) {
            let found = cell.unwrap();
            let near = if from.ends_with('F') { 0.051 } else { 1e-9 };
            assert!((found - wanted).abs() < near, "{step}: {found}, not {wanted}");
        }
    }
}

/// Replicates that are one run are told: an interval without a width would be taken for certainty.
#[test]
fn replicates_that_follow_no_seed_are_told() {
    let scenario = |kind: &str| {
        format!(
            "stop = '50 s'\nconnections = ['a.out -> s.in']\n[parameters]\nlevel = 1.0\n\
             [unit.a]\nkind = 'arrivals'\n{kind}\n[unit.s]\nkind = 'sink'\n[result]\nn = 'level*final(s.count)'\n"
        )
    };
    let text = "scenario = 'scenario.toml'\n[vary]\nlevel = [1, 2]\n[replicate]\nleast = 3\nmost = 3\n\
                [ask.map]\nmethod = 'grid'\nover = ['level']\n";
    for (kind, alike) in [("rate = 2.0", false), ("rate = 2.0\nminstd = 12345", true)] {
        let folder = Folder::new("study-alike");
        folder.write("scenario.toml", scenario(kind));
        let study = Study::read(&folder.write("study.toml", text), &[]);
        let (study, runner) = study.unwrap_or_else(|d| panic!("{d}"));
        let ran = all(&study, &runner, &folder, 1);
        assert_eq!(
            ran.json.contains("the same run, as nothing in it follows the seed"),
            alike,
            "{}",
            ran.json
        );
    }
}

/// Listed values are quantities of the parameter, in the table as `[vary]` has them; a value that the question sets
/// stands there, too.
#[test]
fn listed_values_are_those_of_the_interval() {
    let scenario = "stop = '1 s'\n[parameters]\na = '20 degC'\nb = '1 s'\n[unit.x]\nkind = 'constant'\nvalue = 'a'\n\
                    [unit.z]\nkind = 'constant'\nvalue = 'b'\n[result]\ny = 'final(x.y)'\nz = 'final(z.y)'\n";
    let text = "scenario = 'scenario.toml'\n[vary]\na = { from = '0 degC', to = '40 degC', step = '1 K' }\n\
                b = { from = '1 s', to = '1 h' }\n\
                [ask.map]\nmethod = 'grid'\nover = { a = ['10 degC', '293.15 K', 30], b = ['5 min'] }\n\
                [ask.own]\nmethod = 'grid'\nover = { a = ['10 degC'] }\nset = { b = '2 min' }\n\
                [ask.file]\nmethod = 'list'\nfile = 'points.csv'\n";
    let folder = Folder::new("study-listed");
    folder.write("scenario.toml", scenario);
    folder.write("points.csv", "b,a\n1 min,25\n90,313.15 K\n");
    let study = Study::read(&folder.write("study.toml", text), &[]);
    let (study, runner) = study.unwrap_or_else(|d| panic!("{d}"));
    let ran = all(&study, &runner, &folder, 1);
    let rows: Vec<Vec<&str>> =
        ran.csv.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let wanted = [
        ("map", 10.0, 300.0),
        ("map", 20.0, 300.0),
        ("map", 30.0, 300.0),
        ("own", 10.0, 120.0),
        ("file", 25.0, 60.0),
        ("file", 40.0, 90.0),
    ];
    assert_eq!(rows.len(), wanted.len(), "{}", ran.csv);
    for (row, (ask, celsius, seconds)) in rows.iter().zip(wanted) {
        let [a, b, y, z] = [3, 4, 5, 6].map(|k| row[k].parse::<f64>().unwrap());
        assert!(row[0] == ask && (a - celsius).abs() < 1e-9 && b == seconds, "{row:?}");
        assert!((y - 273.15 - celsius).abs() < 1e-9 && z == seconds, "{row:?}");
    }
}

#[test]
fn runs_that_take_too_long_are_ended() {
    let folder = Folder::new("study-timeout");
    let (study, _) = study_of(&folder, &format!("timeout = '200 ms'\n{GRID}"));
    let endless = |sets: &Sets, seed, pulse: &Pulse| match number(sets, "a") {
        1.0 => loop {
            if pulse.interrupted() {
                return Err(Lost::Interrupted);
            }
            thread::sleep(Duration::from_millis(1));
        },
        _ => noisy(sets, seed, pulse),
    };
    let ran = all(&study, &double(endless), &folder, 2);
    assert_eq!(ran.lost, 1);
    assert!(ran.csv.contains("map,1,0,1,,,timeout,"), "{}", ran.csv);
}

/// M/M/1: the mean sojourn time is 1/(mu - lambda).
const QUEUE: &str = "
stop = '40 s'
sample = 'none'
record = ['sink.mean']
connections = ['source.out -> server.in', 'server.out -> sink.in']
[parameters]
lambda = 5
mu = 10
[unit.source]
kind = 'arrivals'
rate = 'lambda'
[unit.server]
kind = 'server'
rate = 'mu'
[unit.sink]
kind = 'sink'
warm_up = '4 s'
[result]
sojourn = 'final(sink.mean)'
";

/// The study of a queue, whose own seed is another one, too.
fn queue(seed: u64, replicates: u32, over: &str) -> Ran {
    let folder = Folder::new(&format!("study-queue-{seed}"));
    folder.write("queue.toml", QUEUE);
    let text = format!(
        "scenario = 'queue.toml'\nseed = {seed}\nset = {{ seed = {} }}\n[vary]\nmu = [{over}]\n[ask.mu]\nmethod = 'grid'\n\
         over = ['mu']\nreplicate = {replicates}\n",
        seed + 1000
    );
    let (study, runner) =
        Study::read(&folder.write("s.toml", text), &[]).unwrap_or_else(|d| panic!("{d}"));
    let ran = all(&study, &runner, &folder, 2);
    assert_eq!(ran.lost, 0, "{}", ran.csv);
    ran
}

/// 95 % intervals of ten replicates contain the true mean in 95 % of studies, but for chance: of 200 in
/// 91 to 98 %.
#[test]
fn intervals_of_a_queue_cover_the_truth() {
    let studies = if std::env::var_os("SUPERDENSE_LONG").is_some() { 200 } else { 40 };
    let mut covered = 0;
    for seed in 1..=studies {
        let answers: Json = serde_json::from_str(&queue(seed, 10, "10").json).unwrap();
        let mean = &answers["mu"]["means"][0]["results"]["sojourn"];
        let (low, high) = (mean["low"].as_f64().unwrap(), mean["high"].as_f64().unwrap());
        covered += u32::from(low <= 0.2 && 0.2 <= high);
    }
    let share = f64::from(covered) / studies as f64;
    println!("{covered} of {studies} intervals cover the mean");
    // Of 40 studies, 95 % but for three standard deviations.
    let (least, most) = if studies == 200 { (0.91, 0.98) } else { (0.84, 1.0) };
    assert!((least..=most).contains(&share), "{covered} of {studies}");
}

fn variance(x: &[f64]) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (x.len() - 1) as f64
}

/// The difference that a faster server makes is known by fewer runs where both have their customers in
/// common.
#[test]
fn common_numbers_cut_the_variance_of_a_difference() {
    let csv = queue(1, 64, "10, 10.5").csv;
    let mut found: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for row in csv.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>()) {
        found[row[1].parse::<usize>().unwrap()].push(row[4].parse().unwrap());
    }
    let difference: Vec<f64> = found[0].iter().zip(&found[1]).map(|(a, b)| a - b).collect();
    let apart = variance(&found[0]) + variance(&found[1]);
    let cut = apart / variance(&difference);
    println!("variance of the difference: {cut:.1} times smaller");
    assert!(cut >= 5.0, "{cut}");
}

/// Resident bytes of this process.
#[cfg(target_os = "linux")]
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// Runs leave nothing behind but their rows.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat() {
    let runs = if std::env::var_os("SUPERDENSE_LONG").is_some() { 20_000 } else { 1_000 };
    let folder = Folder::new("study-memory");
    let (_, runner) = study_of(&folder, GRID);
    let once = |from: usize, to: usize| {
        for i in from..to {
            let sets = vec![("a".to_owned(), format!("{i}.5"))];
            let (_, plan) = runner.plan(&sets, Some(i as u64)).unwrap();
            let row = runner.run(plan, &Pulse::default()).unwrap();
            assert_eq!(row.results.len(), 2);
        }
    };
    once(0, runs / 10);
    let before = resident();
    once(runs / 10, runs);
    let grown = resident() - before;
    println!("{grown} bytes more after {runs} runs");
    assert!(grown < 2e6 + 20.0 * runs as f64, "{grown} bytes after {runs} runs");
}

/// The study in the guide to the format is read and run.
#[test]
fn the_guide_has_a_study() {
    let guide = std::fs::read_to_string("../docs/format.md").unwrap();
    let text = guide.split("~~~toml\n").nth(1).and_then(|t| t.split("~~~").next()).unwrap();
    let folder = Folder::new("study-guide");
    let (study, runner) = study_of(&folder, text);
    let ran = all(&study, &runner, &folder, 2);
    assert!(ran.lost == 0 && ran.fresh > 100, "{}", ran.csv);
    assert!(ran.json.contains("\"holds\": 1.5,\n    \"fails\": 1.499,"), "{}", ran.json);
}

/// A comparison is judged by the mean of the replicates, any other condition by the share of those that hold.
#[test]
fn the_judgement_of_replicates_is_told() {
    let folder = Folder::new("study-judged");
    for (keep, by, words) in
        [("y > 2.5", "mean", "on average"), ("y > 2.5 and z > -1e9", "share", "in most runs")]
    {
        let text = format!(
            "scenario = 'scenario.toml'\n[vary]\na = {{ from = 0.0, to = 4.0, step = 0.1 }}\n[replicate]\nleast = 9\n\
             [ask.noisy]\nmethod = 'boundary'\nover = 'a'\nkeep = '{keep}'\n"
        );
        let (study, _) = study_of(&folder, &text);
        let json = all(&study, &double(noisy), &folder, 1).json;
        assert!(
            json.contains(&format!("\"judged_by\": \"{by}\"")) && json.contains(words),
            "{json}"
        );
    }
}
