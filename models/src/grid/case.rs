//! Network data: buses, branches, generators, machines; read from JSON or MATPOWER case files.
use super::{errors::CaseError, matpower};
use crate::kinds::files;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The quantities that are given at a bus in a power flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusType {
    /// Active and reactive power.
    Load,
    /// Active power and voltage; without a generator in service the same as `Load`.
    Generator,
    /// Voltage and angle.
    Reference,
    /// Out of service with its branches, loads, generators and machines.
    Isolated,
}

/// A bus; powers in MW and Mvar, voltage per unit, angle in degrees.
#[derive(Debug, Clone, PartialEq)]
pub struct Bus {
    /// Number in the file.
    pub id: u32,
    /// The quantities that are given.
    pub ty: BusType,
    /// Demand.
    pub demand: [f64; 2],
    /// Shunt conductance and susceptance at nominal voltage, as powers.
    pub shunt: [f64; 2],
    /// Start or given magnitude.
    pub vm: f64,
    /// Start or given angle.
    pub va: f64,
}

/// A line or transformer (standard pi model, tap at the from side); per unit, shift in degrees.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// Places of the buses.
    pub ends: [usize; 2],
    /// Series resistance and reactance.
    pub series: [f64; 2],
    /// Total line charging susceptance.
    pub charging: f64,
    /// Turns ratio; 1 for lines.
    pub tap: f64,
    /// Phase shift.
    pub shift: f64,
}

/// A generator in a power flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// Place of its bus.
    pub bus: usize,
    /// Active power in MW and reactive power in Mvar; the latter counts at load buses only.
    pub power: [f64; 2],
}

/// Dynamic data of a generator: the classical model and a governor.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Place of its bus.
    pub bus: usize,
    /// Inertia constant in s on the system base.
    pub inertia: f64,
    /// Transient reactance per unit on the system base.
    pub reactance: f64,
    /// Rating in MVA.
    pub rating: f64,
}

/// Constants of the TGOV1-form governor: droop and time constants in s.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Governor {
    /// Droop, per unit on the machine's rating.
    #[serde(rename = "R")]
    pub droop: f64,
    /// Valve.
    #[serde(rename = "T1")]
    pub t1: f64,
    /// Lead of the reheater.
    #[serde(rename = "T2")]
    pub t2: f64,
    /// Lag of the reheater.
    #[serde(rename = "T3")]
    pub t3: f64,
}

/// A network.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Base power in MVA.
    pub base: f64,
    /// Nominal frequency in Hz.
    pub frequency: f64,
    /// Buses.
    pub buses: Vec<Bus>,
    /// Branches in service.
    pub branches: Vec<Branch>,
    /// Generators in service.
    pub generators: Vec<Generator>,
    /// Machines, if the file has dynamic data.
    pub machines: Vec<Machine>,
    /// Their governors.
    pub governor: Option<Governor>,
}

fn in_service() -> f64 {
    1.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the names of the file")]
struct JsonBus {
    id: u32,
    r#type: u32,
    Pd: f64,
    Qd: f64,
    Gs: f64,
    Bs: f64,
    Vm: f64,
    Va_deg: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonBranch {
    f: u32,
    t: u32,
    r: f64,
    x: f64,
    b: f64,
    tap: f64,
    shift: f64,
    #[serde(default = "in_service")]
    status: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the names of the file")]
struct JsonGenerator {
    bus: u32,
    Pm: f64,
    H: f64,
    xdp: f64,
    Sn: f64,
    #[serde(default = "in_service")]
    status: f64,
    #[serde(rename = "E")]
    _voltage: Option<f64>,
    #[serde(rename = "delta0")]
    _angle: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the names of the file")]
struct JsonCase {
    baseMVA: f64,
    f0: f64,
    bus: Vec<JsonBus>,
    branch: Vec<JsonBranch>,
    #[serde(rename = "gen")]
    generators: Vec<JsonGenerator>,
    gov: Option<Governor>,
    #[serde(rename = "load_model")]
    _load_model: Option<String>,
}

/// The bus type of a MATPOWER code.
pub(super) fn bus_type(code: f64) -> Option<BusType> {
    Some(match code {
        1.0 => BusType::Load,
        2.0 => BusType::Generator,
        3.0 => BusType::Reference,
        4.0 => BusType::Isolated,
        _ => return None,
    })
}

impl Case {
    /// Reads a file: MATPOWER if its name ends in `.m`, else JSON.
    ///
    /// # Errors
    /// Where the file is malformed, with the line or field.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        // Comments of old files are in other alphabets; numbers are not.
        let bytes = files::read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let case = if path.extension().is_some_and(|e| e == "m") {
            matpower::parse(&text)?
        } else {
            Self::json(&text)?
        };
        case.checked()
    }

    /// Reads the JSON form: base power `baseMVA`, frequency `f0` in Hz, and
    /// - `bus`: `id`, `type` (1 load, 2 generator, 3 reference, 4 isolated), `Pd` `Qd` `Gs` `Bs` in
    ///   MW and Mvar, `Vm` per unit (what generators hold, too), `Va_deg`;
    /// - `branch`: buses `f` and `t`, `r` `x` `b` per unit, `tap` (0 for lines), `shift` in degrees,
    ///   `status` (0 out of service, 1 if left out);
    /// - `gen`: `bus`, power `Pm` per unit, `H` in s and `xdp` per unit on the system base, rating
    ///   `Sn` in MVA, `status` as above (at buses of type 1 without reactive power);
    /// - `gov`, if there are governors: `R`, `T1`, `T2`, `T3` (see [`Governor`]).
    ///
    /// `E` and `delta0` of `gen`, and `load_model`, are information for readers: a run starts from
    /// the power flow.
    ///
    /// # Errors
    /// Where the text is malformed or has other fields.
    pub fn json(text: &str) -> Result<Self, CaseError> {
        let raw: JsonCase = serde_json::from_str(text)?;
        let mut buses = Vec::new();
        for b in &raw.bus {
            let ty = bus_type(f64::from(b.r#type));
            buses.push(Bus {
                id: b.id,
                ty: ty.ok_or(CaseError::BusType { bus: b.id, code: b.r#type })?,
                demand: [b.Pd, b.Qd],
                shunt: [b.Gs, b.Bs],
                vm: b.Vm,
                va: b.Va_deg,
            });
        }
        let places: BTreeMap<u32, usize> = buses.iter().map(|b| b.id).zip(0..).collect();
        let place = |id: u32| places.get(&id).copied().ok_or(CaseError::NoBus(id));
        let mut branches = Vec::new();
        for b in raw.branch.iter().filter(|b| b.status > 0.0) {
            branches.push(Branch {
                ends: [place(b.f)?, place(b.t)?],
                series: [b.r, b.x],
                charging: b.b,
                tap: if b.tap == 0.0 { 1.0 } else { b.tap },
                shift: b.shift,
            });
        }
        let (mut generators, mut machines) = (Vec::new(), Vec::new());
        for g in raw.generators.iter().filter(|g| g.status > 0.0) {
            let bus = place(g.bus)?;
            generators.push(Generator { bus, power: [g.Pm * raw.baseMVA, 0.0] });
            machines.push(Machine { bus, inertia: g.H, reactance: g.xdp, rating: g.Sn });
        }
        let (base, frequency, governor) = (raw.baseMVA, raw.f0, raw.gov);
        Ok(Self { base, frequency, buses, branches, generators, machines, governor })
    }

    /// The place of a bus.
    ///
    /// # Errors
    /// When there is none of this number.
    pub fn place(&self, id: u32) -> Result<usize, CaseError> {
        let found = self.buses.iter().position(|b| b.id == id);
        found.ok_or(CaseError::NoBus(id))
    }

    /// Takes 1 per unit and no angle as the start of a power flow, apart from voltages that generators
    /// hold and from the angles of the reference buses.
    pub fn flat(&mut self) {
        for bus in &mut self.buses {
            match bus.ty {
                BusType::Load => (bus.vm, bus.va) = (1.0, 0.0),
                BusType::Generator => bus.va = 0.0,
                BusType::Reference | BusType::Isolated => {}
            }
        }
    }

    pub(super) fn checked(mut self) -> Result<Self, CaseError> {
        if !(self.base > 0.0 && self.base.is_finite()) {
            return Err(CaseError::Base(self.base));
        }
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(self.frequency) {
            return Err(CaseError::Frequency(self.frequency));
        }
        if let Some(g) = &self.governor
            && !([g.droop, g.t1, g.t3].into_iter().all(positive) && g.t2.is_finite() && g.t2 >= 0.0)
        {
            return Err(CaseError::Governors);
        }
        let mut known = BTreeSet::new();
        for b in &self.buses {
            if !known.insert(b.id) {
                return Err(CaseError::BusTwice(b.id));
            }
            let numbers = b.demand.iter().chain(&b.shunt).chain([&b.va]);
            if !positive(b.vm) || numbers.into_iter().any(|x| !x.is_finite()) {
                return Err(CaseError::Bus(b.id));
            }
        }
        for b in &self.branches {
            let [r, x] = b.series;
            let impedance = r * r + x * x;
            if !(positive(impedance) && positive(b.tap) && (b.charging + b.shift).is_finite()) {
                let [from, to] = b.ends.map(|e| self.buses[e].id);
                return Err(if !positive(impedance) {
                    CaseError::Impedance(from, to)
                } else if !positive(b.tap) {
                    CaseError::Tap(from, to)
                } else {
                    CaseError::Charging(from, to)
                });
            }
        }
        for g in &self.generators {
            if g.power.iter().any(|p| !p.is_finite()) {
                return Err(CaseError::Power(self.buses[g.bus].id));
            }
        }
        self.out_of_service();
        self.held_voltages()?;
        for (k, m) in self.machines.iter().enumerate() {
            let id = self.buses[m.bus].id;
            if self.machines[..k].iter().any(|other| other.bus == m.bus) {
                return Err(CaseError::TwoMachines(id));
            }
            if !(positive(m.inertia) && positive(m.reactance) && positive(m.rating)) {
                return Err(CaseError::Machine(id));
            }
        }
        self.islands()?;
        Ok(self)
    }

    /// Takes away all that isolated buses have.
    fn out_of_service(&mut self) {
        let isolated: Vec<bool> = self.buses.iter().map(|b| b.ty == BusType::Isolated).collect();
        self.branches.retain(|b| !b.ends.iter().any(|&k| isolated[k]));
        self.generators.retain(|g| !isolated[g.bus]);
        self.machines.retain(|m| !isolated[m.bus]);
        for bus in self.buses.iter_mut().filter(|b| b.ty == BusType::Isolated) {
            (bus.demand, bus.shunt) = ([0.0; 2], [0.0; 2]);
        }
    }

    /// Makes buses of type 2 without a generator load buses, as MATPOWER's `bustypes` does.
    fn held_voltages(&mut self) -> Result<(), CaseError> {
        let mut generates = vec![false; self.buses.len()];
        self.generators.iter().for_each(|g| generates[g.bus] = true);
        for (bus, generates) in self.buses.iter_mut().zip(generates) {
            match bus.ty {
                BusType::Generator if !generates => bus.ty = BusType::Load,
                BusType::Reference if !generates => {
                    return Err(CaseError::NotHeld(bus.id));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses buses that no reference bus holds together.
    fn islands(&self) -> Result<(), CaseError> {
        if !self.buses.iter().any(|b| b.ty == BusType::Reference) {
            return Err(CaseError::NoReference);
        }
        let island = islands(self.buses.len(), self.branches.iter().map(|b| b.ends));
        let mut held = vec![false; self.buses.len()];
        for (bus, &k) in self.buses.iter().zip(&island) {
            held[k] |= matches!(bus.ty, BusType::Reference | BusType::Isolated);
        }
        let lost = self.buses.iter().zip(&island).filter(|(_, k)| !held[**k]);
        let lost: Vec<u32> = lost.map(|(b, _)| b.id).collect();
        if lost.is_empty() { Ok(()) } else { Err(CaseError::Island(lost)) }
    }
}

/// Per node, the first node of its island.
pub(super) fn islands(nodes: usize, edges: impl Iterator<Item = [usize; 2]>) -> Vec<usize> {
    fn first(of: &mut [usize], mut k: usize) -> usize {
        while of[k] != k {
            of[k] = of[of[k]];
            k = of[k];
        }
        k
    }
    let mut of: Vec<usize> = (0..nodes).collect();
    for ends in edges {
        let [a, b] = ends.map(|k| first(&mut of, k));
        of[a.max(b)] = a.min(b);
    }
    (0..nodes).map(|k| first(&mut of, k)).collect()
}
