//! Fourier sums of 2^m points.
//!
//! **Why own sums.** Crates for them take their angles from the system's mathematics, or choose vector instructions of
//! the machine, so that maps and all that is computed on them would differ from machine to machine.
use super::complex::{C, direction};
use std::f64::consts::TAU;

/// The sums of a power of two of points.
pub(super) struct Fourier {
    /// e^(-2πi k/n) for the first half of all k.
    turns: Vec<C>,
}

impl Fourier {
    /// For `points`, a power of two of at least 2.
    pub(super) fn new(points: usize) -> Self {
        let turn = |k: usize| direction(-TAU * k as f64 / points as f64);
        Self { turns: (0..points / 2).map(turn).collect() }
    }

    /// X_k = Σ x_j e^(-2πi jk/n), in place.
    pub(super) fn forward(&self, x: &mut [C]) {
        let n = x.len();
        let shift = usize::BITS - n.trailing_zeros();
        for k in 0..n {
            let mirrored = k.reverse_bits() >> shift;
            if k < mirrored {
                x.swap(k, mirrored);
            }
        }
        let mut half = 1;
        while half < n {
            let stride = n / (2 * half);
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let turned = *b * self.turns[k * stride];
                    *b = *a - turned;
                    *a += turned;
                }
            }
            half *= 2;
        }
    }

    /// x_j = Σ X_k e^(2πi jk/n), without a division by n, in place.
    pub(super) fn backward(&self, x: &mut [C]) {
        x.iter_mut().for_each(|c| *c = c.conj());
        self.forward(x);
        x.iter_mut().for_each(|c| *c = c.conj());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition() {
        for n in [2usize, 8, 32] {
            let x: Vec<C> = (0..n).map(|k| C::new((k * k % 7) as f64, k as f64)).collect();
            let fourier = Fourier::new(n);
            let mut sums = x.clone();
            fourier.forward(&mut sums);
            for (k, sum) in sums.iter().enumerate() {
                let turn = |j: usize| direction(-TAU * (j * k) as f64 / n as f64);
                let plain: C = x.iter().enumerate().map(|(j, c)| c * turn(j)).sum();
                assert!((sum - plain).norm() < 1e-11);
            }
            fourier.backward(&mut sums);
            assert!(sums.iter().zip(&x).all(|(a, b)| (a / n as f64 - b).norm() < 1e-12));
        }
    }
}
