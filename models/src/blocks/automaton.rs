//! `automaton`: a timed finite state machine.
mod parse;

use super::events::same;
use crate::{
    kinds::{
        ParamType, PortSpec, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{needed, with},
        ports::{event, signal},
    },
    signal::{
        Level, NEVER, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox, port::OutPort, time::Duration,
};

/// The cause of a transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cause {
    /// So many ticks after the state was entered.
    After(i64),
    /// An event on an input, with this value if one is given.
    On(u16, Option<Value>),
}

/// A transition between states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrow {
    /// States it starts from.
    pub from: Box<[u32]>,
    /// Its cause.
    pub cause: Cause,
    /// State it leads to.
    pub to: u32,
    /// The messages it sends: output port and value.
    pub emit: Box<[(u16, Value)]>,
}

/// A timed automaton. Inputs: events; outputs: 0 the entered state's name, 1 its number as a
/// signal, then the declared event outputs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Automaton {
    timer: Timer,
    names: Arc<[Arc<str>]>,
    arrows: Arc<[Arrow]>,
    inputs: u16,
    outputs: u16,
    state: u32,
    /// Tick at which the state was entered.
    entered: i64,
    /// The transition that an input caused; told in the next micro-step.
    told: Option<u32>,
    level: Level,
}

impl Automaton {
    const STATE: OutPort<Value, Self> = OutPort::new(0);
    const NUMBER: OutPort<Segment, Self> = OutPort::new(1);
    /// Number of outputs before the declared ones.
    const OWN: u16 = 2;

    /// The next time-out of the state: its tick and transition; of several the earliest, of
    /// several at one tick the first in the list.
    fn time_out(&self) -> Option<(i64, u32)> {
        let here = self.arrows.iter().zip(0..).filter(|(a, _)| a.from.contains(&self.state));
        let times = here.filter_map(|(a, k)| match a.cause {
            Cause::After(ticks) => Some((self.entered.saturating_add(ticks), k)),
            Cause::On(..) => None,
        });
        times.min()
    }

    fn waiting(&self) -> bool {
        self.told.is_some() || self.level.is_pending()
    }

    fn reschedule(&mut self) {
        let at = self.time_out().map_or(NEVER, |(at, _)| at);
        self.timer.set(if self.waiting() { self.timer.now() } else { at.max(self.timer.now()) });
    }

    fn take(&mut self, arrow: u32, kind: EventKind, fx: &mut Effects<Value>) {
        self.state = self.arrows[arrow as usize].to;
        self.entered = self.timer.now();
        self.level.change(f64::from(self.state), self.timer.now());
        crate::kinds::ports::happened(fx, &self.names[self.state as usize], kind);
    }

    fn tell(&self, arrow: u32, out: &mut Outbox<'_, Value>) {
        let arrow = &self.arrows[arrow as usize];
        out.send(Self::STATE, Value::Text(Arc::clone(&self.names[arrow.to as usize])));
        for (port, value) in &arrow.emit {
            out.send(OutPort::<_>::new(*port), value.clone());
        }
    }
}

impl Atomic<Value> for Automaton {
    fn inputs(&self) -> u16 {
        self.inputs
    }
    fn outputs(&self) -> u16 {
        self.outputs
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut level = self.level.clone();
        let arrow = if self.waiting() { self.told } else { self.time_out().map(|(_, k)| k) };
        if let Some(k) = arrow {
            self.tell(k, out);
            if !self.waiting() {
                level.change(f64::from(self.arrows[k as usize].to), self.timer.next());
            }
        }
        if let Some(segment) = level.pending() {
            out.send(Self::NUMBER, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let waiting = self.waiting();
        let due = self.time_out();
        self.timer.fire();
        if waiting {
            self.told = None;
        } else if let Some((_, k)) = due {
            self.take(k, EventKind::Time, fx);
        }
        self.level.sent();
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let enabled = |a: &Arrow| {
            let Cause::On(port, wanted) = &a.cause else { return false };
            let matches =
                |(p, v): (u16, &Value)| p == *port && wanted.as_ref().is_none_or(|w| same(w, v));
            a.from.contains(&self.state) && bag.iter().any(matches)
        };
        if let Some(k) = self.arrows.iter().position(enabled) {
            self.take(k as u32, EventKind::Private, fx);
            self.told = Some(k as u32);
        }
        self.reschedule();
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == Self::NUMBER.index()).then(|| Value::Real(self.level.value()))
    }
}

/// The outputs that events of each input bring about at once: those of the transitions that they
/// start, and of time-outs of zero in the states to which these lead.
fn answers(inputs: usize, arrows: &[Arrow]) -> Vec<(u16, u16, Passing)> {
    let mut pairs = BTreeSet::new();
    for input in 0..inputs as u16 {
        let mut taken: Vec<&Arrow> =
            arrows.iter().filter(|a| matches!(a.cause, Cause::On(on, _) if on == input)).collect();
        let mut next = 0;
        while let Some(&arrow) = taken.get(next) {
            next += 1;
            let own = 0..Automaton::OWN;
            pairs.extend(own.chain(arrow.emit.iter().map(|e| e.0)).map(|output| (input, output)));
            let at_once = |a: &&Arrow| a.cause == Cause::After(0) && a.from.contains(&arrow.to);
            for follows in arrows.iter().filter(at_once) {
                if !taken.iter().any(|&a| std::ptr::eq(a, follows)) {
                    taken.push(follows);
                }
            }
        }
    }
    pairs.into_iter().map(|(input, output)| (input, output, Passing::Sometimes)).collect()
}

unit_kind! {
    /// `automaton`: a timed finite state machine. Inputs as listed in `inputs`; outputs `state`
    /// (event: the name of each entered state), `number` (signal: place of the state in `states`,
    /// from 0), and those listed in `outputs`.
    ///
    /// A transition starts `after` a time in its state, or `on` an event, perhaps with a `value`;
    /// `from` is a state, a list of states, or "*". One transition is taken per cycle: the first
    /// in the list that any event of the cycle enables. A time-out and an event in the same cycle:
    /// the time-out goes first. A time-out is told in its own cycle, a transition on an event one
    /// micro-step after it. `emit` gives values for outputs (or one value for the first output).
    ///
    /// ```toml
    /// [unit.light]
    /// kind = "automaton"
    /// states = ["red", "green", "yellow", "off"]
    /// inputs = ["order"]
    /// outputs = ["y"]
    /// transitions = [
    ///   { from = "*", on = "order", value = "toOff", to = "off" },
    ///   { from = "off", on = "order", value = "toAuto", to = "red" },
    ///   { from = "red", after = "60 s", to = "green", emit = "green" },
    ///   { from = "green", after = "50 s", to = "yellow", emit = { y = "yellow" } },
    ///   { from = "yellow", after = "10 s", to = "red", emit = "red" },
    /// ]
    /// ```
    AutomatonKind = "automaton", "a timed finite state machine",
    params: [
        needed("states", ParamType::Raw, "names of the states"),
        needed("transitions", ParamType::Raw, "list of { from, to, after or on, value, emit }"),
        with("initial", ParamType::Text, "", "state at the start; default the first"),
        with("inputs", ParamType::Raw, "", "names of event inputs"),
        with("outputs", ParamType::Raw, "", "names of event outputs"),
    ],
    ports: |params| {
        let names = parse::names(params)?;
        let any = |n: &String| event(n, ValueType::Any);
        let mut outputs: Vec<PortSpec> = vec![event("state", ValueType::Text), signal("number")];
        outputs.extend(names.outputs.iter().map(any));
        Ok(Ports { inputs: names.inputs.iter().map(any).collect(), outputs })
    },
    feed_through: |params, context| {
        let names = parse::names(params);
        let arrows = names.and_then(|names| Ok((names.inputs.len(), parse::arrows(params, &names, context)?.1)));
        FeedThrough::Pairs(arrows.map_or(Vec::new(), |(inputs, arrows)| answers(inputs, &arrows)))
    },
    build: |params, context| {
        let names = parse::names(params)?;
        let (initial, arrows) = parse::arrows(params, &names, context)?;
        let mut model = Automaton {
            timer: Timer::due(0, context.resolution),
            names: names.states.iter().map(|s| Arc::from(s.as_str())).collect(),
            arrows: arrows.into(),
            inputs: names.inputs.len() as u16,
            outputs: Automaton::OWN + names.outputs.len() as u16,
            state: initial,
            entered: 0,
            told: None,
            level: Level::new(f64::from(initial)),
        };
        model.reschedule();
        Ok(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    /// The traffic light and the police officer of Gomes et al., "Co-simulation: State of the
    /// art" (2017), section 3.1.
    const TRAFFIC: &str = r#"
        connections = ["police.y -> light.order"]
        [unit.light]
        kind = "automaton"
        states = ["red", "green", "yellow", "off"]
        inputs = ["order"]
        outputs = ["y"]
        transitions = [
          { from = "*", on = "order", value = "toWork", to = "off" },
          { from = "off", on = "order", value = "toIdle", to = "red" },
          { from = "red", after = "60 s", to = "green", emit = "green" },
          { from = "green", after = "50 s", to = "yellow", emit = "yellow" },
          { from = "yellow", after = "10 s", to = "red", emit = { y = "red" } },
        ]
        [unit.police]
        kind = "automaton"
        states = ["idle", "working"]
        outputs = ["y"]
        transitions = [
          { from = "idle", after = 100, to = "working", emit = "toWork" },
          { from = "working", after = 200.0, to = "idle", emit = "toIdle" },
        ]
        "#;

    #[test]
    fn traffic_light() {
        let bench = Bench::run(TRAFFIC, 1000.0);
        assert_eq!(
            bench.events("light.y"),
            ["60@0 green", "360@0 green", "660@0 green", "960@0 green"]
        );
        assert_eq!(
            bench.events("police.y"),
            [
                "100@0 toWork",
                "300@0 toIdle",
                "400@0 toWork",
                "600@0 toIdle",
                "700@0 toWork",
                "900@0 toIdle",
                "1000@0 toWork"
            ]
        );
        assert_eq!(bench.events("light.state")[..3], ["60@0 green", "100@1 off", "300@1 red"]);
        assert_eq!(
            bench.signal("light.number")[..3],
            ["0@0 [0.0] left 0", "60@0 Jump [1.0] left 0", "100@1 Jump [3.0] left 1"]
        );
        assert_eq!(bench.probe("light.number"), 3.0);
    }

    /// Conformance H14: two events in one cycle toggle once.
    #[test]
    fn one_transition_per_cycle() {
        let bench = Bench::run(
            r#"
            connections = ["s.y -> m.u", "s.y -> d.u", "d.y -> m.u"]
            [unit.s]
            kind = "schedule"
            times = [1, 1]
            [unit.d]
            kind = "delay"
            delay = 0
            [unit.m]
            kind = "automaton"
            states = ["a", "b"]
            inputs = ["u"]
            transitions = [
              { from = "a", on = "u", to = "b" },
              { from = "b", on = "u", to = "a" },
            ]
            "#,
            2.0,
        );
        assert_eq!(bench.events("m.state"), ["1@1 b", "1@2 a"]);
    }

    #[test]
    fn mistakes_are_all_named() {
        let text = mistakes(
            "[unit.m]\nkind='automaton'\nstates=['a','b']\ninitial='c'\ninputs=['u']\n\
             transitions=[{from='a',to='x',after=1},{from='a',to='b'},\
             {from='b',on='v',to='a'},{from='b',on='u',to='a',emit='q'},{color=1}]",
        );
        assert_eq!(
            text,
            [
                "no state `c`; the states are a, b",
                "no state `x`; the states are a, b",
                "a transition needs either `after` or `on`; add after = \"5 s\" or on = \"input\"",
                "no input `v`; the inputs are u",
                "nothing to emit on: the unit has no outputs; add outputs = [\"y\"]",
                "unknown key `color`; the keys are from, to, after, on, value, emit",
                "a transition needs `from`; add from = a state",
                "a transition needs `to`; add to = a state",
                "a transition needs either `after` or `on`; add after = \"5 s\" or on = \"input\"",
            ]
        );
    }
}
