//! Events of the FMU: one round of its event iteration per micro-step.
use super::{
    super::{
        discrete::moving,
        instance::{Block, CallError, ROUNDS, crowded},
        library::{Status, Vector},
    },
    Due, ExchangeUnit, Settings,
};
use superdense_models::solve::ode::{Past, Solver};

impl ExchangeUnit {
    /// The FMU is told that the solver's last step was accepted, once. It may want an event.
    pub(super) fn tell(&mut self) -> Result<(), CallError> {
        if std::mem::replace(&mut self.data.told, true) || !self.settings.completed_step {
            return Ok(());
        }
        let end = self.data.solver.time();
        self.field().place(end, self.data.solver.state())?;
        let completed = self.instance.completed()?;
        self.data.terminate |= completed.terminate;
        if completed.event {
            self.data.wanted = Some(Due::State);
        }
        Ok(())
    }

    /// The solver's step ends at `t`; the rest of it is void. The FMU hears of the part that stands.
    pub(super) fn cut(&mut self, t: f64) -> Result<(), CallError> {
        // Nothing stands of a step that began here.
        self.data.told |= self.data.solver.path().start() >= t;
        if self.data.solver.truncate_to(t).is_err() {
            let x = self.states(t);
            self.data.solver.restart(t, &x);
        }
        self.tell()
    }

    /// Event mode begins, by the FMU's clock at `own` if that is what is due.
    pub(super) fn begin_event(&mut self, own: Option<f64>) -> Result<(), CallError> {
        let field = self.field();
        let now = field.absolute(0.0);
        field.place_at(own.map_or(now, |own| own.max(now)), 0.0, self.data.solver.state())?;
        self.data.handled = own.unwrap_or(self.data.handled);
        self.instance.enter_event()?;
        (self.data.in_event, self.data.jumped, self.data.rounds) = (true, true, 0);
        Ok(())
    }

    /// One round. With `inputs` these are set before it; signals that move at inputs that only events take are read at
    /// each event.
    pub(super) fn round(&mut self, inputs: bool) -> Result<(), CallError> {
        let Settings { smooth, discrete, whole, .. } = &*self.settings;
        let first = self.data.rounds == 0;
        if inputs || first && moving(&self.instance, discrete, (whole, &self.data.inputs)) {
            let values = self.field().inputs_at(0.0);
            let all: Vec<Block> = smooth.iter().chain(discrete).cloned().collect();
            self.instance.write(&all, &values)?;
        }
        if self.data.said.fresh {
            self.settings.words.write(&self.instance, &mut self.data.said)?;
        }
        self.data.rounds += 1;
        if self.data.rounds as usize > ROUNDS {
            let call = format!("an event of the FMU wants more than {ROUNDS} rounds");
            return Err(CallError { call, status: Status::Ok, log: Vec::new() });
        }
        let updated = self.instance.update()?;
        self.data.next = updated.next;
        self.data.terminate |= updated.terminate;
        self.data.renew |= updated.nominals;
        self.data.moved |= updated.states;
        self.read_values()?;
        if !updated.again || self.data.terminate {
            self.end_event()?;
        }
        Ok(())
    }

    pub(super) fn read_values(&mut self) -> Result<(), CallError> {
        let mut y = std::mem::take(&mut self.data.y);
        let read = self.instance.read(&self.settings.outputs, &mut y);
        self.data.y = y;
        self.settings.words.queue(&self.instance, &mut self.data.said)?;
        read
    }

    /// Continuous time goes on, from states that may be new.
    fn end_event(&mut self) -> Result<(), CallError> {
        self.data.in_event = false;
        self.goes_on()?;
        let mut x = self.data.solver.state().to_vec();
        if std::mem::take(&mut self.data.moved) {
            self.instance.fill(Vector::States, &mut x)?;
        }
        if self.data.terminate {
            return Ok(());
        }
        self.instance.enter_continuous()?;
        if std::mem::take(&mut self.data.renew) {
            self.renew()?;
        }
        self.data.solver.restart(0.0, &x);
        self.data.counts.reinitialisations += 1;
        self.data.told = true;
        self.judge(&x)
    }

    /// Refuses events of the FMU's clock without end that do not go beyond the present.
    fn goes_on(&mut self) -> Result<(), CallError> {
        let now = self.field().absolute(0.0);
        let next = self.data.next.filter(|next| *next <= now);
        self.data.standing = if next.is_some() { self.data.standing + 1 } else { 0 };
        match next {
            Some(next) if self.data.standing > ROUNDS => Err(crowded(next, now)),
            _ => Ok(()),
        }
    }

    /// A solver for other nominal values.
    fn renew(&mut self) -> Result<(), CallError> {
        let mut options = self.data.solver.options().clone();
        let mut nominals = vec![1.0; self.settings.states];
        self.instance.fill(Vector::Nominals, &mut nominals)?;
        options.nominal = nominals;
        let mut solver = Solver::new(self.data.solver.method(), options);
        solver.begin(0.0, self.data.solver.state());
        self.data.solver = solver;
        Ok(())
    }

    /// Decides the domains of the indicators.
    pub(super) fn judge(&mut self, x: &[f64]) -> Result<(), CallError> {
        let mut z = vec![0.0; self.settings.indicators];
        if z.is_empty() {
            return Ok(());
        }
        self.field().indicators(0.0, x, &mut z)?;
        self.data.sides = z.iter().map(|z| z.signum()).collect();
        self.data.past.fill(Past::default());
        Ok(())
    }
}
