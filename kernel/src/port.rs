//! Typed port numbers. A model lists its ports as constants; wiring compares what they carry and whose they are.
use std::{fmt, marker::PhantomData};

/// Stands for any model in the type of a port or of a child: wiring that is only known during the run, and
/// coupled models, go by numbers. The build refuses numbers that are not there; nobody compares what such ports carry, and a
/// model does not see messages of another type than its port has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Any {}

macro_rules! port {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T, A = Any> {
            index: u16,
            carries: PhantomData<fn(T, A) -> T>,
        }
        impl<T, A> $name<T, A> {
            /// Port number `index` of its model, counted from 0.
            pub const fn new(index: u16) -> Self {
                Self { index, carries: PhantomData }
            }
            /// The port number.
            pub const fn index(self) -> u16 {
                self.index
            }
        }
        impl<T, A> Clone for $name<T, A> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, A> Copy for $name<T, A> {}
        impl<T, A> fmt::Debug for $name<T, A> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index)
            }
        }
    };
}

port! {
    /// An input port of the model `A` that receives values of type `T`.
    ///
    /// Wiring an output of another type to it does not compile:
    /// ```compile_fail,E0308
    /// use superdense_kernel::{Child, Coupled, port::{InPort, OutPort}};
    /// fn wire(c: &mut Coupled<f64>, a: Child, b: Child) {
    ///     c.couple(a.output(OutPort::<f64>::new(0)), b.input(InPort::<String>::new(0)));
    /// }
    /// ```
    InPort
}
port! {
    /// An output port of the model `A` that sends values of type `T`.
    ///
    /// Taking a port of another model does not compile, even where both carry the same:
    /// ```compile_fail,E0308
    /// use superdense_kernel::{Child, Coupled, port::{InPort, OutPort}};
    /// struct Source;
    /// struct Server;
    /// impl Source { const OUT: OutPort<u32, Self> = OutPort::new(0); }
    /// impl Server {
    ///     const IN: InPort<u32, Self> = InPort::new(0);
    ///     const DONE: OutPort<u32, Self> = OutPort::new(0);
    /// }
    /// fn wire(c: &mut Coupled<u32>, source: Child<Source>, server: Child<Server>) {
    ///     c.couple(source.output(Source::OUT), server.input(Server::IN));
    ///     c.couple(source.output(Server::DONE), server.input(Server::IN));
    /// }
    /// ```
    OutPort
}

/// The number of a port, or of how many there are; the last number is no port's, since a model has at most
/// so many.
pub(crate) fn port_number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
