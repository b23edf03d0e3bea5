//! Coefficients of the Dormand-Prince 5(4) pair and of its interpolants, as exact rationals.

/// Nodes of stages 1 to 7: Dormand & Prince 1980, "A family of embedded Runge-Kutta formulae",
/// J. Comp. Appl. Math. 6, 19-26, table 2 (also Hairer, Nørsett & Wanner, Solving Ordinary
/// Differential Equations I, table II.5.2).
pub(super) const C: [f64; 7] = [0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];

/// Stage weights; the last row is the fifth-order solution (first same as last). Same source.
pub(super) const A: [&[f64]; 7] = [
    &[],
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];

/// Fifth-order minus fourth-order weights: the error estimate. Same source.
pub(super) const E: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];

/// Last coefficient of the free fourth-order interpolant: Shampine 1986, "Some practical
/// Runge-Kutta formulas", Math. Comp. 46, 135-150, in the form of Hairer, Nørsett & Wanner's
/// DOPRI5 (II.6, `CONTD5`).
pub(super) const D: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// Nodes of the two extra stages of the fifth-order interpolant.
///
/// The interpolant is made by the bootstrapping of Enright, Jackson, Nørsett & Thomsen 1986,
/// "Interpolants for Runge-Kutta formulas", ACM TOMS 12, 193-218: the derivative of the free
/// fourth-order interpolant's value at two inner nodes is accurate enough that the quintic through
/// both end values and the four slopes has local error O(h⁶). The nodes were chosen by computing
/// the norm of the twenty sixth-order error coefficients over the step: with 1/5 and 1/2 it rises
/// to 3.99e-4 at the end of the step, which is the pair's own, and is smaller everywhere inside.
/// So dense output is as good as the solution itself.
pub(super) const EXTRA_C: [f64; 2] = [1.0 / 5.0, 1.0 / 2.0];

/// Weights of the free fourth-order interpolant at [`EXTRA_C`] (from `A` and `D`).
pub(super) const EXTRA_A: [[f64; 7]; 2] = [
    [
        51064358379.0 / 470086768000.0,
        0.0,
        94186536908.0 / 817510269975.0,
        -10977629357.0 / 141026030400.0,
        1411022002887.0 / 24914598704000.0,
        -9755628487.0 / 308494441500.0,
        106471732.0 / 3672552875.0,
    ],
    [
        6025192743.0 / 60171106304.0,
        0.0,
        51252292925.0 / 130801643196.0,
        -2691868925.0 / 90256659456.0,
        187940372067.0 / 3189068634112.0,
        -1776094331.0 / 39487288512.0,
        11237099.0 / 470086768.0,
    ],
];

/// Powers θ² to θ⁵ of the quintic beyond the parabola `x0 + h f0 θ + h (f1 - f0) θ² / 2`, from three
/// differences that vanish for a parabola: those of its value at the end and of its slopes at
/// [`EXTRA_C`]. Inverse of the Hermite-Birkhoff conditions.
pub(super) const QUINTIC: [[f64; 3]; 4] = [
    [6.0, 125.0 / 24.0, -16.0 / 3.0],
    [-32.0, -125.0 / 12.0, 80.0 / 3.0],
    [51.0, 125.0 / 24.0, -112.0 / 3.0],
    [-24.0, 0.0, 16.0],
];

/// Nodes, stage weights (the last row is the third-order solution, first same as last) and error
/// weights (third-order minus second-order) of Bogacki & Shampine 1989, "A 3(2) pair of
/// Runge-Kutta formulas", Applied Mathematics Letters 2, 321-325.
pub(super) const BOGACKI: ([f64; 4], [&[f64]; 4], [f64; 4]) = (
    [0.0, 1.0 / 2.0, 3.0 / 4.0, 1.0],
    [&[], &[1.0 / 2.0], &[0.0, 3.0 / 4.0], &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0]],
    [-5.0 / 72.0, 1.0 / 12.0, 1.0 / 9.0, -1.0 / 8.0],
);

/// Stage weights of the classical method of fourth order; the last row is its solution.
pub(super) const RK4: [&[f64]; 5] = [
    &[],
    &[1.0 / 2.0],
    &[0.0, 1.0 / 2.0],
    &[0.0, 0.0, 1.0],
    &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows sum to their nodes, the quintic reproduces its own conditions.
    #[test]
    fn consistent() {
        for (row, node) in A.iter().zip(C) {
            assert!((row.iter().sum::<f64>() - node).abs() < 4e-15);
        }
        for (row, node) in EXTRA_A.iter().zip(EXTRA_C) {
            assert!((row.iter().sum::<f64>() - node).abs() < 1e-15);
        }
        assert!(E.iter().sum::<f64>().abs() < 1e-16);
        assert!(D.iter().sum::<f64>().abs() < 1e-15);
        for datum in 0..3 {
            let mut powers = [0.0; 6];
            for (power, row) in powers[2..].iter_mut().zip(QUINTIC) {
                *power = row[datum];
            }
            let slope = |theta| crate::maths::poly::eval_slope(&powers, theta).1;
            let conditions =
                [crate::maths::poly::eval(&powers, 1.0), slope(0.2), slope(0.5), slope(1.0)];
            for (k, value) in conditions.into_iter().enumerate() {
                let expected = f64::from(u8::from(k == datum));
                assert!((value - expected).abs() < 1e-13, "{datum} {k} {value}");
            }
        }
    }
}
