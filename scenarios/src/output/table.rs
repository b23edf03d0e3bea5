//! A table that grows by whole lines.
//!
//! **Why not `BufWriter`.** It writes where its buffer is full, in the middle of a line. Here only
//! whole lines go out, so what a killed run leaves can be read, and the length of a table at a
//! checkpoint is the length after a line.
use super::OutputError;
use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Bytes that are held back at most.
const BUFFER: usize = 1 << 16;

/// A CSV file that is being written.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    file: File,
    lines: String,
    length: u64,
    failed: Option<std::io::Error>,
}

impl Table {
    /// A new file with a header line, in place of an old one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, header: &str) -> Result<Self, OutputError> {
        let file = File::create(path).map_err(OutputError::at(path))?;
        let mut table = Self::on(path, file, 0);
        table.line(|text| text.push_str(header));
        table.flush()?;
        Ok(table)
    }

    /// An existing file, cut to `length`.
    ///
    /// # Errors
    /// When the file is shorter, or cannot be written.
    pub fn reopen(path: &Path, length: u64) -> Result<Self, OutputError> {
        let reopen = || {
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            let found = file.metadata()?.len();
            if found < length {
                let why = format!("has {found} bytes, fewer than the {length} of the checkpoint");
                return Err(std::io::Error::other(why));
            }
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok(file)
        };
        Ok(Self::on(path, reopen().map_err(OutputError::at(path))?, length))
    }

    fn on(path: &Path, file: File, length: u64) -> Self {
        let lines = String::with_capacity(BUFFER + 1024);
        Self { path: path.to_owned(), file, lines, length, failed: None }
    }

    /// Adds a line. A failure to write is reported by the next [`Table::flush`].
    pub fn line(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.lines);
        self.lines.push('\n');
        if self.lines.len() >= BUFFER {
            self.push();
        }
    }

    fn push(&mut self) {
        if self.failed.is_none() {
            match self.file.write_all(self.lines.as_bytes()) {
                Ok(()) => self.length += self.lines.len() as u64,
                Err(e) => self.failed = Some(e),
            }
        }
        self.lines.clear();
    }

    /// Hands all lines to the system.
    ///
    /// # Errors
    /// When this or an earlier write failed, for example because the disk is full.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        self.push();
        self.failed.take().map_or(Ok(()), |e| Err(OutputError::at(&self.path)(e)))
    }

    /// Flushes, makes the file durable and returns its length.
    ///
    /// # Errors
    /// When a write failed.
    pub fn sync(&mut self) -> Result<u64, OutputError> {
        self.flush()?;
        self.file.sync_data().map_err(OutputError::at(&self.path))?;
        Ok(self.length)
    }
}
