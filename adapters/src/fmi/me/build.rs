//! Making the unit: starts, initialisation, the first event.
use super::{
    super::{
        beginning::Beginning,
        description::{Causality, Type, Variable},
        instance::{CallError, Instance},
        kind::whole,
        layout::{Layout, Ported, blocks},
        library::{Status, Vector},
        nominal::nominals,
        words::Words,
    },
    Data, Directions, Due, ExchangeUnit, Settings,
};
use std::sync::Arc;
use superdense_models::{
    kinds::Context,
    signal::{NEVER, Timer, statistics::UnitStatistics},
    solve::ode::{Locator, Method, Options, Past, Solver, Watched},
};

/// Rounds of the first event.
const ROUNDS: usize = 1000;

/// The keys of a scenario about the solver.
pub(in crate::fmi) struct Numerics {
    pub method: Method,
    pub options: Options,
    pub tolerance: f64,
    pub order: usize,
}

/// The facts of an FMU for model exchange.
pub(in crate::fmi) fn settings(
    layout: &Layout,
    context: &Context<'_>,
    numerics: &Numerics,
    (beginning, words): (Beginning, Words),
) -> Settings {
    let (d, i) = (&layout.description, &layout.interface);
    let smooth = |p: &Ported<'_>| p.variable.continuous;
    let mut continuous = vec![false; layout.numbers(&layout.outputs)];
    for p in layout.ported(&layout.outputs) {
        continuous[p.first..p.first + p.variable.elements].fill(p.variable.continuous);
    }
    let heard = (0..continuous.len()).map(|port| context.is_heard(port as u16)).collect();
    let size = |v: usize| d.variables[v].elements;
    let states = d.structure.states.iter().map(|s| size(s.state)).sum();
    Settings {
        name: format!("FMU {}", d.model),
        tolerance: numerics.tolerance,
        order: numerics.order,
        state_access: i.state_access,
        serialisable: i.serialisable,
        completed_step: i.completed_step,
        smooth: blocks(layout.ported(&layout.inputs).filter(smooth)),
        discrete: blocks(layout.ported(&layout.inputs).filter(|p| !smooth(p))),
        whole: whole(layout, numerics.tolerance, context),
        outputs: blocks(layout.given()),
        continuous,
        wide: layout.wide(&layout.outputs),
        heard,
        usual: nominals(layout),
        words,
        states,
        indicators: d.structure.indicators,
        nominals: vec![1.0; states],
        directions: directions(layout),
        beginning,
    }
}

fn directions(layout: &Layout) -> Option<Directions> {
    let (d, i) = (&layout.description, &layout.interface);
    if !(i.directional || i.adjoint) {
        return None;
    }
    let real = |v: &&Variable| v.ty == Type::Float64 && v.causality != Causality::Independent;
    let (mut unknowns, mut knowns) = (Vec::new(), Vec::new());
    for s in &d.structure.states {
        let (x, dx) = (&d.variables[s.state], &d.variables[s.derivative.variable]);
        if ![x, dx].iter().all(real) || x.elements != dx.elements {
            return None;
        }
        unknowns.push(dx.reference);
        knowns.push((x.reference, x.elements));
    }
    Some(Directions { unknowns, knowns, rows: !i.directional })
}

impl ExchangeUnit {
    /// A unit around an instance that has left its initialisation mode, and is in event mode.
    ///
    /// # Errors
    /// The FMU's.
    pub(in crate::fmi) fn new(
        instance: Instance,
        mut settings: Settings,
        numerics: Numerics,
        start: Vec<f64>,
        timer: Timer,
    ) -> Result<Self, CallError> {
        settings.nominals = vec![1.0; settings.states];
        let solver = Solver::new(numerics.method, numerics.options);
        let ports = settings.continuous.len();
        let data = Data {
            timer,
            solver,
            inputs: vec![None; settings.whole.ports.len()],
            start,
            y: vec![0.0; ports + settings.wide.len()],
            sent: vec![None; ports],
            outbox: Vec::new(),
            said: settings.words.begin(),
            sending: false,
            in_event: false,
            rounds: 0,
            wanted: None,
            moved: false,
            renew: false,
            jumped: true,
            left: Vec::new(),
            due: (0, Due::Step),
            found: (0, Due::Step),
            next: None,
            handled: f64::NEG_INFINITY,
            standing: 0,
            flip: NEVER,
            sides: Vec::new(),
            past: Vec::new(),
            told: true,
            terminate: false,
            extra: 0,
            counts: UnitStatistics::default(),
            notes: None,
        };
        let locator = Locator::new(Vec::new());
        let mut unit = Self { instance, settings: Arc::new(settings), data, locator };
        unit.begin()?;
        if unit.data.terminate {
            unit.queue_values();
        } else {
            unit.look_ahead()?;
        }
        unit.data.sending = true;
        unit.data.timer.at_once();
        Ok(unit)
    }

    /// The event at the start, and all that is known after it.
    fn begin(&mut self) -> Result<(), CallError> {
        let updated = first_event(&self.instance)?;
        let settings = Arc::make_mut(&mut self.settings);
        if let Some((states, indicators)) = self.instance.sizes() {
            (settings.states, settings.indicators) = (states, indicators);
        }
        let (n, m) = (settings.states, settings.indicators);
        let (mut x, mut nominals) = (vec![0.0; n], vec![1.0; n]);
        self.instance.fill(Vector::States, &mut x)?;
        // Not every binary knows them.
        if self.instance.fill(Vector::Nominals, &mut nominals).is_err() {
            nominals.fill(1.0);
        }
        nominals.iter_mut().filter(|x| !(x.is_finite() && **x > 0.0)).for_each(|x| *x = 1.0);
        settings.nominals.clone_from(&nominals);
        let options = Options { nominal: nominals, ..self.data.solver.options().clone() };
        self.data.solver = Solver::new(self.data.solver.method(), options);
        self.data.solver.begin(0.0, &x);
        (self.data.sides, self.data.past) = (vec![1.0; m], vec![Past::default(); m]);
        self.locator = Locator::new(vec![Watched::default(); m]);
        (self.data.in_event, self.data.moved, self.data.renew) = (false, false, false);
        (self.data.jumped, self.data.told) = (true, true);
        self.data.left.clear();
        (self.data.next, self.data.terminate) = (updated.next, updated.terminate);
        self.read_values()?;
        if self.data.terminate {
            return Ok(());
        }
        self.instance.enter_continuous()?;
        self.judge(&x)
    }

    /// Initialises the FMU with what it hears at the start, if that differs from what it was initialised with.
    pub(super) fn begins_again(&mut self) -> Result<bool, CallError> {
        if self.data.timer.now() > 0 {
            return Ok(false);
        }
        let (settings, values) = (Arc::clone(&self.settings), self.field().inputs_at(0.0));
        let inputs = settings.smooth.iter().chain(&settings.discrete);
        if values == self.data.start && !self.data.said.fresh
            || !settings.beginning.again(&self.instance, inputs, &values)?
        {
            return Ok(false);
        }
        settings.words.write(&self.instance, &mut self.data.said)?;
        self.instance.exit_initialisation()?;
        self.data.start = values;
        self.begin()?;
        Ok(true)
    }
}

/// The event at the start.
pub(in crate::fmi) fn first_event(
    instance: &Instance,
) -> Result<super::super::library::Updated, CallError> {
    let mut terminate = false;
    for _ in 0..ROUNDS {
        let mut updated = instance.update()?;
        terminate |= updated.terminate;
        updated.terminate = terminate;
        if !updated.again || terminate {
            return Ok(updated);
        }
    }
    let call = format!("the first event of the FMU wants more than {ROUNDS} rounds");
    Err(CallError { call, status: Status::Ok, log: Vec::new() })
}
