//! .

pub mod expr;
