//! AC power flow by Newton's method in polar coordinates (Tinney, Hart, IEEE Trans. PAS-86, 1967).
use super::{
    admittance::{C, Network, polar},
    case::{BusType, Case},
    errors::CaseError,
};
use crate::maths::sparse::{Lu, Pattern};
use std::sync::Arc;

/// Largest mismatch of a solution, per unit, beyond what rounding makes of its terms.
const TOLERANCE: f64 = 1e-11;
/// Rounding of a sum of currents, relative to its terms: a bus coupler of 1e-6 per unit carries
/// currents of a million between equal voltages.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
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
/// When Newton's method does not converge, with the worst bus.
pub fn solve(case: &Case) -> Result<Flow, CaseError> {
    let network = Network::new(case);
    let mut wanted: Vec<C> =
        case.buses.iter().map(|b| C::new(-b.demand[0], -b.demand[1]) / case.base).collect();
    for g in &case.generators {
        wanted[g.bus] += C::new(g.power[0], g.power[1]) / case.base;
    }
    let unknowns = Unknowns::new(case);
    let mut jacobian = Jacobian::new(&network, &unknowns);
    let mut vm: Vec<f64> = case.buses.iter().map(|b| b.vm).collect();
    let mut va: Vec<f64> = case.buses.iter().map(|b| b.va.to_radians()).collect();
    let mut worst = (0, 0.0);
    for steps in 0..STEPS {
        let v: Vec<C> = vm.iter().zip(&va).map(|(&m, &a)| polar(m, a)).collect();
        let current = network.currents(&v);
        let power: Vec<C> = v.iter().zip(&current).map(|(v, i)| v * i.conj()).collect();
        let off = |k: usize| power[k] - wanted[k];
        let mut step: Vec<f64> = unknowns.angles.iter().map(|&k| off(k).re).collect();
        step.extend(unknowns.magnitudes.iter().map(|&k| off(k).im));
        let rounding = rounding(&network, &vm);
        let rows = unknowns.angles.iter().chain(&unknowns.magnitudes);
        worst = rows.zip(&step).fold((0, 0.0), |worst: (usize, f64), (&bus, m)| {
            let beyond = m.abs() - rounding[bus];
            if beyond > worst.1 || m.is_nan() { (bus, beyond) } else { worst }
        });
        if worst.1 < TOLERANCE {
            return Ok(Flow { vm, va, power, steps });
        }
        if !worst.1.is_finite() || worst.1 > 1e12 {
            break;
        }
        if !jacobian.solve(&network, (&v, &vm, &current), &mut step) {
            return Err(CaseError::SingularFlow);
        }
        let (angles, magnitudes) = step.split_at(unknowns.angles.len());
        unknowns.angles.iter().zip(angles).for_each(|(&k, d)| va[k] -= d);
        unknowns.magnitudes.iter().zip(magnitudes).for_each(|(&k, d)| vm[k] -= d);
        unknowns.angles.iter().for_each(|&k| (vm[k], va[k]) = proper(vm[k], va[k]));
    }
    let (bus, missing) = (case.buses[worst.0].id, worst.1);
    Err(CaseError::Diverges { steps: STEPS, bus, missing })
}

/// Magnitude and angle of a voltage, from -π to π, after a step that went far.
fn proper(vm: f64, va: f64) -> (f64, f64) {
    use std::f64::consts::PI;
    let (vm, va) = if vm < 0.0 { (-vm, va + PI) } else { (vm, va) };
    if va.abs() <= PI { (vm, va) } else { (vm, libm::remainder(va, 2.0 * PI)) }
}

/// How much of the mismatch at each bus may be rounding.
fn rounding(network: &Network, vm: &[f64]) -> Vec<f64> {
    let mut terms = vec![0.0; vm.len()];
    network.entries().for_each(|(r, c, y)| terms[r] += (y.re.abs() + y.im.abs()) * vm[c]);
    terms.iter().zip(vm).map(|(sum, v)| ROUNDING * v * sum).collect()
}

/// Buses whose angles are unknown, and those whose magnitudes are; the places of these among the
/// unknowns, angles first, per bus.
struct Unknowns {
    angles: Vec<usize>,
    magnitudes: Vec<usize>,
    places: Vec<[Option<usize>; 2]>,
}

impl Unknowns {
    fn new(case: &Case) -> Self {
        let of = |types: &[BusType]| -> Vec<usize> {
            (0..case.buses.len()).filter(|&k| types.contains(&case.buses[k].ty)).collect()
        };
        let angles = of(&[BusType::Generator, BusType::Load]);
        let magnitudes = of(&[BusType::Load]);
        let mut places = vec![[None; 2]; case.buses.len()];
        for (place, &bus) in angles.iter().enumerate() {
            places[bus][0] = Some(place);
        }
        for (place, &bus) in magnitudes.iter().enumerate() {
            places[bus][1] = Some(angles.len() + place);
        }
        Self { angles, magnitudes, places }
    }
}

/// Derivatives of active powers (rows of angles) and reactive powers (rows of magnitudes).
struct Jacobian {
    /// Place of the row, part of the power, place of the column, and part of the voltage, of what each
    /// entry of the network gives.
    parts: Vec<(usize, [usize; 2])>,
    /// Where each of these begins for the entries of the network.
    starts: Vec<usize>,
    values: Vec<f64>,
    factors: Lu<f64>,
}

impl Jacobian {
    fn new(network: &Network, unknowns: &Unknowns) -> Self {
        let (mut entries, mut parts, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for (r, c, _) in network.entries() {
            for (part, row) in unknowns.places[r].iter().enumerate() {
                for (by, column) in unknowns.places[c].iter().enumerate() {
                    if let (Some(row), Some(column)) = (row, column) {
                        entries.push((*row, *column));
                        parts.push((0, [part, by]));
                    }
                }
            }
            starts.push(parts.len());
        }
        let size = unknowns.angles.len() + unknowns.magnitudes.len();
        let (pattern, places) = Pattern::new(size, &entries);
        parts.iter_mut().zip(places).for_each(|(part, place)| part.0 = place);
        let values = vec![0.0; pattern.places()];
        Self { parts, starts, values, factors: Lu::new(Arc::new(pattern)) }
    }

    /// Solves for a step, in place; not where the matrix is singular.
    fn solve(
        &mut self,
        network: &Network,
        (v, vm, current): (&[C], &[f64], &[C]),
        step: &mut [f64],
    ) -> bool {
        let i = C::new(0.0, 1.0);
        for (k, (r, c, y)) in network.entries().enumerate() {
            let across = y * v[c];
            // dS_r/dθ_c = j V_r conj(δ I_r - Y_rc V_c); dS_r/dV_c = V_r conj(Y_rc u_c) + δ conj(I_r) u_r.
            let mut by = [-(i * v[r] * across.conj()), v[r] * across.conj() / vm[c]];
            if r == c {
                let own = v[r] * current[r].conj();
                by[0] += i * own;
                by[1] += own / vm[r];
            }
            for &(place, [part, of]) in &self.parts[self.starts[k]..self.starts[k + 1]] {
                self.values[place] = if part == 0 { by[of].re } else { by[of].im };
            }
        }
        let regular = self.factors.factor(&self.values);
        if regular {
            self.factors.solve(step);
        }
        regular
    }
}
