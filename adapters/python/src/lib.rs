//! `superdense._native`: what the Python package needs of the program. The classes that people use are in
//! `adapters/python/superdense`; here are functions on plain values.
mod errors;
mod runs;
mod studies;
mod tables;
mod wait;

use pyo3::prelude::*;
use superdense::fmu_worker;

/// A worker process of an FMU is this interpreter, which calls this.
#[pyfunction(name = "fmu_worker")]
fn serve() {
    fmu_worker::serve();
}

/// Says how such a process is started.
fn announce_workers(py: Python<'_>) -> PyResult<()> {
    let program: Option<std::path::PathBuf> = py.import("sys")?.getattr("executable")?.extract()?;
    if let Some(program) = program {
        let code = "from superdense import _native; _native.fmu_worker()";
        fmu_worker::set_program(program, vec!["-c".to_owned(), code.to_owned()]);
    }
    Ok(())
}

/// Functions behind the package `superdense`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    announce_workers(m.py())?;
    m.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(serve, m)?)?;
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
