//! One signal on its way from a unit to its receivers.
use crate::{
    poly,
    signal::{Held, Poly, Timer, trimmed},
    value::{Flag, Segment, Value},
};
use serde::{Deserialize, Serialize};

/// Values kept for extrapolation from samples, the present one included.
pub(super) const SAMPLES: usize = 4;

/// A signal that passes through a coupler.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    source: Option<Held>,
    told: Option<Held>,
    /// Tick and value at the last exchanges since the last jump, the latest first.
    samples: Vec<(i64, f64)>,
    /// Integral of source minus told since the last exchange.
    deviation: f64,
    /// Up to which tick that is.
    until: i64,
    /// Mean of source minus told over the last macro step.
    mean: f64,
    /// Sum of those means.
    pub(super) memory: f64,
    /// What a filter let through last.
    pub(super) filtered: Option<f64>,
}

impl Line {
    /// Whether the source has sent anything yet.
    pub fn heard(&self) -> bool {
        self.source.is_some()
    }
    /// The source's own polynomial, with its origin at tick `now`.
    pub fn source(&self, now: i64, timer: &Timer) -> Poly {
        self.source.as_ref().map_or(Poly::constant(0.0), |h| h.shifted(now, timer))
    }
    /// The source's value at tick `now`.
    pub fn value(&self, now: i64, timer: &Timer) -> f64 {
        self.source.as_ref().map_or(0.0, |h| h.value(now, timer))
    }
    /// The source's value at tick `now`, before anything happens there.
    pub fn left(&self, now: i64, timer: &Timer) -> f64 {
        self.source.as_ref().map_or(0.0, |h| h.left(now, timer))
    }
    /// What receivers hold at tick `now`.
    pub fn held(&self, now: i64, timer: &Timer) -> Option<f64> {
        self.told.as_ref().map(|h| h.value(now, timer))
    }
    /// What receivers hold, with its origin at tick `now`.
    pub fn told(&self, now: i64, timer: &Timer) -> Poly {
        self.told.as_ref().map_or(Poly::constant(0.0), |h| h.shifted(now, timer))
    }
    /// Ticks and values of the last exchanges, the latest first.
    pub fn samples(&self) -> &[(i64, f64)] {
        &self.samples
    }
    /// Mean of source minus told over the last macro step.
    pub fn mean(&self) -> f64 {
        self.mean
    }
    /// Source minus told at tick `now`: the error of the extrapolation at its end.
    pub fn gap(&self, now: i64, timer: &Timer) -> f64 {
        self.held(now, timer).map_or(0.0, |u| self.value(now, timer) - u)
    }

    /// What a source sent, as [`receive`](Self::receive) takes it: a plain value is a step.
    pub fn hear(&mut self, value: &Value, answers: bool, timer: &Timer) -> bool {
        if let Value::Segment(segment) = value {
            return self.receive(segment, answers, timer);
        }
        let before = self.value(timer.now(), timer);
        let step = Segment::step(before, value.as_real().unwrap_or(f64::NAN));
        self.receive(&step, answers, timer)
    }

    /// A new segment of the source; gives whether it jumps. What an output with feed-through
    /// `answers` to an exchange is no jump of its own: the history goes on.
    pub fn receive(&mut self, segment: &Segment, answers: bool, timer: &Timer) -> bool {
        self.accumulate(timer.now(), timer);
        Held::receive(&mut self.source, segment, timer.now());
        let jump = segment.flag == Flag::Jump && segment.left != segment.value(0.0);
        if jump && !answers {
            self.samples.clear();
        }
        jump
    }

    /// Adds the deviation up to tick `now`, exactly: all is polynomial.
    fn accumulate(&mut self, now: i64, timer: &Timer) {
        if let (Some(y), Some(u)) = (&self.source, &self.told)
            && now > self.until
        {
            let span = timer.seconds(self.until, now);
            let constants = (y.segment().coefficients(), u.segment().coefficients());
            if let ([y], [u]) = constants {
                self.deviation += (y - u) * span;
                self.until = now;
                return;
            }
            let mut d = y.shifted(self.until, timer);
            d.add(-1.0, u.shifted(self.until, timer).coefficients());
            self.deviation += d.integral(0.0).value(span);
        }
        self.until = now;
    }

    /// An exchange at tick `now`, `elapsed` seconds after the one before: notes the sample and
    /// the mean deviation.
    pub fn exchange(&mut self, now: i64, elapsed: f64, timer: &Timer) {
        self.accumulate(now, timer);
        if elapsed > 0.0 {
            self.mean = self.deviation / elapsed;
            self.memory += self.mean;
            self.deviation = 0.0;
        }
        let value = self.value(now, timer);
        // Two values close together would give a slope of mere rounding.
        let last = self.samples.first().map_or(now, |s| s.0);
        let before = self.samples.get(1).map_or(last, |s| s.0);
        if now - last < (last - before) / 64 {
            self.samples.remove(0);
        }
        self.samples.retain(|s| s.0 < now);
        self.samples.insert(0, (now, value));
        self.samples.truncate(SAMPLES);
    }

    /// Receivers are told `p` from tick `now` on; nothing to send if they hold it already.
    pub fn tell(&mut self, p: &Poly, now: i64, timer: &Timer) -> Option<Segment> {
        let c = p.truncated(poly::MAX_DEGREE);
        let same = |h: &Held| h.since() == now && trimmed(h.segment().coefficients()) == c;
        if self.told.as_ref().is_some_and(same) {
            return None;
        }
        let left = self.held(now, timer).unwrap_or(c[0]);
        let flag = match self.told {
            None => Flag::Jump,
            Some(_) if left == c[0] => Flag::Continuous,
            Some(_) => Flag::Jump,
        };
        let segment = Segment::new(c, flag, left);
        self.told = Some(Held::new(segment.clone(), now));
        Some(segment)
    }
}
