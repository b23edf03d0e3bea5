//! Functions between messages, cut into pieces that are polynomials.
use super::{
    chebyshev::{NODES, node, powers, series as chebyshev},
    piece::{Moment, Piece, ROUNDING},
};
use crate::maths::poly;
use serde::{Deserialize, Serialize};

/// Functions over the interval from 0 to 1. A closure that writes their values is some whose rounding nobody knows.
pub trait Curves {
    /// Writes the values at a place.
    fn values(&mut self, theta: f64, row: &mut [f64]);
    /// Writes how far rounding may have moved the values there.
    fn roundings(&mut self, _theta: f64, row: &mut [f64]) {
        row.fill(0.0);
    }
}

impl<F: FnMut(f64, &mut [f64])> Curves for F {
    fn values(&mut self, theta: f64, row: &mut [f64]) {
        self(theta, row);
    }
}

/// Cuts the interval from 0 to 1 into parts on each of which polynomials of degree eight describe `dim`
/// functions, and passes them on: `take((from, to), function, coefficients)`, with the ends of the part, in order.
///
/// Functions are sampled at Chebyshev-Lobatto points; where the last coefficients of the Chebyshev series do
/// not vanish, the interval is halved (Trefethen 2013, "Approximation Theory and Approximation Practice",
/// chapters 3 and 8). Functions know their arguments up to the share `rounding` of the interval: coefficients
/// that do not decrease beside it will not do so on shorter parts. A jump, a kink or an instant with another value ends
/// in a part that is too short to matter; the function keeps its value in the middle of that part.
///
/// So many `guides` are sampled behind the functions and are not passed on: functions switch where these pass
/// zero. Parts end there: a function that looks flat at all points may have kinks between them, or jump and come
/// back, but no guide passes zero unseen.
pub fn cut(
    (dim, guides): (usize, usize),
    (rounding, cuts): (f64, &mut Cuts),
    curves: &mut dyn Curves,
    take: Take<'_>,
) {
    // Errors are judged by the largest coefficient so far: where a function is small, rounding is not.
    cuts.largest.resize(dim + guides, 0.0);
    cuts.rough.resize(dim, false);
    let mut probe = Probe::new(curves, dim, cuts);
    let most = cuts.few + cuts.more;
    // Parts to be done, the first one last; depth first, so that they come in order.
    let (mut open, mut parts) = (vec![Part { low: 0.0, high: 1.0, halvings: HALVINGS }], 0);
    while let Some(part) = open.pop() {
        probe.look(part, rounding);
        let seen = !probe.may_switch();
        let fine = seen && probe.fits();
        let count = parts + open.len() as u32;
        let small = || seen && count >= cuts.few && !(0..dim).any(|f| probe.missed(f, SMALL));
        let gives_up = count >= most;
        if !fine && part.halvings > 0 && !gives_up && !small() {
            open.extend(probe.divided().into_iter().rev().flatten());
            continue;
        }
        parts += 1;
        if gives_up && !fine {
            let rough = |f: usize| !seen || probe.missed(f, SMALL);
            cuts.rough.iter_mut().enumerate().for_each(|(f, known)| *known |= rough(f));
        }
        for f in 0..dim {
            let lost = cuts.signs && !probe.series[f][0].is_finite();
            let sharp = !fine && !gives_up && part.halvings == 0;
            let jumps = sharp || (fine || !gives_up) && probe.jumps(f);
            let (powers, length) = probe.powers(f);
            let middle = probe.middle(f);
            let c = if jumps || lost { &probe.nodes[middle..=middle] } else { &powers[..length] };
            take((part.low, part.high), f, c);
        }
    }
    cuts.more -= parts.saturating_sub(cuts.few).min(cuts.more);
    for (largest, size) in cuts.largest.iter_mut().zip(probe.sizes) {
        *largest = largest.max(size);
    }
}

/// A part of the interval, and how often it may be halved.
#[derive(Debug, Clone, Copy)]
struct Part {
    low: f64,
    high: f64,
    halvings: u32,
}

/// Functions and guides on one part after another.
struct Probe<'a> {
    curves: &'a mut dyn Curves,
    /// Functions; guides follow.
    taken: usize,
    part: Part,
    /// Values at the nodes, and room for those elsewhere.
    nodes: Vec<f64>,
    row: Vec<f64>,
    series: Vec<[f64; NODES]>,
    /// Their largest coefficients so far.
    sizes: Vec<f64>,
    /// Whether functions do not decrease on this part.
    rough: bool,
    /// How far rounding may have moved them on this part, once somebody has asked.
    bounds: Option<Vec<f64>>,
    /// See [`Cuts::of_signs`].
    signs: bool,
}

impl<'a> Probe<'a> {
    fn new(curves: &'a mut dyn Curves, taken: usize, cuts: &Cuts) -> Self {
        let dim = cuts.largest.len();
        Self {
            curves,
            taken,
            part: Part { low: 0.0, high: 1.0, halvings: 0 },
            nodes: vec![0.0; NODES * dim],
            row: vec![0.0; dim],
            series: vec![[0.0; NODES]; dim],
            sizes: cuts.largest.iter().map(|size| EARLIER * size).collect(),
            rough: false,
            bounds: None,
            signs: cuts.signs,
        }
    }

    fn look(&mut self, part: Part, rounding: f64) {
        self.part = part;
        self.bounds = None;
        let width = part.high - part.low;
        expand((part.low, part.high), self.curves, &mut self.nodes, &mut self.series);
        let noise = NOISE.max(DERIVATIVE * rounding / width);
        // Of all of them: each keeps its size.
        self.rough = false;
        for f in 0..self.series.len() {
            if self.signs {
                self.sizes[f] = 0.0;
            }
            let decreases = decreases(&self.series[f], &mut self.sizes[f], noise);
            self.rough |= (!decreases || self.has_pole(f)) && f < self.taken;
        }
    }

    /// Whether function `f`, of which the sign counts, is finite at some nodes, and at others it is not.
    fn has_pole(&self, f: usize) -> bool {
        let finite = |z: f64| z.is_finite();
        let lost = self.signs && !self.series[f][0].is_finite();
        lost && self.values(f).any(finite) && !self.values(f).all(finite)
    }

    /// The place of the value of function `f` at the middle node.
    fn middle(&self, f: usize) -> usize {
        NODES / 2 * self.sizes.len() + f
    }

    /// How far rounding may have moved function `f` on this part, at the best of three places: beside a root it is
    /// unbounded at one of them, and that says nothing of the others.
    fn bound(&mut self, f: usize) -> f64 {
        if self.bounds.is_none() {
            let Part { low, high, .. } = self.part;
            let mut least = vec![f64::INFINITY; self.row.len()];
            for theta in [low, 0.5 * (low + high), high] {
                self.curves.roundings(theta, &mut self.row);
                least.iter_mut().zip(&self.row).for_each(|(least, x)| *least = least.min(*x));
            }
            least.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
            self.bounds = Some(least);
        }
        self.bounds.as_ref().map_or(0.0, |bounds| bounds[f])
    }

    /// Whether a guide may pass zero within this part.
    fn may_switch(&mut self) -> bool {
        (self.taken..self.sizes.len()).any(|f| {
            self.passing(f).is_some()
                || passes_unseen(&self.series[f], self.sizes[f], self.values(f))
                    && !self.is_rounding(f)
        })
    }

    /// Whether guide `f` is zero but for rounding on the whole part. A difference of signals that touches zero has the
    /// rounding of the signals, however small it is itself.
    fn is_rounding(&mut self, f: usize) -> bool {
        let bound = self.bound(f);
        self.values(f).all(|z| z.abs() <= bound)
    }

    fn values(&self, f: usize) -> impl Iterator<Item = f64> + Clone {
        self.nodes.iter().copied().skip(f).step_by(self.sizes.len())
    }

    /// The nodes between which guide `f` passes zero by more than its rounding.
    fn passing(&mut self, f: usize) -> Option<[usize; 2]> {
        if !(self.values(f).any(|z| z > 0.0) && self.values(f).any(|z| z < 0.0)) {
            return None;
        }
        let bound = self.bound(f);
        let mut signs = self.values(f).enumerate().filter(|(_, z)| z.abs() > bound);
        let (mut last, first) = signs.next()?;
        for (k, z) in signs {
            if z * first < 0.0 {
                return Some([last, k]);
            }
            last = k;
        }
        None
    }

    /// Whether the polynomials are as good as the functions are computed.
    fn fits(&mut self) -> bool {
        if !self.rough {
            return true;
        }
        if (0..self.taken).any(|f| self.has_pole(f)) {
            return false;
        }
        let rounded = |this: &mut Self, f: usize| tail(&this.series[f]) <= 2.0 * this.bound(f);
        let all = 0..self.taken;
        all.clone().all(|f| !self.missed(f, TAIL) || rounded(self, f))
            || self.hovers()
            || self.checked()
            || self.rounds()
    }

    /// Whether a guide is zero but for rounding on the whole part: functions switch at random there. One that is zero
    /// itself switches nothing.
    fn hovers(&mut self) -> bool {
        let is_zero = |this: &Self, f: usize| this.values(f).all(|z| z == 0.0);
        (self.taken..self.sizes.len()).any(|f| !is_zero(self, f) && self.is_rounding(f))
    }

    /// Whether the polynomials hold at two more places.
    fn checked(&mut self) -> bool {
        let Part { low, high, .. } = self.part;
        CHECKS.iter().all(|at| {
            self.curves.values(low + at * (high - low), &mut self.row);
            let miss = |f: usize| (poly::eval(&powers(&self.series[f]).0, *at) - self.row[f]).abs();
            (0..self.taken).all(|f| miss(f) <= TAIL * self.sizes[f])
        })
    }

    /// Whether what is left is the rounding of functions that are small differences of large numbers: it is there on a
    /// very short part, too.
    fn rounds(&mut self) -> bool {
        let Part { low, high, .. } = self.part;
        let mut nodes = vec![0.0; self.nodes.len()];
        let mut short = vec![[0.0; NODES]; self.series.len()];
        let mut tails = vec![0.0_f64; self.series.len()];
        for at in PROBES {
            let from = low + at * (high - low);
            expand((from, from + PROBE * (high - low)), self.curves, &mut nodes, &mut short);
            tails.iter_mut().zip(&short).for_each(|(t, short)| *t = t.max(tail(short)));
        }
        (0..self.taken).all(|f| !self.missed(f, TAIL) || tail(&self.series[f]) <= PROBED * tails[f])
    }

    /// Whether function `f` jumps on this part: its last coefficients are hardly smaller than the others, and no rounding.
    fn jumps(&self, f: usize) -> bool {
        let c = &self.series[f];
        let most = c[1..].iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        let rounding = self.bounds.as_ref().map_or(0.0, |bounds| 2.0 * bounds[f]);
        let is_step = tail(c) > (STEP * most).max(rounding) && self.missed(f, TAIL);
        is_step || self.missed(f, JUMP)
    }

    /// Whether the last coefficients of function `f` are beyond this share of the largest one.
    fn missed(&self, f: usize, share: f64) -> bool {
        tail(&self.series[f]) > share * self.sizes[f]
    }

    /// The coefficients in θ of function `f`, and how many there are, without what is known to be rounding.
    fn powers(&self, f: usize) -> ([f64; NODES], usize) {
        let (mut c, mut length) = powers(&self.series[f]);
        if let Some(bounds) = &self.bounds {
            c.iter_mut().filter(|c| c.abs() <= bounds[f]).for_each(|c| *c = 0.0);
            length = length.min(Piece::length(&c));
        }
        (c, length)
    }

    /// The parts into which this one falls, in order: at the place at which a guide passes zero, else in the middle.
    fn divided(&mut self) -> [Option<Part>; 3] {
        let Part { low, high, halvings } = self.part;
        let halvings = halvings - 1;
        let part =
            |low: f64, high: f64, halvings| (low < high).then_some(Part { low, high, halvings });
        let guides = self.taken..self.sizes.len();
        match guides.into_iter().find_map(|f| self.passes(f)) {
            // The place is as exact as the guide, and what is that short does not matter.
            Some((at, off)) => {
                let (before, behind) = ((at - off).max(low), (at + off).min(high));
                [
                    part(low, before, halvings),
                    part(before, behind, 0),
                    part(behind, high, halvings + 1),
                ]
            }
            None => {
                let middle = 0.5 * (low + high);
                [part(low, middle, halvings), part(middle, high, halvings), None]
            }
        }
    }

    /// Where guide `f` first passes zero, and how exactly that is known, if the polynomial tells.
    fn passes(&mut self, f: usize) -> Option<(f64, f64)> {
        let nodes = self.passing(f)?;
        let error = (TAIL * self.sizes[f]).max(self.bound(f)).max(tail(&self.series[f]));
        let (c, length) = powers(&self.series[f]);
        let c = &c[..length];
        let [mut a, mut b] = nodes.map(node);
        let sign = poly::eval(c, a).signum();
        for _ in 0..60 {
            let middle = 0.5 * (a + b);
            if poly::eval(c, middle) * sign > 0.0 { a = middle } else { b = middle }
        }
        let off = 2.0 * error / poly::eval_slope(c, b).1.abs();
        let Part { low, high, .. } = self.part;
        let width = high - low;
        let known = off <= EXACT;
        known.then(|| (low + b * width, (off * width).max(SHORTEST)))
    }
}

/// The history of functions that are [cut] on one interval after another.
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
    /// See [`of_signs`](Self::of_signs).
    signs: bool,
}

impl Default for Cuts {
    fn default() -> Self {
        let (largest, rough) = (Vec::new(), Vec::new());
        Self { largest, few: FEW, more: MORE, rough, given_up: false, signs: false }
    }
}

impl Cuts {
    /// Of the functions the signs count: each part is judged by its own size, as values beside a pole say nothing of
    /// others. A part without finite values has the one in its middle.
    pub fn of_signs(&mut self) {
        self.signs = true;
    }

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

/// Most halvings of an interval on which degree eight does not do: a kink ends in a part that is too short to
/// matter.
const HALVINGS: u32 = 44;
/// The shortest part about a place at which a guide passes zero, and the largest share of a part within which that is
/// known.
const SHORTEST: f64 = 1.0 / (1u64 << HALVINGS) as f64;
const EXACT: f64 = 1e-9;
/// Two more places to judge a polynomial of full degree.
const CHECKS: [f64; 2] = [0.017, 0.573];
/// Parts that each interval may have, and more that all intervals may have together. These are not for what is
/// `SMALL` beside the largest coefficient: the rounding of a function that is solved for is larger than that of its
/// arguments.
const FEW: u32 = 500;
const MORE: u32 = 1 << 17;
const SMALL: f64 = 1e-6;
/// The share of the largest of the others that the last two coefficients have at least beside a jump, where a kink has less,
/// and the share of all.
const STEP: f64 = 0.1;
const JUMP: f64 = 1e-3;
/// The share of the largest coefficient that the last two may have in a piece that is good enough.
const TAIL: f64 = 1e-12;
/// How much the size of earlier intervals counts.
const EARLIER: f64 = 0.1;
/// The share below which coefficients that do not decrease are rounding of the function itself.
const NOISE: f64 = 1e-10;
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
    curves: &mut dyn Curves,
    nodes: &mut [f64],
    series: &mut [[f64; NODES]],
) {
    let dim = series.len();
    for (k, row) in nodes.chunks_exact_mut(dim).enumerate() {
        curves.values(low + node(k) * (high - low), row);
    }
    for (f, series) in series.iter_mut().enumerate() {
        *series = chebyshev(&std::array::from_fn(|k| nodes[k * dim + f]));
    }
}

/// Whether a guide has one sign at all nodes, but may have both between them; or is not known well enough.
fn passes_unseen(
    series: &[f64; NODES],
    size: f64,
    mut values: impl Iterator<Item = f64> + Clone,
) -> bool {
    if !(values.clone().all(|z| z > 0.0) || values.all(|z| z < 0.0)) {
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

#[cfg(test)]
mod tests;
