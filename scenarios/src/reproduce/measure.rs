//! Numbers from the results of runs.
use super::{
    results::Results,
    table::{Comparison, Measure, Norm},
};

/// Measures one run, where needed against another one.
///
/// # Errors
/// When something that is asked for is not there.
pub(super) fn measure(
    what: &Measure,
    run: &Results,
    other: Option<&Results>,
) -> Result<Vec<f64>, String> {
    let against = || other.ok_or("there is nothing to compare with".to_owned());
    let each = |columns: &[String], f: &dyn Fn(&[f64]) -> f64| {
        columns.iter().map(|c| Ok(f(run.column(c)?))).collect::<Result<Vec<_>, String>>()
    };
    match what {
        Measure::End(columns) => each(columns, &|c| c.last().copied().unwrap_or(f64::NAN)),
        Measure::Max(columns) => each(columns, &|c| c.iter().copied().fold(f64::NAN, f64::max)),
        Measure::Values { of, nth } => {
            let mut values = run.column(of)?.to_vec();
            values.dedup();
            Ok(pick(&values, nth))
        }
        Measure::Times { event, nth } => {
            let named = run.events.iter().filter(|e| e.1 == *event);
            Ok(pick(&named.map(|e| e.0).collect::<Vec<_>>(), nth))
        }
        Measure::Count { event, between } => {
            let (from, to) = between.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            let counts = |e: &&(f64, String)| {
                event.as_ref().is_none_or(|n| e.1 == *n) && (from..=to).contains(&e.0)
            };
            Ok(vec![run.events.iter().filter(counts).count() as f64])
        }
        Measure::Lag { .. } => Ok(vec![lag(run, against()?)]),
        Measure::Errors(c) => {
            let errors = errors(c, run, against()?)?;
            Ok(errors.into_iter().map(|e| e.into_iter().fold(0.0, larger)).collect())
        }
        Measure::Worst(c) => {
            let norms = norms(c, run, against()?)?;
            Ok(vec![norms.into_iter().fold(0.0, larger)])
        }
        Measure::Rms(c) => {
            let norms = norms(c, run, against()?)?;
            let squares: f64 = norms.iter().map(|e| e * e).sum();
            Ok(vec![(squares / norms.len() as f64).sqrt()])
        }
        Measure::Facts(names) => names.iter().map(|n| run.fact(n)).collect(),
        Measure::Results(names) => names.iter().map(|n| run.result(n)).collect(),
        Measure::Formula(_) | Measure::Radius { .. } => Err("this is of no run".to_owned()),
    }
}

/// The larger one; NaN stays.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

fn pick(values: &[f64], nth: &[usize]) -> Vec<f64> {
    let get = |n: &usize| n.checked_sub(1).and_then(|k| values.get(k)).copied();
    nth.iter().map(|n| get(n).unwrap_or(f64::NAN)).collect()
}

/// Infinite unless the events are the same in the same order.
fn lag(run: &Results, other: &Results) -> f64 {
    let names = |r: &Results| r.events.iter().map(|e| e.1.clone()).collect::<Vec<_>>();
    if names(run) != names(other) {
        return f64::INFINITY;
    }
    let pairs = run.events.iter().zip(&other.events);
    pairs.map(|(a, b)| (a.0 - b.0).abs()).fold(0.0, f64::max)
}

/// Absolute errors of each column at each instant.
fn errors(c: &Comparison, run: &Results, other: &Results) -> Result<Vec<Vec<f64>>, String> {
    if run.times != other.times {
        return Err(format!("there are {} and {} samples", run.times.len(), other.times.len()));
    }
    c.pairs()
        .map(|(of, to)| {
            let (ours, theirs) = (run.column(of)?, other.column(to)?);
            Ok(ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).collect())
        })
        .collect()
}

/// The norm of the errors of all columns at each instant.
pub(super) fn norms(c: &Comparison, run: &Results, other: &Results) -> Result<Vec<f64>, String> {
    let errors = errors(c, run, other)?;
    let at = |k: usize| {
        let each = errors.iter().map(|e| e[k]);
        match c.norm.unwrap_or(Norm::Sum) {
            Norm::Sum => each.sum(),
            Norm::Max => each.fold(0.0, larger),
            Norm::Euclid => each.map(|e| e * e).sum::<f64>().sqrt(),
        }
    };
    Ok((0..run.times.len()).map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(events: &[(f64, &str)]) -> Results {
        let mut results = Results::default();
        results.events.extend(events.iter().map(|(t, n)| (*t, (*n).to_owned())));
        results
    }

    #[test]
    fn a_lag_is_of_the_same_events() {
        let a = results(&[(1.0, "hit"), (2.0, "stop")]);
        assert_eq!(lag(&a, &results(&[(1.25, "hit"), (2.0, "stop")])), 0.25);
        assert_eq!(lag(&a, &results(&[(1.0, "hit")])), f64::INFINITY);
        assert_eq!(lag(&a, &results(&[(1.0, "stop"), (2.0, "hit")])), f64::INFINITY);
    }

    #[test]
    fn what_is_missing_is_no_number() {
        assert_eq!(pick(&[3.0, 4.0], &[2]), [4.0]);
        assert!(pick(&[3.0], &[2])[0].is_nan() && pick(&[3.0], &[0])[0].is_nan());
        assert!(larger(f64::NAN, 1.0).is_nan() && larger(1.0, f64::NAN).is_nan());
    }
}
