//! `results.csv` as [Parquet](https://parquet.apache.org), for tables that are read by columns.
use crate::output::csv;
use parquet::{
    basic::{Compression, ConvertedType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use std::{borrow::Cow, sync::Arc};

/// Columns of whole numbers.
const WHOLE: [&str; 2] = ["point", "replicate"];
/// Columns of texts.
const TEXTS: [&str; 3] = ["ask", "status", "trace_hash"];

/// A column: its name and its cells, of which some may be empty.
struct Column<'a> {
    name: &'a str,
    cells: Vec<&'a str>,
}

impl Column<'_> {
    /// Words are texts, anything else is a number.
    fn physical(&self) -> Physical {
        let filled = || self.cells.iter().filter(|c| !c.is_empty());
        if WHOLE.contains(&self.name) {
            Physical::INT64
        } else if !TEXTS.contains(&self.name) && filled().all(|c| c.parse::<f64>().is_ok()) {
            Physical::DOUBLE
        } else {
            Physical::BYTE_ARRAY
        }
    }

    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let physical = self.physical();
        let text = physical == Physical::BYTE_ARRAY;
        let meaning = if text { ConvertedType::UTF8 } else { ConvertedType::NONE };
        let column = Type::primitive_type_builder(self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(meaning);
        column.build().map(Arc::new)
    }

    fn parsed<T: std::str::FromStr>(&self) -> Vec<T> {
        self.cells.iter().filter_map(|c| c.parse().ok()).collect()
    }
}

fn cell<'a>(row: &'a [Cow<'_, str>], at: usize) -> &'a str {
    row.get(at).map_or("", |cell| cell.as_ref())
}

/// The table in one file.
///
/// # Errors
/// When a column has a name that Parquet does not take.
pub fn encode(text: &str) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<Vec<Cow<'_, str>>> = text.lines().map(csv::split).collect();
    let Some((head, rows)) = rows.split_first() else { return Ok(Vec::new()) };
    let mut columns = Vec::new();
    for (at, name) in head.iter().enumerate() {
        let cells = rows.iter().map(|row| cell(row, at)).collect();
        columns.push(Column { name, cells });
    }
    let fields = columns.iter().map(Column::schema).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("results").with_fields(fields).build()?);
    // No date and no version of a library in the file: equal rows give equal bytes.
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by("superdense".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let there: Vec<i16> = column.cells.iter().map(|c| i16::from(!c.is_empty())).collect();
        let there = Some(there.as_slice());
        let Some(mut to) = group.next_column()? else { break };
        match column.physical() {
            Physical::INT64 => {
                to.typed::<Int64Type>().write_batch(&column.parsed(), there, None)?
            }
            Physical::DOUBLE => {
                to.typed::<DoubleType>().write_batch(&column.parsed(), there, None)?
            }
            _ => {
                let cells = column.cells.iter().filter(|c| !c.is_empty());
                let cells: Vec<ByteArray> = cells.map(|c| (*c).into()).collect();
                to.typed::<ByteArrayType>().write_batch(&cells, there, None)?
            }
        };
        to.close()?;
    }
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

    #[test]
    fn parquet_rows_read_back() {
        let text = "ask,point,replicate,network.delay,kind,nadir,status,trace_hash\n\
                    limit,0,0,0.001,a,59.4,done,00ff\nlimit,1,0,0.25,b,,failed,\n";
        let name = format!("superdense-study-{}.parquet", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, encode(text).unwrap()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1].get_long(1).unwrap(), rows[1].get_double(3).unwrap()), (1, 0.25));
        assert_eq!(rows[0].get_double(5).ok(), Some(59.4));
        assert_eq!((rows[1].get_double(5).ok(), rows[1].get_string(7).ok()), (None, None));
        assert_eq!(rows[1].get_string(4).unwrap(), "b");
    }
}
