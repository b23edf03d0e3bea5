//! The shipped scenarios of the papers, inside the program: an installed binary has no folder beside
//! it.
use crate::output::{OutputError, results::Results};

/// Names in the folder of this package, and contents.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../", $name)))),*]
    };
}

/// Scenarios and what they include.
pub const SCENARIOS: &[(&str, &str)] = files! {
    "library/argesim/c11_collision.toml"
    "library/argesim/c11_explicit.toml"
    "library/argesim/c11_implicit.toml"
    "library/argesim/c11_tracking.toml"
    "library/argesim/c11_units.toml"
    "library/argesim/c21_ball_contact.toml"
    "library/argesim/c21_ball_event.toml"
    "library/argesim/c21_pendulum.toml"
    "library/argesim/c21_pendulum_kick.toml"
    "library/argesim/c21_rlc_approximated.toml"
    "library/argesim/c21_rlc_implicit.toml"
    "library/argesim/c21_rlc_shockley.toml"
    "library/argesim/c21_rlc_shortcut.toml"
    "library/papers/000_interrupted.toml"
    "library/papers/000_moving_walls.toml"
    "library/papers/001_event_driven.toml"
    "library/papers/001_exact.toml"
    "library/papers/001_pendulum.toml"
    "library/papers/002_as_printed.toml"
    "library/papers/002_dead_reckoning.toml"
    "library/papers/002_look_ahead.toml"
    "library/papers/002_micro_steps.toml"
    "library/papers/003_exact.toml"
    "library/papers/003_hierarchical.toml"
    "library/papers/003_power_balanced.toml"
    "library/papers/003_three_masses.toml"
    "library/papers/003_tooth.toml"
    "library/papers/003_tooth_limit.toml"
    "library/papers/003_zero_stability.toml"
    "library/papers/004_bonds.toml"
    "library/papers/004_boundary_condition.toml"
    "library/papers/004_constraint.toml"
    "library/papers/004_exact.toml"
    "library/papers/004_lumped.toml"
    "library/papers/004_two_masses.toml"
    "library/ses/feedforward.json"
    "parts/control.toml"
    "parts/electrical.toml"
    "parts/rotation.toml"
    "parts/scara.toml"
    "parts/thermal.toml"
    "parts/three_masses.toml"
    "parts/translation.toml"
    "parts/two_masses.toml"
    "library/thermostat.toml"
    "library/traffic_light.toml"
    "library/two_masses.toml"
};

/// All figures, tables and results of the papers, with where they are shown.
pub const INDEX: &str = include_str!("../expected/index.toml");

/// Numbers that the papers print and that ours must come to, one table for each document or part of
/// one.
pub const EXPECTED: &[(&str, &str)] = files! {
    "expected/000.toml"
    "expected/001.toml"
    "expected/002.toml"
    "expected/003.toml"
    "expected/003_c11.toml"
    "expected/003_c21.toml"
    "expected/003_ses.toml"
    "expected/003_tooth.toml"
    "expected/004.toml"
};

/// Writes the scenarios into a folder of results, where they can be run.
///
/// # Errors
/// When a file was changed there, or cannot be written.
pub fn write(results: &Results, folder: &str) -> Result<(), OutputError> {
    let names: Vec<String> = SCENARIOS.iter().map(|(name, _)| format!("{folder}/{name}")).collect();
    let texts = SCENARIOS.iter().map(|(_, text)| text.as_bytes());
    let files: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(texts).collect();
    results.put(&files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    /// A scenario of the papers that is not embedded would be missing from an installed program.
    #[test]
    fn all_files_of_the_papers_are_embedded() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        for folder in ["library/argesim", "library/papers", "library/ses", "parts", "expected"] {
            for entry in fs::read_dir(package.join(folder)).unwrap().flatten() {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                // The index is embedded beside the tables.
                let index = name == "expected/index.toml" && INDEX.contains("[[");
                let known = index || SCENARIOS.iter().chain(EXPECTED).any(|f| f.0 == name);
                assert!(known || entry.path().is_dir(), "{name} is not embedded");
            }
        }
    }
}
