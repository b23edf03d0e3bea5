//! Requests of transitions beside the changes of their models, and what observers hear of them.
use crate::{
    core::Core,
    error::RunError,
    located::counted,
    message::Message,
    options::{Halt, halted},
    time::Tag,
    trace::{Kind, Observer, Transition},
};
use std::ops::ControlFlow;

impl<M: Message> Core<M> {
    /// Takes what a transition asked for out of the effects.
    #[inline(never)]
    pub(crate) fn settle(&mut self, m: u32) {
        let fx = &self.fx;
        if fx.failure.is_some()
            || fx.stop.is_some()
            || !fx.facts.is_empty()
            || !fx.changes.is_empty()
        {
            return self.settle_all(m);
        }
        // A located event that nobody hears of.
        self.fx.raised = false;
        if std::mem::take(&mut self.fx.located) {
            self.count_located(m);
        }
    }

    #[inline(never)]
    fn settle_all(&mut self, m: u32) {
        self.fx.raised = false;
        if self.fx.failure.is_some() || self.fx.stop.is_some() {
            self.halt(m);
        }
        if std::mem::take(&mut self.fx.located) {
            self.count_located(m);
        }
        if !self.fx.facts.is_empty() {
            self.tell_facts(m);
        }
        if !self.fx.changes.is_empty() {
            self.changes.extend(self.fx.changes.drain(..).map(|c| (m, c)));
        }
    }

    #[cold]
    fn halt(&mut self, m: u32) {
        if let Some(why) = self.fx.failure.take() {
            let (path, at) = (self.path(m), self.now);
            self.error.get_or_insert(RunError::Model { path, at, why });
        }
        if let Some(reason) = self.fx.stop.take() {
            self.stop.get_or_insert(reason);
        }
    }

    /// A silent step is in no cycle, after which changes of structure could be carried out.
    #[cold]
    pub(crate) fn refuse_changes(&mut self, m: u32) {
        if !std::mem::take(&mut self.changes).is_empty() {
            let (path, at) = (self.path(m), self.now);
            let why =
                "asked for a change of structure in a silent step; ask for it in a transition";
            self.error.get_or_insert(RunError::Model { path, at, why: why.to_owned() });
        }
    }

    /// Tells observers that a cycle is committed, and looks whether somebody wants the run to halt.
    #[inline(always)]
    pub(crate) fn committed(&mut self, tag: Tag) {
        let watching = if self.watched { &mut self.observers[..] } else { &mut [] };
        tell_cycle(watching, &self.halt, tag, &mut self.stop);
    }

    #[inline(never)]
    fn tell_facts(&mut self, m: u32) {
        for fact in self.fx.facts.drain(..) {
            for o in &mut self.observers {
                let verdict = self
                    .blueprint
                    .site(self.keys[m as usize], |site| o.fact(site, self.now, &fact));
                if let ControlFlow::Break(reason) = verdict {
                    self.stop.get_or_insert(reason);
                }
            }
        }
    }

    /// Guard R11(b).
    fn count_located(&mut self, m: u32) {
        let recent = self.located.of(m);
        *recent = counted(*recent, self.now.ticks, &self.guards);
        let count = recent.1;
        if count > self.guards.state_events {
            self.refuse_located(m, count);
        }
    }

    #[cold]
    fn refuse_located(&mut self, m: u32, count: u32) {
        let (path, at, gap) = (self.path(m), self.now, self.guards.gap);
        let seconds = self.resolution.format(at.ticks);
        let why = "give the unit a rest mode, a hysteresis or a sliding mode".to_owned();
        self.error.get_or_insert(RunError::Zeno { path, at, seconds, count, gap, why });
    }

    #[inline(never)]
    pub(crate) fn tell(&mut self, m: u32, kind: Kind, next: Tag) {
        let log = std::mem::take(&mut self.bus.log);
        let first = self.log_cursor;
        let sent = log[first..].iter().take_while(|sent| sent.model == m).count();
        self.log_cursor = first + sent;
        let outputs = &log[first..first + sent];
        let bag = (kind != Kind::Internal).then(|| self.bus.bag(m, self.now).0);
        let transition = Transition { tag: self.now, kind, bag, outputs, next };
        let key = self.keys[m as usize];
        for o in self.observers.iter_mut().filter(|o| o.wants_transitions(key)) {
            let verdict = self.blueprint.site(key, |site| o.transition(site, &transition));
            if let ControlFlow::Break(reason) = verdict {
                self.stop.get_or_insert(reason);
            }
        }
        self.bus.log = log;
    }
}

/// Tells those who watch that a cycle is committed; `stop` is why the run stops, if one of them wants
/// that, or somebody outside.
#[inline(always)]
pub(crate) fn tell_cycle<M: Message>(
    watching: &mut [Box<dyn Observer<M>>],
    halt: &Halt,
    tag: Tag,
    stop: &mut Option<String>,
) {
    for o in watching {
        if let ControlFlow::Break(reason) = o.cycle(tag) {
            stop.get_or_insert(reason);
        }
    }
    if let Some(reason) = halted(halt) {
        stop.get_or_insert_with(|| reason.to_owned());
    }
}
