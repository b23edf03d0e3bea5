//! Trajectories as numbered, complete [Parquet](https://parquet.apache.org) files.
//!
//! **Why parts.** A Parquet file can be read only once its footer is written. A killed run must
//! leave readable files, so rows are gathered and written as one complete file after the other,
//! each handed over whole. Where a part ends depends on the number of rows alone, so that
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
use std::{io, sync::Arc};

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
    /// Number of the signal's name, in the order given to [`Parts::new`].
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

/// Takes a complete file: its name and its bytes.
pub type Put = Box<dyn FnMut(&str, &[u8]) -> io::Result<()> + Send>;

/// Makes `trajectory-00000.parquet`, `trajectory-00001.parquet`, ...
///
/// ```
/// use superdense_adapters::parquet::{Mark, Parts, Row};
/// let (sender, files) = std::sync::mpsc::channel();
/// let put = move |name: &str, bytes: &[u8]| {
///     sender.send((name.to_owned(), bytes.len())).map_err(std::io::Error::other)
/// };
/// let mut parts = Parts::new(vec!["ball.x".into()], Mark::default(), Box::new(put));
/// let row = Row { tick: 0, micro: 0, signal: 0, value: Some(1.0), text: None, derivatives: vec![-9.81] };
/// parts.push(row).unwrap();
/// parts.finish().unwrap();
/// assert_eq!(files.recv().unwrap().0, "trajectory-00000.parquet");
/// ```
pub struct Parts {
    signals: Vec<String>,
    mark: Mark,
    put: Put,
}

impl Parts {
    /// Goes on from a mark; a new trajectory begins at the default one.
    pub fn new(signals: Vec<String>, mark: Mark, put: Put) -> Self {
        Self { signals, mark, put }
    }

    /// Adds a row; writes a part when it is complete.
    ///
    /// # Errors
    /// When the part cannot be written; its rows are kept.
    pub fn push(&mut self, row: Row) -> io::Result<()> {
        self.mark.rows.push(row);
        if self.mark.rows.len() >= ROWS { self.write() } else { Ok(()) }
    }

    /// The mark from which [`Parts::new`] goes on.
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
        let bytes = encode(&self.signals, &self.mark.rows).map_err(io::Error::other)?;
        (self.put)(&format!("trajectory-{:05}.parquet", self.mark.parts), &bytes)?;
        self.mark.parts += 1;
        self.mark.rows.clear();
        Ok(())
    }
}

/// One file with one row group.
fn encode(signals: &[String], rows: &[Row]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    // No date and no version of a library in the file: equal rows give equal bytes.
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by("superdense".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
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
    use std::{collections::BTreeMap, sync::Mutex};

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

    type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

    fn parts(files: &Files, mark: Mark) -> Parts {
        let files = Arc::clone(files);
        let put = move |name: &str, bytes: &[u8]| {
            files.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
            Ok(())
        };
        Parts::new(vec!["a.x".into(), "b.y".into()], mark, Box::new(put))
    }

    #[test]
    fn rows_read_back() {
        let files = Files::default();
        let mut parts = parts(&files, Mark::default());
        (0..50).for_each(|k| parts.push(row(k)).unwrap());
        parts.finish().unwrap();
        let name = format!("superdense-rows-{}.parquet", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, &files.lock().unwrap()["trajectory-00000.parquet"]).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
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
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_resumed_trajectory_has_the_same_bytes() {
        let count = ROWS as u32 * 2 + 100;
        let (whole, cut) = (Files::default(), Files::default());
        let mut all = parts(&whole, Mark::default());
        (0..count).for_each(|k| all.push(row(k)).unwrap());
        all.finish().unwrap();

        let mut first = parts(&cut, Mark::default());
        let at = ROWS as u32 + 10;
        (0..at).for_each(|k| first.push(row(k)).unwrap());
        let mark = first.mark().clone();
        // Rows after the mark are lost.
        (at..count).for_each(|k| first.push(row(k)).unwrap());
        let mut second = parts(&cut, mark);
        (at..count).for_each(|k| second.push(row(k)).unwrap());
        second.finish().unwrap();
        assert_eq!(whole.lock().unwrap().len(), 3);
        assert!(*whole.lock().unwrap() == *cut.lock().unwrap());
    }
}
