//! `fmu`.
use super::{
    Done,
    report::{Console, Stop},
};
use clap::Subcommand;
use serde_json::json;
use std::path::{Path, PathBuf};
use superdense_adapters::fmi::report::{self, Verdict};

/// Commands about one FMU.
#[derive(Debug, Subcommand)]
pub(super) enum FmuCommand {
    /// Interfaces and abilities, ports, parameters.
    Info {
        /// The FMU.
        file: PathBuf,
    },
    /// Problems that keep the FMU from running here, or break the standard.
    Check {
        /// The FMU.
        file: PathBuf,
    },
}

/// `superdense fmu info|check FILE`.
pub(super) fn fmu(console: &Console, command: &FmuCommand) -> Done {
    let failed = |file: &Path, why: String| Stop::usage(format!("{}: {why}", file.display()));
    match command {
        FmuCommand::Info { file } => {
            let info = report::info(file).map_err(|why| failed(file, why))?;
            console.say(&info.text(), || json!({ "command": "fmu info", "fmu": info }));
            Ok(())
        }
        FmuCommand::Check { file } => {
            let Verdict { problems, remarks } =
                report::check(file).map_err(|why| failed(file, why))?;
            if !problems.is_empty() {
                return Err(failed(file, problems.join("; ")));
            }
            let notes: String = remarks.iter().map(|why| format!("note: {why}\n")).collect();
            let text = format!("{}: ok\n{notes}", file.display());
            console
                .say(&text, || json!({ "command": "fmu check", "status": "ok", "notes": remarks }));
            Ok(())
        }
    }
}
