//! Where a Taylor polynomial changes its sign, and where it nearly does.
use crate::number::{Ball, Dd};

/// Errors count this many times: columns are added as squares.
pub(crate) const SAFETY: f64 = 2.0;

/// More pieces than any sensible polynomial has.
const MANY: usize = 2000;

/// Lengths of the parts of a long way, in seconds: round numbers may be roots.
const FIRST: f64 = 61.803_398_875;
const LONGER: f64 = 31.7;

/// A sign change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    pub(crate) at: Dd,
    /// The sign afterwards.
    pub(crate) to: i8,
}

/// A turning point within the error of zero, or within the band.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) at: Dd,
    pub(crate) value: Dd,
    pub(crate) error: f64,
}

/// All that a polynomial does.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The sign at the start.
    pub(crate) sign: i8,
    pub(crate) passages: Vec<Passage>,
    pub(crate) turns: Vec<Turn>,
}

/// The value of a polynomial.
pub(crate) fn value<const M: usize>(c: &[Ball<M>], at: Dd) -> Dd {
    c.iter().rev().fold(Dd::ZERO, |sum, x| sum * at + x.c)
}

/// The value with its errors.
pub(crate) fn ball<const M: usize>(c: &[Ball<M>], at: Dd) -> Ball<M> {
    let last = c.iter().rposition(|x| *x != Ball::ZERO).map_or(0, |i| i + 1);
    c[..last].iter().rev().fold(Ball::ZERO, |sum, x| sum.times_dd(at) + *x)
}

/// The derivative.
pub(crate) fn slope<const M: usize>(c: &[Ball<M>], at: Dd) -> Dd {
    let terms = c.iter().enumerate().skip(1).rev();
    terms.fold(Dd::ZERO, |sum, (k, x)| sum * at + x.c.times(k as f64))
}

/// How the derivative changes with each error.
pub(crate) fn slope_errors<const M: usize>(c: &[Ball<M>], at: Dd) -> [f64; M] {
    let terms = c.iter().enumerate().skip(1).rev();
    terms.fold([0.0; M], |mut sum, (k, x)| {
        for (s, e) in sum.iter_mut().zip(x.e) {
            *s = *s * at.hi + k as f64 * e;
        }
        sum
    })
}

/// The error of the judged program in a polynomial's value.
pub(crate) fn error<const M: usize>(c: &[Ball<M>], at: Dd) -> f64 {
    let mut power = Dd::ONE;
    let mut size = 0.0;
    let mut exact = true;
    for x in c {
        let term = x.c * power;
        exact &= term.lo == 0.0 && x.c.lo == 0.0;
        size += term.hi.abs();
        power = power * at;
    }
    // Doubles that need no rounding have no error.
    let rounding = if exact { 0.0 } else { 2.0 * f64::EPSILON * size };
    SAFETY * ball(c, at).error() + rounding
}

fn sign(x: Dd) -> i8 {
    if x.hi > 0.0 {
        1
    } else if x.hi < 0.0 {
        -1
    } else {
        0
    }
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    lo: f64,
    hi: f64,
    /// Of the slope; 0: too short to tell.
    slope: i8,
}

/// A polynomial over [0, 1].
struct Scaled<'a, const M: usize> {
    c: &'a [Ball<M>],
    a: Vec<f64>,
    h: f64,
    /// What counts as near.
    near: f64,
    size: f64,
}

/// Looks through a polynomial from `from` to `h`: by parts, for what is great at the end of a long way hides roots near
/// its start.
pub(crate) fn scan<const M: usize>(c: &[Ball<M>], from: f64, h: f64, band: f64) -> Scan {
    let (mut lo, mut hi) = (from, FIRST);
    while hi <= from {
        hi *= LONGER;
    }
    let mut all: Option<Scan> = None;
    loop {
        let part = scan_part(c, lo, hi.min(h), band);
        match &mut all {
            None => all = Some(part),
            Some(all) => {
                all.sign = if all.sign == 0 { part.sign } else { all.sign };
                all.passages.extend(part.passages);
                all.turns.extend(part.turns);
            }
        }
        if hi >= h {
            return all.unwrap_or_default();
        }
        (lo, hi) = (hi, hi * LONGER);
    }
}

fn scan_part<const M: usize>(c: &[Ball<M>], from: f64, h: f64, band: f64) -> Scan {
    let first = value(c, Dd::new(from));
    let mut out = Scan { sign: sign(first), ..Scan::default() };
    // Where the middle does not move, errors of its speed make no root.
    let last = c.iter().rposition(|x| x.c != Dd::ZERO).unwrap_or(0);
    let mut power = 1.0;
    let mut a = Vec::with_capacity(last + 1);
    let mut errors = [0.0; M];
    for x in &c[..=last] {
        a.push(x.c.hi * power);
        for (e, y) in errors.iter_mut().zip(x.e) {
            *e += y.abs() * power;
        }
        power *= h;
    }
    let size: f64 = a.iter().map(|x| x.abs()).sum();
    let error = errors.iter().map(|e| e * e).sum::<f64>().sqrt();
    let near = band + SAFETY * error + 8.0 * f64::EPSILON * size;
    if last == 0 || 2.0 * a[0].abs() > size + near {
        return out;
    }
    let p = Scaled { c, a, h, near, size };
    let mut pieces = Vec::new();
    p.pieces(from / h, 1.0, &mut pieces);
    p.passages(&pieces, from / h, &mut out);
    p.turns(&pieces, band, &mut out);
    out
}

impl<const M: usize> Scaled<'_, M> {
    fn eval(&self, s: f64) -> (f64, f64) {
        let (mut p, mut d) = (0.0, 0.0);
        for x in self.a.iter().rev() {
            d = d * s + p;
            p = p * s + x;
        }
        (p, d)
    }

    /// A bound of the second derivative up to s.
    fn bend(&self, s: f64) -> f64 {
        let mut sum = 0.0;
        for (k, x) in self.a.iter().enumerate().skip(2).rev() {
            sum = sum * s + (k * (k - 1)) as f64 * x.abs();
        }
        sum
    }

    fn sign(&self, s: f64) -> i8 {
        let (p, _) = self.eval(s);
        if p.abs() > 1e-13 * self.size {
            return if p > 0.0 { 1 } else { -1 };
        }
        sign(value(self.c, Dd::new(s).times(self.h)))
    }

    fn pieces(&self, lo: f64, hi: f64, out: &mut Vec<Piece>) {
        let (m, r) = ((lo + hi) / 2.0, (hi - lo) / 2.0);
        let (p, d) = self.eval(m);
        let bend = self.bend(hi);
        let noise = 1e-14 * self.size;
        let away = p.abs() - d.abs() * r - bend * r * r / 2.0 - noise;
        if away > self.near {
            return;
        }
        if d.abs() > bend * r + noise * 1e-3 {
            out.push(Piece { lo, hi, slope: if d > 0.0 { 1 } else { -1 } });
        } else if hi - lo < 4e-9
            || out.len() > MANY
            || (away > 0.0 && bend * r * r < 0.01 * self.near)
        {
            out.push(Piece { lo, hi, slope: 0 });
        } else {
            self.pieces(lo, m, out);
            self.pieces(m, hi, out);
        }
    }

    fn passages(&self, pieces: &[Piece], from: f64, out: &mut Scan) {
        let (mut last, mut from, mut zero) = (out.sign, from, None);
        for piece in pieces {
            for s in [piece.lo, piece.hi] {
                let sign = self.sign(s);
                if sign == 0 {
                    zero = Some(s);
                    continue;
                }
                if last != 0 && sign != last {
                    let at = zero
                        .map_or_else(|| self.refine(from, s, last), |z| Dd::new(z).times(self.h));
                    out.passages.push(Passage { at, to: sign });
                }
                if out.sign == 0 {
                    out.sign = sign;
                }
                (last, from, zero) = (sign, s, None);
            }
        }
    }

    /// The root between two places with opposite signs.
    fn refine(&self, lo: f64, hi: f64, before: i8) -> Dd {
        let (mut a, mut b) = (lo, hi);
        for _ in 0..60 {
            let m = (a + b) / 2.0;
            if b - a < 1e-10 * b || m <= a || m >= b {
                break;
            }
            if self.sign(m) == before { a = m } else { b = m }
        }
        let (mut x, mut y) = (Dd::new(a).times(self.h), Dd::new(b).times(self.h));
        let mut at = (x + y).times(0.5);
        for _ in 0..120 {
            let p = value(self.c, at);
            if p.hi == 0.0 {
                return at;
            }
            if sign(p) == before {
                x = at
            } else {
                y = at
            }
            let newton = at - p / slope(self.c, at);
            let inside = newton.finite() && (newton - x).hi >= 0.0 && (y - newton).hi >= 0.0;
            let next = if inside { newton } else { (x + y).times(0.5) };
            if (next - at).hi.abs() <= 1e-30 * next.hi.abs() {
                return next;
            }
            at = next;
        }
        at
    }

    fn turns(&self, pieces: &[Piece], band: f64, out: &mut Scan) {
        let mut previous: Option<Piece> = None;
        for piece in pieces {
            let joined = previous.filter(|p| p.hi == piece.lo);
            if piece.slope == 0 {
                self.turn(piece.lo, piece.hi, band, out);
            } else if joined.is_some_and(|p| p.slope == -piece.slope) {
                self.turn(piece.lo, piece.lo, band, out);
            }
            previous = Some(*piece);
        }
    }

    fn turn(&self, lo: f64, hi: f64, band: f64, out: &mut Scan) {
        let middle = Dd::new((lo + hi) / 2.0).times(self.h);
        let end = |s: f64| sign(slope(self.c, Dd::new(s).times(self.h)));
        if lo < hi && end(lo) * end(hi) > 0 {
            return;
        }
        let mut at = middle;
        // It comes nearer by a third each time where the curvature is zero there, too.
        for _ in 0..100 {
            let terms = self.c.iter().enumerate().skip(2).rev();
            let bend =
                terms.fold(Dd::ZERO, |sum, (k, x)| sum * at + x.c.times((k * (k - 1)) as f64));
            let next = at - slope(self.c, at) / bend;
            if !next.finite() || (next - middle).hi.abs() > (hi - lo).max(1e-9) * self.h {
                break;
            }
            let near = (next - at).hi.abs() <= 1e-25 * self.h;
            at = next;
            if near {
                break;
            }
        }
        let known = out.turns.last().map(|t: &Turn| (t.at - at).hi.abs());
        if at.hi <= 0.0 || known.is_some_and(|d| d <= 1e-8 * self.h) {
            return;
        }
        let value = value(self.c, at);
        let error = error(self.c, at);
        if value.hi.abs() <= band + error {
            out.turns.push(Turn { at, value, error });
        }
    }
}
