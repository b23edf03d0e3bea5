//! A group on trial: its units once more, ahead of themselves, and brought back at will.
use super::{
    Line,
    extrapolation::Cubic,
    failures::{CouplingError, Step},
    outside::Inputs,
};
use crate::signal::{
    NEVER, Timer,
    value::{Flag, Segment, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, ModelKey, Simulation, Snapshot,
    nested::Nested,
    snapshot::SnapshotError,
    time::{Duration, Resolution},
};

/// The master's message at one tag: signals and their polynomials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    pub at: i64,
    /// The micro-step: before it, other things may happen in the same tick, the steps of a shared
    /// event for instance, and members must be told at the same place as in the trial.
    pub micro: u32,
    /// Whether there was an exchange of all signals before.
    exchange: bool,
    pub signals: Vec<(u16, Segment)>,
}

/// Whether a source says what it is because a shared event was refuted.
pub(super) fn is_refresh(value: &Value) -> bool {
    matches!(value, Value::Segment(s) if s.flag == Flag::Refresh)
}

/// The state beside that of the units.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Stands at the tick up to which the units have run.
    pub timer: Timer,
    /// The signals that the units gave and were told.
    pub lines: Vec<Line>,
    /// Tick of the last exchange, and how many there were.
    pub last: i64,
    pub exchanges: u64,
    /// The last run ended because what receivers held was refuted.
    pub refuted: bool,
    /// Something came from outside after the last exchange, so that nothing now is an answer to that.
    outside: bool,
    /// Tick at which a signal jumped last, later than at the start of a step.
    pub jumped: Option<i64>,
    /// Cycles since the last exchange.
    cycles: usize,
    /// Tick at which something came from outside last, and how many micro-steps before it were the outside's alone: at
    /// that tick members are so many ahead.
    ahead: (i64, u32),
}

/// Most cycles between two exchanges, for each signal: a trial that makes no headway cannot be halted.
const CYCLES: usize = 20_000;

/// The outputs of the units of a group, by path and port.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Outputs that pass through the master, in its order.
    pub signals: Vec<(String, u16)>,
    /// The other signals, in which the error of a step counts, too, where there is a tolerance.
    pub others: Vec<(String, u16)>,
    /// Pairs of signals that bonds hold equal, with the names of their gaps.
    pub pairs: Vec<(String, [u16; 2])>,
}

impl Progress {
    /// How many micro-steps of members at a tick were the outside's alone.
    fn outside_alone(&self, tick: i64) -> u32 {
        if self.ahead.0 == tick { self.ahead.1 } else { 0 }
    }
}

/// The first micro-step of a tick in which nothing has happened yet.
fn next_micro(units: &Simulation<Value>, tick: i64) -> u32 {
    let now = units.now();
    if units.has_run() && now.ticks == tick { now.micro + 1 } else { 0 }
}

/// A state to come back to.
pub(super) struct Saved(<Nested<Value> as Snapshot>::Saved, Progress);

/// The units of a group in a simulation of their own, whose inputs are what the master tells and
/// whose outputs are the signals that it hears.
#[derive(Debug)]
pub(super) struct Trial {
    units: Nested<Value>,
    /// The unit and port behind each signal.
    sources: Vec<Option<(ModelKey, u16)>>,
    /// Outputs that do not pass through the master.
    others: Vec<(ModelKey, u16)>,
    /// The names of the signals.
    names: Vec<String>,
    /// How near corrections bring what receivers hold to what sources are, relative to 1 + |y|.
    pub near: f64,
    pub now: Progress,
}

impl Trial {
    /// Of units, and the names of its signals; their sources, and outputs beside them that count in errors, are known
    /// by path and port.
    pub(super) fn new(
        units: Simulation<Value>,
        names: Vec<String>,
        [sources, others]: [&[(String, u16)]; 2],
        lines: Vec<Line>,
        resolution: Resolution,
    ) -> Step<Self> {
        let timer = Timer::due(NEVER, resolution);
        let source = |(path, port): &(String, u16)| Some((units.find(path)?, *port));
        let sources = sources.iter().map(source).collect();
        let others = others.iter().filter_map(source).collect();
        let units = Nested::new(units)?;
        let now = Progress {
            timer,
            lines,
            last: 0,
            exchanges: 0,
            refuted: false,
            outside: false,
            jumped: None,
            cycles: 0,
            ahead: (NEVER, 0),
        };
        Ok(Self { units, sources, others, names, near: 0.0, now })
    }

    pub(super) fn tick(&self) -> i64 {
        self.now.timer.now()
    }

    pub(super) fn save(&self) -> Result<Saved, SnapshotError> {
        Ok(Saved(self.units.save()?, self.now.clone()))
    }

    pub(super) fn restore(&mut self, saved: &Saved) -> Result<(), SnapshotError> {
        self.units.restore(&saved.0)?;
        self.now.clone_from(&saved.1);
        Ok(())
    }

    /// The first micro-step of the present tick in which nothing has happened yet, as members count.
    pub(super) fn micro(&self) -> u32 {
        let next = self.units.read(|units| next_micro(units, self.tick()));
        next + self.now.outside_alone(self.tick())
    }

    /// An exchange at the present tick: notes what all signals are.
    pub(super) fn exchange(&mut self) {
        let Progress { timer, lines, last, exchanges, outside, jumped, cycles, .. } = &mut self.now;
        *exchanges += 1;
        // At the instant of a jump nothing is an answer to this exchange.
        *outside = *jumped == Some(timer.now());
        *cycles = 0;
        let elapsed = timer.seconds(*last, timer.now());
        lines.iter_mut().for_each(|line| line.exchange(timer.now(), elapsed, timer));
        *last = timer.now();
        if self.near > 0.0 {
            self.join();
        }
    }

    /// Goes on from what receivers hold, where corrections have brought that to what sources are.
    fn join(&mut self) {
        let exact = self.exactly();
        let Progress { timer, lines, .. } = &mut self.now;
        for (line, y) in lines.iter_mut().zip(exact) {
            line.join(y, self.near, timer.now(), timer);
        }
    }

    /// An exchange of `some` signals within a macro step.
    pub(super) fn exchange_some(&mut self, some: &[bool]) {
        let Progress { timer, lines, last, .. } = &mut self.now;
        let elapsed = timer.seconds(*last, timer.now());
        let each = lines.iter_mut().zip(some).filter(|(_, some)| **some);
        each.for_each(|(line, _)| line.exchange(timer.now(), elapsed, timer));
    }

    /// Tells all signals, each by its polynomial in seconds from the present tick.
    pub(super) fn tell(&mut self, all: &[Cubic]) -> Step<Told> {
        self.tell_some((0u16..).zip(all.iter().copied()))
    }

    /// Tells some of them.
    pub(super) fn tell_some(&mut self, some: impl Iterator<Item = (u16, Cubic)>) -> Step<Told> {
        let micro = self.micro();
        let Progress { timer, lines, last, .. } = &mut self.now;
        let at = timer.now();
        let exchange = at == *last;
        let mut tell = |(port, p): (u16, Cubic)| {
            Some((port, lines[usize::from(port)].tell(&p, at, timer)?.clone()))
        };
        let signals: Vec<(u16, Segment)> = some.filter_map(&mut tell).collect();
        self.commit(&signals)?;
        Ok(Told { at, micro, exchange, signals })
    }

    /// Tells the first values of sources of which receivers have not been told yet, if there are any.
    pub(super) fn introduce(&mut self) -> Step<Option<Told>> {
        let Progress { timer, lines, .. } = &self.now;
        let first = |(port, line): (u16, &Line)| {
            line.is_new().then(|| (port, [line.value(timer.now(), timer), 0.0, 0.0, 0.0]))
        };
        let first: Vec<(u16, Cubic)> = (0..).zip(lines).filter_map(first).collect();
        if first.is_empty() { Ok(None) } else { self.tell_some(first.into_iter()).map(Some) }
    }

    /// Hands pieces of signals on at the present tick.
    pub(super) fn tell_pieces(
        &mut self,
        pieces: impl Iterator<Item = (u16, Segment)>,
    ) -> Step<Told> {
        let micro = self.micro();
        let Progress { timer, lines, last, .. } = &mut self.now;
        let at = timer.now();
        let exchange = at == *last;
        let each = pieces.map(|(port, s)| (port, lines[usize::from(port)].hand_on(s, at, timer)));
        let signals: Vec<(u16, Segment)> = each.collect();
        self.commit(&signals)?;
        Ok(Told { at, micro, exchange, signals })
    }

    fn commit(&mut self, signals: &[(u16, Segment)]) -> Step<()> {
        let at = self.tick();
        let inputs = signals.iter().map(|(port, s)| (*port, Value::Segment(s.clone()))).collect();
        self.units.write(|units| units.commit(at, inputs))?;
        Ok(())
    }

    /// Goes to where something was told, and tells it again; of `some` signals within a step.
    pub(super) fn repeat(&mut self, told: &Told, some: bool) -> Step<()> {
        self.run(told.at, false)?;
        if told.exchange {
            self.exchange();
        } else if some {
            let sampled = |port| told.signals.iter().any(|s| usize::from(s.0) == port);
            self.exchange_some(&(0..self.now.lines.len()).map(sampled).collect::<Vec<_>>());
        }
        for (port, segment) in &told.signals {
            self.now.lines[usize::from(*port)].take_told(segment.clone(), told.at);
        }
        self.commit(&told.signals)
    }

    /// How many inputs units have from outside of the group.
    pub(super) fn outside(&self) -> u16 {
        self.units.inputs() - self.now.lines.len() as u16
    }

    /// Lets the units go on to tick and micro-step `at`, where they are given inputs from outside.
    pub(super) fn give(&mut self, at: (i64, u32), inputs: Inputs) -> Step<()> {
        let before = self.now.outside_alone(at.0);
        let Progress { timer, lines, outside, jumped, ahead, .. } = &mut self.now;
        *outside = true;
        let mut inputs = Some(inputs);
        self.units.write(|units| {
            while let Some(given) = inputs.take() {
                let of_members = |tick: i64, micro: u32| {
                    (tick, if tick == at.0 { micro + before } else { micro })
                };
                let next = units.next_within(at.0)?;
                let next = next.filter(|tag| of_members(tag.ticks, tag.micro) < at);
                let tick = next.map_or(at.0, |tag| tag.ticks);
                timer.pass(Duration::between(timer.now(), tick));
                for (port, value) in units.emit(tick)? {
                    if lines[usize::from(port)].hear(&value, false, timer) {
                        *jumped = Some(tick);
                    }
                }
                match next {
                    Some(_) => {
                        units.commit(tick, Vec::new())?;
                        inputs = Some(given);
                    }
                    None => {
                        *ahead = (at.0, at.1.saturating_sub(next_micro(units, at.0)));
                        units.commit(tick, given)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Lets the units go on through tick `until`, or with `interrupts` through the first later one
    /// at which a signal jumps, or until a shared event is refuted, in which receivers believed by what they
    /// were told, and would again in the next micro-step; gives that tick.
    pub(super) fn run(&mut self, until: i64, interrupts: bool) -> Step<i64> {
        self.run_noting(until, interrupts, |_, _, _| {})
    }

    /// Runs the units and calls `note` for every piece of a signal that comes, with its tick.
    pub(super) fn run_noting(
        &mut self,
        until: i64,
        interrupts: bool,
        mut note: impl FnMut(u16, i64, &Segment),
    ) -> Step<i64> {
        let Progress { timer, lines, refuted, outside, jumped, cycles, .. } = &mut self.now;
        let (start, mut until) = (timer.now(), until);
        let (most, mut heard) = (CYCLES * lines.len(), None);
        *refuted = false;
        self.units.write(|units| -> Step<()> {
            while !*refuted
                && *cycles <= most
                && let Some(tag) = units.next_within(until)?
            {
                *cycles += 1;
                timer.pass(Duration::between(timer.now(), tag.ticks));
                for (port, value) in units.emit(tag.ticks)? {
                    heard = Some(usize::from(port));
                    let line = &mut lines[usize::from(port)];
                    let jumps = line.hear(&value, tag.ticks == start && !*outside, timer);
                    if let Some(segment) = line.heard_last() {
                        note(port, tag.ticks, segment);
                    }
                    *refuted |= tag.ticks > start && is_refresh(&value);
                    if jumps && (tag.ticks > start || *outside) {
                        *jumped = Some(tag.ticks);
                    }
                    if jumps && interrupts && tag.ticks > start {
                        until = tag.ticks;
                    }
                }
                units.commit(tag.ticks, Vec::new())?;
                if *refuted {
                    until = tag.ticks;
                }
            }
            Ok(())
        })?;
        if *cycles > most {
            return Err(self.stuck(most, heard));
        }
        timer.pass(Duration::between(timer.now(), until));
        Ok(until)
    }

    #[cold]
    fn stuck(&self, most: usize, heard: Option<usize>) -> CouplingError {
        let timer = &self.now.timer;
        let at = timer.resolution().format(timer.now());
        let of = |port: usize| {
            (self.names[port].clone(), self.now.lines[port].value(timer.now(), timer))
        };
        CouplingError::Stuck { most, at, signal: heard.map(of) }
    }

    /// The signals at the end of a step, before anything happens there, as the units know them: the
    /// segments that they sent are off by up to their `exchange_tolerance`, now here, now there,
    /// and no correction and no difference could tell that from its own effect.
    pub(super) fn ends(&self) -> Vec<f64> {
        let Progress { timer, lines, last, .. } = &self.now;
        let at = timer.now();
        let end = |(port, line): (usize, &Line)| {
            if at == *last {
                let exact = (self.near > 0.0).then(|| self.exact(port)).flatten();
                exact.unwrap_or_else(|| line.value(at, timer))
            } else if line.since() < Some(at) {
                self.exact(port).unwrap_or_else(|| line.left(at, timer))
            } else {
                line.left(at, timer)
            }
        };
        lines.iter().enumerate().map(end).collect()
    }

    /// The signals at the end of a step, and after them the other outputs of units: a unit may hear the others and
    /// tell them nothing.
    pub(super) fn answers(&self) -> Vec<f64> {
        let mut all = self.ends();
        all.extend(self.other());
        all
    }

    /// The outputs that do not pass through the master, where units know them between messages.
    pub(super) fn other(&self) -> Vec<f64> {
        let at = self.tick();
        let value = |sim: &Simulation<Value>, &(unit, port): &(ModelKey, u16)| {
            sim.probe(unit, port, at).and_then(|v| v.as_real()).unwrap_or(0.0)
        };
        self.units.read(|units| self.others.iter().map(|other| value(units, other)).collect())
    }

    /// A signal as its unit knows it.
    fn exact(&self, port: usize) -> Option<f64> {
        let (unit, port) = (*self.sources.get(port)?)?;
        self.units.read(|units| units.probe(unit, port, self.tick()))?.as_real()
    }

    /// The signals after all that happened, as the units know them.
    pub(super) fn exactly(&self) -> Vec<f64> {
        let each = self.values().into_iter().enumerate();
        each.map(|(port, y)| self.exact(port).unwrap_or(y)).collect()
    }

    /// The signals after all that happened.
    pub(super) fn values(&self) -> Vec<f64> {
        let Progress { timer, lines, .. } = &self.now;
        lines.iter().map(|line| line.value(timer.now(), timer)).collect()
    }

    /// The signals as the last exchange, at the present tick, took them.
    pub(super) fn sampled(&self) -> Vec<f64> {
        let Progress { timer, lines, .. } = &self.now;
        let value = |line: &Line| line.samples().first().map(|sample| sample.1);
        lines
            .iter()
            .map(|line| value(line).unwrap_or_else(|| line.value(timer.now(), timer)))
            .collect()
    }

    /// The signals that receivers hold there.
    pub(super) fn held(&self) -> Vec<f64> {
        let Progress { timer, lines, .. } = &self.now;
        let held = |line: &Line| line.held(timer.now(), timer).unwrap_or(0.0);
        lines.iter().map(held).collect()
    }

    /// Values of the outputs of all units there, by unit and port.
    #[cfg(test)]
    pub(super) fn probe(&self, units: usize, ports: u16) -> Vec<f64> {
        let at = self.tick();
        self.units.read(|sim| {
            let key = |u: usize| sim.find(&format!("unit{u}")).expect("a unit");
            let of = |u: usize| (0..ports).map(move |p| (key(u), p));
            let value = |(key, port)| sim.probe(key, port, at).and_then(|v| v.as_real());
            (0..units).flat_map(of).map(|k| value(k).expect("a value")).collect()
        })
    }

    pub(super) fn to_bytes(&self) -> Result<(Vec<u8>, Progress), SnapshotError> {
        Ok((self.units.to_bytes()?, self.now.clone()))
    }

    pub(super) fn restore_bytes(
        &mut self,
        saved: (Vec<u8>, Progress),
    ) -> Result<(), SnapshotError> {
        self.units.restore_bytes(&saved.0)?;
        self.now = saved.1;
        Ok(())
    }
}
