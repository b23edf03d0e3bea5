//! The unit's transitions.
use super::{
    decide::NOW,
    links::Session,
    wrapper::{Action, Cause, Done, Plan, Scratch, State, Unit},
};
use crate::{
    signal::{
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
    solve::{
        UnitError,
        core::{Core, Held},
        equations::{Dims, Equations, Trigger},
        notes::Notes,
        ode::put,
        tendency::HEARD,
    },
};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox,
    message::Digest,
    port::OutPort,
    time::{Duration, Resolution, Tag, TimeError},
};

impl<E: Equations, C: Core<E>> Atomic<Value> for Unit<E, C> {
    const SILENT: bool = true;

    fn inputs(&self) -> u16 {
        let links = usize::from(!self.scene.equations.links().is_empty());
        (self.scene.dims.inputs + self.scene.dims.event_inputs + links) as u16
    }

    fn outputs(&self) -> u16 {
        self.link_port() + u16::from(!self.scene.equations.links().is_empty())
    }

    fn time_advance(&self) -> Duration {
        match self.state.plan {
            Plan::Due(k, _) => self.ahead(k),
            Plan::Idle => Duration::INFINITE,
            Plan::Silent => self.silent_due(),
        }
    }

    fn is_silent(&self) -> bool {
        self.state.plan == Plan::Silent
    }

    fn advance(&mut self, bound: Duration, fx: &mut Effects<Value>) {
        while self.state.plan == Plan::Silent {
            let begun = self.silent_due();
            if begun >= bound {
                break;
            }
            if let Err(why) = self.silent_step(begun.ticks()) {
                self.state.plan = Plan::Idle;
                fx.fail(why);
            }
        }
    }

    fn init(&mut self, run: Resolution) -> Result<(), TimeError> {
        self.settings.resolution.of_run(run)
    }

    #[inline]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if !self.state.outbox.is_empty() {
            self.send(out);
        }
    }

    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.transition(true, None, fx);
    }

    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.transition(false, Some(bag), fx);
    }

    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.transition(true, Some(bag), fx);
    }

    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let ports = (0..self.scene.dims.outputs).filter(|&port| self.scene.watches(port));
        let vars = if ports.clone().next().is_some() {
            self.look_into(self.scene.seconds(elapsed.ticks()))
        } else {
            Vec::new()
        };
        let is_coarse = |&port: &usize| {
            let present = self.scene.equations.output(port, &vars);
            self.state.sizes.is_coarse(port, present, self.scene.allowed(present))
        };
        let mut counts = UnitStatistics {
            exchanges: self.state.exchanges,
            exchanged_bytes: self.state.exchanged_bytes,
            located: self.state.located,
            cut_steps: self.state.cut_steps,
            coarse_outputs: ports.filter(is_coarse).count() as u64,
            unsure_relations: self.state.flips.past.iter().filter(|past| past.unsure).count()
                as u64,
            ..UnitStatistics::default()
        };
        self.core.count(&mut counts);
        counts.entries()
    }

    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let port = usize::from(port);
        (port < self.scene.dims.outputs).then(|| {
            let vars = self.look_into(self.scene.seconds(elapsed.ticks()));
            Value::Real(self.scene.equations.output(port, &vars))
        })
    }

    fn note(&mut self, ports: &[u16]) -> bool {
        self.state.notes = Notes::begin(&self.scene, ports);
        self.state.notes.is_some()
    }

    fn take_notes(&mut self, until: Option<Duration>) -> Option<Box<dyn std::any::Any>> {
        let notes = self.state.notes.as_mut()?;
        until.iter().for_each(|t| notes.arrive(&self.scene, &self.core, (t.ticks(), false)));
        Some(Box::new(notes.take()))
    }

    fn state_digest(&self, elapsed: Duration) -> u64 {
        let vars = self.look_into(self.scene.seconds(elapsed.ticks()));
        Digest::of(&vars[Dims::STATES..self.scene.dims.first_input()])
    }

    fn restless(&self) -> Option<String> {
        self.chattering()
    }

    fn remark(&mut self) -> Option<String> {
        let own = self.core.remark().map(|remark| remark.to_string());
        let all: Vec<String> = own.into_iter().chain(self.core.last_remark(&self.scene)).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn explain(&self, _: u16, elapsed: Duration) -> Option<String> {
        let vars = self.look_into(self.scene.seconds(elapsed.ticks()));
        self.scene.equations.explain_outputs(&vars)
    }
}

/// Bytes of a number, and of the tag of a message, for counting what units exchange.
pub(super) const NUMBER: u64 = 8;
pub(super) const TAG: u64 = 12;

/// What a bag changed.
#[derive(Default)]
struct Received {
    /// A signal input has a new segment.
    signal: bool,
    /// An input jumped.
    jump: bool,
    /// An input has its first segment, at the start, or a later one by which its source begins.
    first: bool,
    /// An event input had its effect.
    event: bool,
}

/// Micro-steps of one tick after which roundings of outputs are no change.
const SETTLES: u32 = 64;

/// The share of an input's slip that is left when another piece comes.
const FORGETS: f64 = 0.9;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    #[inline(never)]
    fn send(&self, out: &mut Outbox<'_, Value>) {
        for (port, value) in &self.state.outbox {
            out.send(OutPort::<Value>::new(*port), value.clone());
        }
    }

    fn transition(
        &mut self,
        imminent: bool,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) {
        if let Err(why) = self.try_transition(imminent, bag, fx) {
            self.state.plan = Plan::Idle;
            fx.fail(why);
        }
    }

    fn try_transition(
        &mut self,
        imminent: bool,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) -> Done {
        let plan = std::mem::replace(&mut self.state.plan, Plan::Silent);
        if !imminent {
            self.state.fired.clear();
            self.state.proposed.clear();
            self.state.over.clear();
        }
        self.scratch.flipped.clear();
        self.scratch.committed.clear();
        self.arrive(fx.now().ticks);
        self.core.remark().into_iter().for_each(|remark| fx.report(Fact::Note(remark)));
        if bag.is_some() && self.scene.equations.recalls() {
            // Before own events of this cycle, too.
            self.present();
            self.note_cycle();
        }
        let mut deciding: Vec<Session> = Vec::new();
        // Whether the scratch's variables are those of the present.
        let mut known = false;
        if imminent {
            if matches!(plan, Plan::Due(1.., Action::Send)) && self.state.proposed.is_empty() {
                self.note_late(fx);
            }
            self.note_sent();
            match plan {
                Plan::Due(ticks, Action::Events) => {
                    self.commit_events(ticks > 0, fx);
                    known = bag.is_none()
                        && self.scene.dims.inputs == 0
                        && self.scene.dims.algebraic == 0;
                }
                Plan::Due(_, Action::Decide) => deciding = std::mem::take(&mut self.state.sessions),
                Plan::Due(_, Action::Fail) => {
                    return self.state.failure.take().map_or(Ok(()), Err);
                }
                Plan::Due(_, Action::Send) | Plan::Silent | Plan::Idle => {}
            }
            self.open_sessions(!matches!(plan, Plan::Due(_, Action::Events)));
        }
        if bag.is_some() && !self.state.fired.is_empty() {
            self.note_all_ended();
            self.scratch.committed.clone_from(&self.state.fired);
        }
        // What was planned for later is void; what was sent is gone.
        self.state.outbox.clear();
        self.state.fired.clear();
        self.state.carried.clear();
        let changed =
            bag.is_some() || matches!(plan, Plan::Due(_, Action::Events | Action::Decide));
        let told = match bag {
            Some(bag) => self.receive(bag, &mut deciding, fx)?,
            None => self.decide(&deciding, fx).map(|()| false)?,
        };
        if changed {
            self.refresh();
            self.forget_ahead();
            self.note_renewed(fx);
        }
        if fx.now() == Tag::ZERO {
            self.note_standing(fx);
        }
        self.plan_now(told, known)
    }

    /// Moves the unit's own time to `now`, on the dense output.
    #[inline]
    fn arrive(&mut self, now: i64) {
        let ticks = now - self.scene.frame.last;
        if ticks == 0 {
            return;
        }
        let t = self.scene.seconds(ticks);
        if let Some(notes) = &mut self.state.notes {
            notes.arrive(&self.scene, &self.core, (ticks, true));
        }
        self.pass(ticks);
        self.core.arrive(&self.scene, t);
        self.scene.frame.last = now;
        self.forget_ahead();
        // Events planned for this tick, and proposals, are on their way; all others that begin here follow.
        let begun = self.scratch.begun.iter().copied();
        let first = self.scene.equations.events().len() as u16;
        let State { fired, proposed, due, .. } = &mut self.state;
        let says = |e: u16| e >= first && proposed.contains(&(e - first));
        due.extend(begun.filter(|&e| !fired.contains(&e) && !says(e)));
        self.state.starting.clear();
    }

    /// Receivers now hold what λ sent.
    #[inline]
    fn note_sent(&mut self) {
        let at = self.scene.frame.last;
        for (port, value) in &self.state.outbox {
            let port = usize::from(*port);
            if let (Value::Segment(s), Some(held)) = (value, self.scene.frame.sent.get_mut(port)) {
                self.state.sizes.note(port, s.coefficients()[0]);
                *held = Held { segment: s.clone(), at };
                self.core.sent(&self.scene, port);
            }
        }
    }

    /// States and discrete values become those of the scratch's variables, by a jump, at rest or
    /// not.
    #[inline(always)]
    pub(super) fn adopt(&mut self, resting: bool) {
        self.scene.frame.resting = resting;
        let held = self.scene.dims.held();
        let vars = &self.scratch.vars;
        put(&mut self.scene.frame.discrete, &vars[held]);
        // Sides have been decided: what begins beyond the end of its own is there by its error.
        self.state.flips.past.iter_mut().for_each(|past| past.slack = f64::INFINITY);
        let x = &vars[Dims::STATES..Dims::STATES + self.scene.dims.states];
        self.core.jump(&self.scene, x);
    }

    /// Takes over what was planned; `located` tells it from what followed at the same instant.
    fn commit_events(&mut self, located: bool, fx: &mut Effects<Value>) {
        std::mem::swap(&mut self.state.after, &mut self.scratch.vars);
        if self.only_looks_on() {
            return self.report_events(located, fx);
        }
        if self.core.own_step().is_some() {
            self.note_cut(None, fx);
        }
        self.adopt(self.state.retiring);
        if !self.state.carried.is_empty() {
            // Conditions that resets make true again happen again.
            self.state.truth.clone_from(&self.state.carried);
        }
        self.note_chattering(fx);
        self.tell_far(fx);
        self.report_events(located, fx);
    }

    /// Tells of the events that have just happened.
    fn report_events(&mut self, located: bool, fx: &mut Effects<Value>) {
        for k in 0..self.state.fired.len() {
            let event = self.state.fired[k];
            let spec = &self.scene.equations.events()[usize::from(event)];
            let kind = match spec.trigger {
                Trigger::State { .. } => {
                    // Events that follow on each other without time are limited in micro-steps.
                    if located {
                        fx.located();
                        self.state.located += 1;
                    }
                    self.state.truth[usize::from(event)] = !spec.anew;
                    EventKind::Private
                }
                _ => EventKind::Time,
            };
            if fx.observed() {
                fx.report(Fact::Event { unit: None, name: Arc::clone(&spec.name), kind });
            }
            if let Some(message) = &spec.ends {
                fx.stop(&**message);
            }
            self.state.events += 1;
            self.note_event(event);
        }
    }

    /// Takes a bag in; gives whether it told of signals.
    #[inline(never)]
    fn receive(
        &mut self,
        bag: &Bag<'_, Value>,
        deciding: &mut [Session],
        fx: &mut Effects<Value>,
    ) -> Done<bool> {
        self.hear(bag, deciding);
        self.decide(deciding, fx)?;
        self.present();
        self.note_outputs();
        self.note_before();
        let mut received = Received::default();
        let mut sources: Vec<u32> = Vec::new();
        for (port, value) in bag.iter().filter(|(_, value)| !matches!(value, Value::Link(_))) {
            let port = usize::from(port);
            if port < self.scene.dims.inputs + self.scene.dims.event_inputs {
                self.note_cut(Some(port), fx);
            }
            if port < self.scene.dims.inputs {
                received.jump |= self.hold(port, value)?;
                received.signal = true;
                let heard = std::mem::replace(&mut self.state.heard[port], true);
                let begins = matches!(value, Value::Segment(s) if s.begins());
                let start = self.scene.frame.last == self.settings.start;
                received.first |= start && (!heard || begins && self.state.events == 0);
            } else {
                let Scratch { vars, work, emitted, .. } = &mut self.scratch;
                let (place, number) = (self.scene.dims.received(), value.as_real());
                let port = port - self.scene.dims.inputs;
                vars[place] = number.unwrap_or(f64::NAN);
                if let Some(why) = self.scene.equations.reservation(port, vars) {
                    fx.report(Fact::Note(why.into()));
                }
                self.scene.equations.receive(port, vars, work, emitted);
                vars[place] = number.unwrap_or(0.0);
                if number.is_none() && self.scratch.vars.iter().any(|v| v.is_nan()) {
                    let input = self.input(self.scene.dims.inputs + port);
                    return Err(UnitError::NoNumber { input, value: value.clone() }.into());
                }
                received.event = true;
                if let Some(name) = self.scene.equations.reception(port).filter(|_| fx.observed()) {
                    let (name, kind) = (Arc::clone(name), EventKind::Private);
                    fx.report(Fact::Event { unit: None, name, kind });
                }
            }
            if let Some(Some(source)) = self.settings.sources.get(port) {
                self.state.exchanged_bytes += NUMBER * value.numbers();
                if !sources.contains(source) {
                    sources.push(*source);
                }
            }
        }
        self.state.exchanges += sources.len() as u64;
        self.state.exchanged_bytes += TAG * sources.len() as u64;
        self.take_over(&received, fx)?;
        self.scratch.committed.clear();
        Ok(received.signal)
    }

    /// A new segment of input `port`; gives whether it jumps.
    fn hold(&mut self, port: usize, value: &Value) -> Done<bool> {
        let place = self.scene.dims.first_input() + port;
        let segment = match value {
            Value::Segment(s) => s.clone(),
            other => {
                let old = self.scratch.vars[place];
                Segment::step(old, other.as_real().unwrap_or(old))
            }
        };
        let start = segment.value(0.0);
        // What comes first takes the place of a start value.
        let first = || self.scene.frame.inputs[port].at == self.settings.start;
        let now = self.scratch.vars[place];
        let jump = match segment.flag {
            // A course that goes on from what is held but for rounding, as a coupling tells it, does not jump.
            Flag::Jump => segment.rests() || (start - now).abs() > HEARD * now.abs() || first(),
            Flag::Refresh => start != self.scratch.vars[place] && first(),
            Flag::Continuous => false,
        };
        if !start.is_finite() {
            return Err(UnitError::Input { input: self.signal(false, port) }.into());
        }
        let before = std::mem::replace(&mut self.scratch.vars[place], start);
        if !jump && segment.flag != Flag::Refresh {
            let slip = &mut self.scene.frame.slips[port];
            // A value at rest is known exactly.
            let moves = !segment.rests();
            *slip = if moves { (start - before).abs().max(FORGETS * *slip) } else { 0.0 };
        }
        self.scene.frame.inputs[port] = Held { segment, at: self.scene.frame.last };
        if !jump {
            self.core.input(&self.scene, port);
        }
        Ok(jump)
    }

    /// Jumps of inputs and effects of event inputs, all at once.
    #[inline(never)]
    fn take_over(&mut self, received: &Received, fx: &mut Effects<Value>) -> Done {
        if received.event {
            self.finite_or(|why| UnitError::Effect { why })?;
            self.state.hurried.clear();
        }
        if received.first {
            // A part of the start: what it makes true is no event.
            self.begin()?;
        }
        let begins = received.first && !received.event;
        let moved = received.event || received.jump || received.signal && self.comes_to_stand();
        if moved {
            if !received.first {
                let begun = self.just_begun();
                self.settle(NOW)?;
                self.note_stopped(&begun, fx);
            }
            // Only what an event does to a unit at rest wakes it.
            self.adopt(self.scene.frame.resting && !received.event);
            self.state.sessions.iter_mut().for_each(|session| session.told = false);
        }
        if !moved && received.signal && !self.scratch.flipped.is_empty() {
            self.note_turned(fx);
        }
        let tells = begins && self.settings.retells;
        if moved || tells {
            let Scratch { vars, work, x, before, .. } = &mut self.scratch;
            x.resize(before.len(), 0.0);
            self.scene.equations.outputs(vars, work, x);
            // Units in a loop without time would tell each other roundings for ever.
            let near = |x: f64, y: f64| (x - y).abs() <= self.scene.rounded(x);
            let settled =
                fx.now().micro > SETTLES && x.iter().zip(&*before).all(|(x, y)| near(*x, *y));
            if tells && !settled || moved && (x != before && !settled || received.event) {
                self.queue_segments(0.0, if begins { Cause::Begin } else { Cause::Jump })?;
            }
        }
        self.queue_emitted();
        Ok(())
    }

    /// After a transition, which `told` of signals or not: what is due at once, at the next
    /// micro-step; else go on silently. The scratch's variables may be `known` to be those of the
    /// present, but for the time.
    fn plan_now(&mut self, told: bool, known: bool) -> Done {
        if !self.scene.equations.links().is_empty() {
            self.propose_due(told);
            if !self.state.sessions.is_empty() {
                self.queue_answers();
                self.state.plan = Plan::Due(0, Action::Decide);
                return Ok(());
            }
        }
        if !self.state.due.is_empty() {
            self.state.fired = std::mem::take(&mut self.state.due);
            return self.plan_events(0, 0.0, false);
        }
        if !self.state.outbox.is_empty() {
            self.state.plan = Plan::Due(0, Action::Send);
            return Ok(());
        }
        if known {
            self.scratch.vars[0] = self.scene.absolute(0.0);
        } else {
            self.present();
        }
        if self.core.outside(&self.scene, &self.scratch.vars) {
            self.queue_segments(0.0, Cause::Band)?;
            self.state.plan = Plan::Due(0, Action::Send);
        }
        Ok(())
    }
}
