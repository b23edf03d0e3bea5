//! Admittance matrices.
use super::case::{Branch, BusType, Case};
use crate::maths::sparse::Pattern;
use nalgebra::Complex;
use std::sync::Arc;

/// A complex number.
pub type C = Complex<f64>;
/// Nothing.
pub(super) const ZERO: C = C::new(0.0, 0.0);

/// A complex number by magnitude and angle in rad; the same bits everywhere.
pub(super) fn polar(magnitude: f64, angle: f64) -> C {
    C::new(magnitude * libm::cos(angle), magnitude * libm::sin(angle))
}

/// The entries that a branch adds to the matrix: from-from, from-to, to-from, to-to.
pub(super) fn branch_entries(b: &Branch) -> [C; 4] {
    let series = C::new(1.0, 0.0) / C::new(b.series[0], b.series[1]);
    let own = series + C::new(0.0, b.charging / 2.0);
    let tap = polar(b.tap, b.shift.to_radians());
    [own / (b.tap * b.tap), -(series / tap.conj()), -(series / tap), own]
}

/// The bus admittance matrix per unit (MATPOWER manual, section 3.7): branches as pi models with
/// the transformer at the from side, and shunts. An isolated bus has a 1 on the diagonal, so that the
/// matrix is regular.
#[derive(Debug, Clone)]
pub(super) struct Network {
    /// Where it may differ from zero.
    pub(super) pattern: Arc<Pattern>,
    /// Its values.
    pub(super) values: Vec<C>,
    diagonal: Vec<usize>,
    branches: Vec<[usize; 4]>,
}

impl Network {
    /// The matrix of a case.
    pub(super) fn new(case: &Case) -> Self {
        let n = case.buses.len();
        let mut entries: Vec<(usize, usize)> = (0..n).map(|k| (k, k)).collect();
        for &Branch { ends: [from, to], .. } in &case.branches {
            entries.extend([(from, from), (from, to), (to, from), (to, to)]);
        }
        let (pattern, places) = Pattern::new(n, &entries);
        let (diagonal, branches) = places.split_at(n);
        let mut it = Self {
            values: vec![ZERO; pattern.places()],
            pattern: Arc::new(pattern),
            diagonal: diagonal.to_vec(),
            branches: branches.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect(),
        };
        for (k, b) in case.branches.iter().enumerate() {
            it.add_branch(k, branch_entries(b));
        }
        for (k, b) in case.buses.iter().enumerate() {
            it.add(
                k,
                match b.ty {
                    BusType::Isolated => C::new(1.0, 0.0),
                    _ => C::new(b.shunt[0], b.shunt[1]) / case.base,
                },
            );
        }
        it
    }

    /// Number of buses.
    pub(super) fn buses(&self) -> usize {
        self.diagonal.len()
    }

    /// Adds an admittance at a bus.
    pub(super) fn add(&mut self, bus: usize, admittance: C) {
        self.values[self.diagonal[bus]] += admittance;
    }

    /// Adds a branch's entries.
    pub(super) fn add_branch(&mut self, branch: usize, entries: [C; 4]) {
        for (place, entry) in self.branches[branch].into_iter().zip(entries) {
            self.values[place] += entry;
        }
    }

    /// All entries: row, column, value.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, usize, C)> {
        let column = move |c: usize| {
            self.pattern.column(c).map(move |p| (self.pattern.row(p), c, self.values[p]))
        };
        (0..self.buses()).flat_map(column)
    }

    /// Injected currents by voltages.
    pub(super) fn currents(&self, voltages: &[C]) -> Vec<C> {
        let mut currents = vec![ZERO; self.buses()];
        self.entries().for_each(|(r, c, y)| currents[r] += y * voltages[c]);
        currents
    }
}
