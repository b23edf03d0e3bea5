//! The shipped scenarios of the papers, inside the program: an installed binary has no folder beside
//! it.
use crate::output::{OutputError, directory};
use std::{fs, path::Path};

/// Names below the library, and contents.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../library/", $name)))),*]
    };
}

/// Scenarios and what they include.
pub const SCENARIOS: &[(&str, &str)] = files! {
    "argesim/c21_ball_contact.toml"
    "argesim/c21_ball_event.toml"
    "argesim/c21_pendulum.toml"
    "argesim/c21_pendulum_kick.toml"
    "argesim/c21_rlc_approximated.toml"
    "argesim/c21_rlc_implicit.toml"
    "argesim/c21_rlc_shockley.toml"
    "argesim/c21_rlc_shortcut.toml"
    "papers/000_interrupted.toml"
    "papers/000_moving_walls.toml"
    "papers/001_event_driven.toml"
    "papers/001_exact.toml"
    "papers/001_pendulum.toml"
    "papers/002_as_printed.toml"
    "papers/002_dead_reckoning.toml"
    "papers/002_look_ahead.toml"
    "papers/003_exact.toml"
    "papers/003_hierarchical.toml"
    "papers/003_power_balanced.toml"
    "papers/003_three_masses.toml"
    "papers/003_zero_stability.toml"
    "papers/004_constraint.toml"
    "papers/004_exact.toml"
    "papers/004_lumped.toml"
    "papers/004_two_masses.toml"
    "papers/parts/three_masses.toml"
    "papers/parts/two_masses.toml"
    "thermostat.toml"
    "traffic_light.toml"
    "two_masses.toml"
};

/// What the papers print and what is expected of ours, one table for each document or part of one.
pub const EXPECTED: &[(&str, &str)] = files! {
    "papers/expected/000.toml"
    "papers/expected/001.toml"
    "papers/expected/002.toml"
    "papers/expected/003.toml"
    "papers/expected/003_c21.toml"
    "papers/expected/004.toml"
};

/// Writes the scenarios into a folder, where they can be run and changed.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> Result<(), OutputError> {
    for (name, text) in SCENARIOS {
        let file = folder.join(name);
        let parent = file.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(OutputError::at(parent))?;
        directory::replace(&file, text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario of the papers that is not embedded would be missing from an installed program.
    #[test]
    fn all_files_of_the_papers_are_embedded() {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library");
        for folder in ["argesim", "papers", "papers/parts", "papers/expected"] {
            for entry in fs::read_dir(library.join(folder)).unwrap().flatten() {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let known = SCENARIOS.iter().chain(EXPECTED).any(|f| f.0 == name);
                assert!(known || entry.path().is_dir(), "{name} is not embedded");
            }
        }
    }
}
