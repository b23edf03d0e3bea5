//! Chebyshev series of degree eight between 0 and 1 (Trefethen 2013, "Approximation Theory and Approximation
//! Practice", chapters 3 and 4).
use super::piece::Piece;

/// Samples of a series: it has degree eight.
pub(super) const NODES: usize = 9;

/// Place of the sample number `k` between 0 and 1.
pub(super) const fn node(k: usize) -> f64 {
    /// 1/2 - cos(k π/8)/2 for k from 0 to 4.
    const HALF: [f64; 5] =
        [0.0, 0.038_060_233_744_356_63, 0.146_446_609_406_726_2, 0.308_658_283_817_455_1, 0.5];
    if k < HALF.len() { HALF[k] } else { 1.0 - HALF[NODES - 1 - k] }
}

/// The Chebyshev series of the polynomial with these values at the nodes.
pub(super) fn series(values: &[f64; NODES]) -> [f64; NODES] {
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
pub(super) fn powers(series: &[f64; NODES]) -> ([f64; NODES], usize) {
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
