//! The binary inside of FMUs that Superdense exports: a scenario among the resources, stepped by whoever has the FMU.
//!
//! [`instance`] is one FMU in use, without a thought of C; `abi` has the functions of FMI 2.0 and 3.0 over it, and all
//! code that is unsafe. One binary has both sets of functions, whose names differ.
#[allow(unsafe_code, reason = "functions that C calls")]
mod abi;
pub mod instance;
