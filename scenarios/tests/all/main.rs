//! Tests of scenario files: reading, planning, messages.
#[cfg(feature = "study")]
mod asked;
mod coarse;
mod coupled_blocks;
mod guide;
mod jumps;
mod language;
mod measured;
mod names;
mod planning;
mod rejected;
mod remarks;
mod results;
mod results_of_formulas;
mod robust;
mod schema;
mod small;
#[cfg(feature = "study")]
mod study;
#[cfg(feature = "study")]
mod study_mistakes;
mod ticks;
mod wares;

use std::path::PathBuf;
use superdense::{Diagnostics, Overrides, Plan};

/// A folder of one test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("superdense-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.join(name);
        std::fs::write(&file, bytes).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Plans a scenario given as text.
pub fn plan_with(text: &str, sets: &[(&str, &str)]) -> Result<Plan, Diagnostics> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("plan{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let file = folder.write("scenario.toml", text);
    let sets: Vec<_> = sets.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    superdense::load(&file, &sets, &Overrides::default())
}

/// Plans a scenario given as text, without options.
pub fn plan(text: &str) -> Result<Plan, Diagnostics> {
    plan_with(text, &[])
}

/// Every message says what to do, in words of its own.
pub fn has_a_remedy(name: &str, mistake: &superdense::diagnostics::Mistake) {
    let help = &mistake.help;
    let vague =
        help.is_empty() || help.starts_with("see ") || help.contains("`superdense list` tells");
    assert!(!vague, "{name}: no remedy for: {}: {help}", mistake.message);
}

/// The scenarios under a folder of this package, in the order of their names.
pub fn scenarios(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.map(|e| e.unwrap().path()).collect())
        .unwrap_or_default();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    files
}
