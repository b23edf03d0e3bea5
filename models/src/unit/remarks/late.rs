//! Outputs that change faster than ticks can tell.
use crate::{
    signal::{is_late, value::Value},
    solve::{core::Core, equations::Equations},
    unit::wrapper::Unit,
};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Tells of the first output that was beyond its tolerance long before the tick that tells receivers.
    pub(in crate::unit) fn note_late(&mut self, fx: &mut Effects<Value>) {
        let scene = &self.scene;
        let off = |(port, value): &(u16, Value)| {
            let (Value::Segment(s), port) = (value, usize::from(*port)) else { return None };
            let now = s.coefficients()[0];
            let (off, band) = ((now - scene.held(port, 0.0)).abs(), scene.allowed(now));
            is_late(off, band).then_some((port, off, band))
        };
        let Some((port, off, band)) = self.state.outbox.iter().find_map(off) else { return };
        if !std::mem::replace(&mut self.state.late, true) {
            let note = format!(
                "output {} is off by {off:.1e} when receivers hear of it, and its exchange tolerance is \
                 {band:.1e}: it changes faster than ticks of {:e} s can tell; take a finer `resolution`, or \
                 a wider `exchange_tolerance` if that does",
                self.signal(true, port),
                scene.tick
            );
            fx.report(Fact::Note(note.into()));
        }
    }

    /// Events whose conditions have become true at this tick by relations that flipped.
    pub(in crate::unit) fn just_begun(&mut self) -> Vec<(u16, u16)> {
        let flipped = self.scratch.flipped.clone();
        let read = |&k: &u16| self.readers.events[usize::from(k)].iter().map(move |&e| (k, e));
        let all: Vec<_> = flipped.iter().flat_map(read).collect();
        let own = self.first_link();
        all.into_iter().filter(|&(_, e)| usize::from(e) < own && self.holds(e.into())).collect()
    }

    /// Tells of the first event that has just happened since a value was foretold to cross its threshold, on
    /// which its source stopped it at that tick.
    pub(in crate::unit) fn note_stopped(&mut self, begun: &[(u16, u16)], fx: &mut Effects<Value>) {
        let is_off = |unit: &mut Self, &(k, event): &(u16, u16)| {
            unit.side(k.into()) == 0.0 && !unit.holds(event.into())
        };
        let off = begun.iter().find(|begun| is_off(self, begun));
        self.tell_foretold(off.map(|begun| begun.1), "stopped", fx);
    }

    /// As [`note_stopped`](Self::note_stopped), of a value that goes on, but back from there.
    #[cold]
    pub(in crate::unit) fn note_turned(&mut self, fx: &mut Effects<Value>) {
        let mut begun = self.just_begun().into_iter();
        let turned = begun.find(|(k, _)| {
            let k = usize::from(*k);
            self.is_sent_back(k) && self.scratch.indicators[k].0.abs() <= self.scene.allowed(0.0)
        });
        self.tell_foretold(turned.map(|begun| begun.1), "turned back", fx);
    }

    fn tell_foretold(&self, event: Option<u16>, went: &str, fx: &mut Effects<Value>) {
        let Some(event) = event else { return };
        let name = &self.scene.equations.events()[usize::from(event)].name;
        let note = format!(
            "event `{name}` happened since a value that it hears was foretold to cross its threshold, but it {went} \
             just there: put the condition into the unit that stops it, or add a margin"
        );
        fx.report(Fact::Note(note.into()));
    }
}
