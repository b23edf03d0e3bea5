//! State machines for tests, free of any simulator.
use serde::{Serialize, de::DeserializeOwned};

/// A message on a port.
pub type On = (u16, i64);

/// A Parallel-DEVS atomic model in plain integers.
pub trait Machine: Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send + 'static {
    /// Number of input ports.
    const INPUTS: u16 = 1;
    /// Number of output ports.
    const OUTPUTS: u16 = 1;
    /// Time advance in ticks; `NEVER` when passive.
    fn advance(&self) -> i64;
    /// Outputs, from the state before the transition.
    fn output(&self) -> Vec<On> {
        Vec::new()
    }
    /// Internal transition.
    fn internal(&mut self) {}
    /// External transition.
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        let _ = (elapsed, bag);
    }
    /// Confluent transition.
    fn confluent(&mut self, bag: &[On]) {
        self.internal();
        self.external(0, bag);
    }
}
