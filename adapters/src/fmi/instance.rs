//! A running FMU behind safe calls: statuses become errors that name call, variables and what the
//! FMU logged.
use super::{
    archive::Unpacked,
    description::{Description, Interface, Type, Version},
    library::{Completed, Curve, RawInstance, RawState, Request, Status, Stepped, Updated, Vector},
};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};

/// A call that the FMU did not carry out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{call}{}{}; {}", gave(*status), said(log), remedy(*status))]
pub struct CallError {
    /// The function and its arguments; or what is wrong with values that the FMU gave.
    pub call: String,
    /// The status that the call returned; [`Status::Ok`] where the FMU complains of nothing.
    pub status: Status,
    /// Messages that the FMU logged during the call.
    pub log: Vec<String>,
}

fn gave(status: Status) -> String {
    if status == Status::Ok { String::new() } else { format!(" gave {}", status.name()) }
}

fn said(log: &[String]) -> String {
    if log.is_empty() { String::new() } else { format!(" (the FMU says: {})", log.join("; ")) }
}

fn remedy(status: Status) -> &'static str {
    match status {
        Status::Discard => {
            "the FMU does not accept these values or this step: check start values and inputs, or \
             make `step` smaller"
        }
        Status::Pending => {
            "steps in the background are not supported: export the FMU without \
             canRunAsynchronuously"
        }
        Status::Fatal => {
            "the binary must not be used any more in this process: report it to the FMU's vendor"
        }
        Status::Ok => {
            "check start values and inputs, `tolerance` and `solver`, or report it to the FMU's vendor"
        }
        _ => "the instance cannot go on: check start values and inputs, or make `step` smaller",
    }
}

type Called<T = ()> = Result<T, CallError>;

/// Variables of one type, and the places of their elements among the ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Type.
    pub ty: Type,
    /// Value references.
    pub references: Vec<u32>,
    /// Name and number of elements of each variable.
    pub variables: Vec<(String, usize)>,
    /// Places of all elements.
    pub places: Vec<usize>,
}

impl Block {
    fn gather(&self, values: &[f64]) -> Vec<f64> {
        self.places.iter().map(|&p| values[p]).collect()
    }
}

/// Most rounds of one event.
const ROUNDS: usize = 1000;

struct Shared {
    raw: Mutex<RawInstance>,
    version: Version,
    remarks: Mutex<Vec<String>>,
    // After the instance, which may use its resources to the end.
    _files: Unpacked,
    _only: Option<Only>,
}

/// Tokens of the FMUs that are instantiated and can be only once per process.
static ONLY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The only instance of an FMU.
struct Only(String);

impl Only {
    fn new(description: &Description, interface: &Interface) -> Result<Option<Self>, String> {
        if !interface.single {
            return Ok(None);
        }
        let key = format!("{} {}", description.token, interface.identifier);
        let Ok(mut all) = ONLY.lock() else { return Err("another instance failed".into()) };
        if all.insert(key.clone()) {
            return Ok(Some(Self(key)));
        }
        Err(format!(
            "a second instance of {}, which can be instantiated only once per process \
             (canBeInstantiatedOnlyOncePerProcess): export it without this limit",
            description.model
        ))
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        if let Ok(mut all) = ONLY.lock() {
            all.remove(&self.0);
        }
    }
}

/// A running FMU. Dropping it, and all its states, frees the FMU.
pub struct Instance {
    shared: Arc<Shared>,
}

/// A saved state of an instance: opaque, freed when dropped.
pub struct StateHandle {
    shared: Arc<Shared>,
    raw: RawState,
}

impl Drop for StateHandle {
    fn drop(&mut self) {
        if let Ok(mut raw) = self.shared.raw.lock() {
            raw.free_state(&mut self.raw);
        }
    }
}

impl std::fmt::Debug for StateHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StateHandle")
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Instance")
    }
}

impl Instance {
    /// Unpacks an FMU and instantiates it, with event mode if it has one. Variables of
    /// `intermediate` will be set inside steps.
    ///
    /// # Errors
    /// When the archive has no binary for this machine, or the FMU refuses.
    pub fn new(
        path: &Path,
        description: &Description,
        interface: &Interface,
        name: &str,
        intermediate: &[u32],
    ) -> Result<Self, String> {
        let only = Only::new(description, interface)?;
        let files = Unpacked::new(path, description.version)?;
        let functions = files.load(description.version, interface)?;
        let request = Request {
            kind: interface.kind,
            name,
            token: &description.token,
            resources: &files.resources(),
            event_mode: interface.event_mode,
            intermediate,
        };
        let raw = Mutex::new(RawInstance::new(functions, &request)?);
        let version = description.version;
        let remarks = Mutex::default();
        Ok(Self { shared: Arc::new(Shared { raw, version, remarks, _files: files, _only: only }) })
    }

    fn name(&self, function: &str) -> String {
        format!("{}{function}", self.shared.version.prefix())
    }

    /// Makes a call; a bad status becomes an error.
    fn call<T>(
        &self,
        what: impl FnOnce() -> String,
        f: impl FnOnce(&mut RawInstance) -> (Status, T),
    ) -> Called<T> {
        let Ok(mut raw) = self.shared.raw.lock() else {
            return Err(CallError { call: what(), status: Status::Fatal, log: Vec::new() });
        };
        let (status, answer) = f(&mut raw);
        if status.is_good() {
            return Ok(answer);
        }
        let log = raw.heard().log.into_iter();
        let log = log.map(|(s, category, text)| format!("[{}, {category}] {text}", s.name()));
        Err(CallError { call: what(), status, log: log.collect() })
    }

    fn plain(&self, name: &str, f: impl FnOnce(&mut RawInstance) -> Status) -> Called {
        self.call(|| self.name(name), |raw| (f(raw), ()))
    }

    /// Something to be told with the FMU's next warnings.
    pub(super) fn remark(&self, text: String) {
        if let Ok(mut remarks) = self.shared.remarks.lock() {
            remarks.push(text);
        }
    }

    /// Warnings and worse that the FMU logged since the last question, and remarks.
    pub fn warnings(&self) -> Vec<String> {
        let remarks = self.shared.remarks.lock().map(|mut all| std::mem::take(&mut *all));
        let mut told = remarks.unwrap_or_default();
        let Ok(mut raw) = self.shared.raw.lock() else { return told };
        let bad = |(s, category, text): (Status, String, String)| {
            (s != Status::Ok).then(|| format!("FMU {} [{category}]: {text}", s.name()))
        };
        told.extend(raw.heard().log.into_iter().filter_map(bad));
        told
    }

    /// Enters the initialisation mode, at time 0.
    ///
    /// # Errors
    /// The FMU's.
    pub fn begin(&self, tolerance: Option<f64>) -> Called {
        self.plain("EnterInitializationMode", |raw| raw.enter_initialization(tolerance))
    }

    /// Goes back to before the initialisation mode; whether the FMU has a function for that.
    ///
    /// # Errors
    /// The FMU's.
    pub fn reset(&self) -> Called<bool> {
        self.call(
            || self.name("Reset"),
            |raw| match raw.reset() {
                Some(status) => (status, true),
                None => (Status::Ok, false),
            },
        )
    }

    /// Leaves the initialisation mode; an FMU with event mode settles its first event.
    ///
    /// # Errors
    /// The FMU's.
    pub fn initialised(&self, event_mode: bool) -> Called<Updated> {
        self.exit_initialisation()?;
        if event_mode { self.settle() } else { Ok(Updated::default()) }
    }

    /// Leaves the initialisation mode.
    ///
    /// # Errors
    /// The FMU's.
    pub fn exit_initialisation(&self) -> Called {
        self.plain("ExitInitializationMode", RawInstance::exit_initialization)
    }

    fn settle(&self) -> Called<Updated> {
        let mut terminate = false;
        for _ in 0..ROUNDS {
            let name = || self.name("UpdateDiscreteStates");
            let mut updated = self.call(name, RawInstance::update)?;
            terminate |= updated.terminate;
            if !updated.again || terminate {
                self.plain("EnterStepMode", RawInstance::enter_step_mode)?;
                updated.terminate = terminate;
                return Ok(updated);
            }
        }
        let call = format!("an event of the FMU wants more than {ROUNDS} rounds");
        Err(CallError { call, status: Status::Ok, log: Vec::new() })
    }

    /// An event: enters event mode, sets inputs there, and settles.
    ///
    /// # Errors
    /// The FMU's.
    pub fn event(&self, inputs: &[Block], values: &[f64]) -> Called<Updated> {
        self.plain("EnterEventMode", RawInstance::enter_event_mode)?;
        self.write(inputs, values)?;
        self.settle()
    }

    /// Steps. `certain` when no earlier state will be brought back.
    ///
    /// # Errors
    /// The FMU's; after [`Status::Discard`] it may be brought back and asked for less.
    pub fn step(&self, from: f64, by: f64, curves: Vec<Curve>, certain: bool) -> Called<Stepped> {
        let call = || format!("{} from {from} s by {by} s", self.name("DoStep"));
        self.call(call, |raw| {
            raw.set_curves(curves);
            raw.do_step(from, by, certain)
        })
    }

    /// Reads outputs into their places.
    ///
    /// # Errors
    /// The FMU's.
    pub fn read(&self, blocks: &[Block], values: &mut [f64]) -> Called {
        for block in blocks {
            let mut buffer = vec![0.0; block.places.len()];
            let call = || format!("{}{:?} of {}", self.name("Get"), block.ty, names(block));
            self.call(call, |raw| (raw.get_numbers(block.ty, &block.references, &mut buffer), ()))?;
            for (&place, value) in block.places.iter().zip(buffer) {
                values[place] = value;
            }
        }
        Ok(())
    }

    /// Sets variables from their places.
    ///
    /// # Errors
    /// The FMU's, or a value that the type cannot hold; it names the variable and the value.
    pub fn write(&self, blocks: &[Block], values: &[f64]) -> Called {
        for block in blocks {
            let values = block.gather(values);
            check(block, &values)?;
            let set =
                |raw: &mut RawInstance| (raw.set_numbers(block.ty, &block.references, &values), ());
            let error = match self.call(|| format!("{}{:?}", self.name("Set"), block.ty), set) {
                Ok(()) => continue,
                Err(e) => e,
            };
            return Err(self.culprit(block, &values, error));
        }
        Ok(())
    }

    /// Which of several variables the FMU does not take.
    fn culprit(&self, block: &Block, values: &[f64], error: CallError) -> CallError {
        let mut first = 0;
        for ((name, elements), &reference) in block.variables.iter().zip(&block.references) {
            let own = &values[first..first + elements];
            first += elements;
            let call = || {
                let (set, ty) = (self.name("Set"), block.ty);
                format!("{set}{ty:?} of {name} (reference {reference}) to {own:?}")
            };
            let alone = error.status == Status::Discard && block.references.len() > 1;
            if !alone {
                return CallError { call: call(), ..error };
            }
            let set = |raw: &mut RawInstance| (raw.set_numbers(block.ty, &[reference], own), ());
            if let Err(e) = self.call(call, set) {
                return e;
            }
        }
        error
    }

    /// Sets texts, one per element, before initialisation.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_texts(&self, name: &str, reference: u32, values: &[String]) -> Called {
        let call = || format!("{} of {name} to {values:?}", self.name("SetString"));
        self.call(call, |raw| (raw.set_texts(reference, values), ()))
    }

    /// Sets integers, one per element, exactly.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_whole(&self, name: &str, ty: Type, reference: u32, values: &[i128]) -> Called {
        let call = || format!("{}{ty:?} of {name} to {values:?}", self.name("Set"));
        self.call(call, |raw| (raw.set_whole(ty, reference, values), ()))
    }

    /// Sets bytes before initialisation.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_bytes(&self, name: &str, reference: u32, bytes: &[u8]) -> Called {
        let call = || format!("{} of {name} to {} bytes", self.name("SetBinary"), bytes.len());
        self.call(call, |raw| (raw.set_bytes(reference, bytes), ()))
    }

    /// Derivatives of outputs by time at the last communication point.
    ///
    /// # Errors
    /// The FMU's.
    pub fn output_derivatives(&self, references: &[u32], orders: &[i32]) -> Called<Vec<f64>> {
        let call = || self.name("GetOutputDerivatives");
        self.call(call, |raw| raw.output_derivatives(references, orders))
    }

    /// How `unknowns` change when `knowns` change in the direction `seed` (value references of
    /// scalar variables).
    ///
    /// # Errors
    /// The FMU's.
    pub fn directional(&self, unknowns: &[u32], knowns: &[u32], seed: &[f64]) -> Called<Vec<f64>> {
        let mut values = vec![0.0; unknowns.len()];
        let name = || self.name("GetDirectionalDerivative");
        let call = || format!("{} of {unknowns:?} by {knowns:?}", name());
        self.call(call, |raw| (raw.directional(unknowns, knowns, seed, &mut values), ()))?;
        Ok(values)
    }

    /// Saves the state.
    ///
    /// # Errors
    /// The FMU's.
    pub fn save(&self) -> Called<StateHandle> {
        let raw = self.call(|| self.name("GetFMUState"), RawInstance::get_state)?;
        Ok(StateHandle { shared: Arc::clone(&self.shared), raw })
    }

    /// Brings a state back.
    ///
    /// # Errors
    /// The FMU's, or when the state is another instance's.
    pub fn restore(&self, state: &StateHandle) -> Called {
        if !Arc::ptr_eq(&self.shared, &state.shared) {
            let call = self.name("SetFMUState with a state of another instance");
            return Err(CallError { call, status: Status::Discard, log: Vec::new() });
        }
        self.plain("SetFMUState", |raw| raw.set_state(&state.raw))
    }

    /// A state as bytes.
    ///
    /// # Errors
    /// The FMU's.
    pub fn serialise(&self, state: &StateHandle) -> Called<Vec<u8>> {
        self.call(|| self.name("SerializeFMUState"), |raw| raw.serialize(&state.raw))
    }

    /// A state from bytes.
    ///
    /// # Errors
    /// The FMU's.
    pub fn deserialise(&self, bytes: &[u8]) -> Called<StateHandle> {
        let call = || self.name("DeserializeFMUState");
        let raw = self.call(call, |raw| raw.deserialize(bytes))?;
        Ok(StateHandle { shared: Arc::clone(&self.shared), raw })
    }

    /// One round of an event.
    ///
    /// # Errors
    /// The FMU's.
    pub fn update(&self) -> Called<Updated> {
        self.call(|| self.name("UpdateDiscreteStates"), RawInstance::update)
    }

    /// The event mode begins.
    ///
    /// # Errors
    /// The FMU's.
    pub fn enter_event(&self) -> Called {
        self.plain("EnterEventMode", RawInstance::enter_event_mode)
    }

    /// The continuous-time mode begins.
    ///
    /// # Errors
    /// The FMU's.
    pub fn enter_continuous(&self) -> Called {
        self.plain("EnterContinuousTimeMode", RawInstance::enter_continuous)
    }

    /// Moves to a time and, if there are any, states.
    ///
    /// # Errors
    /// The FMU's.
    pub fn place(&self, t: f64, x: &[f64]) -> Called {
        self.call(|| format!("{} to {t} s", self.name("SetTime")), |raw| (raw.set_time(t), ()))?;
        if x.is_empty() {
            return Ok(());
        }
        let call = || format!("{} at {t} s to {x:?}", self.name("SetContinuousStates"));
        self.call(call, |raw| (raw.set_states(x), ()))
    }

    /// States, derivatives, indicators or nominal values at the present place.
    ///
    /// # Errors
    /// The FMU's.
    pub fn fill(&self, what: Vector, out: &mut [f64]) -> Called {
        if out.is_empty() {
            return Ok(());
        }
        let call = || self.name(what.getter(self.shared.version));
        self.call(call, |raw| (raw.fill(what, out), ()))
    }

    /// Tells that a step was accepted.
    ///
    /// # Errors
    /// The FMU's.
    pub fn completed(&self) -> Called<Completed> {
        self.call(|| self.name("CompletedIntegratorStep"), RawInstance::completed)
    }

    /// Numbers of states and of indicators, if the FMU can tell.
    pub fn sizes(&self) -> Option<(usize, usize)> {
        self.shared.raw.lock().ok()?.sizes()
    }

    /// Directional derivatives into `values`.
    ///
    /// # Errors
    /// The FMU's.
    pub fn directional_into(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        values: &mut [f64],
    ) -> Called {
        let call = || self.name("GetDirectionalDerivative");
        self.call(call, |raw| (raw.directional(unknowns, knowns, seed, values), ()))
    }

    /// The configuration mode begins, or ends.
    ///
    /// # Errors
    /// The FMU's.
    pub fn configure(&self, begin: bool) -> Called {
        let name = if begin { "EnterConfigurationMode" } else { "ExitConfigurationMode" };
        self.plain(name, |raw| raw.configure(begin))
    }
}

fn names(block: &Block) -> String {
    let names: Vec<&str> = block.variables.iter().map(|(n, _)| n.as_str()).collect();
    names.join(", ")
}

/// Whether the type can hold the values.
fn check(block: &Block, values: &[f64]) -> Called {
    let range = block.ty.range();
    let fits = |x: f64| x.is_finite() && range.is_none_or(|(low, high)| low <= x && x <= high);
    let Some(bad) = values.iter().position(|&x| !fits(x)) else { return Ok(()) };
    let mut left = bad;
    let found = block.variables.iter().find(|(_, n)| {
        let here = left < *n;
        left = left.saturating_sub(*n);
        here
    });
    let name = found.map_or("", |(n, _)| n.as_str());
    let ty = block.ty;
    let call = format!("setting {name} of type {ty:?} to {}", values[bad]);
    Err(CallError { call, status: Status::Discard, log: Vec::new() })
}
