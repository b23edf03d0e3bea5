//! Studies that are driven from outside: points that are asked for by hand, runs that are done elsewhere.
use crate::Folder;
use std::path::PathBuf;
use superdense::{
    run::pulse::Pulse,
    study::{
        ANSWERS, Asked, Home, Limits, Lost, RESULTS, Reader, Row, Runner, STORE, ScenarioRunner,
        Sets, Study, StudyError,
    },
};

const SCENARIO: &str = "stop = '1 s'\n[parameters]\na = 1.0\ndelay = '1 ms'\nmode = 1\n\
    [unit.x]\nkind = 'constant'\nvalue = 'a + delay + mode'\n[result]\ny = 'final(x.y)'\n";

const STUDY: &str = "scenario = 'scenario.toml'\nseed = 7\n[vary]\n\
    a = { from = 0.0, to = 4.0, step = 0.5 }\ndelay = { from = '1 ms', to = '2 s' }\nmode = [1, 2]\n\
    [ask.map]\nmethod = 'grid'\nover = { a = 5 }\n";

const LIMITS: Limits = Limits { workers: 2, timeout: None, piece: None };

/// A study in a folder of a test.
struct Given {
    folder: Folder,
    file: PathBuf,
    study: Study,
    runner: ScenarioRunner,
}

impl Given {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        folder.write("scenario.toml", SCENARIO);
        let file = folder.write("study.toml", STUDY);
        let (study, runner) = Study::read(&file, &[]).unwrap_or_else(|d| panic!("{d}"));
        Self { folder, file, study, runner }
    }

    fn out(&self) -> PathBuf {
        self.folder.0.join("out")
    }

    fn home(&self) -> Home {
        Home::open(&self.study, &self.file, &self.out(), false).unwrap()
    }

    fn ask(&self, home: &Home, values: &[(&str, &str)], r: u32) -> Result<Asked, StudyError> {
        let values: Vec<_> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        home.ask(&self.study, &self.runner, &values, r)
    }

    /// Answers all questions; how many runs that took.
    fn answer(&self, home: &mut Home, runner: &impl Runner) -> usize {
        let found = home.conduct(&self.study, runner, LIMITS, &|| false, &mut |_| ()).unwrap();
        let found = found.unwrap();
        assert_eq!(home.write(&self.study, &found).unwrap().len(), 1);
        found.fresh
    }

    fn files(&self) -> [String; 2] {
        [RESULTS, ANSWERS].map(|name| std::fs::read_to_string(self.out().join(name)).unwrap())
    }
}

fn run(runner: &ScenarioRunner, asked: &Asked) -> Row {
    let (_, plan) = runner.plan(&asked.sets, asked.seed).unwrap();
    runner.run(plan, &Pulse::default()).unwrap()
}

#[test]
fn the_store_remembers_runs_that_were_told() {
    let given = Given::new("asked-told");
    let mut home = given.home();
    let values = [("delay", "50 ms"), ("a", "1.6")];
    let asked = given.ask(&home, &values, 0).unwrap();
    // In the order of the study, and as a multiple of the step.
    let sets: Sets = vec![("a".into(), "1.5".into()), ("delay".into(), "0.05 s".into())];
    assert_eq!((&asked.sets, asked.seed, &asked.known), (&sets, None, &None));
    home.tell(&given.study, &asked, Ok(run(&given.runner, &asked)), 0.1).unwrap();
    let other = given.ask(&home, &values, 1).unwrap();
    assert_eq!((other.seed, &other.known), (Some(superdense_study::seed(7, 1)), &None));
    home.tell(&given.study, &other, Err("it broke".into()), 0.1).unwrap();
    home.close().unwrap();

    let home = given.home();
    let known = |r| given.ask(&home, &values, r).unwrap().known.unwrap();
    assert_eq!((known(0).results, known(0).trace_hash.len()), (vec![Some(2.55)], 16));
    assert_eq!(known(1).error.as_deref(), Some("it broke"));
    home.close().unwrap();
    let home = Home::open(&given.study, &given.file, &given.out(), true).unwrap();
    assert_eq!(given.ask(&home, &values, 1).unwrap().known, None, "it is to be done again");
}

#[test]
fn questions_and_points_by_hand_share_runs() {
    let given = Given::new("asked-shared");
    let mut home = given.home();
    let asked = given.ask(&home, &[("a", "3")], 0).unwrap();
    home.tell(&given.study, &asked, Ok(run(&given.runner, &asked)), 0.1).unwrap();
    home.close().unwrap();
    let mut home = given.home();
    assert_eq!(given.answer(&mut home, &given.runner), 4);
    let files = given.files();
    assert_eq!(given.ask(&home, &[("a", "4")], 0).unwrap().known.unwrap().results, [Some(5.001)]);
    home.close().unwrap();
    // The tables and the numbers of points outlive those who only ask.
    let mut home = given.home();
    let asked = given.ask(&home, &[("a", "0.5")], 0).unwrap();
    home.tell(&given.study, &asked, Ok(run(&given.runner, &asked)), 0.1).unwrap();
    home.close().unwrap();
    assert_eq!(given.files(), files);
    let reader = Reader::open(&given.out().join(STORE)).unwrap();
    assert_eq!(reader.point(3).unwrap(), [("a".to_owned(), "3".to_owned())]);
    assert_eq!(reader.extreme("y", true).unwrap(), (4, 0));
}

/// Runs scenarios by their settings alone, as a process elsewhere would.
struct Elsewhere<'a>(&'a ScenarioRunner);

impl Runner for Elsewhere<'_> {
    type Plan = (Sets, Option<u64>);

    fn results(&self) -> &[String] {
        self.0.results()
    }

    fn plan(&self, sets: &Sets, seed: Option<u64>) -> Result<(u64, Self::Plan), String> {
        Ok((self.0.plan(sets, None)?.0, (sets.clone(), seed)))
    }

    fn run(&self, (sets, seed): Self::Plan, pulse: &Pulse) -> Result<Row, Lost> {
        self.0.run(self.0.plan(&sets, seed).map_err(Lost::Failed)?.1, pulse)
    }
}

#[test]
fn runs_done_elsewhere_give_equal_files() {
    let (here, there) = (Given::new("asked-here"), Given::new("asked-there"));
    assert_eq!(here.answer(&mut here.home(), &here.runner), 5);
    assert_eq!(there.answer(&mut there.home(), &Elsewhere(&there.runner)), 5);
    assert_eq!(here.files(), there.files());
    // Who ran them does not matter to the store.
    assert_eq!(there.answer(&mut there.home(), &there.runner), 0);
}

#[test]
fn wrong_points_are_refused_with_a_remedy() {
    let given = Given::new("asked-wrong");
    let mut home = given.home();
    for (values, why) in [
        (vec![("dela", "1 ms")], "`dela` is no parameter of [vary]; did you mean `delay`?"),
        (vec![("a", "1"), ("a", "2")], "`a` has two values; give it one"),
        (vec![("a", "4.5")], "4.5 is no value of `a`; choose one from 0 to 4"),
        (vec![("a", "nan")], "nan is no value of `a`; choose one from 0 to 4"),
        (vec![("a", "1 ms")], "1 ms is no value of `a`; choose one from 0 to 4"),
        (vec![("delay", "3 s")], "3 s is no value of `delay`; choose one from 0.001 s to 2 s"),
        (vec![("mode", "3")], "3 is no value of `mode`; choose one of 1, 2"),
    ] {
        assert_eq!(given.ask(&home, &values, 0).unwrap_err().to_string(), why);
    }
    let asked = given.ask(&home, &[("mode", "2")], 0).unwrap();
    let row = Row { trace_hash: String::new(), results: Vec::new() };
    let refused = home.tell(&given.study, &asked, Ok(row), 0.0).unwrap_err().to_string();
    assert_eq!(refused, "the run has 0 results, and the study 1: tell a value for each of y");
}

#[test]
fn a_directory_has_one_user_and_no_other_results() {
    let given = Given::new("asked-held");
    let home = given.home();
    let second = Home::open(&given.study, &given.file, &given.out(), false);
    let why = second.unwrap_err().to_string();
    assert!(why.contains("another run is writing its results here"), "{why}");
    home.close().unwrap();
    std::fs::create_dir_all(given.folder.0.join("run")).unwrap();
    given.folder.write("run/manifest.json", "{}");
    let there = given.folder.0.join("run");
    let why = Home::open(&given.study, &given.file, &there, false).unwrap_err().to_string();
    assert!(why.contains("the results of a run are here"), "{why}");
}
