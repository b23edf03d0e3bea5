//! Problems: scenario files of one unit `u` of equations, shipped in `benches/auto` or drawn.
use super::drawn;
use std::path::{Path, PathBuf};

/// A scenario whose unit `u` is solved by `auto`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of its file, without the ending.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

impl Problem {
    /// Problems in `benches/auto`, by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn shipped() -> Result<Vec<Self>, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("auto");
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let scenario = |file: &PathBuf| file.extension().is_some_and(|e| e == "toml");
        let mut all: Vec<Self> = files.filter(scenario).map(Self::of).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn of(file: PathBuf) -> Self {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, file }
    }

    /// So many random ones, written into a folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn drawn(seed: u64, count: u64, folder: &Path) -> Result<Vec<Self>, String> {
        let file = |k: u64| {
            let file = folder.join(format!("drawn-{seed}-{k}.toml"));
            std::fs::write(&file, drawn::scenario(seed, k))
                .map_err(|e| format!("{}: {e}", file.display()))?;
            Ok(Self::of(file))
        };
        (0..count).map(file).collect()
    }
}
