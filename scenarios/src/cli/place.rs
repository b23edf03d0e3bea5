//! Files that options name: nothing is replaced that its owner may want to keep.
use super::{Done, report::Stop};
use crate::output::{directory, explained};
use std::path::Path;

/// Writes a file, whole or not at all; another file of this name stays without `force`.
pub(super) fn write(file: &Path, bytes: &[u8], force: bool) -> Done {
    if file.exists() && !force {
        let why = format!("{} is there already; add --force to replace it", file.display());
        return Err(Stop::usage(why));
    }
    if file.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        // A link, a pipe or a device is written to, not replaced.
        let told = |e: &std::io::Error| format!("{}: {}", file.display(), explained(e));
        return std::fs::write(file, bytes).map_err(|e| Stop::usage(told(&e)));
    }
    Ok(directory::replace(file, bytes)?)
}

/// Refuses to replace a file that has not the ending of what is written.
pub(super) fn ends(file: &Path, ending: &str) -> Done {
    if file.exists() && file.extension().is_none_or(|e| e != ending) && file.is_file() {
        let why = format!(
            "{} is there already, and is no .{ending} file; name one that ends with .{ending}",
            file.display()
        );
        return Err(Stop::usage(why));
    }
    Ok(())
}
