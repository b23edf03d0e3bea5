//! The `.fmu` file: a zip archive with a description, binaries and resources.
use super::{
    description::{
        Description, Interface, InterfaceKind, Structural, Version,
        terminals::{self, Terminal},
    },
    shelf::{Key, Shelf},
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Once, PoisonError},
};
use superdense_models::kinds::files;
use tempfile::TempDir;
use zip::ZipArchive;

/// Most bytes that an archive may unpack to.
const UNPACKED: u64 = 2 << 30;
/// Most bytes of a model description.
const DESCRIPTION: u64 = 256 << 20;

fn open(path: &Path) -> Result<ZipArchive<File>, String> {
    open_as(path).map(|(archive, _)| archive)
}

/// An archive, and what tells it from others.
fn open_as(path: &Path) -> Result<(ZipArchive<File>, Key), String> {
    let file = files::open(path, UNPACKED).map_err(|e| e.to_string())?;
    let own = file.try_clone().map_err(|e| e.to_string())?;
    let archive = ZipArchive::new(file).map_err(|e| format!("no zip archive: {e}"))?;
    let key = Key::new(path, &own, archive.central_directory_start());
    Ok((archive, key.map_err(|e| e.to_string())?))
}

/// Reads the model description of an FMU without unpacking it.
///
/// # Errors
/// When the file is no FMU of FMI 2.0 or 3.0.
pub fn describe(path: &Path) -> Result<Arc<Description>, String> {
    describe_with(path, &Structural::new())
}

/// Reads it with structural parameters of its user's.
///
/// # Errors
/// As [`describe`], and when it has no such parameters.
pub fn describe_with(path: &Path, structure: &Structural) -> Result<Arc<Description>, String> {
    let (mut archive, key) = open_as(path)?;
    let key = (key, structure.clone());
    if let Some(known) = Shelf::lock().description(&key) {
        return Ok(known);
    }
    let entry = archive
        .by_name("modelDescription.xml")
        .map_err(|e| format!("no modelDescription.xml in the archive: {e}"))?;
    let mut bytes = Vec::new();
    let read = entry.take(DESCRIPTION).read_to_end(&mut bytes).map_err(|e| e.to_string());
    let text = read.and_then(|_| decoded(bytes));
    let description = text.and_then(|text| {
        let description = Arc::new(Description::read_with(&text, structure)?);
        Shelf::lock().keep(key, &description, text.len());
        Ok(description)
    });
    description.map_err(|e| format!("modelDescription.xml: {e}"))
}

/// The terminals of an FMU; none where its archive has no file of them.
///
/// # Errors
/// When that has mistakes.
pub(super) fn terminals(path: &Path) -> Result<Vec<Terminal>, String> {
    const FILE: &str = "terminalsAndIcons/terminalsAndIcons.xml";
    let mut archive = open(path)?;
    let Ok(entry) = archive.by_name(FILE) else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    let read = entry.take(DESCRIPTION).read_to_end(&mut bytes).map_err(|e| e.to_string());
    let text = read.and_then(|_| decoded(bytes));
    text.and_then(|text| terminals::read(&text)).map_err(|e| format!("{FILE}: {e}"))
}

/// The text of a description. FMI wants UTF-8; older tools write ISO-8859-1, and say so.
fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    let latin = |bytes: &[u8]| {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_ascii_lowercase();
        let declared =
            head.split("encoding=").nth(1).and_then(|rest| rest.split(['"', '\'']).nth(1));
        declared == Some("iso-8859-1")
    };
    String::from_utf8(bytes).or_else(|e| {
        let bytes = e.into_bytes();
        if !latin(&bytes) {
            return Err(
                "it is not in UTF-8, nor does it say that it is in ISO-8859-1; save it in UTF-8"
                    .to_owned(),
            );
        }
        // The first 256 characters of Unicode are those of ISO-8859-1.
        Ok(bytes.into_iter().map(char::from).collect())
    })
}

/// The folder of binaries for this machine (FMI 2.0.4, 2.3; FMI 3.0, 2.5.1.4.1), and their ending.
pub(super) fn platform(version: Version) -> (String, &'static str) {
    use std::env::consts::{ARCH, DLL_EXTENSION, OS};
    let mac = cfg!(target_os = "macos");
    let tuple = match version {
        Version::V3 => format!("{ARCH}-{}", if mac { "darwin" } else { OS }),
        Version::V2 if mac => "darwin64".to_owned(),
        Version::V2 => match (OS, ARCH) {
            ("windows", _) => "win64".to_owned(),
            ("linux", "x86_64") => "linux64".to_owned(),
            _ => format!("{ARCH}-{OS}"),
        },
    };
    (tuple, DLL_EXTENSION)
}

/// The machines that an archive has binaries for, in the order of their names.
///
/// # Errors
/// When the archive cannot be read.
pub fn contents(path: &Path) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = binaries(path)?.into_iter().map(|(platform, _)| platform).collect();
    all.dedup();
    Ok(all)
}

/// The machines and names of the binaries of an archive, in their order.
///
/// # Errors
/// When the archive cannot be read.
pub(super) fn binaries(path: &Path) -> Result<Vec<(String, String)>, String> {
    let archive = open(path)?;
    let mut all: Vec<(String, String)> = archive
        .file_names()
        .filter_map(|name| {
            let name = name.ok()?;
            let (platform, file) = name.strip_prefix("binaries/")?.split_once('/')?;
            (!file.is_empty()).then(|| (platform.to_owned(), file.to_owned()))
        })
        .collect();
    all.sort();
    Ok(all)
}

/// Beginning of the names of unpacked folders; the process follows.
const PREFIX: &str = "superdense-fmu-";

/// Removes the folders of processes that ended without doing so. Where it cannot be told whether a
/// process lives, nothing is removed.
fn sweep() {
    let processes = Path::new("/proc");
    let Ok(list) = fs::read_dir(std::env::temp_dir()) else { return };
    if !processes.join("self").exists() {
        return;
    }
    for entry in list.flatten() {
        let name = entry.file_name();
        let pid =
            name.to_str().and_then(|n| n.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok());
        if let Some(pid) = pid.filter(|pid: &u32| !processes.join(pid.to_string()).exists()) {
            let _ = (pid, fs::remove_dir_all(entry.path()));
        }
    }
}

/// An FMU unpacked into a folder, which goes with the last instance of the FMU.
#[derive(Debug, Clone)]
pub struct Unpacked(Arc<Contents>);

/// An unpacked archive.
#[derive(Debug)]
pub(super) struct Contents {
    folder: TempDir,
    /// Machines that the archive has binaries for.
    platforms: Vec<String>,
    /// Results of the trials of its interfaces.
    found: Mutex<BTreeMap<InterfaceKind, Option<String>>>,
}

impl Contents {
    fn new(mut archive: ZipArchive<File>, version: Version) -> Result<Self, String> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let folder = TempDir::with_prefix(prefix).map_err(|e| e.to_string())?;
        let (tuple, _) = platform(version);
        let (mut left, binaries) = (UNPACKED, Path::new("binaries").join(tuple));
        let mut platforms: Vec<String> = Vec::new();
        for i in 0..archive.len() {
            let entry = archive.by_index(i).map_err(|e| e.to_string())?;
            let name = entry.name().map_err(|e| e.to_string())?.into_owned();
            let Some(inside) = entry.enclosed_name() else {
                return Err(format!("the entry {name:?} leads out of the archive"));
            };
            let mut parts = inside.iter().filter_map(|p| p.to_str());
            if let (Some("binaries"), Some(platform)) = (parts.next(), parts.next())
                && !platforms.iter().any(|p| p == platform)
            {
                platforms.push(platform.to_owned());
            }
            if entry.is_dir() || !(inside.starts_with(&binaries) || inside.starts_with("resources"))
            {
                continue;
            }
            let target = folder.path().join(inside);
            let failed = |e: std::io::Error| format!("{name}: {e}");
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            let mut file = File::create(target).map_err(failed)?;
            let copied = std::io::copy(&mut entry.take(left + 1), &mut file).map_err(failed)?;
            file.flush().map_err(failed)?;
            left = left.checked_sub(copied).ok_or("the archive unpacks to more than 2 GiB")?;
        }
        Ok(Self { folder, platforms, found: Mutex::default() })
    }
}

impl Unpacked {
    /// Unpacks the binaries of this platform and the resources, unless another instance has them.
    ///
    /// # Errors
    /// When the archive is broken, leads out of its folder, or is too large.
    pub fn new(path: &Path, version: Version) -> Result<Self, String> {
        let (archive, key) = open_as(path)?;
        let unpack = || Contents::new(archive, version);
        Shelf::lock().folder((key, version), unpack).map(Self)
    }

    /// The result of a trial of an interface, which is made once.
    pub(super) fn once(
        &self,
        kind: InterfaceKind,
        trial: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let mut found = self.0.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.entry(kind).or_insert_with(trial).clone()
    }

    /// The folder of resources; made if the archive has none.
    pub fn resources(&self) -> PathBuf {
        let path = self.0.folder.path().join("resources");
        // Without it an FMU with resources says what it misses.
        let _ = fs::create_dir_all(&path);
        path
    }

    /// A folder for one instance alone, in which a worker works.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn workplace(&self) -> Result<TempDir, String> {
        TempDir::with_prefix_in("worker-", self.0.folder.path()).map_err(|e| e.to_string())
    }

    /// The binary for this machine.
    ///
    /// # Errors
    /// When there is none.
    pub fn binary(&self, version: Version, interface: &Interface) -> Result<PathBuf, String> {
        let (tuple, ending) = platform(version);
        let name = format!("{}.{ending}", interface.identifier);
        let path = self.0.folder.path().join("binaries").join(&tuple).join(&name);
        if !path.is_file() {
            let there = match self.0.platforms.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are those for {}", self.0.platforms.join(", ")),
            };
            return Err(format!(
                "the FMU has no binary binaries/{tuple}/{name} for this machine ({there}); export \
                 it with one"
            ));
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn descriptions_say_in_which_letters_they_are() {
        let with = |encoding: &str, name: &[u8]| {
            let head = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>");
            decoded([head.as_bytes(), name].concat())
        };
        let latin = b"<a name=\"\xd6lf\xf6rderung\"/>";
        assert!(with("ISO-8859-1", latin).unwrap().ends_with("<a name=\"Ölförderung\"/>"));
        assert!(with("UTF-8", "<a name=\"Ö\"/>".as_bytes()).unwrap().ends_with("<a name=\"Ö\"/>"));
        assert!(with("UTF-8", latin).unwrap_err().contains("save it in UTF-8"));
    }
}
