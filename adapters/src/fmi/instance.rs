//! A running FMU behind safe calls: statuses become errors that name call, variables and what the
//! FMU logged.
pub use super::block::Block;
use super::{
    archive::Unpacked,
    calls::{Answer, Call, Carrier},
    description::{Description, Interface, Type, Version},
    library::{Completed, OWN, Status, Updated},
    place,
    replay::Replaying,
    worker::Isolation,
};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

/// A call that the FMU did not carry out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{call}{}{}", story(*status, log), remedy(*status))]
pub struct CallError {
    /// The function and its arguments; or what is wrong with values that the FMU gave.
    pub call: String,
    /// The status that the call returned; [`Status::Ok`] where the FMU complains of nothing.
    pub status: Status,
    /// Messages that the FMU logged during the call.
    pub log: Vec<String>,
}

impl CallError {
    /// The call and how it went wrong, without a remedy.
    pub(super) fn story(&self) -> String {
        format!("{}{}", self.call, story(self.status, &self.log))
    }
}

/// How the call went wrong.
fn story(status: Status, log: &[String]) -> String {
    let said = log.join("; ");
    match (status, log.is_empty()) {
        (Status::Lost, _) | (Status::Unasked, false) => format!(": {said}"),
        (Status::Ok | Status::Unasked, true) => String::new(),
        (Status::Ok, false) => format!(" (the FMU says: {said})"),
        (_, true) => format!(" gave {}", status.name()),
        (_, false) => format!(" gave {} (the FMU says: {said})", status.name()),
    }
}

fn remedy(status: Status) -> &'static str {
    match status {
        Status::Discard => {
            "; the FMU does not accept these values or this step: check start values and inputs, or \
             make `step` smaller (`max_step` in model exchange)"
        }
        Status::Pending => {
            "; steps in the background are not supported: export the FMU without \
             canRunAsynchronuously"
        }
        Status::Fatal => {
            "; the binary must not be used any more in this process: report it to the FMU's vendor"
        }
        Status::Lost => {
            "; report the binary to the FMU's vendor, or give it more with `memory` and `call_timeout`"
        }
        Status::Unasked => "",
        Status::Ok => {
            "; check start values and inputs, `tolerance` and `solver`, or report it to the FMU's vendor"
        }
        _ => {
            "; the instance cannot go on: check start values and inputs, or make `step` smaller (`max_step` in model exchange)"
        }
    }
}

pub(super) type Called<T = ()> = Result<T, CallError>;

/// The FMU's own events follow each other faster than ticks, without end.
pub(super) fn crowded(next: f64, now: f64) -> CallError {
    let call = format!(
        "after {ROUNDS} time events that followed each other within a tick, the FMU wants the next one at {next} s, and \
         it is {now} s; choose a finer `resolution` if these times are meant, or report them to the FMU's vendor"
    );
    CallError { call, status: Status::Unasked, log: Vec::new() }
}

/// Most rounds of one event, and most events of the FMU's own clock within a tick.
pub(super) const ROUNDS: usize = 1000;

/// The instance behind its lock.
pub(super) struct Seat {
    pub(super) carrier: Box<dyn Carrier>,
    /// Memory for numbers on their way.
    pub(super) buffer: Vec<f64>,
}

impl Seat {
    /// The error of a call that gave a bad status.
    pub(super) fn refusal(&mut self, call: String, status: Status) -> CallError {
        let log = self.carrier.heard().log.into_iter();
        let log = log.map(|(s, category, text)| match s {
            Status::Lost | Status::Unasked => text,
            _ => format!("[{}, {category}] {text}", s.name()),
        });
        CallError { call, status, log: log.collect() }
    }
}

struct Shared {
    seat: Mutex<Seat>,
    version: Version,
    remarks: Mutex<Vec<String>>,
    /// Topics and ports that were told of.
    noted: Mutex<BTreeSet<(&'static str, usize)>>,
    /// Number of the next saved state.
    states: AtomicU64,
}

/// A running FMU. Dropping it, and all its states, frees the FMU.
pub struct Instance {
    shared: Arc<Shared>,
}

/// A saved state of an instance: opaque, freed when dropped.
pub struct StateHandle {
    shared: Arc<Shared>,
    id: u64,
}

impl Drop for StateHandle {
    fn drop(&mut self) {
        if let Ok(mut seat) = self.shared.seat.lock() {
            let _ = seat.carrier.carry(Call::Free(self.id), &mut []);
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
        isolation: Option<&Isolation>,
    ) -> Result<Self, String> {
        let carrier = place::new(path, description, interface, name, intermediate, isolation)?;
        Ok(Self::with(carrier, description.version))
    }

    /// Instantiates it likewise, with all calls kept: it goes back by making them again.
    ///
    /// # Errors
    /// When the archive has no binary for this machine, or the FMU refuses.
    pub fn replaying(
        path: &Path,
        description: &Description,
        interface: &Interface,
        name: &str,
        intermediate: &[u32],
        isolation: Option<&Isolation>,
    ) -> Result<Self, String> {
        let (path, own) = (path.to_owned(), (description.clone(), interface.clone()));
        let (name, intermediate) = (name.to_owned(), intermediate.to_vec());
        let isolation = isolation.cloned();
        // Its folder is kept between two instances.
        let files = Unpacked::new(&path, description.version)?;
        let make = move || {
            let _ = &files;
            place::new(&path, &own.0, &own.1, &name, &intermediate, isolation.as_ref())
        };
        let carrier = Replaying::new(Box::new(make))?;
        Ok(Self::with(Box::new(carrier), description.version))
    }

    fn with(carrier: Box<dyn Carrier>, version: Version) -> Self {
        Self {
            shared: Arc::new(Shared {
                seat: Mutex::new(Seat { carrier, buffer: Vec::new() }),
                version,
                remarks: Mutex::default(),
                noted: Mutex::default(),
                states: AtomicU64::new(0),
            }),
        }
    }

    pub(super) fn name(&self, function: &str) -> String {
        format!("{}{function}", self.shared.version.prefix())
    }

    pub(super) fn version(&self) -> Version {
        self.shared.version
    }

    /// The instance, for a call of this name: a thread that panicked inside of another one has left it anyhow.
    pub(super) fn seat(&self, call: impl FnOnce() -> String) -> Called<MutexGuard<'_, Seat>> {
        let broken = |_| CallError { call: call(), status: Status::Fatal, log: Vec::new() };
        self.shared.seat.lock().map_err(broken)
    }

    /// Makes a call; a bad status becomes an error.
    pub(super) fn call(
        &self,
        name: impl Fn() -> String,
        call: Call<'_>,
        out: &mut [f64],
    ) -> Called<Answer> {
        let mut seat = self.seat(&name)?;
        let (status, answer) = seat.carrier.carry(call, out);
        if status.is_good() { Ok(answer) } else { Err(seat.refusal(name(), status)) }
    }

    fn plain(&self, name: &str, call: Call<'_>) -> Called {
        self.call(|| self.name(name), call, &mut []).map(|_| ())
    }

    /// Something to be told with the FMU's next warnings.
    pub(super) fn remark(&self, text: String) {
        if let Ok(mut remarks) = self.shared.remarks.lock() {
            remarks.push(text);
        }
    }

    /// A remark about a port, of which there is one at most for each topic, however often a run goes back.
    pub(super) fn remark_once(
        &self,
        topic: &'static str,
        port: usize,
        text: impl FnOnce() -> String,
    ) {
        if self.shared.noted.lock().is_ok_and(|mut noted| noted.insert((topic, port))) {
            self.remark(text());
        }
    }

    /// Warnings and worse that the FMU logged since the last question, and remarks.
    pub fn warnings(&self) -> Vec<String> {
        let remarks = self.shared.remarks.lock().map(|mut all| std::mem::take(&mut *all));
        let mut told = remarks.unwrap_or_default();
        let Ok(mut seat) = self.shared.seat.lock() else { return told };
        if seat.carrier.is_silent() {
            return told;
        }
        let bad = |(s, category, text): (Status, String, String)| match (s, &*category) {
            (Status::Ok, _) => None,
            (Status::Warning, OWN) => Some(text),
            _ => Some(format!("FMU {} [{category}]: {text}", s.name())),
        };
        let heard = seat.carrier.heard();
        drop(seat);
        told.extend(heard.log.into_iter().filter_map(bad));
        let once = |status: &Status| {
            let name = self.name("SetFloat64");
            let mut noted = self.shared.noted.lock().ok()?;
            noted.insert(("inside", 0)).then(|| {
                format!(
                    "{name} inside a step gave {}, though the input is marked intermediateUpdate: there it holds what \
                     it was told last",
                    status.name()
                )
            })
        };
        told.extend(heard.refused.as_ref().and_then(once));
        told
    }

    /// Enters the initialisation mode, at time 0.
    ///
    /// # Errors
    /// The FMU's.
    pub fn begin(&self, tolerance: Option<f64>) -> Called {
        self.plain("EnterInitializationMode", Call::EnterInitialisation(tolerance))
    }

    /// Goes back to before the initialisation mode; whether the FMU has a function for that.
    ///
    /// # Errors
    /// The FMU's.
    pub fn reset(&self) -> Called<bool> {
        let answer = self.call(|| self.name("Reset"), Call::Reset, &mut [])?;
        Ok(answer != Answer::Absent)
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
        self.plain("ExitInitializationMode", Call::ExitInitialisation)
    }

    /// Updates until the event is over, and leaves event mode.
    ///
    /// # Errors
    /// The FMU's.
    pub fn settle(&self) -> Called<Updated> {
        let mut terminate = false;
        for _ in 0..ROUNDS {
            let mut updated = self.update()?;
            terminate |= updated.terminate;
            if !updated.again || terminate {
                self.plain("EnterStepMode", Call::EnterStep)?;
                updated.terminate = terminate;
                return Ok(updated);
            }
        }
        let call = format!("an event of the FMU wants more than {ROUNDS} rounds");
        Err(CallError { call, status: Status::Ok, log: Vec::new() })
    }

    /// Sets texts, one per element.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_texts(&self, name: &str, reference: u32, values: &[String]) -> Called {
        let call = || format!("{} of {name} to {values:?}", self.name("SetString"));
        self.call(call, Call::SetTexts(reference, values.into()), &mut []).map(|_| ())
    }

    /// Sets integers, one per element, exactly.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_whole(&self, name: &str, ty: Type, reference: u32, values: &[i128]) -> Called {
        let call = || format!("{}{ty:?} of {name} to {values:?}", self.name("Set"));
        self.call(call, Call::SetWhole(ty, reference, values.into()), &mut []).map(|_| ())
    }

    /// Sets bytes, a row per element.
    ///
    /// # Errors
    /// The FMU's.
    pub fn write_bytes(&self, name: &str, reference: u32, bytes: &[Vec<u8>]) -> Called {
        let amount = || bytes.iter().map(Vec::len).sum::<usize>();
        let call = || format!("{} of {name} to {} bytes", self.name("SetBinary"), amount());
        self.call(call, Call::SetBytes(reference, bytes.into()), &mut []).map(|_| ())
    }

    /// Reads texts, one per element.
    ///
    /// # Errors
    /// The FMU's.
    pub fn read_texts(&self, name: &str, reference: u32, elements: usize) -> Called<Vec<String>> {
        let call = || format!("{} of {name}", self.name("GetString"));
        match self.call(call, Call::GetTexts(reference, elements), &mut [])? {
            Answer::Texts(texts) if texts.len() == elements => Ok(texts),
            _ => Err(strange(call())),
        }
    }

    /// Reads bytes, a row per element.
    ///
    /// # Errors
    /// The FMU's.
    pub fn read_bytes(&self, name: &str, reference: u32, elements: usize) -> Called<Vec<Vec<u8>>> {
        let call = || format!("{} of {name}", self.name("GetBinary"));
        match self.call(call, Call::GetBytes(reference, elements), &mut [])? {
            Answer::Rows(rows) if rows.len() == elements => Ok(rows),
            _ => Err(strange(call())),
        }
    }

    /// How `unknowns` change when `knowns` change in the direction `seed` (value references of
    /// scalar variables).
    ///
    /// # Errors
    /// The FMU's.
    pub fn directional(&self, unknowns: &[u32], knowns: &[u32], seed: &[f64]) -> Called<Vec<f64>> {
        let mut values = vec![0.0; unknowns.len()];
        self.directional_into(unknowns, knowns, seed, &mut values)?;
        Ok(values)
    }

    /// Saves the state.
    ///
    /// # Errors
    /// The FMU's.
    pub fn save(&self) -> Called<StateHandle> {
        let handle = self.handle();
        self.plain("GetFMUState", Call::Save(handle.id))?;
        Ok(handle)
    }

    /// Saves the state over one that is needed no more.
    ///
    /// # Errors
    /// The FMU's, or when the state is another instance's.
    pub fn save_over(&self, state: &mut StateHandle) -> Called {
        if !Arc::ptr_eq(&self.shared, &state.shared) {
            *state = self.save()?;
            return Ok(());
        }
        self.plain("GetFMUState", Call::Save(state.id))
    }

    /// A number for a state. Freeing what was never saved does nothing.
    fn handle(&self) -> StateHandle {
        let id = self.shared.states.fetch_add(1, Ordering::Relaxed);
        StateHandle { shared: Arc::clone(&self.shared), id }
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
        self.plain("SetFMUState", Call::Restore(state.id))
    }

    /// A state as bytes.
    ///
    /// # Errors
    /// The FMU's.
    pub fn serialise(&self, state: &StateHandle) -> Called<Vec<u8>> {
        let name = || self.name("SerializeFMUState");
        match self.call(name, Call::Serialise(state.id), &mut [])? {
            Answer::Bytes(bytes) => Ok(bytes),
            _ => Err(strange(name())),
        }
    }

    /// A state from bytes.
    ///
    /// # Errors
    /// The FMU's.
    pub fn deserialise(&self, bytes: &[u8]) -> Called<StateHandle> {
        let handle = self.handle();
        self.plain("DeserializeFMUState", Call::Deserialise(handle.id, bytes.into()))?;
        Ok(handle)
    }

    /// One round of an event.
    ///
    /// # Errors
    /// The FMU's.
    pub fn update(&self) -> Called<Updated> {
        let name = || self.name("UpdateDiscreteStates");
        match self.call(name, Call::Update, &mut [])? {
            Answer::Updated(updated) => Ok(updated),
            _ => Err(strange(name())),
        }
    }

    /// The event mode begins.
    ///
    /// # Errors
    /// The FMU's.
    pub fn enter_event(&self) -> Called {
        self.plain("EnterEventMode", Call::EnterEvent)
    }

    /// The continuous-time mode begins.
    ///
    /// # Errors
    /// The FMU's.
    pub fn enter_continuous(&self) -> Called {
        self.plain("EnterContinuousTimeMode", Call::EnterContinuous)
    }

    /// Tells that a step was accepted.
    ///
    /// # Errors
    /// The FMU's.
    pub fn completed(&self) -> Called<Completed> {
        let name = || self.name("CompletedIntegratorStep");
        match self.call(name, Call::Completed, &mut [])? {
            Answer::Completed(completed) => Ok(completed),
            _ => Err(strange(name())),
        }
    }

    /// Numbers of states and of indicators, if the FMU can tell.
    pub fn sizes(&self) -> Option<(usize, usize)> {
        match self.shared.seat.lock().ok()?.carrier.carry(Call::Sizes, &mut []) {
            (Status::Ok, Answer::Sizes(states, indicators)) => Some((states, indicators)),
            _ => None,
        }
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
        let name =
            || format!("{} of {unknowns:?} by {knowns:?}", self.name("GetDirectionalDerivative"));
        let (unknowns, knowns, seed) = (unknowns.into(), knowns.into(), seed.into());
        self.call(name, Call::Directional { unknowns, knowns, seed }, values).map(|_| ())
    }

    /// Derivatives of the sum of `unknowns`, weighted with `seed`, by each of `knowns`, into `values`.
    ///
    /// # Errors
    /// The FMU's.
    pub fn adjoint_into(
        &self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        values: &mut [f64],
    ) -> Called {
        let name =
            || format!("{} of {unknowns:?} by {knowns:?}", self.name("GetAdjointDerivative"));
        let (unknowns, knowns, seed) = (unknowns.into(), knowns.into(), seed.into());
        self.call(name, Call::Adjoint { unknowns, knowns, seed }, values).map(|_| ())
    }

    /// The configuration mode begins, or ends.
    ///
    /// # Errors
    /// The FMU's.
    pub fn configure(&self, begin: bool) -> Called {
        let name = if begin { "EnterConfigurationMode" } else { "ExitConfigurationMode" };
        self.plain(name, Call::Configure(begin))
    }
}

/// A worker that answers with something else than was asked for.
pub(super) fn strange(call: String) -> CallError {
    let log = vec!["the worker gave another answer than that of this call".to_owned()];
    CallError { call, status: Status::Lost, log }
}
