//! Systems of equations and the methods that solve them, with their events, outside of the kernel.
pub(crate) mod any;
pub(crate) mod bounded;
pub(crate) mod consistent;
pub mod core;
pub(crate) mod dual;
pub mod equations;
mod expander;
pub(crate) mod failures;
pub(crate) mod guards;
mod linear;
pub(crate) mod notes;
pub mod ode;
pub(crate) mod progress;
pub mod qss;
mod roundings;
pub mod series;
mod settings;
mod speed;
mod stepped;
pub(crate) mod tendency;
mod watch;

pub use equations::{
    Detection, Dims, Equations, EventSpec, LinkEquations, Programs, Relation, Rest, Role, Sliding,
    Trigger, Truth,
};
pub use expander::MAX_SEGMENT_ORDER;
pub(crate) use failures::ALGEBRAIC;
pub use failures::{AlgebraicError, MethodError, UnitError};
pub use roundings::roundings;
pub(crate) use roundings::snap;
pub use settings::Settings;
pub(crate) use stepped::Prepared;
pub use stepped::{Stepped, SteppedState};
