//! Inputs that only jump, and signals that move.
//!
//! An input of whole numbers (integers, truth values, items of enumerations) hears its signal rounded, halves up,
//! as behind the adapter `quantise(1)`: where the rounded value changes, the input jumps. An input of reals that only
//! jumps is read at events.
use super::{
    block::name_of,
    instance::{Block, Instance},
};
use superdense_models::{
    maths::poly::{self, Direction, earliest_root},
    signal::{Held, value::Segment},
};

/// Part of a tick by which a tick may lie before a crossing (R14), and more.
const BEFORE: f64 = 1.0 / 512.0;

/// All reals from here on are whole numbers.
const WHOLE: f64 = (1u64 << 52) as f64;

/// How inputs of whole numbers hear their signals.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    /// Per input: whether it takes whole numbers only.
    pub ports: Vec<bool>,
    /// Inputs of integers of 64 bits. What their reals lack follows behind the values of all inputs.
    pub wide: Vec<usize>,
    /// How far a signal that moves may be off: so near to a half it counts as what it goes to.
    pub tolerance: f64,
    /// Seconds of a tick.
    pub tick: f64,
}

impl Whole {
    /// The value that an input hears from a segment, `e` seconds after its beginning.
    pub(super) fn heard(&self, port: usize, segment: &Segment, e: f64) -> f64 {
        if self.ports[port] { self.round(segment, e) } else { segment.value(e) }
    }

    /// Remainders of the integers of 64 bits that inputs hear, for which reals have too few digits; `start` has the
    /// values of inputs that hear nothing.
    pub(super) fn rests<'a>(
        &'a self,
        start: &'a [f64],
        held: impl Fn(usize) -> Option<&'a Held>,
    ) -> impl Iterator<Item = f64> {
        let starts = start.iter().skip(self.ports.len());
        let rest = move |(&port, &start): (&usize, &f64)| {
            held(port).map_or(start, |held| held.segment().rest())
        };
        self.wide.iter().zip(starts).map(rest)
    }

    fn round(&self, segment: &Segment, e: f64) -> f64 {
        let (value, slope) = poly::eval_slope(segment.coefficients(), e + BEFORE * self.tick);
        let edge = value.floor() + 0.5;
        if value.abs() >= WHOLE {
            return value;
        }
        if slope != 0.0 && (value - edge).abs() <= self.tolerance {
            return edge + 0.5f64.copysign(slope);
        }
        (value + 0.5).floor()
    }

    /// Seconds from there to where the whole number changes.
    fn flip(&self, segment: &Segment, e: f64) -> Option<f64> {
        let (begin, level) = (e + BEFORE * self.tick, self.round(segment, e));
        if !moves(segment) || !level.is_finite() {
            return None;
        }
        let edge = |at: f64, direction: Direction| {
            let mut row = segment.coefficients().to_vec();
            row[0] -= level + at;
            Some(earliest_root(&row, begin, f64::INFINITY, direction)?.at - e)
        };
        let [up, down] = [edge(0.5, Direction::Rising), edge(-0.5, Direction::Falling)];
        up.into_iter().chain(down).min_by(f64::total_cmp)
    }

    /// Seconds to where the first of the inputs changes; `age` is that of a segment.
    pub(super) fn first_flip(
        &self,
        inputs: &[Option<Held>],
        age: impl Fn(&Held) -> f64,
    ) -> Option<f64> {
        let own = self.ports.iter().zip(inputs).filter(|(whole, _)| **whole);
        own.filter_map(|(_, held)| held.as_ref())
            .filter_map(|held| self.flip(held.segment(), age(held)))
            .min_by(f64::total_cmp)
    }
}

/// Whether the segment is no constant.
fn moves(segment: &Segment) -> bool {
    segment.coefficients().iter().skip(1).any(|c| *c != 0.0)
}

/// Whether a signal moves at an input of reals among these, so that events have to read it; that is told once.
pub(super) fn moving(
    instance: &Instance,
    discrete: &[Block],
    (whole, inputs): (&Whole, &[Option<Held>]),
) -> bool {
    let mut any = false;
    for block in discrete {
        for &port in &block.places {
            let moves = inputs[port].as_ref().is_some_and(|held| moves(held.segment()));
            if whole.ports[port] || !moves {
                continue;
            }
            any = true;
            instance.remark_once("discrete", port, || {
                let name = name_of(discrete, port);
                format!(
                    "input {name} is discrete, so that it may only jump, and the signal that it hears moves: the FMU \
                     reads it at its events, and at communication points; `via quantise(…)` makes jumps of the signal"
                )
            });
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use superdense_models::signal::value::Flag;

    #[test]
    fn whole_numbers_change_at_halves() {
        let own = Whole { ports: vec![true], wide: Vec::new(), tolerance: 1e-6, tick: 1e-9 };
        let of = |c: &[f64]| Segment::new(c, Flag::Continuous, c[0]);
        let ramp = of(&[0.2, 2.0]);
        assert_eq!(own.heard(0, &ramp, 0.0), 0.0);
        let first = own.flip(&ramp, 0.0).unwrap();
        assert!((first - 0.15).abs() < 1e-11, "{first}");
        assert_eq!(own.heard(0, &ramp, 0.15 - 1e-12), 1.0, "also a little before the crossing");
        let second = own.flip(&ramp, 0.15).unwrap();
        assert!((second - 0.5).abs() < 1e-11, "{second}");
        // A parabola whose vertex comes to no half, and that goes down then.
        let hill = of(&[0.0, 0.9, -0.45]);
        let down = own.flip(&hill, 0.0).unwrap();
        assert!((hill.value(down) + 0.5).abs() < 1e-9, "{down}");
        assert_eq!(own.flip(&of(&[2.4]), 0.0), None);
        assert_eq!(own.heard(0, &of(&[-0.5]), 0.0), 0.0);
        assert_eq!(own.heard(0, &of(&[2.5]), 0.0), 3.0);
        let odd = WHOLE + 1.0;
        assert_eq!([odd, -odd].map(|x| own.heard(0, &of(&[x]), 0.0)), [odd, -odd]);
        // A segment that goes on a little below where the last one crossed is no way back.
        let on = of(&[1.5 - 1e-7, 1.0]);
        assert_eq!(own.heard(0, &on, 0.0), 2.0);
        assert!((own.flip(&on, 0.0).unwrap() - 1.0).abs() < 1e-6);
    }
}
