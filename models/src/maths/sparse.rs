//! Sparse square matrices, and their LU factors: the order is found once for a pattern, values are
//! factorised as often as they change.
//!
//! Columns are ordered by the minimum degree of the pattern and its transpose (AMD: Amestoy, Davis,
//! Duff, SIAM J. Matrix Anal. Appl. 17, 1996), which leaves up to a third fewer entries in the factors of
//! networks than an order for any rows (COLAMD). Rows are ordered by partial pivoting, after Gilbert and
//! Peierls (SIAM J. Sci. Stat. Comput. 9, 1988).
//!
//! **Why the simplicial factors of faer.** They are plain arithmetic, so that results have the same
//! bits on every machine; supernodal ones multiply blocks by whatever vector instructions there are.
//! Networks have so few entries in a row that these are not even faster.
use faer::{
    Conj, MatMut, Par,
    dyn_stack::{MemBuffer, MemStack, StackReq},
    perm::PermRef,
    sparse::{
        SparseColMatRef, SymbolicSparseColMatRef,
        linalg::{amd, lu::simplicial},
    },
    traits::{ComplexField, ext::ComplexFieldExt},
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

/// The places of a square matrix that may differ from zero, and the order of its columns.
#[derive(Debug)]
pub struct Pattern {
    size: usize,
    starts: Vec<usize>,
    rows: Vec<usize>,
    /// Columns in the order of elimination, and the place of each in it; found when it is needed.
    order: OnceLock<[Vec<usize>; 2]>,
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

    fn symbolic(&self) -> SymbolicSparseColMatRef<'_, usize> {
        SymbolicSparseColMatRef::new_checked(self.size, self.size, &self.starts, None, &self.rows)
    }

    fn order(&self) -> PermRef<'_, usize> {
        let [forth, back] = self.order.get_or_init(|| order(self.symbolic()));
        PermRef::new_checked(forth, back, self.size)
    }
}

fn order(symbolic: SymbolicSparseColMatRef<'_, usize>) -> [Vec<usize>; 2] {
    let n = symbolic.nrows();
    let [mut forth, mut back] = [vec![0; n], vec![0; n]];
    let needed = amd::order_scratch::<usize>(n, symbolic.row_idx().len());
    let mut memory = MemBuffer::new(needed);
    let control = amd::Control::default();
    match amd::order(&mut forth, &mut back, symbolic, control, MemStack::new(&mut memory)) {
        Ok(_) => [forth, back],
        // Without room for an order: any is right.
        Err(_) => [(); 2].map(|()| (0..n).collect()),
    }
}

/// The factors of a matrix of some pattern.
pub(crate) struct Lu<T> {
    pattern: Arc<Pattern>,
    factors: simplicial::SimplicialLu<usize, T>,
    pivots: [Vec<usize>; 2],
    memory: MemBuffer,
}

impl<T> std::fmt::Debug for Lu<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lu({})", self.pattern.size)
    }
}

impl<T: ComplexField> Lu<T> {
    /// Factors for matrices of a pattern; those of none yet.
    pub(crate) fn new(pattern: Arc<Pattern>) -> Self {
        let n = pattern.size;
        let needed = StackReq::any_of(&[
            simplicial::factorize_simplicial_numeric_lu_scratch::<usize, T>(n, n),
            simplicial::solve_in_place_scratch::<usize, T>(n, 1, Par::Seq),
        ]);
        Self {
            pattern,
            factors: simplicial::SimplicialLu::new(),
            pivots: [vec![0; n], vec![0; n]],
            memory: MemBuffer::new(needed),
        }
    }

    /// Factorises the matrix with these values. Not where it is singular: a column without a pivot,
    /// or with one that is zero or not finite.
    pub(crate) fn factor(&mut self, values: &[T]) -> bool {
        let [forth, inverse] = &mut self.pivots;
        let done = simplicial::factorize_simplicial_numeric_lu(
            forth,
            inverse,
            &mut self.factors,
            SparseColMatRef::new(self.pattern.symbolic(), values),
            self.pattern.order(),
            MemStack::new(&mut self.memory),
        );
        done.is_ok() && self.is_regular()
    }

    fn is_regular(&self) -> bool {
        let upper = self.factors.u_factor_unsorted();
        // The diagonal is the last in each column.
        let usable = |value: &T| value.is_finite() && *value != T::zero_impl();
        (0..self.pattern.size).all(|c| upper.val_of_col(c).last().is_some_and(usable))
    }

    /// Number of entries in the factors.
    pub(crate) fn entries(&self) -> usize {
        let column = |c: usize| {
            let (l, u) = (self.factors.l_factor_unsorted(), self.factors.u_factor_unsorted());
            l.val_of_col(c).len() + u.val_of_col(c).len()
        };
        (0..self.pattern.size).map(column).sum()
    }

    /// Solves for a right side, in place.
    pub(crate) fn solve(&mut self, right: &mut [T]) {
        let n = self.pattern.size;
        let [forth, inverse] = &self.pivots;
        self.factors.solve_in_place_with_conj(
            PermRef::new_checked(forth, inverse, n),
            self.pattern.order(),
            Conj::No,
            MatMut::from_column_major_slice_mut(right, n, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

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
        let (lu, _, places) = factors(&entries, 5);
        for (e, place) in entries.iter().zip(places) {
            assert!(lu.pattern.column(e.1).contains(&place) && lu.pattern.row(place) == e.0);
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
