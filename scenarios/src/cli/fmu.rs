//! `fmu`.
use super::{
    Done, options, place,
    report::{Console, Stop},
};
use crate::{
    Overrides,
    export::{self, Causality},
    load_parcel,
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::{
    env,
    path::{Path, PathBuf},
};
use superdense_adapters::fmi::{
    description::Version,
    report::{self, Verdict},
};

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
    /// Make an FMU of a scenario, for co-simulation in other programs.
    Export(ExportOptions),
}

/// The standard that an FMU follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Standard {
    /// FMI 2.0.
    #[value(name = "2")]
    Fmi2,
    /// FMI 3.0.
    #[default]
    #[value(name = "3")]
    Fmi3,
}

/// Options of `fmu export`.
#[derive(Debug, Args)]
pub(super) struct ExportOptions {
    /// The scenario.
    scenario: PathBuf,
    /// The FMU that is written; by default the name of the scenario with `.fmu`, in the working folder.
    #[arg(long, value_name = "FILE.fmu")]
    out: Option<PathBuf>,
    /// Replace a file of this name.
    #[arg(long)]
    force: bool,
    /// The version of FMI.
    #[arg(long, value_enum, default_value_t)]
    fmi: Standard,
    /// Set a value of the scenario for good, such as `--set unit.ball.method=\"taylor\"`.
    #[arg(long, value_name = "PATH=VALUE", value_parser = options::assignment, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
}

/// The file of the library that FMUs hold.
const RUNTIME: &str = "superdense_fmu_runtime";

/// `superdense fmu info|check|export FILE`.
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
        FmuCommand::Export(options) => exported(console, options),
    }
}

fn exported(console: &Console, options: &ExportOptions) -> Done {
    let file = &options.scenario;
    let failed = |why: String| Stop::usage(format!("{}: {why}", file.display()));
    if crate::ses::is_structure(file) {
        let why = "a structure has many variants; make a scenario of one by `superdense ses build`, and export that";
        return Err(failed(why.to_owned()));
    }
    let (plan, parcel) = load_parcel(file, &options.set, &Overrides::default())?;
    let version = match options.fmi {
        Standard::Fmi2 => Version::V2,
        Standard::Fmi3 => Version::V3,
    };
    let made = export::fmu((&plan, &parcel, &options.set), version, &runtime()?);
    let (manifest, bytes) = made.map_err(|e| failed(e.to_string()))?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.fmu", plan.name)));
    place::write(&out, &bytes, options.force)?;
    let count = |causality| manifest.places(causality).count();
    let [parameters, inputs, outputs] =
        [Causality::Parameter, Causality::Input, Causality::Output].map(count);
    let text = format!(
        "{}: parameters {parameters}, inputs {inputs}, outputs {outputs}; from {}\n",
        out.display(),
        match parcel.files.len() {
            1 => "1 file".to_owned(),
            n => format!("{n} files"),
        }
    );
    console.say(&text, || {
        json!({ "command": "fmu export", "fmu": out, "parameters": parameters, "inputs": inputs, "outputs": outputs })
    });
    Ok(())
}

/// The library that FMUs hold: the one that is named, or the one beside this program.
fn runtime() -> Result<PathBuf, Stop> {
    let absent = |place: String| {
        Stop::usage(format!(
            "there is no {place}, the library that FMUs hold: build it by `cargo build --release -p superdense-fmu-runtime`, \
             and put it beside this program or name it in SUPERDENSE_FMU_RUNTIME"
        ))
    };
    if let Some(named) = env::var_os("SUPERDENSE_FMU_RUNTIME") {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(named) } else { Err(absent(named.display().to_string())) };
    }
    let name = format!("{}{RUNTIME}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let here = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let beside = here.map(|folder| folder.join(&name)).filter(|file| file.is_file());
    beside.ok_or_else(|| absent(name))
}
