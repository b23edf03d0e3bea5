//! Files of a run, read back.
use crate::output::{csv, directory::SUMMARY};
use serde_json::Value as Json;
use std::{collections::HashMap, fs, path::Path};

/// Samples, events and summary of a run.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Instants of the samples in seconds.
    pub times: Vec<f64>,
    columns: HashMap<String, Vec<f64>>,
    /// Seconds and names, in order.
    pub events: Vec<(f64, String)>,
    summary: Json,
}

impl Results {
    /// Reads the files of a run that has ended.
    ///
    /// # Errors
    /// When a file is missing or damaged.
    pub(super) fn read(dir: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let file = dir.join(name);
            fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
        };
        let samples = text("samples.csv")?;
        let mut lines = samples.lines();
        let header = csv::split(lines.next().unwrap_or_default());
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); header.len()];
        for line in lines {
            for (column, field) in columns.iter_mut().zip(csv::split(line)) {
                column.push(field.parse().unwrap_or(f64::NAN));
            }
        }
        let mut columns = header.iter().map(|h| h.to_string()).zip(columns);
        let times = columns.next().map(|c| c.1).unwrap_or_default();
        let event = |line: &str| {
            let fields = csv::split(line);
            let time = fields.first()?.parse().ok()?;
            Some((time, fields.get(3)?.to_string()))
        };
        let events = text("events.csv")?.lines().skip(1).filter_map(event).collect();
        let summary = serde_json::from_str(&text(SUMMARY)?).map_err(|e| e.to_string())?;
        Ok(Self { times, columns: columns.collect(), events, summary })
    }

    /// A recorded output.
    ///
    /// # Errors
    /// When it is not recorded.
    pub(super) fn column(&self, name: &str) -> Result<&[f64], String> {
        let column = self.columns.get(name).ok_or_else(|| format!("`{name}` is not recorded"))?;
        Ok(column)
    }

    /// Numbered outputs, from 1 on, at the last sample that is not after an instant.
    ///
    /// # Errors
    /// When none is recorded.
    pub(super) fn across(&self, name: &str, at: f64) -> Result<Vec<f64>, String> {
        // Instants are written with fewer digits than they have.
        let row = self.times.partition_point(|t| *t <= at + 1e-9).max(1) - 1;
        let all = (1..).map_while(|k| self.columns.get(&format!("{name}[{k}]")));
        let values: Vec<f64> = all.filter_map(|column| column.get(row).copied()).collect();
        if values.is_empty() { Err(format!("`{name}[1]` is not recorded")) } else { Ok(values) }
    }

    /// A number of the summary.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(super) fn fact(&self, name: &str) -> Result<f64, String> {
        self.summary[name].as_f64().ok_or_else(|| format!("the summary has no `{name}`"))
    }

    /// A result of the scenario, with or without an interval.
    ///
    /// # Errors
    /// When there is none of that name, or it never came to be.
    pub(super) fn result(&self, name: &str) -> Result<f64, String> {
        let result = &self.summary["results"][name];
        let value = result.get("value").unwrap_or(result);
        value.as_f64().ok_or_else(|| format!("there is no result `{name}`"))
    }
}
