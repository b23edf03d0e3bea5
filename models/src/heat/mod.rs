//! Heat in a body whose cross-section is the conformal image of a square (Holzinger, SNE 31(1) 2021, pp. 1-8).
//!
//! | file | content |
//! | --- | --- |
//! | `lemniscate.rs` | the map h of the square onto the disk, in closed form |
//! | `boundary.rs` | rho over theta, by a formula or by points |
//! | `conformal.rs`, `fourier.rs` | the map g of the disk onto the cross-section, and both together |
//! | `mesh.rs` | finite volumes on the image of a graded grid |
//! | `march.rs` | steps in time |
//! | `sketch.rs` | pictures of the map |
//! | `unit.rs`, `kind.rs` | the body as an atomic model; its parameters |
mod boundary;
mod complex;
mod conformal;
mod fourier;
mod kind;
mod lemniscate;
mod march;
mod mesh;
mod sketch;
mod unit;

pub use kind::HeatConformal;
pub use sketch::{Plane, Sketch};
