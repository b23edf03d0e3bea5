//! Modified LIQSS2: variables that drive each other hard step together.
//!
//! Where two variables oscillate against each other, looking ahead in one of them alone makes the
//! other one step back and forth. Di Pietro, Migoni, Kofman 2019, "Improving linearly implicit
//! quantized state system methods", Simulation 95(2), 127-144: such pairs take one implicit step
//! of the two by two system.
use super::{
    engine::Engine,
    method::{Method, REACH, next_2, quantise_2},
    system::System,
    variable::Variable,
};

/// Modified LIQSS2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paired;

impl Method<2> for Paired {
    const IMPLICIT: bool = true;
    const PAIRS: bool = true;
    fn quantise(v: &mut Variable<2>, left: f64) {
        quantise_2(v, left);
    }
    fn next(v: &Variable<2>, own: bool) -> f64 {
        next_2(v, own)
    }
}

type Matrix = [[f64; 2]; 2];
type Vector = [f64; 2];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

fn apply(a: &Matrix, v: Vector) -> Vector {
    std::array::from_fn(|i| a[i][0] * v[0] + a[i][1] * v[1])
}

fn inverse(a: &Matrix) -> Matrix {
    let d = 1.0 / (a[0][0] * a[1][1] - a[0][1] * a[1][0]);
    [[a[1][1] * d, -a[0][1] * d], [-a[1][0] * d, a[0][0] * d]]
}

fn combine(f: impl Fn(usize, usize, f64) -> f64) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| f(i, j, if i == j { 1.0 } else { 0.0 })))
}

/// The implicit step of length `h` of `x' = A x + u0 + u1 t`: quantised values and slopes.
fn together(a: &Matrix, x: Vector, u0: Vector, u1: Vector, h: f64) -> (Vector, Vector) {
    let b = inverse(&combine(|i, j, one| one - h * a[i][j]));
    let (ba, ab) = (product(&b, a), product(a, &b));
    let aba = product(&ab, a);
    let c = combine(|i, j, one| one + h * (ba[i][j] - a[i][j] - 0.5 * h * aba[i][j]));
    let d = combine(|i, j, one| one - b[i][j] + 0.5 * h * ab[i][j]);
    let e = combine(|i, j, one| 0.5 * (h * ab[i][j] + one) - b[i][j]);
    let (du, eu) = (apply(&d, u0), apply(&e, u1));
    let q = apply(&inverse(&c), std::array::from_fn(|k| x[k] + h * du[k] + h * h * eu[k]));
    let aq = apply(a, q);
    (q, apply(&b, std::array::from_fn(|k| aq[k] + u0[k] + h * u1[k])))
}

/// Whether a change is large against the mean of before and after.
fn disturbs(before: f64, change: f64) -> bool {
    change.abs() > 0.5 * (before + before + change).abs()
}

impl<Y: System, M: Method<P>, const P: usize> Engine<Y, M, P> {
    /// Variable `i` has just been quantised at `t`, where it had `before`: quantises it together
    /// with the partner that it drives most, if that one drives it as well. Gives the partner.
    pub(super) fn pair(&mut self, i: usize, t: f64, before: [f64; P]) -> Option<usize> {
        let after = self.state.variables[i].q;
        let mut best: Option<(f64, usize, f64)> = None;
        for k in 0..self.partners.readers(i).len() {
            let j = self.partners.readers(i)[k] as usize;
            let a = self.partial(j, (i, after[0]), t);
            let mut w = self.state.variables[j];
            w.move_state(t);
            let change = [a * (after[0] - before[0]), a * (after[1] - before[1])];
            if disturbs(w.d[0], change[0]) || disturbs(2.0 * w.d[1], change[1]) {
                let size = change[0].abs().max(change[1].abs());
                if best.is_none_or(|(most, ..)| size > most) {
                    best = Some((size, j, a));
                }
            }
        }
        let (_, j, aji) = best?;
        let mut w = self.state.variables[j];
        w.move_state(t);
        w.move_quantised(t);
        let aij = self.partial(i, (j, w.q[0]), t);
        let v = self.state.variables[i];
        w.slope = self.partial(j, (j, w.x), t).min(0.0);
        let a = [[v.slope, aij], [aji, w.slope]];
        let (x, old, slopes) = ([v.x, w.x], [before[0], w.q[0]], [before[1], w.q[1]]);
        let (aq, as_) = (apply(&a, old), apply(&a, slopes));
        let u0 = [v.d[0] - aq[0], w.d[0] - aq[1]];
        let u1 = [2.0 * v.d[1] - as_[0], 2.0 * w.d[1] - as_[1]];
        // Where the partner would go by itself, and what that does to this one.
        let curve = 2.0 * w.d[1] + aji * (after[1] - before[1]);
        let there = w.x - (2.0 * w.quantum).copysign(curve);
        if !disturbs(v.d[0], aij * (there - old[1])) && !disturbs(2.0 * v.d[1], aij * slopes[1]) {
            return None;
        }
        let quanta = [v.quantum, w.quantum];
        let mut h = self.left(t).min(1e9 / v.slope.abs().max(w.slope.abs()).max(aij.abs()));
        for _ in 0..64 {
            let (q, slope) = together(&a, x, u0, u1, h);
            let far = |k: usize| (q[k] - x[k]).abs() / quanta[k];
            let most = far(0).max(far(1));
            // Not three quanta, as published: one that is beyond two has to be set again at once.
            if most <= REACH && slope.iter().all(|s| s.is_finite()) {
                w.q[0] = q[1];
                w.q[1] = slope[1];
                self.state.variables[j] = w;
                let v = &mut self.state.variables[i];
                v.q[0] = q[0];
                v.q[1] = slope[0];
                self.state.steps += 1;
                return Some(j);
            }
            // The distance grows with the square of a short step.
            h *= (1.0 / (2.0 * most).sqrt()).clamp(1e-6, 0.5);
        }
        None
    }
}
