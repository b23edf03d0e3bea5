//! The work of the unit with its FMU: steps, events, inputs, and the segments of its outputs.
use super::{
    block::name_of,
    discrete::moving,
    instance::{Block, CallError, StateHandle},
    library::{Curve, Status, Stepped},
    nominal::watch,
    unit::{FmuUnit, Place},
};
use std::sync::Arc;
use superdense_models::signal::{
    Held,
    value::{Flag, Segment},
};

/// Halvings of a step that the FMU discards.
const HALVINGS: u32 = 12;

impl FmuUnit {
    /// The segment of an input at a time: since the last communication point another one may have come.
    fn held_at(&self, port: usize, time: f64) -> Option<&Held> {
        let held = self.data.inputs[port].as_ref()?;
        if self.seconds(held.since()) - time < 0.5 * self.tick() {
            return Some(held);
        }
        self.data.earlier.get(port)?.as_ref()
    }

    /// Values of all inputs at a time.
    fn inputs_at(&self, time: f64) -> Vec<f64> {
        let whole = &self.settings.whole;
        let value = |(port, &start): (usize, &f64)| match self.held_at(port, time) {
            Some(h) => whole.heard(port, h.segment(), time - self.seconds(h.since())),
            None => start,
        };
        self.data.start.iter().enumerate().map(value).collect()
    }

    /// Inputs that the FMU asks for inside its steps.
    fn curves(&self) -> Vec<Curve> {
        let time = self.data.place.time;
        let curve = |(port, reference): (usize, &Option<u32>)| {
            let (h, &reference) = (self.held_at(port, time)?, reference.as_ref()?);
            let coefficients = h.segment().coefficients().to_vec();
            let origin = self.seconds(h.since());
            (coefficients.len() > 1 || self.interface.input_derivatives).then_some(Curve {
                reference,
                origin,
                coefficients,
            })
        };
        self.settings.intermediate.iter().enumerate().filter_map(curve).collect()
    }

    /// One step towards `target`; true when event mode is due. After a discarded step `short` is
    /// the length that the FMU took.
    fn step(&mut self, target: f64, short: &mut Option<f64>) -> Result<bool, CallError> {
        let from = self.data.place.time;
        let end = short.map_or(target, |by| target.min(from + by));
        let inputs = self.inputs_at(from);
        self.instance.write(&self.settings.smooth, &inputs)?;
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
        let stepped = match (self.instance.step(from, by, self.curves(), certain), saved) {
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
        let (inputs, mut by) = (self.inputs_at(from), by);
        for _ in 0..HALVINGS {
            by /= 2.0;
            self.data.counts.rejected_steps += 1;
            self.instance.restore(saved).ok()?;
            self.instance.write(&self.settings.smooth, &inputs).ok()?;
            match self.instance.step(from, by, self.curves(), false) {
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
        let n = self.settings.continuous.len();
        let mut happened = false;
        let (start, before) = (self.data.place.time, self.data.y.clone());
        self.data.jumped = false;
        let mut short = None;
        // Where the clock of the FMU has an event, it goes there, however near that is.
        let own = self.data.place.next == Some(target);
        let least = if own { f64::MIN_POSITIVE } else { self.tick() };
        while target - self.data.place.time >= least && !self.data.terminate {
            let event = self.step(target, &mut short)?;
            let reads = self.reads();
            if event || reads {
                let mut left = vec![0.0; n];
                self.instance.read(&self.settings.outputs, &mut left)?;
                self.data.left = left;
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
        let mut y = vec![0.0; n];
        self.instance.read(&self.settings.outputs, &mut y)?;
        if !happened {
            let by = self.data.place.time - start;
            if by > 0.0 {
                let slope = |(new, old): (&f64, &f64)| (new - old) / by;
                self.data.place.slopes = y.iter().zip(&before).map(slope).collect();
            }
            if !self.data.jumped {
                self.data.left.clone_from(&y);
            }
        }
        self.data.y = y;
        Ok(happened)
    }

    /// Whether each communication point is an event, because a signal moves at an input that only event mode takes.
    fn reads(&self) -> bool {
        let (settings, inputs) = (&self.settings, &self.data.inputs[..]);
        moving(&self.instance, &settings.discrete, (&settings.whole, inputs))
    }

    /// Event mode, in which discrete inputs may be set.
    fn happen(&mut self, inputs: &[Block]) -> Result<(), CallError> {
        let values = self.inputs_at(self.data.place.time);
        let updated = self.instance.event(inputs, &values)?;
        self.data.place.next = updated.next;
        self.data.terminate |= updated.terminate;
        Ok(())
    }

    /// The FMU at the last transition again.
    pub(super) fn go_back(&mut self) -> Result<(), CallError> {
        // The saved state stays, for a step that is discarded.
        if let Some(base) = &self.base {
            self.instance.restore(base)?;
            self.data.counts.rejected_steps += 1;
        }
        self.data.place.clone_from(&self.data.base);
        self.data.left.clone_from(&self.data.y);
        (self.data.found, self.data.jumped) = (None, false);
        self.data.outbox.clear();
        self.data.terminate = false;
        Ok(())
    }

    /// Initialises the FMU with what it hears at the start, if that differs from what it was initialised with.
    pub(super) fn begins_again(&mut self) -> Result<bool, CallError> {
        if self.data.timer.now() > 0 {
            return Ok(false);
        }
        let (settings, values) = (Arc::clone(&self.settings), self.inputs_at(0.0));
        let inputs = settings.smooth.iter().chain(&settings.discrete);
        if values == self.data.start
            || !settings.beginning.again(&self.instance, inputs, &values)?
        {
            return Ok(false);
        }
        let updated = self.instance.initialised(self.interface.event_mode)?;
        self.data.start = values;
        let slopes = vec![0.0; settings.continuous.len()];
        self.data.place = Place { time: 0.0, next: updated.next, slopes, stepped: false };
        (self.data.terminate, self.data.jumped) = (updated.terminate, true);
        let mut y = vec![0.0; settings.continuous.len()];
        self.instance.read(&settings.outputs, &mut y)?;
        self.data.y = y;
        Ok(true)
    }

    /// Makes the FMU see its inputs as they are now.
    pub(super) fn apply(&mut self, jump: bool) -> Result<(), CallError> {
        let settings = Arc::clone(&self.settings);
        let values = self.inputs_at(self.seconds(self.data.timer.now()));
        if !self.interface.event_mode {
            self.instance.write(&settings.smooth, &values)?;
            self.instance.write(&settings.discrete, &values)?;
        } else if jump || !settings.discrete.is_empty() {
            let all: Vec<Block> =
                settings.smooth.iter().chain(&settings.discrete).cloned().collect();
            self.happen(&all)?;
        } else {
            self.instance.write(&settings.smooth, &values)?;
        }
        self.data.jumped |= jump;
        let mut y = vec![0.0; settings.continuous.len()];
        self.instance.read(&settings.outputs, &mut y)?;
        self.data.y = y;
        Ok(())
    }

    /// Coefficients beyond the value, per output.
    fn derivatives(&self) -> Result<Vec<Vec<f64>>, CallError> {
        let settings = &self.settings;
        let mut out = vec![Vec::new(); settings.continuous.len()];
        if settings.order == 0 || !self.data.place.stepped {
            return Ok(out);
        }
        let order = settings.order.min(self.interface.output_derivatives);
        let known = settings.continuous.iter().enumerate();
        let known: Vec<(usize, u32)> = known.filter_map(|(i, r)| Some((i, (*r)?))).collect();
        let given = self.given_derivatives(order, &known)?;
        let mut without = Vec::new();
        for (k, &(i, _)) in known.iter().enumerate() {
            let own: Vec<f64> = given.iter().skip(k).step_by(known.len()).copied().collect();
            let good = own.iter().all(|d| d.is_finite());
            if !good {
                without.push(name_of(&settings.outputs, i));
            }
            let slope = self.data.place.slopes[i];
            out[i] = match good {
                true if !own.is_empty() => own,
                _ if slope.is_finite() => vec![slope],
                _ => Vec::new(),
            };
        }
        if !without.is_empty() {
            let story =
                format!("the FMU gives no numbers as derivatives of {}", without.join(", "));
            self.tell_without(story);
        }
        Ok(out)
    }

    /// Taylor coefficients of outputs that the FMU gives, order by order; none where it refuses them.
    fn given_derivatives(
        &self,
        order: usize,
        known: &[(usize, u32)],
    ) -> Result<Vec<f64>, CallError> {
        let (mut references, mut orders) = (Vec::new(), Vec::new());
        for k in 1..=order {
            references.extend(known.iter().map(|(_, r)| *r));
            orders.extend(known.iter().map(|_| k as i32));
        }
        if references.is_empty() {
            return Ok(Vec::new());
        }
        match self.instance.output_derivatives(&references, &orders) {
            Ok(mut values) => {
                let mut factorial = 1.0;
                for (k, row) in values.chunks_mut(known.len()).enumerate() {
                    factorial *= (k + 1) as f64;
                    row.iter_mut().for_each(|d| *d /= factorial);
                }
                Ok(values)
            }
            Err(e) if matches!(e.status, Status::Discard | Status::Error) => {
                self.tell_without(e.story());
                Ok(Vec::new())
            }
            Err(e) => Err(e),
        }
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

    /// Lines up segments of the outputs that are not what receivers hold, for tick `at`.
    pub(super) fn queue(&mut self, at: i64) -> Result<(), CallError> {
        let more = self.derivatives()?;
        let (timer, settings) = (self.data.timer, Arc::clone(&self.settings));
        let horizon = self.seconds(settings.step);
        watch(&self.instance, &settings.usual, &self.data.y, timer.resolution().seconds(at));
        for (port, more) in more.into_iter().enumerate() {
            let (y, left) = (self.data.y[port], self.data.left[port]);
            let mut c = vec![y];
            c.extend(more);
            if let Some(bad) = c.iter().find(|x| !x.is_finite()) {
                let time = self.data.place.time;
                let call =
                    format!("output {} at {time} s is {bad}", name_of(&settings.outputs, port));
                return Err(CallError { call, status: Status::Ok, log: Vec::new() });
            }
            let smooth = settings.continuous[port].is_some();
            let jump = y != left && (self.data.jumped || !smooth);
            let new = Segment::new(&c, Flag::Continuous, y);
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
                        off != 0.0
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
                self.data.outbox.push((port as u16, Segment::new(&c, flag, left)));
            }
        }
        Ok(())
    }
}

fn strange(from: f64, by: f64, what: String) -> CallError {
    let call = format!("the step from {from} s by {by} s {what}");
    CallError { call, status: Status::Ok, log: Vec::new() }
}
