//! Tables as columns: numbers become arrays that take over the vectors, texts become lists.
use crate::errors;
use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};
use superdense::output::csv;

/// Columns that are texts in every table, whatever they look like.
const TEXTS: [&str; 9] =
    ["unit", "event", "kind", "signal", "derivatives", "ask", "status", "trace_hash", "error"];

/// Columns of whole numbers, which may be beyond those that a float has exactly.
const WHOLE: [&str; 2] = ["tick", "micro"];

/// The columns of a table with one header line: numbers where all fields are numbers or empty (not a number), but for
/// those that are `texts`.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    text: &str,
    texts: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    let mut lines = text.lines();
    let heads = lines.next().map(csv::split).unwrap_or_default();
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); heads.len()];
    let is_text = |head: &str| TEXTS.contains(&head) || texts.iter().any(|text| text == head);
    let mut numbers: Vec<Option<Vec<f64>>> =
        heads.iter().map(|head| (!is_text(head)).then(Vec::new)).collect();
    let mut whole: Vec<Option<Vec<i64>>> =
        heads.iter().map(|head| WHOLE.contains(&&**head).then(Vec::new)).collect();
    for line in lines {
        for (k, field) in csv::split(line).into_iter().enumerate().take(heads.len()) {
            if let Some(all) = &mut whole[k] {
                if let Ok(n) = field.parse() {
                    all.push(n);
                    continue;
                }
                numbers[k] = Some(all.iter().map(|n| *n as f64).collect());
                whole[k] = None;
            }
            let number = if field.is_empty() { Ok(f64::NAN) } else { field.parse::<f64>() };
            match (&mut numbers[k], number) {
                (Some(all), Ok(x)) if fields[k].is_empty() => all.push(x),
                (all, _) => {
                    if let Some(before) = all.take() {
                        fields[k].extend(earlier(text, k, before.len()));
                    }
                    fields[k].push(field.into_owned());
                }
            }
        }
    }
    let table = PyDict::new(py);
    for (((head, numbers), fields), whole) in heads.iter().zip(numbers).zip(fields).zip(whole) {
        if let Some(all) = whole {
            table.set_item(&**head, PyArray1::from_vec(py, all))?;
            continue;
        }
        match numbers {
            Some(all) => table.set_item(&**head, PyArray1::from_vec(py, all))?,
            None => table.set_item(&**head, fields)?,
        }
    }
    Ok(table)
}

/// The first fields of a column that had looked like numbers.
fn earlier(text: &str, column: usize, rows: usize) -> Vec<String> {
    let field =
        |line: &str| csv::split(line).get(column).map_or_else(String::new, |f| f.to_string());
    text.lines().skip(1).take(rows).map(field).collect()
}

/// The columns of a CSV file.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    file: std::path::PathBuf,
    texts: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let text = std::fs::read_to_string(&file).map_err(|e| {
        let message = format!("{}: {e}; run it first", file.display());
        errors::other(py, &message)
    })?;
    columns(py, &text, &texts)
}
