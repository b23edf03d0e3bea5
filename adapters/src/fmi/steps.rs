//! The work of the unit with its FMU: steps, events, inputs, and the segments of its outputs.
use super::{
    block::name_of,
    discrete::moving,
    instance::{Block, CallError, StateHandle},
    library::{Curve, Status, Stepped},
    nominal::watch,
    unit::{FmuUnit, Place},
};
use std::{mem, sync::Arc};
use superdense_models::signal::{
    Held,
    value::{Flag, Segment},
};

/// Halvings of a step that the FMU discards.
const HALVINGS: u32 = 12;
/// Highest power of segments, and one more.
const POWERS: usize = 4;

impl FmuUnit {
    /// The segment of an input at a time: since the last communication point another one may have come.
    fn held_at(&self, port: usize, time: f64) -> Option<&Held> {
        let held = self.data.inputs[port].as_ref()?;
        if self.seconds(held.since()) - time < 0.5 * self.tick() {
            return Some(held);
        }
        self.data.earlier.get(port)?.as_ref()
    }

    /// Values of all inputs at a time, into the scratch.
    fn look_at_inputs(&mut self, time: f64) {
        let mut values = mem::take(&mut self.scratch.inputs);
        let whole = &self.settings.whole;
        let value = |(port, &start): (usize, &f64)| match self.held_at(port, time) {
            Some(h) => whole.heard(port, h.segment(), time - self.seconds(h.since())),
            None => start,
        };
        values.clear();
        let ports = self.data.inputs.len();
        values.extend(self.data.start[..ports].iter().enumerate().map(value));
        values.extend(whole.rests(&self.data.start, |port| self.held_at(port, time)));
        self.scratch.inputs = values;
    }

    /// Inputs that the FMU asks for inside its steps, into the scratch.
    fn look_at_curves(&mut self) {
        let (time, mut curves) = (self.data.place.time, mem::take(&mut self.scratch.curves));
        let mut n = 0;
        for (port, reference) in self.settings.intermediate.iter().enumerate() {
            let (Some(held), &Some(reference)) = (self.held_at(port, time), reference) else {
                continue;
            };
            let (row, origin) = (held.segment().coefficients(), self.seconds(held.since()));
            if row.len() == 1 && !self.interface.input_derivatives {
                continue;
            }
            if n == curves.len() {
                curves.push(Curve { reference, origin, coefficients: row.to_vec() });
            } else {
                (curves[n].reference, curves[n].origin) = (reference, origin);
                row.clone_into(&mut curves[n].coefficients);
            }
            n += 1;
        }
        curves.truncate(n);
        self.scratch.curves = curves;
    }

    /// The FMU steps, with its inputs as they are at the beginning.
    fn do_step(&self, from: f64, by: f64, certain: bool) -> Result<Stepped, CallError> {
        let inputs = (&self.settings.smooth[..], &self.scratch.inputs[..]);
        self.instance.step(inputs, (from, by), &self.scratch.curves, certain)
    }

    /// One step towards `target`; true when event mode is due. After a discarded step `short` is
    /// the length that the FMU took.
    fn step(&mut self, target: f64, short: &mut Option<f64>) -> Result<bool, CallError> {
        let from = self.data.place.time;
        let end = short.map_or(target, |by| target.min(from + by));
        self.look_at_inputs(from);
        self.look_at_curves();
        let nominal = self.seconds(self.settings.step);
        let mut by = end - from;
        if (by - nominal).abs() <= 1e-9 * nominal {
            by = nominal;
        }
        let certain = !self.settings.state_access;
        let saved = match short {
            Some(_) => Some(Arc::new(self.instance.save()?)),
            None => self.base.clone().filter(|_| self.data.place == self.data.base),
        };
        let stepped = match (self.do_step(from, by, certain), saved) {
            (Err(e), Some(saved))
                if e.status == Status::Discard && self.interface.variable_step =>
            {
                self.retry(from, by, &saved, short).ok_or(e)?
            }
            (result, _) => result?,
        };
        self.data.place.stepped = true;
        self.data.counts.steps += 1;
        self.data.terminate |= stepped.terminate;
        let mut reached = if stepped.early { stepped.reached } else { end };
        // A sum of steps may round beyond the end.
        let slack = self.tick().max(4.0 * f64::EPSILON * end.abs());
        if reached > end && reached - end <= slack {
            reached = end;
        }
        let place = &mut self.data.place;
        if !(from..=end).contains(&reached) {
            return Err(strange(from, by, format!("went to {reached} s")));
        }
        place.time = reached;
        if stepped.early && !stepped.event && !stepped.terminate && reached == from {
            return Err(strange(from, by, "made no progress".into()));
        }
        let due = place.next.is_some_and(|t| reached >= t);
        Ok(self.interface.event_mode && (stepped.event || due))
    }

    /// A discarded step once more, from the saved state, shorter and shorter; `None` when the FMU
    /// takes none.
    fn retry(
        &mut self,
        from: f64,
        by: f64,
        saved: &StateHandle,
        short: &mut Option<f64>,
    ) -> Option<Stepped> {
        let mut by = by;
        for _ in 0..HALVINGS {
            by /= 2.0;
            self.data.counts.rejected_steps += 1;
            self.instance.restore(saved).ok()?;
            match self.do_step(from, by, false) {
                Ok(stepped) => {
                    *short = Some(by);
                    let reached = if stepped.early { stepped.reached } else { from + by };
                    return Some(Stepped { early: true, reached, ..stepped });
                }
                Err(e) if e.status == Status::Discard => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Steps to `target` or, if `stop`, to the first event before it. Leaves the outputs in `y`,
    /// their left limits in `left`.
    pub(super) fn walk(&mut self, target: f64, stop: bool) -> Result<bool, CallError> {
        let mut happened = false;
        let start = self.data.place.time;
        self.scratch.before.clone_from(&self.data.y);
        self.data.jumped = false;
        let mut short = None;
        // Where the clock of the FMU has an event, it goes there, however near that is.
        let own = self.data.place.next == Some(target);
        let least = if own { f64::MIN_POSITIVE } else { self.tick() };
        while target - self.data.place.time >= least && !self.data.terminate {
            let event = self.step(target, &mut short)?;
            let reads = self.reads();
            if event || reads {
                self.instance.read(&self.settings.outputs, &mut self.data.left)?;
                let settings = Arc::clone(&self.settings);
                self.happen(if reads { &settings.discrete } else { &[] })?;
                (happened, self.data.jumped) = (happened | event, true);
            }
            if event {
                self.data.place.slopes.fill(0.0);
                if stop {
                    break;
                }
            }
        }
        self.instance.read(&self.settings.outputs, &mut self.data.y)?;
        if !happened {
            let by = self.data.place.time - start;
            if by > 0.0 {
                let slope = |(new, old): (&f64, &f64)| (new - old) / by;
                let slopes = self.data.y.iter().zip(&self.scratch.before).map(slope);
                self.data.place.slopes.iter_mut().zip(slopes).for_each(|(s, new)| *s = new);
            }
            if !self.data.jumped {
                self.data.left.clone_from(&self.data.y);
            }
        }
        Ok(happened)
    }

    /// Whether each communication point is an event, because a signal moves at an input that only event mode takes.
    fn reads(&self) -> bool {
        let (settings, inputs) = (&self.settings, &self.data.inputs[..]);
        moving(&self.instance, &settings.discrete, (&settings.whole, inputs))
    }

    /// Event mode, in which discrete inputs may be set.
    fn happen(&mut self, inputs: &[Block]) -> Result<(), CallError> {
        self.look_at_inputs(self.data.place.time);
        self.instance.enter_event()?;
        self.instance.write(inputs, &self.scratch.inputs)?;
        self.tell_words()?;
        let updated = self.instance.settle()?;
        self.data.place.next = updated.next;
        self.data.terminate |= updated.terminate;
        Ok(())
    }

    /// Texts that are new go to the FMU.
    fn tell_words(&mut self) -> Result<(), CallError> {
        if !self.data.said.fresh {
            return Ok(());
        }
        self.settings.words.write(&self.instance, &mut self.data.said)
    }

    /// The FMU at the last transition again.
    pub(super) fn go_back(&mut self) -> Result<(), CallError> {
        // The saved state stays, for a step that is discarded.
        if let Some(base) = &self.base {
            self.instance.restore(base)?;
            self.data.counts.rejected_steps += 1;
        }
        self.data.place.take(&self.data.base);
        self.data.left.clone_from(&self.data.y);
        if let Some(found) = self.data.found.take() {
            self.scratch.row = found.y;
        }
        self.data.jumped = false;
        self.data.outbox.clear();
        self.data.said.forget();
        self.data.terminate = false;
        Ok(())
    }

    /// Initialises the FMU with what it hears at the start, if that differs from what it was initialised with.
    pub(super) fn begins_again(&mut self) -> Result<bool, CallError> {
        if self.data.timer.now() > 0 {
            return Ok(false);
        }
        self.look_at_inputs(0.0);
        let (settings, values) = (Arc::clone(&self.settings), &self.scratch.inputs);
        if *values == self.data.start && !self.data.said.fresh
            || !settings.beginning.again(&self.instance, &settings.inputs, values)?
        {
            return Ok(false);
        }
        settings.words.write(&self.instance, &mut self.data.said)?;
        let updated = self.instance.initialised(self.interface.event_mode)?;
        self.data.start.clone_from(values);
        let slopes = vec![0.0; settings.continuous.len()];
        self.data.place = Place { time: 0.0, next: updated.next, slopes, stepped: false };
        (self.data.terminate, self.data.jumped) = (updated.terminate, true);
        self.instance.read(&settings.outputs, &mut self.data.y)?;
        Ok(true)
    }

    /// Makes the FMU see its inputs as they are now. Where nothing that is read follows them at once, the next step tells
    /// it of them.
    pub(super) fn apply(&mut self, jump: bool) -> Result<(), CallError> {
        let settings = Arc::clone(&self.settings);
        self.data.jumped |= jump;
        if self.interface.event_mode && (jump || !settings.discrete.is_empty()) {
            self.happen(&settings.inputs)?;
            return self.instance.read(&settings.outputs, &mut self.data.y);
        }
        self.tell_words()?;
        if !settings.passing {
            return Ok(());
        }
        self.look_at_inputs(self.seconds(self.data.timer.now()));
        let inputs = if self.interface.event_mode { &settings.smooth } else { &settings.inputs };
        let inputs = (&inputs[..], &self.scratch.inputs[..]);
        self.instance.read_with(inputs, &settings.outputs, &mut self.data.y)
    }

    /// Taylor coefficients of outputs that the FMU gives, order by order, into the scratch; none where it refuses them.
    fn look_at_rates(&mut self) -> Result<(), CallError> {
        let mut values = mem::take(&mut self.scratch.rates);
        let rates = &self.settings.rates;
        values.clear();
        if self.data.place.stepped && !rates.references.is_empty() {
            values.resize(rates.numbers, 0.0);
            match self.instance.output_derivatives(&rates.references, &rates.orders, &mut values) {
                Ok(()) => {
                    let mut factorial = 1.0;
                    for (k, row) in values.chunks_mut(rates.outputs).enumerate() {
                        factorial *= (k + 1) as f64;
                        row.iter_mut().for_each(|d| *d /= factorial);
                        row.iter_mut().zip(&rates.factors).for_each(|(d, f)| *d *= f);
                    }
                }
                Err(e) if matches!(e.status, Status::Discard | Status::Error) => {
                    self.tell_without(e.story());
                    values.clear();
                }
                Err(e) => return Err(e),
            }
            self.tell_no_numbers(&values);
        }
        self.scratch.rates = values;
        Ok(())
    }

    /// A remark on outputs whose derivatives are no numbers.
    fn tell_no_numbers(&self, values: &[f64]) {
        if values.iter().all(|d| d.is_finite()) {
            return;
        }
        let known = self.settings.continuous.iter().enumerate().filter(|(_, r)| r.is_some());
        let bad = |k: usize| {
            !values.iter().skip(k).step_by(self.settings.rates.outputs).all(|d| d.is_finite())
        };
        let without = known.enumerate().filter(|(k, _)| bad(*k));
        let without: Vec<String> =
            without.map(|(_, (i, _))| name_of(&self.settings.outputs, i)).collect();
        let story = format!("the FMU gives no numbers as derivatives of {}", without.join(", "));
        self.tell_without(story);
    }

    /// Coefficients of an output, and how many: derivatives that the FMU gives, else its last slope. `known` is its
    /// place among those that have derivatives.
    fn row(&self, port: usize, known: usize) -> ([f64; POWERS], usize) {
        let mut row = [self.data.y[port], 0.0, 0.0, 0.0];
        let settings = &self.settings;
        if settings.order == 0 || !self.data.place.stepped || settings.continuous[port].is_none() {
            return (row, 1);
        }
        let given = self.scratch.rates.iter().skip(known).step_by(settings.rates.outputs.max(1));
        let mut n = 1;
        for d in given.take(POWERS - 1) {
            row[n] = *d;
            n += 1;
        }
        if n == 1 || !row[1..n].iter().all(|d| d.is_finite()) {
            let slope = self.data.place.slopes[port];
            row = [row[0], slope, 0.0, 0.0];
            n = if slope.is_finite() { 2 } else { 1 };
        }
        (row, n)
    }

    /// A remark on derivatives of outputs that an FMU declares and does not have.
    fn tell_without(&self, story: String) {
        let (time, order) = (self.data.place.time, self.interface.output_derivatives);
        self.instance.remark_once("derivatives", 0, || {
            format!(
                "{story} at {time} s, though maxOutputDerivativeOrder is {order}: outputs go on along their last step, \
                 and hold their values with `segment_order = 0`"
            )
        });
    }

    /// A discrete output has changed, and nobody has told of an event: it may have changed at any time of the step.
    fn tell_unannounced(&self, port: usize, step: f64) {
        if !self.interface.event_mode || self.data.sent[port].is_none() {
            return;
        }
        let (name, time) = (name_of(&self.settings.outputs, port), self.data.place.time);
        self.instance.remark_once("unannounced", port, || {
            format!(
                "discrete output {name} is another one at the communication point {time} s, and the FMU told of no event \
                 before it: times of its changes are known to {step} s only"
            )
        });
    }

    /// The remainders of an output of 64 bits and of its left limit, for which reals have too few digits.
    pub(super) fn rests(&self, port: usize) -> Option<(f64, f64)> {
        let k = self.settings.wide.iter().position(|&p| p == port)?;
        let place = self.settings.continuous.len() + k;
        Some((self.data.y[place], self.data.left[place]))
    }

    /// Lines up segments of the outputs that are not what receivers hold, for tick `at`.
    pub(super) fn queue(&mut self, at: i64) -> Result<(), CallError> {
        self.look_at_rates()?;
        let (timer, settings) = (self.data.timer, Arc::clone(&self.settings));
        let horizon = self.seconds(settings.step);
        watch(&self.instance, &settings.usual, &self.data.y, timer.resolution().seconds(at));
        settings.words.queue(&self.instance, &mut self.data.said)?;
        let mut known = 0;
        for port in 0..settings.continuous.len() {
            let (y, left) = (self.data.y[port], self.data.left[port]);
            let wide = self.rests(port);
            let (rest, rest_left) = wide.unwrap_or_default();
            let (row, n) = self.row(port, known);
            known += usize::from(settings.continuous[port].is_some());
            let c = &row[..n];
            if let Some(bad) = c.iter().find(|x| !x.is_finite()) {
                let time = self.data.place.time;
                let call =
                    format!("output {} at {time} s is {bad}", name_of(&settings.outputs, port));
                return Err(CallError { call, status: Status::Ok, log: Vec::new() });
            }
            let smooth = settings.continuous[port].is_some();
            let jump = (y != left || rest != rest_left) && (self.data.jumped || !smooth);
            let new = Segment::new(c, Flag::Continuous, y);
            let wrong = match &self.data.sent[port] {
                None => true,
                Some(held) => {
                    let e = timer.seconds(held.since(), at);
                    let off =
                        |later: f64| (held.segment().value(e + later) - new.value(later)).abs();
                    let off = off(0.0).max(off(horizon));
                    jump || if smooth {
                        off > settings.tolerance || off.is_nan()
                    } else {
                        off != 0.0 || held.segment().rest() != rest
                    }
                }
            };
            if wrong && !smooth && !self.data.jumped {
                self.tell_unannounced(port, horizon);
            }
            if wrong {
                let first = self.data.sent[port].is_none();
                let held = self.data.sent[port].as_ref().map(|h| h.value(at, &timer));
                let (flag, left) = match (first, jump, smooth) {
                    (true, ..) => (Flag::Jump, y),
                    (_, true, _) => (Flag::Jump, left),
                    (_, _, false) => (Flag::Jump, held.unwrap_or(y)),
                    _ => (Flag::Continuous, y),
                };
                let segment = match wide {
                    None => Segment::new(c, flag, left),
                    Some(_) => Segment::whole(y, rest, flag, left),
                };
                self.data.outbox.push((port as u16, segment));
            }
        }
        Ok(())
    }
}

fn strange(from: f64, by: f64, what: String) -> CallError {
    let call = format!("the step from {from} s by {by} s {what}");
    CallError { call, status: Status::Ok, log: Vec::new() }
}
