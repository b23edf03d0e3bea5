//! What errors the judged program makes, as far as the judge is told.
use crate::linear;
use crate::number::Dd;
use crate::sim::Sim;
use crate::tape::Series;

/// The sum of the steps along a polynomial is off by so many roundings of the largest value that it had.
const ROUNDINGS: f64 = 16.0;

impl<const M: usize> Sim<'_, M> {
    /// Adds the errors that the judged program makes where the present ones are smaller.
    pub(crate) fn freshen(&mut self, series: &Series<M>) -> bool {
        let u = self.limits.uncertainty;
        let polynomial = self.polynomials();
        let mut new = Vec::new();
        for (slot, polynomial) in polynomial.into_iter().enumerate() {
            let x = &self.v[slot];
            let size = x.c.hi.abs();
            self.peaks[slot] = size.max(self.peaks[slot]);
            let degree = series.free[slot].iter().rposition(|c| c.c != Dd::ZERO).unwrap_or(0);
            let error = x.error();
            // A solution that only comes near a polynomial, such as one that decays, has errors.
            let exact =
                degree <= u.exact_degree as usize && (polynomial || degree == 0 && error == 0.0);
            let base = if !exact {
                self.added() * (u.absolute + u.relative * size)
            } else if degree > 0 {
                ROUNDINGS * f64::EPSILON * self.peaks[slot]
            } else {
                0.0
            };
            if error < 0.5 * base {
                new.push((slot, (base * base - error * error).sqrt()));
            }
        }
        if new.is_empty() {
            return false;
        }
        self.widen(&new, 0.0);
        true
    }

    /// Adds independent errors of values, and of the time together with all states.
    pub(crate) fn widen(&mut self, new: &[(usize, f64)], time: f64) {
        let held = self.sys.held;
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(held + 1);
        rows.push(self.time.e.to_vec());
        rows.extend(self.v[..held].iter().map(|x| x.e.to_vec()));
        for (slot, error) in new {
            for (i, row) in rows.iter_mut().enumerate() {
                row.push(if i == slot + 1 { *error } else { 0.0 });
            }
        }
        if time > 0.0 {
            for (i, row) in rows.iter_mut().enumerate() {
                row.push(if i == 0 { time } else { 0.0 });
            }
        }
        linear::compress(&mut rows);
        self.time.e.copy_from_slice(&rows[0][..M]);
        for (x, row) in self.v[..held].iter_mut().zip(&rows[1..]) {
            x.e.copy_from_slice(&row[..M]);
        }
    }
}
