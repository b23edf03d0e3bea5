//! Cases of the rules for conditions as data: a scenario, what happens in it, and the methods and
//! resolutions under which exactly that has to happen.
use super::runner::{Outcome, run};
use std::{fmt::Write as _, time::Duration};

/// When an event happens, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// The root lies at this fraction: its tick is the next one (R14). From ps on, rounding in
    /// the states may add or take a tick, or a thousand at fs.
    Root(i64, i64),
    /// A time event (rule 15): the tick of this fraction, rounded up, without any allowance.
    Time(i64, i64),
    /// An instant that the scenario writes as a quotient: rounded to the nearest tick (T7).
    Round(i64, i64),
    /// A root without exact representation, within the accuracy of the method.
    Near(f64),
    /// The first tick after the start.
    First,
}
pub(super) use At::{First, Near, Root, Round, Time};

/// How exact methods are along the smooth pieces of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// Constant rates: every method is exact.
    Straight,
    /// Affine equations: `closed` takes them.
    Affine,
    /// Any other equations.
    Curved,
    /// Equations with algebraic variables.
    Algebraic,
}

/// One row of the table.
pub(super) struct Case {
    id: String,
    text: String,
    form: Form,
    /// Allowed error of quantised methods, in seconds and in values; `euler`, `qss1` and
    /// `liqss1` may have ten times as much.
    loose: f64,
    /// Allowed error of the other methods where rates are not constant.
    tight: f64,
    resolutions: &'static [&'static str],
    stop: f64,
    events: Vec<(&'static str, At, u32)>,
    ends: Vec<(&'static str, u16, f64)>,
    error: Option<&'static [&'static str]>,
    only: Option<&'static [&'static str]>,
    without: Vec<&'static str>,
    cycles: Option<usize>,
    limit: Duration,
}

const USUAL: &[&str] = &["us", "ns", "ps"];

/// A row about one unit `u` of equations, whose text follows the line of its method.
pub(super) fn unit(id: impl Into<String>, text: &str) -> Case {
    scenario(id, &format!("[unit.u]\nkind = 'equations'\nMETHOD\n{text}"))
}

/// A row about a whole scenario with the line `METHOD` in the units whose method changes.
pub(super) fn scenario(id: impl Into<String>, text: &str) -> Case {
    Case {
        id: id.into(),
        text: text.to_owned(),
        form: Form::Straight,
        loose: 0.0,
        tight: 1e-9,
        resolutions: USUAL,
        stop: 3.0,
        events: Vec::new(),
        ends: Vec::new(),
        error: None,
        only: None,
        without: Vec::new(),
        cycles: None,
        limit: Duration::from_secs(30),
    }
}

/// A row about a scenario of `tests/data/regressions`, under other methods and resolutions.
pub(super) fn file(id: impl Into<String>, name: &str) -> Case {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/regressions");
    let text = std::fs::read_to_string(path.join(name)).expect("a scenario");
    let mut out = String::new();
    for line in text.lines() {
        let key = line.split('=').next().unwrap_or_default().trim();
        if ["method", "resolution", "stop"].contains(&key) {
            continue;
        }
        let _ = writeln!(out, "{line}");
        if line.replace(' ', "") == "kind=\"equations\"" {
            out.push_str("METHOD\n");
        }
    }
    scenario(id, &out)
}

/// The text of an event of unit `u` with the given keys.
pub(super) fn event(name: &str, keys: &str) -> String {
    format!("[[unit.u.event]]\nname = '{name}'\n{keys}\n")
}

/// The text of an event of unit `u` by its condition alone.
pub(super) fn when(name: &str, condition: &str) -> String {
    event(name, &format!("when = '{condition}'"))
}

/// The text of a unit with one state `x` and a discrete variable `n`, both of which it tells.
pub(super) fn line(start: &str, rate: &str) -> String {
    format!(
        "states = {{ x = {start} }}\ndiscrete = {{ n = 0 }}\nderivatives = {{ x = '{rate}' }}\n\
         outputs = {{ x = 'x', n = 'n' }}\n"
    )
}

/// The text of a unit with a state `x` whose second derivative is a constant.
pub(super) fn parabola(x: &str, v: &str, a: &str) -> String {
    format!(
        "states = {{ x = {x}, v = {v} }}\nderivatives = {{ x = 'v', v = '{a}' }}\n\
         outputs = {{ x = 'x', v = 'v' }}\n"
    )
}

impl Case {
    /// The equations are affine; quantised methods may be off by `loose`.
    pub(super) fn affine(mut self, loose: f64) -> Self {
        (self.form, self.loose, self.tight) = (Form::Affine, loose, 1e-5);
        self
    }
    /// The equations are not affine, so that `closed` is left out.
    pub(super) fn curved(mut self, loose: f64) -> Self {
        (self.form, self.loose, self.tight) = (Form::Curved, loose, 1e-5);
        self
    }
    /// There are algebraic variables: only the methods that solve for them.
    pub(super) fn algebraic(mut self) -> Self {
        (self.form, self.tight) = (Form::Algebraic, 1e-5);
        self
    }
    /// Sets the allowed error of methods that are not quantised.
    pub(super) fn within(mut self, tight: f64) -> Self {
        self.tight = tight;
        self
    }
    /// The scenario with one part of its text in place of another.
    pub(super) fn replaced(mut self, from: &str, to: &str) -> Self {
        assert!(self.text.contains(from), "{from}");
        self.text = self.text.replace(from, to);
        self
    }
    /// The resolutions in place of us, ns and ps.
    pub(super) fn resolutions(mut self, these: &'static [&'static str]) -> Self {
        self.resolutions = these;
        self
    }
    /// The end of the run, in place of 3 s.
    pub(super) fn stop(mut self, seconds: f64) -> Self {
        self.stop = seconds;
        self
    }
    /// The next event: its name, its instant, its micro-step.
    pub(super) fn event(mut self, name: &'static str, at: At, micro: u32) -> Self {
        self.events.push((name, at, micro));
        self
    }
    /// The expected value of an output of `u` at the end.
    pub(super) fn end(self, port: u16, value: f64) -> Self {
        self.end_of("u", port, value)
    }
    /// The expected value of an output of any unit at the end.
    pub(super) fn end_of(mut self, unit: &'static str, port: u16, value: f64) -> Self {
        self.ends.push((unit, port, value));
        self
    }
    /// The scenario is refused, or the run ends, with a message that has all these parts.
    pub(super) fn error(mut self, parts: &'static [&'static str]) -> Self {
        self.error = Some(parts);
        self
    }
    /// So many cycles in all: a flip without an event makes no entry in the trace.
    pub(super) fn cycles(mut self, cycles: usize) -> Self {
        self.cycles = Some(cycles);
        self
    }
    /// Only these methods are of interest.
    pub(super) fn only(mut self, methods: &'static [&'static str]) -> Self {
        self.only = Some(methods);
        self
    }
    /// These methods do not apply, for a reason.
    pub(super) fn without(mut self, methods: &[&'static str], why: &str) -> Self {
        assert!(!why.is_empty());
        self.without.extend(methods);
        self
    }

    fn methods(&self) -> Vec<&'static str> {
        let mut all = match (self.only, self.form) {
            (Some(only), _) => only.to_vec(),
            (None, Form::Algebraic) => vec!["rodas", "taylor", "auto"],
            (None, _) => vec![
                "rk45", "rk23", "taylor", "rodas", "rk4", "euler", "qss1", "qss2", "qss3",
                "liqss2", "mliqss2", "auto",
            ],
        };
        if self.only.is_none() && matches!(self.form, Form::Straight | Form::Affine) {
            all.push("closed");
        }
        all.retain(|m| !self.without.contains(m));
        all
    }

    fn allowed(&self, method: &str) -> f64 {
        match method {
            _ if self.form == Form::Straight => self.tight,
            "euler" | "qss1" | "liqss1" => self.tight + 10.0 * self.loose,
            "qss2" | "qss3" | "liqss2" | "mliqss2" => self.tight + self.loose,
            // It may take a quantised method, with its tolerances as quanta.
            "auto" => 10.0 * self.tight,
            _ => self.tight,
        }
    }
}

/// Ticks per second.
fn rate(resolution: &str) -> i64 {
    match resolution {
        "ms" => 1_000,
        "us" => 1_000_000,
        "ns" => 1_000_000_000,
        "ps" => 1_000_000_000_000,
        "fs" => 1_000_000_000_000_000,
        other => panic!("no resolution {other}"),
    }
}

/// The ticks at which an event may lie.
fn ticks(at: At, resolution: &str, allowed: f64, exact: bool) -> (i64, i64) {
    let per = rate(resolution);
    let up = |n: i64, d: i64| {
        let (n, d) = (i128::from(n) * i128::from(per), i128::from(d));
        ((n + d - 1) / d) as i64
    };
    let slack = match resolution {
        "fs" => 1000,
        "ps" => 1,
        _ => 0,
    };
    match at {
        First => (1, 1),
        Time(n, d) => (up(n, d), up(n, d)),
        Round(n, d) => {
            let tick = (2 * n * per + d) / (2 * d);
            (tick, tick)
        }
        Root(n, d) if exact => (up(n, d) - slack, up(n, d) + slack),
        Root(n, d) => near(n as f64 / d as f64, per, allowed),
        Near(seconds) => near(seconds, per, allowed),
    }
}

fn near(seconds: f64, per: i64, allowed: f64) -> (i64, i64) {
    let tick = |s: f64| (s * per as f64).ceil() as i64;
    (tick(seconds - allowed) - 1, tick(seconds + allowed) + 1)
}

/// Compares a run with its row; tells the first difference.
fn wrong(case: &Case, method: &str, resolution: &str, seen: &Outcome) -> Option<String> {
    let message = seen.end.as_ref().err();
    if let Some(parts) = case.error {
        let Some(message) = message else {
            return Some(format!("no error with {parts:?}; {}", seen.told()));
        };
        return parts
            .iter()
            .any(|p| !message.contains(p))
            .then(|| format!("no {parts:?} in: {message}"));
    }
    if let Some(message) = message {
        return Some(format!("{message}; {}", seen.told()));
    }
    let allowed = case.allowed(method);
    let exact = case.form == Form::Straight;
    let expected: Vec<_> = case
        .events
        .iter()
        .map(|&(name, at, micro)| {
            let (low, high) = ticks(at, resolution, allowed, exact);
            (name, low, high, micro)
        })
        .collect();
    let agree = expected.len() == seen.facts.len()
        && expected
            .iter()
            .zip(&seen.facts)
            .all(|(e, s)| e.0 == s.2 && (e.1..=e.2).contains(&s.0) && (e.3 == s.1));
    if !agree {
        return Some(format!("{}, not {expected:?}", seen.told()));
    }
    for (&(unit, port, value), found) in case.ends.iter().zip(&seen.values) {
        // An event's tick lies up to one after its root.
        let allowed = allowed * value.abs().max(1.0) + 10.0 / rate(resolution) as f64;
        if found.is_nan() || (found - value).abs() > allowed {
            return Some(format!("{unit} port {port} ends at {found}, not {value}"));
        }
    }
    let more = case.cycles.filter(|&c| c != seen.cycles);
    more.map(|cycles| format!("{} cycles, not {cycles}", seen.cycles))
}

/// Runs all rows under all their methods and resolutions, and tells all differences.
pub(super) fn check(cases: &[Case]) {
    let mut bad = String::new();
    let mut runs = 0;
    for case in cases {
        let mut hung = 0;
        for method in case.methods() {
            for resolution in case.resolutions {
                if hung >= 3 {
                    let _ = writeln!(bad, "{} {method} {resolution}: not tried", case.id);
                    continue;
                }
                runs += 1;
                let stop = (case.stop * rate(resolution) as f64).round() as i64;
                let ports = case.ends.iter().map(|e| (e.0, e.1)).collect();
                let seen = run(&case.text, method, resolution, stop, ports, case.limit);
                hung += usize::from(seen.hung);
                if case.error.is_none() && seen.refused_by_method() {
                    continue;
                }
                if let Some(why) = wrong(case, method, resolution, &seen) {
                    let _ = writeln!(bad, "{} {method} {resolution}: {why}", case.id);
                }
            }
        }
    }
    assert!(runs > 0);
    assert!(bad.is_empty(), "{} of {runs} runs are wrong:\n{bad}", bad.lines().count());
}
