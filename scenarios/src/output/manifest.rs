//! The manifest: what a run wrote, so that nothing else is ever replaced or removed.
//!
//! **Why checksums.** A name says little: a user may keep notes under it, or have changed a result by
//! hand. A file belongs to the run only if it is a regular file with the bytes that the manifest tells,
//! and links are never followed. The manifest has a checksum of its own text, too. It is written before the files that it lists, so that a run
//! that is killed in between leaves no file that it does not know.
use super::{OutputError, reports};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";

/// Why a file is not one of the run any more.
const CHANGED: &str = "was changed after the run wrote it";

/// Format of the manifest.
const FORMAT: u32 = 2;

/// The files that a run wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub format: u32,
    /// A number of the run, which its checkpoint has, too; 16 hexadecimal digits.
    pub run: String,
    /// The scenario file, with its folder.
    pub scenario: String,
    /// The run whose results these are a part of, for folders inside of an output directory.
    pub within: Option<String>,
    /// Files by name.
    pub files: BTreeMap<String, Entry>,
    /// Folders, each with a manifest of its own.
    pub folders: BTreeSet<String>,
    /// SHA-256 of the text of this manifest with nothing here; set by [`Manifest::to_json`].
    sha256: String,
}

/// One file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its length; of a table that still grows, the length so far.
    pub bytes: u64,
    /// SHA-256 of so many bytes, as `sha256sum` prints it.
    pub sha256: String,
    /// More lines may follow.
    pub grows: bool,
}

/// The thing that stands under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// The file that the run wrote.
    Own,
    /// Anything else: why it is not the file of the run.
    Foreign(&'static str),
}

impl Manifest {
    /// An empty manifest of a new run.
    pub fn new(scenario: String, within: Option<String>) -> Self {
        let (files, folders) = (BTreeMap::new(), BTreeSet::new());
        Self {
            format: FORMAT,
            run: random(),
            scenario,
            within,
            files,
            folders,
            sha256: String::new(),
        }
    }

    /// The text of the file.
    pub fn to_json(&self) -> Vec<u8> {
        let mut signed = Self { sha256: String::new(), ..self.clone() };
        signed.sha256 = Entry::of(&reports::to_json(&signed)).sha256;
        reports::to_json(&signed)
    }

    /// Reads the manifest of a directory; nothing when there is none.
    ///
    /// # Errors
    /// When it is not a manifest, was changed by another hand, or cannot be read.
    pub fn read(dir: &Path) -> Result<Option<Self>, OutputError> {
        let file = dir.join(MANIFEST);
        match fs::symlink_metadata(&file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(OutputError::at(&file)(e)),
            Ok(metadata) if !metadata.is_file() => {
                return Err(OutputError::refused(&file, "is no regular file; move it away"));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&file).map_err(OutputError::at(&file))?;
        let read = serde_json::from_str::<Self>(&text).map_err(|e| e.to_string());
        let known = read.and_then(|m| match m.format {
            FORMAT if m.to_json() != text.as_bytes() => Err(CHANGED.to_owned()),
            FORMAT => Ok(m),
            other => Err(format!("its format is {other}, this program knows {FORMAT}")),
        });
        let why = |e: String| match &e[..] {
            CHANGED => format!("{CHANGED}; move it away, or choose another directory"),
            _ => format!("is no manifest of a run: {e}; move it away, or choose another directory"),
        };
        known.map(Some).map_err(|e| OutputError::refused(&file, &why(e)))
    }

    /// Remarks on files in `dir` that are not as the run left them.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn changed(&self, dir: &Path) -> Result<Vec<String>, OutputError> {
        let mut remarks = Vec::new();
        for (name, entry) in &self.files {
            if let Found::Foreign(why) = entry.found(&dir.join(name))? {
                remarks.push(format!("{}: {why}", dir.join(name).display()));
            }
        }
        Ok(remarks)
    }
}

impl Entry {
    /// A whole file.
    pub fn of(bytes: &[u8]) -> Self {
        Self::so_far(bytes.len() as u64, &Sha256::new_with_prefix(bytes), false)
    }

    /// A file that has so many bytes with this checksum.
    pub fn so_far(bytes: u64, sum: &Sha256, grows: bool) -> Self {
        Self { bytes, sha256: hex(sum), grows }
    }

    /// The thing that stands under a name which the manifest lists with this entry.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn found(&self, file: &Path) -> Result<Found, OutputError> {
        let metadata = match fs::symlink_metadata(file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            metadata => metadata.map_err(OutputError::at(file))?,
        };
        if metadata.is_symlink() {
            return Ok(Found::Foreign("is a link"));
        }
        if !metadata.is_file() {
            return Ok(Found::Foreign("is no regular file"));
        }
        // A run that was killed while it made the table.
        if self.grows && metadata.len() == 0 {
            return Ok(Found::Own);
        }
        let sum = self.sum(file)?;
        Ok(sum.map_or(Found::Foreign(CHANGED), |_| Found::Own))
    }

    /// The running checksum of a file, after the bytes of this entry; nothing if they differ.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn sum(&self, file: &Path) -> Result<Option<Sha256>, OutputError> {
        let read = || {
            let mut open = File::open(file)?;
            let length = open.metadata()?.len();
            if length < self.bytes || length > self.bytes && !self.grows {
                return Ok(None);
            }
            let (mut sum, mut left, mut buffer) = (Sha256::new(), self.bytes, vec![0; 1 << 16]);
            while left > 0 {
                let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let count = open.read(&mut buffer[..most])?;
                if count == 0 {
                    return Ok(None);
                }
                sum.update(&buffer[..count]);
                left -= count as u64;
            }
            Ok((hex(&sum) == self.sha256).then_some(sum))
        };
        read().map_err(OutputError::at(file))
    }
}

fn hex(sum: &Sha256) -> String {
    sum.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number that no other run has, as far as chance goes; nothing of a result depends on it.
pub fn random() -> String {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_bytes_are_own() {
        let dir = std::env::temp_dir().join(format!("superdense-entry-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("a.csv");
        let whole = Entry::of(b"time,x\n");
        let growing = Entry { grows: true, ..whole.clone() };
        let changed = Found::Foreign(CHANGED);
        for (text, as_whole, as_growing) in [
            ("time,x\n", &Found::Own, &Found::Own),
            ("time,x\n0,1\n", &changed, &Found::Own),
            ("time,y\n", &changed, &changed),
            ("time", &changed, &changed),
            ("", &changed, &Found::Own),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(whole.found(&file).unwrap(), *as_whole, "{text:?}");
            assert_eq!(growing.found(&file).unwrap(), *as_growing, "{text:?}");
        }
        assert_eq!(whole.found(&dir.join("b")).unwrap(), Found::Nothing);
        assert_eq!(whole.found(&dir).unwrap(), Found::Foreign("is no regular file"));
        // As `printf 'time,x\n' | sha256sum` prints it.
        let sum = "49135c382d85fef1fc63e76c80999076cbaa518402cd5b40e2e09999c26e7260";
        assert_eq!(whole.sha256, sum);
        fs::remove_dir_all(&dir).unwrap();
    }
}
