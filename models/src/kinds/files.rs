//! Files that a scenario names.
//!
//! **Why not `fs::read`.** A pipe may wait for ever, and a device may never end. A scenario comes from
//! anywhere, so only regular files of a reasonable size are read.
use std::{fs::File, io, io::Read, path::Path};

/// Opens a regular file of at most so many bytes.
///
/// # Errors
/// When it is none, is larger, or cannot be opened.
pub fn open(path: &Path, most: u64) -> io::Result<File> {
    let metadata = path.metadata()?;
    // A folder says so when it is read.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(io::Error::other("is no regular file; copy its content into one"));
    }
    if metadata.len() > most {
        let why = format!("is larger than {} MiB; shorten it, or divide it", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    File::open(path)
}

/// The bytes of a data file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    const MOST: u64 = 256 << 20;
    let mut bytes = Vec::new();
    open(path, MOST)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a data file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

/// The rows of a file of comma-separated values, without comments; all have as many columns.
///
/// # Errors
/// When it cannot be read, or is no such table.
pub fn rows(path: &Path) -> io::Result<Vec<Vec<String>>> {
    let text = read_text(path)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let rows = reader.records().map(|record| Ok(record?.iter().map(str::to_owned).collect()));
    rows.collect()
}
