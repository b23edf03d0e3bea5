//! A federate, and what it has registered.
use super::{
    find::Library,
    table::{Error, Fault, Name, Raw},
};
use crate::federation::data::Type;
use std::ffi::{CStr, CString, c_int};

/// `HELICS_PROPERTY_TIME_DELTA`.
const TIME_DELTA: c_int = 137;
/// `HELICS_PROPERTY_INT_LOG_LEVEL`, and no printing.
const LOG_LEVEL: c_int = 271;
const SILENT: c_int = -4;
/// `HELICS_FLAG_WAIT_FOR_CURRENT_TIME_UPDATE`.
const WAIT_FOR_CURRENT: c_int = 10;
/// `HELICS_FLAG_TERMINATE_ON_ERROR`.
const TERMINATE_ON_ERROR: c_int = 72;

/// One nanosecond in seconds.
const NANO: f64 = 1e-9;

/// A call that libhelics refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HELICS says: {message} (code {code})")]
pub struct Trouble {
    /// Its code.
    pub code: i32,
    /// Its words.
    pub message: String,
}

/// How a federate joins.
#[derive(Debug, Clone)]
pub struct Joining {
    /// Its name.
    pub name: String,
    /// The type of its core.
    pub core: String,
    /// Options of the core.
    pub options: String,
    /// It is granted a time after its sources have passed it.
    pub last: bool,
}

/// A message that came to an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The endpoint that sent it.
    pub source: String,
    /// When, in seconds.
    pub time: f64,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A federate with its interfaces, each known by its number.
pub struct Held {
    pub(super) loaded: Library,
    federate: Option<Raw>,
    broker: Option<Raw>,
    pub(super) publications: Vec<Raw>,
    pub(super) inputs: Vec<Raw>,
    endpoints: Vec<Raw>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a federate by {:?}", self.loaded)
    }
}

/// Calls a function with an error as its last argument.
pub(super) fn tried<T>(call: impl FnOnce(Fault) -> T) -> Result<T, Trouble> {
    let mut error = Error { code: 0, message: c"".as_ptr() };
    let value = call(&raw mut error);
    if error.code == 0 {
        return Ok(value);
    }
    let message = text(error.message);
    Err(Trouble { code: error.code, message: message.trim_start_matches("[-1] ").to_owned() })
}

/// A text of the library.
pub(super) fn text(from: Name) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: the library gives texts that end with a zero and live until its next call, which is made after
    // this copy.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

/// A text for the library; what follows a zero is left out.
pub(super) fn c(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

impl Held {
    /// Nothing yet.
    pub fn new(loaded: Library) -> Self {
        let (publications, inputs, endpoints) = (Vec::new(), Vec::new(), Vec::new());
        Self { loaded, federate: None, broker: None, publications, inputs, endpoints }
    }

    /// Whether cores of a type can be made.
    pub fn has_core(&self, core: &str) -> bool {
        let name = c(core);
        // SAFETY: the text lives during the call.
        unsafe { (self.loaded.functions.core_available)(name.as_ptr()) != 0 }
    }

    /// Starts a broker in this process.
    ///
    /// # Errors
    /// When HELICS cannot start it.
    pub fn start_broker(&mut self, core: &str, options: &str) -> Result<(), Trouble> {
        let f = &self.loaded.functions;
        let (core, name, options) = (c(core), c(""), c(options));
        // SAFETY: the texts live during the call.
        let broker =
            tried(|e| unsafe { (f.broker)(core.as_ptr(), name.as_ptr(), options.as_ptr(), e) })?;
        // SAFETY: the broker was just made.
        let connected = unsafe { (f.broker_connected)(broker) } != 0;
        self.broker = Some(broker);
        let refused = || Trouble { code: -2, message: "the broker does not listen".into() };
        connected.then_some(()).ok_or_else(refused)
    }

    /// Makes the federate, which connects to its broker.
    ///
    /// # Errors
    /// When HELICS refuses; it may take long.
    pub fn join(&mut self, joining: &Joining) -> Result<(), Trouble> {
        let f = &self.loaded.functions;
        let (name, core, options) = (c(&joining.name), c(&joining.core), c(&joining.options));
        // SAFETY: the texts and the info live during the calls; the info is freed once, after the last of them.
        let made = unsafe {
            let info = (f.info)();
            let set = || {
                tried(|e| (f.info_core)(info, core.as_ptr(), e))?;
                tried(|e| (f.info_init)(info, options.as_ptr(), e))?;
                tried(|e| (f.info_time)(info, TIME_DELTA, NANO, e))?;
                tried(|e| (f.info_number)(info, LOG_LEVEL, SILENT, e))?;
                tried(|e| (f.info_flag)(info, TERMINATE_ON_ERROR, 1, e))?;
                if joining.last {
                    tried(|e| (f.info_flag)(info, WAIT_FOR_CURRENT, 1, e))?;
                }
                tried(|e| (f.federate)(name.as_ptr(), info, e))
            };
            let made = set();
            (f.info_free)(info);
            made
        };
        self.federate = Some(made?);
        Ok(())
    }

    pub(super) fn federate(&self) -> Result<Raw, Trouble> {
        let none = || Trouble { code: -3, message: "there is no federate".into() };
        self.federate.ok_or_else(none)
    }

    /// Registers a publication.
    ///
    /// # Errors
    /// When HELICS refuses its name.
    pub fn publication(&mut self, key: &str, ty: Type, unit: &str) -> Result<(), Trouble> {
        let (fed, key, unit, ty) = (self.federate()?, c(key), c(unit), c(ty.name()));
        let f = &self.loaded.functions;
        // SAFETY: the federate is there; the texts live during the call.
        let made = tried(|e| unsafe {
            (f.publication)(fed, key.as_ptr(), ty.as_ptr(), unit.as_ptr(), e)
        })?;
        self.publications.push(made);
        Ok(())
    }

    /// Registers an input, and where it hears from.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn input(&mut self, key: &str, ty: Type, unit: &str, from: &str) -> Result<(), Trouble> {
        let (fed, key, unit) = (self.federate()?, c(key), c(unit));
        let (from, ty) = (c(from), c(ty.name()));
        let f = &self.loaded.functions;
        // SAFETY: federate and input are there; the texts live during the calls.
        let made = unsafe {
            let made = tried(|e| (f.input)(fed, key.as_ptr(), ty.as_ptr(), unit.as_ptr(), e))?;
            tried(|e| (f.target)(made, from.as_ptr(), e))?;
            made
        };
        self.inputs.push(made);
        Ok(())
    }

    /// Registers an endpoint that sends to others, hears from them, or both.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn endpoint(
        &mut self,
        name: &str,
        peers: &[String],
        ways: (bool, bool),
    ) -> Result<(), Trouble> {
        let (fed, name, ty) = (self.federate()?, c(name), c(""));
        let peers: Vec<CString> = peers.iter().map(|peer| c(peer)).collect();
        let f = &self.loaded.functions;
        // SAFETY: federate and endpoint are there; the texts live during the calls.
        let made = unsafe {
            let made = tried(|e| (f.endpoint)(fed, name.as_ptr(), ty.as_ptr(), e))?;
            for peer in &peers {
                if ways.0 {
                    tried(|e| (f.destination)(made, peer.as_ptr(), e))?;
                }
                if ways.1 {
                    tried(|e| (f.source)(made, peer.as_ptr(), e))?;
                }
            }
            made
        };
        self.endpoints.push(made);
        Ok(())
    }

    /// Makes time wait for another federate.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn depend(&mut self, federate: &str) -> Result<(), Trouble> {
        let (fed, name) = (self.federate()?, c(federate));
        // SAFETY: the federate is there; the text lives during the call.
        tried(|e| unsafe { (self.loaded.functions.depend)(fed, name.as_ptr(), e) })
    }

    /// Waits for all federates to have registered what they have.
    ///
    /// # Errors
    /// When HELICS refuses; it may take long.
    pub fn enter_initializing(&mut self) -> Result<(), Trouble> {
        let fed = self.federate()?;
        // SAFETY: the federate is there.
        tried(|e| unsafe { (self.loaded.functions.enter_initializing)(fed, e) })
    }

    /// Waits for all federates to be ready; then it is time 0.
    ///
    /// # Errors
    /// As [`enter_initializing`](Self::enter_initializing).
    pub fn enter_executing(&mut self) -> Result<(), Trouble> {
        let fed = self.federate()?;
        // SAFETY: the federate is there.
        tried(|e| unsafe { (self.loaded.functions.enter_executing)(fed, e) })
    }

    /// Asks for a time in seconds, and gives the one that is granted.
    ///
    /// # Errors
    /// When a federate is lost, or HELICS refuses; it may take long.
    pub fn request(&mut self, seconds: f64) -> Result<f64, Trouble> {
        let fed = self.federate()?;
        // SAFETY: the federate is there.
        tried(|e| unsafe { (self.loaded.functions.request)(fed, seconds, e) })
    }

    /// Sends bytes from an endpoint.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn send(&mut self, endpoint: usize, bytes: &[u8], seconds: f64) -> Result<(), Trouble> {
        let (endpoint, length) = (self.endpoints[endpoint], length(bytes.len())?);
        let f = &self.loaded.functions;
        // SAFETY: the endpoint is there; the bytes have this length and live during the call.
        tried(|e| unsafe { (f.send)(endpoint, bytes.as_ptr().cast(), length, seconds, e) })
    }

    /// The messages that wait at an endpoint.
    ///
    /// # Errors
    /// When HELICS cannot give one.
    pub fn messages(&mut self, endpoint: usize) -> Result<Vec<Message>, Trouble> {
        let (endpoint, f) = (self.endpoints[endpoint], &self.loaded.functions);
        let mut all = Vec::new();
        // SAFETY: the endpoint is there; each message is read into a buffer of its own length, and freed once.
        unsafe {
            while (f.has_message)(endpoint) != 0 {
                let message = (f.message)(endpoint);
                let size = (f.message_size)(message).max(0);
                let (mut bytes, mut got) = (vec![0u8; size as usize], 0);
                let read = tried(|e| {
                    (f.message_bytes)(message, bytes.as_mut_ptr().cast(), size, &raw mut got, e);
                });
                let (source, time) = (text((f.message_source)(message)), (f.message_time)(message));
                (f.message_free)(message);
                read?;
                bytes.truncate(got.max(0) as usize);
                all.push(Message { source, time, bytes });
            }
        }
        Ok(all)
    }

    /// Asks the federation something; the answer is JSON.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn query(&mut self, target: &str, question: &str) -> Result<String, Trouble> {
        let (fed, target, question) = (self.federate()?, c(target), c(question));
        let f = &self.loaded.functions;
        // SAFETY: federate and query are there; the answer is copied before the query is freed, once.
        unsafe {
            let query = (f.query)(target.as_ptr(), question.as_ptr());
            let answer = tried(|e| text((f.ask)(query, fed, e)));
            (f.query_free)(query);
            answer
        }
    }

    /// Tells the others something about this federate.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn tag(&mut self, name: &str, value: &str) -> Result<(), Trouble> {
        let (fed, name, value) = (self.federate()?, c(name), c(value));
        let f = &self.loaded.functions;
        // SAFETY: the federate is there; the texts live during the call.
        tried(|e| unsafe { (f.tag)(fed, name.as_ptr(), value.as_ptr(), e) })
    }

    /// Tells the others that this federate failed.
    pub fn fail(&mut self, why: &str) {
        let (Ok(fed), why) = (self.federate(), c(why)) else { return };
        // SAFETY: the federate is there; the text lives during the call.
        let _ = tried(|e| unsafe { (self.loaded.functions.local_error)(fed, 1, why.as_ptr(), e) });
    }

    /// Leaves the federation.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn leave(&mut self) -> Result<(), Trouble> {
        let Some(fed) = self.federate.take() else { return Ok(()) };
        // SAFETY: the federate is there; nobody uses its handles any more.
        tried(|e| unsafe { (self.loaded.functions.disconnect)(fed, e) })
    }

    /// Ends the broker, if it is ours.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn end_broker(&mut self) -> Result<(), Trouble> {
        let Some(broker) = self.broker.take() else { return Ok(()) };
        // SAFETY: the broker is there, and is not used any more.
        tried(|e| unsafe { (self.loaded.functions.broker_disconnect)(broker, e) })
    }

    /// Ends all that the library has running.
    pub fn close(&mut self) {
        // SAFETY: nobody has a handle any more.
        unsafe { (self.loaded.functions.close)() }
    }
}

/// A length for the library.
pub(super) fn length(of: usize) -> Result<c_int, Trouble> {
    let long = |_| Trouble { code: -4, message: format!("{of} values are too many for HELICS") };
    c_int::try_from(of).map_err(long)
}
