//! How far ahead the expansion of a derivative holds.
use super::{Along, Engine, LONGER, Method, System, WIDE, cut};
use crate::{
    maths::poly,
    solve::{
        qss::{
            system::View,
            variable::{Variable, root},
        },
        series::Series,
    },
};
use std::cell::Cell;

/// Quanta that an expansion may leave out where none of its terms tell: quantisers err by up to two by themselves.
const SLACK: f64 = 4.0;

/// `c · h^power`, by which a term of an expansion moves a state.
fn moved(c: f64, h: f64, power: usize) -> f64 {
    (0..power).fold(c, |moved, _| moved * h)
}

/// The variables at `t` with all their coefficients, noting whether anything that is read moves.
struct Noting<'a, const P: usize> {
    along: Along<'a, P>,
    moves: Cell<bool>,
}

impl<const P: usize> Noting<'_, P> {
    /// A value that is read; all its coefficients count.
    fn note(&self, read: &[f64]) -> Series<WIDE> {
        self.moves.set(self.moves.get() || read[1..].iter().any(|&c| c != 0.0));
        cut(read)
    }
}

impl<const P: usize> View<Series<WIDE>> for Noting<'_, P> {
    fn time(&self) -> Series<WIDE> {
        self.note(&[self.along.state.origin + self.along.t, 1.0])
    }
    fn state(&self, index: usize) -> Series<WIDE> {
        self.note(&self.along.state.variables[index].quantised(self.along.t))
    }
    fn input(&self, index: usize) -> Series<WIDE> {
        self.note(&self.along.state.inputs[index].expanded(self.along.t))
    }
    fn discrete(&self, index: usize) -> f64 {
        self.along.state.discrete[index]
    }
}

impl<Y: System, M: Method<P>, const P: usize> Engine<Y, M, P> {
    /// The next step of variable `j`, or how long the expansion of its derivative holds: what it
    /// leaves out adds up to a quantum of the state. All terms that are known are looked at, since
    /// some may vanish; where they say nothing, or do not converge, values ahead are.
    #[cold]
    pub(super) fn trust(&mut self, j: usize, t: f64, next: f64) -> f64 {
        let view = Noting { along: Along { state: &self.state, t }, moves: Cell::new(false) };
        let mut f = self.system.present(j, &view, &mut self.wide).0;
        let known = f.iter().take_while(|c| c.is_finite()).count();
        f[known..].fill(0.0);
        let Variable { quantum, usual, .. } = self.state.variables[j];
        let (smooth, longest) = (self.smooth[j], self.longest);
        let next = if smooth { next.min(longest) } else { next };
        let (mut short, mut telling) = (next, false);
        // The last coefficient that does not vanish, and whether the expansion converges so far.
        let (mut last, mut converges) = ((0, 0.0), true);
        for (k, c) in f.iter().enumerate() {
            let size = c.abs();
            if size == 0.0 {
                continue;
            }
            if k >= P {
                telling = true;
                converges &= moved(size, next, k - last.0) <= last.1;
                // Mostly it holds that long, and that takes no root to see.
                let part = size / (k + 1) as f64;
                if moved(part, short, k + 1) > quantum {
                    short = short.min(root(quantum / part, k + 1));
                }
            }
            last = (k, size);
        }
        // A last term that counts has nothing to hide.
        telling |= moved(f[P - 1].abs(), next, P) > quantum / LONGER;
        telling &= converges;
        let far = next > LONGER * usual && (self.growth[j] == 0.0 || !telling);
        if (far || smooth && !telling) && view.moves.get() {
            short = self.scan(j, t, &f, short);
        }
        // The longest step of a smooth one is looked at each time.
        let usual = if smooth { short.min(0.5 * longest / LONGER) } else { short };
        self.state.variables[j].usual = if usual.is_finite() { usual } else { 0.0 };
        short
    }

    /// The step `next`, or less where what the expansion `f` leaves out adds up to more, though its
    /// own terms do not tell: by looking farther and farther ahead, at last from place to place.
    fn scan(&mut self, j: usize, t: f64, f: &[f64], next: f64) -> f64 {
        const WIDER: f64 = 16.0;
        let mut end = next.min(self.longest).min(1e15);
        let Variable { quantum, usual, .. } = self.state.variables[j];
        let (apart, mut before) = (end / WIDER, 0.0);
        let mut ahead = usual.max(self.shortest).min(apart);
        loop {
            let view = Along { state: &self.state, t: t + ahead };
            let there = self.system.present(j, &view, &mut self.values).0[0];
            let left_out = ahead * (there - poly::eval(&f[..P], ahead)).abs();
            // Closer, too, where there is no number.
            if left_out.is_nan() || left_out > SLACK * quantum {
                if before > 0.0 {
                    return before;
                }
                // Nor may the first look lie too far ahead: behind a flip a square root begins at zero.
                if ahead <= self.shortest {
                    return ahead / WIDER;
                }
                (ahead, end) = (ahead / WIDER, ahead / WIDER);
                continue;
            }
            if ahead >= end {
                return next.min(end);
            }
            before = ahead;
            ahead =
                if ahead < apart { (WIDER * ahead).min(apart) } else { (ahead + apart).min(end) };
        }
    }
}
