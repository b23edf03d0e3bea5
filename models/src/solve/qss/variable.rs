//! What the engine knows of one state, in one place.
use crate::solve::series::Series;
use serde::{Deserialize, Serialize, Serializer, de::Error};

/// A state and its quantised copy, as polynomials in the time since `at` and `quantised_at`.
///
/// Everything that a step touches sits together: the state `x + d[0] e + d[1] e² + …` with `P`
/// powers, the quantised state `q[0] + q[1] e + …` with one less, the quantum, and what linearly
/// implicit methods know of the right-hand side.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Variable<const P: usize> {
    /// Seconds at which the quantised state is expanded.
    pub quantised_at: f64,
    /// Quantised state.
    pub q: [f64; P],
    /// Seconds at which the state is expanded.
    pub at: f64,
    /// State.
    pub x: f64,
    /// Coefficients of the first and higher powers of the state.
    pub d: [f64; P],
    /// How far the two may be apart.
    pub quantum: f64,
    /// How far at least.
    pub least: f64,
    /// Partial derivative of the state's derivative by the quantised state; at most zero.
    pub slope: f64,
    /// How long the last step was to be that began with a new quantised state, or whose length was
    /// looked at; zero if it has no end.
    pub usual: f64,
    /// How many steps in a row, of those where the state is no larger than its quantum, began on the other side of the
    /// quantised state than the one before; negative below it.
    pub swings: f64,
    /// How large the state was where a step began.
    pub largest: f64,
}

impl<const P: usize> Variable<P> {
    /// A state that stands still.
    pub fn new(x: f64, at: f64, least: f64) -> Self {
        let mut q = [0.0; P];
        q[0] = x;
        let [quantum, slope, usual, swings, largest] = [0.0; 5];
        let d = [0.0; P];
        Self { quantised_at: at, q, at, x, d, quantum, least, slope, usual, swings, largest }
    }

    /// Notes how large the state is.
    #[inline]
    pub fn grow(&mut self) {
        let size = self.x.abs();
        if size > self.largest {
            self.largest = size;
        }
    }

    /// The state at `t`.
    #[inline]
    pub fn state(&self, t: f64) -> f64 {
        let e = t - self.at;
        self.x + e * self.d.iter().rev().fold(0.0, |sum, d| sum * e + d)
    }

    /// The derivative of the state at `t`.
    pub fn rate(&self, t: f64) -> f64 {
        let e = t - self.at;
        self.d.iter().enumerate().rev().fold(0.0, |sum, (k, d)| sum * e + (k + 1) as f64 * d)
    }

    /// Moves the origin of the value to `t`, where new derivatives are about to be set.
    #[inline]
    pub fn move_value(&mut self, t: f64) {
        self.x = self.state(t);
        self.at = t;
    }

    /// Takes the coefficients of the derivative from `t` on; gives a sum of all, which is finite if they are.
    #[inline]
    pub fn follow(&mut self, f: &Series<P>, t: f64) -> f64 {
        self.move_value(t);
        let mut sum = self.x;
        for (k, c) in f.0.iter().enumerate() {
            self.d[k] = c * (1.0 / (k + 1) as f64);
            sum += c;
        }
        sum
    }

    /// Moves the origin of value and derivatives to `t`.
    #[inline]
    pub fn move_state(&mut self, t: f64) {
        let e = t - self.at;
        self.move_value(t);
        // Derivative of the polynomial, shifted, integrated again.
        for k in 0..P {
            self.d[k] *= (k + 1) as f64;
        }
        shift(&mut self.d, e);
        for k in 0..P {
            self.d[k] /= (k + 1) as f64;
        }
    }

    /// The quantised state expanded at `t`.
    #[inline]
    pub fn quantised(&self, t: f64) -> [f64; P] {
        let mut q = self.q;
        shift(&mut q, t - self.quantised_at);
        q
    }

    /// Moves the origin of the quantised state to `t`.
    #[inline]
    pub fn move_quantised(&mut self, t: f64) {
        self.q = self.quantised(t);
        self.quantised_at = t;
    }

    /// Counts [`swings`](Self::swings) where a step begins; whether there are just so many that the state is lost
    /// in its quantum: what is nonlinear in it then has another mean than along the solution.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        const MANY: f64 = 16.0;
        if self.x.abs() > self.quantum {
            return false;
        }
        let side = (self.x - self.q[0]).signum();
        let turned = side * self.swings < 0.0;
        self.swings = if turned { side - self.swings } else { side };
        turned && self.swings.abs() == MANY
    }

    /// Whether the quantised state goes another way than the state, whose origin is at `t`.
    pub fn parts(&self, t: f64) -> bool {
        self.quantised(t)[1..] != self.d[..P - 1]
    }

    /// How far the quantised state is from the state, as a polynomial of `P` powers: the first
    /// ones of it; the last is `-d[P - 1]`. Both must have one origin.
    #[inline]
    pub fn gap(&self) -> [f64; P] {
        std::array::from_fn(|k| if k == 0 { self.q[0] - self.x } else { self.q[k] - self.d[k - 1] })
    }
}

/// [`crate::maths::poly::shift`] for few coefficients, without loops at run time.
#[inline]
fn shift<const P: usize>(c: &mut [f64; P], e: f64) {
    for first in 0..P.saturating_sub(1) {
        for k in (first..P - 1).rev() {
            c[k] += e * c[k + 1];
        }
    }
}

/// Arrays of const length have no serde implementation of their own.
impl<const P: usize> Serialize for Variable<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { quantised_at, at, x, quantum, least, slope, usual, swings, largest, .. } = *self;
        let scalars = [quantised_at, at, x, quantum, least, slope, usual, swings, largest];
        (scalars, &self.q[..], &self.d[..]).serialize(serializer)
    }
}

impl<'de, const P: usize> Deserialize<'de> for Variable<P> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (scalars, q, d) = <([f64; 9], Vec<f64>, Vec<f64>)>::deserialize(deserializer)?;
        let array = |v: Vec<f64>| v.try_into().map_err(|_| D::Error::custom("wrong order"));
        let [quantised_at, at, x, quantum, least, slope, usual, swings, largest] = scalars;
        let (q, d) = (array(q)?, array(d)?);
        Ok(Self { quantised_at, q, at, x, d, quantum, least, slope, usual, swings, largest })
    }
}

/// `x^(1/n)`, mostly without logarithms.
pub(super) fn root(x: f64, n: usize) -> f64 {
    match n {
        2 => x.sqrt(),
        3 => libm::cbrt(x),
        4 => x.sqrt().sqrt(),
        _ => libm::pow(x, 1.0 / n as f64),
    }
}
