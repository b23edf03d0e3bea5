//! DEVStone (Glinsky & Wainer 2005; Risco-Martín et al. 2017): nested coupled models of width w
//! and depth d, excited once at t = 0 with zero delays, so that all that is measured is routing
//! and scheduling.
//!
//! | shape | what it stresses |
//! | --- | --- |
//! | LI | fan-out: one message reaches every atomic, none answers |
//! | HI | chains: on each level atomic i feeds atomic i + 1, so that w cycles follow each other |
//! | HO | HI, and every output also leaves the level, to nowhere |
//! | HOmod | many-to-many wiring: bags of many messages, models hit again and again |
//!
//! [`Level`] lists the parts of one level for every engine, so that all simulate one structure;
//! [`expected`] has the closed formulas that every run is checked against.
mod formulas;
pub mod ours;
#[cfg(test)]
mod tests;
pub mod xdevs;

pub use formulas::{Expected, expected};
use serde::{Deserialize, Serialize};

/// The four shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// Low level of interconnections.
    LI,
    /// High input.
    HI,
    /// High input and output.
    HO,
    /// HO with two-dimensional wiring.
    HOmod,
}

impl Shape {
    /// Its name in the literature.
    pub fn name(self) -> &'static str {
        ["LI", "HI", "HO", "HOmod"][self as usize]
    }

    /// How many input ports a level has; the seeder feeds all of them.
    pub fn inputs(self) -> u16 {
        if matches!(self, Self::HO | Self::HOmod) { 2 } else { 1 }
    }

    /// How many output ports a level has.
    pub fn outputs(self) -> u16 {
        if self == Self::HO { 2 } else { 1 }
    }
}

/// A DEVStone model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devstone {
    /// Shape.
    pub shape: Shape,
    /// w.
    pub width: usize,
    /// d.
    pub depth: usize,
    /// Iterations of [`crate::busy::work`] per internal and per external transition.
    pub work: u32,
}

/// Who a coupling starts or ends at, within one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The level itself.
    Own,
    /// The next level, inside this one.
    Inner,
    /// An atomic, by its number in the level.
    Atomic(usize),
}

/// A coupling: (part, port) to (part, port). An atomic has one input and one output, number 0.
pub type Wire = ((Part, u16), (Part, u16));

/// One level: atomics `0..atomics`, and the next level unless this one is the innermost.
#[derive(Debug, Clone)]
pub struct Level {
    /// Number of atomics.
    pub atomics: usize,
    /// Whether there is a level inside.
    pub inner: bool,
    /// Couplings.
    pub wires: Vec<Wire>,
}

impl Level {
    /// The innermost level: one atomic.
    pub fn innermost() -> Self {
        let wires =
            vec![((Part::Own, 0), (Part::Atomic(0), 0)), ((Part::Atomic(0), 0), (Part::Own, 0))];
        Self { atomics: 1, inner: false, wires }
    }

    /// Any other level.
    pub fn outer(shape: Shape, width: usize) -> Self {
        use Part::{Atomic, Inner, Own};
        let mut wires = vec![((Own, 0), (Inner, 0)), ((Inner, 0), (Own, 0))];
        let row = width - 1;
        if shape == Shape::HOmod {
            let atomics = homod(row, &mut wires);
            return Self { atomics, inner: true, wires };
        }
        let from = if shape == Shape::HO { 1 } else { 0 };
        if shape == Shape::HO {
            wires.push(((Own, 0), (Inner, 1)));
        }
        for i in 0..row {
            wires.push(((Own, from), (Atomic(i), 0)));
            if shape != Shape::LI && i > 0 {
                wires.push(((Atomic(i - 1), 0), (Atomic(i), 0)));
            }
            if shape == Shape::HO {
                wires.push(((Atomic(i), 0), (Own, 1)));
            }
        }
        Self { atomics: row, inner: true, wires }
    }
}

/// The rows of HOmod. Row 1 feeds the inner level; row 2 feeds all of row 1; every further row is
/// one shorter and its atomic i feeds atomic i + 1 of the row above. Input 1 reaches row 1 and the
/// first of every other row.
fn homod(row: usize, wires: &mut Vec<Wire>) -> usize {
    use Part::{Atomic, Inner, Own};
    for i in 0..row {
        wires.push(((Own, 1), (Atomic(i), 0)));
        wires.push(((Atomic(i), 0), (Inner, 1)));
    }
    let (mut above, mut next) = (0, row);
    for length in (1..=row).rev() {
        wires.push(((Own, 1), (Atomic(next), 0)));
        for i in 0..length {
            if above == 0 {
                wires.extend((0..row).map(|to| ((Atomic(next + i), 0), (Atomic(to), 0))));
            } else {
                wires.push(((Atomic(next + i), 0), (Atomic(above + i + 1), 0)));
            }
        }
        (above, next) = (next, next + length);
    }
    next
}
