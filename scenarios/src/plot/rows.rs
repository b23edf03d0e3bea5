//! Rows of the tables that a run wrote.
use super::{
    PlotError,
    files::{damaged, io},
};
use crate::output::csv;
use std::{
    borrow::Cow,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

/// The header of a table; empty for an empty file.
pub(crate) fn first_line(file: &Path) -> Result<String, PlotError> {
    let mut line = String::new();
    let mut reader = BufReader::new(File::open(file).map_err(|e| io(file, e))?);
    reader.read_line(&mut line).map_err(|e| io(file, e))?;
    Ok(line.trim_end().to_owned())
}

/// Goes through the rows below the header, until one says no. A row with another number of fields
/// is an error, but for the last one, which a killed run may have torn.
pub(crate) fn each_row(
    file: &Path,
    width: usize,
    mut row: impl FnMut(&[Cow<'_, str>]) -> Result<bool, PlotError>,
) -> Result<(), PlotError> {
    let reader = BufReader::new(File::open(file).map_err(|e| io(file, e))?);
    let mut lines = reader.lines().enumerate().skip(1).peekable();
    while let Some((number, line)) = lines.next() {
        let mut line = line.map_err(|e| io(file, e))?;
        // A quoted field may go on in the next line.
        while line.bytes().filter(|b| *b == b'"').count() % 2 == 1
            && let Some((_, more)) = lines.next()
        {
            line.push('\n');
            line.push_str(&more.map_err(|e| io(file, e))?);
        }
        let fields = csv::split(&line);
        if fields.len() != width {
            if lines.peek().is_none() {
                break;
            }
            let why =
                format!("line {} has {} fields, the header {width}", number + 1, fields.len());
            return Err(damaged(file, &why));
        }
        if !row(&fields).map_err(|e| e.in_line(number + 1))? {
            break;
        }
    }
    Ok(())
}
