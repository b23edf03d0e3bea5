//! `samples.csv`: right limits of recorded outputs.
use super::{Failure, recorder::Memory};
use crate::{
    output::{
        csv,
        numbers::{self, JobSources},
        table::Table,
    },
    plan::{Aggregate, Plan, Record, Source, UnitInfo},
};
use std::{collections::HashMap, sync::Arc};
use superdense_kernel::{ModelKey, Simulation, time::Resolution};
use superdense_models::{
    kinds::ValueType,
    signal::value::{Job, Value},
};

/// The table of samples.
pub(super) const SAMPLES_FILE: &str = "samples.csv";

/// Recorded outputs: model, port, and label in the trajectory unless they only go into aggregates.
pub(crate) type Signals = Vec<(ModelKey, u16, Option<String>)>;

/// A column of `samples.csv`, over numbers of signals.
#[derive(Debug)]
enum Column {
    Signal(usize),
    Aggregate(Aggregate, Vec<usize>),
}

/// An instant of a run, up to which all cycles ran.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub sim: &'a Simulation<Value>,
    pub signals: &'a Signals,
    pub memory: &'a Memory,
    pub at: i64,
}

/// Writes `samples.csv`.
#[derive(Debug)]
pub(crate) struct Sampler {
    columns: Vec<Column>,
    resolution: Resolution,
    pub(super) sources: Arc<JobSources>,
}

impl Sampler {
    /// The columns for what a plan records, and the signals they need. A path that the model lacks is
    /// returned as the error.
    pub(crate) fn new(sim: &Simulation<Value>, plan: &Plan) -> Result<(Self, Signals), String> {
        let mut signals: Signals = Vec::new();
        let mut first = HashMap::new();
        let mut number = |unit: &str, port: u16, label: Option<&str>| {
            let key = sim.find(unit).ok_or_else(|| unit.to_owned())?;
            let next = signals.len();
            let known = *first.entry((key, port)).or_insert(next);
            if known < next && label.is_none() {
                return Ok::<usize, String>(known);
            }
            signals.push((key, port, label.map(str::to_owned)));
            Ok(next)
        };
        let mut columns = Vec::new();
        for record in &plan.record {
            columns.push(match &record.source {
                Source::Port { unit, port } => {
                    Column::Signal(number(unit, *port, Some(&record.label))?)
                }
                Source::Aggregate { how, members } => {
                    let all = members.iter().map(|(unit, port)| number(unit, *port, None));
                    Column::Aggregate(*how, all.collect::<Result<_, _>>()?)
                }
            });
        }
        let sends = |unit: &&UnitInfo| unit.ports.outputs.iter().any(|p| p.ty == ValueType::Job);
        let source = |unit: &UnitInfo| (Job::source_of(&unit.path), unit.path.replace('/', "."));
        let sources = Arc::new(plan.units.iter().filter(sends).map(source).collect());
        Ok((Self { columns, resolution: sim.resolution(), sources }, signals))
    }

    /// The header line.
    pub(crate) fn header(records: &[Record]) -> String {
        let mut text = "time".to_owned();
        for record in records {
            text.push(',');
            text.push_str(&csv::field(&record.label));
        }
        text
    }

    /// One row at an instant.
    ///
    /// # Errors
    /// When a value is not finite: no row is written.
    pub(super) fn row(&self, table: &mut Table, seen: Seen<'_>) -> Result<(), Failure> {
        let mut text = self.resolution.format(seen.at);
        for column in 0..self.columns.len() {
            text.push(',');
            if let Some((value, e)) = self.value(column, seen)? {
                numbers::value(&mut text, &value, e, &self.sources);
            }
        }
        table.line(|line| line.push_str(&text));
        Ok(())
    }

    /// The value of a column, with the seconds since it was sent; nothing before there is one.
    ///
    /// # Errors
    /// When it is not finite.
    pub(super) fn value(
        &self,
        column: usize,
        seen: Seen<'_>,
    ) -> Result<Option<(Value, f64)>, Failure> {
        match &self.columns[column] {
            Column::Signal(signal) => self.current(*signal, seen),
            Column::Aggregate(how, members) => {
                let mut values = Vec::with_capacity(members.len());
                for member in members {
                    let value = self.current(*member, seen)?;
                    values.extend(value.and_then(|(value, e)| numbers::number(&value, e)));
                }
                Ok(combine(*how, values.into_iter()).map(|x| (Value::Real(x), 0.0)))
            }
        }
    }

    /// The dense output of the unit where it has one, else what it sent last.
    fn current(&self, signal: usize, seen: Seen<'_>) -> Result<Option<(Value, f64)>, Failure> {
        let Seen { sim, signals, memory, at } = seen;
        let (key, port, _) = &signals[signal];
        let probed = sim.probe(*key, *port, at).map(|value| (value, 0.0));
        let value = probed.or_else(|| {
            let (tick, value) = memory.last[signal].as_ref()?;
            Some((value.clone(), self.resolution.seconds(at - tick)))
        });
        match value.as_ref().and_then(|(value, e)| numbers::number(value, *e)) {
            Some(x) if !x.is_finite() => {
                Err(not_finite(sim, &signals[signal], at, (self.resolution, x)))
            }
            _ => Ok(value),
        }
    }
}

fn not_finite(
    sim: &Simulation<Value>,
    (model, port, label): &(ModelKey, u16, Option<String>),
    at: i64,
    (resolution, x): (Resolution, f64),
) -> Failure {
    let unit = sim.path_of(*model);
    let output = label.as_ref().map_or_else(|| format!("output {port}"), |l| format!("`{l}`"));
    let why = sim.explain(*model, *port, at).map_or_else(String::new, |why| format!(": {why}"));
    let at = resolution.format(at);
    Failure::NotFinite(format!(
        "{unit} at {at} s: {output}, which is recorded, is {x}{why}; keep the formula within its \
         domain, or do not record it"
    ))
}

/// Sum, mean or count of the values that are there.
fn combine(how: Aggregate, values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut present, mut nonzero, mut sum) = (0u64, 0u64, 0.0);
    for x in values {
        present += 1;
        nonzero += u64::from(x != 0.0);
        sum += x;
    }
    match how {
        Aggregate::Count => Some(nonzero as f64),
        _ if present == 0 => None,
        Aggregate::Sum => Some(sum),
        Aggregate::Mean => Some(sum / present as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_skip_what_is_absent() {
        let values = || [1.0, 0.0, 3.0].into_iter();
        assert_eq!(combine(Aggregate::Sum, values()), Some(4.0));
        assert_eq!(combine(Aggregate::Mean, values()), Some(4.0 / 3.0));
        assert_eq!(combine(Aggregate::Count, values()), Some(2.0));
        assert_eq!(combine(Aggregate::Mean, [].into_iter()), None);
    }
}
