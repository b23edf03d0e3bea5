//! `superdense._native`: what the Python package needs of the program. The classes that people use are in
//! `adapters/python/superdense`; here are functions on plain values.
mod errors;
mod runs;
mod studies;
mod tables;
mod wait;

use pyo3::prelude::*;

/// Functions behind the package `superdense`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(runs::plan, m)?)?;
    m.add_function(wrap_pyfunction!(runs::run, m)?)?;
    m.add_function(wrap_pyfunction!(runs::write, m)?)?;
    m.add_function(wrap_pyfunction!(runs::compare, m)?)?;
    m.add_function(wrap_pyfunction!(runs::report, m)?)?;
    m.add_function(wrap_pyfunction!(tables::read, m)?)?;
    m.add_function(wrap_pyfunction!(studies::study, m)?)?;
    m.add_function(wrap_pyfunction!(studies::one, m)?)?;
    m.add_function(wrap_pyfunction!(studies::known, m)?)?;
    m.add_function(wrap_pyfunction!(studies::keep, m)?)?;
    Ok(())
}
