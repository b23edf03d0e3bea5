//! Classical machines on a network reduced to their internal nodes, with governors.
//!
//! δ' = 2π f0 w, 2H w' = Pm - Pe, Pe = Re(E conj(Y E)); x1' = (pref - (Sn/S/R) w - x1)/T1,
//! x2' = (x1 - x2)/T3, Pm = x2 + (T2/T3)(x1 - x2). w is the deviation of speed per unit; loads are
//! constant impedances. Anderson, Fouad, "Power System Control and Stability", section 2.10.
//!
//! **Why the reduced matrix is part of the discrete values.** It changes at events only, so that
//! derivatives stay plain arithmetic which every method can expand. What follows from breakers beside it
//! is there for the same reason: how many islands there are, whose machines make their frequencies, and
//! how voltages that somebody hears follow from the machines. What is only looked at now and then is
//! solved for with the factors of the present network.
mod plan;
mod tell;

pub use plan::{Fault, Outage, Plan};

use super::{
    admittance::C,
    case::{Case, Governor},
    errors::CaseError,
    flow::{Flow, solve},
    ports::{self, Input, Output},
    topology::{Breakers, Islands, Topology},
};
use crate::{
    maths::{expr::Scalar, sparse::Lu},
    signal::value::Value,
    solve::{Dims, Equations, EventSpec, Trigger},
};
use plan::{Action, events};
use std::sync::{Arc, Mutex, PoisonError};
use tell::combine;

type Work<S = f64> = crate::solve::equations::Work<S>;
/// Real and imaginary part.
type Pair<S> = (S, S);

/// One machine with its start.
#[derive(Debug, Clone)]
struct Unit {
    inertia: f64,
    reactance: f64,
    /// Magnitude of the internal voltage.
    voltage: f64,
    angle: f64,
    /// Sn/S/R of its governor, and the place of x1 among the states.
    governor: Option<(f64, usize)>,
}

/// The machines of a grid as equations.
#[derive(Debug, Clone)]
pub struct Machines {
    frequency: f64,
    base: f64,
    units: Vec<Unit>,
    governor: Governor,
    topology: Topology,
    inputs: Vec<(Input, Option<Arc<str>>)>,
    outputs: Vec<Output>,
    told: Vec<bool>,
    /// Buses whose voltages are heard, and machines whose islands' frequencies are.
    rows: Vec<usize>,
    regions: Vec<usize>,
    thresholds: Vec<f64>,
    rearm: Option<f64>,
    telemetry: usize,
    events: Vec<EventSpec>,
    actions: Vec<Action>,
    dims: Dims,
    /// Mechanical power at the start per unit.
    power: Vec<f64>,
    /// The network as it was looked at last.
    present: Arc<Mutex<Option<Present>>>,
}

/// A network with its breakers, and its voltages for angles of the machines.
#[derive(Debug)]
struct Present {
    breakers: Vec<f64>,
    islands: Islands,
    factors: Lu<C>,
    angles: Vec<f64>,
    voltages: Vec<C>,
}

/// Places of the discrete values, from the first on.
struct Places {
    status: usize,
    reference: usize,
    crossed: usize,
    shed: usize,
    fault: usize,
    open: usize,
    /// From here on, what follows from the breakers: whether there is voltage anywhere, the number of
    /// islands with voltage and of buses without, the power in MW of the loads there.
    alive: usize,
    lit: usize,
    dark: usize,
    lost: usize,
    /// Whether these numbers changed without being told.
    news: usize,
    /// Shares of the machines in the frequency of the largest island.
    centre: usize,
    real: usize,
    imaginary: usize,
    /// Per heard bus: whether it is dark, then real and imaginary parts by machine.
    rows: usize,
    /// Per machine whose island is heard: whether that has voltage, then shares of the machines.
    regions: usize,
    end: usize,
}

impl Machines {
    /// Machines at rest in the solution of the power flow.
    ///
    /// # Errors
    /// When the power flow has none, or the case has no machines.
    pub fn new(case: &Case, plan: &Plan) -> Result<Self, CaseError> {
        if case.machines.is_empty() {
            return Err(CaseError::NoMachines);
        }
        let unused = Governor { droop: 1.0, t1: 1.0, t2: 1.0, t3: 1.0 };
        let unused = (!plan.governed.contains(&true)).then_some(unused);
        let governor = case.governor.or(unused).ok_or(CaseError::NoGovernors)?;
        let flow = solve(case)?;
        let mut units = units(case, plan, &flow);
        let mut state = 2 * units.len();
        for unit in &mut units {
            if let Some((_, place)) = &mut unit.governor {
                *place = state;
                state += 2;
            }
        }
        let inputs = ports::inputs(case).into_iter();
        let outputs: Vec<Output> = ports::outputs(case).into_iter().map(|o| o.0).collect();
        let mut told = plan.told.clone();
        told.resize(outputs.len(), false);
        let mut it = Self {
            frequency: case.frequency,
            base: case.base,
            governor,
            topology: Topology::new(case, &flow.vm, &plan.faults),
            inputs: inputs.map(|(what, _, told)| (what, told.map(Arc::from))).collect(),
            rows: Vec::new(),
            regions: Vec::new(),
            thresholds: plan.thresholds.clone(),
            rearm: plan.rearm,
            telemetry: plan.telemetry.len(),
            events: Vec::new(),
            actions: Vec::new(),
            dims: Dims { states: state, outputs: outputs.len(), ..Dims::default() },
            outputs,
            told,
            power: Vec::new(),
            present: Arc::default(),
            units,
        };
        it.hear();
        (it.events, it.actions) = events(case, plan);
        let states = it.events.iter().filter(|e| matches!(e.trigger, Trigger::State { .. }));
        it.dims.indicators = states.count();
        it.dims.event_inputs = it.inputs.len();
        it.dims.event_outputs = it.units.len() + it.telemetry + 3;
        it.dims.discrete = it.places().end - it.dims.first_discrete();
        let mut vars = it.start()?;
        it.power = (0..it.units.len()).map(|k| it.electric(&vars, k)).collect();
        it.rest(&mut vars);
        Ok(it)
    }

    /// Notes whose voltages and frequencies are heard.
    fn hear(&mut self) {
        for (what, _) in self.outputs.iter().zip(&self.told).filter(|(_, told)| **told) {
            match *what {
                Output::Voltage(bus) => self.rows.push(bus),
                Output::Demanded(k, _) => self.rows.push(self.topology.loads[k].bus),
                Output::Flow(k, _) => self.rows.extend(self.topology.branches[k].0),
                Output::Island(k) => self.regions.push(k),
                _ => {}
            }
        }
        self.rows.sort_unstable();
        self.rows.dedup();
    }

    fn places(&self) -> Places {
        let n = self.units.len();
        let status = self.dims.first_discrete();
        let reference = status + n;
        let crossed = reference + n;
        let shed = crossed + n * self.thresholds.len();
        let fault = shed + self.topology.loads.len();
        let open = fault + self.topology.faults.len();
        let alive = open + self.topology.branches.len();
        let [lit, dark, lost, news, centre] = [1, 2, 3, 4, 5].map(|k| alive + k);
        let real = centre + n;
        let imaginary = real + n * n;
        let rows = imaginary + n * n;
        let regions = rows + self.rows.len() * (1 + 2 * n);
        let end = regions + self.regions.len() * (1 + n);
        Places {
            status,
            reference,
            crossed,
            shed,
            fault,
            open,
            alive,
            lit,
            dark,
            lost,
            news,
            centre,
            real,
            imaginary,
            rows,
            regions,
            end,
        }
    }

    /// All variables at the start, without the mechanical powers.
    fn start(&self) -> Result<Vec<f64>, CaseError> {
        let mut vars = vec![0.0; self.dims.variables()];
        let places = self.places();
        for (k, unit) in self.units.iter().enumerate() {
            vars[Dims::STATES + k] = unit.angle;
            vars[places.status + k] = 1.0;
        }
        if !self.connect(&mut vars) {
            return Err(CaseError::SingularNetwork);
        }
        vars[places.news] = 0.0;
        Ok(vars)
    }

    /// Puts governors in equilibrium.
    fn rest(&self, vars: &mut [f64]) {
        let places = self.places();
        for (k, unit) in self.units.iter().enumerate() {
            vars[places.reference + k] = self.power[k];
            if let Some((_, x1)) = unit.governor {
                vars[Dims::STATES + x1] = self.power[k];
                vars[Dims::STATES + x1 + 1] = self.power[k];
            }
        }
    }

    /// Initial states and discrete values.
    ///
    /// # Errors
    /// When the network is singular.
    pub fn initial(&self) -> Result<(Vec<f64>, Vec<f64>), CaseError> {
        let mut vars = self.start()?;
        self.rest(&mut vars);
        let (x, d) = (Dims::STATES, self.dims.first_discrete());
        Ok((vars[x..x + self.dims.states].to_vec(), vars[d..d + self.dims.discrete].to_vec()))
    }

    /// Mechanical power per unit of each machine at the start.
    pub fn powers(&self) -> &[f64] {
        &self.power
    }

    fn breakers<'a>(&self, vars: &'a [f64]) -> Breakers<'a> {
        let Places { status, shed, fault, open, alive, .. } = self.places();
        Breakers {
            status: &vars[status..status + self.units.len()],
            shed: &vars[shed..fault],
            fault: &vars[fault..open],
            open: &vars[open..alive],
        }
    }

    /// Looks at the network as the breakers are; nothing if it is singular.
    fn look<R>(&self, vars: &[f64], f: impl FnOnce(&mut Present) -> R) -> Option<R> {
        let breakers = self.breakers(vars);
        let Breakers { status, shed, fault, open } = breakers;
        let key = [status, shed, fault, open].concat();
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if present.as_ref().is_none_or(|p| p.breakers != key) {
            *present = None;
            let islands = self.topology.islands(breakers);
            let factors = self.topology.factors(breakers, &islands)?;
            let (angles, voltages) = (Vec::new(), Vec::new());
            *present = Some(Present { breakers: key, islands, factors, angles, voltages });
        }
        present.as_mut().map(f)
    }

    /// Computes what follows from the breakers. Not where the network is singular.
    fn connect(&self, vars: &mut [f64]) -> bool {
        let places = self.places();
        let derived = self.look(vars, |present| self.derived(vars, present));
        let Some(derived) = derived else { return false };
        // Islands and dark buses.
        let changed = derived[1..3] != vars[places.lit..=places.dark];
        let news = if changed { 1.0 } else { vars[places.news] };
        vars[places.alive..places.end].copy_from_slice(&derived);
        vars[places.news] = news;
        true
    }

    /// The discrete values from [`Places::alive`] on.
    fn derived(&self, vars: &[f64], present: &mut Present) -> Vec<f64> {
        let (places, n) = (self.places(), self.units.len());
        let Present { islands, factors, .. } = present;
        let status = self.breakers(vars).status;
        let mut all = vec![0.0; places.end - places.alive];
        let at = |place: usize| place - places.alive;
        let lit = islands.lit().count();
        all[0] = f64::from(u8::from(lit > 0));
        all[at(places.lit)] = lit as f64;
        all[at(places.dark)] = (0..islands.of.len()).filter(|&k| islands.is_dark(k)).count() as f64;
        let loads = self.topology.loads.iter().zip(self.breakers(vars).shed);
        let lost = loads.filter(|(load, _)| islands.is_dark(load.bus));
        all[at(places.lost)] = lost.fold(0.0, |sum, (load, shed)| sum + load.power * (1.0 - shed));
        let share = |island: usize, k: usize| {
            let within = islands.of[self.topology.sources[k].bus] == island && status[k] > 0.5;
            if within { self.units[k].inertia / islands.inertia[island] } else { 0.0 }
        };
        if let Some(island) = islands.largest() {
            (0..n).for_each(|k| all[at(places.centre) + k] = share(island, k));
        }
        for (row, &k) in self.regions.iter().enumerate() {
            let bus = self.topology.sources[k].bus;
            let row = at(places.regions) + row * (1 + n);
            if !islands.is_dark(bus) {
                all[row] = 1.0;
                (0..n).for_each(|k| all[row + 1 + k] = share(islands.of[bus], k));
            }
        }
        for (row, &bus) in self.rows.iter().enumerate() {
            let dark = islands.is_dark(bus);
            all[at(places.rows) + row * (1 + 2 * n)] = f64::from(u8::from(dark));
        }
        let admittance = |k: usize| C::new(0.0, -1.0 / self.units[k].reactance);
        let mut one = vec![C::default(); n];
        for c in (0..n).filter(|&c| status[c] > 0.5) {
            one[c] = C::new(1.0, 0.0);
            let voltages = self.topology.voltages(factors, status, &one);
            one[c] = C::default();
            for r in (0..n).filter(|&r| status[r] > 0.5) {
                let own = if r == c { admittance(r) } else { C::default() };
                let y = own - admittance(r) * voltages[self.topology.sources[r].bus];
                all[at(places.real) + r * n + c] = y.re;
                all[at(places.imaginary) + r * n + c] = y.im;
            }
            for (row, &bus) in self.rows.iter().enumerate() {
                let row = at(places.rows) + row * (1 + 2 * n) + 1;
                (all[row + c], all[row + n + c]) = (voltages[bus].re, voltages[bus].im);
            }
        }
        all
    }

    /// Reconnects the network in an event; a singular network shows as values that are not finite.
    fn reconnect(&self, vars: &mut [f64]) {
        if !self.connect(vars) {
            vars[self.places().real] = f64::NAN;
        }
    }

    /// Internal voltages.
    fn internal<S: Scalar>(&self, vars: &[S]) -> Vec<Pair<S>> {
        let one = |(unit, angle): (&Unit, &S)| {
            let e = S::constant(unit.voltage);
            (e.mul(&angle.cos()), e.mul(&angle.sin()))
        };
        self.units.iter().zip(&vars[Dims::STATES..]).map(one).collect()
    }

    /// The current of machine `k`.
    fn current<S: Scalar>(&self, vars: &[S], e: &[Pair<S>], k: usize) -> Pair<S> {
        let (places, n) = (self.places(), self.units.len());
        let [real, imaginary] = [places.real, places.imaginary].map(|p| &vars[p + k * n..]);
        combine(e, real, imaginary)
    }

    /// Electric power of machine `k`.
    fn delivered<S: Scalar>(&self, vars: &[S], e: &[Pair<S>], k: usize) -> S {
        let (re, im) = self.current(vars, e, k);
        e[k].0.mul(&re).add(&e[k].1.mul(&im))
    }

    fn electric(&self, vars: &[f64], k: usize) -> f64 {
        self.delivered(vars, &self.internal(vars), k)
    }

    fn speed<'a, S>(&self, vars: &'a [S], k: usize) -> &'a S {
        &vars[Dims::STATES + self.units.len() + k]
    }
}

/// Machines with internal voltages from the power flow.
fn units(case: &Case, plan: &Plan, flow: &Flow) -> Vec<Unit> {
    let voltages = flow.voltages();
    let droop = case.governor.map_or(1.0, |g| g.droop);
    let unit = |(k, m): (usize, &super::case::Machine)| {
        let demand = case.buses[m.bus].demand;
        let s = flow.power[m.bus] + C::new(demand[0], demand[1]) / case.base;
        let v = voltages[m.bus];
        let e = v + C::new(0.0, m.reactance) * (s / v).conj();
        Unit {
            inertia: m.inertia,
            reactance: m.reactance,
            voltage: libm::hypot(e.re, e.im),
            angle: libm::atan2(e.im, e.re),
            governor: plan.governed[k].then_some((m.rating / case.base / droop, 0)),
        }
    };
    case.machines.iter().enumerate().map(unit).collect()
}

impl Equations for Machines {
    fn dims(&self) -> Dims {
        self.dims
    }

    fn events(&self) -> &[EventSpec] {
        &self.events
    }

    fn derivatives<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, dx: &mut [S]) {
        let (n, places, g) = (self.units.len(), self.places(), self.governor);
        let e = self.internal(vars);
        let turn = S::constant(2.0 * std::f64::consts::PI * self.frequency);
        for (k, unit) in self.units.iter().enumerate() {
            let (w, on) = (self.speed(vars, k), &vars[places.status + k]);
            let reference = &vars[places.reference + k];
            let mechanical = match unit.governor {
                None => reference.clone(),
                Some((gain, place)) => {
                    let (x1, x2) = (&vars[Dims::STATES + place], &vars[Dims::STATES + place + 1]);
                    let wanted = reference.sub(&w.mul(&S::constant(gain))).sub(x1);
                    let lag = x1.sub(x2);
                    dx[place] = wanted.mul(&S::constant(1.0 / g.t1)).mul(on);
                    dx[place + 1] = lag.mul(&S::constant(1.0 / g.t3)).mul(on);
                    x2.add(&lag.mul(&S::constant(g.t2 / g.t3)))
                }
            };
            let surplus = mechanical.sub(&self.delivered(vars, &e, k));
            dx[k] = turn.mul(w).mul(on);
            dx[n + k] = surplus.mul(&S::constant(0.5 / unit.inertia)).mul(on);
        }
    }

    fn outputs<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, y: &mut [S]) {
        let (places, n) = (self.places(), self.units.len());
        let e = self.internal(vars);
        let bus = |bus: usize| {
            let row = self.rows.binary_search(&bus).unwrap_or_default();
            let row = &vars[places.rows + row * (1 + 2 * n)..][..1 + 2 * n];
            (combine(&e, &row[1..=n], &row[1 + n..]), row[0].clone())
        };
        let island = |k: usize| {
            let row = self.regions.iter().position(|r| *r == k).unwrap_or_default();
            let row = &vars[places.regions + row * (1 + n)..][..1 + n];
            self.frequency(vars, &row[0], &row[1..])
        };
        for ((y, what), told) in y.iter_mut().zip(&self.outputs).zip(&self.told) {
            *y = if *told { self.tell(*what, (vars, &e), &bus, &island) } else { S::constant(0.0) };
        }
    }

    fn output(&self, port: usize, vars: &[f64]) -> f64 {
        let (status, e) = (self.breakers(vars).status, self.needed(self.outputs[port], vars));
        let angles = &vars[Dims::STATES..][..self.units.len()];
        let told = self.look(vars, |present| {
            if self.outputs[port].reads_buses() && present.angles != angles {
                let e: Vec<C> = e.iter().map(|e| C::new(e.0, e.1)).collect();
                present.voltages = self.topology.voltages(&mut present.factors, status, &e);
                present.angles = angles.to_vec();
            }
            let (islands, voltages) = (&present.islands, &present.voltages);
            let bus = |bus: usize| {
                let v = voltages[bus];
                ((v.re, v.im), f64::from(u8::from(islands.is_dark(bus))))
            };
            let island = |k: usize| {
                let island = islands.of[self.topology.sources[k].bus];
                let inertia = islands.inertia[island];
                if inertia == 0.0 {
                    return 0.0;
                }
                let within = |k: &usize| {
                    islands.of[self.topology.sources[*k].bus] == island && status[*k] > 0.5
                };
                let share = |k: usize| self.units[k].inertia / inertia * self.speed(vars, k);
                let mean: f64 = (0..self.units.len()).filter(within).map(share).sum();
                self.frequency * (1.0 + mean)
            };
            self.tell(self.outputs[port], (vars, &e), &bus, &island)
        });
        told.unwrap_or(f64::NAN)
    }

    fn sum(&self, port: usize, vars: &[f64], to: &mut Vec<(usize, f64)>) -> bool {
        self.told_as_sum(self.outputs[port], vars, to)
    }

    fn indicators<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, z: &mut [S]) {
        let (places, hz) = (self.places(), S::constant(self.frequency));
        let (many, one) = (self.thresholds.len(), S::constant(1.0));
        let latched = self.rearm != Some(0.0);
        for k in 0..self.units.len() {
            for (number, threshold) in self.thresholds.iter().enumerate() {
                let place = k * many + number;
                let deviation = hz.mul(self.speed(vars, k));
                let above = S::constant(self.frequency - threshold).add(&deviation);
                let crossed = &vars[places.crossed + place];
                // A threshold that was reported, or is armed, is moved out of reach.
                z[place] = if latched { above.add(&hz.mul(crossed)) } else { above };
                if let Some(more) = self.rearm.filter(|h| *h > 0.0) {
                    let below = S::constant(threshold + more - self.frequency).sub(&deviation);
                    z[self.units.len() * many + place] = below.add(&hz.mul(&one.sub(crossed)));
                }
            }
        }
        let last = z.len() - 2;
        z[last] = S::constant(0.5).sub(&vars[places.news]);
        z[last + 1] = vars[places.alive].sub(&S::constant(0.5));
    }

    fn reset(&self, event: usize, vars: &mut [f64], _: &mut Work, emit: &mut Vec<(u16, Value)>) {
        let (places, n) = (self.places(), self.units.len());
        let last = (n + self.telemetry) as u16;
        match self.actions[event] {
            Action::Trip(k) => self.trip(k, vars, emit),
            Action::Fault(k, on) => {
                vars[places.fault + k] = f64::from(u8::from(on));
                self.reconnect(vars);
            }
            Action::Branch(k, open) => self.switch(k, open, vars),
            Action::Cross(k, number) => {
                vars[places.crossed + k * self.thresholds.len() + number] = 1.0;
                emit.push((k as u16, Value::Int(number as i64 + 1)));
            }
            Action::Rearm(k, number) => {
                vars[places.crossed + k * self.thresholds.len() + number] = 0.0;
            }
            Action::Measure(k, port) if vars[places.status + k] > 0.5 => {
                emit.push((n as u16 + port, Value::Real(*self.speed(vars, k))));
            }
            Action::Measure(..) => {}
            Action::Islands => {
                vars[places.news] = 0.0;
                emit.push((last + 1, Value::Int(vars[places.lit] as i64)));
            }
            Action::Blackout => emit.push((last + 2, Value::Real(vars[places.lost]))),
        }
    }

    fn reservation(&self, port: usize, vars: &[f64]) -> Option<String> {
        self.beyond(port, vars)
    }
    fn receive(&self, port: usize, vars: &mut [f64], _: &mut Work, emit: &mut Vec<(u16, Value)>) {
        let (places, value) = (self.places(), vars[self.dims.received()]);
        match self.inputs[port].0 {
            Input::Shed(k) => {
                vars[places.shed + k] = self.shed(k, vars);
                self.reconnect(vars);
            }
            Input::Load(k) => {
                vars[places.shed + k] = 1.0 - value.max(0.0);
                self.reconnect(vars);
            }
            Input::Reference(k) => vars[places.reference + k] = value,
            Input::Trip(k) => self.trip(k, vars, emit),
            Input::Branch(k, open) => self.switch(k, open, vars),
        }
    }

    fn reception(&self, port: usize) -> Option<&Arc<str>> {
        self.inputs.get(port)?.1.as_ref()
    }

    fn explain(&self, vars: &[f64]) -> Option<String> {
        let singular = vars[self.places().real].is_nan();
        singular.then(|| "the network is singular: check impedances, shunts and loads".to_owned())
    }
}

impl Machines {
    /// Disconnects a machine, once.
    fn trip(&self, k: usize, vars: &mut [f64], emit: &mut Vec<(u16, Value)>) {
        let status = &mut vars[self.places().status + k];
        if *status > 0.5 {
            *status = 0.0;
            self.reconnect(vars);
            emit.push(((self.units.len() + self.telemetry) as u16, Value::Int(k as i64)));
        }
    }

    fn switch(&self, branch: usize, open: bool, vars: &mut [f64]) {
        vars[self.places().open + branch] = f64::from(u8::from(open));
        self.reconnect(vars);
    }
}
