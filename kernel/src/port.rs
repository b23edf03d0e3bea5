//! Typed port numbers. A model lists its ports as constants; wiring compares their types.
use std::{fmt, marker::PhantomData};

macro_rules! port {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            index: u16,
            carries: PhantomData<fn(T) -> T>,
        }
        impl<T> $name<T> {
            /// Port number `index` of its model, counted from 0.
            pub const fn new(index: u16) -> Self {
                Self { index, carries: PhantomData }
            }
            /// The port number.
            pub const fn index(self) -> u16 {
                self.index
            }
        }
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index)
            }
        }
    };
}

port! {
    /// An input port that receives values of type `T`.
    ///
    /// Wiring an output of another type to it does not compile:
    /// ```compile_fail
    /// use superdense_kernel::{Coupled, port::{InPort, OutPort}};
    /// fn wire(c: &mut Coupled<f64>, a: superdense_kernel::Child, b: superdense_kernel::Child) {
    ///     c.couple(a.output(OutPort::<f64>::new(0)), b.input(InPort::<String>::new(0)));
    /// }
    /// ```
    InPort
}
port! {
    /// An output port that sends values of type `T`.
    OutPort
}
