//! Statistics as signals: recording reads the present values, wired receivers are told.
use crate::{
    kinds::{Context, params::Reader},
    signal::{
        Level,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Outbox, port::OutPort};

/// Observations between messages that nobody follows: such messages are in the trace only.
const UNHEARD: u64 = 1000;

/// Signals that change with every packet, told after every so many.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Board {
    first: u16,
    every: u64,
    /// Observations until the signals are told.
    left: u64,
    pending: bool,
    /// None: there is no value yet.
    levels: Vec<Option<Level>>,
}

impl Board {
    /// Signals at the outputs from `first` on, told after as many observations as the parameter
    /// `every` says: if it is not given, after each one where some unit is wired to them, or a result reads them.
    pub(super) fn new(
        first: u16,
        values: &[Option<f64>],
        r: &mut Reader<'_>,
        context: &Context<'_>,
    ) -> Self {
        let every = if r.given("every") {
            r.int("every", 1, i64::MAX) as u64
        } else if (first..).zip(values).any(|(port, _)| context.is_followed(port)) {
            1
        } else {
            UNHEARD
        };
        let levels = values.iter().map(|v| v.map(Level::new)).collect();
        Self { first, every, left: every, pending: !values.is_empty(), levels }
    }

    /// Counts one more observation; whether it is time for [`Board::tell`]. Two calls, because
    /// statistics cost more than most observations.
    #[inline]
    pub fn is_time(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.every;
        }
        self.left == self.every
    }

    /// Takes the values that are to be told.
    pub fn tell(&mut self, values: &[Option<f64>], now: i64) {
        for (level, &v) in self.levels.iter_mut().zip(values) {
            match (level, v) {
                (Some(level), Some(v)) => level.change(v, now),
                (level, v) => *level = v.map(Level::new),
            }
        }
        self.pending = self.levels.iter().flatten().any(Level::is_pending);
    }

    /// Tells a value again, also an equal one: who counts what it sends hears of each packet that came.
    pub(super) fn repeat(&mut self, number: usize) {
        if let Some(level) = &mut self.levels[number] {
            level.repeat();
            self.pending = true;
        }
    }

    /// Whether it tells of each observation.
    #[inline]
    pub fn is_prompt(&self) -> bool {
        self.every == 1
    }

    /// Whether something has to be sent.
    #[inline]
    pub fn pending(&self) -> bool {
        self.pending
    }

    /// For λ.
    #[inline]
    pub fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.pending {
            self.send(out);
        }
    }

    #[cold]
    fn send(&self, out: &mut Outbox<'_, Value>) {
        for (port, level) in (self.first..).zip(&self.levels) {
            if let Some(segment) = level.as_ref().and_then(Level::pending) {
                out.send(OutPort::<Segment>::new(port), segment);
            }
        }
    }

    /// After λ.
    #[inline]
    pub fn sent(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.levels.iter_mut().flatten().for_each(Level::sent);
        }
    }
}

/// The 95 % score interval of a proportion: Wilson, J. Am. Stat. Assoc. 22 (1927) 209,
/// z = 1.959964.
///
/// ```
/// use superdense_models::network::board::wilson;
/// let (low, high) = wilson(10, 100).unwrap();
/// assert!((low - 0.055229).abs() < 1e-6 && (high - 0.174366).abs() < 1e-6);
/// assert_eq!(wilson(0, 0), None);
/// ```
pub fn wilson(hits: u64, of: u64) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_963_984_540_054;
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Some((((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0)))
}
