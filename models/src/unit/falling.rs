//! Events that leave their unit where it was: a unit that falls through a surface.
use super::wrapper::{Scratch, State, Unit};
use crate::solve::{
    core::Core,
    equations::{Equations, Trigger},
};

/// An event that comes ever faster has shorter and shorter intervals, so many of them at least,
const HURRY: u32 = 8;
/// down to so many ticks;
pub(super) const HURRIED: i64 = 64;
/// its unit has fallen through if it does not come again for so many ticks.
const FALLEN: i64 = 1000;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// An error if an event that came ever faster, or whose reset left its condition true, happened for
    /// the last time and its condition has held since then.
    #[inline]
    pub(super) fn fallen(&self) -> Result<(), String> {
        match self.state.hurried {
            Some(event) if !self.scene.frame.resting => self.fallen_through(event),
            _ => Ok(()),
        }
    }

    /// The same, where something was found at offset `t` that may be another event.
    #[cold]
    pub(super) fn fallen_before(&mut self, t: f64) -> Result<(), String> {
        let Some(event) = self.state.hurried.filter(|_| !self.scene.frame.resting) else {
            return Ok(());
        };
        self.state.fired.clear();
        self.core.found(t + self.snap(), &mut self.state.fired);
        let again = self.state.fired.contains(&event);
        if again || t * self.scene.rate < FALLEN as f64 || !self.holds(event, t) {
            return Ok(());
        }
        self.has_fallen_through(event)
    }

    #[inline(never)]
    fn fallen_through(&self, event: u16) -> Result<(), String> {
        if self.silent_due().ticks() < FALLEN || !self.core.holds_still(event.into()) {
            return Ok(());
        }
        self.has_fallen_through(event)
    }

    fn has_fallen_through(&self, event: u16) -> Result<(), String> {
        let name = &self.scene.equations.events()[usize::from(event)].name;
        let at = self.settings.resolution.seconds(self.scene.frame.last);
        let how = match self.state.paces[usize::from(event)].1 {
            HURRY.. => "came ever faster up to",
            _ => "happened last at",
        };
        Err(format!(
            "event `{name}` {how} {at} s (Zeno), and its condition has held since: the unit has \
             fallen through; give the event a `rest`, and a condition that its reset makes false"
        ))
    }

    /// Whether the reset of an event at offset `t`, to which the scratch's variables belong, has left
    /// its condition true, but only just, and has changed its indicators: it put the unit on the
    /// surface, from where it goes either way.
    #[inline]
    pub(super) fn presses(&mut self, event: u16, t: f64) -> bool {
        let variables = self.ending[usize::from(event)].iter().flatten();
        // Mostly a variable that is an indicator has become positive.
        let over = variables.into_iter().any(|&var| self.scratch.vars[var] > 0.0);
        !over && self.holds_at_zero(event, t)
    }

    #[inline(never)]
    fn holds_at_zero(&mut self, event: u16, t: f64) -> bool {
        self.holds_here(event)
            && self.indicators_of(event).iter().any(|&k| self.scratch.z[k] == 0.0)
            && self.has_changed(event, t)
    }

    /// Whether the condition of an event is true at offset `t`.
    fn holds(&mut self, event: u16, t: f64) -> bool {
        self.look(t);
        self.holds_here(event)
    }

    /// Whether it is for the scratch's variables; leaves indicators in the scratch.
    fn holds_here(&mut self, event: u16) -> bool {
        let Scratch { vars, work, z, .. } = &mut self.scratch;
        z.resize(self.scene.dims.indicators, 0.0);
        self.scene.equations.indicators(vars, work, z);
        let spec = &self.scene.equations.events()[usize::from(event)];
        let Trigger::State { indicators, strict, .. } = &spec.trigger else { return false };
        let weak = |k: &usize| !strict && !spec.strictly.contains(k);
        indicators.iter().all(|k| z[*k] < 0.0 || (z[*k] == 0.0 && weak(k)))
    }

    fn indicators_of(&self, event: u16) -> &[usize] {
        match &self.scene.equations.events()[usize::from(event)].trigger {
            Trigger::State { indicators, .. } => indicators,
            _ => &[],
        }
    }

    /// Whether indicators of the event at offset `t` are others than they were before its reset.
    #[cold]
    fn has_changed(&mut self, event: u16, t: f64) -> bool {
        let mut vars = Vec::new();
        self.look_into(t, &mut vars);
        let mut before = vec![0.0; self.scene.dims.indicators];
        self.scene.equations.indicators(&vars, &mut self.scratch.work, &mut before);
        self.indicators_of(event).iter().any(|&k| self.scratch.z[k] != before[k])
    }

    /// Event `event` has happened at the present.
    pub(super) fn note_event(&mut self, event: u16) {
        let last = &self.scene.frame.last;
        let State { happened, paces, hurried, pressing, .. } = &mut self.state;
        let number = usize::from(event);
        if let Some(before) = happened[number].replace(*last) {
            let interval = *last - before;
            let (shortest, count) = paces[number];
            paces[number] = if interval < shortest {
                (interval, count + 1)
            } else if interval / 4 > shortest {
                (interval, 0)
            } else {
                (shortest, count)
            };
            *hurried = (paces[number].1 >= HURRY && interval <= HURRIED).then_some(event);
        }
        if pressing.take() == Some(event) {
            *hurried = Some(event);
        }
    }
}
