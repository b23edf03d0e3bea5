//! The results of a run in their directory: what may be written, replaced and removed there.
//!
//! Everything that a run writes goes through here, and is told to the [manifest](super::manifest) first.
//! A name that is taken by anything but a file of the run is left alone and refused, with `--force` too.
use super::{
    OutputError,
    directory::{self, CHECKPOINT, FILES, SUMMARY},
    manifest::{Entry, Found, MANIFEST, Manifest},
    table::Table,
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Folders of tightened runs: this and a number.
pub const TIGHTENED: &str = "tightened-";
/// Folders of tightened runs by a second family of methods.
pub const SECOND_FAMILY: &str = "second-family-";
/// The folder of a run with permuted messages, as long as it lasts.
pub const PERMUTED: &str = "permuted";
/// First bytes of a checkpoint; the number of its run follows.
pub const MAGIC: &[u8; 8] = b"SDENSE\0R";

/// The results of a run; clones are the same results.
#[derive(Debug, Clone)]
pub struct Results {
    dir: PathBuf,
    manifest: Arc<Mutex<Manifest>>,
}

impl Results {
    /// Makes a directory ready for a new run of a scenario, and removes the results of the run before.
    ///
    /// # Errors
    /// When it has something else in it and `force` is not given; when a name that a run may write is
    /// taken by a file that no run wrote, or that was changed since. Nothing is removed then.
    pub fn prepare(dir: &Path, scenario: &Path, force: bool) -> Result<Self, OutputError> {
        fs::create_dir_all(dir).map_err(OutputError::at(dir))?;
        let scenario = scenario.canonicalize().unwrap_or_else(|_| scenario.to_owned());
        let scenario = scenario.to_string_lossy().into_owned();
        let before = Manifest::read(dir)?;
        let refused = match &before {
            None if entries(dir)?.is_empty() => None,
            None => Some(
                "is not empty, and not the results of a run; choose another directory with \
                          --out, or write beside these files with --force"
                    .to_owned(),
            ),
            Some(m) if m.scenario != scenario => Some(format!(
                "holds the results of {}; choose another directory with --out, or replace them with \
                 --force",
                m.scenario
            )),
            Some(_) => None,
        };
        if let Some(why) = refused.filter(|_| !force) {
            return Err(OutputError::refused(dir, &why));
        }
        Self::renew(dir, before, Manifest::new(scenario, None))
    }

    /// The directory of what is not one run, with whatever was put there before.
    ///
    /// # Errors
    /// When it holds anything else.
    pub fn collect(dir: &Path, what: &str) -> Result<Self, OutputError> {
        fs::create_dir_all(dir).map_err(OutputError::at(dir))?;
        match Manifest::read(dir)? {
            Some(m) if m.scenario == what => Ok(Self::of(dir, m)),
            None if entries(dir)?.is_empty() => {
                let this = Self::of(dir, Manifest::new(what.to_owned(), None));
                this.save(&this.manifest())?;
                Ok(this)
            }
            _ => {
                let why =
                    format!("holds other files than those of {what}; choose another directory");
                Err(OutputError::refused(dir, &why))
            }
        }
    }

    /// The results that stand in a directory.
    ///
    /// # Errors
    /// When there are none.
    pub fn open(dir: &Path) -> Result<Self, OutputError> {
        let found = Manifest::read(dir)?;
        let why = "has no manifest.json, so that it is not known which files are results of a run; name \
                   the output directory of a run, or restore the file";
        Ok(Self::of(dir, found.ok_or_else(|| OutputError::refused(dir, why))?))
    }

    fn of(dir: &Path, manifest: Manifest) -> Self {
        Self { dir: dir.to_owned(), manifest: Arc::new(Mutex::new(manifest)) }
    }

    fn renew(dir: &Path, before: Option<Manifest>, next: Manifest) -> Result<Self, OutputError> {
        let mut foreign = Vec::new();
        survey(dir, before.as_ref(), &mut foreign)?;
        if let Some((file, why)) = foreign.first() {
            let more = match foreign.len() {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            };
            let why = format!(
                "{why}{more}; a run replaces nothing but unchanged files of its own: move it away, or \
                 choose another directory with --out"
            );
            return Err(OutputError::refused(file, &why));
        }
        if let Some(before) = before {
            clear(dir, &before)?;
        }
        let this = Self::of(dir, next);
        this.save(&this.manifest())?;
        Ok(this)
    }

    fn manifest(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the run.
    pub fn run(&self) -> String {
        self.manifest().run.clone()
    }

    /// The files so far.
    pub fn files(&self) -> BTreeMap<String, Entry> {
        self.manifest().files.clone()
    }

    fn save(&self, manifest: &Manifest) -> Result<(), OutputError> {
        let file = self.dir.join(MANIFEST);
        if fs::symlink_metadata(&file).is_ok_and(|m| !m.is_file()) {
            return Err(OutputError::refused(&file, "is no regular file; move it away"));
        }
        directory::replace_by(&file, &manifest.to_json(), &part(MANIFEST, &manifest.run))
    }

    /// Puts files in place, whole and in this order. Files of the run with these names are replaced.
    ///
    /// # Errors
    /// When a name is taken by something else, or a file cannot be written.
    pub fn put(&self, files: &[(&str, &[u8])]) -> Result<(), OutputError> {
        let mut manifest = self.manifest();
        let mut fresh = Vec::new();
        for (name, bytes) in files {
            let entry = Entry::of(bytes);
            if manifest.files.get(*name) == Some(&entry)
                && entry.found(&self.dir.join(name))? == Found::Own
            {
                continue;
            }
            self.release(&manifest, name)?;
            manifest.files.insert((*name).to_owned(), entry);
            fresh.push((name, bytes));
        }
        if fresh.is_empty() {
            return Ok(());
        }
        self.save(&manifest)?;
        for (name, bytes) in fresh {
            let file = self.dir.join(name);
            self.folders_of(name)?;
            let last = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
            directory::replace_by(&file, bytes, &part(&last, &manifest.run))?;
        }
        Ok(())
    }

    /// Makes the folders above a file; links are not followed.
    fn folders_of(&self, name: &str) -> Result<(), OutputError> {
        let mut folder = self.dir.clone();
        for part in Path::new(name).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            make_folder(&folder)?;
        }
        Ok(())
    }

    /// New tables with header lines.
    ///
    /// # Errors
    /// When a name is taken, or a table cannot be written.
    pub fn tables<const N: usize>(
        &self,
        tables: [(&str, &str); N],
    ) -> Result<[Table; N], OutputError> {
        let mut manifest = self.manifest();
        for (name, header) in tables {
            self.release(&manifest, name)?;
            let first = Entry::of(format!("{header}\n").as_bytes());
            manifest.files.insert(name.to_owned(), Entry { grows: true, ..first });
        }
        self.save(&manifest)?;
        let mut made = Vec::new();
        for (name, header) in tables {
            self.folders_of(name)?;
            made.push(Table::create(&self.dir, name, header)?);
        }
        made.try_into().map_err(|_| OutputError::refused(&self.dir, "a table is missing"))
    }

    /// A table of the run, cut to the length that the manifest tells.
    ///
    /// # Errors
    /// When it is none, or was changed.
    pub fn reopen(&self, name: &str) -> Result<Table, OutputError> {
        let file = self.dir.join(name);
        let entry = self.manifest().files.get(name).cloned();
        let missing = || OutputError::refused(&file, "is no table of the run; start a new run");
        Table::reopen(&self.dir, name, &entry.ok_or_else(missing)?)
    }

    /// Tells how far tables have come.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn note(
        &self,
        entries: impl IntoIterator<Item = (String, Entry)>,
    ) -> Result<(), OutputError> {
        let mut manifest = self.manifest();
        manifest.files.extend(entries);
        self.save(&manifest)
    }

    /// Puts the checkpoint in place of the one before. It is known by the number of the run that it
    /// begins with, so that it can be replaced without a moment in which the manifest is wrong.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be written.
    pub fn put_checkpoint(&self, bytes: &[u8]) -> Result<PathBuf, OutputError> {
        let (file, run) = (self.dir.join(CHECKPOINT), self.run());
        own(&file, checkpoint(&file, &run)?)?;
        directory::replace_by(&file, bytes, &part(CHECKPOINT, &run))?;
        Ok(file)
    }

    /// Removes files of the run that may be missing.
    ///
    /// # Errors
    /// When a name is taken by something else.
    pub fn remove(&self, names: &[&str]) -> Result<(), OutputError> {
        let mut manifest = self.manifest();
        for name in names {
            self.release(&manifest, name)?;
            manifest.files.remove(*name);
        }
        self.save(&manifest)
    }

    /// Removes a file of the run, if there is one; whatever else has its name is refused.
    fn release(&self, manifest: &Manifest, name: &str) -> Result<(), OutputError> {
        let file = self.dir.join(name);
        let found = match name {
            CHECKPOINT => checkpoint(&file, &manifest.run)?,
            _ => found(manifest, &self.dir, name)?,
        };
        own(&file, found)?;
        directory::remove(&file)
    }

    /// Goes back to the files of a checkpoint: they must be as they were, up to what tables grew since.
    /// Later files are removed. Nothing is touched when anything is refused.
    ///
    /// # Errors
    /// When a file differs from what it was, or a name is taken by something else.
    pub fn go_back(&self, run: &str, files: &BTreeMap<String, Entry>) -> Result<(), OutputError> {
        let mut manifest = self.manifest();
        if manifest.run != run {
            let why =
                "holds the results of another run than that of the checkpoint; start a new run";
            return Err(OutputError::refused(&self.dir, why));
        }
        for (name, entry) in files {
            let file = self.dir.join(name);
            let why = match entry.found(&file)? {
                // Whatever is written whole is written again.
                Found::Nothing if !entry.grows && !name.ends_with(".parquet") => continue,
                Found::Nothing => "is missing",
                Found::Own if several_names(&file) => {
                    "has a second name (hard link), which would grow, too"
                }
                Found::Own if entry.sum(&file)?.is_some() => continue,
                Found::Own => "is empty",
                Found::Foreign(why) => why,
            };
            let why = format!(
                "{why}, and is not what the checkpoint goes on from; restore it, or start a new run"
            );
            return Err(OutputError::refused(&file, &why));
        }
        let later: Vec<String> =
            manifest.files.keys().filter(|name| !files.contains_key(*name)).cloned().collect();
        for name in &later {
            let file = self.dir.join(name);
            own(&file, found(&manifest, &self.dir, name)?)?;
        }
        for name in &later {
            directory::remove(&self.dir.join(name))?;
        }
        manifest.files.clone_from(files);
        self.save(&manifest)
    }

    /// A folder inside, ready for a run of its own.
    ///
    /// # Errors
    /// When the name is taken, or the folder holds files that are not of such a run.
    pub fn folder(&self, name: &str) -> Result<Self, OutputError> {
        let dir = self.dir.join(name);
        let mut manifest = self.manifest();
        if manifest.folders.insert(name.to_owned()) {
            self.save(&manifest)?;
        }
        self.folders_of(name)?;
        make_folder(&dir)?;
        let next = Manifest::new(manifest.scenario.clone(), Some(manifest.run.clone()));
        match Manifest::read(&dir)? {
            Some(before) if before.within.as_ref() != Some(&manifest.run) => {
                let why =
                    "holds the results of another run; move it away, or choose another directory";
                Err(OutputError::refused(&dir, why))
            }
            before => Self::renew(&dir, before, next),
        }
    }

    /// Removes a folder inside, with all files of its run.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove_folder(&self, name: &str) -> Result<(), OutputError> {
        let mut manifest = self.manifest();
        clear_folder(&self.dir.join(name), &manifest.run)?;
        manifest.folders.remove(name);
        self.save(&manifest)
    }
}

/// The name of a file that is not yet complete.
fn part(name: &str, run: &str) -> String {
    format!(".{name}.{run}.part")
}

fn own(file: &Path, found: Found) -> Result<(), OutputError> {
    match found {
        Found::Foreign(why) => {
            let why = format!("{why}; it is left as it is: move it away");
            Err(OutputError::refused(file, &why))
        }
        _ => Ok(()),
    }
}

/// Makes one folder, unless it is there; a link to one is none.
fn make_folder(folder: &Path) -> Result<(), OutputError> {
    match fs::symlink_metadata(folder) {
        Ok(m) if m.is_dir() => Ok(()),
        Ok(_) => Err(OutputError::refused(folder, "is no folder; move it away")),
        Err(_) => fs::create_dir(folder).map_err(OutputError::at(folder)),
    }
}

/// The thing that stands under a name of a run's files.
fn found(manifest: &Manifest, dir: &Path, name: &str) -> Result<Found, OutputError> {
    let file = dir.join(name);
    match manifest.files.get(name) {
        Some(entry) => entry.found(&file),
        None if fs::symlink_metadata(&file).is_err() => Ok(Found::Nothing),
        None => Ok(Found::Foreign("was not written by the run whose results are here")),
    }
}

/// Whether a checkpoint is that of a run.
fn checkpoint(file: &Path, run: &str) -> Result<Found, OutputError> {
    use std::io::Read;
    let mut start = Vec::new();
    match fs::symlink_metadata(file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Ok(m) if m.is_file() => {
            let open = fs::File::open(file).map_err(OutputError::at(file))?;
            open.take(24).read_to_end(&mut start).map_err(OutputError::at(file))?;
        }
        _ => return Ok(Found::Foreign("is no regular file")),
    }
    Ok(match start.strip_prefix(MAGIC.as_slice()) {
        Some(number) if number == run.as_bytes() => Found::Own,
        _ => Found::Foreign("is no checkpoint of the run whose results are here"),
    })
}

#[cfg(unix)]
fn several_names(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(file).is_ok_and(|m| m.nlink() > 1)
}

#[cfg(not(unix))]
fn several_names(_: &Path) -> bool {
    false
}

/// The names in a directory, in order.
fn entries(dir: &Path) -> Result<Vec<String>, OutputError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(OutputError::at(dir))? {
        names.push(entry.map_err(OutputError::at(dir))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Whether a run may write a file or folder of this name.
fn reserved(name: &str) -> bool {
    let numbered = |start: &str, end: &str| {
        let digits = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
    };
    FILES.contains(&name)
        || name == PERMUTED
        || numbered(TIGHTENED, "")
        || numbered(SECOND_FAMILY, "")
        || numbered("trajectory-", ".parquet")
}

/// Lists what stands in the way of a new run: names that it may write, and that are taken by anything
/// but files of the run before.
fn survey(
    dir: &Path,
    before: Option<&Manifest>,
    foreign: &mut Vec<(PathBuf, &'static str)>,
) -> Result<(), OutputError> {
    let none = Manifest::new(String::new(), None);
    let before = before.unwrap_or(&none);
    for name in entries(dir)? {
        let path = dir.join(&name);
        if before.folders.contains(&name) {
            survey_folder(&path, &before.run, foreign)?;
            continue;
        }
        let found = match &*name {
            CHECKPOINT => checkpoint(&path, &before.run)?,
            _ if reserved(&name) || before.files.contains_key(&name) => found(before, dir, &name)?,
            _ => continue,
        };
        if let Found::Foreign(why) = found {
            foreign.push((path, why));
        }
    }
    Ok(())
}

fn survey_folder(
    folder: &Path,
    run: &str,
    foreign: &mut Vec<(PathBuf, &'static str)>,
) -> Result<(), OutputError> {
    if !fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir()) {
        foreign.push((folder.to_owned(), "is no folder"));
        return Ok(());
    }
    match Manifest::read(folder)? {
        Some(m) if m.within.as_deref() == Some(run) => survey(folder, Some(&m), foreign),
        None if entries(folder)?.is_empty() => Ok(()),
        _ => {
            let why = "was not made by the run whose results are here";
            foreign.push((folder.to_owned(), why));
            Ok(())
        }
    }
}

/// Removes the files of a run that was surveyed, and leaves all others.
fn clear(dir: &Path, manifest: &Manifest) -> Result<(), OutputError> {
    // The summary goes first: while it is there, the directory holds a complete run.
    let names = manifest.files.keys().map(String::as_str);
    for name in [SUMMARY].into_iter().chain(names) {
        if found(manifest, dir, name)? == Found::Own {
            directory::remove(&dir.join(name))?;
        }
    }
    let file = dir.join(CHECKPOINT);
    if checkpoint(&file, &manifest.run)? == Found::Own {
        directory::remove(&file)?;
    }
    let unfinished = part("", &manifest.run).split_off(1);
    for name in entries(dir)?.iter().filter(|name| name.ends_with(&unfinished)) {
        let file = dir.join(name);
        if fs::symlink_metadata(&file).is_ok_and(|m| m.is_file()) {
            directory::remove(&file)?;
        }
    }
    for name in &manifest.folders {
        clear_folder(&dir.join(name), &manifest.run)?;
    }
    Ok(())
}

/// Removes the files of a folder of a run, and the folder if nothing else is in it.
fn clear_folder(folder: &Path, run: &str) -> Result<(), OutputError> {
    if !fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir()) {
        return Ok(());
    }
    if let Some(manifest) = Manifest::read(folder)? {
        if manifest.within.as_deref() != Some(run) {
            return Ok(());
        }
        clear(folder, &manifest)?;
        directory::remove(&folder.join(MANIFEST))?;
    }
    let _ = fs::remove_dir(folder);
    Ok(())
}
