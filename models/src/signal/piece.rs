//! Pieces of signals between messages, as polynomials: the notes by which a run is evaluated.
use crate::maths::poly;
use serde::{Deserialize, Serialize};

/// An instant, which need not lie on a tick.
///
/// **Why two numbers.** Steps of solvers end anywhere. Late in a run one `f64` of seconds could not tell
/// where.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Moment {
    /// The tick before it.
    pub tick: i64,
    /// Seconds since then, less than a tick.
    pub part: f64,
}

impl Moment {
    /// A tick.
    pub fn at(tick: i64) -> Self {
        Self { tick, part: 0.0 }
    }

    /// So many seconds after a tick; `rate` is ticks per second.
    pub fn after(tick: i64, seconds: f64, rate: f64) -> Self {
        let whole = (seconds * rate).floor();
        let part = (seconds - whole / rate).max(0.0);
        let carried = part * rate >= 1.0;
        let tick = tick.saturating_add(whole as i64).saturating_add(carried.into());
        Self { tick, part: if carried { 0.0 } else { part } }
    }

    /// Seconds since an earlier one.
    pub fn since(self, earlier: Self, rate: f64) -> f64 {
        self.tick.saturating_sub(earlier.tick) as f64 / rate + (self.part - earlier.part)
    }

    /// Seconds since the start of the run.
    pub fn seconds(self, rate: f64) -> f64 {
        self.tick as f64 / rate + self.part
    }
}

/// A signal over an interval.
///
/// `value(θ) = c0 + c1 θ + c2 θ² + …`, with θ from 0 at `from` to 1 at `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The output port.
    pub port: u16,
    /// Where it begins.
    pub from: Moment,
    /// Where it ends.
    pub to: Moment,
    /// Coefficients in θ, at least one.
    pub coefficients: Vec<f64>,
    /// The function changes too fast for it: see [`Piece::cut`].
    pub coarse: bool,
}

impl Piece {
    /// The value at θ.
    pub fn value(&self, theta: f64) -> f64 {
        poly::eval(&self.coefficients, theta)
    }

    /// How many of these coefficients, at least one, are no rounding.
    pub fn length(coefficients: &[f64]) -> usize {
        let size = coefficients.iter().fold(0.0_f64, |size, c| size.max(c.abs()));
        let rounding = |c: &&f64| c.abs() <= ROUNDING * size;
        (coefficients.len() - coefficients.iter().rev().take_while(rounding).count()).max(1)
    }

    /// Cuts the interval from 0 to 1 into parts on each of which polynomials of degree eight describe `dim`
    /// functions, and passes them on: `take((from, to), function, coefficients)`, with the ends of the part, in order.
    ///
    /// Functions are sampled at Chebyshev-Lobatto points; where the last coefficients of the Chebyshev series do
    /// not vanish, the interval is halved (Trefethen 2013, "Approximation Theory and Approximation Practice",
    /// chapters 3 and 8). Functions know their arguments up to the share `rounding` of the interval: coefficients
    /// that do not decrease beside it will not do so on shorter parts. A jump ends in a part that is too short to
    /// matter; the function keeps its value there until the end of that part.
    ///
    /// So many `guides` are sampled behind the functions and are not passed on: functions switch where these pass
    /// zero. A function that looks flat at all points may have kinks between them, but no guide passes zero unseen.
    pub fn cut(
        (dim, guides): (usize, usize),
        (rounding, cuts): (f64, &mut Cuts),
        sample: &mut dyn FnMut(f64, &mut [f64]),
        take: Take<'_>,
    ) {
        let (taken, dim) = (dim, dim + guides);
        let mut rows = vec![0.0; (NODES + CHECKS.len()) * dim];
        let mut series = vec![[0.0; NODES]; dim];
        // Errors are judged by the largest coefficient so far: where a function is small, rounding is not.
        cuts.largest.resize(dim, 0.0);
        cuts.rough.resize(taken, false);
        let mut sizes: Vec<f64> = cuts.largest.iter().map(|size| EARLIER * size).collect();
        let most = cuts.few + cuts.more;
        // Parts to be done, the first one last; depth first, so that they come in order.
        let (mut open, mut parts) = (vec![(0.0, 1.0, HALVINGS)], 0);
        while let Some((low, high, halvings)) = open.pop() {
            let (nodes, checks) = rows.split_at_mut(NODES * dim);
            expand((low, high), sample, nodes, &mut series);
            let noise = NOISE.max(DERIVATIVE * rounding / (high - low));
            // Of all of them: each keeps its size.
            let mut rough = false;
            for (f, (series, size)) in series.iter().zip(&mut sizes).enumerate() {
                rough |= !decreases(series, size, noise) && f < taken;
            }
            let mut checked = || {
                for (row, at) in checks.chunks_exact_mut(dim).zip(CHECKS) {
                    sample(low + at * (high - low), row);
                }
                let miss = |f: usize, k: usize| {
                    (poly::eval(&powers(&series[f]).0, CHECKS[k]) - checks[k * dim + f]).abs()
                };
                (0..taken).all(|f| (0..CHECKS.len()).all(|k| miss(f, k) <= TAIL * sizes[f]))
            };
            let guide = |f: usize| passes_unseen(&series[f], sizes[f], (nodes, f, dim));
            let seen = !(taken..dim).any(guide);
            let fine = seen
                && (!rough || checked() || rounds((low, high), sample, (&series, taken), &sizes));
            let missed = |f: usize, share: f64| tail(&series[f]) > share * sizes[f];
            let count = parts + open.len() as u32;
            let small = || seen && count >= cuts.few && !(0..taken).any(|f| missed(f, SMALL));
            let gives_up = count >= most;
            if !fine && halvings > 0 && !gives_up && !small() {
                let middle = 0.5 * (low + high);
                open.extend([(middle, high, halvings - 1), (low, middle, halvings - 1)]);
                continue;
            }
            parts += 1;
            if gives_up && !fine {
                let rough = |f: usize| !seen || missed(f, SMALL);
                cuts.rough.iter_mut().enumerate().for_each(|(f, known)| *known |= rough(f));
            }
            for (f, series) in series[..taken].iter().enumerate() {
                let jumps = !gives_up && missed(f, JUMP);
                let (powers, length) = powers(series);
                if jumps {
                    take((low, high), f, &nodes[f..=f]);
                } else {
                    take((low, high), f, &powers[..length]);
                }
            }
        }
        cuts.more -= parts.saturating_sub(cuts.few).min(cuts.more);
        for (largest, size) in cuts.largest.iter_mut().zip(sizes) {
            *largest = largest.max(size);
        }
    }
}

/// The history of functions that are [cut](Piece::cut) on one interval after another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cuts {
    /// Their largest coefficients: a function that was larger has more rounding.
    largest: Vec<f64>,
    /// Parts that each interval may have, and more that all of them may have together.
    few: u32,
    more: u32,
    /// Which of them changed too fast for so many.
    rough: Vec<bool>,
    given_up: bool,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { largest: Vec::new(), few: FEW, more: MORE, rough: Vec::new(), given_up: false }
    }
}

impl Cuts {
    /// The functions read what is coarse already: each interval is one part.
    pub fn give_up(&mut self) {
        (self.few, self.more, self.given_up) = (1, 0, true);
    }

    /// Whether a function changed too fast, or reads one that did.
    pub fn is_coarse(&self) -> bool {
        self.given_up || self.rough.contains(&true)
    }

    /// Marks the pieces from `from` on of those of these ports, one for each function, that changed too fast.
    pub fn mark(&self, pieces: &mut [Piece], ports: &[u16], from: Moment) {
        if self.is_coarse() {
            let new = pieces.iter_mut().rev().take_while(|piece| piece.from >= from);
            let rough =
                |port: u16| ports.iter().zip(&self.rough).any(|(p, rough)| *rough && *p == port);
            new.for_each(|piece| piece.coarse = rough(piece.port));
        }
    }
}

/// Takes a part's ends, the number of a function, and its coefficients.
type Take<'a> = &'a mut dyn FnMut((f64, f64), usize, &[f64]);

/// Samples of a piece: it has degree eight.
const NODES: usize = 9;
/// Most halvings of an interval on which degree eight does not do: a kink ends in a part that is too short to
/// matter.
const HALVINGS: u32 = 44;
/// Two more places to judge a polynomial of full degree.
const CHECKS: [f64; 2] = [0.017, 0.573];
/// Parts that each interval may have, and more that all intervals may have together. These are not for what is
/// `SMALL` beside the largest coefficient: the rounding of a function that is solved for is larger than that of its
/// arguments.
const FEW: u32 = 500;
const MORE: u32 = 1 << 17;
const SMALL: f64 = 1e-6;
/// The share of the largest coefficient that the last two have beside a jump.
const JUMP: f64 = 1e-3;
/// The share of the largest coefficient that the last two may have in a piece that is good enough.
const TAIL: f64 = 1e-12;
/// How much the size of earlier intervals counts.
const EARLIER: f64 = 0.1;
/// The share below which coefficients that do not decrease are rounding of the function itself.
const NOISE: f64 = 1e-10;
/// The share of the largest coefficient below which one is rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The share of the largest coefficient before below which a function is zero.
const ZERO: f64 = 64.0 * ROUNDING;

/// Places and length of parts that are so short that only rounding is left on them, and how many times more
/// rounding the whole part may have.
const PROBES: [f64; 2] = [0.313, 0.771];
const PROBE: f64 = 1e-10;
const PROBED: f64 = 10.0;

/// How fast a function of size one may change over the interval, as a polynomial of its degree does.
const DERIVATIVE: f64 = 64.0;

/// Samples functions at the nodes between two places, and gives their series.
fn expand(
    (low, high): (f64, f64),
    sample: &mut dyn FnMut(f64, &mut [f64]),
    nodes: &mut [f64],
    series: &mut [[f64; NODES]],
) {
    let dim = series.len();
    for (k, row) in nodes.chunks_exact_mut(dim).enumerate() {
        sample(low + node(k) * (high - low), row);
    }
    for (f, series) in series.iter_mut().enumerate() {
        *series = chebyshev(&std::array::from_fn(|k| nodes[k * dim + f]));
    }
}

/// Whether guide `f` of `dim` functions has one sign at all nodes, but may have both between them; or is not
/// known well enough.
fn passes_unseen(
    series: &[f64; NODES],
    size: f64,
    (nodes, f, dim): (&[f64], usize, usize),
) -> bool {
    let values = nodes.iter().skip(f).step_by(dim);
    if !(values.clone().all(|z| *z > 0.0) || values.clone().all(|z| *z < 0.0)) {
        return false;
    }
    // On a function that is zero but for rounding nothing is to be seen.
    if series.iter().map(|c| c.abs()).sum::<f64>() <= ZERO * size {
        return false;
    }
    let (row, length) = powers(series);
    let error = tail(series).max(ROUNDING * size);
    let net = poly::bernstein(&row[..length], 1.0);
    let least = net[..length].iter().map(|c| c * row[0].signum()).fold(f64::INFINITY, f64::min);
    least <= error
}

/// Whether what is left of the first `series` is the rounding of functions that are small differences of large
/// numbers: it is there on a very short part, too.
fn rounds(
    (low, high): (f64, f64),
    sample: &mut dyn FnMut(f64, &mut [f64]),
    (series, taken): (&[[f64; NODES]], usize),
    sizes: &[f64],
) -> bool {
    let mut nodes = vec![0.0; series.len() * NODES];
    let mut short = vec![[0.0; NODES]; series.len()];
    let mut tails = vec![0.0_f64; series.len()];
    for at in PROBES {
        let from = low + at * (high - low);
        expand((from, from + PROBE * (high - low)), sample, &mut nodes, &mut short);
        tails.iter_mut().zip(&short).for_each(|(t, short)| *t = t.max(tail(short)));
    }
    let rounds =
        |f: usize| tail(&series[f]) <= TAIL * sizes[f] || tail(&series[f]) <= PROBED * tails[f];
    (0..taken).all(rounds)
}

/// Whether the last coefficients vanish beside the largest one so far, or are `noise` beside it.
fn decreases(c: &[f64; NODES], size: &mut f64, noise: f64) -> bool {
    *size = c.iter().fold(*size, |size, c| size.max(c.abs()));
    let pair = |k: usize| c[k].abs() + c[k + 1].abs();
    let tail = tail(c);
    // A value that is not finite gets no better, nor does rounding.
    let hopeless =
        c.iter().any(|c| !c.is_finite()) || tail <= noise * *size && tail >= 0.3 * pair(NODES - 4);
    tail <= TAIL * *size || hopeless
}

/// The size of the last two coefficients.
fn tail(c: &[f64; NODES]) -> f64 {
    c[NODES - 2].abs() + c[NODES - 1].abs()
}

/// Place of the sample number `k` between 0 and 1.
const fn node(k: usize) -> f64 {
    /// 1/2 - cos(k π/8)/2 for k from 0 to 4.
    const HALF: [f64; 5] =
        [0.0, 0.038_060_233_744_356_63, 0.146_446_609_406_726_2, 0.308_658_283_817_455_1, 0.5];
    if k < HALF.len() { HALF[k] } else { 1.0 - HALF[NODES - 1 - k] }
}

/// The Chebyshev series of the polynomial with these values at the nodes.
fn chebyshev(values: &[f64; NODES]) -> [f64; NODES] {
    if values.iter().all(|v| *v == values[0]) {
        let mut level = [0.0; NODES];
        level[0] = values[0];
        return level;
    }
    /// cos(k j π/8), halved at the first and the last node, where row j is that of the coefficient j.
    const COSINES: [[f64; NODES]; NODES] = cosines();
    std::array::from_fn(|j| {
        let sum: f64 = COSINES[j].iter().zip(values).map(|(c, v)| c * v).sum();
        let half = if j == 0 || j == NODES - 1 { 0.5 } else { 1.0 };
        sum * half * 2.0 / (NODES - 1) as f64
    })
}

const fn cosines() -> [[f64; NODES]; NODES] {
    const LAST: usize = NODES - 1;
    let mut all = [[0.0; NODES]; NODES];
    let mut j = 0;
    while j < NODES {
        let mut k = 0;
        while k < NODES {
            // The nodes go from left to right: x = 2 place - 1 = -cos(k π/8).
            let turns = (k * j) % (2 * LAST);
            let turns = if turns > LAST { 2 * LAST - turns } else { turns };
            let half = if k == 0 || k == LAST { 0.5 } else { 1.0 };
            all[j][LAST - k] = half * (1.0 - 2.0 * node(turns));
            k += 1;
        }
        j += 1;
    }
    all
}

/// The coefficients in θ, and how many there are, rounding cut off.
fn powers(series: &[f64; NODES]) -> ([f64; NODES], usize) {
    let length = Piece::length(series);
    let mut out = [0.0; NODES];
    // T0 = 1, T1 = 2θ - 1, and each further one is 2 (2θ - 1) times the last less the one before.
    let (mut before, mut last) = ([0.0; NODES], [0.0; NODES]);
    before[0] = 1.0;
    (last[0], last[1]) = (-1.0, 2.0);
    for (j, &c) in series[..length].iter().enumerate() {
        if j >= 2 {
            let mut next = [0.0; NODES];
            for k in 0..=j {
                let lower = if k > 0 { last[k - 1] } else { 0.0 };
                next[k] = 4.0 * lower - 2.0 * last[k] - before[k];
            }
            (before, last) = (last, next);
        }
        let term = if j == 0 { &before } else { &last };
        for (o, t) in out.iter_mut().zip(term).take(j + 1) {
            *o += c * t;
        }
    }
    (out, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(f: impl Fn(f64) -> f64) -> Vec<(f64, f64, Vec<f64>)> {
        let mut out = Vec::new();
        let mut sample = |t: f64, row: &mut [f64]| row[0] = f(t);
        Piece::cut((1, 0), (0.0, &mut Cuts::default()), &mut sample, &mut |(a, b), _, c| {
            out.push((a, b, c.to_vec()))
        });
        out
    }

    /// A function that was of size one and is rounding now is not looked at more closely.
    #[test]
    fn rounding_of_what_was_large_is_left() {
        let (mut largest, mut count) = (Cuts::default(), 0);
        let mut wave = |t: f64, row: &mut [f64]| row[0] = t.sin();
        Piece::cut((1, 0), (0.0, &mut largest), &mut wave, &mut |_, _, _| {});
        assert!((largest.largest[0] - 0.84).abs() < 0.5);
        let mut noise = |t: f64, row: &mut [f64]| row[0] = 1e-16 * (1e9 * t).sin();
        Piece::cut((1, 0), (0.0, &mut largest), &mut noise, &mut |_, _, _| count += 1);
        assert_eq!(count, 1);
    }

    /// Each function is known as well beside one that must be cut as it is alone.
    #[test]
    fn functions_do_not_depend_on_their_order() {
        let mut line = Vec::new();
        let mut both =
            |t: f64, row: &mut [f64]| row.copy_from_slice(&[(500.0 * t).sin(), 50.0 * t]);
        let mut take = |(a, b): (f64, f64), f: usize, c: &[f64]| {
            if f == 1 {
                line.push(poly::eval(c, 0.5) - 50.0 * 0.5 * (a + b));
            }
        };
        Piece::cut((2, 0), (0.0, &mut Cuts::default()), &mut both, &mut take);
        assert!(line.len() > 100 && line.iter().all(|miss| miss.abs() < 1e-12), "{line:?}");
    }

    /// Half-waves of a rectified oscillation, which are flat at many nodes, and narrow tips of one.
    #[test]
    fn nothing_passes_between_the_nodes() {
        for (level, k) in [(0.0, 1000), (0.0, 7000), (0.99, 1000)] {
            let frequency = f64::from(k);
            let mut area = 0.0;
            let mut tips = |t: f64, row: &mut [f64]| {
                let z = (frequency * t).cos() - level;
                row.copy_from_slice(&[z.max(0.0), -z]);
            };
            let mut take = |(a, b): (f64, f64), _: usize, c: &[f64]| {
                let terms = c.iter().enumerate().map(|(k, c)| c / (k + 1) as f64);
                area += (b - a) * terms.sum::<f64>();
            };
            Piece::cut((1, 1), (0.0, &mut Cuts::default()), &mut tips, &mut take);
            // Of whole and broken half-waves.
            let wide = f64::acos(level);
            let wave = 2.0 * (wide.sin() - level * wide);
            let turns = (frequency / std::f64::consts::TAU).floor();
            let rest = (frequency - turns * std::f64::consts::TAU).min(std::f64::consts::TAU);
            let up = |to: f64| to.min(wide).sin() - level * to.min(wide);
            let back = (rest - (std::f64::consts::TAU - wide)).max(0.0);
            let down = wave / 2.0 - up(wide - back);
            let exact = (turns * wave + up(rest) + if back > 0.0 { down } else { 0.0 }) / frequency;
            assert!((area / exact - 1.0).abs() < 1e-8, "{level} {k}: {area} {exact}");
        }
    }

    /// The rest of a balance is rounding: it is noted once, not looked at more and more closely.
    #[test]
    fn rounding_of_a_balance_is_left() {
        let mut count = 0;
        let mut balance = |t: f64, row: &mut [f64]| {
            let (v, x) = ((3.0 * t).cos(), (3.0 * t).sin());
            row[0] = 20.0 * v * v + 20.0 * x * x - 20.0 + 1e-9 * (5.0 * t).sin();
        };
        Piece::cut((1, 0), (0.0, &mut Cuts::default()), &mut balance, &mut |_, _, _| count += 1);
        assert!(count <= 4, "{count}");
    }

    fn largest_error(f: impl Fn(f64) -> f64 + Copy) -> (usize, f64) {
        let all = all(f);
        let error = |(a, b, c): &(f64, f64, Vec<f64>)| {
            let at = |k: i32| f64::from(k) / 50.0;
            let miss = |k| (poly::eval(c, at(k)) - f(a + at(k) * (b - a))).abs();
            (0..=50).map(miss).fold(0.0, f64::max)
        };
        (all.len(), all.iter().map(error).fold(0.0, f64::max))
    }

    #[test]
    fn rounding_of_late_times_is_not_resolved() {
        // A microsecond at 4.5 s, from zero: the value is off by a share of 1e-9.
        let late = |t: f64| (4.5 + 1e-6 * t) - 4.5;
        let mut parts = 0;
        let mut sample = |t: f64, row: &mut [f64]| row[0] = late(t);
        Piece::cut(
            (1, 0),
            (4.5 * f64::EPSILON / 1e-6, &mut Cuts::default()),
            &mut sample,
            &mut |_, _, c| {
                parts += 1;
                assert!((poly::eval(c, 0.3) / 3e-7 - 1.0).abs() < 1e-8, "{c:?}");
            },
        );
        assert_eq!(parts, 1);
    }

    #[test]
    fn polynomials_are_met_with_their_degree() {
        let parabola = all(|t| 10.0 - 3.0 * t - 4.9 * t * t);
        assert_eq!((parabola.len(), parabola[0].2.len()), (1, 3));
        for (c, wanted) in parabola[0].2.iter().zip([10.0, -3.0, -4.9]) {
            assert!((c - wanted).abs() < 1e-13, "{parabola:?}");
        }
        assert_eq!(all(|_| 2.5), [(0.0, 1.0, vec![2.5])]);
        let (count, error) = largest_error(|t| t.powi(8) - 2.0 * t.powi(7) + 0.5);
        assert!(count == 1 && error < 1e-12, "{count} {error}");
    }

    #[test]
    fn other_functions_are_cut_until_they_fit() {
        let (count, error) = largest_error(|t| (20.0 * t).sin());
        assert!((4..=64).contains(&count) && error < 1e-11, "{count} {error}");
        // A kink ends in a piece that is too short to matter.
        let (count, error) = largest_error(|t| (t - 0.3).abs());
        assert!(count < 100 && error < 1e-9, "{count} {error}");
        // A jump does, too, and no piece is beyond the values on both sides of it.
        let jump = all(|t| f64::from(t < 0.3));
        assert!(jump.len() < 100 && jump.iter().all(|(_, _, c)| *c == [0.0] || *c == [1.0]));
        // Rounding that is larger than that of the arguments takes no more parts than it is worth.
        let (count, error) = largest_error(|t| (3.0 * t).sin() + 1e-9 * (1e9 * t).sin());
        assert!(count <= 2 * FEW as usize && error < 1e-8, "{count} {error}");
        let (count, error) = largest_error(|t| (1e5 + (3.0 * t).sin()) - 1e5);
        assert!(count < 100 && error < 1e-10, "{count} {error}");
        let (count, error) = largest_error(|t| (200.0 * t).sin());
        assert!(count <= 500 && error < 1e-10, "{count} {error}");
        let (count, error) = largest_error(|t| (2e4 * t).sin());
        assert!((5_000..100_000).contains(&count) && error < 1e-7, "{count} {error}");
        let mut fast = |t: f64, row: &mut [f64]| row[0] = (1e7 * t).sin();
        let (mut cuts, mut count) = (Cuts::default(), [0, 0]);
        for count in &mut count {
            Piece::cut((1, 0), (0.0, &mut cuts), &mut fast, &mut |_, _, _| *count += 1);
        }
        assert!(cuts.is_coarse() && count[0] > MORE && count[1] < 2 * FEW, "{count:?}");
        assert!(all(|_| f64::NAN).len() == 1);
    }

    #[test]
    fn moments_are_exact_late_in_a_run() {
        let late = 1_000_000_000_000_000_000;
        let m = Moment::after(late, 2.5e-9, 1e9);
        assert_eq!((m.tick, m.since(Moment::at(late), 1e9)), (late + 2, 2.5e-9));
        // Rounding never leaves a part of a tick that is one.
        for k in 0..1000 {
            let m = Moment::after(0, f64::from(k) * 1e-9, 1e9);
            assert!(
                m.part < 1e-9 && m.tick >= k.into() || m.tick == i64::from(k) - 1,
                "{k}: {m:?}"
            );
        }
        assert!(Moment { tick: 3, part: 0.1 } > Moment { tick: 3, part: 0.0 });
        assert!(Moment::at(4) > Moment { tick: 3, part: 0.1 });
    }
}
