//! AC power flow by Newton's method in polar coordinates (Tinney, Hart, IEEE Trans. PAS-86, 1967).
use super::{
    admittance::{C, Matrix, bus_matrix, polar},
    case::{BusType, Case},
};
use nalgebra::{DMatrix, DVector};

/// Largest mismatch of a solution, per unit, beyond what rounding makes of its terms.
const TOLERANCE: f64 = 1e-11;
/// Rounding of a sum of currents, relative to its terms: a bus coupler of 1e-6 per unit carries
/// currents of a million between equal voltages.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Most buses of a network: the matrices are dense, and 1354 buses take a quarter of a minute.
const BUSES: usize = 1500;
/// Newton steps before giving up.
const STEPS: usize = 30;

/// The solution of a power flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Voltage magnitudes, per unit.
    pub vm: Vec<f64>,
    /// Angles in rad.
    pub va: Vec<f64>,
    /// Injected complex powers, per unit.
    pub power: Vec<C>,
    /// Newton steps.
    pub steps: usize,
}

impl Flow {
    /// Complex voltages.
    pub fn voltages(&self) -> Vec<C> {
        self.vm.iter().zip(&self.va).map(|(&m, &a)| polar(m, a)).collect()
    }
}

/// Solves the power flow of a case from the voltages in the file.
///
/// # Errors
/// When Newton's method does not converge, with the worst bus; when there are more than 1500 buses.
pub fn solve(case: &Case) -> Result<Flow, String> {
    let n = case.buses.len();
    if n > BUSES {
        return Err(format!(
            "the network has {n} buses, and power flows are solved for {BUSES} at most: replace what \
             is far from what you study by an equivalent"
        ));
    }
    let y = bus_matrix(case);
    let mut wanted: Vec<C> =
        case.buses.iter().map(|b| C::new(-b.demand[0], -b.demand[1]) / case.base).collect();
    for g in &case.generators {
        wanted[g.bus] += C::new(g.power[0], g.power[1]) / case.base;
    }
    let of = |types: &[BusType]| -> Vec<usize> {
        (0..case.buses.len()).filter(|&k| types.contains(&case.buses[k].ty)).collect()
    };
    let angles = of(&[BusType::Generator, BusType::Load]);
    let magnitudes = of(&[BusType::Load]);
    let mut vm: Vec<f64> = case.buses.iter().map(|b| b.vm).collect();
    let mut va: Vec<f64> = case.buses.iter().map(|b| b.va.to_radians()).collect();
    let mut worst = (0, 0.0);
    for steps in 0..STEPS {
        let v: Vec<C> = vm.iter().zip(&va).map(|(&m, &a)| polar(m, a)).collect();
        let current = &y * DVector::from_column_slice(&v);
        let power: Vec<C> = v.iter().zip(current.iter()).map(|(v, i)| v * i.conj()).collect();
        let off = |k: usize| power[k] - wanted[k];
        let mismatch: Vec<f64> = angles
            .iter()
            .map(|&k| off(k).re)
            .chain(magnitudes.iter().map(|&k| off(k).im))
            .collect();
        let rows = angles.iter().chain(&magnitudes);
        worst = rows.zip(&mismatch).fold((0, 0.0), |worst: (usize, f64), (&bus, m)| {
            let beyond = m.abs() - rounding(&y, &vm, bus);
            if beyond > worst.1 || m.is_nan() { (bus, beyond) } else { worst }
        });
        if worst.1 < TOLERANCE {
            return Ok(Flow { vm, va, power, steps });
        }
        if !worst.1.is_finite() || worst.1 > 1e12 {
            break;
        }
        let jacobian = jacobian(&y, &v, &vm, current.as_slice(), &angles, &magnitudes);
        let Some(dx) = jacobian.lu().solve(&DVector::from_vec(mismatch)) else {
            return Err(
                "the power flow has a singular Jacobian: check branches and bus types".into()
            );
        };
        angles.iter().zip(dx.iter()).for_each(|(&k, d)| va[k] -= d);
        magnitudes.iter().zip(dx.iter().skip(angles.len())).for_each(|(&k, d)| vm[k] -= d);
        angles.iter().for_each(|&k| (vm[k], va[k]) = proper(vm[k], va[k]));
    }
    Err(format!(
        "the power flow does not converge in {STEPS} steps: bus {} misses {:.3e} pu; check that \
         demand and generation can be met",
        case.buses[worst.0].id, worst.1
    ))
}

/// Magnitude and angle of a voltage, from -π to π, after a step that went far.
fn proper(vm: f64, va: f64) -> (f64, f64) {
    use std::f64::consts::PI;
    let (vm, va) = if vm < 0.0 { (-vm, va + PI) } else { (vm, va) };
    if va.abs() <= PI { (vm, va) } else { (vm, libm::remainder(va, 2.0 * PI)) }
}

/// How much of a mismatch at a bus may be rounding.
fn rounding(y: &Matrix, vm: &[f64], bus: usize) -> f64 {
    let terms: f64 = vm.iter().enumerate().map(|(k, v)| y[(bus, k)].norm() * v).sum();
    ROUNDING * vm[bus] * terms
}

/// Derivatives of active powers (rows `angles`) and reactive powers (rows `magnitudes`).
fn jacobian(
    y: &Matrix,
    v: &[C],
    vm: &[f64],
    current: &[C],
    angles: &[usize],
    magnitudes: &[usize],
) -> DMatrix<f64> {
    let i = C::new(0.0, 1.0);
    // dS_r/dθ_c = j V_r conj(δ I_r - Y_rc V_c); dS_r/dV_c = V_r conj(Y_rc u_c) + δ conj(I_r) u_r.
    let by_angle = |r: usize, c: usize| {
        let own = if r == c { current[r] } else { C::new(0.0, 0.0) };
        i * v[r] * (own - y[(r, c)] * v[c]).conj()
    };
    let by_magnitude = |r: usize, c: usize| {
        let own = if r == c { current[r].conj() * v[r] / vm[r] } else { C::new(0.0, 0.0) };
        v[r] * (y[(r, c)] * v[c] / vm[c]).conj() + own
    };
    let n = angles.len();
    DMatrix::from_fn(n + magnitudes.len(), n + magnitudes.len(), |row, column| {
        let bus = |k: usize| if k < n { angles[k] } else { magnitudes[k - n] };
        let (r, c) = (bus(row), bus(column));
        let d = if column < n { by_angle(r, c) } else { by_magnitude(r, c) };
        if row < n { d.re } else { d.im }
    })
}
