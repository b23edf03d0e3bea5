//! Which unit goes first: the automatic sequence, and the switch to parallel steps.
//!
//! Dejaco & Benedikt 2017, sections 5.1 and 5.2, for N units. At each exchange the
//! signals are extrapolated over 1.5 macro steps, and the events of each unit are tested on that. The
//! unit whose private event comes first goes first in the step that begins: it hears extrapolations, and
//! the others hear it as computed. Where no event is foreseen the sequence stays as it is. *Switching*
//! lets all units go at once, told extrapolations (in parallel), as long as neither a private nor a shared
//! event is foreseen.
//!
//! Nothing is asked of the units while they run: their conditions are known from the scenario.
use super::{Extrapolation, Line, extrapolation::Cubic};
use crate::{
    maths::{expr::Expr, poly::eval},
    signal::Timer,
};
use serde::{Deserialize, Serialize};

/// How far ahead events are looked for, in macro steps (Dejaco & Benedikt 2017, 5.1).
const AHEAD: f64 = 1.5;
/// Places at which conditions are tested, and halvings from there.
const SAMPLES: u32 = 32;
const HALVINGS: u32 = 40;

/// An event that a master can see coming.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    /// Number of the member that it is an event of.
    pub member: u16,
    /// It is shared with others.
    pub shared: bool,
    /// It happens when all are at most 0, over the time (variable 0) and the signals (1 and on).
    pub indicators: Vec<Expr>,
}

/// From whom each signal comes, to whom it goes, and what members do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    members: Vec<String>,
    /// Source and receiver of each signal.
    ways: Vec<[u16; 2]>,
    events: Vec<Foreseen>,
    /// The place of each member in the sequence.
    place: Vec<u16>,
    /// Whether all may go at once, and do.
    switching: bool,
    parallel: bool,
}

impl Sequence {
    /// Of members by their names in the sequence to begin with.
    pub fn new(
        members: Vec<String>,
        ways: Vec<[u16; 2]>,
        events: Vec<Foreseen>,
        switching: bool,
    ) -> Self {
        let place = (0..members.len() as u16).collect();
        Self { members, ways, events, place, switching, parallel: false }
    }

    /// Whether a signal is heard as computed, not extrapolated.
    pub(super) fn direct(&self, port: usize) -> bool {
        let [from, to] = self.ways[port].map(|member| self.place[usize::from(member)]);
        !self.parallel && from < to
    }

    fn first(&self) -> Option<usize> {
        self.place.iter().position(|&place| place == 0)
    }

    /// Chooses for the step of `step` seconds from `now` on; gives what has changed.
    pub(super) fn choose(
        &mut self,
        (lines, extrapolations): (&[Line], &[Extrapolation]),
        now: i64,
        step: f64,
        timer: &Timer,
    ) -> Option<String> {
        let straight = |e: &Extrapolation| {
            let order = e.order.max(1);
            Extrapolation { order, start_order: order, interpolate: false, ..*e }
        };
        let each = extrapolations.iter().enumerate();
        let told: Vec<Cubic> =
            each.map(|(port, e)| straight(e).tell(lines, port, now, step, timer)).collect();
        let time = timer.seconds(0, now);
        let mut soonest: Option<(f64, u16)> = None;
        let mut any = false;
        for event in self.events.iter().filter(|e| self.switching || !e.shared) {
            let Some(at) = event.ahead(&told, time, AHEAD * step) else { continue };
            any = true;
            if !event.shared && soonest.is_none_or(|(t, _)| at < t) {
                soonest = Some((at, event.member));
            }
        }
        let before = (self.parallel, self.first());
        self.parallel = self.switching && !any;
        if let Some((_, member)) = soonest {
            let at = self.place[usize::from(member)];
            self.place.iter_mut().filter(|place| **place < at).for_each(|place| *place += 1);
            self.place[usize::from(member)] = 0;
        }
        let first = self.first();
        if before == (self.parallel, first) {
            return None;
        }
        Some(match first {
            Some(first) if !self.parallel => format!("{} first", self.members[first]),
            _ => "all at once".to_owned(),
        })
    }
}

impl Foreseen {
    /// Seconds to the first time at which the event happens, if it does within `horizon`. One that
    /// goes on holding does not.
    fn ahead(&self, told: &[Cubic], time: f64, horizon: f64) -> Option<f64> {
        let mut vars = vec![0.0; told.len() + 1];
        let mut holds = |at: f64| {
            vars[0] = time + at;
            vars[1..].iter_mut().zip(told).for_each(|(v, p)| *v = eval(p, at));
            self.indicators.iter().all(|z| z.eval(&vars) <= 0.0)
        };
        let (mut before, mut held) = (0.0, holds(0.0));
        for k in 1..=SAMPLES {
            let at = horizon * f64::from(k) / f64::from(SAMPLES);
            let holds_now = holds(at);
            if holds_now && !held {
                let (mut low, mut high) = (before, at);
                for _ in 0..HALVINGS {
                    let middle = f64::midpoint(low, high);
                    *if holds(middle) { &mut high } else { &mut low } = middle;
                }
                return Some(high);
            }
            (before, held) = (at, holds_now);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::expr::Names;

    /// x = 1 - 2t falls below 0.2 sin(3t), with v < 0 all along; a condition that holds already is
    /// none that comes.
    #[test]
    fn events_are_located_on_extrapolations() {
        let scope = Names::new().var("t", 0).var("x", 1).var("v", 2);
        let z = |text: &str| Expr::parse(text, &scope).unwrap();
        let event = |indicators| Foreseen { member: 0, shared: false, indicators };
        let told = [[1.0, -2.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]];
        let falls = event(vec![z("x - 0.2*sin(3*t)"), z("v")]);
        let at = falls.ahead(&told, 10.0, 1.0).unwrap();
        assert!((1.0 - 2.0 * at - 0.2 * (3.0 * (10.0 + at)).sin()).abs() < 1e-9, "{at}");
        assert_eq!(falls.ahead(&told, 10.0, 0.3), None, "too far");
        assert_eq!(event(vec![z("v")]).ahead(&told, 10.0, 1.0), None, "holds already");
    }
}
