//! Events that leave their unit where it was: a unit that falls through a surface.
use super::wrapper::{Done, State, Unit};
use crate::solve::{
    UnitError,
    core::Core,
    equations::{Dims, Equations, LinkEquations, Trigger},
};

/// An event that comes ever faster has shorter and shorter intervals, so many of them at least,
const HURRY: u32 = 8;
/// down to so many ticks;
pub(super) const HURRIED: i64 = 64;
/// its unit has fallen through if it does not come again for so many ticks, and the interval before was no longer.
const FALLEN: i64 = 1000;
/// One that sets no state, and turns the motion by a discrete value, has its next interval within so many ticks. A
/// thermostat at coarse ticks has longer ones.
const FEW: i64 = 4;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// An error if an event that came ever faster happened for the last time, and its condition has
    /// held since then; up to the tick of what comes next, if anything was found.
    #[inline]
    pub(super) fn fallen(&self, next: Option<i64>) -> Done {
        if self.state.hurried.is_empty() || self.scene.frame.resting {
            return Ok(());
        }
        self.fallen_through(next)
    }

    #[inline(never)]
    fn fallen_through(&self, next: Option<i64>) -> Done {
        let reached = next.unwrap_or_else(|| self.silent_due().ticks());
        let until = self.scene.frame.last.saturating_add(reached);
        // Where several events hurry, the last one is not the one that falls.
        let State { hurried, truth, fired, happened, .. } = &self.state;
        let last = |event: u16| happened[usize::from(event)].unwrap_or(until);
        let falls = |&event: &u16| {
            let holds = truth[usize::from(event)] && !fired.contains(&event);
            holds && until.saturating_sub(last(event)) >= FALLEN
        };
        hurried.iter().copied().find(falls).map_or(Ok(()), |event| {
            let at = self.settings.resolution.seconds(last(event));
            Err(UnitError::Fallen { event: self.name_of(event.into()), at }.into())
        })
    }

    /// An error if the reset of an event in `fired` has put a quantity of its own condition back
    /// onto the threshold, from where it goes on to the side that it came from: the condition holds on,
    /// so that the event could never happen again (rule 12). A crossing has no condition that could hold
    /// on. The scratch's held values are those before the resets.
    #[inline]
    pub(super) fn falls_through(&mut self) -> Option<UnitError> {
        for n in 0..self.state.fired.len() {
            let number = usize::from(self.state.fired[n]);
            let spec = &self.scene.equations.events()[number];
            if matches!(spec.trigger, Trigger::State { crossing: Some(_), .. }) {
                continue;
            }
            if let Some(relation) = self.put_back_by(number) {
                let event = self.name_of(number);
                return Some(UnitError::FallsThrough { event, relation });
            }
        }
        None
    }

    /// The relation that event, or link, `number` has put back onto its threshold, where its condition holds on by that.
    pub(super) fn put_back_by(&mut self, number: usize) -> Option<String> {
        let dims = self.scene.dims;
        let inputs = dims.first_input()..dims.first_discrete();
        // Of a link each member looks at what is its own.
        let own = |k: usize| {
            number < self.first_link() || !self.readers.read(k, |place| inputs.contains(&place))
        };
        let back = |&&k: &&usize| {
            let stays = self.scratch.held[dims.first_side() + k] == self.side(k);
            stays && own(k) && self.is_put_back(k, |place| self.sets(number, |set| set == place))
        };
        let back: Vec<usize> = self.readers.of[number].iter().filter(back).copied().collect();
        let needed = |&k: &usize| self.holds(number) && self.is_needed(k, number);
        back.into_iter().find(needed).map(|k| self.readers.relations[k].text.to_string())
    }

    /// Whether event, or link, `number` sets a variable like this.
    fn sets(&self, number: usize, like: impl Fn(usize) -> bool) -> bool {
        match self.scene.equations.events().get(number) {
            Some(spec) => spec.sets(like),
            None => self.link_of(number).targets.iter().any(|&place| like(place)),
        }
    }

    fn link_of(&self, number: usize) -> &LinkEquations {
        &self.scene.equations.links()[number - self.first_link()]
    }

    fn name_of(&self, number: usize) -> String {
        let spec = self.scene.equations.events().get(number);
        spec.map_or_else(|| self.link_of(number).name.to_string(), |spec| spec.name.to_string())
    }

    /// Event, or link, `event` has happened at the present.
    pub(super) fn note_event(&mut self, event: u16) {
        let (number, last) = (usize::from(event), self.scene.frame.last);
        let gap = last - self.state.happened[number].replace(last).unwrap_or(self.settings.start);
        let before @ (earlier, first, count) = self.state.paces[number];
        self.state.paces[number] = match gap < earlier {
            true => (gap, earlier, count + 1),
            false if gap / 4 > earlier => (gap, i64::MAX, 0),
            false => (earlier, first, count),
        };
        // Within its rounding a row of bounces ends in any order.
        let known = self.state.hurried.contains(&event);
        if gap > HURRIED * FALLEN || !known && !self.hurries(number, gap, before) {
            // One that comes at its own pace may have put an end to the others.
            self.state.hurried.clear();
        } else if !known {
            self.state.hurried.push(event);
        }
    }

    /// Whether event `number` came ever faster: its interval, the two before, and how often it became shorter.
    fn hurries(&self, number: usize, gap: i64, (earlier, first, count): (i64, i64, u32)) -> bool {
        // Of a bounce that loses much there are few: the next interval is so short if it shrinks as the last two.
        let ratio = gap as f64 / earlier as f64;
        let regular = (0.3..=2.0).contains(&(ratio * first as f64 / earlier as f64));
        let shrinks = |next: i64| regular && ratio < 0.7 && gap as f64 * ratio <= next as f64;
        count >= HURRY && gap <= HURRIED && earlier <= FALLEN
            || shrinks(HURRIED) && self.throws_back(number, shrinks(FEW))
    }

    /// Whether event `number` sets states, or discrete values where these count, and its condition reads states: it does
    /// not only follow inputs.
    fn throws_back(&self, number: usize, discrete: bool) -> bool {
        let dims = self.scene.dims;
        let is_state = |place: usize| (Dims::STATES..dims.first_input()).contains(&place);
        let counts = |place: usize| is_state(place) || discrete && place >= dims.first_discrete();
        let mut read =
            self.readers.of[number].iter().flat_map(|&k| &self.readers.reads[k]).flatten();
        self.sets(number, counts) && read.any(|id| is_state(id.0 as usize))
    }
}
