//! Admittance matrices and their reduction to the machines.
use super::case::{Branch, BusType, Case};
use nalgebra::{Complex, DMatrix};

/// A complex number.
pub type C = Complex<f64>;
/// A complex matrix.
pub type Matrix = DMatrix<C>;

/// A complex number by magnitude and angle in rad; the same bits everywhere.
pub fn polar(magnitude: f64, angle: f64) -> C {
    C::new(magnitude * libm::cos(angle), magnitude * libm::sin(angle))
}

/// The entries that a branch adds to the matrix: from-from, from-to, to-from, to-to.
pub fn branch_entries(b: &Branch) -> [C; 4] {
    let series = C::new(1.0, 0.0) / C::new(b.series[0], b.series[1]);
    let own = series + C::new(0.0, b.charging / 2.0);
    let tap = polar(b.tap, b.shift.to_radians());
    [own / (b.tap * b.tap), -(series / tap.conj()), -(series / tap), own]
}

/// The bus admittance matrix per unit (MATPOWER manual, section 3.7): branches as pi models with
/// the transformer at the from side, and shunts. An isolated bus has a 1 on the diagonal, so that the
/// matrix is regular.
pub fn bus_matrix(case: &Case) -> Matrix {
    let n = case.buses.len();
    let mut y = Matrix::zeros(n, n);
    for b in &case.branches {
        let [from, to] = b.ends;
        let [ff, ft, tf, tt] = branch_entries(b);
        y[(from, from)] += ff;
        y[(to, to)] += tt;
        y[(from, to)] += ft;
        y[(to, from)] += tf;
    }
    for (k, b) in case.buses.iter().enumerate() {
        y[(k, k)] += match b.ty {
            BusType::Isolated => C::new(1.0, 0.0),
            _ => C::new(b.shunt[0], b.shunt[1]) / case.base,
        };
    }
    y
}

/// Reduces a network to the internal nodes of machines (Kron): `y` without machines, and per
/// machine its bus and its reactance, `None` when it is disconnected (its row and column are 0).
///
/// # Errors
/// When the network is singular.
pub fn reduce(mut y: Matrix, machines: &[(usize, Option<f64>)]) -> Result<Matrix, String> {
    let admittance = |x: f64| C::new(0.0, -1.0 / x);
    for &(bus, x) in machines {
        if let Some(x) = x {
            y[(bus, bus)] += admittance(x);
        }
    }
    let mut right = Matrix::zeros(y.nrows(), machines.len());
    for (k, &(bus, x)) in machines.iter().enumerate() {
        right[(bus, k)] = x.map_or(C::new(0.0, 0.0), admittance);
    }
    let solved =
        y.lu().solve(&right).ok_or("the network without the tripped machines is singular")?;
    Ok(Matrix::from_fn(machines.len(), machines.len(), |r, c| {
        let (bus, Some(x)) = machines[r] else { return C::new(0.0, 0.0) };
        let own = if r == c { admittance(x) } else { C::new(0.0, 0.0) };
        own - admittance(x) * solved[(bus, c)]
    }))
}
