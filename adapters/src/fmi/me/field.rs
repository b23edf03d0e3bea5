//! The FMU as the right-hand side of its states: every evaluation sets time, states and inputs.
use super::{
    super::{
        instance::{CallError, Instance},
        library::{Status, Vector},
    },
    Directions, Settings,
};
use superdense_models::{
    signal::{Held, Timer},
    solve::ode::{OdeSystem, Partials},
};

/// The FMU between two events. Times are seconds since the unit's last transition.
pub(super) struct Field<'a> {
    pub instance: &'a Instance,
    pub settings: &'a Settings,
    pub inputs: &'a [Option<Held>],
    /// Values of inputs without a segment.
    pub start: &'a [f64],
    pub timer: Timer,
    /// Evaluations for differences.
    pub extra: u64,
    /// The last states that the FMU did not take.
    pub refused: Option<CallError>,
}

impl Field<'_> {
    /// The FMU's own time.
    pub(super) fn absolute(&self, t: f64) -> f64 {
        self.timer.resolution().seconds(self.timer.now()) + t
    }

    /// Values of all inputs.
    pub(super) fn inputs_at(&self, t: f64) -> Vec<f64> {
        let value = |(port, (held, &start)): (usize, (&Option<Held>, &f64))| match held {
            Some(h) => {
                let age = self.timer.seconds(h.since(), self.timer.now());
                self.settings.whole.heard(port, h.segment(), age + t)
            }
            None => start,
        };
        let whole = &self.settings.whole;
        let rests = whole.rests(self.start, |port| self.inputs[port].as_ref());
        self.inputs.iter().zip(self.start).enumerate().map(value).chain(rests).collect()
    }

    /// Moves the FMU there.
    pub(super) fn place(&self, t: f64, x: &[f64]) -> Result<(), CallError> {
        self.place_at(self.absolute(t), t, x)
    }

    /// Moves the FMU to the states and inputs at `t`, and to a time of its own.
    pub(super) fn place_at(&self, absolute: f64, t: f64, x: &[f64]) -> Result<(), CallError> {
        self.instance.place(absolute, x)?;
        self.instance.write(&self.settings.smooth, &self.smooth_at(t))
    }

    /// Values of all inputs, if there are some to be set with each place.
    fn smooth_at(&self, t: f64) -> Vec<f64> {
        if self.settings.smooth.is_empty() { Vec::new() } else { self.inputs_at(t) }
    }

    /// A vector of the FMU's at states and inputs, and at a time of its own.
    fn evaluate(
        &self,
        absolute: f64,
        (t, x): (f64, &[f64]),
        what: Vector,
        out: &mut [f64],
    ) -> Result<(), CallError> {
        let values = self.smooth_at(t);
        self.instance.evaluate((absolute, x), (&self.settings.smooth, &values), what, out)
    }

    /// Event indicators there. A zero belongs to what lies below.
    pub(super) fn indicators(&self, t: f64, x: &[f64], z: &mut [f64]) -> Result<(), CallError> {
        self.indicators_at(self.absolute(t), (t, x), z)
    }

    /// Event indicators there, at a time of the FMU's own.
    pub(super) fn indicators_at(
        &self,
        absolute: f64,
        (t, x): (f64, &[f64]),
        z: &mut [f64],
    ) -> Result<(), CallError> {
        self.evaluate(absolute, (t, x), Vector::Indicators, z)?;
        z.iter_mut().filter(|z| **z == 0.0).for_each(|z| *z = -f64::MIN_POSITIVE);
        Ok(())
    }

    /// Outputs there.
    pub(super) fn outputs(&self, t: f64, x: &[f64], y: &mut [f64]) -> Result<(), CallError> {
        self.instance.place(self.absolute(t), x)?;
        let values = self.smooth_at(t);
        let inputs = (&self.settings.smooth[..], &values[..]);
        self.instance.read_with(inputs, &self.settings.outputs, y)
    }

    /// The Jacobian row by row, by adjoint derivatives. It is kept column by column.
    fn rows(&self, directions: &Directions, jacobian: &mut [f64]) -> Result<(), CallError> {
        let n = self.settings.states;
        let states: Vec<u32> = directions.knowns.iter().map(|(state, _)| *state).collect();
        let (mut row, mut i) = (vec![0.0; n], 0);
        for (&unknown, &(_, elements)) in directions.unknowns.iter().zip(&directions.knowns) {
            for k in 0..elements {
                let mut seed = vec![0.0; elements];
                seed[k] = 1.0;
                self.instance.adjoint_into(&[unknown], &states, &seed, &mut row)?;
                let column = jacobian.iter_mut().skip(i).step_by(n);
                column.zip(&row).for_each(|(to, &from)| *to = from);
                i += 1;
            }
        }
        Ok(())
    }

    /// A column of the Jacobian by a difference, with `dx` the derivatives at `x`.
    fn difference(
        &mut self,
        t: f64,
        (x, j): (&[f64], usize),
        dx: &[f64],
        column: &mut [f64],
    ) -> Result<(), CallError> {
        let mut moved = x.to_vec();
        let nominal = self.settings.nominals.get(j).copied().unwrap_or(1.0);
        moved[j] += f64::EPSILON.sqrt() * x[j].abs().max(nominal);
        let by = moved[j] - x[j];
        self.rhs(t, &moved, column)?;
        self.extra += 1;
        column.iter_mut().zip(dx).for_each(|(c, d)| *c = (*c - d) / by);
        Ok(())
    }
}

impl OdeSystem for Field<'_> {
    type Error = CallError;

    fn dim(&self) -> usize {
        self.settings.states
    }

    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), CallError> {
        match self.evaluate(self.absolute(t), (t, x), Vector::Derivatives, dx) {
            // The FMU does not take these states: no number, so that the step becomes shorter.
            Err(e) if e.status == Status::Discard => {
                dx.fill(f64::NAN);
                self.refused = Some(e);
                Ok(())
            }
            other => other,
        }
    }

    fn linearise(&mut self, t: f64, x: &[f64], to: Partials<'_>) -> Result<bool, CallError> {
        let n = self.settings.states;
        // Nearby times come first, so that the FMU is left where it was asked for.
        let by = 1e-7 * self.absolute(t).abs().max(1.0);
        self.rhs(t + by, x, to.drift)?;
        self.extra += 1;
        self.rhs(t, x, to.dx)?;
        to.drift.iter_mut().zip(&*to.dx).for_each(|(later, now)| *later = (*later - now) / by);
        if n == 0 {
            return Ok(true);
        }
        if let Some(directions) = self.settings.directions.as_ref().filter(|d| d.rows) {
            return self.rows(directions, to.jacobian).map(|()| true);
        }
        let mut columns = to.jacobian.chunks_exact_mut(n);
        if let Some(directions) = &self.settings.directions {
            for &(state, elements) in &directions.knowns {
                for k in 0..elements {
                    let mut seed = vec![0.0; elements];
                    seed[k] = 1.0;
                    let Some(column) = columns.next() else { return Ok(false) };
                    self.instance.directional_into(
                        &directions.unknowns,
                        &[state],
                        &seed,
                        column,
                    )?;
                }
            }
            return Ok(true);
        }
        for (j, column) in columns.enumerate() {
            self.difference(t, (x, j), to.dx, column)?;
        }
        Ok(true)
    }
}
