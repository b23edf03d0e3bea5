//! Continuous units as atomic models: a system of equations under a method, wrapped in events.
mod algebraic;
mod atomic;
mod chatter;
mod cuts;
mod decide;
mod falling;
mod left;
mod links;
mod plan;
mod readers;
mod relations;
mod remarks;
mod saved;
mod wrapper;

pub use saved::SavedUnit;
pub use wrapper::Unit;

#[cfg(test)]
mod tests;
