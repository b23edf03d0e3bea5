//! The `.fmu` file: a zip archive with a description, binaries and resources.
use super::{description::Description, library::Functions};
use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};
use superdense_models::kinds::files;
use tempfile::TempDir;
use zip::ZipArchive;

/// Most bytes that an archive may unpack to.
const UNPACKED: u64 = 2 << 30;
/// Most bytes of a model description.
const DESCRIPTION: u64 = 256 << 20;

fn open(path: &Path) -> Result<ZipArchive<File>, String> {
    let file = files::open(path, UNPACKED).map_err(|e| e.to_string())?;
    ZipArchive::new(file).map_err(|e| format!("no zip archive: {e}"))
}

/// Reads the model description of an FMU without unpacking it.
///
/// # Errors
/// When the file is no FMU for co-simulation in FMI 3.0.
pub fn describe(path: &Path) -> Result<Description, String> {
    let mut archive = open(path)?;
    let entry = archive
        .by_name("modelDescription.xml")
        .map_err(|e| format!("no modelDescription.xml in the archive: {e}"))?;
    let mut text = String::new();
    let read = entry.take(DESCRIPTION).read_to_string(&mut text);
    read.map_err(|e| format!("modelDescription.xml: {e}"))?;
    Description::read(&text).map_err(|e| format!("modelDescription.xml: {e}"))
}

/// The tuple of FMI 3.0 (2.5.1.4.1) for this machine, and the ending of binaries.
fn platform() -> (String, &'static str) {
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    (format!("{}-{os}", std::env::consts::ARCH), std::env::consts::DLL_EXTENSION)
}

/// An FMU unpacked into a folder of its own, which goes with it.
#[derive(Debug)]
pub struct Unpacked {
    folder: TempDir,
}

impl Unpacked {
    /// Unpacks the binaries of this platform and the resources.
    ///
    /// # Errors
    /// When the archive is broken, leads out of its folder, or is too large.
    pub fn new(path: &Path) -> Result<Self, String> {
        let folder = TempDir::with_prefix("superdense-fmu-").map_err(|e| e.to_string())?;
        let mut archive = open(path)?;
        let (tuple, _) = platform();
        let (mut left, binaries) = (UNPACKED, Path::new("binaries").join(tuple));
        for i in 0..archive.len() {
            let entry = archive.by_index(i).map_err(|e| e.to_string())?;
            let name = entry.name().map_err(|e| e.to_string())?.into_owned();
            let Some(inside) = entry.enclosed_name() else {
                return Err(format!("the entry {name:?} leads out of the archive"));
            };
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
        Ok(Self { folder })
    }

    /// The folder of resources; made if the archive has none.
    pub fn resources(&self) -> PathBuf {
        let path = self.folder.path().join("resources");
        // Without it an FMU with resources says what it misses.
        let _ = fs::create_dir_all(&path);
        path
    }

    /// Loads the binary for this machine.
    ///
    /// # Errors
    /// When there is none, or it cannot be loaded.
    pub fn load(&self, identifier: &str) -> Result<Functions, String> {
        let (tuple, ending) = platform();
        let name = format!("{identifier}.{ending}");
        let path = self.folder.path().join("binaries").join(&tuple).join(&name);
        if !path.is_file() {
            return Err(format!(
                "the FMU has no binary binaries/{tuple}/{name} for this machine; export it with one"
            ));
        }
        Functions::load(&path)
    }
}
