//! Location of flips: when the side of a relation changes along one step.
//!
//! A relation is a function z of the variables, smooth along a step, and holds a *side*: the sign of
//! z, or z rounded down. The side is held, not recomputed: it changes only where z goes strictly
//! beyond it. What formulas say of sides is nobody's business here.
//!
//! # How none is lost
//! A function that is a polynomial along the step, or the beginning of a series, is solved as such.
//! Each of the others is sampled at ten points and modelled by a polynomial of degree seven; where that
//! model misses its two check points the interval is halved, as often as a limit on the number of
//! intervals allows. The samples and the extrema of the models cut the interval into pieces on which
//! the function is monotone, so that one comparison tells whether a piece has a root. A function whose
//! bounds exclude the end of its side costs no more than these.
//! The iteration on sampled functions is ITP (Oliveira & Takahashi 2020, "An enhancement of the
//! bisection method average performance preserving minmax optimality", ACM TOMS 47, article 5).
//!
//! # How none is invented
//! Computed values are off: by rounding, and by the error of the solution. A function that only touches
//! the end of its side, or comes nearer and nearer to it, may be computed to lie beyond. So a root
//! is a flip only if the function is beyond it by more than that error ([`Doubts::bound`]) before it comes back,
//! or if it certainly moves on there ([`Doubts::heading`]). A tick may lie 2⁻¹⁰ tick before the root that it
//! was rounded from (R14); then z is on the old side yet. So a function that begins beyond the end
//! of its side, and is inside within 2⁻⁹ tick, has not flipped.

use serde::{Deserialize, Serialize};

mod curves;
mod sampled;
mod walk;

use curves::Polynomial;
pub use curves::spread;
use sampled::{Models, Probe, Sampled};
use walk::{MOST, Walk};

pub use crate::maths::expr::Kind;

/// A relation, as the search needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The value that is held.
    pub kind: Kind,
    /// The sign that the function has wherever it is not zero, if there is but one; else zero. Beyond that
    /// sign it is computed to lie by rounding only.
    pub only: f64,
    /// Report also extrema that come this close to zero without a flip.
    pub touching: Option<f64>,
    /// Whether the solution may have slid along z = 0, and begin beyond it by the error of that.
    pub slides: bool,
}

/// A change of a relation's side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flip {
    /// When, not rounded.
    pub t: f64,
    /// Number of the relation.
    pub relation: u16,
    /// Whether this is no flip, but a touch: an extremum this close to zero.
    pub touch: Option<f64>,
    /// The side before, and from here on.
    pub before: f64,
    /// The side from here on.
    pub side: f64,
}

/// A function that is NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("event indicator {indicator} is not finite at {t} s")]
pub struct NotFinite {
    /// Time of the evaluation.
    pub t: f64,
    /// Index of the first such function.
    pub indicator: usize,
}

/// The known errors of functions.
pub trait Doubts {
    /// How far function `k` may be computed off at `t`.
    fn bound(&mut self, k: usize, t: f64) -> f64;
    /// How far function `k` is surely computed off at `t`, or one of a sum that it comes from: no model is better.
    fn computed(&mut self, k: usize, t: f64) -> f64 {
        self.bound(k, t)
    }
    /// Whether function `k`, which goes beyond zero at `t` and comes back before it is beyond its error,
    /// was beyond all the same: this error is far larger than what it usually comes to. Its polynomial is rounded
    /// by `rounding`.
    fn excursion(&mut self, k: usize, t: f64, rounding: f64) -> bool {
        let _ = (k, t, rounding);
        false
    }
    /// Whether function `k`, which is computed to turn back to `side` at `t`, does so: it may only come nearer and nearer.
    fn turns(&mut self, k: usize, t: f64, (side, bound): (f64, f64)) -> bool {
        let _ = (k, t, side, bound);
        true
    }
    /// Whether nothing moves function `k` at `t` once it is on `side`, so that it stays there.
    fn stops(&mut self, k: usize, t: f64, side: f64) -> bool {
        let _ = (k, t, side);
        false
    }
    /// Whether tolerances are tightened, so that function `k` at `t` is known up to this error, once this search is over: it
    /// is of no use then.
    fn tightens(&mut self, k: usize, t: f64, allowed: f64) -> bool {
        let _ = (k, t, allowed);
        false
    }
    /// Which way function `k` certainly goes on from zero at `t`, after it has turned back if it does so within `bound`;
    /// zero if it may rest.
    fn heading(&mut self, k: usize, t: f64, bound: f64) -> f64;
}

/// Computed values are off by so much, or exact.
#[derive(Debug)]
pub struct Off(pub f64);

impl Doubts for Off {
    fn bound(&mut self, _: usize, _: f64) -> f64 {
        self.0
    }
    fn heading(&mut self, _: usize, _: f64, _: f64) -> f64 {
        0.0
    }
}

/// Finds the flips of one unit's relations, step by step. Keeps nothing but working memory.
#[derive(Debug, Default)]
pub struct Locator {
    watched: Vec<Watched>,
    /// The number of the first function whose flip ends a search.
    ending: Option<usize>,
    /// Flips of one polynomial at which a search ends.
    most: usize,
    walk: Walk,
    models: Models,
    /// Intervals still to do, last one first: start, end, halvings.
    todo: Vec<(f64, f64, u32)>,
}

/// A search's knowledge of a relation, from the searches before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// It touched zero, and has not left its band since.
    pub touched: bool,
    /// The sign on which it came nearer to zero at the end of the last search, inside its band; else
    /// zero.
    pub nearing: f64,
    /// How far it may begin beyond the end of its side, since rounding put it there.
    pub slack: f64,
    /// How far from zero it was at most while it was above, and below: of late, and in the time before that.
    pub most: [[f64; 2]; 2],
    /// The time since its last flip, and the one from which on what was of late is before.
    pub since: [f64; 2],
    /// It was beyond zero without a flip, by less than an error that is large beside all that it was of late on its side.
    pub unsure: bool,
}

impl Past {
    /// A search of this width comes to its end, within which it was no farther from zero than `reach` on a side.
    #[inline]
    fn went(&mut self, side: f64, reach: f64, width: f64) {
        if side == 0.0 {
            return;
        }
        let most = &mut self.most[0][usize::from(side < 0.0)];
        if reach > *most {
            *most = reach;
        }
        self.since[0] += width;
        if self.since[0] > self.since[1] {
            self.forget();
        }
    }

    /// **Why.** A current into a capacitor that is switched on is thousands of times that which flows later, and whose sign
    /// is to be sure.
    #[cold]
    fn forget(&mut self) {
        self.most = [[0.0; 2], self.most[0]];
        self.since[1] = 2.0 * self.since[0];
    }

    /// How far from zero it was on a side, at least in the second half of the time since its last flip.
    fn size(&self, side: f64) -> f64 {
        let below = usize::from(side < 0.0);
        self.most[0][below].max(self.most[1][below])
    }
}

/// Where a search goes: from, to, and the time from its start within which what comes back to its
/// side has not left it.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Start.
    pub start: f64,
    /// End.
    pub end: f64,
    /// 2⁻⁹ tick, in seconds.
    pub fresh: f64,
}

impl Locator {
    /// How often an interval may be halved because the model does not fit; and after how many intervals
    /// a search ends, for the next one to go on: those of long steps may be as short as what happens in
    /// them.
    const HALVINGS: u32 = 24;
    const INTERVALS: u32 = 2048;

    /// For these relations.
    pub fn new(watched: Vec<Watched>) -> Self {
        Self { watched, most: MOST, ..Self::default() }
    }

    /// Ends each search at so many flips of one polynomial, before the last of them: the next one goes on there, if what
    /// the first of them sets off does not make the others void.
    pub fn at_most(mut self, flips: usize) -> Self {
        self.most = flips;
        self
    }

    /// Ends each search on sampled functions behind the interval in which function `first`, or one behind it, flips.
    pub fn ending(mut self, first: usize) -> Self {
        self.ending = Some(first);
        self
    }

    /// The relations.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// Appends the flips of relation `k`, whose function is the polynomial `row` from the start of the
    /// interval on; `side` moves along. `correct(t)` gives the true value where the polynomial is only
    /// the beginning of a series. Gives how far it went, if that is not the end.
    pub fn polynomial(
        &mut self,
        (k, row): (usize, &[f64]),
        within: Interval,
        side: &mut f64,
        correct: impl FnMut(f64) -> Option<f64>,
        doubts: &mut impl Doubts,
        (flips, past): (&mut Vec<Flip>, &mut Past),
    ) -> Option<f64> {
        let mut curve =
            Polynomial { row, start: within.start, width: within.end - within.start, correct };
        self.walk.flips(
            &mut curve,
            (k, self.watched[k], self.most),
            side,
            within,
            doubts,
            (flips, past),
        )
    }

    /// Appends the flips of those relations that `select` names, by evaluating functions: `z` evaluates
    /// all of them; `sides` move along. Gives how far it went.
    ///
    /// # Errors
    /// When a function is not finite somewhere.
    pub fn sample(
        &mut self,
        within: Interval,
        sides: &mut [f64],
        select: impl Fn(usize) -> bool,
        z: impl FnMut(f64, &mut [f64]),
        doubts: &mut impl Doubts,
        (flips, past): (&mut Vec<Flip>, &mut [Past]),
    ) -> Result<f64, NotFinite> {
        let mut probe = Probe { z, bad: None };
        let Self { watched, ending, walk, models, todo, .. } = self;
        let listed = || watched.iter().enumerate().filter(|(k, _)| select(*k));
        if listed().next().is_none() {
            return Ok(within.end);
        }
        todo.clear();
        todo.push((within.start, within.end, 0));
        let mut intervals = 0;
        while let Some((low, high, halvings)) = todo.pop() {
            intervals += 1;
            if intervals > Self::INTERVALS && low > within.start {
                return probe.bad.map_or(Ok(low), Err);
            }
            let middle = 0.5 * (low + high);
            let fits = models.sample(&mut probe, watched.len(), (low, high));
            let judged = fits
                && listed().all(|(k, w)| {
                    models.judges(k, *w, sides[k]) || models.error(k) <= doubts.computed(k, middle)
                });
            if !judged
                && halvings < Self::HALVINGS
                && low < middle
                && middle < high
                && probe.bad.is_none()
            {
                todo.push((middle, high, halvings + 1));
                todo.push((low, middle, halvings + 1));
                continue;
            }
            if probe.bad.is_some() {
                break;
            }
            let fresh = if low == within.start { within.fresh } else { 0.0 };
            let part = Interval { start: low, end: high, fresh };
            for (k, w) in listed() {
                let mut curve = Sampled { probe: &mut probe, models, k, low, high };
                let found = (&mut *flips, &mut past[k]);
                walk.flips(&mut curve, (k, *w, MOST), &mut sides[k], part, doubts, found);
            }
            let ends = |first| flips.iter().any(|f| usize::from(f.relation) >= first);
            if probe.bad.is_some() || ending.is_some_and(ends) {
                return probe.bad.map_or(Ok(high), Err);
            }
        }
        probe.bad.map_or(Ok(within.end), Err)
    }
}
