//! `superdense study` as its users meet it: answers, equal files, kills, failures, single runs.
use super::{folder, good, json, read, superdense};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Grows without bound where `a` is large.
const SCENARIO: &str = "
stop = '10 s'
connections = ['pulses.y -> count.u']
[parameters]
a = 0.05
steps = '10 ms'
[unit.x]
kind = 'equations'
states = { x = 1.0 }
derivatives = { x = 'a*x^2' }
outputs = { x = 'x' }
[unit.pulses]
kind = 'clock'
period = 'steps'
[unit.count]
kind = 'counter'
[result]
top = 'max(x.x)'
";

/// Where the shipped studies are.
fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("library/studies").join(name)
}

fn scenario(name: &str, study: &str) -> PathBuf {
    let dir = folder(name);
    fs::write(dir.join("growth.toml"), SCENARIO).unwrap();
    fs::write(dir.join("study.toml"), study).unwrap();
    dir
}

fn files(dir: &Path) -> [String; 2] {
    [read(dir, "results.csv"), read(dir, "answers.json")]
}

/// How much delay load shedding stands, with any number of workers, and when it is asked again.
#[test]
fn delay_limit_of_load_shedding() {
    let dir = folder("study-delay");
    let study = shipped("s1c_delay.toml").display().to_string();
    let mut first: Option<[String; 2]> = None;
    for workers in [1, 2, 7] {
        let told = good(&dir, &format!("study {study} --workers {workers} --out w{workers}"));
        let line =
            "nadir > 59.3 holds up to network.delay = 1.1597 s, fails from 1.1598 s  26 runs";
        assert!(told.contains(line), "{told}");
        assert!(told.contains("26 runs, 26 of them new"), "{told}");
        let files = files(&dir.join(format!("w{workers}")));
        assert!(first.get_or_insert_with(|| files.clone()) == &files, "{workers} workers");
    }
    let answers = json(&first.as_ref().unwrap()[1]);
    assert_eq!(answers["limit"]["holds"], 1.1597);
    assert_eq!(answers["limit"]["fails"], 1.1598);
    assert_eq!(answers["limit"]["runs"], 26);
    let again = good(&dir, &format!("study {study} --out w2"));
    assert!(again.contains("26 runs, 0 of them new"), "{again}");
    assert_eq!(Some(files(&dir.join("w2"))), first);
}

#[test]
fn other_shipped_studies_have_answers() {
    let dir = folder("study-shipped");
    for (name, ask, set, points) in [
        ("rooms_price", "price", "--set units=20", 12),
        // Without loss all replicates are equal: few runs.
        ("s1c_map", "map", "--set duration=4", 12),
    ] {
        let study = shipped(&format!("{name}.toml")).display().to_string();
        let told = good(&dir, &format!("study {study} {set} --json"));
        let told = json(&told);
        assert_eq!(told["answers"][ask]["points"], points, "{told}");
        assert_eq!(told["failed"], 0, "{told}");
        let means = told["answers"][ask]["means"].as_array().unwrap();
        assert!(means.iter().all(|m| m["replicates"].as_u64() >= Some(4)), "{told}");
    }
}

/// A study that takes a while.
const LONG: &str = "
scenario = 'growth.toml'
[vary]
a = { from = 0.01, to = 0.09, step = 0.0001 }
steps = ['1 ms', '0.5 ms']
[ask.map]
method = 'grid'
over = { a = 60, steps = ['1 ms', '0.5 ms'] }
[ask.limit]
method = 'boundary'
over = 'a'
keep = 'top < 3'
";

/// kill -9 at any instant loses runs under way only, and the files are equal in the end.
#[test]
fn kills_change_nothing() {
    let dir = scenario("study-kill", LONG);
    let kills = if std::env::var_os("SUPERDENSE_LONG").is_some() { 20 } else { 4 };
    good(&dir, "study study.toml --out whole");
    let mut seed = 1u64;
    let mut killed = 0;
    for _ in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = Command::new(env!("CARGO_BIN_EXE_superdense"))
            .current_dir(&dir)
            .args(["study", "study.toml", "--out", "parts", "--workers", "2", "--quiet"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(20 + (seed >> 33) % 200));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
    }
    good(&dir, "study study.toml --out parts --workers 1");
    assert_eq!(files(&dir.join("parts")), files(&dir.join("whole")));
    println!("{killed} of {kills} were killed before their end");
}

/// Runs that fail are rows and exit code 3; done again they are the same, and others are not done.
#[test]
fn failures_have_rows_and_an_exit_code() {
    let study = "scenario = 'growth.toml'\n[vary]\na = [0.05, 0.5]\n[ask.both]\nmethod = 'grid'\n\
                 over = ['a']\n";
    let dir = scenario("study-failures", study);
    for (options, fresh) in [("", 2), ("", 0), (" --retry-failed", 1)] {
        let done = superdense(&dir, &format!("study study.toml{options}"));
        let (out, err) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.code(), Some(3), "{out}{err}");
        assert!(out.contains(&format!("2 runs, {fresh} of them new")), "{out}");
        assert!(err.contains("1 run has no results; point 1 replicate 0: "), "{err}");
        assert!(err.contains("--retry-failed"), "{err}");
    }
    let rows = read(&dir, "out/study/results.csv");
    assert!(rows.contains("both,1,0,0.5,,failed,\n"), "{rows}");
    let told = superdense(&dir, "study study.toml --json");
    let object = json(&String::from_utf8_lossy(&told.stdout));
    assert_eq!((&object["exit_code"], &object["failed"]), (&3.into(), &1.into()));
    assert_eq!(object["answers"]["both"]["incomplete"], true);
}

/// A study that is not at its end has a report of its runs so far, with those that failed.
#[test]
fn a_study_under_way_has_a_report() {
    let study = "scenario = 'growth.toml'\n[vary]\na = [0.02, 0.05, 0.5]\nsteps = ['10 ms', '0.1 s']\n\
                 [ask.all]\nmethod = 'grid'\nover = ['a', 'steps']\n";
    let dir = scenario("study-under-way", study);
    let refused = superdense(&dir, "report .");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("holds no run"), "{refused:?}");
    assert_eq!(superdense(&dir, "study study.toml").status.code(), Some(3));
    let data = |page: &str| {
        let begin = page.find("<script type=\"application/json\"").unwrap();
        let text = &page[begin..];
        let text = &text[text.find('>').unwrap() + 1..text.find("</script>").unwrap()];
        json(&text.replace("\\u003c", "<"))
    };
    good(&dir, "report out/study --out whole.html");
    let whole = data(&read(&dir, "whole.html"));
    // Tables are written at the end.
    fs::remove_file(dir.join("out/study/results.csv")).unwrap();
    good(&dir, "report out/study --out parts.html");
    let parts = data(&read(&dir, "parts.html"));
    assert!(parts["rerun"].is_null(), "{parts}");
    assert!(parts["remarks"].to_string().contains("not at its end"), "{parts}");
    let points = |data: &serde_json::Value| {
        let all = data["questions"][0]["points"].as_array().unwrap().clone();
        let mut rows: Vec<String> = all
            .iter()
            .map(|p| format!("{} {} {} {}", p["at"], p["results"], p["runs"], p["lost"]))
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(points(&parts), points(&whole));
    assert_eq!(points(&parts).len(), 6);
}

/// One run of a study, with all of its files, is the run of the study.
#[test]
fn single_runs_have_the_hash_of_the_study() {
    let study = "scenario = 'growth.toml'\n[vary]\na = [0.02, 0.05]\n[result]\nhalf = 'top/2'\n\
                 [ask.both]\nmethod = 'grid'\nover = ['a']\nreplicate = 2\n";
    let dir = scenario("study-rerun", study);
    good(&dir, "study study.toml");
    let rows = read(&dir, "out/study/results.csv");
    let hash = |point: &str, replicate: &str| {
        let mut rows = rows.lines().map(|l| l.split(',').collect::<Vec<_>>());
        let row = rows.find(|r| r[1] == point && r[2] == replicate);
        row.and_then(|r| r.last().map(|h| (*h).to_owned())).unwrap()
    };
    for (options, point, replicate) in
        [("1", "1", "0"), ("0 1", "0", "1"), ("--min half", "0", "0"), ("--max top", "1", "0")]
    {
        good(&dir, &format!("study rerun out/study {options}"));
        let summary = read(&dir, &format!("out/study/point-{point}-{replicate}/summary.json"));
        let summary = json(&summary);
        assert_eq!(summary["trace_hash"], hash(point, replicate), "{options}");
        assert!(summary["results"]["half"].is_f64(), "{summary}");
    }
    let again = || {
        let done = superdense(&dir, "study rerun out/study 1");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(!again().contains("has changed since"));
    let text = read(&dir, "growth.toml");
    fs::write(dir.join("growth.toml"), format!("{text}\n[result.later]\nvalue = 'top + 1'\n"))
        .unwrap();
    assert!(again().contains("has changed since"));
    for (options, says) in [
        ("out/study 7", "points have the numbers 0 to 1"),
        ("out/study --min tops", "results are top, half"),
        ("out/nothing 0", "there is no study here"),
        ("out/study", "required"),
    ] {
        let done = superdense(&dir, &format!("study rerun {options}"));
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && err.contains(says), "{options}: {err}");
    }
}

/// A point is the settings, in whatever order a question names them.
#[test]
fn points_have_no_order_of_settings() {
    let study = "scenario = 'growth.toml'\n[vary]\na = [0.02, 0.05]\nsteps = ['10 ms', '20 ms']\n\
                 [ask.one]\nmethod = 'grid'\nover = ['steps', 'a']\n\
                 [ask.two]\nmethod = 'grid'\nover = ['a', 'steps']\n";
    let dir = scenario("study-order", study);
    let told = good(&dir, "study study.toml");
    assert!(told.contains("4 of them new"), "{told}");
    let again = superdense(&dir, "study rerun out/study 1");
    let again = String::from_utf8_lossy(&again.stderr);
    assert!(!again.contains("has changed since"), "{again}");
}

#[test]
fn options_of_studies() {
    let dir = scenario("study-options", LONG);
    let dry = good(&dir, "study study.toml --dry-run");
    assert!(
        dry.contains("120 runs") && dry.contains("about ") && dry.contains("one run took"),
        "{dry}"
    );
    assert!(!dir.join("out").exists());
    let told = good(&dir, "study study.toml --ask limit --set steps=1");
    assert!(told.contains("limit  top < 3 holds up to a = 0.0666, fails from 0.0667"), "{told}");
    assert!(!told.contains("map"), "{told}");
    let answers = json(&read(&dir, "out/study/answers.json"));
    let words = answers["limit"]["words"].as_str().unwrap();
    assert!(told.contains(words) && words.starts_with("top < 3 holds up to"), "{answers}");
    for (options, says) in [
        ("study.toml --ask limits", "questions are map, limit"),
        ("study.toml --set b=1", "the scenario has no `b` to set"),
        ("study.toml --workers 0", "--workers"),
        ("missing.toml", "does not exist"),
        ("", "<FILE>"),
    ] {
        let done = superdense(&dir, &format!("study {options}"));
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && err.contains(says), "{options}: {err}");
    }
    let done = superdense(&dir, "study export out/study --parquet");
    if cfg!(feature = "parquet") {
        assert!(done.status.success() && dir.join("out/study/results.parquet").is_file());
    } else {
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && err.contains("--features parquet"), "{err}");
    }
    // The results of a run are nobody else's.
    good(&dir, "run growth.toml --out taken");
    let done = superdense(&dir, "study study.toml --ask limit --out taken");
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && err.contains("choose another directory"), "{err}");
    fs::write(dir.join("out/study/study.sqlite"), "no store of a study, but a text").unwrap();
    let done = superdense(&dir, "study study.toml --ask limit");
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && err.contains("it is no store"), "{err}");
}

/// The study of the tutorial, with its scenario, gives the line that the page prints.
#[test]
fn the_tutorial_ends_in_its_answer() {
    let dir = folder("tutorial");
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tutorial.md")).unwrap();
    for (fence, name) in [("```toml\n", "radio.toml"), ("~~~toml\n", "delay.toml")] {
        let mut parts = page.split(fence).skip(1);
        let part = parts.find(|part| part.starts_with(&format!("# {name}"))).unwrap();
        let (text, _) = part.split_once(&fence[..3]).unwrap();
        fs::write(dir.join(name), text).unwrap();
    }
    let said = good(&dir, "study delay.toml");
    let told = page.lines().find(|line| line.starts_with("  limit")).unwrap();
    assert!(said.contains(told), "{said}");
}

/// A grid with replicates beside a search.
const PIECED: &str = "
scenario = 'growth.toml'
[vary]
a = { from = 0.01, to = 0.09, step = 0.0001 }
[ask.limit]
method = 'boundary'
over = 'a'
keep = 'top < 2'
[ask.map]
method = 'grid'
over = { a = 5 }
replicate = 3
";

/// The commands that a list has.
fn listed(dir: &Path, options: &str) -> Vec<String> {
    let told = good(dir, &format!("study study.toml --on list {options}"));
    let pieces = told.lines().filter(|l| l.contains("--piece")).map(str::to_owned);
    pieces.collect()
}

/// Carries out a command of a list from another folder.
fn carried_out(command: &str) {
    let line = command.strip_prefix("superdense ").expect("our program");
    good(&std::env::temp_dir(), line);
}

/// Pieces of a study, in any order and with one that is lost, come to the tables of a local one.
#[test]
fn pieces_come_to_the_whole() {
    let dir = scenario("study-pieces", PIECED);
    good(&dir, "study study.toml --out local");
    let mut rounds = 0;
    loop {
        let pieces = listed(&dir, "--pieces 4 --out pieces");
        if pieces.is_empty() {
            break;
        }
        rounds += 1;
        assert!(pieces.len() <= 4 && rounds < 12, "{pieces:?}");
        // In the first round one is never done.
        pieces.iter().rev().skip(usize::from(rounds == 1)).for_each(|p| carried_out(p));
    }
    assert!(rounds > 2, "a search has rounds");
    assert_eq!(files(&dir.join("pieces")), files(&dir.join("local")));
    // Half a list, and the rest here.
    let pieces = listed(&dir, "--pieces 2 --out half");
    carried_out(&pieces[1]);
    let told = good(&dir, "study study.toml --out half");
    assert!(!told.contains("0 of them new"), "{told}");
    assert_eq!(files(&dir.join("half")), files(&dir.join("local")));
    // Failed runs are done again by their pieces, too.
    let pieces = listed(&dir, "--pieces 1 --out again --retry-failed");
    assert!(pieces[0].ends_with("--retry-failed"), "{pieces:?}");
    carried_out(&pieces[0]);
    for (line, part) in [
        ("--piece 9/8", "such as 3/8"),
        ("--piece 0/8", "such as 3/8"),
        ("--on dask", "dask:HOST:PORT"),
        ("--on list --piece 1/2", "cannot be used with"),
    ] {
        let output = superdense(&dir, &format!("study study.toml {line}"));
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && err.contains(part), "{line}: {err}");
    }
}
