//! The problems that are solved.
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A problem that every engine solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Problem {
    /// A front travels along a thousand cells: stiff, sparse, mostly at rest.
    Advection,
    /// A pulse on a line of 200 states: smooth and active everywhere.
    Line,
    /// Van der Pol, mu = 1.
    VanDerPol,
    /// Van der Pol, mu = 1000, to 2000 s.
    Stiff,
    /// Predators and prey.
    LotkaVolterra,
    /// A ball to shortly after its 40th bounce.
    Bounces,
    /// A short circuit among ten machines (S1a).
    Grid,
}

/// How often the states are compared with the reference.
pub const SAMPLES: usize = 20;

impl Problem {
    /// All, in the order of the report.
    pub const ALL: [Self; 7] = [
        Self::Advection,
        Self::Line,
        Self::VanDerPol,
        Self::Stiff,
        Self::LotkaVolterra,
        Self::Bounces,
        Self::Grid,
    ];

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        let names = ["advection", "lc-line", "van-der-pol", "stiff", "lotka", "bounces", "s1a"];
        names[self as usize]
    }

    /// The number of states.
    pub fn states(self) -> usize {
        [1000, 200, 2, 2, 2, 2, 20][self as usize]
    }

    /// Seconds. The fortieth bounce is at t0 (1 + 2 (0.9 + ... + 0.9^39)), t0 = 1.4278 s.
    pub fn end(self) -> f64 {
        [0.4, 200.0, 40.0, 2000.0, 40.0, 26.72, 5.0][self as usize]
    }

    /// Absolute tolerance over relative tolerance: the size of the smaller states.
    pub fn absolute(self) -> f64 {
        [1.0, 1e-3, 1.0, 1e-3, 1.0, 1.0, 1e-2][self as usize]
    }

    /// When the states are compared.
    pub fn samples(self) -> impl Iterator<Item = f64> {
        (1..=SAMPLES).map(move |k| self.end() * k as f64 / SAMPLES as f64)
    }

    /// Where discrete values change at a known time: (until, value of the source).
    pub fn phases(self) -> Vec<(f64, f64)> {
        match self {
            Self::Line => vec![(1.0, 1.0), (self.end(), 0.0)],
            _ => vec![(self.end(), 0.0)],
        }
    }

    /// States at the start.
    pub fn start(self) -> Vec<f64> {
        let n = self.states();
        match self {
            Self::Advection => (0..n).map(|i| if i < n / 3 { 1.0 } else { 0.0 }).collect(),
            Self::Line | Self::Grid => vec![0.0; n],
            Self::VanDerPol | Self::Stiff => vec![2.0, 0.0],
            Self::LotkaVolterra => vec![10.0, 10.0],
            Self::Bounces => vec![10.0, 0.0],
        }
    }

    /// The shipped scenario: its file, its unit, and what is changed to see all states.
    pub(super) fn scenario(self) -> Scenario {
        let library = |file: &str| {
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios/library").join(file)
        };
        let (file, unit, outputs) = match self {
            Self::Advection => {
                ("continuous/advection.toml", "line", "{ \"y[i in 1..=N]\" = \"u[i]\" }")
            }
            Self::Line => ("continuous/lc_line.toml", "line", "{ \"y[i in 1..=N]\" = \"x[i]\" }"),
            Self::VanDerPol | Self::Stiff => ("continuous/van_der_pol.toml", "oscillator", ""),
            Self::LotkaVolterra => ("continuous/lotka_volterra.toml", "wood", ""),
            Self::Bounces => ("bouncing_ball.toml", "ball", ""),
            Self::Grid => ("grid/s1a.toml", "grid", ""),
        };
        // Nobody listens, as with the peers; states are looked at when they are asked for.
        let mut sets = vec![("plot".into(), "[]".into()), ("record".into(), "[]".into())];
        if !outputs.is_empty() {
            sets.push((format!("unit.{unit}.outputs"), outputs.to_owned()));
        }
        if self == Self::Stiff {
            sets.push(("mu".into(), "1000.0".into()));
        }
        if matches!(self, Self::Advection | Self::Line) {
            sets.push((format!("unit.{unit}.max_step"), "\"1000 s\"".into()));
        }
        Scenario { file: library(file), unit, sets }
    }
}

/// A shipped scenario with changes.
pub(super) struct Scenario {
    pub file: PathBuf,
    pub unit: &'static str,
    pub sets: Vec<(String, String)>,
}
