//! `automaton`: a timed finite state machine.
mod formula;
mod parse;
#[cfg(test)]
mod tests;

use super::events::{number, same};
use crate::{
    kinds::{
        ParamError, ParamType, PortSpec, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{needed, random_ticks, with},
        ports::{event, signal},
    },
    maths::{expr::VarId, random::RandomStream},
    signal::{
        Level, NEVER, Timer,
        value::{Segment, Value},
    },
};
use formula::{FIRST, Formula, Guard, TIME, VALUE};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Fact, Outbox, port::OutPort, time::Duration,
};

/// The cause of a transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cause {
    /// So many ticks after the state was entered.
    After(i64),
    /// So many seconds after it was entered, computed then.
    Computed(Formula),
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
    /// The condition that must hold.
    pub guard: Option<Guard>,
    /// Numbers that it sends, by the variables before it.
    pub send: Box<[(u16, Formula)]>,
    /// Variables and their new values.
    pub set: Box<[(usize, Formula)]>,
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
    /// The next time-out: its tick and transition; of several the earliest, of several at one tick the first in
    /// the list.
    due: Option<(i64, u32)>,
    /// The transition that an input caused, and the numbers it sends; told in the next micro-step.
    told: Option<(u32, Vec<f64>)>,
    /// The time in seconds, the value of an event, and the variables.
    vars: Vec<f64>,
    stream: RandomStream,
    level: Level,
    /// Events of this instant that wait for those before them, where each is heard.
    queue: Option<VecDeque<(u16, Value)>>,
    /// Whether it was told that some were not heard.
    noted: bool,
    /// Names of the inputs.
    ports: Arc<[Arc<str>]>,
    /// Of each transition, whether its formulas read the value of the event, or those of the state to which it leads.
    reads: Arc<[bool]>,
}

/// Whether what happens with each transition reads the value of its event.
fn reads(arrows: &[Arrow]) -> Arc<[bool]> {
    let value = VarId(VALUE as u32);
    let number = |f: &Formula| f.expr.vars().contains(&value);
    let guard = |a: &Arrow| {
        let atoms = a.guard.iter().flat_map(|guard| guard.0.atoms());
        atoms.into_iter().any(|atom| atom.z.vars().contains(&value))
    };
    let waits = |a: &Arrow| match &a.cause {
        Cause::On(..) => false,
        Cause::After(_) => guard(a),
        Cause::Computed(after) => guard(a) || number(after),
    };
    let own = |a: &Arrow| {
        let sent = a.send.iter().map(|(_, f)| f);
        guard(a) || sent.chain(a.set.iter().map(|(_, f)| f)).any(number)
    };
    let then = |a: &Arrow| arrows.iter().any(|b| b.from.contains(&a.to) && waits(b));
    arrows.iter().map(|a| own(a) || then(a)).collect()
}

impl Automaton {
    const STATE: OutPort<Value, Self> = OutPort::new(0);
    const NUMBER: OutPort<Segment, Self> = OutPort::new(1);
    /// Number of outputs before the declared ones.
    const OWN: u16 = 2;

    /// Enters a state: which of its time-outs comes is decided by the variables now.
    fn enter(&mut self, state: u32) -> Result<(), Wrong> {
        let arrows = Arc::clone(&self.arrows);
        (self.state, self.due) = (state, None);
        for (arrow, k) in arrows.iter().zip(0..).filter(|(a, _)| a.from.contains(&state)) {
            let ticks = match &arrow.cause {
                Cause::On(..) => continue,
                _ if !self.allows(arrow) => continue,
                Cause::After(ticks) => *ticks,
                Cause::Computed(formula) => {
                    let seconds = formula.value(&self.vars, &mut self.stream);
                    if !seconds.is_finite() {
                        return Err(Wrong("`after`", seconds, FINITE));
                    }
                    if seconds < 0.0 {
                        return Err(Wrong("`after`", seconds, NEGATIVE));
                    }
                    random_ticks(seconds, self.timer.resolution())
                }
            };
            let at = self.timer.now().saturating_add(ticks);
            self.due = Some(self.due.map_or((at, k), |due| due.min((at, k))));
        }
        Ok(())
    }

    fn allows(&self, arrow: &Arrow) -> bool {
        arrow.guard.as_ref().is_none_or(|guard| guard.holds(&self.vars))
    }

    /// The numbers that a transition sends at tick `now`, on an event with this value.
    fn numbers(&self, arrow: u32, now: i64, value: f64) -> Vec<f64> {
        let all = self.arrows[arrow as usize].send.iter();
        let mut vars = self.vars.clone();
        (vars[TIME], vars[VALUE]) = (self.timer.seconds(0, now), value);
        // Sending draws nothing.
        all.map(|(_, formula)| formula.expr.eval(&vars)).collect()
    }

    fn waiting(&self) -> bool {
        self.told.is_some() || self.level.is_pending()
    }

    /// The first transition in the list that any of these events enables, if one does, with the number of the event.
    /// Leaves its value among the variables.
    fn enabled(
        &mut self,
        events: &[(u16, Value)],
        fx: &mut Effects<Value>,
    ) -> Option<(u32, usize)> {
        let arrows = Arc::clone(&self.arrows);
        arrows.iter().zip(0..).find_map(|(a, k)| {
            let Cause::On(port, wanted) = &a.cause else { return None };
            if !a.from.contains(&self.state) {
                return None;
            }
            let enables = |(p, v): &(u16, Value)| {
                if p != port || wanted.as_ref().is_some_and(|w| !same(w, v)) {
                    return false;
                }
                self.vars[VALUE] = match self.reads[k as usize] {
                    true => number(v, &self.ports[usize::from(*p)], fx),
                    false => v.as_real().unwrap_or(0.0),
                };
                self.allows(a)
            };
            Some((k, events.iter().position(enables)?))
        })
    }

    /// Takes the transition that these events enable; gives the number of the event that did.
    fn answer(&mut self, events: &[(u16, Value)], fx: &mut Effects<Value>) -> Option<usize> {
        let (k, event) = self.enabled(events, fx)?;
        let numbers = self.numbers(k, self.timer.now(), self.vars[VALUE]);
        self.take(k, EventKind::Private, fx);
        self.told = Some((k, numbers));
        Some(event)
    }

    /// Hears the events that wait, up to the first that enables a transition.
    fn answer_next(&mut self, fx: &mut Effects<Value>) {
        while self.told.is_none()
            && let Some(event) = self.queue.as_mut().and_then(VecDeque::pop_front)
        {
            self.answer(&[event], fx);
        }
    }

    /// Tells once that events of a cycle, but for number `heard`, would have had an effect as well.
    fn note_unheard(
        &mut self,
        mut events: Vec<(u16, Value)>,
        heard: usize,
        fx: &mut Effects<Value>,
    ) {
        const UNHEARD: &str = "several events came at one instant; one transition was taken, and others that would have \
                               caused one were not heard: give it `simultaneous = \"each\"` to hear them one after the other";
        events.remove(heard);
        let value = self.vars[VALUE];
        if !self.noted && self.enabled(&events, fx).is_some() {
            self.noted = true;
            fx.report(Fact::Note(Arc::from(UNHEARD)));
        }
        self.vars[VALUE] = value;
    }

    fn reschedule(&mut self) {
        let at = self.due.map_or(NEVER, |(at, _)| at);
        self.timer.set(if self.waiting() { self.timer.now() } else { at.max(self.timer.now()) });
    }

    fn take(&mut self, arrow: u32, kind: EventKind, fx: &mut Effects<Value>) {
        let arrows = Arc::clone(&self.arrows);
        let arrow = &arrows[arrow as usize];
        let new: Vec<f64> = arrow
            .set
            .iter()
            .map(|(_, formula)| formula.value(&self.vars, &mut self.stream))
            .collect();
        arrow.set.iter().zip(&new).for_each(|((place, _), value)| self.vars[*place] = *value);
        let wrong = new.iter().find(|value| !value.is_finite());
        let set = wrong.map_or(Ok(()), |value| Err(Wrong("`set`", *value, FINITE)));
        if let Err(Wrong(what, value, help)) = set.and_then(|()| self.enter(arrow.to)) {
            let name = &self.names[arrow.to as usize];
            fx.fail(format!("{what} of a transition to `{name}` gives {value}: {help}"));
        }
        self.level.change(f64::from(self.state), self.timer.now());
        crate::kinds::ports::happened(fx, &self.names[self.state as usize], kind);
    }

    fn tell(&self, arrow: u32, numbers: &[f64], out: &mut Outbox<'_, Value>) {
        let arrow = &self.arrows[arrow as usize];
        out.send(Self::STATE, Value::Text(Arc::clone(&self.names[arrow.to as usize])));
        for (port, value) in &arrow.emit {
            out.send(OutPort::<_>::new(*port), value.clone());
        }
        for ((port, _), number) in arrow.send.iter().zip(numbers) {
            out.send(OutPort::<_>::new(*port), Value::Real(*number));
        }
    }
}

/// The formula that gave a wrong number, that number, and a remedy.
struct Wrong(&'static str, f64, &'static str);

const FINITE: &str = "check divisions and logarithms in it";
const NEGATIVE: &str = "no time-out lies in the past; check its sign, or write max(0, ...)";

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
        if let Some((k, numbers)) = &self.told {
            self.tell(*k, numbers, out);
        }
        if let Some((_, k)) = self.due.filter(|_| !self.waiting()) {
            let next = self.timer.next();
            self.tell(k, &self.numbers(k, next, 0.0), out);
            level.change(f64::from(self.arrows[k as usize].to), next);
        }
        if let Some(segment) = level.pending() {
            out.send(Self::NUMBER, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let waiting = self.waiting();
        let due = self.due;
        self.timer.fire();
        if waiting {
            self.told = None;
            self.level.sent();
            self.answer_next(fx);
            return self.reschedule();
        } else if let Some((_, k)) = due {
            (self.vars[TIME], self.vars[VALUE]) = (self.timer.seconds(0, self.timer.now()), 0.0);
            self.take(k, EventKind::Time, fx);
        }
        self.level.sent();
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.vars[TIME] = self.timer.seconds(0, self.timer.now());
        let events: Vec<(u16, Value)> =
            bag.iter().map(|(port, value)| (port, value.clone())).collect();
        if let Some(queue) = &mut self.queue {
            queue.extend(events);
            self.answer_next(fx);
        } else if let Some(heard) = self.answer(&events, fx)
            && events.len() > 1
        {
            self.note_unheard(events, heard, fx);
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
            let sent = arrow.emit.iter().map(|e| e.0).chain(arrow.send.iter().map(|e| e.0));
            pairs.extend(own.chain(sent).map(|output| (input, output)));
            let quick = |a: &Arrow| matches!(a.cause, Cause::After(0) | Cause::Computed(_));
            let at_once = |a: &&Arrow| quick(a) && a.from.contains(&arrow.to);
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
    /// in the list that any event of the cycle enables; others that would have caused one then are not heard, and a
    /// note tells of it. With `simultaneous = "each"` the events of a cycle are heard one after the other, in the
    /// order of `inputs`, and at one input by the path of the sender, each with its own transition in a micro-step of its own. A time-out and an event in the same cycle:
    /// the time-out goes first. A time-out is told in its own cycle, a transition on an event one
    /// micro-step after it. `emit` gives values for outputs (or one value for the first output).
    ///
    /// `variables` are numbers that transitions `set`; `if` is a condition without which a transition is not taken,
    /// and `send` sends numbers, computed before `set`. `after` may be a formula, too, which is computed as the state
    /// is entered, when also the conditions of time-outs are looked at: `after = "exponential(5)"`. Formulas know
    /// the variables, the parameters, the time `t`, `value` of the event, and in `set` and `after` random numbers.
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
        needed("transitions", ParamType::Raw, "list of { from, to, after or on, value, if, emit, send, set }"),
        with("initial", ParamType::Text, "", "state at the start; default the first"),
        with("inputs", ParamType::Raw, "", "names of event inputs"),
        with("outputs", ParamType::Raw, "", "names of event outputs"),
        with("simultaneous", ParamType::Choice(&["first", "each"]), "first", "which of the events of one cycle cause a transition"),
        with("variables", ParamType::Raw, "", "numbers that transitions set: name = number or formula"),
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
    value_names: |params, output| match output {
        "number" => parse::names(params).map_or(Vec::new(), |names| names.states),
        _ => Vec::new(),
    },
    build: |params, context| {
        let names = parse::names(params)?;
        let variables = parse::variables(params, context)?;
        let (initial, arrows) = parse::arrows(params, &names, context)?;
        let mut model = Automaton {
            timer: Timer::due(0, context.resolution),
            names: names.states.iter().map(|s| Arc::from(s.as_str())).collect(),
            reads: reads(&arrows),
            arrows: arrows.into(),
            ports: names.inputs.iter().map(|s| Arc::from(s.as_str())).collect(),
            inputs: names.inputs.len() as u16,
            outputs: Automaton::OWN + names.outputs.len() as u16,
            state: initial,
            due: None,
            told: None,
            vars: [0.0; FIRST].into_iter().chain(variables.start).collect(),
            stream: RandomStream::new(context.seed, &format!("{}#automaton", context.path)),
            level: Level::new(f64::from(initial)),
            queue: (params.text("simultaneous") == "each").then(VecDeque::new),
            noted: false,
        };
        model.enter(initial).map_err(|Wrong(what, value, help)| {
            let error = ParamError::at(params.span("transitions"), format!("{what} gives {value}"));
            vec![error.help(help)]
        })?;
        model.reschedule();
        Ok(Component::atomic(model))
    },
}
