//! Relations that flip to and fro because each side sends the solution back to the other one.
use super::{
    decide::{Known, NOW},
    falling::HURRIED,
    wrapper::Unit,
};
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Effects, Fact};

/// Flips in a row that end a run.
pub(super) const FLIPS: u32 = 2000;
/// Ticks that a side lasts at most from which the solution is sent back at once: it is entered a tick too far at most.
/// An oscillation of a few ticks has sides that last longer.
const AT_ONCE: i64 = 4;
/// The share of the time so far that sides last at most which are told of.
const FAST: i64 = 1_000_000;

/// The last flips of a relation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Chatter {
    /// Tick of the last one.
    pub(super) last: Option<i64>,
    /// Ticks that the side before it lasted; none before the second one.
    before: Option<i64>,
    /// Flips in a row after sides of which one of two lasted some ticks only.
    count: u32,
    /// As many after sides of which one of two sent the solution back at once.
    at_once: u32,
    /// Whether there were too many, and the side after the last one leads back.
    back: bool,
    /// Whether there were too many, and their row has been told.
    told: bool,
    /// Flips in a row after sides that were very short beside the time so far.
    fast: u32,
}

impl Chatter {
    /// A flip at a tick, so many ticks after the start. Gives whether the side before it lasted some ticks only.
    fn note(&mut self, now: i64, elapsed: i64) -> bool {
        let lasted = self.last.replace(now).map(|last| now - last);
        let one = |most: i64| [lasted, self.before].into_iter().flatten().any(|side| side <= most);
        self.count = if one(HURRIED) { self.count + 1 } else { 0 };
        self.at_once = if one(AT_ONCE) { self.at_once + 1 } else { 0 };
        self.before = lasted;
        let fast = lasted.is_some_and(|side| side <= elapsed / FAST);
        self.fast = if fast { self.fast.saturating_add(1) } else { 0 };
        lasted.is_some_and(|side| side <= HURRIED)
    }
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Relations that flip again and again within some ticks chatter. The kernel counts flips that follow closely on
    /// each other, and events that these set off. Where one side sends the solution back much faster than the other,
    /// only every second one does: the run ends where both sides send it back, by equations or by events, again and again.
    pub(super) fn note_chattering(&mut self, fx: &mut Effects<Value>) {
        let (now, start) = (self.scene.frame.last, self.settings.start);
        for n in 0..self.scratch.flipped.len() {
            let k = usize::from(self.scratch.flipped[n]);
            if self.state.flipped[k].note(now, now - start) && self.readers.relations[k].stops {
                fx.located();
            }
            if self.state.flipped[k].fast == FLIPS {
                self.note_to_and_fro(k, fx);
            }
            // Again and again: a race of methods may have another one on by then.
            if self.state.flipped[k].count % (FLIPS / 20) == FLIPS / 20 - 1 {
                self.core.chatters();
            }
            if self.state.flipped[k].count > FLIPS {
                let back = self.state.flipped[k].at_once > FLIPS && self.is_sent_back(k);
                let last = &mut self.state.flipped[k];
                if !back {
                    // A ball that bounces leaves its surface: look again after as many.
                    let row = Chatter { last: last.last, told: true, ..Chatter::default() };
                    match std::mem::replace(last, row).told {
                        false => fx.report(Fact::Note(self.row(k).into())),
                        // It came ever faster, and goes on for ever at a pace that ticks give it (Zeno).
                        true if !self.state.hurried.is_empty() => fx.fail(self.endless_row(k)),
                        true => {}
                    }
                } else if std::mem::replace(&mut last.back, true) {
                    fx.fail(self.sent_back(k));
                }
            }
        }
    }

    /// Whether the side on which relation `k` is now leads back to the other one.
    pub(super) fn is_sent_back(&mut self, k: usize) -> bool {
        self.present();
        self.doubt(NOW);
        self.update_indicators();
        self.heading(k, NOW, &mut Known::Nothing) * self.side(k) < 0.0
    }
}
