//! The walk over the monotone pieces of one function.

use super::{Doubts, Flip, Interval, Kind, Past, Watched};

/// A function on one interval, however it is known.
pub(super) trait Curve {
    /// Its value.
    fn value(&mut self, t: f64) -> f64;
    /// Bounds on the interval.
    fn range(&self) -> (f64, f64);
    /// Times, beside both ends, between which it is monotone, appended to `out`.
    fn partition(&self, out: &mut Vec<f64>);
    /// How far rounding may have moved its computed value at `t`.
    fn rounding(&self, t: f64) -> f64;
    /// Where `sign * (z - level)`, positive at the first point and negative at the second, comes down
    /// to zero.
    fn root(&mut self, level: f64, sign: f64, from: (f64, f64), to: (f64, f64)) -> f64;
}

/// Flips of one relation within one search: beyond so many, something is wrong with its function.
pub(super) const MOST: usize = 10_000;

/// The share of what a function was of late from which on it is beyond zero, and that from which on its error is large.
const PART: f64 = 1e-3;
const LARGE: f64 = 1e-2;

/// Working memory of a walk: points in ascending order, and the function there.
#[derive(Debug, Default)]
pub(super) struct Walk {
    points: Vec<f64>,
    values: Vec<f64>,
}

/// An end of a side: the function is inside while `sign * (z - level) >= 0`, and beyond it on `next`. A threshold is
/// a side of its own, `on` it; a whole number belongs to one of two.
#[derive(Clone, Copy)]
struct End {
    level: f64,
    sign: f64,
    next: f64,
    on: Option<f64>,
}

/// The ends of a side; none for a function that rests at zero, or that has no other sign.
fn ends(watched: Watched, side: f64) -> [Option<End>; 2] {
    match watched.kind {
        Kind::Sign if side == 0.0 || side == watched.only => [None, None],
        Kind::Sign => [Some(End { level: 0.0, sign: side, next: -side, on: Some(0.0) }), None],
        Kind::Floor => [
            Some(End { level: side, sign: 1.0, next: side - 1.0, on: None }),
            Some(End { level: side + 1.0, sign: -1.0, next: side + 1.0, on: None }),
        ],
    }
}

/// Whether a function between these bounds stays on its side.
pub(super) fn stays(watched: Watched, side: f64, (least, most): (f64, f64)) -> bool {
    let inside = |end: End| {
        let nearest = if end.sign > 0.0 { least } else { most };
        end.sign * (nearest - end.level) > watched.touching.unwrap_or(0.0)
    };
    match ends(watched, side) {
        [None, None] if side == 0.0 => least == 0.0 && most == 0.0,
        [None, None] => watched.touching.is_none(),
        ends => ends.into_iter().flatten().all(inside),
    }
}

/// The side of function `k` after it went beyond an end of its side at `t` by no more than its error, if it flipped.
fn after((k, t, rounding): (usize, f64, f64), end: End, doubts: &mut impl Doubts) -> Option<f64> {
    if doubts.excursion(k, t, rounding) {
        return Some(end.next);
    }
    end.on.into_iter().chain([end.next]).find(|side| doubts.stops(k, t, *side))
}

/// Whether nobody knows the sign of function `k`, which is `z` at `t` and was left on `side`, since its error is large beside
/// what it was of late; and no tolerance is tightened for it. One that rests at zero is no larger than noise.
#[cold]
fn is_unsure(
    (k, side): (usize, f64),
    (t, z): (f64, f64),
    past: &Past,
    doubts: &mut impl Doubts,
) -> bool {
    let (size, part) = match side {
        0.0 => (past.size(1.0).max(past.size(-1.0)), LARGE),
        side => (past.size(side), PART),
    };
    let differs = z.abs() > part * size && (side != 0.0 || size > 0.0);
    let wide = differs && doubts.bound(k, t) > LARGE * size;
    wide && !doubts.tightens(k, t, LARGE * size.max(z.abs()))
}

impl Walk {
    /// Appends the flips of relation `k`, up to so many, which is on `side` at the start; that moves along. Gives how
    /// far it went, if that is not the end.
    pub(super) fn flips(
        &mut self,
        curve: &mut impl Curve,
        (k, watched, most): (usize, Watched, usize),
        side: &mut f64,
        within: Interval,
        doubts: &mut impl Doubts,
        (flips, past): (&mut Vec<Flip>, &mut Past),
    ) -> Option<f64> {
        let range = curve.range();
        let reach = if -range.0 > range.1 { -range.0 } else { range.1 };
        past.went(*side, reach, within.end - within.start);
        if stays(watched, *side, range) {
            // Beyond the band it has left it.
            (past.touched, past.nearing, past.slack) = (false, 0.0, 0.0);
            return None;
        }
        self.place(curve, within);
        let relation = k as u16;
        let (mut piece, mut fresh) = (0, true);
        let (begun, mut reached) = (*side, None);
        for number in 1..=most {
            let Some((t, at, next)) = self.leaves(
                (&mut *curve, watched, past.slack),
                (k, *side),
                (piece, fresh),
                within,
                doubts,
            ) else {
                break;
            };
            reached = (number == most).then(|| flips.last().map(|f| 0.5 * (f.t + t))).flatten();
            flips.push(Flip { t, relation, touch: None, before: *side, side: next });
            *side = next;
            past.slack = curve.rounding(t);
            past.since = [0.0; 2];
            (piece, fresh) = (at, false);
        }
        let z = self.values[self.values.len() - 1];
        if *side * z <= 0.0 && z != 0.0 && watched.kind == Kind::Sign && !past.unsure {
            past.unsure = !watched.slides && is_unsure((k, *side), (within.end, z), past, doubts);
        }
        if let Some(band) = watched.touching {
            self.touches(curve, (band, past), (relation, begun), within, doubts, flips);
        }
        reached
    }

    /// Collects the points of the partition in ascending order, with the values there.
    fn place(&mut self, curve: &mut impl Curve, within: Interval) {
        self.points.clear();
        self.points.push(within.start);
        curve.partition(&mut self.points);
        self.points.push(within.end);
        if self.points.len() > 3 {
            self.points.sort_unstable_by(f64::total_cmp);
        }
        self.values.clear();
        self.values.extend(self.points.iter().map(|&t| curve.value(t)));
    }

    /// When the function first leaves its side from `piece` on, in which piece, and where to. At a
    /// `fresh` start it may lie beyond the end of its side already.
    fn leaves(
        &self,
        (curve, watched, slack): (&mut impl Curve, Watched, f64),
        (k, side): (usize, f64),
        (piece, fresh): (usize, bool),
        within: Interval,
        doubts: &mut impl Doubts,
    ) -> Option<(f64, usize, f64)> {
        let mut first: Option<(f64, usize, f64)> = None;
        let ends = ends(watched, side);
        if ends[0].is_none() && side == 0.0 {
            return self.departs(curve, (k, watched.only), piece, doubts);
        }
        for end in ends.into_iter().flatten() {
            let both = (k, end, if watched.slides { f64::INFINITY } else { slack });
            let found = self.beyond(curve, both, (piece, fresh), within, doubts);
            if let Some((t, ..)) = found
                && first.is_none_or(|(best, ..)| t < best)
            {
                first = found;
            }
        }
        first
    }

    /// When a function that rests at zero is there no longer.
    fn departs(
        &self,
        curve: &impl Curve,
        (k, only): (usize, f64),
        piece: usize,
        doubts: &mut impl Doubts,
    ) -> Option<(f64, usize, f64)> {
        // It may stand beside zero by its error.
        let rest = self.values[piece];
        (piece..self.points.len() - 1).find_map(|i| {
            let z = self.values[i + 1];
            let t = self.points[i + 1];
            let gone =
                z * only >= 0.0 && z != rest && z.abs() > doubts.bound(k, t) + curve.rounding(t);
            gone.then(|| (self.points[i], i, z.signum()))
        })
    }

    /// When the function goes beyond an end of its side for good, in which piece, and where to: on the threshold
    /// itself, where it is stopped there.
    fn beyond(
        &self,
        curve: &mut impl Curve,
        (k, end, slack): (usize, End, f64),
        (piece, fresh): (usize, bool),
        within: Interval,
        doubts: &mut impl Doubts,
    ) -> Option<(f64, usize, f64)> {
        let gone = |(t, at): (f64, usize)| Some((t, at, end.next));
        let inside = |i: usize| end.sign * (self.values[i] - end.level);
        let early = |t: f64| t - within.start <= within.fresh;
        let starts = |t: f64| fresh && t == self.points[piece];
        let began = fresh && inside(piece) < 0.0;
        let mut since = began.then(|| (self.points[piece], piece));
        for i in piece..self.points.len() - 1 {
            let (from, to) =
                ((self.points[i], self.values[i]), (self.points[i + 1], self.values[i + 1]));
            let z = inside(i + 1);
            match since {
                None if z < 0.0 && (i > piece || fresh || inside(i) > 0.0) => {
                    let t = if inside(i) > 0.0 {
                        curve.root(end.level, end.sign, from, to)
                    } else {
                        from.0
                    };
                    since = Some((t, i));
                }
                Some(found) if z >= 0.0 => {
                    // It came back: at once, or it was beyond by no more than its error, or else it
                    // was beyond at the start.
                    if began
                        && i == piece
                        && -inside(i) > slack
                        && -inside(i) > doubts.bound(k, from.0) + curve.rounding(from.0)
                    {
                        let back = curve.root(end.level, -end.sign, from, to);
                        if !early(back) {
                            return gone((from.0, i));
                        }
                    }
                    let rounding = curve.rounding(found.0);
                    if !(starts(found.0) && (began || early(from.0)))
                        && let Some(side) = after((k, found.0, rounding), end, doubts)
                    {
                        return Some((found.0, found.1, side));
                    }
                    since = None;
                }
                _ => {}
            }
            if let Some(found) = since
                // A side that was decided to be on its end, and does not move, stays there.
                && !(starts(found.0) && (early(to.0) || slack == f64::INFINITY && z == inside(piece)))
                && -z > doubts.bound(k, to.0) + curve.rounding(to.0)
            {
                return gone(found);
            }
        }
        let (t, at) = since?;
        let rounding = curve.rounding(t);
        let bound = doubts.bound(k, t) + rounding;
        if doubts.heading(k, t, bound) * end.sign < 0.0 {
            return gone((t, at));
        }
        // Where it was beyond at the start, it may be on its way back.
        let goes = !(began && at == piece);
        let side = goes.then(|| after((k, t, rounding), end, doubts)).flatten()?;
        Some((t, at, side))
    }

    /// Extrema within the band, inside the interval; one that was reported counts again only behind a
    /// time outside of the band. The relation is on `begun` at the start.
    fn touches(
        &self,
        curve: &impl Curve,
        (band, past): (f64, &mut Past),
        (relation, begun): (u16, f64),
        within: Interval,
        doubts: &mut impl Doubts,
        flips: &mut Vec<Flip>,
    ) {
        let size = |i: usize| self.values[i].abs();
        let last = self.points.len() - 1;
        let came = past.nearing != 0.0;
        for i in 0..last {
            let (z, t) = (size(i), self.points[i]);
            if i > 0 && size(i - 1) > band {
                past.touched = false;
            }
            let late = came || t - within.start > within.fresh;
            // The first point is the last one of the search before.
            let falls = if i > 0 { z < size(i - 1) } else { came };
            if !late || !falls || z > band || past.touched {
                continue;
            }
            let flipped = |f: &&Flip| f.relation == relation && f.touch.is_none() && f.t <= t;
            let side = flips.iter().rfind(flipped).map_or(begun, |f| f.side);
            let rounding = curve.rounding(t);
            let bound = doubts.bound(relation.into(), t) + rounding;
            if !self.turns(i, (past.nearing, side, rounding))
                || !doubts.turns(relation.into(), t, (side, bound))
            {
                continue;
            }
            let crossed = |f: &Flip| {
                f.relation == relation && (f.t - t).abs() <= within.fresh.max(1e-9 * t.abs())
            };
            past.touched = true;
            // Beyond by no more than its error, it may have flipped there and back, and touches all the same.
            if z <= bound || !flips.iter().any(crossed) {
                flips.push(Flip { t, relation, touch: Some(z), before: side, side });
            }
        }
        let [before, end] = [self.values[last - 1], self.values[last]];
        let nears = size(last) <= band && size(last) < size(last - 1) && before * end >= 0.0;
        past.nearing = if nears { before.signum() } else { 0.0 };
    }

    /// Whether the function, which came nearer to zero up to point `i`, is computed to turn back there.
    fn turns(&self, i: usize, (nearing, side, rounding): (f64, f64, f64)) -> bool {
        let (z, next) = (self.values[i], self.values[i + 1]);
        let Some(last) = i.checked_sub(1) else {
            return z.abs() <= next.abs() && nearing * next >= 0.0;
        };
        // Rounding may put the extremum on the other side, and the interval may end just behind it.
        let rises = z.abs() <= next.abs() || z * side < 0.0;
        rises && (z - self.values[last]) * (next - z) <= 0.0 || (next - z).abs() <= rounding
    }
}
