//! Variables of a running FMU: reading and setting them, and the calls that inputs are set for.
use super::{
    block::{Block, check, names},
    calls::{Answer, Call},
    instance::{CallError, Called, Instance, Seat, strange},
    library::{Curve, Status, Stepped, Vector},
};
use std::sync::MutexGuard;

/// Inputs to be set before a call, and their values by place.
pub type Inputs<'a> = (&'a [Block], &'a [f64]);

impl Instance {
    /// Sets inputs and steps. `certain` when no earlier state will be brought back.
    ///
    /// # Errors
    /// The FMU's; after [`Status::Discard`] it may be brought back and asked for less.
    pub fn step(
        &self,
        inputs: Inputs<'_>,
        (from, by): (f64, f64),
        curves: &[Curve],
        certain: bool,
    ) -> Called<Stepped> {
        let name = || format!("{} from {from} s by {by} s", self.name("DoStep"));
        let call = |seat: &mut Seat| {
            seat.carrier.carry(Call::Step { from, by, curves: curves.into(), certain }, &mut [])
        };
        match self.call_with(self.seat(name)?, inputs, name, call)? {
            Answer::Stepped(stepped) => Ok(stepped),
            _ => Err(strange(name())),
        }
    }

    /// Reads outputs into their places.
    ///
    /// # Errors
    /// The FMU's.
    pub fn read(&self, blocks: &[Block], values: &mut [f64]) -> Called {
        self.read_with((&[], &[]), blocks, values)
    }

    /// Sets inputs and reads outputs into their places.
    ///
    /// # Errors
    /// The FMU's.
    pub fn read_with(
        &self,
        mut inputs: Inputs<'_>,
        blocks: &[Block],
        values: &mut [f64],
    ) -> Called {
        if blocks.is_empty() {
            return self.write(inputs.0, inputs.1);
        }
        for block in blocks {
            let name = || format!("{}{:?} of {}", self.name("Get"), block.ty, names(block));
            let get = |out: &mut [f64]| {
                let call = |seat: &mut Seat| seat.carrier.get(block.ty, &block.references, out);
                self.call_with(self.seat(name)?, inputs, name, call)
            };
            if let Some(run) = block.run() {
                get(&mut values[run])?;
            } else {
                let mut own = vec![0.0; block.all().count()];
                get(&mut own)?;
                block.all().zip(own).for_each(|(place, value)| values[place] = value);
            }
            block.rescale(values);
            inputs = (&[], &[]);
        }
        Ok(())
    }

    /// Sets variables from their places.
    ///
    /// # Errors
    /// The FMU's, or a value that the type cannot hold; it names the variable and the value.
    pub fn write(&self, blocks: &[Block], values: &[f64]) -> Called {
        for block in blocks {
            let name = || format!("{}{:?}", self.name("Set"), block.ty);
            let mut seat = self.seat(name)?;
            let status = set(&mut seat, block, values, false)?;
            if !status.is_good() {
                let error = seat.refusal(name(), status);
                drop(seat);
                return Err(self.culprit(block, values, error));
            }
        }
        Ok(())
    }

    /// Sets inputs and makes a call: one message, where the instance lives in a worker.
    fn call_with(
        &self,
        mut seat: MutexGuard<'_, Seat>,
        (blocks, values): Inputs<'_>,
        name: impl Fn() -> String,
        call: impl FnOnce(&mut Seat) -> (Status, Answer),
    ) -> Called<Answer> {
        let mut refused = None;
        for block in blocks {
            let status = set(&mut seat, block, values, true)?;
            if !status.is_good() {
                refused = Some((block, status));
                break;
            }
        }
        if refused.is_none() {
            let (status, answer) = call(&mut seat);
            if status.is_good() {
                return Ok(answer);
            }
            let Answer::Earlier(back) = answer else { return Err(seat.refusal(name(), status)) };
            let block = blocks.len().checked_sub(back).and_then(|k| blocks.get(k));
            let Some(block) = block else { return Err(seat.refusal(name(), status)) };
            refused = Some((block, status));
        }
        let Some((block, status)) = refused else { return Err(strange(name())) };
        let error = seat.refusal(format!("{}{:?}", self.name("Set"), block.ty), status);
        drop(seat);
        Err(self.culprit(block, values, error))
    }

    /// Which of several variables the FMU does not take.
    fn culprit(&self, block: &Block, values: &[f64], error: CallError) -> CallError {
        let all = block.variables.iter().zip(&block.references).zip(block.each());
        for (((name, _), &reference), range) in all {
            let rests = block.rests.get(range.clone()).unwrap_or_default();
            let reals = &block.places[range];
            let own: Vec<f64> = reals.iter().chain(rests).map(|&place| values[place]).collect();
            let call = || {
                let (set, ty, own) = (self.name("Set"), block.ty, &own[..reals.len()]);
                format!("{set}{ty:?} of {name} (reference {reference}) to {own:?}")
            };
            let alone = error.status == Status::Discard && block.references.len() > 1;
            if !alone {
                return CallError { call: call(), ..error };
            }
            let set = Call::Set(block.ty, vec![reference].into(), own.as_slice().into());
            if let Err(e) = self.call(call, set, &mut []) {
                return e;
            }
        }
        error
    }

    /// Derivatives of outputs by time at the last communication point.
    ///
    /// # Errors
    /// The FMU's; one that refuses them by [`Status::Discard`] or [`Status::Error`] goes on without.
    pub fn output_derivatives(
        &self,
        references: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> Called {
        let call = Call::OutputDerivatives(references.into(), orders.into());
        self.call(|| self.name("GetOutputDerivatives"), call, values).map(|_| ())
    }

    /// Moves to a time and, if there are any, states.
    ///
    /// # Errors
    /// The FMU's.
    pub fn place(&self, t: f64, x: &[f64]) -> Called {
        self.placed(t, x).map(|_| ())
    }

    fn placed(&self, t: f64, x: &[f64]) -> Called<MutexGuard<'_, Seat>> {
        let name = || format!("{} to {t} s", self.name("SetTime"));
        let mut seat = self.seat(name)?;
        let status = seat.carrier.set_time(t);
        if !status.is_good() {
            return Err(seat.refusal(name(), status));
        }
        if !x.is_empty() {
            let status = seat.carrier.set_states(x);
            if !status.is_good() {
                let name = format!("{} at {t} s to {x:?}", self.name("SetContinuousStates"));
                return Err(seat.refusal(name, status));
            }
        }
        Ok(seat)
    }

    /// States, derivatives, indicators or nominal values at the present place.
    ///
    /// # Errors
    /// The FMU's.
    pub fn fill(&self, what: Vector, out: &mut [f64]) -> Called {
        let name = || self.name(what.getter(self.version()));
        self.filled(self.seat(name)?, (&[], &[]), what, out)
    }

    /// Moves to a time and states, sets inputs and takes one of these vectors.
    ///
    /// # Errors
    /// The FMU's.
    pub fn evaluate(
        &self,
        (t, x): (f64, &[f64]),
        inputs: Inputs<'_>,
        what: Vector,
        out: &mut [f64],
    ) -> Called {
        self.filled(self.placed(t, x)?, inputs, what, out)
    }

    fn filled(
        &self,
        seat: MutexGuard<'_, Seat>,
        inputs: Inputs<'_>,
        what: Vector,
        out: &mut [f64],
    ) -> Called {
        if out.is_empty() {
            drop(seat);
            return self.write(inputs.0, inputs.1);
        }
        let name = || self.name(what.getter(self.version()));
        self.call_with(seat, inputs, name, |seat| seat.carrier.fill(what, out)).map(|_| ())
    }
}

/// Sets the variables of a block, or puts that off until the next call.
fn set(seat: &mut Seat, block: &Block, values: &[f64], with_next: bool) -> Called<Status> {
    let Seat { carrier, buffer } = seat;
    let values = match block.run() {
        Some(run) => &values[run],
        None => {
            block.gather(values, buffer);
            &buffer[..]
        }
    };
    check(block, values)?;
    if with_next && carrier.defers() {
        let set = Call::Set(block.ty, (&block.references).into(), values.into());
        if carrier.defer(&set) {
            return Ok(Status::Ok);
        }
    }
    Ok(carrier.set(block.ty, &block.references, values))
}
