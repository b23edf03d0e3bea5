//! A table that grows by whole lines.
//!
//! **Why not `BufWriter`.** It writes where its buffer is full, in the middle of a line. Here only
//! whole lines go out, so what a killed run leaves can be read, and the length of a table at a
//! checkpoint is the length after a line.
use super::{OutputError, manifest::Entry};
use sha2::{Digest, Sha256};
use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Bytes that are held back at most.
const BUFFER: usize = 1 << 16;

/// Where the lines of a table go.
#[derive(Debug)]
enum Sink {
    File(File),
    /// They stay in memory.
    Memory(String),
    /// Nobody wants them: they are not even made.
    Nobody,
}

/// A CSV table that is being written.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    /// In the manifest.
    name: String,
    sink: Sink,
    lines: String,
    length: u64,
    sum: Sha256,
    failed: Option<std::io::Error>,
}

impl Table {
    /// A new file in a directory with a header line; there must be none of its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(dir: &Path, name: &str, header: &str) -> Result<Self, OutputError> {
        let path = &dir.join(name);
        let file = File::create_new(path).map_err(OutputError::at(path))?;
        let mut table = Self::on((path, name), Sink::File(file), 0, Sha256::new());
        table.line(|text| text.push_str(header));
        table.flush()?;
        Ok(table)
    }

    /// A table in memory, with a header line; without one, a table that nobody wants.
    pub fn in_memory(header: Option<&str>) -> Self {
        let sink = header.map_or(Sink::Nobody, |header| Sink::Memory(format!("{header}\n")));
        Self::on((Path::new(""), ""), sink, 0, Sha256::new())
    }

    /// The text of a table in memory.
    pub fn text(&mut self) -> String {
        self.push();
        match &mut self.sink {
            Sink::Memory(text) => std::mem::take(text),
            Sink::File(_) | Sink::Nobody => String::new(),
        }
    }

    /// An existing file, cut to what it was at an entry of the manifest.
    ///
    /// # Errors
    /// When it was something else, or cannot be written.
    pub fn reopen(dir: &Path, name: &str, entry: &Entry) -> Result<Self, OutputError> {
        let path = &dir.join(name);
        let Some(sum) = entry.sum(path)? else {
            return Err(OutputError::refused(path, "was changed; restore it, or start a new run"));
        };
        let reopen = || {
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            file.set_len(entry.bytes)?;
            file.seek(SeekFrom::Start(entry.bytes))?;
            Ok(file)
        };
        let file = reopen().map_err(OutputError::at(path))?;
        Ok(Self::on((path, name), Sink::File(file), entry.bytes, sum))
    }

    fn on((path, name): (&Path, &str), sink: Sink, length: u64, sum: Sha256) -> Self {
        let room = if let Sink::File(_) = sink { BUFFER + 1024 } else { 0 };
        let lines = String::with_capacity(room);
        let name = name.to_owned();
        Self { path: path.to_owned(), name, sink, lines, length, sum, failed: None }
    }

    /// Adds a line. A failure to write is reported by the next [`Table::flush`].
    pub fn line(&mut self, write: impl FnOnce(&mut String)) {
        if let Sink::Nobody = self.sink {
            return;
        }
        write(&mut self.lines);
        self.lines.push('\n');
        if self.lines.len() >= BUFFER {
            self.push();
        }
    }

    fn push(&mut self) {
        match &mut self.sink {
            Sink::File(file) if self.failed.is_none() => {
                match file.write_all(self.lines.as_bytes()) {
                    Ok(()) => {
                        self.length += self.lines.len() as u64;
                        self.sum.update(self.lines.as_bytes());
                    }
                    Err(e) => self.failed = Some(e),
                }
            }
            Sink::Memory(text) => text.push_str(&self.lines),
            Sink::File(_) | Sink::Nobody => {}
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

    /// Flushes, makes the file durable and returns its name and what the manifest tells of it.
    ///
    /// # Errors
    /// When a write failed.
    pub fn sync(&mut self, grows: bool) -> Result<(String, Entry), OutputError> {
        self.flush()?;
        if let Sink::File(file) = &self.sink {
            file.sync_data().map_err(OutputError::at(&self.path))?;
        }
        Ok((self.name.clone(), Entry::so_far(self.length, &self.sum, grows)))
    }
}
