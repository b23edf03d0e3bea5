//! Reductions: one number from what comes piece by piece.
use super::{How, side::extrema};
use serde::{Deserialize, Serialize};
use superdense_models::{blocks::sink::BatchMeans, maths::poly, signal::piece::Moment};

/// A sum without the rounding of its terms (Neumaier 1974, "Rundungsfehleranalyse einiger Verfahren zur
/// Summation endlicher Summen").
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Sum(f64, f64);

impl Sum {
    fn add(&mut self, x: f64) {
        let sum = self.0 + x;
        self.1 += if self.0.abs() >= x.abs() { (self.0 - sum) + x } else { (x - sum) + self.0 };
        self.0 = sum;
    }

    fn value(self) -> f64 {
        self.0 + self.1
    }
}

/// An interval of a signal: where it begins, seconds, and the polynomial in shares of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval<'a> {
    pub from: Moment,
    pub seconds: f64,
    pub c: &'a [f64],
}

/// The state of a reduction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Fold {
    how: Kind,
    rate: f64,
    /// Whether something was not a number.
    broken: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Kind {
    /// The value that was found, once.
    Once(Option<f64>),
    /// The extremum of `sign` times the signal, and where.
    Extreme {
        sign: f64,
        best: Option<(f64, Moment)>,
    },
    /// Integral, seconds, integral of the square if somebody asks for it; values are taken from the first one.
    Moments {
        shift: Option<f64>,
        integral: Sum,
        seconds: Sum,
        square: Option<Sum>,
    },
    /// Seconds and coefficients of all pieces.
    Shares(Vec<(f64, Vec<f64>)>),
    Truth {
        since: Option<Moment>,
        seconds: Sum,
        count: u64,
        first: Option<Moment>,
        last: Option<Moment>,
    },
    Events {
        count: u64,
        first: Option<i64>,
        last: Option<i64>,
        values: Values,
    },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Values {
    count: u64,
    sum: Sum,
    /// Mean and sum of squares about it (Welford 1962).
    mean: f64,
    squares: f64,
    least: Option<f64>,
    most: Option<f64>,
    all: Vec<f64>,
    keeps: bool,
    batches: Option<BatchMeans>,
}

impl Values {
    fn push(&mut self, x: f64) {
        self.count += 1;
        self.sum.add(x);
        let off = x - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (x - self.mean);
        self.least = Some(self.least.map_or(x, |m| m.min(x)));
        self.most = Some(self.most.map_or(x, |m| m.max(x)));
        if self.keeps {
            self.all.push(x);
        }
        if let Some(batches) = &mut self.batches {
            batches.push(x);
        }
    }
}

impl Fold {
    pub(super) fn signal(how: How, truth: bool, rate: f64) -> Self {
        let extreme = |sign| Kind::Extreme { sign, best: None };
        let zero = Sum::default();
        let how = match how {
            How::Min | How::TimeOfMin => extreme(-1.0),
            How::Max | How::TimeOfMax => extreme(1.0),
            How::Percentile(_) => Kind::Shares(Vec::new()),
            How::Initial | How::Final | How::At(_) => Kind::Once(None),
            _ if truth => {
                Kind::Truth { since: None, seconds: zero, count: 0, first: None, last: None }
            }
            _ => {
                let square = matches!(how, How::Rms | How::Std).then_some(zero);
                Kind::Moments { shift: None, integral: zero, seconds: zero, square }
            }
        };
        Self { how, rate, broken: false }
    }

    pub(super) fn stream(how: How, batches: bool, rate: f64) -> Self {
        let keeps = matches!(how, How::Percentile(_));
        let batches = batches.then(BatchMeans::new);
        let values = Values { keeps, batches, ..Values::default() };
        Self {
            how: Kind::Events { count: 0, first: None, last: None, values },
            rate,
            broken: false,
        }
    }

    /// The value at an instant that was asked for; the first one counts.
    pub(super) fn once(&mut self, x: f64) {
        if let Kind::Once(value) = &mut self.how {
            self.broken |= x.is_nan();
            value.get_or_insert(x);
        }
    }

    pub(super) fn piece(&mut self, i: Interval<'_>) {
        self.broken |= i.c.iter().any(|c| !c.is_finite());
        match &mut self.how {
            Kind::Extreme { sign, best } => extreme(i, *sign, best, self.rate),
            Kind::Moments { shift, integral, seconds, square } => {
                let shift = *shift.get_or_insert(i.c[0]);
                let (first, rest) = (i.c[0] - shift, &i.c[1..]);
                let mean = first + weighted(rest, 1);
                integral.add(i.seconds * mean);
                seconds.add(i.seconds);
                let Some(square) = square else { return };
                // The mean of all products of two terms, those of two different ones twice.
                let mut all = first * (2.0 * mean - first);
                for (k, c) in rest.iter().enumerate() {
                    let place = 2 * (k + 1);
                    all += c * (c * share(place) + 2.0 * weighted(&rest[k + 1..], place + 1));
                }
                square.add(i.seconds * all);
            }
            Kind::Shares(all) => all.push((i.seconds, i.c.to_vec())),
            _ => {}
        }
    }

    /// An interval in which a condition holds throughout, or not, or hangs on what is no number.
    pub(super) fn truth(&mut self, from: Moment, seconds: f64, holds: Option<bool>) {
        self.broken |= holds.is_none();
        let holds = holds == Some(true);
        let Kind::Truth { since, seconds: sum, count, first, last } = &mut self.how else { return };
        if !holds {
            *since = None;
            return;
        }
        if since.is_none() {
            *since = Some(from);
            *count += 1;
            first.get_or_insert(from);
            *last = Some(from);
        }
        sum.add(seconds);
    }

    /// The values at the last instant of the window, for those that look at values and not at time.
    pub(super) fn instant(&mut self, at: Moment, (stopped, last): (Option<f64>, f64)) {
        for x in stopped.into_iter().chain([last]) {
            match &mut self.how {
                Kind::Extreme { .. } => self.piece(Interval { from: at, seconds: 0.0, c: &[x] }),
                Kind::Truth { .. } => self.truth(at, 0.0, (!x.is_nan()).then_some(x != 0.0)),
                _ => {}
            }
        }
    }

    pub(super) fn event(&mut self, tick: i64, value: Option<f64>) {
        let Kind::Events { count, first, last, values } = &mut self.how else { return };
        *count += 1;
        first.get_or_insert(tick);
        *last = Some(tick);
        if let Some(x) = value {
            self.broken |= x.is_nan();
            values.push(x);
        }
    }

    /// The number; an error if a value on the way was not finite.
    pub(super) fn number(&self, how: How, window: [i64; 2]) -> Result<Option<f64>, NotFinite> {
        if self.broken {
            return Err(NotFinite);
        }
        let number = self.unchecked(how, window);
        match number.is_some_and(f64::is_nan) {
            true => Err(NotFinite),
            false => Ok(number),
        }
    }

    /// The number, finite or not.
    fn unchecked(&self, how: How, window: [i64; 2]) -> Option<f64> {
        let at = |m: &Moment| m.seconds(self.rate);
        match &self.how {
            Kind::Once(value) => *value,
            Kind::Extreme { sign, best } => best.as_ref().map(|(x, m)| match how {
                How::TimeOfMin | How::TimeOfMax => at(m),
                _ => sign * x,
            }),
            Kind::Moments { shift, integral, seconds, square } => {
                let (t, x0) = (seconds.value(), shift.unwrap_or(0.0));
                let (one, two) = (integral.value(), square.map_or(f64::NAN, Sum::value));
                match how {
                    How::Integral => shift.map(|x0| one + x0 * t),
                    _ if t <= 0.0 => None,
                    How::Mean => Some(x0 + one / t),
                    How::Rms => Some(root(two / t + 2.0 * x0 * one / t + x0 * x0)),
                    _ => Some(root(two / t - (one / t) * (one / t))),
                }
            }
            Kind::Shares(all) => match how {
                How::Percentile(p) => percentile_of_pieces(all, p),
                _ => None,
            },
            Kind::Truth { seconds, count, first, last, .. } => match how {
                How::Duration => Some(seconds.value()),
                How::Count => Some(*count as f64),
                How::First => first.as_ref().map(at),
                _ => last.as_ref().map(at),
            },
            Kind::Events { count, first, last, values } => {
                let tick = |t: &Option<i64>| t.map(|t| at(&Moment::at(t)));
                match how {
                    How::Count => Some(*count as f64),
                    How::First => tick(first),
                    How::Last => tick(last),
                    How::Rate => {
                        let ticks = (window[1] - window[0]) as f64;
                        (ticks > 0.0).then(|| *count as f64 * self.rate / ticks)
                    }
                    _ => values.number(how),
                }
            }
        }
    }

    /// How many events of how many carry no number.
    pub(super) fn without_number(&self) -> (u64, u64) {
        match &self.how {
            Kind::Events { count, values, .. } => (count - values.count, *count),
            _ => (0, 0),
        }
    }

    /// The 95 % confidence interval by batch means.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        match &self.how {
            Kind::Events { values, .. } => values.batches.as_ref()?.interval(),
            _ => None,
        }
    }
}

/// A value on the way was not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotFinite;

impl Values {
    fn number(&self, how: How) -> Option<f64> {
        let n = self.count as f64;
        if self.count == 0 {
            return (how == How::Sum).then_some(0.0);
        }
        match how {
            How::Sum => Some(self.sum.value()),
            How::Mean => Some(self.sum.value() / n),
            // Of a sample: over n - 1.
            How::Std => (self.count > 1).then(|| root(self.squares / (n - 1.0))),
            How::Min => self.least,
            How::Max => self.most,
            How::Percentile(p) => {
                let mut all = self.all.clone();
                all.sort_unstable_by(f64::total_cmp);
                // Linear between neighbours (Hyndman & Fan 1996, type 7).
                let place = p / 100.0 * (all.len() - 1) as f64;
                let (below, share) = (place.floor() as usize, place.fract());
                let above = all[(below + 1).min(all.len() - 1)];
                Some(all[below] + share * (above - all[below]))
            }
            _ => None,
        }
    }
}

/// The square root of what only rounding puts below zero; a number beyond all bounds stays one.
fn root(square: f64) -> f64 {
    if square < 0.0 { 0.0 } else { square.sqrt() }
}

/// The mean over the interval of the power `k` of its share.
fn share(k: usize) -> f64 {
    const SHARES: [f64; 32] = {
        let (mut all, mut k) = ([1.0; 32], 0);
        while k < all.len() {
            all[k] = 1.0 / (k + 1) as f64;
            k += 1;
        }
        all
    };
    SHARES.get(k).copied().unwrap_or_else(|| 1.0 / (k + 1) as f64)
}

/// The mean over the interval of a polynomial whose coefficients belong to powers from `k` on.
fn weighted(c: &[f64], k: usize) -> f64 {
    c.iter().enumerate().map(|(i, c)| c * share(k + i)).sum()
}

/// Puts the extremum of a piece in the place of a lesser one. The bound of all coefficients excludes most.
fn extreme(i: Interval<'_>, sign: f64, best: &mut Option<(f64, Moment)>, rate: f64) {
    let (first, rest) = (sign * i.c[0], &i.c[1..]);
    let bound = first + rest.iter().map(|c| c.abs()).sum::<f64>();
    if best.as_ref().is_some_and(|(x, _)| bound <= *x) {
        return;
    }
    let mut consider = |theta: f64| {
        let x = sign * poly::eval(i.c, theta);
        if best.as_ref().is_none_or(|(b, _)| x > *b) {
            let place = match theta {
                0.0 => i.from,
                _ => Moment::after(i.from.tick, i.from.part + theta * i.seconds, rate),
            };
            *best = Some((x, place));
        }
    };
    consider(0.0);
    extrema(i.c).into_iter().for_each(&mut consider);
    consider(1.0);
}

/// A monotone part of a piece: seconds of the piece, its coefficients, ends in shares of it, values there.
type Part<'a> = (f64, &'a [f64], [f64; 2], [f64; 2]);

/// The value below which a signal is `p` percent of the time.
fn percentile_of_pieces(all: &[(f64, Vec<f64>)], p: f64) -> Option<f64> {
    let total: f64 = all.iter().map(|(seconds, _)| seconds).sum();
    if total <= 0.0 {
        return None;
    }
    // Between its extrema a piece is monotone.
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (seconds, c) in all {
        let ends = [0.0].into_iter().chain(extrema(c)).chain([1.0]);
        let ends: Vec<f64> = ends.collect();
        for pair in ends.windows(2) {
            let values = [poly::eval(c, pair[0]), poly::eval(c, pair[1])];
            parts.push((*seconds, c, [pair[0], pair[1]], values));
        }
    }
    let below = |x: f64| -> f64 {
        let time = |(seconds, c, [a, b], [u, v]): &Part<'_>| {
            let (low, high) = (u.min(*v), u.max(*v));
            let share = match x {
                x if x >= high => b - a,
                x if x < low => 0.0,
                _ => {
                    let at = crossing(c, x, (*a, *b), v > u);
                    if v > u { at - a } else { b - at }
                }
            };
            seconds * share
        };
        parts.iter().map(time).sum()
    };
    let values = || parts.iter().flat_map(|p| p.3);
    let (mut low, mut high) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let wanted = p / 100.0 * total;
    if below(low) >= wanted {
        return Some(low);
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) >= wanted { high = middle } else { low = middle }
    }
    Some(high)
}

/// Where a monotone part of a polynomial takes a value, by halving.
fn crossing(c: &[f64], x: f64, (mut a, mut b): (f64, f64), rising: bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (a + b);
        if (poly::eval(c, middle) <= x) == rising { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e9;

    /// A parabola 4 θ (1 - θ) over 2 s from 1 s on, then the constant 3 over 1 s.
    fn of(how: How) -> Option<f64> {
        let mut fold = Fold::signal(how, false, RATE);
        let second = |s: i64| Moment::at(s * 1_000_000_000);
        fold.piece(Interval { from: second(1), seconds: 2.0, c: &[0.0, 4.0, -4.0] });
        fold.piece(Interval { from: second(3), seconds: 1.0, c: &[-3.0] });
        fold.number(how, [0, 0]).expect("finite")
    }

    #[test]
    fn closed_forms_of_pieces() {
        let close = |how, wanted: f64| {
            let x = of(how).expect("a number");
            assert!((x - wanted).abs() < 1e-12, "{how:?}: {x}, not {wanted}");
        };
        close(How::Min, -3.0);
        close(How::Max, 1.0);
        close(How::TimeOfMax, 2.0);
        close(How::TimeOfMin, 3.0);
        close(How::Integral, 4.0 / 3.0 - 3.0);
        close(How::Mean, (4.0 / 3.0 - 3.0) / 3.0);
        // The mean of the square of the parabola is 8/15.
        let square: f64 = (2.0 * 8.0 / 15.0 + 9.0) / 3.0;
        close(How::Rms, square.sqrt());
        let mean: f64 = (4.0 / 3.0 - 3.0) / 3.0;
        close(How::Std, (square - mean * mean).sqrt());
        // One third of the time it is -3; two thirds of it below 3/4, where the parabola is in its outer half.
        close(How::Percentile(100.0 * 2.0 / 3.0), 0.75);
        close(How::Percentile(10.0), -3.0);
    }

    #[test]
    fn a_large_mean_hides_no_deviation() {
        let mut fold = Fold::signal(How::Std, false, RATE);
        fold.piece(Interval { from: Moment::at(0), seconds: 1.0, c: &[1e9, 0.0] });
        fold.piece(Interval { from: Moment::at(1), seconds: 1.0, c: &[1e9 + 2e-3] });
        let std = fold.number(How::Std, [0, 0]).expect("finite").expect("a number");
        assert!((std - 1e-3).abs() < 1e-7, "{std}");
    }

    #[test]
    fn events_and_their_values() {
        let mut fold = Fold::stream(How::Percentile(50.0), false, RATE);
        for (k, x) in [5.0, 1.0, 3.0, 2.0].into_iter().enumerate() {
            fold.event(k as i64 * 1_000_000_000, Some(x));
        }
        let number = |how| fold.number(how, [0, 4_000_000_000]).expect("finite");
        assert_eq!(number(How::Percentile(50.0)), Some(2.5));
        assert_eq!(
            (number(How::Min), number(How::Max), number(How::Sum)),
            (Some(1.0), Some(5.0), Some(11.0))
        );
        assert_eq!((number(How::First), number(How::Last)), (Some(0.0), Some(3.0)));
        assert_eq!((number(How::Count), number(How::Rate)), (Some(4.0), Some(1.0)));
        let std = number(How::Std).expect("four values");
        assert!((std - (35.0f64 / 12.0).sqrt()).abs() < 1e-12, "{std}");
        let none = Fold::stream(How::Mean, false, RATE);
        assert_eq!(none.number(How::Mean, [0, 1]), Ok(None));
        assert_eq!(none.number(How::First, [0, 1]), Ok(None));
    }

    #[test]
    fn what_is_not_finite_is_told() {
        let mut fold = Fold::signal(How::Mean, false, RATE);
        fold.piece(Interval { from: Moment::at(0), seconds: 1.0, c: &[f64::NAN] });
        assert_eq!(fold.number(How::Mean, [0, 0]), Err(NotFinite));
    }
}
