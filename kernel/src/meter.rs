//! Measuring where a run spends its time.
//!
//! **Why a trait.** The kernel reads no clock. Whoever wants timings gives the run a meter; it is
//! told which kind of model works, and has no way to change anything.

/// Is told when models of a kind begin and cease to work.
pub trait Meter: Send {
    /// Models of kind number `kind` begin ([`crate::Simulation::kind_of`]): outputs, transitions
    /// or silent steps of neighbours in path order.
    fn enter(&mut self, kind: u16);
    /// They are through.
    fn leave(&mut self, kind: u16);
    /// A meter for one worker of a parallel run, which works on any thread; without one its work is
    /// not measured.
    fn fork(&self) -> Option<Box<dyn Meter>> {
        None
    }
}
