//! `power-system`: the machines of a grid as a unit; `power-flow`: its voltages.
use super::{
    case::{Case, Governor},
    disturbances, flow,
    machines::{Machines, Plan},
    ports, table,
};
use crate::{
    equations::start::{Start, under_method, unused_by_method},
    kinds::{
        Context, Param, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports, UnitKind,
        ValueType, files,
        params::{Checked, Entries, Reader, needed, with},
        ports::{event, signal},
    },
    signal::value::{Segment, Value},
    solve::{
        Settings, Trigger,
        ode::{Method, Options},
    },
};
use std::{fmt::Display, path::Path};
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

/// Reads the case of a network with machines: those of JSON, or those of a table.
pub(super) fn read_system(params: &Params, folder: &Path) -> Checked<Case> {
    let mut case = read_case(params, folder)?;
    let mut errors = Vec::new();
    if let Some(p) = params.get("frequency") {
        match p.value {
            Param::Real(hz) if hz > 0.0 && hz.is_finite() => case.frequency = hz,
            Param::Int(hz) if hz > 0 => case.frequency = hz as f64,
            _ => errors.push(
                ParamError::at(p.span.clone(), "`frequency` is no number above zero")
                    .help("give the nominal frequency in Hz, such as 50"),
            ),
        }
    }
    if let Some(p) = params.get("governor") {
        let keys = ["R", "T1", "T2", "T3"];
        if let Some(e) = Entries::new(p, &keys, &mut errors) {
            match keys.map(|key| number(&e, key, None)) {
                [Ok(droop), Ok(t1), Ok(t2), Ok(t3)] => {
                    case.governor = Some(Governor { droop, t1, t2, t3 });
                }
                numbers => errors.extend(numbers.into_iter().filter_map(Result::err)),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let refused = |why: String| {
        let help =
            "a CSV with the columns bus, Sn (MVA), H (s), xdp (per unit): see `machine_base`";
        vec![ParamError::at(params.span("machines"), why).help(help)]
    };
    if params.get("machines").is_none() {
        return Ok(case);
    }
    let name = params.text("machines");
    let text = files::read_text(&folder.join(name)).map_err(|e| refused(format!("{name}: {e}")))?;
    let on_system = params.text("machine_base") == "system";
    table::add(case, &text, on_system).map_err(|why| refused(format!("{name}: {why}")))
}

/// A network that gives no start for a run.
pub(super) fn unsolved(params: &Params, why: impl Display) -> Vec<ParamError> {
    let help = "correct the network file; a `power-flow` unit checks it alone";
    vec![ParamError::at(params.span("network"), why.to_string()).help(help)]
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

pub(super) fn number(
    e: &Entries<'_>,
    key: &str,
    context: Option<&Context<'_>>,
) -> Result<f64, ParamError> {
    let span = e.get(key).map_or(e.span.clone(), |p| p.span.clone());
    let named = |t: &str| context.and_then(|c| (c.constants)(t.trim()));
    match e.get(key).map(|p| &p.value) {
        Some(Param::Real(x)) => Ok(*x),
        Some(Param::Int(k)) => Ok(*k as f64),
        Some(Param::Text(t)) if named(t).is_some() => Ok(named(t).unwrap_or_default()),
        _ => Err(ParamError::at(span, format!("`{key}` is no number")).help("give a number")),
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
    plan.told = (0..ports::outputs(case).len() as u16).map(|k| context.is_heard(k)).collect();
    plan.rearm = match params.get("rearm").map(|p| &p.value) {
        Some(Param::Text(t)) if t == "never" => None,
        None => Some(0.0),
        Some(Param::Text(t)) if t == "above" => Some(0.0),
        Some(Param::Real(h)) if *h > 0.0 && h.is_finite() => Some(*h),
        Some(Param::Int(h)) if *h > 0 => Some(*h as f64),
        _ => {
            let help = "write \"above\", \"never\", or a hysteresis in Hz above zero";
            r.check(false, "rearm", "`rearm` is none of these", help);
            None
        }
    };
    let below = plan.thresholds.iter().all(|f| *f > 0.0 && *f < case.frequency);
    let help = "give frequencies in Hz";
    r.check(below, "thresholds", "a threshold that is not below the nominal frequency", help);
    let mut sorted = plan.thresholds.clone();
    sorted.sort_by(f64::total_cmp);
    let once = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    r.check(once, "thresholds", "a threshold stands twice", "remove one of the two");
    let mut errors = Vec::new();
    disturbances::read(params, case, context, &mut plan, &mut errors);
    r.extend(errors);
    r.finish(plan)
}

const PARAMS: &[ParamSpec] = &[
    needed("network", ParamType::File, "network: JSON, or a MATPOWER case `.m` with `machines`"),
    with(
        "machines",
        ParamType::File,
        "",
        "CSV with bus, Sn, H, xdp: the machines of a MATPOWER case",
    ),
    with(
        "machine_base",
        ParamType::Choice(&["machine", "system"]),
        "machine",
        "base of H and xdp there",
    ),
    with("governor", ParamType::Raw, "", "{ R, T1, T2, T3 } in place of those of the network file"),
    with(
        "frequency",
        ParamType::Real(None),
        "",
        "nominal, in Hz, in place of that of the file (.m: 60)",
    ),
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
    with(
        "rearm",
        ParamType::Raw,
        "",
        "when a threshold is reported again: \"above\" it, a hysteresis in Hz, \"never\"",
    ),
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

described! {
    /// `power-system`: all machines of a grid as one continuous unit: the classical model on a network
    /// reduced to the machines, with TGOV1-form governors, and loads as constant impedances. It starts
    /// in the equilibrium of the power flow. The network is JSON ([`Case::json`] has the fields), with at
    /// most one machine at a bus; isolated buses (type 4) have no part, and no ports.
    ///
    /// A MATPOWER case gets its machines from a table, `machines`: a line for each bus with generators, with
    /// the rating `Sn` in MVA, `H` in s and `xdp` per unit on that rating (on the base of the case with
    /// `machine_base = "system"`), and `governor` and `frequency` from the scenario.
    ///
    /// Inputs (events), by bus numbers: `open_F_T` and `close_F_T` per branch, named as in the network file
    /// (`open_F_T_2`: the second one between these buses), `trip_B` per machine, `load_B` per load (what it
    /// takes, as a share of its initial power at initial voltage), `shed_B` per load (share of its initial
    /// power that is shed more), `pref_B` per machine (new reference power per unit). What `fault`, `trips`
    /// and `outages` do at given times is the same.
    ///
    /// Outputs (signals): per machine `fB_hz`, `deltaB` (rad), `islandB_hz` (centre of inertia of its island,
    /// 0 without voltage), `p_B` and `q_B` (MW and Mvar that it delivers); per bus `v_B` (per unit); per load
    /// `pd_B` and `qd_B` (MW, Mvar); per branch `p_F_T` and `q_F_T` (what enters it at bus F); `islands`
    /// (number of those with voltage), `coi_hz` (centre of inertia of the island with most of it, 0 after
    /// a blackout), `shed_mw`, `lost_mw` (loads without voltage). Outputs (events): `report_B` per
    /// machine (number of the threshold, at its downward crossing), `speed_B` for buses in `telemetry`
    /// (speed deviation per unit), `tripped` (place of the machine), `islanded` (number of islands with
    /// voltage, when islands part or join, or buses lose or get voltage), `blackout` (MW of the lost loads, when
    /// the last machine is gone).
    ///
    /// An island without machines has no voltage: its loads are lost until a branch closes that leads to a
    /// machine. After a blackout the run goes on with nothing in it. A machine that tripped stays out.
    ///
    /// ```toml
    /// [unit.grid]
    /// kind = "power-system"
    /// network = "ieee39.json"
    /// governors = [30, 31]
    /// trips = [{ bus = 38, at = "1 s" }]
    /// fault = { bus = 16, reactance = 1e-4, from = "1 s", to = "1.1 s" }   # or a list of such
    /// # network = "case39.m"; machines = "case39.csv"; frequency = 60
    /// outages = [{ from = 16, to = 17, at = "1.1 s", until = "2 s" }]      # the second of two: circuit = 2
    /// thresholds = [59.5, 59.3]
    /// rearm = 0.05              # reported again after 0.05 Hz above; "above" the threshold (default); "never"
    /// ```
    pub struct PowerSystem;
}

impl UnitKind for PowerSystem {
    fn name(&self) -> &'static str {
        "power-system"
    }
    fn summary(&self) -> &'static str {
        "machines and governors on a network, with faults, trips and shedding"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
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
        let case = read_system(params, folder)?;
        let input = |(_, name, _): (_, String, _)| event(&name, ValueType::Any).optional();
        let mut outputs: Vec<PortSpec> =
            ports::outputs(&case).iter().map(|(_, name)| signal(name)).collect();
        let machines = case.machines.iter().map(|m| case.buses[m.bus].id);
        outputs.extend(machines.map(|b| event(&format!("report_{b}"), ValueType::Int)));
        let told = params.reals("telemetry").into_iter().map(|b| b as u32);
        outputs.extend(told.map(|b| event(&format!("speed_{b}"), ValueType::Real)));
        outputs.extend([
            event("tripped", ValueType::Int),
            event("islanded", ValueType::Int),
            event("blackout", ValueType::Real),
        ]);
        let ports =
            Ports { inputs: ports::inputs(&case).into_iter().map(input).collect(), outputs };
        Ok(ports)
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        let case = read_system(params, context.folder)?;
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
            retells: !context.mastered,
            ..Settings::default()
        };
        r.positive("dq_min");
        let relative = params.real("dq_rel");
        let message = format!("`dq_rel` is {relative}");
        r.check(relative >= 0.0, "dq_rel", message, "give a number of zero or more");
        r.finish(())?;
        let built =
            Machines::new(&case, &plan).and_then(|machines| Ok((machines.initial()?, machines)));
        let ((x, d), machines) = built.map_err(|why| unsolved(params, why))?;
        let start = Start { initial: &x, inputs: &[], discrete: &d };
        under_method(params, machines, &start, settings).map_err(|why| unsolved(params, why))
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

described! {
    /// `power-flow`: the voltages of an AC power flow, by Newton's method. Outputs (signals): `vmB` (per
    /// unit) for each bus B, then `vaB` (degrees).
    ///
    /// The network is JSON ([`Case::json`]), or a MATPOWER case, with MATPOWER's rules: generators hold the
    /// voltage of buses of types 2 and 3 (limits of reactive power are passed over) and give Pg + j Qg at
    /// those of type 1; a bus of type 2 without a generator in service is one of type 1; every reference bus
    /// needs one. Isolated buses (type 4) keep the voltages of the file. Newton's method begins with these
    /// voltages, or, with `start = "flat"`, with 1 per unit and no angle where nothing holds them.
    ///
    /// ```toml
    /// [unit.flow]
    /// kind = "power-flow"
    /// network = "case9.m"
    /// ```
    pub struct PowerFlow;
}

impl UnitKind for PowerFlow {
    fn name(&self) -> &'static str {
        "power-flow"
    }
    fn summary(&self) -> &'static str {
        "voltages of an AC power flow"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        const PARAMS: &[ParamSpec] = &[
            needed("network", ParamType::File, "network: JSON, or a MATPOWER case `.m`"),
            with("start", ParamType::Choice(&["file", "flat"]), "file", "voltages to begin with"),
        ];
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
        let mut case = read_case(params, context.folder)?;
        if params.text("start") == "flat" {
            case.flat();
        }
        let flow = flow::solve(&case).map_err(|why| unsolved(params, why))?;
        let angles = flow.va.iter().map(|a| a.to_degrees());
        let values = flow.vm.iter().copied().chain(angles).collect();
        Ok(Component::atomic(Voltages { values, told: false }))
    }
}
