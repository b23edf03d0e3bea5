//! Roots on `(0, w]`: closed forms, critical points by Bernstein subdivision, bracketed Newton.

use super::{Coefficients, Direction, MAX_DEGREE, Root, RootKind, derivative, eval, eval_slope};

/// Crossing of `c0 + c1 e`.
pub(super) fn linear(c0: f64, c1: f64, w: f64, direction: Direction) -> Option<Root> {
    let kind = if c1 > 0.0 { RootKind::Rising } else { RootKind::Falling };
    let at = -c0 / c1;
    (at > 0.0 && at <= w && direction.accepts(kind)).then_some(Root { at, kind })
}

/// Roots of `c0 + c1 e + c2 e²` in ascending order, without cancellation: the larger one by the
/// usual formula, the other from the product of the two. A vanishing `c2` sends one to infinity.
fn quadratic_pair(c0: f64, c1: f64, c2: f64) -> Option<(f64, f64)> {
    let size = c0.abs().max(c1.abs()).max(c2.abs());
    if !(1e-10..1e10).contains(&size) {
        // Scaling by a power of two near the largest coefficient keeps the squares in range.
        let scale = libm::ldexp(1.0, -libm::ilogb(size).clamp(-1000, 1000));
        return pair_in_range(c0 * scale, c1 * scale, c2 * scale);
    }
    pair_in_range(c0, c1, c2)
}

#[inline]
fn pair_in_range(c0: f64, c1: f64, c2: f64) -> Option<(f64, f64)> {
    let discriminant = c1 * c1 - 4.0 * c0 * c2;
    if discriminant < 0.0 {
        return None;
    }
    let q = -0.5 * (c1 + discriminant.sqrt().copysign(c1));
    if q == 0.0 {
        return Some((0.0, 0.0));
    }
    let (one, other) = (q / c2, c0 / q);
    Some((one.min(other), one.max(other)))
}

/// Earliest root of a quadratic.
pub(super) fn quadratic(c0: f64, c1: f64, c2: f64, w: f64, direction: Direction) -> Option<Root> {
    let inside = |at: f64| at > 0.0 && at <= w;
    let (first, second) = if c2 > 0.0 {
        (RootKind::Falling, RootKind::Rising)
    } else {
        (RootKind::Rising, RootKind::Falling)
    };
    let (low, high) = quadratic_pair(c0, c1, c2).filter(|(low, high)| low < high)?;
    let found = [Root { at: low, kind: first }, Root { at: high, kind: second }];
    found.into_iter().find(|root| inside(root.at) && direction.accepts(root.kind))
}

/// Earliest root of a polynomial of degree three or more: monotone pieces, then a bracket.
pub(super) fn general(c: &[f64], w: f64, direction: Direction) -> Option<Root> {
    let w = w.min(root_bound(c));
    let mut points: Coefficients = [0.0; MAX_DEGREE + 1];
    let mut count = critical_points(c, w, &mut points);
    points[count] = w;
    count += 1;
    // The sign just after the origin is that of the first coefficient that is not zero.
    let mut sign = c.iter().find(|&&k| k != 0.0)?.signum();
    let mut start = 0.0;
    // An extremum on zero, which may be a root: the sign that follows decides.
    let mut near: Option<f64> = None;
    for &point in &points[..count] {
        let value = sign * eval(c, point);
        if value < 0.0 || (value == 0.0 && point == w) {
            let kind = if sign > 0.0 { RootKind::Falling } else { RootKind::Rising };
            if direction.accepts(kind) {
                let at = near.unwrap_or_else(|| bracketed_newton(c, start, point, sign));
                return Some(Root { at, kind });
            }
            sign = -sign;
            near = None;
        } else {
            let closing = value < sign * eval(c, start);
            near = (point < w && value == 0.0 && closing).then_some(point);
        }
        start = point;
    }
    None
}

/// Every real root is at most this large in magnitude: twice the largest
/// `|c[n-k] / c[n]|^(1/k)` (Fujiwara 1916).
pub(crate) fn root_bound(c: &[f64]) -> f64 {
    let (&lead, rest) = c.split_last().expect("not empty");
    let mut largest = 0.0_f64;
    for (k, &coefficient) in rest.iter().rev().enumerate() {
        let ratio = (coefficient / lead).abs();
        if ratio > 0.0 {
            largest = largest.max(libm::pow(ratio, 1.0 / (k + 1) as f64));
        }
    }
    // An overflowing ratio leaves the largest length that still has a meaningful bisection.
    (2.0 * largest * (1.0 + 1e-12)).min(1e100)
}

/// Sign changes of the derivative of `c` in `(0, w)`, ascending; returns how many.
pub(crate) fn critical_points(c: &[f64], w: f64, out: &mut Coefficients) -> usize {
    let mut slope: Coefficients = [0.0; MAX_DEGREE + 1];
    let mut length = derivative(c, &mut slope);
    while length > 0 && slope[length - 1] == 0.0 {
        length -= 1;
    }
    let mut found = Found { at: out, count: 0 };
    if !slope[..length].iter().all(|c| c.is_finite()) {
        return 0;
    }
    match slope[..length] {
        [] | [_] => {}
        [c0, c1] => found.push(-c0 / c1, w),
        [c0, c1, c2] => {
            if let Some((low, high)) = quadratic_pair(c0, c1, c2)
                && low < high
            {
                found.push(low, w);
                found.push(high, w);
            }
        }
        _ => {
            let slope = &slope[..length];
            let net = bernstein(slope, w);
            isolate(slope, &net, 0.0, w, 0, w, &mut found);
            let count = found.count;
            found.at[..count].sort_unstable_by(f64::total_cmp);
        }
    }
    found.count
}

struct Found<'a> {
    at: &'a mut Coefficients,
    count: usize,
}

impl Found<'_> {
    fn push(&mut self, at: f64, w: f64) {
        // One slot stays free for the end of the interval.
        if at > 0.0 && at < w && self.count < MAX_DEGREE {
            self.at[self.count] = at;
            self.count += 1;
        }
    }
}

/// Bernstein coefficients of `c` on `[0, w]` (Farouki & Rajan 1987, eq. 2).
pub(crate) fn bernstein(c: &[f64], w: f64) -> Coefficients {
    let mut net: Coefficients = [0.0; MAX_DEGREE + 1];
    let degree = c.len() - 1;
    let mut power = 1.0;
    let mut binomial = 1.0;
    for (k, &coefficient) in c.iter().enumerate() {
        net[k] = coefficient * power / binomial;
        power *= w;
        binomial = binomial * (degree - k) as f64 / (k + 1) as f64;
    }
    for level in 1..=degree {
        for k in (level..=degree).rev() {
            net[k] += net[k - 1];
        }
    }
    net
}

/// Pushes the sign changes of `c` between `low` and `high`, whose Bernstein net is `net`.
fn isolate(
    c: &[f64],
    net: &Coefficients,
    low: f64,
    high: f64,
    depth: u32,
    w: f64,
    found: &mut Found<'_>,
) {
    /// Narrower clusters count as one point: an extra partition point does no harm.
    const MAX_DEPTH: u32 = 48;
    let degree = c.len() - 1;
    let mut signs = net[..=degree].iter().filter(|&&k| k != 0.0).map(|k| k.signum());
    let Some(first) = signs.next() else { return };
    let (variations, _) =
        signs.fold((0, first), |(count, last), sign| (count + u32::from(sign != last), sign));
    if variations == 0 {
        return;
    }
    let middle = 0.5 * (low + high);
    if depth == MAX_DEPTH {
        return found.push(middle, w);
    }
    if variations == 1 && first * eval(c, high) <= 0.0 {
        return found.push(bracketed_newton(c, low, high, first), w);
    }
    let (mut left, mut right) = ([0.0; MAX_DEGREE + 1], *net);
    for (level, slot) in left[..=degree].iter_mut().enumerate() {
        *slot = right[0];
        for k in 0..degree - level {
            right[k] = 0.5 * (right[k] + right[k + 1]);
        }
    }
    isolate(c, &left, low, middle, depth + 1, w, found);
    if right[0] == 0.0 {
        found.push(middle, w);
    }
    isolate(c, &right, middle, high, depth + 1, w, found);
}

/// The first point of `(low, high]`, to one unit in the last place, at which `sign * c` is no
/// longer positive; `0 <= low`, positive just after `low`, monotone, not positive at `high`.
fn bracketed_newton(c: &[f64], low: f64, high: f64, sign: f64) -> f64 {
    bracketed(c, low, high, 0.5 * (low + high), |value| sign * value <= 0.0)
}

/// The first point of `(low, high]`, to one unit in the last place, at which the value of `c`, a
/// polynomial that is monotone there, satisfies what it does not at `low` and does at `high`.
pub(crate) fn first_satisfied(
    c: &[f64],
    low: f64,
    high: f64,
    satisfied: impl Fn(f64) -> bool,
) -> f64 {
    let mut start = 0.5 * (low + high);
    // Higher powers count little in most flights between two events.
    if let [c0, c1, c2, ..] = *c
        && let Some((one, other)) = quadratic_pair(c0, c1, c2)
    {
        let inside = |at: &f64| *at > low && *at < high;
        if let Some(root) = [one, other].into_iter().find(inside) {
            // The formula is good to some units in the last place, but near a double root.
            if c.len() == 3 && other - one > 1e-3 * root {
                return root;
            }
            start = root;
        }
    }
    bracketed(c, low, high, start, satisfied)
}

/// Newton's step is stretched to some units in the last place towards the other end of the bracket,
/// so that both ends close in: to one at first, to twice as many each time, since values near the
/// root are all rounding. A bisection replaces a step that leaves the bracket or comes late.
fn bracketed(
    c: &[f64],
    mut low: f64,
    mut high: f64,
    mut x: f64,
    satisfied: impl Fn(f64) -> bool,
) -> f64 {
    const NEWTON: u32 = 30;
    const LIMIT: u32 = 200;
    let mut stretch = f64::EPSILON;
    for round in 0..LIMIT {
        let unit = high * f64::EPSILON;
        if high - low <= unit || x <= low || x >= high {
            break;
        }
        let (value, slope) = eval_slope(c, x);
        let over = satisfied(value);
        if over {
            high = x;
        } else {
            low = x;
        }
        let mut step = (value / slope).abs();
        // Units of the point, not of the bracket, whose far end may be far indeed.
        let least = x * stretch;
        if step.is_nan() || step <= least {
            step = least;
            stretch *= 2.0;
        }
        let mut next = if over { x - step } else { x + step };
        // A root at an end but for rounding, far from the other one.
        if next <= low || next >= high {
            let end = if next <= low { low } else { high };
            next = end + (x - end).signum() * end * stretch;
            stretch *= 2.0;
        }
        x = if round < NEWTON && next > low && next < high { next } else { 0.5 * (low + high) };
    }
    high
}
