//! How long functions keep their sides, and how far quantised states may be off.
use super::{
    sheet::{ROW, positive},
    variable::Variable,
};
use crate::solve::ode::{Kind, Watched};

/// How long a function with this row surely does not leave its side, in seconds.
pub(super) fn stays(kind: Kind, watched: Watched, side: f64, row: [f64; ROW]) -> f64 {
    let inside = |level: f64, sign: f64| {
        let mut row = row.map(|c| sign * c);
        row[0] -= sign * level + watched.touching.unwrap_or(0.0);
        positive(&row)
    };
    match kind {
        Kind::Sign if side == 0.0 => 0.0,
        Kind::Sign => inside(0.0, side),
        Kind::Floor => inside(side, 1.0).min(inside(side + 1.0, -1.0)),
    }
}

/// Writes how far each state may be off: by some quanta, where its derivative reads a copy that was
/// quantised since the last jump, and so was off itself.
pub(super) fn quanta<const P: usize>(
    variables: &[Variable<P>],
    readings: &[Vec<u32>],
    jumped: f64,
    to: &mut [f64],
) {
    for ((to, v), reads) in to.iter_mut().zip(variables).zip(readings) {
        let stepped = |v: &Variable<P>| v.quantised_at > jumped;
        let rounding = 4.0 * f64::EPSILON * v.x.abs();
        *to = match reads.iter().any(|&j| stepped(&variables[j as usize])) {
            true => 2.0 * v.quantum,
            // That of all steps so far.
            false if stepped(v) => rounding + 1e-8 * v.quantum,
            false => rounding + 1e-9 * v.quantum,
        };
    }
}
