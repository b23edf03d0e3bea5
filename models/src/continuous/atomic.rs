//! The unit's transitions.
use super::{
    equations::{Dims, Equations, Trigger},
    links::Session,
    unit::{Action, Held, Plan, Unit},
};
use crate::{
    ode::Arm,
    statistics::UnitStatistics,
    value::{Flag, Segment, Value},
};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox, port::OutPort, time::Duration,
};

impl<E: Equations> Atomic<Value> for Unit<E> {
    const SILENT: bool = true;

    fn inputs(&self) -> u16 {
        let links = usize::from(!self.equations.links().is_empty());
        (self.dims.inputs + self.dims.event_inputs + links) as u16
    }

    fn outputs(&self) -> u16 {
        self.link_port() + u16::from(!self.equations.links().is_empty())
    }

    fn time_advance(&self) -> Duration {
        self.due()
    }

    fn is_silent(&self) -> bool {
        self.state.plan == Plan::Silent
    }

    fn advance(&mut self, bound: Duration, fx: &mut Effects<Value>) {
        while self.state.plan == Plan::Silent && self.silent_due() < bound {
            if let Err(why) = self.silent_step() {
                self.state.plan = Plan::Idle;
                fx.fail(why);
            }
        }
    }

    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, value) in &self.state.outbox {
            out.send(OutPort::<Value>::new(*port), value.clone());
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

    fn statistics(&self) -> Vec<(&'static str, u64)> {
        let solver = self.state.solver.statistics();
        UnitStatistics {
            exchanges: self.state.exchanges,
            steps: solver.accepted,
            rejected_steps: solver.rejected,
            evaluations: solver.evaluations,
        }
        .entries()
    }

    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        if usize::from(port) >= self.dims.outputs {
            return None;
        }
        let t = self.seconds(elapsed.ticks());
        let mut y = vec![0.0; self.dims.outputs];
        let vars = self.vars_at(t, &self.states_at(t), &self.state.discrete);
        self.equations.outputs(&vars, &mut super::equations::Work::default(), &mut y);
        Some(Value::Real(y[usize::from(port)]))
    }
}

impl<E: Equations> Unit<E> {
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
    ) -> Result<(), String> {
        let plan = std::mem::replace(&mut self.state.plan, Plan::Silent);
        self.arrive(fx.now().ticks, imminent)?;
        let mut deciding: Vec<Session> = Vec::new();
        if imminent {
            self.note_sent();
            match plan {
                Plan::Due(_, Action::Events) => self.commit_events(fx),
                Plan::Due(_, Action::Propose(link)) => self.open_session(link.into()),
                Plan::Due(_, Action::Decide) => deciding = std::mem::take(&mut self.state.sessions),
                Plan::Due(_, Action::Send) | Plan::Silent | Plan::Idle => {}
            }
        }
        // What was planned for later is void; what was sent is gone.
        self.state.outbox.clear();
        self.state.fired.clear();
        if let Some(bag) = bag {
            self.receive(bag, &mut deciding)?;
        }
        self.decide(deciding, fx)?;
        self.plan_now()
    }

    /// Moves the unit's own time to `now`, on the dense output.
    fn arrive(&mut self, now: i64, imminent: bool) -> Result<(), String> {
        let ticks = now - self.state.last;
        if ticks == 0 {
            return Ok(());
        }
        let t = self.seconds(ticks);
        if self.state.solver.truncate_to(t).is_err() {
            // A tick beyond a step that is shorter than some ticks.
            let x = self.states_at(t);
            self.state.solver.restart(t, &x);
        }
        if !imminent {
            self.settle_arms(t);
        } else {
            let x = self.states_at(t);
            let vars = self.vars_at(t, &x, &self.state.discrete);
            self.indicators_of(&vars);
            let (snap, first) = (self.snap(), self.first_link());
            // A link that came due at the same tick still has to be proposed.
            let links = 0..self.equations.links().len();
            let waiting: Vec<usize> =
                links.map(|i| first + i).filter(|&i| self.state.locator.hit(i).is_some()).collect();
            self.state.locator.accept_within(t, &self.scratch.z, snap);
            for i in waiting {
                self.state.locator.set(i, Arm::Armed);
            }
            self.arm_bands();
        }
        self.state.solver.shift_origin(t);
        self.state.last = now;
        Ok(())
    }

    /// Receivers now hold what λ sent.
    fn note_sent(&mut self) {
        for (port, value) in &self.state.outbox {
            if let (Value::Segment(s), Some(held)) =
                (value, self.state.sent.get_mut(usize::from(*port)))
            {
                *held = Held { segment: s.clone(), at: self.state.last };
            }
        }
    }

    /// New states and discrete values, by a jump.
    pub(super) fn adopt(&mut self, vars: &[f64]) {
        let dims = self.dims;
        self.state.solver.restart(0.0, &vars[Dims::STATES..Dims::STATES + dims.states]);
        let first = dims.first_discrete();
        self.state.discrete.copy_from_slice(&vars[first..first + dims.discrete]);
    }

    fn commit_events(&mut self, fx: &mut Effects<Value>) {
        let after = std::mem::take(&mut self.state.after);
        self.adopt(&after);
        for &event in &std::mem::take(&mut self.state.fired) {
            let spec = &self.equations.events()[usize::from(event)];
            let kind = match spec.trigger {
                Trigger::State { .. } => {
                    fx.located();
                    self.state.locator.set(event.into(), Arm::Disarmed);
                    EventKind::Private
                }
                _ => EventKind::Time,
            };
            self.state.events += 1;
            fx.report(Fact::Event { unit: None, name: Arc::clone(&spec.name), kind });
        }
    }

    fn receive(&mut self, bag: &Bag<'_, Value>, deciding: &mut [Session]) -> Result<(), String> {
        let dims = self.dims;
        let x = self.state.solver.state().to_vec();
        let mut vars = self.vars_at(0.0, &x, &self.state.discrete);
        let before = self.outputs_of(&vars);
        let mut emitted = Vec::new();
        let (mut jump, mut changed) = (false, false);
        let mut sources: Vec<u32> = Vec::new();
        for (port, value) in bag.iter() {
            let port = usize::from(port);
            if let Value::Link(message) = value {
                self.state.exchanges += 1;
                self.hear(message, deciding);
            } else if port < dims.inputs {
                let segment = match value {
                    Value::Segment(s) => s.clone(),
                    other => {
                        let old = vars[dims.first_input() + port];
                        Segment::step(old, other.as_real().unwrap_or(old))
                    }
                };
                jump |= segment.flag == Flag::Jump;
                let start = segment.value(0.0);
                if !start.is_finite() {
                    return Err(format!("input {port} received a value that is not finite"));
                }
                vars[dims.first_input() + port] = start;
                self.state.inputs[port] = Held { segment, at: self.state.last };
                if let Some(Some(source)) = self.settings.sources.get(port)
                    && !sources.contains(source)
                {
                    sources.push(*source);
                }
            } else {
                vars[dims.received()] = value.as_real().unwrap_or(0.0);
                let port = port - dims.inputs;
                self.equations.receive(port, &mut vars, &mut self.scratch.work, &mut emitted);
                changed = true;
            }
        }
        self.state.exchanges += sources.len() as u64;
        if changed {
            self.finite_after(&vars, "the reset by an input event is not finite")?;
        }
        if changed || jump {
            self.adopt(&vars);
            let after = self.outputs_of(&vars);
            if after != before || changed {
                self.queue_segments(0.0, &vars, Some(&before), Flag::Jump)?;
            }
        }
        self.queue_emitted(emitted);
        Ok(())
    }

    /// After a transition: what is due at once, at the next micro-step; else go on silently.
    fn plan_now(&mut self) -> Result<(), String> {
        if !self.state.sessions.is_empty() {
            self.queue_answers();
            self.state.plan = Plan::Due(0, Action::Decide);
            return Ok(());
        }
        if !self.state.outbox.is_empty() {
            self.state.plan = Plan::Due(0, Action::Send);
            return Ok(());
        }
        let x = self.state.solver.state().to_vec();
        let vars = self.vars_at(0.0, &x, &self.state.discrete);
        self.indicators_of(&vars);
        let z = &self.scratch.z;
        let (locator, first) = (&self.state.locator, self.first_link());
        let holds = |i: usize| locator.arms()[i] == Arm::Armed && locator.events()[i].holds(z);
        let fired: Vec<u16> = (0..self.equations.events().len())
            .filter(|&i| matches!(self.equations.events()[i].trigger, Trigger::State { .. }))
            .filter(|&i| holds(i))
            .map(|i| i as u16)
            .collect();
        let links = 0..self.equations.links().len();
        let link = links.filter(|&i| holds(first + i)).min_by_key(|&i| self.rank(i));
        // Conditions that became false arm their events again.
        self.state.locator.accept(0.0, z);
        self.arm_bands();
        if !fired.is_empty() {
            return self.plan_events(0, fired);
        }
        if let Some(link) = link {
            self.plan_proposal(0, link);
            return Ok(());
        }
        if self.settings.exchange_tolerance.is_finite() && self.left_band(&vars) {
            self.queue_segments(0.0, &vars, None, Flag::Continuous)?;
            self.state.plan = Plan::Due(0, Action::Send);
        }
        Ok(())
    }

    /// Whether an output is already outside the band around what receivers hold.
    fn left_band(&mut self, vars: &[f64]) -> bool {
        let y = self.outputs_of(vars);
        let (last, resolution) = (self.state.last, self.settings.resolution);
        y.iter().zip(&self.state.sent).any(|(y, held)| {
            let held = held.segment.value(resolution.seconds(last - held.at));
            (y - held).abs() > self.settings.exchange_tolerance
        })
    }
}
