//! Series of differential-algebraic equations of index 1.
//!
//! With x' = f(x, z) and 0 = g(x, z), coefficient k + 1 of x follows from coefficient k of f, and
//! coefficient k of g is that for z_k = 0 plus ∂g/∂z z_k, with the same matrix in all orders: one
//! factorisation, and one solution per order (Pryce 1998, "Solving high-index DAEs by Taylor
//! series", Numerical Algorithms 19, 195-211, where index 1 is the simplest case).

use super::{Tape, TapeMemory};
use nalgebra::{DMatrix, DVectorViewMut};

impl Tape {
    /// Like [`solve`](Self::solve), where the last `algebraic` results are residuals, which are to
    /// be zero, in place of the derivatives of the last states. These are consistent in `vars`
    /// already. Coefficients are not finite if the residuals do not determine them.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, Program, Tape, TapeMemory};
    /// // x' = z, 0 = z - x²: x' = x² again.
    /// let scope = Names::new().var("x", 0).var("z", 1);
    /// let parse = |text| Expr::parse(text, &scope).unwrap();
    /// let tape = Tape::new(Program::compile(&["z", "z - x*x"].map(parse)), |_| true);
    /// let mut rows = [0.0; 8];
    /// let memory = &mut TapeMemory::default();
    /// tape.solve_algebraic(memory, (&[1.0, 1.0], 0), 1, 4, |_, _| (), &mut rows);
    /// assert_eq!(rows, [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0]);
    /// ```
    pub fn solve_algebraic(
        &self,
        memory: &mut TapeMemory,
        (vars, first): (&[f64], usize),
        algebraic: usize,
        stride: usize,
        fill: impl FnMut(usize, &mut [f64]),
        rows: &mut [f64],
    ) {
        self.enter(memory, (vars, first), stride, fill, rows);
        let differential = self.program.outputs().len() - algebraic;
        let mut factors = None;
        let mut z = vec![0.0; algebraic];
        for k in 1..stride {
            for (i, row) in rows.chunks_exact_mut(stride).enumerate() {
                let own = &mut memory.rows;
                let feed = &memory.feeds[i];
                let moves = i < differential && (k == 1 || feed.moves);
                row[k] = if moves { own[feed.from + k - 1] / k as f64 } else { 0.0 };
                if let Some(to) = feed.to {
                    own[to + k] = row[k];
                }
            }
            self.order(memory, k);
            memory.residuals(differential, k, &mut z);
            let factors = factors.get_or_insert_with(|| self.slopes(memory, differential, &z).lu());
            let known = factors.solve_mut(&mut DVectorViewMut::from_slice(&mut z, algebraic));
            for (i, z) in (differential..).zip(&z) {
                let c = if known { -z } else { f64::NAN };
                rows[i * stride + k] = c;
                if let Some(to) = memory.feeds[i].to {
                    memory.rows[to + k] = c;
                }
            }
            if k + 1 < stride {
                self.order(memory, k);
            }
        }
    }

    /// ∂g/∂z, from the first coefficients of g, which are `base` for z_1 = 0.
    fn slopes(&self, memory: &mut TapeMemory, differential: usize, base: &[f64]) -> DMatrix<f64> {
        let n = base.len();
        let mut matrix = DMatrix::zeros(n, n);
        for (j, mut column) in matrix.column_iter_mut().enumerate() {
            let Some(to) = memory.feeds[differential + j].to else { continue };
            memory.rows[to + 1] = 1.0;
            self.order(memory, 1);
            memory.residuals(differential, 1, column.as_mut_slice());
            column.iter_mut().zip(base).for_each(|(c, base)| *c -= base);
            memory.rows[to + 1] = 0.0;
        }
        matrix
    }
}

impl TapeMemory {
    /// Coefficients `k` of the results from `first` on.
    fn residuals(&self, first: usize, k: usize, to: &mut [f64]) {
        for (to, feed) in to.iter_mut().zip(&self.feeds[first..]) {
            *to = if feed.moves { self.rows[feed.from + k] } else { 0.0 };
        }
    }
}
