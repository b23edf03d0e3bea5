//! How long functions keep their sides, and how far quantised states may be off.
use super::{
    sheet::{ROW, positive},
    variable::Variable,
};
use crate::maths::rounding::SUMMED;
use crate::solve::{
    ode::{Kind, Watched},
    tendency::Course,
};

/// How long a function with this row surely does not leave its side, in seconds.
pub(super) fn stays(watched: Watched, side: f64, row: [f64; ROW]) -> f64 {
    let inside = |level: f64, sign: f64| {
        let mut row = row.map(|c| sign * c);
        row[0] -= sign * level + watched.touching.unwrap_or(0.0);
        positive(&row)
    };
    match watched.kind {
        Kind::Sign if side == 0.0 => 0.0,
        Kind::Sign => inside(0.0, side),
        Kind::Floor => inside(side, 1.0).min(inside(side + 1.0, -1.0)),
    }
}

/// The solution as quantised states give it.
pub(super) struct Quantising<'a, const P: usize> {
    pub variables: &'a [Variable<P>],
    /// Per state: those whose quantised copies its derivative reads.
    pub readings: &'a [Vec<u32>],
    /// The engine's time at offset zero, and until when copies are as good as their states: those of implicit
    /// methods are ahead from the beginning.
    pub shift: f64,
    pub exact: f64,
    /// Per state: whether it was off before the last jump, which did not set it, and how large it was.
    pub off: &'a [(bool, f64)],
    /// Per state: whether its copy has gone another way since then; nothing where no time has passed.
    pub parted: &'a [bool],
}

impl<const P: usize> Quantising<'_, P> {
    /// Whether a state has gone on by copies that were quantised since the last jump, and so were off.
    pub(super) fn has_drifted(&self, i: usize) -> bool {
        let parted = |j: usize| self.parted.get(j) == Some(&true);
        self.readings[i].iter().any(|&j| self.is_quantised(j as usize) || parted(j as usize))
    }

    /// Whether the copy of a state is another one than at the last jump. A state that is zero, and was when it was set,
    /// may have one that is as good.
    fn is_quantised(&self, i: usize) -> bool {
        let (v, size) = (&self.variables[i], self.off[i].1);
        v.quantised_at > self.exact && (size != 0.0 || v.x != 0.0 || v.q != [0.0; P])
    }
}

impl<const P: usize> Course for Quantising<'_, P> {
    fn state(&self, t: f64, i: usize) -> f64 {
        self.variables[i].state(self.shift + t)
    }

    /// Some quanta, where its derivative has read a copy that was quantised, and so was off itself.
    fn error(&self, _: f64, i: usize, x: f64) -> f64 {
        let (v, (off, size)) = (&self.variables[i], self.off[i]);
        let rounding = SUMMED * v.x.abs().max(size);
        match off || self.has_drifted(i) {
            true => 2.0 * v.quantum,
            // Where it was set to zero, nothing has moved it yet.
            false if x == 0.0 && rounding == 0.0 => 0.0,
            // That of all steps so far.
            false => rounding + if self.is_quantised(i) { 1e-8 } else { 1e-9 } * v.quantum,
        }
    }
}
