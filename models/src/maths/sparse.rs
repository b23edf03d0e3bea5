//! Sparse square matrices, and their LU factors: the order is found once for a pattern, values are
//! factorised as often as they change.
//!
//! Columns are ordered by the minimum degree of the pattern and its transpose (AMD: Amestoy, Davis,
//! Duff, SIAM J. Matrix Anal. Appl. 17, 1996), which leaves up to a third fewer entries in the factors of
//! networks than an order for any rows (COLAMD).
mod lu;

pub(crate) use lu::Lu;
use std::{ops::Range, sync::OnceLock};

/// The places of a square matrix that may differ from zero, and the order of its columns.
#[derive(Debug)]
pub struct Pattern {
    size: usize,
    starts: Vec<usize>,
    rows: Vec<usize>,
    /// Columns in the order of elimination; found when it is needed.
    order: OnceLock<Vec<usize>>,
}

impl Pattern {
    /// The pattern of a matrix with these entries (row, column), and the place of each in its list of
    /// values. Entries may come again: then they share a place.
    pub fn new(size: usize, entries: &[(usize, usize)]) -> (Self, Vec<usize>) {
        let mut sorted: Vec<usize> = (0..entries.len()).collect();
        sorted.sort_by_key(|&k| (entries[k].1, entries[k].0));
        let (mut starts, mut rows) = (vec![0; size + 1], Vec::new());
        let (mut places, mut last) = (vec![0; entries.len()], None);
        for k in sorted {
            if last != Some(entries[k]) {
                rows.push(entries[k].0);
                starts[entries[k].1 + 1] += 1;
                last = Some(entries[k]);
            }
            places[k] = rows.len() - 1;
        }
        (0..size).for_each(|c| starts[c + 1] += starts[c]);
        (Self { size, starts, rows, order: OnceLock::new() }, places)
    }

    /// Number of places.
    pub fn places(&self) -> usize {
        self.rows.len()
    }

    /// The places of a column.
    pub fn column(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// The row of a place.
    pub fn row(&self, place: usize) -> usize {
        self.rows[place]
    }

    /// The places of the diagonal; nothing for a row whose entry there is zero.
    pub fn diagonal(&self) -> Vec<Option<usize>> {
        let place = |c: usize| self.column(c).find(|&place| self.rows[place] == c);
        (0..self.size).map(place).collect()
    }

    fn order(&self) -> &[usize] {
        self.order.get_or_init(|| {
            let order = amd::order(self.size, &self.starts, &self.rows, &amd::Control::default());
            // Without room for an order: any is right.
            order.map_or_else(|_| (0..self.size).collect(), |(columns, ..)| columns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;
    use std::sync::Arc;

    /// Entries of a matrix with a pattern that repeats some of them, by a fixed rule.
    fn entries(size: usize) -> Vec<(usize, usize, f64)> {
        let mut all = Vec::new();
        for k in 0..size {
            all.push((k, (k + 1) % size, 2.0 + k as f64));
            all.push((k, k, 0.25));
            all.push((k, k, 0.25));
            all.push((k, 7 * k % size, -1.5));
        }
        all
    }

    fn factors(entries: &[(usize, usize, f64)], size: usize) -> (Lu<f64>, Vec<f64>, Vec<usize>) {
        let at: Vec<(usize, usize)> = entries.iter().map(|e| (e.0, e.1)).collect();
        let (pattern, places) = Pattern::new(size, &at);
        let mut values = vec![0.0; pattern.places()];
        entries.iter().zip(&places).for_each(|(e, &place)| values[place] += e.2);
        (Lu::new(Arc::new(pattern)), values, places)
    }

    #[test]
    fn solutions_are_those_of_the_dense_matrix() {
        for size in [1, 2, 5, 40] {
            let entries = entries(size);
            let (mut lu, values, _) = factors(&entries, size);
            let mut dense = DMatrix::<f64>::zeros(size, size);
            entries.iter().for_each(|&(r, c, x)| dense[(r, c)] += x);
            for scale in [1.0, -3.0] {
                let scaled: Vec<f64> = values.iter().map(|v| v * scale).collect();
                assert!(lu.factor(&scaled));
                let mut x: Vec<f64> = (0..size).map(|k| (k as f64).sin() + 1.0).collect();
                let right = nalgebra::DVector::from_vec(x.clone());
                lu.solve(&mut x);
                let left = &dense * scale * nalgebra::DVector::from_vec(x);
                assert!((left - right).amax() < 1e-12, "{size}");
            }
        }
    }

    #[test]
    fn places_are_found() {
        let entries = entries(5);
        let at: Vec<(usize, usize)> = entries.iter().map(|e| (e.0, e.1)).collect();
        let (pattern, places) = Pattern::new(5, &at);
        for (e, place) in entries.iter().zip(places) {
            assert!(pattern.column(e.1).contains(&place) && pattern.row(place) == e.0);
        }
    }

    /// Whatever was factorised before: values in which other rows are pivots.
    #[test]
    fn factors_depend_on_nothing_but_the_values() {
        let size = 30;
        let entries = entries(size);
        let (mut used, values, _) = factors(&entries, size);
        let right: Vec<f64> = (0..size).map(|k| (k as f64).cos()).collect();
        for round in 1..20u32 {
            let change = |(k, v): (usize, &f64)| v * ((k as u32 * 7919 + round) % 13) as f64 - 2.0;
            let values: Vec<f64> = values.iter().enumerate().map(change).collect();
            let (mut fresh, ..) = factors(&entries, size);
            assert!(fresh.factor(&values) && used.factor(&values));
            let [mut x, mut y] = [right.clone(), right.clone()];
            fresh.solve(&mut x);
            used.solve(&mut y);
            assert_eq!(x, y, "round {round}");
            assert_eq!(fresh.entries(), used.entries());
        }
    }

    /// An empty column, a zero pivot, a number that is none; and the next values are factorised.
    #[test]
    fn singular_matrices_are_told() {
        let (mut lu, ..) = factors(&[(0, 0, 1.0), (1, 0, 1.0)], 2);
        assert!(!lu.factor(&[1.0, 1.0]));
        let (mut lu, values, _) = factors(&[(0, 0, 1.0), (1, 0, 1.0), (0, 1, 2.0), (1, 1, 2.0)], 2);
        assert!(!lu.factor(&values));
        assert!(!lu.factor(&[1.0, f64::NAN, 0.0, 1.0]));
        assert!(lu.factor(&[1.0, 0.0, 0.0, 1.0]));
    }
}
