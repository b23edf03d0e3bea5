//! How a generated model is run: method, accuracy, executor.
use std::fmt::Write;

/// A method of continuous units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Method {
    Rk45,
    Rk23,
    Taylor,
    Closed,
    Rodas,
    Rk4,
    Qss2,
    Qss3,
    Liqss2,
    Auto,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Rk45,
        Self::Rk23,
        Self::Taylor,
        Self::Closed,
        Self::Rodas,
        Self::Rk4,
        Self::Qss2,
        Self::Qss3,
        Self::Liqss2,
        Self::Auto,
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rk45 => "rk45",
            Self::Rk23 => "rk23",
            Self::Taylor => "taylor",
            Self::Closed => "closed",
            Self::Rodas => "rodas",
            Self::Rk4 => "rk4",
            Self::Qss2 => "qss2",
            Self::Qss3 => "qss3",
            Self::Liqss2 => "liqss2",
            Self::Auto => "auto",
        }
    }

    /// The method of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether it holds quantised states, whose error is of the size of the quantum.
    pub fn is_quantised(self) -> bool {
        matches!(self, Self::Qss2 | Self::Qss3 | Self::Liqss2)
    }
}

/// Who runs the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// One thread.
    Sequential,
    /// Time Warp with so many workers.
    TimeWarp(u32),
    /// Windows, with so many workers.
    Conservative(u32),
    /// What the program chooses.
    Auto,
}

/// How a model is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The method of all units.
    pub method: Method,
    /// Relative tolerance, or relative quantum.
    pub relative: f64,
    /// Absolute tolerance, or least quantum.
    pub absolute: f64,
    /// Step of methods with fixed steps, in seconds.
    pub step: f64,
    /// Band of exchanged signals.
    pub exchange: f64,
    /// The executor.
    pub executor: Executor,
}

impl Settings {
    /// Usual accuracy of a method.
    pub fn of(method: Method) -> Self {
        let (relative, absolute) = match method {
            Method::Qss2 | Method::Liqss2 => (1e-5, 1e-6),
            Method::Qss3 => (1e-6, 1e-7),
            Method::Rk23 => (1e-6, 1e-8),
            _ => (1e-9, 1e-11),
        };
        Self {
            method,
            relative,
            absolute,
            step: 0.015625,
            exchange: 1e-9,
            executor: Executor::Sequential,
        }
    }

    /// The same run with smaller errors, about by the factor `by` below 1.
    pub fn tightened(&self, by: f64) -> Self {
        // Powers of ten stay readable.
        let times = |x: f64, least: f64| {
            let text = format!("{:.3e}", x * by);
            text.parse::<f64>().unwrap_or(x * by).max(least)
        };
        Self {
            relative: times(self.relative, 1e-13),
            absolute: times(self.absolute, 1e-15),
            step: self.step * by.sqrt().sqrt(),
            exchange: times(self.exchange, 1e-12),
            ..*self
        }
    }

    /// The error that end values may have, relative to one plus their size.
    pub fn error(&self) -> f64 {
        match self.method {
            Method::Qss2 | Method::Qss3 | Method::Liqss2 => 300.0 * self.relative,
            Method::Rk4 => 1e-5,
            _ => 1e3 * self.relative,
        }
    }

    /// The lines of a unit.
    pub(super) fn of_unit(&self) -> String {
        let mut out = format!("method = \"{}\"\n", self.method.name());
        let n = super::text::number;
        let (relative, absolute) = (n(self.relative), n(self.absolute));
        let _ = match self.method {
            Method::Closed => Ok(()),
            Method::Rk4 => writeln!(out, "step = {}", n(self.step)),
            m if m.is_quantised() => writeln!(out, "dq_rel = {relative}\ndq_min = {absolute}"),
            _ => writeln!(out, "tolerance = {relative}\nabsolute_tolerance = {absolute}"),
        };
        let _ = writeln!(out, "exchange_tolerance = {}\nsegment_order = 6", n(self.exchange));
        out
    }
}
