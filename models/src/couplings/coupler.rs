//! The master as an atomic model.
use super::{Balance, Compensation, Extrapolation, Line, LookAhead, LowPass, Pace};
use crate::{
    signal::{NEVER, Timer},
    value::{Flag, Segment, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Effects, Outbox, port::OutPort, time::Duration};

/// Signals pass through: input i is a source, output i is what its receivers are told.
///
/// # One exchange
/// At its tag, micro-step 0, all sources are read, as they are with the inputs of the step that
/// ends there; what receivers are told goes out one micro-step later, to all of them at once. An
/// output with direct feed-through that answers to that is heard at the next exchange, or, where
/// the coupler *settles*, at once: then values go round at this instant until none changes by more
/// than a tolerance, which solves algebraic loops by fixed-point iteration, relaxed on request; a
/// loop that does not converge is an error. The first exchange is as soon as all sources have been
/// heard.
///
/// # Events
/// A member that believes in a shared event, by what it was told, proposes it; when the others'
/// true values refute it, all send what they are by then, and the coupler hands that on at once.
/// This is CHECK of the interrupted sequential scheme (document 000, 3.3). Whether a jump of a
/// source is handed on at once (*interrupt*) or at the next exchange (*wait*) is the policy's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Coupler {
    pub(super) timer: Timer,
    pub(super) lines: Vec<Line>,
    pub(super) policy: Policy,
    pub(super) outbox: Vec<(u16, Segment)>,
    /// Tick of the last and of the next planned exchange.
    pub(super) last: i64,
    pub(super) planned: i64,
    pub(super) exchanges: u64,
    /// How often values went round at this instant.
    rounds: u32,
    /// Whether relaxation has held part of a change back.
    unsettled: bool,
}

/// What a coupler does with its signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// When exchanges are.
    pub pace: Pace,
    /// How each signal is continued; one per signal.
    pub extrapolations: Vec<Extrapolation>,
    /// What past errors add to that.
    pub compensation: Compensation,
    /// A filter on what is told.
    pub low_pass: Option<LowPass>,
    /// A jump of a source is passed on at once, and ends the macro step for all.
    pub interrupts: bool,
    /// Whether and how answers to an exchange are exchanged at the same instant.
    pub settles: Option<Settling>,
    /// Names of the signals, for errors.
    pub names: Vec<String>,
    /// Exchanges before predicted events.
    pub look_ahead: Option<LookAhead>,
    /// Signals that carry power.
    pub balance: Option<Balance>,
}

/// Fixed-point iteration over what units with feed-through answer at the instant of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// Ends when no signal y changes by more than this times 1 + |y|.
    pub tolerance: f64,
    /// How much of each change is handed on: below 1 for loops whose gain is below -1.
    pub relaxation: f64,
}

/// Rounds after which a loop counts as diverging.
const ROUNDS: u32 = 4000;

impl Coupler {
    /// A master that sends nothing before it has heard all signals.
    pub fn new(policy: Policy, timer: Timer) -> Self {
        Self {
            timer,
            lines: vec![Line::default(); policy.extrapolations.len()],
            policy,
            outbox: Vec::new(),
            last: 0,
            planned: NEVER,
            exchanges: 0,
            rounds: 0,
            unsettled: false,
        }
    }

    /// Largest error of what receivers were told, by its aim.
    fn ratio(&self, now: i64) -> Option<f64> {
        let tolerance = self.policy.pace.tolerance()?;
        let miss = |line: &Line| {
            let y = line.value(now, &self.timer);
            line.gap(now, &self.timer).abs() / (tolerance * (1.0 + y.abs()))
        };
        Some(self.lines.iter().map(miss).fold(0.0, f64::max))
    }

    /// Plans the next exchange by what the signals are going to do. Steps then count from here,
    /// not on a grid (document 002, figure 3).
    fn look_ahead(&mut self, now: i64, elapsed: f64) {
        let Some(look) = &mut self.policy.look_ahead else { return };
        let value = |line: &Line| line.value(now, &self.timer);
        let signals: Vec<f64> = self.lines.iter().map(value).collect();
        let step = now.saturating_add(self.policy.pace.step());
        let predicted = look.predict(&signals, elapsed);
        self.planned = predicted.map_or(step, |t| self.timer.within(t).min(step));
    }

    fn exchange(&mut self) {
        let now = self.timer.now();
        let timer = self.timer;
        let elapsed = timer.seconds(self.last, now);
        let ratio = self.ratio(now).filter(|_| now > self.last);
        self.planned = self.policy.pace.next(now, ratio);
        self.look_ahead(now, elapsed);
        let again = self.exchanges > 0 && now == self.last;
        self.rounds = if again { self.rounds + 1 } else { 0 };
        let settling = self.policy.settles.filter(|s| again && s.relaxation < 1.0);
        self.unsettled = false;
        // Signals that are rates are the exception.
        let rates = self.policy.extrapolations.iter().any(|e| e.rate.is_some());
        let rates = if rates { &self.lines[..] } else { &[] };
        let values: Vec<f64> = rates.iter().map(|line| line.value(now, &timer)).collect();
        let ahead = timer.seconds(now, self.planned);
        for (port, line) in self.lines.iter_mut().enumerate() {
            line.exchange(now, elapsed, &timer);
            let mut p = self.policy.extrapolations[port].tell(line, now, ahead, &values, &timer);
            self.policy.compensation.correct(line, &mut p);
            if let Some(filter) = self.policy.low_pass {
                filter.smooth(line, &mut p, elapsed);
            }
            if let (Some(settling), Some(held)) = (settling, line.held(now, &timer)) {
                let y = p.value(0.0);
                let back = (1.0 - settling.relaxation) * (held - y);
                let small = back.abs() <= settling.tolerance * (1.0 + y.abs());
                p.add(1.0, &[back]);
                self.unsettled |= !small;
            }
            if self.policy.balance.as_mut().is_some_and(|b| b.take(port, &p)) {
                continue;
            }
            if let Some(segment) = line.tell(&p, now, &timer) {
                self.outbox.retain(|(at, _)| usize::from(*at) != port);
                self.outbox.push((port as u16, segment));
            }
        }
        if let Some(balance) = &mut self.policy.balance {
            balance.agree(now, ahead, &self.lines, &timer);
            self.balance();
        }
        // What is handed on at the same instant again is no step of its own.
        self.exchanges += u64::from(self.exchanges == 0 || now > self.last);
        self.last = now;
    }

    /// Tells signals that carry power, by what their receivers are doing.
    fn balance(&mut self) {
        let (now, timer) = (self.timer.now(), self.timer);
        let Some(balance) = &mut self.policy.balance else { return };
        for (port, segment) in balance.tell(now, &mut self.lines, &timer) {
            self.outbox.retain(|(at, _)| *at != port);
            self.outbox.push((port, segment));
        }
    }

    fn receive(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) -> bool {
        let (timer, mut urgent, mut first) = (self.timer, false, false);
        let answers = self.exchanges > 0 && timer.now() == self.last;
        for (port, value) in bag.iter() {
            let Some(line) = self.lines.get_mut(usize::from(port)) else { continue };
            let new = !line.heard();
            let before = line.value(timer.now(), &timer);
            let jumped = line.hear(value, answers, &timer);
            let y = line.value(timer.now(), &timer);
            if !y.is_finite() {
                fx.fail(format!("the coupled signal {port} is not finite"));
            }
            let asked = matches!(value, Value::Segment(s) if s.flag == Flag::Refresh);
            let change = (y - before).abs();
            let passed_on = match self.policy.settles.filter(|_| answers) {
                Some(settling) => change > settling.tolerance * (1.0 + y.abs()),
                None => !answers && self.policy.interrupts,
            };
            if passed_on && answers && self.rounds >= ROUNDS {
                fx.fail(format!(
                    "the loop through the coupled signals {} does not converge: {} still changes \
                     by {change:e} after {ROUNDS} rounds; try a smaller `relaxation`, or \
                     feed_through = \"delayed\"",
                    self.policy.names.join(", "),
                    self.policy.names.get(usize::from(port)).map_or("one", String::as_str),
                ));
            }
            urgent |= !new && (asked || (jumped && passed_on));
            first |= new;
        }
        (first || urgent) && self.lines.iter().all(Line::heard)
    }

    /// An exchange, if one is due, or else what changes between two.
    fn go_on(&mut self, exchange: bool, heard: bool) {
        let between = |b: &Balance| heard || self.timer.now() >= b.due();
        if exchange {
            self.exchange();
        } else if self.exchanges > 0 && self.policy.balance.as_ref().is_some_and(between) {
            self.balance();
        }
        let busy = self.unsettled || !self.outbox.is_empty();
        let between = self.policy.balance.as_ref().map_or(NEVER, Balance::due);
        self.timer.set(if busy { self.timer.now() } else { self.planned.min(between) });
    }

    /// After λ; gives whether an exchange is due. What relaxation held back goes on its way after
    /// the answers to what was sent.
    fn sent(&mut self) -> bool {
        let idle = self.outbox.is_empty();
        self.outbox.clear();
        self.timer.now() >= self.planned || (self.unsettled && idle)
    }
}

impl Atomic<Value> for Coupler {
    fn inputs(&self) -> u16 {
        self.lines.len() as u16
    }
    fn outputs(&self) -> u16 {
        self.lines.len() as u16
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, segment) in &self.outbox {
            out.send(OutPort::<Segment>::new(*port), segment.clone());
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let due = self.sent();
        self.go_on(due, false);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let due = self.receive(bag, fx);
        self.go_on(due, true);
    }
    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.fire();
        let due = self.sent();
        let due = self.receive(bag, fx) || due;
        self.go_on(due, true);
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let now = self.timer.at(elapsed);
        let held = self.lines.get(usize::from(port))?.held(now, &self.timer)?;
        Some(Value::Real(held))
    }
    fn statistics(&self) -> Vec<(&'static str, u64)> {
        vec![("macro_steps", self.exchanges)]
    }
}
