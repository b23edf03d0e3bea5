//! The power window against a calculation of its own: the motor and the window as one linear system
//! by its series, events by bisection, the controller as plain code.
use super::{
    iteration::flow,
    library::{Results, number},
};

const R: f64 = 0.9;
const L: f64 = 0.9e-3;
const K: f64 = 0.03;
const J: f64 = 5e-5;
const B: f64 = 1e-4;
const RADIUS: f64 = 3e-4;
const STIFFNESS: f64 = 1e4;
const HEIGHT: f64 = 0.3;
const TRAVEL: f64 = 0.45;
const THRESHOLD: f64 = 1.5;

/// The driver's commands, and when they come.
const AGENDA: [(f64, &str, &str); 9] = [
    (1.0, "driver", "up"),
    (2.0, "arm", "in"),
    (5.5, "arm", "out"),
    (6.0, "passenger", "up"),
    (9.0, "driver", "down"),
    (10.0, "passenger", "up"),
    (11.0, "driver", "neutral"),
    (12.0, "passenger", "down"),
    (16.0, "passenger", "neutral"),
];

type Log = Vec<(f64, &'static str, &'static str)>;

/// x, w, i, 1, and all else.
struct Car {
    t: f64,
    z: Vec<f64>,
    volts: f64,
    arm: bool,
    touches: bool,
    guard: &'static str,
    control: &'static str,
    /// When the window has reversed for a second.
    reversed: Option<f64>,
    log: Log,
    force: f64,
}

impl Car {
    fn matrix(&self) -> Vec<Vec<f64>> {
        let load = if self.arm && self.touches { RADIUS * STIFFNESS / J } else { 0.0 };
        vec![
            vec![0.0, RADIUS, 0.0, 0.0],
            vec![-load, -B / J, K / J, load * HEIGHT],
            vec![0.0, -K / L, -R / L, self.volts / L],
            vec![0.0; 4],
        ]
    }
    /// Above zero or not: what is looked at.
    fn signs(z: &[f64]) -> [bool; 4] {
        [z[0] - HEIGHT, z[2] - THRESHOLD, z[0] - TRAVEL, z[0]].map(|g| g >= 0.0)
    }
    fn guard(&mut self, state: &'static str) {
        self.guard = state;
        self.log.push((self.t, "guard", state));
    }
    fn control(&mut self, state: &'static str, volts: f64) {
        (self.control, self.volts) = (state, volts);
        self.log.push((self.t, "control", state));
        self.reversed = (state == "reverse").then_some(self.t + 1.0);
        match (volts > 0.0, self.guard) {
            (true, _) => self.guard("starting"),
            (false, "idle") => {}
            _ => self.guard("idle"),
        }
    }
    fn goes_up(&self) -> bool {
        ["driver_up", "passenger_up"].contains(&self.control)
    }

    fn crossed(&mut self, what: usize, above: bool) {
        match (what, above, self.guard) {
            (0, ..) => self.touches = above,
            (1, true, "starting") => self.guard("inrush"),
            (1, false, "inrush") => self.guard("watching"),
            (1, true, "watching") => {
                self.guard("idle");
                self.control("reverse", -12.0);
            }
            (2, true, _) => {
                self.log.push((self.t, "window", "top"));
                assert!(self.goes_up());
                self.control("neutral", 0.0);
            }
            (3, false, _) => {
                self.log.push((self.t, "window", "bottom"));
                self.control("neutral", 0.0);
            }
            _ => {}
        }
    }

    fn asked(&mut self, who: &str, what: &str) {
        match (who, what, self.control) {
            ("arm", what, _) => self.arm = what == "in",
            ("driver", "up", "neutral") => self.control("driver_up", 12.0),
            ("driver", "down", "neutral") => self.control("driver_down", -12.0),
            ("driver", "neutral", _) => self.control("neutral", 0.0),
            ("passenger", "up", "neutral") => self.control("passenger_up", 12.0),
            ("passenger", "down", "neutral") => self.control("passenger_down", -12.0),
            // Not while the driver's button is pressed, nor after the window has stopped.
            _ => {}
        }
    }

    /// On to `until` or to the first event before it.
    fn go(&mut self, until: f64) {
        let a = self.matrix();
        let step = (until - self.t).min(5e-4);
        let (before, end) = (Self::signs(&self.z), flow(&a, &self.z, step));
        let first = (0..4).filter(|&n| before[n] != Self::signs(&end)[n]).map(|n| {
            let (mut low, mut high) = (0.0, step);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                let changed = Self::signs(&flow(&a, &self.z, middle))[n] != before[n];
                if changed { high = middle } else { low = middle }
            }
            (high, n)
        });
        match first.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((by, what)) => {
                self.z = flow(&a, &self.z, by);
                self.t += by;
                self.crossed(what, !before[what]);
            }
            None => {
                self.z = end;
                self.t = if step < 5e-4 { until } else { self.t + step };
            }
        }
        if self.arm && self.touches {
            self.force = self.force.max(STIFFNESS * (self.z[0] - HEIGHT));
        }
    }
}

/// The events, and the largest force on the arm.
fn reference() -> Car {
    let mut car = Car {
        t: 0.0,
        z: vec![0.0, 0.0, 0.0, 1.0],
        volts: 0.0,
        arm: false,
        touches: false,
        guard: "idle",
        control: "neutral",
        reversed: None,
        log: Vec::new(),
        force: 0.0,
    };
    let mut agenda = AGENDA.iter().peekable();
    while car.t < 17.0 {
        let asked = agenda.peek().map_or(17.0, |a| a.0);
        let until = asked.min(car.reversed.unwrap_or(17.0));
        car.go(until);
        if car.reversed == Some(car.t) {
            car.control("neutral", 0.0);
        } else if car.t == asked
            && let Some((_, who, what)) = agenda.next()
        {
            car.asked(who, what);
        }
    }
    car
}

fn run(sets: &[&str]) -> Results {
    let mut all = Vec::new();
    sets.iter().for_each(|set| all.extend(["--set", set]));
    Results::of("power_window.toml", &all)
}

/// Time, unit and event of what the controller and the window did.
fn happened(results: &Results) -> Vec<(f64, String, String)> {
    let units = ["guard", "control", "window"];
    let rows = results.rows("events.csv").into_iter().filter(|r| units.contains(&r[2].as_str()));
    rows.map(|r| (number(&r[0]), r[2].clone(), r[3].clone())).collect()
}

fn force(results: &Results) -> f64 {
    results.rows("samples.csv").iter().map(|r| number(&r[3])).fold(0.0, f64::max)
}

#[test]
fn every_event_is_where_the_calculation_has_it() {
    let car = reference();
    let results = run(&[]);
    let mut expected = car.log.clone();
    let mut happened = happened(&results);
    assert_eq!(happened.len(), expected.len(), "{happened:?}\n{expected:?}");
    // The order of units within an instant is theirs.
    expected.sort_by(|a, b| (a.1, a.0).partial_cmp(&(b.1, b.0)).unwrap());
    happened.sort_by(|a, b| (&a.1, a.0).partial_cmp(&(&b.1, b.0)).unwrap());
    for (ours, theirs) in happened.iter().zip(&expected) {
        assert_eq!((ours.1.as_str(), ours.2.as_str()), (theirs.1, theirs.2), "{ours:?}");
        assert!((ours.0 - theirs.0).abs() < 1e-7, "{ours:?}, not {theirs:?}");
    }
    assert!((force(&results) - car.force).abs() < 0.01, "{} N", car.force);
    assert!(car.force < 100.0, "the limit of FMVSS 118");
}

/// One line makes the controller one that samples: it hears of the arm at the next multiple of its
/// period, and the arm is pressed for so much longer.
#[test]
fn the_adapter_is_one_line() {
    let car = reference();
    let pinched =
        |log: &[(f64, String, String)]| log.iter().find(|e| e.2 == "reverse").map(|e| e.0).unwrap();
    let located = pinched(&happened(&run(&[])));
    let mut before = car.force;
    for period in [0.01, 0.05] {
        let set = "connections[0]=\"motor.i -> guard.current via sample(period) via hold(0) via \
                   detect(threshold)\"";
        let results = run(&[set, &format!("period={period}")]);
        let at = pinched(&happened(&results));
        let expected = (located / period).ceil() * period;
        assert!((at - expected).abs() < 1e-9, "{at}, not {expected}");
        assert!(force(&results) > before, "{period}");
        before = force(&results);
    }
    assert!(before > 100.0, "{before} N: a period of 50 ms is too long");
}
