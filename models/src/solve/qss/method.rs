//! The quantisers: how a quantised state follows its state, and when it has to be set anew.
//!
//! All times here are offsets from the present, where value and quantised state of the variable
//! have their origin.
use super::{
    exits::{cubic_exit, quadratic_exit},
    variable::Variable,
};

/// A quantiser of order `P`: quantised states have `P` coefficients. [`Explicit`] of order 1, 2, 3
/// is QSS1, QSS2, QSS3; [`Implicit`] of order 1, 2 is LIQSS1, LIQSS2;
/// [`Paired`](super::Paired) is modified LIQSS2.
pub trait Method<const P: usize>: std::fmt::Debug + Default + Send + Sync + 'static {
    /// Whether it looks ahead by the slope of the right-hand side in its own variable.
    const IMPLICIT: bool = false;
    /// Whether variables that influence each other strongly step together.
    const PAIRS: bool = false;
    /// Until when copies are as good as their states, if the last jump was then: implicit ones are ahead at once.
    fn exact(jumped: f64) -> f64 {
        if Self::IMPLICIT { f64::NEG_INFINITY } else { jumped }
    }
    /// Sets the quantised state; `left` is the time to the end of the run.
    fn quantise(v: &mut Variable<P>, left: f64);
    /// When the quantised state has to be set again; `own` right after it was.
    fn next(v: &Variable<P>, own: bool) -> f64;
}

/// QSS1, QSS2, QSS3 (Cellier & Kofman, Continuous System Simulation, chapters 11 and 12): the
/// quantised state is the state's own expansion without its last term.
#[derive(Debug, Clone, Copy, Default)]
pub struct Explicit;

#[inline]
fn adopt<const P: usize>(v: &mut Variable<P>) {
    v.q[0] = v.x;
    v.q[1..].copy_from_slice(&v.d[..P - 1]);
}

/// Fires at once when the distance is the quantum but for rounding.
#[inline]
fn fires_now(distance: f64, quantum: f64) -> bool {
    distance.abs() >= (1.0 - 1e-9) * quantum
}

impl Method<1> for Explicit {
    #[inline]
    fn quantise(v: &mut Variable<1>, _: f64) {
        adopt(v);
    }
    #[inline]
    fn next(v: &Variable<1>, _: bool) -> f64 {
        let [gap] = v.gap();
        if fires_now(gap, v.quantum) {
            return 0.0;
        }
        // The gap changes by -d[0] per second.
        let room = if v.d[0] < 0.0 { v.quantum - gap } else { v.quantum + gap };
        room / v.d[0].abs()
    }
}

impl Method<2> for Explicit {
    #[inline]
    fn quantise(v: &mut Variable<2>, _: f64) {
        adopt(v);
    }
    #[inline]
    fn next(v: &Variable<2>, _: bool) -> f64 {
        let [g0, g1] = v.gap();
        if fires_now(g0, v.quantum) {
            return 0.0;
        }
        if g0 == 0.0 && g1 == 0.0 {
            return (v.quantum / v.d[1].abs()).sqrt();
        }
        quadratic_exit([g0, g1, -v.d[1]], v.quantum)
    }
}

impl Method<3> for Explicit {
    #[inline]
    fn quantise(v: &mut Variable<3>, _: f64) {
        adopt(v);
    }
    #[inline]
    fn next(v: &Variable<3>, _: bool) -> f64 {
        let [g0, g1, g2] = v.gap();
        if fires_now(g0, v.quantum) {
            return 0.0;
        }
        cubic_exit([g0, g1, g2, -v.d[2]], v.quantum)
    }
}

/// LIQSS1 and LIQSS2 (Migoni, Bortolotto, Kofman, Cellier 2013, Simulation Modelling Practice and
/// Theory 35, 118-136): the quantised state is where the state is going, one implicit step ahead by
/// the variable's own slope.
#[derive(Debug, Clone, Copy, Default)]
pub struct Implicit;

impl Method<1> for Implicit {
    const IMPLICIT: bool = true;
    #[inline]
    fn quantise(v: &mut Variable<1>, _: f64) {
        let (a, u) = (v.slope, v.d[0] - v.slope * v.q[0]);
        if v.d[0] == 0.0 {
            v.q[0] = v.x;
            return;
        }
        let s = v.quantum.copysign(v.d[0]);
        let ahead = u + a * (v.x + s);
        v.q[0] = if a == 0.0 || ahead == 0.0 || (ahead > 0.0) == (s > 0.0) {
            v.x + s
        } else {
            // The derivative vanishes on the way.
            (-u / a).clamp(v.x - 2.0 * v.quantum, v.x + 2.0 * v.quantum)
        };
    }
    #[inline]
    fn next(v: &Variable<1>, own: bool) -> f64 {
        let [gap] = v.gap();
        let d = v.d[0];
        let reach = gap / d;
        if reach > 0.0 || (reach == 0.0 && !own) {
            return reach;
        }
        if d == 0.0 {
            return f64::INFINITY;
        }
        // Away from the quantised state, up to two quanta.
        ((2.0 * v.quantum - gap.abs()) / d.abs()).max(0.0)
    }
}

impl Method<2> for Implicit {
    const IMPLICIT: bool = true;
    #[inline]
    fn quantise(v: &mut Variable<2>, left: f64) {
        quantise_2(v, left);
    }
    #[inline]
    fn next(v: &Variable<2>, own: bool) -> f64 {
        next_2(v, own)
    }
}

/// How many quanta a quantised state of LIQSS2 may be away from its state.
pub(super) const REACH: f64 = 2.0;

/// The second-order implicit step of one variable; gives its length.
pub(super) fn quantise_2(v: &mut Variable<2>, left: f64) -> f64 {
    let (a, quantum, x) = (v.slope, v.quantum, v.x);
    let u0 = v.d[0] - a * v.q[0];
    let u1 = 2.0 * v.d[1] - a * v.q[1];
    if a >= 0.0 {
        if u1 == 0.0 {
            v.q = [x, v.d[0]];
            return f64::INFINITY;
        }
        let h = (2.0 * quantum / u1.abs()).sqrt().min(left);
        v.q = [x - quantum.copysign(u1), u0 + h * u1];
        return h;
    }
    // (x + h u0 + h² u1 / 2)(1 - h a) + (h² a / 2 - h)(u0 + h u1) over 1 - h a + h² a² / 2.
    let ahead = |h: f64| {
        let (ha, half) = (h * a, 0.5 * h * h);
        ((x + h * u0 + half * u1) * (1.0 - ha) + (half * a - h) * (u0 + h * u1))
            / (1.0 - ha + half * a * a)
    };
    // Beyond that only rounding would change.
    let mut h = left.min(-1e9 / a);
    let mut q = ahead(h);
    if (q - x).abs() > REACH * quantum {
        let ddx = 2.0 * v.d[1];
        let ddx = if ddx == 0.0 { a * (a * x + u0) + u1 } else { ddx };
        h = (2.0 * quantum / ddx.abs()).sqrt();
        q = ahead(h);
        let mut tries = 0;
        while (q - x).abs() > REACH * quantum && tries < 100 {
            h *= (quantum / (q - x).abs()).sqrt();
            q = ahead(h);
            tries += 1;
        }
    }
    v.q = [q, (a * q + u0 + h * u1) / (1.0 - h * a)];
    h
}

/// When LIQSS2 sets a quantised state again.
#[inline]
pub(super) fn next_2(v: &Variable<2>, own: bool) -> f64 {
    let [g0, g1] = v.gap();
    // Not the distance itself but what rounding makes of it.
    let limit = REACH * (1.0 + 1e-9) * v.quantum;
    let curve = -v.d[1];
    let mut next = quadratic_exit([g0, g1, curve], limit);
    if v.slope < 0.0 && own && curve != 0.0 {
        // The two run parallel there.
        next = next.min((g1 / curve).abs());
    }
    // Not through zero with a quantum that was set far from it.
    let [q0, q1] = v.q;
    if q0 * q1 < 0.0 && q0.abs() > 10.0 * v.quantum {
        next = next.min((q0.abs() - limit) / q1.abs());
    }
    next
}
