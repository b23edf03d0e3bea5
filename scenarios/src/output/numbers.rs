//! Numbers in tables: the shortest decimals that read back exactly.
use std::{collections::HashMap, fmt::Write};
use superdense_models::signal::value::Value;

/// Appends a real number. Very large and very small ones get an exponent.
///
/// ```
/// let mut text = String::new();
/// superdense::output::numbers::real(&mut text, 0.1 + 0.2);
/// assert_eq!(text, "0.30000000000000004");
/// ```
pub fn real(text: &mut String, x: f64) {
    let size = x.abs();
    let exponent = size.is_finite() && size != 0.0 && !(1e-6..1e17).contains(&size);
    // Writing to a String cannot fail.
    let _ = if exponent { write!(text, "{x:e}") } else { write!(text, "{x}") };
}

/// Names of the units that create jobs, by what jobs say of their source.
pub type JobSources = HashMap<u64, String>;

/// Appends a value `e` seconds after it was sent; nothing for a value without content.
pub fn value(text: &mut String, value: &Value, e: f64, sources: &JobSources) {
    let _ = match value {
        Value::Segment(s) => match s.as_whole() {
            Some(whole) => write!(text, "{whole}"),
            None => return real(text, s.value(e)),
        },
        Value::Real(x) => return real(text, *x),
        Value::Bool(b) => write!(text, "{}", u8::from(*b)),
        Value::Int(i) => write!(text, "{i}"),
        Value::Text(t) => write!(text, "{}", super::csv::field(t)),
        Value::Job(job) => {
            let source = sources.get(&job.source).map_or("", String::as_str);
            write!(text, "{source}/{}", job.id)
        }
        Value::Packet(p) => write!(text, "{}/{}", p.source, p.id),
        Value::Unit | Value::Link(_) => Ok(()),
    };
}

/// The number that a value stands for `e` seconds after it was sent.
pub fn number(value: &Value, e: f64) -> Option<f64> {
    match value {
        Value::Segment(s) => Some(s.value(e)),
        other => other.as_real(),
    }
}

/// The derivatives of a value at the time it was sent, from the first on.
pub fn derivatives_of(value: &Value) -> impl Iterator<Item = f64> {
    let coefficients = match value {
        Value::Segment(s) => s.coefficients(),
        _ => &[],
    };
    let mut factorial = 1.0;
    coefficients.iter().enumerate().skip(1).map(move |(k, c)| {
        factorial *= k as f64;
        c * factorial
    })
}

/// Appends the derivatives of a value at the time it was sent, separated by spaces.
pub fn derivatives(text: &mut String, value: &Value) {
    for (k, x) in derivatives_of(value).enumerate() {
        if k > 0 {
            text.push(' ');
        }
        real(text, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superdense_models::signal::value::{Flag, Segment};

    #[test]
    fn decimals_read_back() {
        for x in [0.1, 1e300, -2.5e-9, 123456.789, 0.0, 1.0 / 3.0, f64::MAX, 5e-324, 1e16, 20.0] {
            let mut text = String::new();
            real(&mut text, x);
            assert_eq!(text.parse::<f64>().unwrap(), x, "{text}");
            assert!(text.len() < 26, "{text}");
        }
    }

    #[test]
    fn derivatives_are_not_coefficients() {
        let mut text = String::new();
        let segment = Segment::new(&[1.0, 2.0, 3.0, 4.0], Flag::Jump, 0.0);
        derivatives(&mut text, &Value::Segment(segment));
        assert_eq!(text, "2 6 24");
    }
}
