//! LU factors with partial pivoting, column by column (Gilbert, Peierls, SIAM J. Sci. Stat. Comput. 9, 1988).
//!
//! **Why own factors.** Libraries for large matrices multiply blocks by the vector instructions of the machine, so that
//! results differ from machine to machine, and take a minute to build. The rows of networks are so short that plain
//! loops are not slower. The factors depend on nothing but the values: a run that goes on from a checkpoint has the
//! factors of the run that it continues.
use super::Pattern;
use nalgebra::ComplexField;
use std::sync::Arc;

/// The factors of a matrix of some pattern.
///
/// Step k eliminates the column k of the order, by the pivot in the row `pivots[k]`.
pub(crate) struct Lu<T> {
    pattern: Arc<Pattern>,
    /// Row of the pivot of each step, and the step of each row that has been one.
    pivots: Vec<usize>,
    steps: Vec<usize>,
    /// Earlier steps that change the column of a step, ascending, and their factors.
    upper: Columns<T>,
    /// Rows without a pivot before a step, and their factors; of the pivot its value.
    lower: Columns<T>,
    /// One column, or a solution; zero between calls.
    room: Vec<T>,
    search: Search,
}

/// Lists of places with values, one for each step.
struct Columns<T> {
    ends: Vec<usize>,
    places: Vec<usize>,
    values: Vec<T>,
}

/// Room for the search of rows.
struct Search {
    /// The search in which a row was found last, of so many.
    found: Vec<usize>,
    searches: usize,
    stack: Vec<usize>,
}

/// No step.
const NONE: usize = usize::MAX;

impl<T: ComplexField<RealField = f64> + Copy> Columns<T> {
    fn range(&self, k: usize) -> std::ops::Range<usize> {
        let begin = if k == 0 { 0 } else { self.ends[k - 1] };
        begin..self.ends[k]
    }

    fn column(&self, k: usize) -> impl DoubleEndedIterator<Item = (usize, T)> {
        let range = self.range(k);
        self.places[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// Keeps the first `n` columns.
    fn truncate(&mut self, n: usize) {
        self.ends.truncate(n);
        let end = self.ends.last().copied().unwrap_or(0);
        self.places.truncate(end);
        self.values.truncate(end);
    }

    /// Ends a column: its places are all that came since the one before.
    fn end(&mut self) {
        self.values.resize(self.places.len(), T::zero());
        self.ends.push(self.places.len());
    }
}

impl<T> std::fmt::Debug for Lu<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lu({})", self.pattern.size)
    }
}

impl<T: ComplexField<RealField = f64> + Copy> Lu<T> {
    /// Factors for matrices of a pattern; those of none yet.
    pub(crate) fn new(pattern: Arc<Pattern>) -> Self {
        let n = pattern.size;
        let none = || Columns { ends: Vec::new(), places: Vec::new(), values: Vec::new() };
        Self {
            pattern,
            pivots: Vec::new(),
            steps: vec![NONE; n],
            upper: none(),
            lower: none(),
            room: vec![T::zero(); n],
            search: Search { found: vec![0; n], searches: 0, stack: Vec::new() },
        }
    }

    /// Factorises the matrix with these values. Not where it is singular: a column without a pivot,
    /// or with one that is zero or not finite.
    pub(crate) fn factor(&mut self, values: &[T]) -> bool {
        let done = (0..self.pattern.size).all(|k| self.step(k, values));
        if !done {
            self.room.fill(T::zero());
        }
        done
    }

    /// Number of entries in the factors.
    pub(crate) fn entries(&self) -> usize {
        self.lower.places.len() + self.upper.places.len()
    }

    /// Eliminates one column. The places of its factors stay those of the matrix before, as long as the pivots do.
    fn step(&mut self, k: usize, values: &[T]) -> bool {
        if k == self.lower.ends.len() {
            self.find_places(k);
        }
        let Self { pattern, pivots, upper, lower, room: x, .. } = self;
        let column = pattern.order()[k];
        for place in pattern.column(column) {
            x[pattern.rows[place]] = values[place];
        }
        for at in upper.range(k) {
            let earlier = upper.places[at];
            let factor = std::mem::replace(&mut x[pivots[earlier]], T::zero());
            upper.values[at] = factor;
            // The first is the pivot.
            for (row, value) in lower.column(earlier).skip(1) {
                x[row] -= factor * value;
            }
        }
        let rows = lower.range(k);
        let Some(best) = pivot(&lower.places[rows.clone()], x, column) else { return false };
        let (first, best) = (rows.start, rows.start + best);
        let row = lower.places[best];
        let value = std::mem::replace(&mut x[row], T::zero());
        if value == T::zero() {
            return false;
        }
        let changed = pivots.get(k) != Some(&row);
        lower.places.swap(first, best);
        lower.values[first] = value;
        for at in rows.skip(1) {
            lower.values[at] = std::mem::replace(&mut x[lower.places[at]], T::zero()) / value;
        }
        if changed {
            self.set_pivot(k, row);
        }
        true
    }

    /// Takes a row as pivot of a step; places of later steps are not known any more.
    fn set_pivot(&mut self, k: usize, row: usize) {
        self.pivots.drain(k..).for_each(|row| self.steps[row] = NONE);
        self.pivots.push(row);
        self.steps[row] = k;
        self.upper.truncate(k + 1);
        self.lower.truncate(k + 1);
    }

    /// Finds the steps that change a column, and the rows in which it has entries below them.
    fn find_places(&mut self, k: usize) {
        let Self { pattern, steps, upper, lower, search, .. } = self;
        let begin = upper.places.len();
        let rows = pattern.column(pattern.order()[k]).map(|place| pattern.rows[place]);
        search.stack.extend(rows);
        search.searches += 1;
        while let Some(row) = search.stack.pop() {
            if std::mem::replace(&mut search.found[row], search.searches) == search.searches {
                continue;
            }
            match steps[row] {
                NONE => lower.places.push(row),
                step => {
                    upper.places.push(step);
                    search.stack.extend(lower.column(step).skip(1).map(|(row, _)| row));
                }
            }
        }
        // In this order each step comes behind those that change it.
        upper.places[begin..].sort_unstable();
        upper.end();
        lower.end();
    }

    /// Solves for a right side, in place.
    pub(crate) fn solve(&mut self, right: &mut [T]) {
        let Self { pattern, pivots, upper, lower, room, .. } = self;
        for (k, &pivot) in pivots.iter().enumerate() {
            let value = right[pivot];
            for (row, factor) in lower.column(k).skip(1) {
                right[row] -= value * factor;
            }
        }
        for (k, &pivot) in pivots.iter().enumerate().rev() {
            let value = right[pivot] / lower.values[lower.range(k).start];
            for (earlier, factor) in upper.column(k) {
                right[pivots[earlier]] -= value * factor;
            }
            room[pattern.order()[k]] = value;
        }
        right.copy_from_slice(room);
        room.fill(T::zero());
    }
}

/// The place of the row with the largest value; of equal ones the diagonal, then the first row. Nothing where a value
/// is not finite, or there is no row.
fn pivot<T: ComplexField<RealField = f64> + Copy>(
    rows: &[usize],
    x: &[T],
    diagonal: usize,
) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for (place, &row) in rows.iter().enumerate() {
        let size = x[row].norm1();
        if !size.is_finite() {
            return None;
        }
        let better = best.is_none_or(|(most, other)| {
            let other = rows[other];
            size > most || size == most && other != diagonal && (row == diagonal || row < other)
        });
        if better {
            best = Some((size, place));
        }
    }
    best.map(|(_, place)| place)
}
