//! `power-system`: the machines of a grid as a unit; `power-flow`: its voltages.
use super::{
    case::{BusType, Case},
    flow,
    machines::{Fault, Machines, Outage, Plan},
};
use crate::{
    equations::start::{Start, under_method, unused_by_method},
    kinds::{
        Context, Located, Param, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports,
        UnitKind, ValueType,
        params::{Checked, Entries, Reader, needed, ticks_of, with},
        ports::{event, signal},
    },
    signal::value::{Segment, Value},
    solve::{
        Settings, Trigger,
        ode::{Method, Options},
    },
};
use std::path::Path;
use superdense_kernel::{Atomic, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Reads the case of a parameter `network`.
pub(super) fn read_case(params: &Params, folder: &Path) -> Checked<Case> {
    let name = params.text("network");
    Case::read(&folder.join(name)).map_err(|why| {
        let help = "give a network as JSON, or a MATPOWER case file that ends in `.m`";
        let message = format!("{name}: {why}");
        vec![ParamError::at(params.span("network"), message).help(help)]
    })
}

/// A network that gives no start for a run.
pub(super) fn unsolved(params: &Params, why: String) -> Vec<ParamError> {
    let help = "correct the network file; a `power-flow` unit checks it alone";
    vec![ParamError::at(params.span("network"), why).help(help)]
}

/// Places of machines among the case's, by bus numbers in parameter `name`.
pub(super) fn machines_of(
    r: &mut Reader<'_>,
    params: &Params,
    name: &str,
    case: &Case,
) -> Vec<usize> {
    let mut found = Vec::new();
    for bus in params.reals(name) {
        let is = |m: &super::case::Machine| f64::from(case.buses[m.bus].id) == bus;
        match case.machines.iter().position(is) {
            Some(k) if found.contains(&k) => {
                let message = format!("`{name}` names bus {bus} twice");
                r.check(false, name, message, "remove one of the two");
            }
            Some(k) => found.push(k),
            None => {
                let message = format!("`{name}`: there is no machine at bus {bus}");
                r.check(false, name, message, "name buses with machines of the network file");
            }
        }
    }
    found
}

/// Numbers of the load buses, ascending by place.
pub(super) fn load_buses(case: &Case) -> Vec<u32> {
    case.buses.iter().filter(|b| b.demand != [0.0; 2]).map(|b| b.id).collect()
}

fn number(e: &Entries<'_>, key: &str, context: Option<&Context<'_>>) -> Result<f64, ParamError> {
    let span = e.get(key).map_or(e.span.clone(), |p| p.span.clone());
    let named = |t: &str| context.and_then(|c| (c.constants)(t.trim()));
    match e.get(key).map(|p| &p.value) {
        Some(Param::Real(x)) => Ok(*x),
        Some(Param::Int(k)) => Ok(*k as f64),
        Some(Param::Text(t)) if named(t).is_some() => Ok(named(t).unwrap_or_default()),
        _ => Err(ParamError::at(span, format!("`{key}` is no number")).help("give a number")),
    }
}

fn instant(e: &Entries<'_>, key: &str, context: &Context<'_>) -> Result<i64, ParamError> {
    match e.get(key) {
        Some(p) => match ticks_of(p, context)? {
            ticks if ticks > 0 => Ok(ticks),
            _ => Err(ParamError::at(p.span.clone(), format!("`{key}` must come after the start"))
                .help("the run starts in equilibrium; give a later time, such as \"1 ms\"")),
        },
        None => Err(ParamError::at(e.span.clone(), format!("`{key}` is missing"))
            .help("give a time such as \"1 s\"")),
    }
}

/// Reads `trips`, `fault` and `outages`.
fn disturbances(
    params: &Params,
    case: &Case,
    context: &Context<'_>,
    plan: &mut Plan,
    errors: &mut Vec<ParamError>,
) {
    let place = |e: &Entries<'_>, key: &str| -> Result<(u32, usize), ParamError> {
        let given = number(e, key, Some(context))?;
        let bus = given as u32;
        let known = if f64::from(bus) == given {
            case.place(bus).and_then(|k| match case.buses[k].ty {
                BusType::Isolated => Err(format!("bus {bus} is isolated (type 4)")),
                _ => Ok(k),
            })
        } else {
            Err(format!("{given} is no number of a bus"))
        };
        let place = known.map_err(|why| {
            ParamError::at(e.span.clone(), why).help("name a bus of the network file")
        })?;
        Ok((bus, place))
    };
    let trip = |p: &Located<Param>, errors: &mut Vec<ParamError>| {
        let e = Entries::new(p, &["bus", "at"], errors)?;
        let read = || -> Result<(i64, usize), ParamError> {
            let (bus, place) = place(&e, "bus")?;
            let machine = case.machines.iter().position(|m| m.bus == place).ok_or_else(|| {
                ParamError::at(e.span.clone(), format!("there is no machine at bus {bus}"))
                    .help("trip a machine of the network file")
            })?;
            Ok((instant(&e, "at", context)?, machine))
        };
        read().map_err(|why| errors.push(why)).ok()
    };
    for p in tables(params, "trips", errors) {
        let Some((at, machine)) = trip(p, errors) else { continue };
        if plan.trips.iter().any(|&(_, other)| other == machine) {
            let bus = case.buses[case.machines[machine].bus].id;
            let what = format!("the machine at bus {bus} trips twice");
            errors.push(ParamError::at(p.span.clone(), what).help("remove one of the two"));
        }
        plan.trips.push((at, machine));
    }
    for p in tables(params, "fault", errors) {
        let keys = &["bus", "reactance", "from", "to"];
        let Some(e) = Entries::new(p, keys, errors) else { continue };
        let read = || -> Result<Fault, ParamError> {
            let reactance = number(&e, "reactance", Some(context))?;
            let ticks = [instant(&e, "from", context)?, instant(&e, "to", context)?];
            if !(reactance > 0.0 && reactance.is_finite()) || ticks[1] <= ticks[0] {
                let what = "a fault needs a reactance above zero and an end after its start";
                let error = ParamError::at(e.span.clone(), what);
                return Err(error.help("see `reactance`, `from`, `to`"));
            }
            Ok(Fault { bus: place(&e, "bus")?.1, reactance, ticks })
        };
        read().map_or_else(|why| errors.push(why), |fault| plan.faults.push(fault));
    }
    for p in tables(params, "outages", errors) {
        let keys = &["from", "to", "circuit", "at", "until"];
        let Some(e) = Entries::new(p, keys, errors) else { continue };
        let read = || -> Result<Outage, ParamError> {
            let ((from, a), (to, b)) = (place(&e, "from")?, place(&e, "to")?);
            let circuit = e.get("circuit").map_or(Ok(1.0), |_| number(&e, "circuit", None))?;
            let between = |k: &usize| [[a, b], [b, a]].contains(&case.branches[*k].ends);
            let mut all = (0..case.branches.len()).filter(between);
            let branch = all.nth((circuit - 1.0).max(0.0) as usize).ok_or_else(|| {
                let what = format!("there is no branch {from} to {to}, circuit {circuit}");
                ParamError::at(e.span.clone(), what).help("name a branch of the network file")
            })?;
            let at = instant(&e, "at", context)?;
            let until = e.get("until").map(|_| instant(&e, "until", context)).transpose()?;
            if until.is_some_and(|until| until <= at) {
                let what = "the branch closes before it opens";
                return Err(ParamError::at(e.span.clone(), what).help("see `at` and `until`"));
            }
            Ok(Outage { branch, ticks: (at, until) })
        };
        match read() {
            Ok(outage) if plan.outages.iter().any(|o| o.branch == outage.branch) => {
                let what = "this branch has two outages";
                errors.push(ParamError::at(p.span.clone(), what).help("remove one of the two"));
            }
            Ok(outage) => plan.outages.push(outage),
            Err(why) => errors.push(why),
        }
    }
}

/// The tables of a parameter: a list of them, or a single one.
fn tables<'a>(
    params: &'a Params,
    name: &str,
    errors: &mut Vec<ParamError>,
) -> &'a [Located<Param>] {
    match params.get(name) {
        Some(Located { value: Param::List(list), .. }) => list,
        Some(p @ Located { value: Param::Table(_), .. }) => std::slice::from_ref(p),
        Some(p) if p.value != Param::Text(String::new()) => {
            let what = format!("`{name}` is no table or list of tables");
            errors.push(ParamError::at(p.span.clone(), what).help("write [{ bus = 16, … }]"));
            &[]
        }
        _ => &[],
    }
}

fn plan(params: &Params, case: &Case, context: &Context<'_>) -> Checked<Plan> {
    let mut r = Reader::new(params);
    let mut governed = vec![false; case.machines.len()];
    let all = params.bool("all_governed");
    let with_governor = machines_of(&mut r, params, "governors", case);
    with_governor.into_iter().for_each(|k| governed[k] = true);
    governed.iter_mut().for_each(|g| *g |= all);
    let every = Trigger::Every(r.clock("telemetry_period", 0, context.resolution));
    let telemetry = machines_of(&mut r, params, "telemetry", case).into_iter();
    let telemetry = telemetry.map(|k| (k, every.clone())).collect();
    let mut plan =
        Plan { governed, thresholds: params.reals("thresholds"), telemetry, ..Plan::default() };
    let below = plan.thresholds.iter().all(|f| *f > 0.0 && *f < case.frequency);
    let help = "give frequencies in Hz";
    r.check(below, "thresholds", "a threshold that is not below the nominal frequency", help);
    let mut sorted = plan.thresholds.clone();
    sorted.sort_by(f64::total_cmp);
    let once = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    r.check(once, "thresholds", "a threshold stands twice", "remove one of the two");
    let mut errors = Vec::new();
    disturbances(params, case, context, &mut plan, &mut errors);
    r.extend(errors);
    r.finish(plan)
}

const PARAMS: &[ParamSpec] = &[
    needed("network", ParamType::File, "network as JSON with machine data"),
    with("governors", ParamType::RealList, "[]", "buses whose machines have governors"),
    with("all_governed", ParamType::Bool, "false", "all machines have governors"),
    with("trips", ParamType::Raw, "", "list of { bus, at }: machines that trip"),
    with("fault", ParamType::Raw, "", "{ bus, reactance, from, to }, or a list: short circuits"),
    with(
        "outages",
        ParamType::Raw,
        "",
        "list of { from, to, at, until?, circuit? }: branches that open",
    ),
    with("thresholds", ParamType::RealList, "[]", "frequencies in Hz that machines report"),
    with("telemetry", ParamType::RealList, "[]", "buses whose machines tell their speed"),
    with("telemetry_period", ParamType::Period, "4 s", "how often"),
    with(
        "method",
        ParamType::Choice(&["rk45", "taylor", "qss2", "qss3"]),
        "rk45",
        "how the equations are solved",
    ),
    with("order", ParamType::Int, "12", "order of the method taylor, 2 to 30"),
    with("tolerance", ParamType::Real(None), "1e-10", "relative tolerance of the solver"),
    with("absolute_tolerance", ParamType::Real(None), "1e-12", "absolute tolerance"),
    with("dq_rel", ParamType::Real(None), "0", "quantum of qss2 and qss3, relative to the state"),
    with(
        "dq_min",
        ParamType::Real(None),
        "1e-6",
        "least quantum of qss2 and qss3, per unit and rad",
    ),
    with("exchange_tolerance", ParamType::Real(None), "1e-6", "largest error of sent segments"),
];

/// `power-system`: all machines of a grid as one continuous unit: the classical model on a network
/// reduced to the machines, with TGOV1-form governors, and loads as constant impedances. It starts
/// in the equilibrium of the power flow. The network is JSON ([`Case::json`] has the fields), with at
/// most one machine at a bus; isolated buses (type 4) have no part, and no ports.
///
/// Loads that no machine reaches any more (an island without generation) are an error unless they
/// are shed. Where the network parts, `coi_hz` is still that of all connected machines together.
///
/// Inputs (events): `shed_B` per load bus B (share of its initial power to shed), `pref_B` per
/// machine bus (new reference power per unit). Outputs (signals): `coi_hz` (centre of inertia of
/// the connected machines), `shed_mw`, and per machine `f30_hz` and `delta30` (rad) with its bus;
/// outputs (events): `report_B` per machine (number of the threshold, at its first downward
/// crossing), `speed_B` for buses in `telemetry` (speed deviation per unit), `tripped` (place of
/// the machine).
///
/// ```toml
/// [unit.grid]
/// kind = "power-system"
/// network = "ieee39.json"
/// governors = [30, 31]
/// trips = [{ bus = 38, at = "1 s" }]
/// fault = { bus = 16, reactance = 1e-4, from = "1 s", to = "1.1 s" }   # or a list of such
/// outages = [{ from = 16, to = 17, at = "1.1 s", until = "2 s" }]      # the second of two: circuit = 2
/// thresholds = [59.5, 59.3]
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PowerSystem;

impl UnitKind for PowerSystem {
    fn name(&self) -> &'static str {
        "power-system"
    }
    fn summary(&self) -> &'static str {
        "machines and governors on a network, with faults, trips and shedding"
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn unused(&self, params: &Params, name: &str) -> Option<(String, String)> {
        unused_by_method(params, name)
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        self.ports_in(params, Path::new(""))
    }
    fn ports_in(&self, params: &Params, folder: &Path) -> Checked<Ports> {
        let case = read_case(params, folder)?;
        let machines: Vec<u32> = case.machines.iter().map(|m| case.buses[m.bus].id).collect();
        let each = |list: &[u32], f: &dyn Fn(u32) -> PortSpec| list.iter().map(|&b| f(b)).collect();
        let mut ports = Ports {
            inputs: each(&load_buses(&case), &|b| {
                event(&format!("shed_{b}"), ValueType::Any).optional()
            }),
            outputs: vec![signal("coi_hz"), signal("shed_mw")],
        };
        let mut add = |more: Vec<PortSpec>| ports.outputs.extend(more);
        add(each(&machines, &|b| signal(&format!("f{b}_hz"))));
        add(each(&machines, &|b| signal(&format!("delta{b}"))));
        add(each(&machines, &|b| event(&format!("report_{b}"), ValueType::Int)));
        let told: Vec<u32> = params.reals("telemetry").iter().map(|&b| b as u32).collect();
        add(each(&told, &|b| event(&format!("speed_{b}"), ValueType::Real)));
        add(vec![event("tripped", ValueType::Int)]);
        ports.inputs.extend::<Vec<PortSpec>>(each(&machines, &|b| {
            event(&format!("pref_{b}"), ValueType::Any).optional()
        }));
        Ok(ports)
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        let case = read_case(params, context.folder)?;
        let plan = plan(params, &case, context)?;
        let mut r = Reader::new(params);
        let method = match params.text("method") {
            "taylor" => Method::Taylor(r.int("order", 2, 30) as usize, None),
            _ => Method::Rk45,
        };
        let tolerances = (r.positive("tolerance"), r.positive("absolute_tolerance"));
        let settings = Settings {
            resolution: context.resolution,
            method,
            solver: Options::tolerance(tolerances.0, tolerances.1),
            exchange_tolerance: r.positive("exchange_tolerance"),
            sources: context.input_sources.to_vec(),
            connected: context.output_connected.to_vec(),
            ..Settings::default()
        };
        r.positive("dq_min");
        let relative = params.real("dq_rel");
        let message = format!("`dq_rel` is {relative}");
        r.check(relative >= 0.0, "dq_rel", message, "give a number of zero or more");
        r.finish(())?;
        let built = Machines::new(&case, &plan).and_then(|machines| {
            let (x, d) = machines.initial()?;
            let start = Start { initial: &x, inputs: &[], discrete: &d };
            Ok(under_method(params, machines, &start, settings)?)
        });
        match built {
            Ok(unit) => Ok(unit),
            Err(why) => Err(unsolved(params, why)),
        }
    }
}

/// The solution of a power flow, told once. Outputs: magnitudes, then angles.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Voltages {
    values: Vec<f64>,
    told: bool,
}

impl Atomic<Value> for Voltages {
    fn outputs(&self) -> u16 {
        self.values.len() as u16
    }
    fn time_advance(&self) -> Duration {
        if self.told { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, &v) in (0..).zip(&self.values) {
            out.send(OutPort::<Segment>::new(port), Segment::step(v, v));
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.told = true;
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        self.values.get(usize::from(port)).map(|&v| Value::Real(v))
    }
}

/// `power-flow`: the voltages of an AC power flow, by Newton's method. Outputs (signals): `vmB` (per
/// unit) for each bus B, then `vaB` (degrees).
///
/// The network is JSON ([`Case::json`]), or a MATPOWER case of plain numbers, with MATPOWER's rules:
/// generators hold the voltage of buses of types 2 and 3 (limits of reactive power are passed over)
/// and give Pg + j Qg at those of type 1; a bus of type 2 without a generator in service is one of
/// type 1; every reference bus needs one. Isolated buses (type 4) keep the voltages of the file.
/// There may be 1500 buses.
///
/// ```toml
/// [unit.flow]
/// kind = "power-flow"
/// network = "case9.m"
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PowerFlow;

impl UnitKind for PowerFlow {
    fn name(&self) -> &'static str {
        "power-flow"
    }
    fn summary(&self) -> &'static str {
        "voltages of an AC power flow"
    }
    fn params(&self) -> &'static [ParamSpec] {
        const PARAMS: &[ParamSpec] =
            &[needed("network", ParamType::File, "network: JSON, or a MATPOWER case `.m`")];
        PARAMS
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        self.ports_in(params, Path::new(""))
    }
    fn ports_in(&self, params: &Params, folder: &Path) -> Checked<Ports> {
        let case = read_case(params, folder)?;
        let port = |prefix: &'static str| {
            case.buses.iter().map(move |b| signal(&format!("{prefix}{}", b.id)))
        };
        Ok(Ports { inputs: Vec::new(), outputs: port("vm").chain(port("va")).collect() })
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        let case = read_case(params, context.folder)?;
        let flow = flow::solve(&case).map_err(|why| unsolved(params, why))?;
        let angles = flow.va.iter().map(|a| a.to_degrees());
        let values = flow.vm.iter().copied().chain(angles).collect();
        Ok(Component::atomic(Voltages { values, told: false }))
    }
}
