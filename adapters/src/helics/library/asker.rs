//! Questions beside a call that waits.
use super::{
    held::{Held, Trouble, c, text, tried},
    table::{Fault, Name, Raw},
};

/// A way to the core of a federate for questions, on a thread of its own. The core has its own threads, which answer
/// while the federate waits for a time.
pub struct Asker {
    core: Raw,
    query: unsafe extern "C" fn(Name, Name) -> Raw,
    ask: unsafe extern "C" fn(Raw, Raw, Fault) -> Name,
    query_free: unsafe extern "C" fn(Raw),
    core_free: unsafe extern "C" fn(Raw),
}

// SAFETY: the handle of a core counts references to it behind locks, and queries of a core may be made by any thread; no
// other thread has this handle.
unsafe impl Send for Asker {}

impl Held {
    /// A way to ask while this federate waits.
    ///
    /// # Errors
    /// When there is no federate.
    pub fn asker(&self) -> Result<Asker, Trouble> {
        let (fed, f) = (self.federate()?, &self.loaded.functions);
        // SAFETY: the federate is there.
        let core = tried(|e| unsafe { (f.core)(fed, e) })?;
        let (query, ask, query_free) = (f.query, f.core_ask, f.query_free);
        Ok(Asker { core, query, ask, query_free, core_free: f.core_free })
    }
}

impl Asker {
    /// Asks the federation something; the answer is JSON. It may take long where somebody gives none.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn ask(&self, target: &str, question: &str) -> Result<String, Trouble> {
        let (target, question) = (c(target), c(question));
        // SAFETY: core and query are there; the answer is copied before the query is freed, once.
        unsafe {
            let query = (self.query)(target.as_ptr(), question.as_ptr());
            let answer = tried(|e| text((self.ask)(query, self.core, e)));
            (self.query_free)(query);
            answer
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and is not used any more.
        unsafe { (self.core_free)(self.core) }
    }
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a way to ask")
    }
}
