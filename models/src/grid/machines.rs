//! Classical machines on a network reduced to their internal nodes, with governors.
//!
//! δ' = 2π f0 w, 2H w' = Pm - Pe, Pe = Re(E conj(Y E)); x1' = (pref - (Sn/S/R) w - x1)/T1,
//! x2' = (x1 - x2)/T3, Pm = x2 + (T2/T3)(x1 - x2). w is the deviation of speed per unit; loads are
//! constant impedances. Anderson, Fouad, "Power System Control and Stability", section 2.10.
//!
//! **Why the reduced matrix is part of the discrete values.** It changes at events only, so that
//! derivatives stay plain arithmetic which every method can expand.
use super::{
    admittance::{C, Matrix, branch_entries, bus_matrix, reduce},
    case::{Case, Governor},
    flow::{Flow, solve},
};
use crate::{
    maths::expr::Scalar,
    signal::value::Value,
    solve::{Dims, Equations, EventSpec, Trigger},
};
use std::sync::Arc;

type Work<S = f64> = crate::solve::equations::Work<S>;

/// A short circuit at a bus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// Place of the bus.
    pub bus: usize,
    /// Reactance of the fault per unit.
    pub reactance: f64,
    /// Ticks of its start and its end.
    pub ticks: [i64; 2],
}

/// A branch that is out of service for some time, as where a line's breakers clear a fault on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    /// Place of the branch.
    pub branch: usize,
    /// Tick of its opening, and of its closing, if it comes back.
    pub ticks: (i64, Option<i64>),
}

/// The events of a run at the machines.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Per machine: whether it has a governor.
    pub governed: Vec<bool>,
    /// Tick and machine of each trip.
    pub trips: Vec<(i64, usize)>,
    /// Short circuits.
    pub faults: Vec<Fault>,
    /// Branches out of service.
    pub outages: Vec<Outage>,
    /// Frequencies in Hz, each reported at a machine's first downward crossing.
    pub thresholds: Vec<f64>,
    /// Machines that tell their speed, and when.
    pub telemetry: Vec<(usize, Trigger)>,
}

/// One machine with its place and its start.
#[derive(Debug, Clone)]
struct Unit {
    bus: usize,
    inertia: f64,
    reactance: f64,
    /// Magnitude of the internal voltage.
    voltage: f64,
    angle: f64,
    /// Sn/S/R of its governor, and the place of x1 among the states.
    governor: Option<(f64, usize)>,
}

/// The effect of an event.
#[derive(Debug, Clone, Copy)]
enum Action {
    Trip(usize),
    Fault(usize, bool),
    /// Of an outage.
    Branch(usize, bool),
    Cross(usize, usize),
    Measure(usize, u16),
}

/// The machines of a grid as equations.
#[derive(Debug, Clone)]
pub struct Machines {
    frequency: f64,
    units: Vec<Unit>,
    governor: Governor,
    /// Bus matrix with the initial loads.
    network: Matrix,
    /// Place, admittance per unit and power in MW of each load, ascending.
    loads: Vec<(usize, C, f64)>,
    /// The names of the events that tell of the shedding of each.
    sheds: Vec<Arc<str>>,
    faults: Vec<Fault>,
    /// The ends of all branches, and what the branch of each outage adds to the bus matrix.
    branches: Vec<[usize; 2]>,
    outages: Vec<(usize, [C; 4])>,
    thresholds: Vec<f64>,
    events: Vec<EventSpec>,
    actions: Vec<Action>,
    dims: Dims,
    /// Mechanical power at the start per unit.
    power: Vec<f64>,
    base: f64,
    /// Numbers of the buses.
    names: Vec<u32>,
}

/// Places of the discrete values, from the first on.
struct Places {
    status: usize,
    reference: usize,
    crossed: usize,
    shed: usize,
    fault: usize,
    /// Whether a branch is out of service.
    out: usize,
    real: usize,
    imaginary: usize,
    end: usize,
}

impl Machines {
    /// Machines at rest in the solution of the power flow.
    ///
    /// # Errors
    /// When the power flow has none, or the case has no machines.
    pub fn new(case: &Case, plan: &Plan) -> Result<Self, String> {
        if case.machines.is_empty() {
            return Err("the file has no machine data (H, xdp, Sn)".into());
        }
        let governor = case.governor.or_else(|| {
            let none = Governor { droop: 1.0, t1: 1.0, t2: 1.0, t3: 1.0 };
            (!plan.governed.contains(&true)).then_some(none)
        });
        let governor = governor.ok_or("the file has no governor data (gov)")?;
        let flow = solve(case)?;
        let mut network = bus_matrix(case);
        let mut loads = Vec::new();
        for (k, b) in case.buses.iter().enumerate() {
            if b.demand != [0.0; 2] {
                let y = C::new(b.demand[0], -b.demand[1]) / case.base / (flow.vm[k] * flow.vm[k]);
                network[(k, k)] += y;
                loads.push((k, y, b.demand[0]));
            }
        }
        let shed = |l: &(usize, C, f64)| Arc::from(format!("shed {}", case.buses[l.0].id));
        let sheds = loads.iter().map(shed).collect();
        let mut units = units(case, plan, &flow);
        let mut state = 2 * units.len();
        for unit in &mut units {
            if let Some((_, place)) = &mut unit.governor {
                *place = state;
                state += 2;
            }
        }
        let outage = |o: &Outage| (o.branch, branch_entries(&case.branches[o.branch]));
        let mut it = Self {
            frequency: case.frequency,
            governor,
            network,
            loads,
            sheds,
            faults: plan.faults.clone(),
            branches: case.branches.iter().map(|b| b.ends).collect(),
            outages: plan.outages.iter().map(outage).collect(),
            thresholds: plan.thresholds.clone(),
            events: Vec::new(),
            actions: Vec::new(),
            dims: Dims { states: state, ..Dims::default() },
            power: Vec::new(),
            base: case.base,
            names: case.buses.iter().map(|b| b.id).collect(),
            units,
        };
        it.plan(case, plan);
        let n = it.units.len();
        let places = it.places();
        it.dims.discrete = places.end - it.dims.first_discrete();
        it.dims.outputs = 2 + 2 * n;
        it.dims.event_inputs = it.loads.len() + n;
        it.dims.event_outputs = n + plan.telemetry.len() + 1;
        it.dims.indicators = n * it.thresholds.len();
        let mut vars = it.start()?;
        it.power = (0..n).map(|k| it.electric(&vars, k)).collect();
        it.rest(&mut vars);
        Ok(it)
    }

    fn plan(&mut self, case: &Case, plan: &Plan) {
        let mut add = |name: String, trigger: Trigger, action: Action| {
            self.events.push(EventSpec::new(name, trigger));
            self.actions.push(action);
        };
        let id = |k: usize| case.buses[case.machines[k].bus].id;
        for &(tick, k) in &plan.trips {
            add(format!("trip {}", id(k)), Trigger::At(vec![tick]), Action::Trip(k));
        }
        for (k, fault) in plan.faults.iter().enumerate() {
            let before = plan.faults[..k].iter().filter(|other| other.bus == fault.bus).count();
            let number = if before > 0 { format!(" {}", before + 1) } else { String::new() };
            let name = format!("fault{number} at {}", case.buses[fault.bus].id);
            let [from, to] = fault.ticks;
            add(name.clone(), Trigger::At(vec![from]), Action::Fault(k, true));
            add(format!("{name} cleared"), Trigger::At(vec![to]), Action::Fault(k, false));
        }
        for (k, outage) in plan.outages.iter().enumerate() {
            let ends = case.branches[outage.branch].ends;
            let [from, to] = ends.map(|bus| case.buses[bus].id);
            let before = case.branches[..outage.branch].iter();
            let number = match before.filter(|b| b.ends == ends).count() {
                0 => String::new(),
                more => format!(" circuit {}", more + 1),
            };
            let name = format!("branch {from}-{to}{number}");
            let (at, until) = outage.ticks;
            add(format!("{name} opens"), Trigger::At(vec![at]), Action::Branch(k, true));
            if let Some(until) = until {
                add(format!("{name} closes"), Trigger::At(vec![until]), Action::Branch(k, false));
            }
        }
        for (number, (k, every)) in plan.telemetry.iter().enumerate() {
            let k = *k;
            add(format!("measurement {}", id(k)), every.clone(), Action::Measure(k, number as u16));
        }
        for k in 0..case.machines.len() {
            for (number, hz) in plan.thresholds.iter().enumerate() {
                let place = k * plan.thresholds.len() + number;
                let trigger = Trigger::all([(place, false)]);
                add(format!("{} below {hz} Hz", id(k)), trigger, Action::Cross(k, number));
            }
        }
    }

    fn places(&self) -> Places {
        let n = self.units.len();
        let status = self.dims.first_discrete();
        let reference = status + n;
        let crossed = reference + n;
        let shed = crossed + n * self.thresholds.len();
        let fault = shed + self.loads.len();
        let out = fault + self.faults.len();
        let real = out + self.outages.len();
        let imaginary = real + n * n;
        let end = imaginary + n * n;
        Places { status, reference, crossed, shed, fault, out, real, imaginary, end }
    }

    /// All variables at the start, without the mechanical powers.
    fn start(&self) -> Result<Vec<f64>, String> {
        let mut vars = vec![0.0; self.dims.variables()];
        let places = self.places();
        for (k, unit) in self.units.iter().enumerate() {
            vars[Dims::STATES + k] = unit.angle;
            vars[places.status + k] = 1.0;
        }
        self.connect(&mut vars)?;
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
    pub fn initial(&self) -> Result<(Vec<f64>, Vec<f64>), String> {
        let mut vars = self.start()?;
        self.rest(&mut vars);
        let (x, d) = (Dims::STATES, self.dims.first_discrete());
        Ok((vars[x..x + self.dims.states].to_vec(), vars[d..d + self.dims.discrete].to_vec()))
    }

    /// Mechanical power per unit of each machine at the start.
    pub fn powers(&self) -> &[f64] {
        &self.power
    }

    /// Computes the reduced matrix for what is connected now.
    fn connect(&self, vars: &mut [f64]) -> Result<(), String> {
        let places = self.places();
        let mut y = self.network.clone();
        for (k, &(bus, admittance, _)) in self.loads.iter().enumerate() {
            y[(bus, bus)] -= admittance * vars[places.shed + k];
        }
        for (k, fault) in self.faults.iter().enumerate() {
            if vars[places.fault + k] > 0.5 {
                y[(fault.bus, fault.bus)] += C::new(0.0, -1.0 / fault.reactance);
            }
        }
        for (k, &(branch, [ff, ft, tf, tt])) in self.outages.iter().enumerate() {
            if vars[places.out + k] > 0.5 {
                let [from, to] = self.branches[branch];
                y[(from, from)] -= ff;
                y[(from, to)] -= ft;
                y[(to, from)] -= tf;
                y[(to, to)] -= tt;
            }
        }
        // Without voltage, whatever their admittances, of which there may be none.
        for bus in self.dark(vars) {
            y[(bus, bus)] += C::new(1.0, 0.0);
        }
        let machine = |(k, u): (usize, &Unit)| {
            (u.bus, (vars[places.status + k] > 0.5).then_some(u.reactance))
        };
        let machines: Vec<_> = self.units.iter().enumerate().map(machine).collect();
        let reduced = reduce(y, &machines)?;
        let n = self.units.len();
        for r in 0..n {
            for c in 0..n {
                vars[places.real + r * n + c] = reduced[(r, c)].re;
                vars[places.imaginary + r * n + c] = reduced[(r, c)].im;
            }
        }
        Ok(())
    }

    /// Buses that no connected machine reaches.
    fn dark(&self, vars: &[f64]) -> Vec<usize> {
        let places = self.places();
        let mut lit = vec![false; self.network.nrows()];
        for (k, unit) in self.units.iter().enumerate() {
            lit[unit.bus] |= vars[places.status + k] > 0.5;
        }
        let out = |branch: usize| {
            let is = |(k, o): (usize, &(usize, _))| o.0 == branch && vars[places.out + k] > 0.5;
            self.outages.iter().enumerate().any(is)
        };
        let closed = self.branches.iter().enumerate().filter(|(k, _)| !out(*k));
        let closed: Vec<[usize; 2]> = closed.map(|(_, ends)| *ends).collect();
        let mut grown = true;
        while std::mem::take(&mut grown) {
            for &[a, b] in &closed {
                grown |= lit[a] != lit[b];
                lit[a] |= lit[b];
                lit[b] |= lit[a];
            }
        }
        (0..lit.len()).filter(|&k| !lit[k]).collect()
    }

    /// Buses without voltage where loads are left that were not shed.
    fn unsupplied(&self, vars: &[f64]) -> Vec<usize> {
        let (dark, shed) = (self.dark(vars), self.places().shed);
        let left = |(k, l): (usize, &(usize, C, f64))| {
            (vars[shed + k] < 1.0 && dark.contains(&l.0)).then_some(l.0)
        };
        self.loads.iter().enumerate().filter_map(left).collect()
    }

    /// Reconnects the network in an event; a singular network, and loads without machines, show as
    /// values that are not finite.
    fn reconnect(&self, vars: &mut [f64]) {
        let Places { status, real, .. } = self.places();
        let none = vars[status..][..self.units.len()].iter().all(|&on| on < 0.5);
        // An island without generation has no frequency.
        if none || !self.unsupplied(vars).is_empty() || self.connect(vars).is_err() {
            vars[real] = f64::NAN;
        }
    }

    /// Internal voltages as real and imaginary parts.
    fn voltages<S: Scalar>(&self, vars: &[S]) -> Vec<(S, S)> {
        let one = |(unit, angle): (&Unit, &S)| {
            let e = S::constant(unit.voltage);
            (e.mul(&angle.cos()), e.mul(&angle.sin()))
        };
        self.units.iter().zip(&vars[Dims::STATES..]).map(one).collect()
    }

    /// Electric power of machine `k`.
    fn delivered<S: Scalar>(&self, vars: &[S], e: &[(S, S)], k: usize) -> S {
        let (places, n) = (self.places(), self.units.len());
        let (mut re, mut im) = (S::constant(0.0), S::constant(0.0));
        for (c, (a, b)) in e.iter().enumerate() {
            let g = &vars[places.real + k * n + c];
            let h = &vars[places.imaginary + k * n + c];
            re = re.add(&g.mul(a)).sub(&h.mul(b));
            im = im.add(&g.mul(b)).add(&h.mul(a));
        }
        e[k].0.mul(&re).add(&e[k].1.mul(&im))
    }

    fn electric(&self, vars: &[f64], k: usize) -> f64 {
        self.delivered(vars, &self.voltages(vars), k)
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
            bus: m.bus,
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
        let e = self.voltages(vars);
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

    /// 0: frequency of the centre of inertia in Hz; 1: power of the shed loads in MW; then the
    /// frequency of each machine in Hz, then each angle in rad.
    fn outputs<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, y: &mut [S]) {
        let (n, places) = (self.units.len(), self.places());
        let (mut momentum, mut inertia) = (S::constant(0.0), S::constant(0.0));
        let hz = S::constant(self.frequency);
        for (k, unit) in self.units.iter().enumerate() {
            let h = vars[places.status + k].mul(&S::constant(unit.inertia));
            momentum = momentum.add(&h.mul(self.speed(vars, k)));
            inertia = inertia.add(&h);
            y[2 + k] = hz.add(&hz.mul(self.speed(vars, k)));
            y[2 + n + k] = vars[Dims::STATES + k].clone();
        }
        y[0] = hz.add(&hz.mul(&momentum).div(&inertia));
        y[1] = self.loads.iter().enumerate().fold(S::constant(0.0), |sum, (k, &(.., mw))| {
            sum.add(&vars[places.shed + k].mul(&S::constant(mw)))
        });
    }

    fn indicators<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, z: &mut [S]) {
        let (places, hz) = (self.places(), S::constant(self.frequency));
        for k in 0..self.units.len() {
            for (number, threshold) in self.thresholds.iter().enumerate() {
                let place = k * self.thresholds.len() + number;
                let above =
                    S::constant(self.frequency - threshold).add(&hz.mul(self.speed(vars, k)));
                // A threshold that was reported is moved out of reach.
                z[place] = above.add(&hz.mul(&vars[places.crossed + place]));
            }
        }
    }

    fn reset(&self, event: usize, vars: &mut [f64], _: &mut Work, emit: &mut Vec<(u16, Value)>) {
        let (places, n) = (self.places(), self.units.len());
        match self.actions[event] {
            Action::Trip(k) => {
                vars[places.status + k] = 0.0;
                self.reconnect(vars);
                emit.push((self.dims.event_outputs as u16 - 1, Value::Int(k as i64)));
            }
            Action::Fault(k, on) => {
                vars[places.fault + k] = f64::from(u8::from(on));
                self.reconnect(vars);
            }
            Action::Branch(k, out) => {
                vars[places.out + k] = f64::from(u8::from(out));
                self.reconnect(vars);
            }
            Action::Cross(k, number) => {
                vars[places.crossed + k * self.thresholds.len() + number] = 1.0;
                emit.push((k as u16, Value::Int(number as i64 + 1)));
            }
            Action::Measure(k, port) if vars[places.status + k] > 0.5 => {
                emit.push((n as u16 + port, Value::Real(*self.speed(vars, k))));
            }
            Action::Measure(..) => {}
        }
    }

    /// Event inputs: per load the share of its initial power to shed, then per machine the new
    /// reference power per unit.
    fn receive(&self, port: usize, vars: &mut [f64], _: &mut Work, _: &mut Vec<(u16, Value)>) {
        let (places, value) = (self.places(), vars[self.dims.received()]);
        match port.checked_sub(self.loads.len()) {
            None => {
                let shed = &mut vars[places.shed + port];
                *shed = (*shed + value).clamp(0.0, 1.0);
                self.reconnect(vars);
            }
            Some(k) => vars[places.reference + k] = value,
        }
    }

    fn reception(&self, port: usize) -> Option<&Arc<str>> {
        self.sheds.get(port)
    }

    fn explain(&self, vars: &[f64]) -> Option<String> {
        let running = &vars[self.places().status..][..self.units.len()];
        if running.iter().all(|s| *s < 0.5) {
            return Some(format!("no machine is connected any more (base {} MVA)", self.base));
        }
        let buses = self.unsupplied(vars);
        let names: Vec<String> = buses.iter().map(|&k| self.names[k].to_string()).collect();
        (!buses.is_empty()).then(|| {
            format!(
                "an island without generation: the loads at bus {} have no machine any more; shed them \
                 before, or end the run there",
                names.join(", ")
            )
        })
    }
}
