//! Mathematics without time or units: expressions, tables, polynomials, quantities, random numbers,
//! rounding, sparse matrices.
pub mod expr;
pub mod lookup;
pub mod poly;
pub mod quantity;
pub mod random;
pub mod rounding;
pub mod sparse;
