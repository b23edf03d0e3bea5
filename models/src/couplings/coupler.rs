//! The master as an atomic model.
use super::{Compensation, Extrapolation, Line, LookAhead, Pace};
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
/// the coupler *settles*, at once: then values go round at this instant until none changes, which
/// solves algebraic loops by fixed-point iteration, or ends by the kernel's guard against zero-time
/// loops, which names the ring. The first exchange is as soon as all sources have been heard.
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
    /// A jump of a source is passed on at once, and ends the macro step for all.
    pub interrupts: bool,
    /// Answers to an exchange are exchanged at the same instant, until nothing changes.
    pub settles: bool,
    /// Exchanges before predicted events.
    pub look_ahead: Option<LookAhead>,
}

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
        }
    }

    /// Largest error of what receivers were told, by its aim.
    fn ratio(&self, now: i64) -> Option<f64> {
        let tolerance = self.policy.pace.tolerance()?;
        let miss = |line: &Line| {
            let y = line.source(now, &self.timer).value(0.0);
            line.gap(now, &self.timer).abs() / (tolerance * (1.0 + y.abs()))
        };
        Some(self.lines.iter().map(miss).fold(0.0, f64::max))
    }

    /// Plans the next exchange by what the signals are going to do. Steps then count from here,
    /// not on a grid (document 002, figure 3).
    fn look_ahead(&mut self, now: i64, elapsed: f64) {
        let Some(look) = &mut self.policy.look_ahead else { return };
        let value = |line: &Line| line.source(now, &self.timer).value(0.0);
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
        let ahead = timer.seconds(now, self.planned);
        for (port, line) in self.lines.iter_mut().enumerate() {
            line.exchange(now, elapsed, &timer);
            let mut p = self.policy.extrapolations[port].tell(line, now, ahead, &timer);
            self.policy.compensation.correct(line, &mut p);
            if let Some(segment) = line.tell(&p, now, &timer) {
                self.outbox.retain(|(at, _)| usize::from(*at) != port);
                self.outbox.push((port as u16, segment));
            }
        }
        // What is handed on at the same instant again is no step of its own.
        self.exchanges += u64::from(self.exchanges == 0 || now > self.last);
        self.last = now;
    }

    fn receive(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) -> bool {
        let (timer, mut urgent, mut first) = (self.timer, false, false);
        let answers = self.exchanges > 0 && timer.now() == self.last;
        for (port, value) in bag.iter() {
            let Some(line) = self.lines.get_mut(usize::from(port)) else { continue };
            let new = !line.heard();
            let jumped = match value {
                Value::Segment(s) => line.receive(s, answers, &timer),
                other => {
                    let x = other.as_real().unwrap_or(f64::NAN);
                    let old = line.source(timer.now(), &timer).value(0.0);
                    line.receive(&Segment::step(old, x), answers, &timer)
                }
            };
            if !line.source(timer.now(), &timer).value(0.0).is_finite() {
                fx.fail(format!("the coupled signal {port} is not finite"));
            }
            let asked = matches!(value, Value::Segment(s) if s.flag == Flag::Refresh);
            let passed_on = if answers { self.policy.settles } else { self.policy.interrupts };
            urgent |= !new && (asked || (jumped && passed_on));
            first |= new;
        }
        (first || urgent) && self.lines.iter().all(Line::heard)
    }

    fn reschedule(&mut self) {
        self.timer.set(if self.outbox.is_empty() { self.planned } else { self.timer.now() });
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
        self.outbox.clear();
        if self.timer.now() >= self.planned {
            self.exchange();
        }
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        if self.receive(bag, fx) {
            self.exchange();
        }
        self.reschedule();
    }
    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.outbox.clear();
        if self.receive(bag, fx) || self.timer.now() >= self.planned {
            self.exchange();
        }
        self.reschedule();
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let now = self.timer.at(elapsed);
        let told = self.lines.get(usize::from(port))?.told(now, &self.timer)?;
        Some(Value::Real(told.value(0.0)))
    }
    fn statistics(&self) -> Vec<(&'static str, u64)> {
        vec![("macro_steps", self.exchanges)]
    }
}
