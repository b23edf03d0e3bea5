//! The trajectory: every segment or value sent on recorded outputs, as text or as Parquet parts.
use super::{
    OutputError, csv,
    manifest::Entry,
    numbers::{self, JobSources},
    results::Results,
    table::Table,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
#[cfg(feature = "parquet")]
use superdense_adapters::parquet;
use superdense_kernel::time::Tag;
use superdense_models::signal::value::Value;

/// Header of `trajectory.csv`; derivatives are separated by spaces.
const HEADER: &str = "tick,micro,signal,value,derivatives";
const FILE: &str = "trajectory.csv";
#[cfg(feature = "parquet")]
const PARTS: &str = "trajectory-*.parquet";

/// How trajectories are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum Format {
    /// `trajectory.csv`.
    #[default]
    Csv,
    /// Numbered complete files `trajectory-00000.parquet`, ... (needs the feature `parquet`).
    Parquet,
    /// Not at all.
    None,
}

impl Format {
    /// Whether this program can write it.
    ///
    /// # Errors
    /// When it cannot: with the remedy.
    pub fn available(self) -> Result<(), &'static str> {
        if self == Self::Parquet && cfg!(not(feature = "parquet")) {
            return Err("this program was built without Parquet; build it with: \
                        cargo build --release --features parquet");
        }
        Ok(())
    }
}

/// Where a trajectory stands at a checkpoint, beyond what the manifest tells of its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Mark {
    /// A table.
    Csv,
    /// Nothing is written.
    None,
    /// Parts, and the rows that wait.
    #[cfg(feature = "parquet")]
    Parquet(parquet::Mark),
}

enum Sink {
    Csv(Table),
    None,
    #[cfg(feature = "parquet")]
    Parquet(parquet::Parts, Option<std::io::Error>),
}

/// A trajectory that is being written.
pub struct Trajectory {
    sink: Sink,
    /// Names of the signals; an empty one is not written.
    labels: Vec<String>,
    sources: Arc<JobSources>,
}

impl Trajectory {
    /// A new trajectory; `labels` name the signals by number, `sources` what
    /// creates jobs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(
        results: &Results,
        format: Format,
        (labels, sources): (Vec<String>, Arc<JobSources>),
    ) -> Result<Self, OutputError> {
        let sink = match format {
            Format::Csv => {
                let [table] = results.tables([(FILE, HEADER)])?;
                Sink::Csv(table)
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => parts(results, labels.clone(), parquet::Mark::default()),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Sink::None,
            Format::None => Sink::None,
        };
        Ok(Self { sink, labels, sources })
    }

    /// A trajectory in memory, or of nobody's.
    pub fn in_memory(wanted: bool, (labels, sources): (Vec<String>, Arc<JobSources>)) -> Self {
        let table = || Sink::Csv(Table::in_memory(Some(HEADER)));
        Self { sink: if wanted { table() } else { Sink::None }, labels, sources }
    }

    /// The text of a trajectory in memory.
    pub fn text(&mut self) -> String {
        match &mut self.sink {
            Sink::Csv(table) => table.text(),
            _ => String::new(),
        }
    }

    /// Goes on from a mark; the files are those of the manifest.
    ///
    /// # Errors
    /// When the table is not what it was, or cannot be written.
    pub fn reopen(
        results: &Results,
        mark: Mark,
        (labels, sources): (Vec<String>, Arc<JobSources>),
    ) -> Result<Self, OutputError> {
        let sink = match mark {
            Mark::Csv => Sink::Csv(results.reopen(FILE)?),
            Mark::None => Sink::None,
            #[cfg(feature = "parquet")]
            Mark::Parquet(mark) => parts(results, labels.clone(), mark),
        };
        Ok(Self { sink, labels, sources })
    }

    /// Adds what was sent. A failure to write is reported by the next [`Trajectory::flush`].
    pub fn record(&mut self, tag: Tag, signal: u32, value: &Value) {
        let label = &self.labels[signal as usize];
        if label.is_empty() {
            return;
        }
        match &mut self.sink {
            Sink::None => {}
            Sink::Csv(table) => table.line(|text| {
                text.extend([&tag.ticks.to_string(), ",", &tag.micro.to_string(), ","]);
                text.extend([&csv::field(label), ","]);
                numbers::value(text, value, 0.0, &self.sources);
                text.push(',');
                numbers::derivatives(text, value);
            }),
            #[cfg(feature = "parquet")]
            Sink::Parquet(parts, failed) => {
                let mut text = String::new();
                let number = numbers::number(value, 0.0);
                if number.is_none() {
                    numbers::value(&mut text, value, 0.0, &self.sources);
                }
                let row = parquet::Row {
                    tick: tag.ticks,
                    micro: tag.micro,
                    signal,
                    value: number,
                    text: (!text.is_empty()).then_some(text),
                    derivatives: numbers::derivatives_of(value).collect(),
                };
                if let Err(e) = parts.push(row) {
                    failed.get_or_insert(e);
                }
            }
        }
    }

    /// Hands over what can be handed over.
    ///
    /// # Errors
    /// When this or an earlier write failed.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        match &mut self.sink {
            Sink::Csv(table) => table.flush(),
            Sink::None => Ok(()),
            #[cfg(feature = "parquet")]
            Sink::Parquet(_, failed) => match failed.take() {
                Some(e) => Err(OutputError::at(PARTS.as_ref())(e)),
                None => Ok(()),
            },
        }
    }

    /// Makes what is written durable and says where it stands.
    ///
    /// # Errors
    /// When a write failed.
    pub fn sync(&mut self, grows: bool) -> Result<(Mark, Option<(String, Entry)>), OutputError> {
        self.flush()?;
        Ok(match &mut self.sink {
            Sink::Csv(table) => (Mark::Csv, Some(table.sync(grows)?)),
            Sink::None => (Mark::None, None),
            #[cfg(feature = "parquet")]
            Sink::Parquet(parts, _) => (Mark::Parquet(parts.mark().clone()), None),
        })
    }

    /// Completes the files at the end of the run.
    ///
    /// # Errors
    /// When a write failed.
    pub fn finish(&mut self) -> Result<(), OutputError> {
        #[cfg(feature = "parquet")]
        if let Sink::Parquet(parts, _) = &mut self.sink {
            parts.finish().map_err(OutputError::at(PARTS.as_ref()))?;
        }
        self.flush()
    }
}

/// Parts that are files of the run.
#[cfg(feature = "parquet")]
fn parts(results: &Results, labels: Vec<String>, mark: parquet::Mark) -> Sink {
    let results = results.clone();
    let put = move |name: &str, bytes: &[u8]| {
        results.put(&[(name, bytes)]).map_err(std::io::Error::other)
    };
    Sink::Parquet(parquet::Parts::new(labels, mark, Box::new(put)), None)
}
