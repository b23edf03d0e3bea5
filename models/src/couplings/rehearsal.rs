//! The master that tries macro steps out before they happen.
//!
//! **Why two of each unit.** A step that is repeated must leave no mark: observers, records and
//! other units may see only what is accepted. So the units of the group exist twice. One set are
//! the group's members, which run once, in the course of the simulation, as under any coupling. The
//! other set is on *trial* (`trial.rs`): at each exchange the master saves it, lets it run
//! to the end of the macro step with what it would tell, brings it back and repeats that as its
//! policy wants, and tells the members what was accepted. Both sets start equal and are told the
//! same, so the trial stands where the members will be; at the next exchange that is checked. The
//! price is one run more per macro step; everything else in a scenario stays as it is: links,
//! records, events, checkpoints, executors.
//!
//! Three kinds of steps are tried out: corrections of an implicit coupling (`iteration.rs`), inputs
//! by which outputs meet the exact solution (`pre_step.rs`), and steps that are refused for their
//! error (`attempt.rs`, `trust.rs`).
use super::{
    Iteration, Line, Policy, PreStep, Until,
    extrapolation::{Cubic, through},
    failures::{CouplingError, Divergence, Step},
    gaps::Gap,
    outside::{Begun, Inputs},
    parallel_embedded::Node,
    record::Record,
    reduced::STEP,
    redundant::{disagree, redundant},
    trial::{Outputs, Progress, Saved, Told, Trial},
    trust::Estimate,
};
use crate::{
    maths::poly::eval,
    signal::{
        Held, NEVER, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Effects, Fact, Outbox, Simulation, Snapshot,
    port::OutPort,
    snapshot::{SnapshotError, decode, encode},
    time::{Duration, Tag},
};

/// The treatment of a step with too large an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Correction {
    /// It stands, only the next one is shorter.
    Optimistic,
    /// It is repeated with a shorter one.
    Pessimistic,
    /// Repeats only the units that need it, if these are not all.
    Selective,
}

/// How steps are tried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rehearse {
    /// Corrections of each step.
    pub(crate) iteration: Option<Iteration>,
    /// Inputs by which outputs meet the exact solution.
    pub pre_step: Option<PreStep>,
    /// Where the error comes from that the macro step follows.
    pub estimate: Estimate,
    /// The treatment of a step with too large an error.
    pub correction: Correction,
}

/// A master with its units on trial.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    pub(super) trial: Trial,
    pub(super) plan: Plan,
}

/// The data that the master has to remember beside the trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Plan {
    timer: Timer,
    pub policy: Policy,
    pub(super) rehearse: Rehearse,
    /// The last segments of the members.
    members: Vec<Option<Held>>,
    /// The messages for them that are still to be sent.
    pub(super) agenda: VecDeque<Told>,
    /// Tick of the next exchange.
    pub(super) planned: i64,
    started: bool,
    /// Whether values have been made consistent (Gomes et al. 2017, 4.3.3), by a step of no length.
    consistent: bool,
    steps: u64,
    pub(super) corrections: u64,
    pub(super) refused: u64,
    /// The remark on the step just tried out.
    remark: Option<String>,
    /// Where the step began, if something from outside may end it.
    pub(super) begun: Option<Begun>,
    /// The last exchanges, the latest first, as far as an estimate needs them.
    pub(super) past: Vec<Node>,
    record: Record,
    /// Gaps of bonds.
    gaps: Vec<Gap>,
}

/// The distance that a member may have from its trial, relative to 1 + |y|: only the rounding of
/// times at which both heard a message.
const SAME: f64 = 1e-9;
/// Step of differences, relative to 1 + |y|; [`STEP`] is that of those where a signal hardly answers.
const DIFFERENCE: f64 = 1e-6;
/// An answer to such a step, relative to 1 + |y|, below which too few of its digits are left.
const FAINT: f64 = 1e-10;

impl Rehearsal {
    /// A master whose units on trial are `units`, with an input and an output per signal.
    ///
    /// # Errors
    /// When a unit cannot be brought back to an earlier state: which, and why.
    pub(crate) fn new(
        policy: Policy,
        rehearse: Rehearse,
        timer: Timer,
        mut units: Simulation<Value>,
        outputs: &Outputs,
    ) -> Result<Self, CouplingError> {
        let signals = policy.extrapolations.len();
        units.save().map_err(Box::new)?;
        let lines = policy.lines(|e| rehearse.estimate.looks_at(e));
        // Nobody asks for the others where steps are fixed.
        let others = policy.pace.tolerance().map_or(&[][..], |_| &outputs.others[..]);
        let sources = [&outputs.signals[..], others];
        let mut trial =
            Trial::new(units, policy.names.clone(), sources, lines, timer.resolution())?;
        if let Some(Iteration { until: Until::Converged(near, _), .. }) = rehearse.iteration {
            trial.near = near;
        }
        if trial.outside() > 0 {
            trial.to_bytes()?;
        }
        let plan = Plan {
            timer,
            policy,
            members: vec![None; signals],
            agenda: VecDeque::new(),
            planned: NEVER,
            started: false,
            consistent: rehearse.iteration.is_none(),
            steps: 0,
            corrections: 0,
            refused: 0,
            remark: None,
            past: Vec::new(),
            begun: None,
            rehearse,
            record: Record::default(),
            gaps: outputs.pairs.iter().cloned().map(Gap::new).collect(),
        };
        Ok(Self { trial, plan })
    }

    /// The first exchange, as soon as all signals have been heard. Until then each one is told as it is first heard.
    fn start(&mut self) -> Step<()> {
        let now = self.plan.timer.now();
        self.trial.run(now, false)?;
        while !self.trial.now.lines.iter().all(Line::heard) {
            let Some(told) = self.trial.introduce()? else { return Ok(()) };
            self.plan.agenda.push_back(told);
            self.trial.run(now, false)?;
        }
        self.plan.started = true;
        self.plan.planned = now;
        Ok(())
    }

    /// One macro step from the present on: what is told in it, and when the next exchange is.
    fn step(&mut self) -> Step<()> {
        let now = self.trial.tick();
        self.keep()?;
        // Where a signal has jumped as well: corrections change what is told for the end of a step, and not for its
        // start. A course that is told whole has both.
        let corrects = self.plan.rehearse.iteration.as_ref().is_some_and(|i| !i.is_waveform());
        let jumped = self.trial.now.jumped == Some(now) && corrects;
        if !std::mem::replace(&mut self.plan.consistent, true) || jumped {
            let told = self.begin(now)?;
            self.trial.now.jumped = None;
            self.note(&told);
            self.plan.agenda.extend(told);
            return Ok(());
        }
        self.compare()?;
        let controlled = self.plan.policy.pace.tolerance();
        let repeats = self.plan.rehearse.correction != Correction::Optimistic;
        let start = self.trial.save()?;
        let before = self.plan.rehearse.iteration.clone();
        let exchanges = self.trial.now.exchanges;
        loop {
            let until = self.plan.policy.pace.ahead(now);
            let (told, ratio) = match self.attempt(until, &start) {
                Err(CouplingError::Diverges(_))
                    if repeats && self.plan.policy.pace.can_shrink() =>
                {
                    self.refuse(&start, 1e3, &before)?;
                    continue;
                }
                attempt => attempt?,
            };
            let (Some(_), Some(ratio)) = (controlled, ratio) else {
                return self.accept(told, exchanges);
            };
            let pace = &self.plan.policy.pace;
            if ratio > 1.0 && repeats && pace.can_shrink() {
                self.refuse(&start, ratio, &before)?;
                continue;
            }
            self.plan.policy.pace.next(now, Some(ratio));
            self.plan.record.stands(ratio);
            return self.accept(told, exchanges);
        }
    }

    /// A step of no length, after which values are consistent. Conditions that nothing at this instant
    /// fulfils, such as a gap that a force has to close, are left to the first real step: what does not
    /// converge for other reasons does not converge there, either.
    fn begin(&mut self, now: i64) -> Step<Vec<Told>> {
        let start = self.trial.save()?;
        let before = self.plan.rehearse.iteration.clone();
        let mut told = self.leg(now);
        if let Err(CouplingError::Diverges(_)) = told {
            self.trial.restore(&start)?;
            self.plan.rehearse.iteration = None;
            told = self.leg(now);
            let (ends, held) = (self.trial.ends(), self.trial.held());
            let missed: Vec<f64> = ends.iter().zip(&held).map(|(g, y)| g - y).collect();
            self.plan.remark = disagree(&missed, &self.plan.policy.names);
        }
        // Experience from this trial says nothing about steps that take time.
        self.plan.rehearse.iteration = before;
        told
    }

    fn refuse(&mut self, start: &Saved, ratio: f64, before: &Option<Iteration>) -> Step<()> {
        self.plan.policy.pace.refuse(ratio);
        self.plan.refused += 1;
        self.plan.rehearse.iteration.clone_from(before);
        Ok(self.trial.restore(start)?)
    }

    fn accept(&mut self, told: Vec<Told>, exchanges: u64) -> Step<()> {
        self.plan.steps += self.trial.now.exchanges - exchanges;
        self.look();
        self.note(&told);
        self.plan.agenda.extend(told);
        self.plan.planned = self.trial.tick();
        Ok(())
    }

    /// Looks at the signals at the end of a step that stands.
    fn look(&mut self) {
        let ends = self.trial.ends();
        self.plan.record.saw(ends.iter().copied());
        let step = self.plan.policy.pace.step();
        for gap in &mut self.plan.gaps {
            let Some((name, gap)) = gap.look(&ends) else { continue };
            let step = self.plan.timer.resolution().format(step);
            self.plan.remark.get_or_insert_with(|| {
                format!(
                    "the bond does not hold: `{name}` is {gap:e} at the end of a macro step, after several that left \
                     it above a tenth of all that its units have moved; one of them answers within the `step` of {step} s: \
                     take a shorter one"
                )
            });
        }
    }

    /// The tolerance to which signals are exchanged.
    fn aim(&self) -> Option<f64> {
        let iterates = self.plan.rehearse.iteration.as_ref().map(|iteration| iteration.until);
        let near = match iterates {
            Some(Until::Converged(near, _)) => Some(near),
            _ => None,
        };
        let tolerance = self.plan.policy.pace.tolerance();
        tolerance.into_iter().chain(near).reduce(f64::max)
    }

    pub(super) fn leg(&mut self, until: i64) -> Step<Vec<Told>> {
        Ok(self.leg_with_first(until)?.0)
    }

    /// From one exchange to the next, corrected as often as wanted; gives also how signals end
    /// without any correction.
    pub(super) fn leg_with_first(&mut self, until: i64) -> Step<(Vec<Told>, Vec<f64>)> {
        self.trial.exchange();
        if let Some(pre_step) = &mut self.plan.rehearse.pre_step {
            let (told, remark) = pre_step.leg(&mut self.trial, until)?;
            self.plan.remark = remark;
            return Ok((vec![told], self.trial.answers()));
        }
        let interrupts = self.plan.policy.interrupts;
        let predicted = self.predicted(until);
        let Some(iteration) = self.plan.rehearse.iteration.take() else {
            let told = self.trial.tell(&predicted)?;
            self.trial.run(until, interrupts)?;
            return Ok((vec![told], self.trial.answers()));
        };
        if iteration.is_waveform() && until > self.trial.tick() {
            let goal = iteration.until;
            self.plan.rehearse.iteration = Some(iteration);
            return self.waveform(goal, until);
        }
        self.corrected(iteration, &predicted, until)
    }

    /// The units' steps to what was told for their end, again and again.
    fn corrected(
        &mut self,
        mut iteration: Iteration,
        predicted: &[Cubic],
        until: i64,
    ) -> Step<(Vec<Told>, Vec<f64>)> {
        let start = self.trial.save()?;
        let ahead = self.seconds(until);
        let end = |p: &Cubic| eval(p, ahead);
        let mut y: Vec<f64> = match ahead > 0.0 {
            true => predicted.iter().map(end).collect(),
            false => self.trial.sampled(),
        };
        let (mut end, mut first, mut round) = (until, Vec::new(), 0);
        iteration.begin();
        let told = loop {
            let told = self.toward(&y, &mut end, until)?;
            let ends = self.trial.ends();
            if round == 0 {
                first = self.trial.answers();
            }
            // An event may have cut the step short, on the way to what was told for its end.
            y = self.trial.held();
            let r: Vec<f64> = ends.iter().zip(&y).map(|(g, y)| g - y).collect();
            match iteration.until {
                Until::Corrections(n) if round >= n => break told,
                Until::Converged(tolerance, most) => {
                    let off = |(r, g): (&f64, &f64)| r.abs() / (1.0 + g.abs());
                    let worst = r.iter().zip(&ends).map(off);
                    if worst.clone().all(|off| off <= tolerance) {
                        break told;
                    }
                    if round >= most {
                        let why = self.diverges(&worst.collect::<Vec<_>>(), tolerance, round);
                        self.plan.rehearse.iteration = Some(iteration);
                        return Err(why);
                    }
                }
                Until::Corrections(_) => {}
            }
            y = match iteration.next(&y, &r) {
                Some(y) => y,
                None => {
                    let jacobian = self.differences(&y, &r, &start, (end, until))?;
                    if end > self.trial.now.last
                        && let Some(bonds) = redundant(&jacobian, &self.plan.policy.names)
                    {
                        return Err(CouplingError::Redundant(bonds));
                    }
                    iteration.take(jacobian);
                    iteration.next(&y, &r).unwrap_or(y)
                }
            };
            self.trial.restore(&start)?;
            round += 1;
            self.plan.corrections += 1;
        };
        self.plan.rehearse.iteration = Some(iteration);
        Ok((vec![told], first))
    }

    /// Tells polynomials that lead to the values `y` at tick `end`, and lets the units run.
    fn toward(&mut self, y: &[f64], end: &mut i64, until: i64) -> Step<Told> {
        let Progress { timer, lines, last, .. } = &self.trial.now;
        let lead = |(k, line): (usize, &Line)| {
            let mut samples = vec![(*end, y[k])];
            let past = line.samples().iter().skip(usize::from(*end == *last));
            samples.extend(past);
            through(&samples, self.plan.policy.extrapolations[k].order, timer.now(), timer)
        };
        let all: Vec<Cubic> = lines.iter().enumerate().map(lead).collect();
        let told = self.trial.tell(&all)?;
        *end = self.trial.run(until, self.plan.policy.interrupts)?;
        Ok(told)
    }

    /// The Jacobian of G(Y) - Y by columns, by one run per signal, of a step that ended at `end`. A second run with a
    /// larger step tells what answers hardly at all: a place answers to a force by half the square of a short step.
    fn differences(
        &mut self,
        y: &[f64],
        r: &[f64],
        start: &Saved,
        (end, until): (i64, i64),
    ) -> Step<Vec<f64>> {
        let mut jacobian = Vec::with_capacity(y.len() * y.len());
        for k in 0..y.len() {
            let step = DIFFERENCE * (1.0 + y[k].abs());
            let moved = |this: &mut Self, step: f64| -> Step<(Vec<f64>, bool)> {
                this.trial.restore(start)?;
                let (mut y, mut reached) = (y.to_vec(), end);
                y[k] += step;
                this.toward(&y, &mut reached, until)?;
                let ends = this.trial.ends().into_iter().zip(this.trial.held());
                Ok((ends.zip(r).map(|((g, y), r)| (g - y - r) / step).collect(), reached == end))
            };
            let (mut column, _) = moved(self, step)?;
            let faint = |(i, c): (usize, &f64)| c.abs() * step < FAINT * (1.0 + y[i].abs());
            if column.iter().enumerate().any(|(i, c)| *c != 0.0 && faint((i, c)))
                && let (coarse, true) = moved(self, STEP * (1.0 + y[k].abs()))?
            {
                let fine = std::mem::take(&mut column);
                let better = |(i, (f, c))| if faint((i, &f)) { c } else { f };
                column = fine.into_iter().zip(coarse).enumerate().map(better).collect();
            }
            jacobian.extend(column);
        }
        Ok(jacobian)
    }

    /// The signals that would be told without any correction.
    pub(super) fn predicted(&self, until: i64) -> Vec<Cubic> {
        let Progress { timer, lines, refuted, .. } = &self.trial.now;
        let ahead = timer.seconds(timer.now(), until);
        let each = self.plan.policy.extrapolations.iter().enumerate();
        each.map(|(port, e)| e.after(*refuted).tell(lines, port, timer.now(), ahead, timer))
            .collect()
    }

    fn seconds(&self, until: i64) -> f64 {
        self.trial.now.timer.seconds(self.trial.tick(), until)
    }

    pub(super) fn diverges(&self, off: &[f64], tolerance: f64, rounds: u32) -> CouplingError {
        let names = &self.plan.policy.names;
        let worst = (0..off.len()).max_by(|&a, &b| off[a].total_cmp(&off[b])).unwrap_or(0);
        let off = off.get(worst).copied().unwrap_or(f64::NAN);
        let (worst, signals) = (self.signal(worst), names.clone());
        Divergence { rounds, worst, off, tolerance, signals }.into()
    }

    /// The name of a signal.
    fn signal(&self, number: usize) -> String {
        self.plan.policy.names.get(number).cloned().unwrap_or_else(|| "a signal".to_owned())
    }

    /// The members must have done what their trial did.
    fn compare(&self) -> Step<()> {
        let Progress { timer, lines, .. } = &self.trial.now;
        for (k, (line, member)) in lines.iter().zip(&self.plan.members).enumerate() {
            let at = timer.now();
            let (trial, member) = (
                line.left(at, timer),
                member.as_ref().map_or(f64::NAN, |h| h.left(at, &self.plan.timer)),
            );
            let same = (trial - member).abs() <= SAME * (1.0 + trial.abs());
            if at > self.trial.now.last && !same {
                return Err(CouplingError::Differs { signal: self.signal(k), member, trial });
            }
        }
        Ok(())
    }

    /// Takes what members sent; gives what came from outside.
    fn hear(&mut self, bag: &Bag<'_, Value>) -> Inputs {
        let now = self.plan.timer.now();
        let mut outside = Inputs::new();
        for (port, value) in bag.iter() {
            let Some(slot) = self.plan.members.get_mut(usize::from(port)) else {
                outside.push((port, value.clone()));
                continue;
            };
            match value {
                Value::Segment(s) => Held::receive(slot, s, now),
                other => {
                    let x = other.as_real().unwrap_or(f64::NAN);
                    let before = slot.as_ref().map_or(x, |h| h.value(now, &self.plan.timer));
                    Held::receive(slot, &Segment::step(before, x), now);
                }
            }
        }
        outside
    }

    /// Whether something of the agenda is told at this tag.
    fn tells(&self, at: Tag) -> Option<&Told> {
        let now = self.plan.timer.next();
        self.plan.agenda.front().filter(|told| told.at <= now && told.micro <= at.micro)
    }

    /// After everything that happened at this tag: the first exchange, or the next one if it is due
    /// and all is told; and when something is due again.
    fn go_on(&mut self, outside: Inputs, fx: &mut Effects<Value>) {
        let now = self.plan.timer.now();
        let mut done = if outside.is_empty() { Ok(()) } else { self.interrupt(fx.now(), outside) };
        let heard = self.plan.members.iter().all(Option::is_some);
        if done.is_ok() && !self.plan.started {
            done = self.start();
        }
        let ready = self.plan.started && heard;
        let due = ready && self.plan.agenda.is_empty() && now >= self.plan.planned;
        // Only when all has happened at this tick that did in the trial.
        let done = done.and_then(|()| {
            if due && fx.now().micro + 1 >= self.trial.micro() { self.step() } else { Ok(()) }
        });
        if let Err(why) = done {
            fx.fail(why);
            self.plan.timer.set(NEVER);
            return;
        }
        if let Some(remark) = self.plan.remark.take() {
            fx.report(Fact::Note(remark.into()));
        }
        let next = self.plan.agenda.front().map_or(self.plan.planned, |told| told.at);
        self.plan.timer.set(next.max(now));
    }
}

/// The saved state of a [`Rehearsal`].
pub(crate) struct SavedRehearsal(Saved, Plan);

impl std::fmt::Debug for SavedRehearsal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SavedRehearsal(next exchange at {})", self.1.planned)
    }
}

impl Snapshot for Rehearsal {
    type Saved = SavedRehearsal;
    fn save(&self) -> Result<Self::Saved, SnapshotError> {
        Ok(SavedRehearsal(self.trial.save()?, self.plan.clone()))
    }
    fn restore(&mut self, saved: &Self::Saved) -> Result<(), SnapshotError> {
        self.trial.restore(&saved.0)?;
        self.plan.clone_from(&saved.1);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(&(self.trial.to_bytes()?, &self.plan))
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (trial, plan) = decode(bytes)?;
        self.plan = plan;
        self.trial.restore_bytes(trial)
    }
}

impl Atomic<Value> for Rehearsal {
    fn inputs(&self) -> u16 {
        self.plan.members.len() as u16 + self.trial.outside()
    }
    fn outputs(&self) -> u16 {
        self.plan.members.len() as u16
    }
    fn time_advance(&self) -> Duration {
        self.plan.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let told = self.tells(out.now());
        for (port, segment) in told.iter().flat_map(|told| &told.signals) {
            out.send(OutPort::<Segment>::new(*port), segment.clone());
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let told = self.tells(fx.now()).is_some();
        self.plan.timer.fire();
        if told {
            self.plan.agenda.pop_front();
        }
        self.go_on(Inputs::new(), fx);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.plan.timer.pass(elapsed);
        let outside = self.hear(bag);
        self.go_on(outside, fx);
    }
    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        let told = self.tells(fx.now()).is_some();
        self.plan.timer.fire();
        if told {
            self.plan.agenda.pop_front();
        }
        let outside = self.hear(bag);
        self.go_on(outside, fx);
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        let mut all = vec![
            ("macro_steps", self.plan.steps),
            ("corrections", self.plan.corrections),
            ("refused_macro_steps", self.plan.refused),
        ];
        all.extend(self.plan.record.statistics(self.aim()));
        all
    }
}
