//! Remarks of units on what users may not expect. They tell, and decide nothing.
mod chattering;
mod cuts;
mod failures;
mod late;
mod linearised;
mod renewed;
mod rested;
mod standing;
