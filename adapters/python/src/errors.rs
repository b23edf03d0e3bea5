//! Errors as the exceptions that the package declares.
use pyo3::{prelude::*, types::PyDict};
use superdense::{Diagnostics, run::Failure};

/// A class of `superdense._errors`.
fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("superdense._errors")?.getattr(name)
}

/// An exception of `superdense._errors` with these attributes.
fn raised(py: Python<'_>, class: &str, message: &str, facts: &Bound<'_, PyDict>) -> PyErr {
    let made = class_of(py, class).and_then(|class| class.call((message,), Some(facts)));
    made.map_or_else(|e| e, PyErr::from_value)
}

/// `ScenarioError`, with its mistakes as dictionaries.
pub(crate) fn scenario(py: Python<'_>, found: &Diagnostics) -> PyErr {
    let all = || {
        let mut mistakes = Vec::new();
        for mistake in found.mistakes() {
            let one = PyDict::new(py);
            let place = found.line(mistake);
            one.set_item("code", mistake.code)?;
            one.set_item("message", &mistake.message)?;
            one.set_item("file", place.map(|(file, _)| file))?;
            one.set_item("line", place.map(|(_, line)| line))?;
            one.set_item("column", found.column(mistake))?;
            one.set_item("help", &mistake.help)?;
            mistakes.push(one);
        }
        let facts = PyDict::new(py);
        facts.set_item("mistakes", mistakes)?;
        Ok(facts)
    };
    match all() {
        Ok(facts) => raised(py, "ScenarioError", found.render(false).trim_end(), &facts),
        Err(e) => e,
    }
}

/// `RunError`, with the unit and the instant where they are known.
pub(crate) fn failure(py: Python<'_>, failure: &Failure) -> PyErr {
    let all = || {
        let facts = PyDict::new(py);
        let (unit, seconds) = failure.place();
        facts.set_item("unit", unit)?;
        facts.set_item("time", seconds)?;
        Ok(facts)
    };
    match all() {
        Ok(facts) => raised(py, "RunError", &failure.to_string(), &facts),
        Err(e) => e,
    }
}

/// A `ScenarioError` of a question that makes no sense.
pub(crate) fn refused(py: Python<'_>, message: &str) -> PyErr {
    raised(py, "ScenarioError", message, &PyDict::new(py))
}

/// Anything else that went wrong, as a `RunError`.
pub(crate) fn other(py: Python<'_>, message: &str) -> PyErr {
    raised(py, "RunError", message, &PyDict::new(py))
}

/// Whether an exception tells of a run or its scenario; all others come from whoever was to do the run.
pub(crate) fn is_of_the_run(py: Python<'_>, e: &PyErr) -> bool {
    let is = |class: &str| class_of(py, class).is_ok_and(|class| e.is_instance(py, &class));
    is("RunError") || is("ScenarioError")
}
