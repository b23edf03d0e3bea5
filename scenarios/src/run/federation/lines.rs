//! Lines of records, one after another.
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

/// The lines of a record behind its header. A field in quotes may go over several lines of the file, which are one here.
pub(super) struct Lines {
    file: PathBuf,
    reader: BufReader<File>,
    /// Line of the file that was read last.
    number: usize,
}

impl Lines {
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        let open = File::open(file).map_err(|e| unreadable(file, &e))?;
        let (file, reader) = (file.to_owned(), BufReader::new(open));
        let mut lines = Self { file, reader, number: 0 };
        lines.next()?;
        Ok(lines)
    }

    /// The next line; nothing at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<String>, String> {
        let mut line = Vec::new();
        loop {
            let read = self.reader.read_until(b'\n', &mut line);
            if read.map_err(|e| unreadable(&self.file, &e))? == 0 {
                break;
            }
            self.number += 1;
            if line.iter().filter(|b| **b == b'"').count() % 2 == 0 {
                break;
            }
        }
        if line.is_empty() {
            return Ok(None);
        }
        // Only the end of the line: a text may have such an end, too.
        line.truncate(line.len() - usize::from(line.ends_with(b"\n")));
        String::from_utf8(line).map(Some).map_err(|_| format!("{} is no text", self.place()))
    }

    /// All lines that are left.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub(super) fn rest(mut self) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        while let Some(line) = self.next()? {
            all.push(line);
        }
        Ok(all)
    }

    /// The place of the last line, for messages.
    pub(super) fn place(&self) -> String {
        format!("line {} of {}", self.number, self.file.display())
    }
}

fn unreadable(file: &Path, why: &std::io::Error) -> String {
    let help = "name the output directory of a run of a federate";
    format!("{} cannot be read: {why}; {help}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_records() {
        let file = std::env::temp_dir().join(format!("superdense-lines-{}", std::process::id()));
        std::fs::write(&file, "head\n1,a\n2,\"b\r\n\"\"c\"\n3,d").unwrap();
        let mut lines = Lines::open(&file).unwrap();
        assert_eq!(lines.next().unwrap().as_deref(), Some("1,a"));
        assert_eq!(lines.next().unwrap().as_deref(), Some("2,\"b\r\n\"\"c\""));
        assert!(lines.place().starts_with("line 4 of "), "{}", lines.place());
        assert_eq!(lines.rest().unwrap(), ["3,d"]);
        std::fs::write(&file, b"head\n\xff\n").unwrap();
        assert!(Lines::open(&file).unwrap().next().unwrap_err().contains("line 2"));
        std::fs::remove_file(&file).unwrap();
        assert!(Lines::open(&file).is_err());
    }
}
