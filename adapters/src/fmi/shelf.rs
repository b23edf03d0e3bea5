//! Contents of archives are kept as long as these stay as they are: a scenario may have a thousand units of one
//! FMU, and a unit asks for its description several times until it is built.
use super::{
    archive::Contents,
    description::{Description, Structural, Version},
};
use std::{
    collections::BTreeMap,
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// An archive, and what stands in it: its list of entries has their checksums.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    path: PathBuf,
    length: u64,
    entries: u64,
}

impl Key {
    /// That of an open archive whose list of entries begins at `list`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn new(path: &Path, mut file: &File, list: u64) -> std::io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(list.min(length)))?;
        let (mut bytes, mut hash) = (Vec::new(), DefaultHasher::new());
        file.take(length - list.min(length)).read_to_end(&mut bytes)?;
        hash.write(&bytes);
        Ok(Self { path: path.canonicalize()?, length, entries: hash.finish() })
    }
}

/// Most bytes of the texts whose descriptions are kept.
const TEXTS: usize = 64 << 20;

/// Descriptions with the lengths of their texts, and folders of unpacked archives.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    descriptions: BTreeMap<(Key, Structural), Arc<Description>>,
    texts: usize,
    folders: BTreeMap<(Key, Version), Weak<Contents>>,
}

impl Shelf {
    /// The one of this process.
    pub(super) fn lock() -> MutexGuard<'static, Self> {
        static SHELF: Mutex<Shelf> =
            Mutex::new(Shelf { descriptions: BTreeMap::new(), texts: 0, folders: BTreeMap::new() });
        SHELF.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn description(&self, key: &(Key, Structural)) -> Option<Arc<Description>> {
        self.descriptions.get(key).cloned()
    }

    /// Keeps a description whose text has so many bytes.
    pub(super) fn keep(
        &mut self,
        key: (Key, Structural),
        description: &Arc<Description>,
        text: usize,
    ) {
        if self.texts + text > TEXTS {
            self.descriptions.clear();
            self.texts = 0;
        }
        if text <= TEXTS {
            self.texts += text;
            self.descriptions.insert(key, Arc::clone(description));
        }
    }

    /// The folder of an archive: that which somebody has, or a new one.
    ///
    /// # Errors
    /// When it cannot be unpacked.
    pub(super) fn folder(
        &mut self,
        key: (Key, Version),
        unpack: impl FnOnce() -> Result<Contents, String>,
    ) -> Result<Arc<Contents>, String> {
        if let Some(folder) = self.folders.get(&key).and_then(Weak::upgrade) {
            return Ok(folder);
        }
        self.folders.retain(|_, folder| folder.strong_count() > 0);
        let folder = Arc::new(unpack()?);
        self.folders.insert(key, Arc::downgrade(&folder));
        Ok(folder)
    }
}
