//! The shipped scenarios, run as a user runs them, against independent references.
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// Where the shipped scenarios are.
pub(super) fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("library")
}

/// Files of a run; those of a test that fails stay, to be looked at.
pub(super) struct Results {
    folder: PathBuf,
}

impl Drop for Results {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Results {
    /// Runs a scenario with more options.
    pub(super) fn of(scenario: &str, options: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stem = scenario.trim_end_matches(".toml").replace('/', "-");
        let folder = super::folder(&format!("library-{stem}-{}-{number}", std::process::id()));
        let done = Command::new(env!("CARGO_BIN_EXE_superdense"))
            .arg("run")
            .arg(library().join(scenario))
            .args(["--quiet", "--force", "--out"])
            .arg(&folder)
            .args(options)
            .output()
            .expect("the command starts");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{scenario} {options:?}: {told}");
        Self { folder }
    }

    pub(super) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).expect(file)
    }

    /// Rows of a table without its heading.
    pub(super) fn rows(&self, file: &str) -> Vec<Vec<String>> {
        let split = |line: &str| line.split(',').map(str::to_owned).collect();
        self.text(file).lines().skip(1).map(split).collect()
    }

    pub(super) fn summary(&self) -> serde_json::Value {
        serde_json::from_str(&self.text("summary.json")).expect("a summary")
    }

    /// A result by name, with or without an interval.
    pub(super) fn result(&self, name: &str) -> f64 {
        let value = &self.summary()["results"][name];
        let value = value.get("value").unwrap_or(value);
        value.as_f64().unwrap_or_else(|| panic!("{name} is {value}"))
    }

    pub(super) fn hash(&self) -> String {
        self.summary()["trace_hash"].as_str().expect("a hash").to_owned()
    }
}

pub(super) fn number(text: &str) -> f64 {
    text.parse().expect(text)
}

/// Reference: two masses as one system at 1e-12 (see the scenario for the paper).
pub(super) const TWO_MASSES: [(f64, &str); 12] = [
    (0.540_727_036_575_670_4, "collision"),
    (1.659_957_242_912_769_6, "collision"),
    (4.631_695_284_738_953, "collision"),
    (4.900_693_539_472_292, "ceiling"),
    (5.289_556_203_264_611, "collision"),
    (8.415_365_357_100_805, "collision"),
    (8.901_088_520_111_077, "ceiling"),
    (9.189_006_534_536_923, "collision"),
    (13.723_741_642_697_07, "collision"),
    (14.832_242_781_228_695, "collision"),
    (18.151_118_856_793_36, "collision"),
    (19.174_235_487_198, "collision"),
];

#[test]
fn two_masses_have_twelve_exact_events() {
    let results = Results::of("two_masses.toml", &[]);
    let events = results.rows("events.csv");
    assert_eq!(events.len(), 12);
    for (row, (time, name)) in events.iter().zip(TWO_MASSES) {
        let (unit, kind) = if name == "ceiling" { ("upper", "private") } else { (name, "shared") };
        assert_eq!([&*row[2], &*row[3], &*row[4]], [unit, name, kind]);
        let error = (number(&row[0]) - time).abs();
        assert!(error <= 1e-9, "{name} at {time}: off by {error:e} s");
        // A private event is its own cycle; a link's jump comes one micro-step after the proposal.
        assert_eq!(row[1], if name == "ceiling" { "0" } else { "1" });
    }
    let samples = results.rows("samples.csv");
    let end = samples.last().expect("the end is sampled");
    let expected = [20.0, -4.738699217821, -6.191009332078, -8.410101376233, -4.706424151185];
    for (found, expected) in end.iter().zip(expected) {
        let error = (number(found) - expected).abs();
        assert!(error <= 1e-7, "{expected} at the end: off by {error:e}");
    }
    assert!(results.summary()["exchanges"].as_u64().expect("a count") > 12);
}

/// Segments of order 9 by Taylor series: fewer messages at smaller errors; LookAhead, which
/// predicts events, needs 564 messages for errors of a tenth of a second.
#[test]
fn two_masses_need_few_messages_of_high_order() {
    let sets = ["upper", "lower"]
        .map(|unit| [format!("unit.{unit}.method=taylor"), format!("unit.{unit}.segment_order=9")]);
    let mut options = vec!["--set", "exchange_tolerance=1e-7"];
    sets.iter().flatten().for_each(|set| options.extend(["--set", set]));
    let results = Results::of("two_masses.toml", &options);
    let events = results.rows("events.csv");
    assert_eq!(events.len(), 12);
    for (row, (time, name)) in events.iter().zip(TWO_MASSES) {
        let error = (number(&row[0]) - time).abs();
        assert!(error < 1e-8, "{name} at {time}: off by {error:e} s");
    }
    let exchanges = results.summary()["exchanges"].as_u64().expect("a count");
    assert!(exchanges < 300, "{exchanges} exchanges");
}

#[test]
fn bouncing_ball_follows_the_closed_form() {
    let results = Results::of("bouncing_ball.toml", &[]);
    let (height, g, restitution) = (10.0f64, 9.81f64, 0.9f64);
    let first = (2.0 * height / g).sqrt();
    let (mut time, mut flight) = (first, 2.0 * first * restitution);
    for row in results.rows("events.csv") {
        let error = (number(&row[0]) - time).abs();
        assert!(error <= 2e-11, "bounce at {time}: off by {error:e} s");
        time += flight;
        flight *= restitution;
    }
    assert!(time > 20.0, "no bounce is lost");
}

#[test]
fn thermostat_switches_at_exact_times() {
    let results = Results::of("thermostat.toml", &[]);
    let (cooling, heating) = ((21.0f64 / 19.0).ln(), (11.0f64 / 9.0).ln());
    let mut time = (10.0f64 / 9.0).ln();
    let events = results.rows("events.csv");
    for (k, row) in events.iter().enumerate() {
        let error = (number(&row[0]) - time).abs();
        assert!(error <= 1e-10, "switch at {time}: off by {error:e} s");
        let warm = k % 2 == 0;
        assert_eq!([&*row[2], &*row[3]], ["controller", if warm { "on" } else { "off" }]);
        time += if warm { cooling } else { heating };
    }
    assert!(time > 2.0, "no switch is lost");
}

/// Survey, equations 2 and 3: the trace is worked out from the tables of the two automata.
#[test]
fn traffic_light_changes_at_exact_times() {
    let results = Results::of("traffic_light.toml", &[]);
    let mut expected = vec![("60", "light", "green")];
    let periods = ["100", "300", "360", "400", "600", "660", "700", "900", "960", "1000"];
    for (k, time) in periods.iter().enumerate() {
        match k % 3 {
            // One cycle, so in path order.
            0 => expected.extend([(*time, "light", "off"), (*time, "officer", "working")]),
            1 => expected.extend([(*time, "light", "red"), (*time, "officer", "idle")]),
            _ => expected.push((*time, "light", "green")),
        }
    }
    let rows = results.rows("events.csv");
    let found: Vec<_> = rows.iter().map(|r| (&*r[0], &*r[2], &*r[3])).collect();
    assert_eq!(found, expected);
}

#[test]
fn queue_covers_the_analytic_mean() {
    let results = Results::of("queue.toml", &[]);
    let samples = results.rows("samples.csv");
    let end = samples.last().expect("the end is sampled");
    let (low, high) = (number(&end[2]), number(&end[3]));
    assert!(low < 0.005 && 0.005 < high, "1/(mu - lambda) = 5 ms is not in {low}..{high}");
    assert!(high - low < 0.0005, "the interval {low}..{high} is too wide to say anything");
}

/// The hash knows nothing of the event list, of sampling or of recording.
#[test]
fn hash_is_of_the_trace_alone() {
    let short = ["--until", "3"];
    let hash = |more: &[&str]| {
        let options: Vec<&str> = short.iter().chain(more).copied().collect();
        Results::of("two_masses.toml", &options).hash()
    };
    let plain = hash(&[]);
    for more in [
        ["--event-list", "heap"],
        ["--event-list", "priority-queue"],
        ["--sample", "0.5"],
        ["--sample", "0.0007"],
        ["--set", "record=[\"upper.x\"]"],
        ["--set", "sample=0.3 s"],
    ] {
        assert_eq!(hash(&more), plain, "{more:?}");
    }
    assert_ne!(hash(&["--set", "g=9.80"]), plain, "but of the parameters");
}

/// Every file of the library is a scenario that loads without a warning; `executors` runs them all.
#[test]
fn all_scenarios_check() {
    let mut stack = vec![library()];
    let mut count = 0;
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("studies") {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") {
                let done = Command::new(env!("CARGO_BIN_EXE_superdense"))
                    .arg("check")
                    .arg(&path)
                    .output()
                    .expect("the command starts");
                let told = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success(), "{}: {told}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count}");
}

/// A line that is cut into units which tell each other their ends is the line in one piece.
#[test]
fn a_line_in_cells_is_the_line() {
    let options = ["--until", "12 s"];
    let [cells, whole] = ["continuous/lc_cells.toml", "continuous/lc_line.toml"]
        .map(|file| Results::of(file, &options).rows("samples.csv"));
    let near = |a: &str, b: &str| (number(a) - number(b)).abs() < 1e-3;
    assert!(cells.len() == whole.len() && cells.len() > 20);
    for (a, b) in cells.iter().zip(&whole) {
        assert!(near(&a[0], &b[0]) && near(&a[1], &b[1]), "{a:?} {b:?}");
    }
    assert!(number(&cells[3][1]).abs() > 0.1, "nothing happens");
}
