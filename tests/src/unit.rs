//! Machines as atomic models of the kernel.
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Child, Coupled, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// A machine as an atomic model; also notes the elapsed time of every external transition.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Unit<T: Machine> {
    /// The state machine.
    pub machine: T,
    /// Elapsed ticks of the external transitions so far.
    pub elapsed: Vec<i64>,
}

impl<T: Machine> Unit<T> {
    /// Wraps a machine.
    pub fn new(machine: T) -> Self {
        Self { machine, elapsed: Vec::new() }
    }
}

/// Input port `n` of the model that it is asked for.
pub const fn input<A>(n: u16) -> InPort<i64, A> {
    InPort::new(n)
}

/// Input port `n` of any model.
pub const fn any_input(n: u16) -> InPort<i64> {
    InPort::new(n)
}

/// Output port `n` of the model that it is asked for.
pub const fn output<A>(n: u16) -> OutPort<i64, A> {
    OutPort::new(n)
}

/// Adds a machine as a child.
pub fn add(c: &mut Coupled<i64>, name: &'static str, machine: impl Machine) -> Child {
    c.add(name, Unit::new(machine)).any()
}

/// Couples an output port of one child with an input port of another.
pub fn wire(c: &mut Coupled<i64>, from: (Child, u16), to: (Child, u16)) {
    c.couple(from.0.output(output(from.1)), to.0.input(input(to.1)));
}

/// Couples children in a row, port 0 to port 0.
pub fn chain(c: &mut Coupled<i64>, row: &[Child]) {
    for pair in row.windows(2) {
        wire(c, (pair[0], 0), (pair[1], 0));
    }
}

fn plain(bag: &Bag<'_, i64>) -> Vec<(u16, i64)> {
    bag.iter().map(|(port, &value)| (port, value)).collect()
}

impl<T: Machine> Atomic<i64> for Unit<T> {
    fn inputs(&self) -> u16 {
        T::INPUTS
    }
    fn outputs(&self) -> u16 {
        T::OUTPUTS
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.machine.advance())
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        for (port, value) in self.machine.output() {
            out.send(output::<Self>(port), value);
        }
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        self.machine.internal();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, _: &mut Effects<i64>) {
        self.elapsed.push(elapsed.ticks());
        self.machine.external(elapsed.ticks(), &plain(bag));
    }
    fn confluent(&mut self, bag: &Bag<'_, i64>, _: &mut Effects<i64>) {
        self.machine.confluent(&plain(bag));
    }
}
