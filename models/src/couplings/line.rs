//! One signal on its way from a unit to its receivers.
use super::{Compensation, compensation::Deviation, kalman::Known};
use crate::signal::{
    Held, Poly, Timer, trimmed,
    value::{Flag, Segment, Value},
};
use serde::{Deserialize, Serialize};

/// How far pieces of one solution may be apart where they meet, relative to 1 + |y|, and be continuous.
const NEAR: f64 = 1e-6;

/// A signal that passes through a coupler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    source: Option<Held>,
    told: Option<Held>,
    /// How many samples extrapolations need.
    most: usize,
    /// Tick and value at the last exchanges since the last jump, the latest first.
    samples: Vec<(i64, f64)>,
    /// Ticks between the last two exchanges.
    step: i64,
    /// The data that a compensation needs.
    pub(super) deviation: Option<Deviation>,
    /// The value that a filter let through last.
    pub(super) filtered: Option<f64>,
    /// Receivers hold what the source sent last, as it sent it.
    passed: bool,
    /// The filter's knowledge from measurements.
    pub(super) known: Option<Known>,
}

impl Line {
    /// A line that is told polynomials of this order, and keeps no more than that needs.
    pub fn new(order: usize, compensation: Compensation) -> Self {
        Self {
            source: None,
            told: None,
            most: if order > 0 { order + 1 } else { 0 },
            samples: Vec::new(),
            step: 0,
            deviation: compensation.deviation(),
            filtered: None,
            passed: false,
            known: None,
        }
    }
    /// Whether the source has sent anything yet.
    pub fn heard(&self) -> bool {
        self.source.is_some()
    }
    /// Whether the source has sent a first value, and receivers have not been told of it.
    pub fn is_new(&self) -> bool {
        self.source.is_some() && self.told.is_none()
    }
    /// Whether the source sent nothing but numbers.
    pub fn is_finite(&self) -> bool {
        let finite = |h: &Held| h.segment().coefficients().iter().all(|c| c.is_finite());
        self.source.as_ref().is_none_or(finite)
    }
    /// The source's own polynomial, with its origin at tick `now`.
    pub fn source(&self, now: i64, timer: &Timer) -> Poly {
        self.source.as_ref().map_or(Poly::constant(0.0), |h| h.shifted(now, timer))
    }
    /// The source's value at tick `now`.
    pub fn value(&self, now: i64, timer: &Timer) -> f64 {
        self.source.as_ref().map_or(0.0, |h| h.value(now, timer))
    }
    /// When the source sent last.
    pub fn since(&self) -> Option<i64> {
        self.source.as_ref().map(Held::since)
    }
    /// The source's value at tick `now`, before anything happens there.
    pub fn left(&self, now: i64, timer: &Timer) -> f64 {
        self.source.as_ref().map_or(0.0, |h| h.left(now, timer))
    }
    /// The value that receivers hold at tick `now`.
    pub fn held(&self, now: i64, timer: &Timer) -> Option<f64> {
        self.told.as_ref().map(|h| h.value(now, timer))
    }
    /// The polynomial that receivers hold, with its origin at tick `now`.
    pub fn told(&self, now: i64, timer: &Timer) -> Poly {
        self.told.as_ref().map_or(Poly::constant(0.0), |h| h.shifted(now, timer))
    }
    /// Ticks and values of the last exchanges, the latest first.
    pub fn samples(&self) -> &[(i64, f64)] {
        &self.samples
    }
    /// Source minus told at tick `now`: the error of the extrapolation at its end.
    pub fn gap(&self, now: i64, timer: &Timer) -> f64 {
        self.held(now, timer).map_or(0.0, |u| self.value(now, timer) - u)
    }

    /// Takes a source's value like [`receive`](Self::receive): a plain value is a step.
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
        let now = timer.now();
        self.accumulate(now, timer);
        self.passed = false;
        if self.since() == Some(now) && segment.begins() {
            return self.begin(segment, answers, timer);
        }
        self.take(segment, answers, now)
    }

    /// To a master the start is over: the source jumps by the inputs that it was told there.
    #[cold]
    fn begin(&mut self, segment: &Segment, answers: bool, timer: &Timer) -> bool {
        let mut segment = segment.clone();
        segment.left = self.value(timer.now(), timer);
        self.take(&segment, answers, timer.now())
    }

    #[inline]
    fn take(&mut self, segment: &Segment, answers: bool, now: i64) -> bool {
        Held::receive(&mut self.source, segment, now);
        let jump = segment.flag == Flag::Jump && segment.left != segment.start();
        if jump && !answers {
            self.samples.clear();
        }
        jump
    }

    #[inline]
    fn accumulate(&mut self, now: i64, timer: &Timer) {
        if let Some(deviation) = &mut self.deviation {
            deviation.accumulate((&self.source, &self.told), now, timer);
        }
    }

    /// An exchange at tick `now`, `elapsed` seconds after the one before: notes the sample and
    /// the mean deviation.
    #[inline]
    pub fn exchange(&mut self, now: i64, elapsed: f64, timer: &Timer) {
        self.accumulate(now, timer);
        if let Some(deviation) = &mut self.deviation {
            deviation.exchange(elapsed);
        }
        if self.most > 0 {
            self.sample(now, self.value(now, timer));
        }
    }

    /// The last sample, of tick `now`, becomes what receivers hold, where that is as near to the source's value `y` as
    /// corrections come, or else `y`: a jump of rounding size to and fro over a threshold would make each event there
    /// happen twice.
    pub fn join(&mut self, y: f64, near: f64, now: i64, timer: &Timer) {
        let held = self.held(now, timer).filter(|held| (y - held).abs() <= near * (1.0 + y.abs()));
        if let Some((_, sample)) = self.samples.first_mut().filter(|(at, _)| *at == now) {
            *sample = held.unwrap_or(y);
        }
    }

    #[inline(never)]
    fn sample(&mut self, now: i64, value: f64) {
        // Two values close together would give a slope of mere rounding. Where steps stay short, their samples count:
        // a slope from far back would keep them short for ever.
        let step = self.samples.first().map_or(now, |s| now - s.0);
        if step < self.step / 64 {
            self.samples.remove(0);
        }
        if step > 0 {
            self.step = step;
        }
        self.samples.retain(|s| s.0 < now);
        self.samples.insert(0, (now, value));
        self.samples.truncate(self.most);
    }

    /// Receivers are told a polynomial in seconds from tick `now` on; `None` if they hold it already.
    pub fn tell(&mut self, p: &[f64], now: i64, timer: &Timer) -> Option<&Segment> {
        self.passed = false;
        let c = trimmed(p);
        let same = |h: &Held| h.since() == now && trimmed(h.segment().coefficients()) == c;
        if self.told.as_ref().is_some_and(same) {
            return None;
        }
        let left = self.held(now, timer);
        let jumps = left != Some(c[0]);
        let flag = if jumps { Flag::Jump } else { Flag::Continuous };
        let left = left.unwrap_or(c[0]);
        let segment = match *c {
            [held] => Segment::constant(held, flag, left),
            _ => Segment::new(c, flag, left),
        };
        Some(self.told.insert(Held::new(segment, now)).segment())
    }

    /// Receivers are told `segment` at tick `now`, as once before.
    pub fn take_told(&mut self, segment: Segment, now: i64) {
        self.passed = false;
        self.told = Some(Held::new(segment, now));
    }

    /// Receivers are told a piece of the source's own solution from tick `now` on.
    pub fn hand_on(&mut self, piece: Segment, now: i64, timer: &Timer) -> Segment {
        let c = piece.coefficients();
        let left = self.held(now, timer).unwrap_or(c[0]);
        let jumps = piece.flag == Flag::Jump || (left - c[0]).abs() > NEAR * (1.0 + left.abs());
        let segment = match jumps {
            true => Segment::new(c, Flag::Jump, left),
            false => Segment::new(c, Flag::Continuous, c[0]),
        };
        self.told.insert(Held::new(segment, now)).segment().clone()
    }

    /// Receivers are told what the source sent last, whole, unless they were already.
    pub fn pass_on(&mut self, now: i64, timer: &Timer) -> bool {
        let Some(source) = self.source.as_ref().filter(|_| !self.passed) else { return false };
        let piece = match source.since() == now {
            true => source.segment().clone(),
            false => {
                let p = source.shifted(now, timer);
                Segment::new(p.coefficients(), Flag::Continuous, p.coefficients()[0])
            }
        };
        self.hand_on(piece, now, timer);
        self.passed = true;
        true
    }

    /// The last segment of the source.
    pub fn heard_last(&self) -> Option<&Segment> {
        self.source.as_ref().map(Held::segment)
    }

    /// The last segment that receivers were told.
    pub fn last(&self) -> Option<&Segment> {
        self.told.as_ref().map(Held::segment)
    }
}
