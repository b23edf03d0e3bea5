//! The master as an atomic model.
use super::{
    Balance, Compensation, Extrapolation, Kalman, Line, LookAhead, LowPass, Pace, Sequence,
    extrapolation::Cubic, growth::Growth, record::Record, trial::is_refresh, trust::residual,
};
use crate::signal::{
    NEVER, Swing, Timer,
    value::{Segment, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox, port::OutPort, time::Duration,
};

/// Signals pass through: input i is a source, output i is what its receivers are told.
///
/// # One exchange
/// At its tag, micro-step 0, all sources are read, as they are with the inputs of the step that
/// ends there; what receivers are told goes out one micro-step later, to all of them at once. An
/// output with direct feed-through that answers to that is heard at the next exchange, or, where
/// the coupler *settles*, at once: then values go round at this instant until none changes by more
/// than a tolerance, which solves algebraic loops by fixed-point iteration, relaxed on request; a
/// loop that does not converge is an error.
///
/// The first exchange is as soon as all sources have been heard. Until then each one is told as it is first heard: a
/// unit that computes its output from its inputs alone, such as a gain, has no value before it knows them.
///
/// # Events
/// A member that believes in a shared event, by what it was told, proposes it; when the others'
/// true values refute it, all send what they are by then, and the coupler hands that on at once.
/// This is CHECK of the interrupted sequential scheme (Dejaco & Benedikt 2017, 3.3). Whether a jump of a
/// source is handed on at once (*interrupt*) or at the next exchange (*wait*) is the policy's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Coupler {
    pub(super) timer: Timer,
    pub(super) lines: Vec<Line>,
    pub(super) policy: Policy,
    /// Signals whose receivers are told something new next.
    outbox: Vec<u16>,
    /// Tick of the last and of the next planned exchange.
    pub(super) last: i64,
    pub(super) planned: i64,
    pub(super) exchanges: u64,
    /// How often values went round at this instant.
    rounds: u32,
    /// First and last micro-step at which receivers were told something at the instant of the last exchange.
    told: Option<[u32; 2]>,
    /// Tick of the last jump of a source that was no answer.
    jumped: i64,
    /// Whether relaxation has held part of a change back.
    unsettled: bool,
    /// A shared event has been refuted, in which receivers believed by what they were told.
    refuted: bool,
    growth: Growth,
    record: Record,
    /// How fast each signal swings, where steps follow that.
    swings: Vec<Swing>,
}

/// The treatment of a coupler's signals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// When exchanges are.
    pub pace: Pace,
    /// How each signal is continued; one per signal.
    pub extrapolations: Vec<Extrapolation>,
    /// The correction for past errors that is added.
    pub compensation: Compensation,
    /// A filter on what is told.
    pub low_pass: Option<LowPass>,
    /// The filters of measured signals, by signal; empty if there are none.
    pub measured: Vec<Option<Kalman>>,
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
    /// Who goes first, where that changes; signals of those who went before are handed on as they come.
    pub sequence: Option<Sequence>,
    /// Pairs of effort and flow whose energy tells the error of a step, instead of what was missed.
    pub bonds: Vec<[u16; 2]>,
    /// Per signal, the most units that pass what is told on to it at the same instant; 0 where it follows nothing
    /// that is told at once.
    pub answers: Vec<u32>,
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

impl Settling {
    /// Whether a signal that was `before` has yet to be handed on.
    fn goes_on(self, y: f64, before: f64) -> bool {
        (y - before).abs() > self.tolerance * (1.0 + y.abs())
    }

    /// Holds part of a change back from receivers that hold `held`; tells whether that counts.
    fn hold_back(self, p: &mut Cubic, held: f64) -> bool {
        let y = p[0];
        let back = (1.0 - self.relaxation) * (held - y);
        p[0] += back;
        back.abs() > self.tolerance * (1.0 + y.abs())
    }
}

impl Policy {
    /// A line for each signal, which keeps what this needs of it for polynomials as `wanted`.
    pub(super) fn lines(&self, wanted: impl Fn(Extrapolation) -> Extrapolation) -> Vec<Line> {
        self.extrapolations.iter().map(|&e| wanted(e).line(self.compensation)).collect()
    }

    /// A signal's name, for messages.
    fn name(&self, port: u16) -> &str {
        self.names.get(usize::from(port)).map_or("one", String::as_str)
    }

    fn diverges(&self, port: u16, change: f64) -> String {
        format!(
            "the loop through the coupled signals {} does not converge: {} still changes by \
             {change:e} after {ROUNDS} rounds; try a smaller `relaxation`, or \
             feed_through = \"delayed\"",
            self.names.join(", "),
            self.name(port),
        )
    }
}

impl Coupler {
    /// A master that has heard nothing yet.
    pub fn new(policy: Policy, timer: Timer) -> Self {
        let swings = if policy.pace.follows() { policy.names.len() } else { 0 };
        Self {
            timer,
            lines: policy.lines(|e| e),
            policy,
            outbox: Vec::new(),
            last: 0,
            planned: NEVER,
            exchanges: 0,
            rounds: 0,
            told: None,
            jumped: -1,
            unsettled: false,
            refuted: false,
            growth: Growth::default(),
            record: Record::default(),
            swings: vec![Swing::default(); swings],
        }
    }

    /// Tells of a coupling that diverges.
    fn watch(&mut self, fx: &mut Effects<Value>) {
        let (now, timer, lines) = (self.timer.now(), self.timer, &self.lines);
        let gaps = lines.iter().map(|line| line.gap(now, &timer));
        let Some((worst, gap)) = self.growth.look(self.exchanges, gaps) else { return };
        let name = self.policy.name(worst as u16);
        let note = format!(
            "the coupling diverges: what receivers were told of `{name}` is off by {gap:e}, and by ever more from \
             exchange to exchange; take a shorter `step`, or `iterate` (`check --stability` tells which steps are stable)"
        );
        fx.report(Fact::Note(note.into()));
    }

    /// Largest error of what receivers were told, by its aim.
    fn ratio(&self, now: i64) -> Option<f64> {
        let tolerance = self.policy.pace.tolerance()?;
        let Policy { bonds, extrapolations, .. } = &self.policy;
        if !bonds.is_empty() {
            let (of, span) = ((&self.lines[..], &extrapolations[..]), (self.last, now));
            return Some(residual(bonds, of, span, &self.timer, tolerance));
        }
        let miss = |line: &Line| {
            let y = line.value(now, &self.timer);
            line.gap(now, &self.timer).abs() / (tolerance * (1.0 + y.abs()))
        };
        Some(self.lines.iter().map(miss).fold(0.0, f64::max))
    }

    /// Plans the next exchange by what the signals are going to do. Steps then count from here,
    /// not on a grid (Tischer et al., figure 3).
    fn look_ahead(&mut self, now: i64, elapsed: f64) {
        let Some(look) = &mut self.policy.look_ahead else { return };
        let value = |line: &Line| line.value(now, &self.timer);
        let signals: Vec<f64> = self.lines.iter().map(value).collect();
        let step = now.saturating_add(self.policy.pace.step());
        let predicted = look.predict(&signals, elapsed);
        self.planned = predicted.map_or(step, |t| self.timer.within(t).min(step));
    }

    /// Takes the values of an exchange into what is known of how fast signals swing, and the step from that.
    #[cold]
    fn follow(&mut self, now: i64) {
        let (mut fastest, mut known) = (0.0f64, true);
        for (line, swing) in self.lines.iter().zip(&mut self.swings) {
            swing.take(now, line.value(now, &self.timer), &self.timer);
            fastest = fastest.max(swing.rate());
            known &= swing.is_known();
        }
        self.policy.pace.follow(fastest * self.timer.seconds(0, 1), known);
    }

    fn exchange(&mut self, fx: &mut Effects<Value>) {
        let (now, timer) = (self.timer.now(), self.timer);
        let elapsed = timer.seconds(self.last, now);
        let ratio = self.ratio(now).filter(|_| now > self.last);
        if !self.swings.is_empty() && (now > self.last || self.exchanges == 0) {
            self.follow(now);
        }
        self.planned = self.policy.pace.next(now, ratio);
        if let Some(ratio) = ratio {
            self.record.stands(ratio);
            self.record.saw(self.lines.iter().map(|line| line.value(now, &timer)));
        }
        self.look_ahead(now, elapsed);
        let again = self.exchanges > 0 && now == self.last;
        if !again {
            self.told = None;
            self.watch(fx);
        }
        self.rounds = if again { self.rounds + 1 } else { 0 };
        let settling = self.policy.settles.filter(|s| again && s.relaxation < 1.0);
        self.unsettled = false;
        let ahead = timer.seconds(now, self.planned);
        self.lines.iter_mut().for_each(|line| line.exchange(now, elapsed, &timer));
        self.sequence(now, ahead, fx);
        for port in 0..self.lines.len() {
            if self.policy.sequence.as_ref().is_some_and(|s| s.direct(port)) {
                continue;
            }
            let Policy { extrapolations, compensation, measured, low_pass, .. } = &self.policy;
            let mut p = extrapolations[port].after(self.refuted).tell(
                &self.lines,
                port,
                now,
                ahead,
                &timer,
            );
            let line = &mut self.lines[port];
            compensation.correct(line, &mut p);
            if let Some(Some(filter)) = measured.get(port) {
                let y = line.value(now, &timer);
                filter.smooth(line, &mut p, y, elapsed, extrapolations[port].order);
            }
            if let Some(filter) = low_pass {
                filter.smooth(line, &mut p, elapsed);
            }
            if let (Some(settling), Some(held)) = (settling, line.held(now, &timer)) {
                self.unsettled |= settling.hold_back(&mut p, held);
            }
            if self.policy.balance.as_mut().is_some_and(|b| b.take(port, &p)) {
                continue;
            }
            if line.tell(&p, now, &timer).is_some() {
                self.outbox.push(port as u16);
            }
        }
        if let Some(balance) = &mut self.policy.balance {
            balance.agree(now, ahead, &self.lines, &timer);
            self.balance();
        }
        self.refuted = false;
        // A message that is handed on at the same instant again is no step of its own.
        self.exchanges += u64::from(self.exchanges == 0 || now > self.last);
        self.last = now;
    }

    /// Decides who goes first in the step that begins.
    fn sequence(&mut self, now: i64, ahead: f64, fx: &mut Effects<Value>) {
        let Policy { sequence: Some(sequence), extrapolations, .. } = &mut self.policy else {
            return;
        };
        let changed = sequence.choose((&self.lines, extrapolations), now, ahead, &self.timer);
        if let Some(name) = changed.filter(|_| fx.observed()) {
            let kind = EventKind::Time;
            fx.report(Fact::Event { unit: None, name: name.into(), kind });
        }
    }

    /// Hands on what sources sent to those who go after them.
    fn hand_on(&mut self) {
        let Some(sequence) = &self.policy.sequence else { return };
        let now = self.timer.now();
        for (port, line) in self.lines.iter_mut().enumerate() {
            if sequence.direct(port) && line.pass_on(now, &self.timer) {
                self.outbox.push(port as u16);
            }
        }
    }

    /// Tells signals that carry power, by what their receivers are doing.
    fn balance(&mut self) {
        if let Some(balance) = &mut self.policy.balance {
            self.outbox.extend(balance.tell(self.timer.now(), &mut self.lines, &self.timer));
        }
    }

    /// Counts the energy of bonds, if there are any, before anything changes.
    #[inline(always)]
    fn count_energy(&mut self, fx: &mut Effects<Value>) {
        if self.policy.balance.is_some() {
            self.tell_energy(fx);
        }
    }

    /// Counts the energy of bonds; what is missing is told.
    #[inline(never)]
    fn tell_energy(&mut self, fx: &mut Effects<Value>) {
        let Some(balance) = &mut self.policy.balance else { return };
        balance.count(self.timer.now(), &self.lines, &self.timer);
        let Some((signals, energy)) = balance.worse() else { return };
        let [a, b] = signals.map(|port| self.policy.name(port));
        let note = format!(
            "the power of {a} and {b} is not balanced: by now {energy:e} more was given than taken, as both came \
             near to zero at once or fell too fast to divide by; a shorter `step` makes that less"
        );
        fx.report(Fact::Note(note.into()));
    }

    /// Takes what sources sent; gives whether that brings about an exchange.
    fn receive(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) -> bool {
        let (timer, now) = (self.timer, self.timer.now());
        let answers = self.exchanges > 0 && now == self.last;
        let settling = self.policy.settles.filter(|_| answers);
        let micro = fx.now().micro;
        let mut urgent = false;
        for (port, value) in bag.iter() {
            // Where jumps wait, one at the instant of an exchange is a sample like any other.
            let answer = answers && (!self.policy.interrupts || self.is_answer(port, micro));
            let Some(line) = self.lines.get_mut(usize::from(port)) else { continue };
            let first = !line.heard();
            let before = if settling.is_some() { line.value(now, &timer) } else { 0.0 };
            // An answer to a jump is a jump as well.
            let jumped = line.hear(value, answer && self.jumped != now, &timer);
            if !line.is_finite() {
                let name = self.policy.name(port);
                fx.fail(format!("the coupled signal `{name}` is not finite"));
            }
            let passed_on = if let Some(settling) = settling {
                let y = line.value(now, &timer);
                let goes_on = settling.goes_on(y, before);
                if goes_on && self.rounds >= ROUNDS {
                    fx.fail(self.policy.diverges(port, (y - before).abs()));
                }
                goes_on
            } else {
                self.policy.interrupts && !answer
            };
            if jumped && !answer {
                self.jumped = now;
            }
            let asked = is_refresh(value);
            self.refuted |= asked;
            urgent |= first || asked || (jumped && passed_on);
        }
        if self.exchanges == 0 {
            self.introduce();
        }
        let due = urgent && self.lines.iter().all(Line::heard);
        // Else two rounds would overtake each other, and each would be relaxed by values of the other.
        let told_now = self.told.is_some_and(|[_, last]| last == micro);
        let waits = due && settling.is_some() && told_now;
        self.unsettled |= waits;
        due && !waits
    }

    /// Before the first exchange: tells the values of sources of which receivers have not been told yet.
    #[cold]
    fn introduce(&mut self) {
        let (now, timer) = (self.timer.now(), self.timer);
        if self.lines.iter().all(Line::heard) {
            return;
        }
        for (port, line) in self.lines.iter_mut().enumerate() {
            if line.is_new() && line.tell(&[line.value(now, &timer)], now, &timer).is_some() {
                self.outbox.push(port as u16);
            }
        }
    }

    /// Whether what a signal does at this micro-step of the last exchange may be brought about by what was told: an
    /// output with feed-through answers one micro-step later, and through other units later still. All else is a jump
    /// of its own.
    fn is_answer(&self, port: u16, micro: u32) -> bool {
        let units = self.policy.answers.get(usize::from(port)).copied().unwrap_or(1);
        let Some([first, last]) = self.told else { return false };
        units > 0 && (first + 1..=last.saturating_add(units)).contains(&micro)
    }

    /// An exchange, if one is due, or else what changes between two.
    fn go_on(&mut self, exchange: bool, heard: bool, fx: &mut Effects<Value>) {
        let between = |b: &Balance| heard || self.timer.now() >= b.due();
        if exchange {
            self.exchange(fx);
        } else if self.exchanges > 0 && self.policy.balance.as_ref().is_some_and(between) {
            self.balance();
        }
        if self.exchanges > 0 {
            self.hand_on();
        }
        let busy = self.unsettled || !self.outbox.is_empty();
        let between = self.policy.balance.as_ref().map_or(NEVER, Balance::due);
        self.timer.set(if busy { self.timer.now() } else { self.planned.min(between) });
    }

    /// After λ; gives whether an exchange is due. What relaxation held back goes on its way after
    /// the answers to what was sent.
    fn sent(&mut self, micro: u32) -> bool {
        let idle = self.outbox.is_empty();
        if !idle {
            let [first, _] = self.told.unwrap_or([micro; 2]);
            self.told = Some([first, micro]);
        }
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
        for &port in &self.outbox {
            if let Some(segment) = self.lines[usize::from(port)].last() {
                out.send(OutPort::<Segment>::new(port), segment.clone());
            }
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.count_energy(fx);
        let due = self.sent(fx.now().micro);
        self.go_on(due, false, fx);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.count_energy(fx);
        let due = self.receive(bag, fx);
        self.go_on(due, true, fx);
    }
    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.count_energy(fx);
        let due = self.sent(fx.now().micro);
        let due = self.receive(bag, fx) || due;
        self.go_on(due, true, fx);
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let now = self.timer.at(elapsed);
        let held = self.lines.get(usize::from(port))?.held(now, &self.timer)?;
        Some(Value::Real(held))
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        let mut all = vec![("macro_steps", self.exchanges)];
        all.extend(self.record.statistics(self.policy.pace.tolerance()));
        all
    }
}
