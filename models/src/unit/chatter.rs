//! Relations that flip to and fro because each side sends the solution back to the other one.
use super::{
    decide::{Known, NOW},
    falling::HURRIED,
    wrapper::Unit,
};
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations, ode::Kind},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Effects, Fact};

/// Flips in a row that end a run.
const FLIPS: u32 = 2000;
/// Ticks that a side lasts at most from which the solution is sent back at once: it is entered a tick too far at most.
/// An oscillation of a few ticks has sides that last longer.
const AT_ONCE: i64 = 4;

/// The last flips of a relation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Chatter {
    /// Tick of the last one.
    last: Option<i64>,
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
}

impl Chatter {
    /// A flip at a tick. Gives whether the side before it lasted some ticks only.
    fn note(&mut self, now: i64) -> bool {
        let lasted = self.last.replace(now).map(|last| now - last);
        let one = |most: i64| [lasted, self.before].into_iter().flatten().any(|side| side <= most);
        self.count = if one(HURRIED) { self.count + 1 } else { 0 };
        self.at_once = if one(AT_ONCE) { self.at_once + 1 } else { 0 };
        self.before = lasted;
        lasted.is_some_and(|side| side <= HURRIED)
    }
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Relations that flip again and again within some ticks chatter. The kernel counts flips that follow closely on
    /// each other, and events that these set off. Where one side sends the solution back much faster than the other,
    /// only every second one does: the run ends where both sides send it back, by equations or by events, again and again.
    pub(super) fn note_chattering(&mut self, fx: &mut Effects<Value>) {
        let now = self.scene.frame.last;
        for n in 0..self.scratch.flipped.len() {
            let k = usize::from(self.scratch.flipped[n]);
            if self.state.flipped[k].note(now) && self.readers.relations[k].stops {
                fx.located();
            }
            if self.state.flipped[k].count == FLIPS / 20 {
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
                        true if self.state.hurried.is_some() => fx.fail(self.row(k)),
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

    #[cold]
    fn row(&self, k: usize) -> String {
        let (relation, ticks) = (&self.readers.relations[k].text, self.scene.tick * HURRIED as f64);
        format!(
            "`{relation}` flipped {FLIPS} times in a row, at least every second time within {ticks:e} s: an event that came ever \
             faster needs a `rest`, and where events truly come that closely, take a finer `resolution`"
        )
    }

    #[cold]
    fn sent_back(&self, k: usize) -> String {
        let relation = &self.readers.relations[k].text;
        let why = self.chattering().unwrap_or_default();
        format!(
            "chattering: `{relation}` flipped {FLIPS} times in a row, and each of its sides leads back to the other \
             one: {why}"
        )
    }

    /// The relations that flip, and the events that happen, again and again up to the present; nothing if
    /// there are none.
    #[cold]
    pub(super) fn chattering(&self) -> Option<String> {
        const REST: &str = "give them a `rest`, or thresholds that lie apart (a hysteresis)";
        let now = self.scene.frame.last;
        let late = |at: &Option<i64>| at.is_some_and(|at| now - at <= HURRIED);
        let quoted = |list: Vec<&str>| format!("`{}`", list.join("`, `"));
        let relations = self.readers.relations.iter().zip(&self.state.flipped);
        let chatter = relations.clone().filter(|(r, at)| r.stops && late(&at.last)).map(|(r, _)| r);
        let rounds = chatter.clone().any(|r| r.kind == Kind::Floor);
        let slides = relations.clone().any(|(r, _)| r.sliding.is_some());
        let events = self.scene.equations.events().iter().zip(&self.state.happened);
        let again: Vec<_> = events.filter(|(_, at)| late(at)).map(|(e, _)| e).collect();
        let mut parts = Vec::new();
        if chatter.clone().next().is_some() {
            const MODE: &str =
                "give the sliding motion along them a mode, or their thresholds a hysteresis";
            const SLIDE: &str = "switching = \"sliding\" lets it slide along zero, where that reads no input (write \
                                 both units as one); else give the sliding motion a mode";
            const ROUND: &str = "nothing slides along whole numbers (`floor`, `ceil`, `round`, `trunc`, `mod`): write \
                                 these jumps with `if` and switching = \"sliding\", or give the sliding motion a mode";
            let sides = quoted(chatter.map(|r| &*r.text).collect());
            let (what, help) = match (rounds, slides) {
                (true, _) => ("a `floor`, `mod`, ...", ROUND),
                (false, true) => ("an `if`, `abs`, ...", MODE),
                (false, false) => ("an `if`, `abs`, ...", SLIDE),
            };
            parts.push(format!("{what} makes {sides} flip to and fro; {help}"));
        }
        if !again.is_empty() {
            let rests = again.iter().filter_map(|e| e.rest.as_ref()).map(|rest| rest.within);
            let help = rests.reduce(f64::min).map_or(REST.into(), |within| {
                format!("their `rest` needs a `within` beyond {within} s, some ticks at least")
            });
            let names = again.iter().map(|e| &*e.name).collect();
            parts.push(format!("{} happen again and again: {help}", quoted(names)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
