//! Trajectories as numbered, complete [Parquet](https://parquet.apache.org) files.
//!
//! **Why parts.** A Parquet file can be read only once its footer is written. A killed run must
//! leave readable files, so rows are gathered and written as one complete file after the other,
//! each put in place by a rename. Where a part ends depends on the number of rows alone, so that
//! an interrupted and resumed run leaves the same bytes as one that was not.
//!
//! | column | type | content |
//! | --- | --- | --- |
//! | `tick` | int64 | ticks of the resolution of the run |
//! | `micro` | uint32 | micro-step |
//! | `signal` | string | unit and output |
//! | `value` | double, may be absent | the value, if it is a number |
//! | `text` | string, may be absent | the value, if it is a text |
//! | `derivatives` | list of double | first, second, ... derivative at the tick, per second |
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Rows of a part.
pub const ROWS: usize = 1 << 16;

const SCHEMA: &str = "message trajectory {
    REQUIRED INT64 tick;
    REQUIRED INT32 micro (INTEGER(32, false));
    REQUIRED BYTE_ARRAY signal (UTF8);
    OPTIONAL DOUBLE value;
    OPTIONAL BYTE_ARRAY text (UTF8);
    REQUIRED GROUP derivatives (LIST) { REPEATED GROUP list { REQUIRED DOUBLE element; } }
}";

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Ticks.
    pub tick: i64,
    /// Micro-step.
    pub micro: u32,
    /// Number of the signal's name, in the order given to [`Parts::create`].
    pub signal: u32,
    /// The value, if it is a number.
    pub value: Option<f64>,
    /// The value, if it is a text.
    pub text: Option<String>,
    /// Derivatives, from the first on, per second.
    pub derivatives: Vec<f64>,
}

/// The part of a trajectory that a checkpoint keeps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Mark {
    /// Complete parts.
    pub parts: u32,
    /// Rows of the part that is not complete.
    pub rows: Vec<Row>,
}

/// Writes `trajectory-00000.parquet`, `trajectory-00001.parquet`, ...
///
/// ```
/// use superdense_adapters::parquet::{Parts, Row};
/// let dir = std::env::temp_dir().join(format!("parts-{}", std::process::id()));
/// std::fs::create_dir_all(&dir).unwrap();
/// let mut parts = Parts::create(&dir, vec!["ball.x".into()]);
/// let row = Row { tick: 0, micro: 0, signal: 0, value: Some(1.0), text: None, derivatives: vec![-9.81] };
/// parts.push(row).unwrap();
/// parts.finish().unwrap();
/// assert!(dir.join("trajectory-00000.parquet").exists());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// ```
#[derive(Debug)]
pub struct Parts {
    dir: PathBuf,
    signals: Vec<String>,
    mark: Mark,
}

/// Whether a file name is that of a part, and which.
pub fn part_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("trajectory-")?.strip_suffix(".parquet")?;
    if number.len() >= 5 { number.parse().ok() } else { None }
}

fn part(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("trajectory-{number:05}.parquet"))
}

impl Parts {
    /// A new trajectory in a directory without parts.
    pub fn create(dir: &Path, signals: Vec<String>) -> Self {
        Self { dir: dir.to_owned(), signals, mark: Mark::default() }
    }

    /// Goes on from a mark: later parts are removed.
    ///
    /// # Errors
    /// When a part of before the mark is missing, or a later one cannot be removed.
    pub fn reopen(dir: &Path, signals: Vec<String>, mark: Mark) -> io::Result<Self> {
        if let Some(missing) = (0..mark.parts).find(|&n| !part(dir, n).is_file()) {
            let why = format!("{} of the checkpoint is missing", part(dir, missing).display());
            return Err(io::Error::other(why));
        }
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let number = entry.file_name().to_str().and_then(part_number);
            if number.is_some_and(|n| n >= mark.parts) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Self { dir: dir.to_owned(), signals, mark })
    }

    /// Adds a row; writes a part when it is complete.
    ///
    /// # Errors
    /// When the part cannot be written; its rows are kept.
    pub fn push(&mut self, row: Row) -> io::Result<()> {
        self.mark.rows.push(row);
        if self.mark.rows.len() >= ROWS { self.write() } else { Ok(()) }
    }

    /// The mark that [`Parts::reopen`] needs.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Writes what is left as the last part.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.mark.rows.is_empty() { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        let file = part(&self.dir, self.mark.parts);
        let unfinished = file.with_extension("parquet.part");
        encode(File::create(&unfinished)?, &self.signals, &self.mark.rows)
            .map_err(io::Error::other)?
            .sync_all()?;
        fs::rename(&unfinished, &file)?;
        self.mark.parts += 1;
        self.mark.rows.clear();
        Ok(())
    }
}

/// One file with one row group.
fn encode(file: File, signals: &[String], rows: &[Row]) -> Result<File, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    // No date and no version of a library in the file: equal rows give equal bytes.
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by("superdense".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let names: Vec<ByteArray> = signals.iter().map(|s| s.as_str().into()).collect();

    macro_rules! column {
        ($type:ty, $values:expr, $definitions:expr, $repetitions:expr) => {
            let mut column = group.next_column()?.expect("the schema has this column");
            column.typed::<$type>().write_batch($values, $definitions, $repetitions)?;
            column.close()?;
        };
    }
    let ticks: Vec<i64> = rows.iter().map(|r| r.tick).collect();
    column!(Int64Type, &ticks, None, None);
    let micro: Vec<i32> = rows.iter().map(|r| r.micro.cast_signed()).collect();
    column!(Int32Type, &micro, None, None);
    let signal: Vec<ByteArray> = rows.iter().map(|r| names[r.signal as usize].clone()).collect();
    column!(ByteArrayType, &signal, None, None);
    let values: Vec<f64> = rows.iter().filter_map(|r| r.value).collect();
    let there: Vec<i16> = rows.iter().map(|r| i16::from(r.value.is_some())).collect();
    column!(DoubleType, &values, Some(&there), None);
    let texts: Vec<ByteArray> =
        rows.iter().filter_map(|r| r.text.as_deref()).map(Into::into).collect();
    let there: Vec<i16> = rows.iter().map(|r| i16::from(r.text.is_some())).collect();
    column!(ByteArrayType, &texts, Some(&there), None);
    // An empty list is one entry at definition level 0.
    let (mut elements, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        elements.extend_from_slice(&row.derivatives);
        definitions.extend(
            (0..row.derivatives.len().max(1)).map(|_| i16::from(!row.derivatives.is_empty())),
        );
        repetitions.extend((0..row.derivatives.len().max(1)).map(|k| i16::from(k > 0)));
    }
    column!(DoubleType, &elements, Some(&definitions), Some(&repetitions));
    group.close()?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::RowAccessor,
    };

    fn row(k: u32) -> Row {
        Row {
            tick: i64::from(k) * 10,
            micro: k % 3,
            signal: k % 2,
            value: (!k.is_multiple_of(5)).then_some(f64::from(k) / 8.0),
            text: k.is_multiple_of(5).then(|| format!("state {k}")),
            derivatives: (0..k % 4).map(f64::from).collect(),
        }
    }

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("superdense-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn rows_read_back() {
        let dir = folder("rows");
        let mut parts = Parts::create(&dir, vec!["a.x".into(), "b.y".into()]);
        (0..50).for_each(|k| parts.push(row(k)).unwrap());
        parts.finish().unwrap();
        let file = File::open(part(&dir, 0)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        for (k, read) in reader.get_row_iter(None).unwrap().enumerate() {
            let (read, row) = (read.unwrap(), row(k as u32));
            assert_eq!(read.get_long(0).unwrap(), row.tick);
            assert_eq!(read.get_uint(1).unwrap(), row.micro);
            assert_eq!(read.get_string(2).unwrap(), ["a.x", "b.y"][row.signal as usize]);
            assert_eq!(read.get_double(3).ok(), row.value);
            assert_eq!(read.get_string(4).ok(), row.text.as_ref());
            let list = read.get_list(5).unwrap();
            use parquet::record::ListAccessor;
            let list: Vec<f64> = (0..list.len()).map(|i| list.get_double(i).unwrap()).collect();
            assert_eq!(list, row.derivatives);
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_resumed_trajectory_has_the_same_bytes() {
        let count = ROWS as u32 * 2 + 100;
        let names = || vec!["a.x".to_owned(), "b.y".to_owned()];
        let (whole, cut) = (folder("whole"), folder("cut"));
        let mut parts = Parts::create(&whole, names());
        (0..count).for_each(|k| parts.push(row(k)).unwrap());
        parts.finish().unwrap();

        let mut parts = Parts::create(&cut, names());
        let at = ROWS as u32 + 10;
        (0..at).for_each(|k| parts.push(row(k)).unwrap());
        let mark = parts.mark().clone();
        // Rows after the mark are lost.
        (at..count).for_each(|k| parts.push(row(k)).unwrap());
        let mut parts = Parts::reopen(&cut, names(), mark).unwrap();
        assert!(!part(&cut, 1).exists());
        (at..count).for_each(|k| parts.push(row(k)).unwrap());
        parts.finish().unwrap();
        for n in 0..3 {
            assert!(fs::read(part(&whole, n)).unwrap() == fs::read(part(&cut, n)).unwrap());
        }
        assert!(Parts::reopen(&cut, names(), Mark { parts: 9, rows: vec![] }).is_err());
        [whole, cut].iter().for_each(|d| fs::remove_dir_all(d).unwrap());
    }
}
