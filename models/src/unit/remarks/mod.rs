//! Remarks of units on what users may not expect. They tell, and decide nothing.
mod late;
mod linearised;
mod renewed;
mod standing;
