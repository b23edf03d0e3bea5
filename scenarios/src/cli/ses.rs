//! `superdense ses`: a variant of a system entity structure, as JSON or as a scenario.
use super::{
    Done,
    report::{Console, Stop},
};
use crate::{
    Overrides,
    output::{OutputError, directory},
    ses::{self, SesError, build},
};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

/// The pruned tree.
const PES: &str = "pes.json";
/// The flat variant.
const FPES: &str = "fpes.json";

/// Ways with a structure.
#[derive(Debug, Subcommand)]
pub(super) enum SesCommand {
    /// Write the variant that the SESvars choose: its tree (pes.json), and its basic models with their couplings
    /// (fpes.json).
    Prune(SesOptions),
    /// Write the scenario of a variant, too.
    Build(SesOptions),
}

/// Options of both.
#[derive(Debug, Args)]
pub(super) struct SesOptions {
    /// Structure, a .json file.
    file: PathBuf,
    /// Set a SESvar; may be repeated.
    #[arg(long, value_name = "VAR=VALUE", value_parser = super::options::assignment,
          allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// Directory of the files.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl From<SesError> for Stop {
    fn from(e: SesError) -> Self {
        Self::usage(format!("{e}; {}", e.help))
    }
}

/// `superdense ses …`.
pub(super) fn ses(console: &Console, command: &SesCommand) -> Done {
    let (options, build) = match command {
        SesCommand::Prune(options) => (options, false),
        SesCommand::Build(options) => (options, true),
    };
    let variant = ses::variant(ses::read((&options.file, None))?, &options.set)?;
    std::fs::create_dir_all(&options.out).map_err(OutputError::at(&options.out))?;
    let mut files =
        vec![(PES.to_owned(), text(&variant.pes)), (FPES.to_owned(), text(&variant.fpes))];
    if build {
        let name = options.file.with_extension("toml");
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let places = build::Places::apart(&options.file, &options.out);
        files.push((name, build::document(&variant, &places)?));
    }
    for (name, text) in &files {
        directory::replace(&options.out.join(name), text.as_bytes())?;
    }
    if build {
        // Mistakes of what was built show at its lines.
        crate::load(&options.out.join(&files[2].0), &[], &Overrides::default())?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let (models, couplings) = (variant.fpes.models.len(), variant.fpes.couplings.len());
    let text = format!(
        "{models} basic models, {couplings} couplings: {}: {}\n",
        options.out.display(),
        names.join(" ")
    );
    console.say(&text, || {
        json!({
            "command": "ses", "status": "done", "exit_code": 0, "out": options.out, "files": names,
            "vars": variant.fpes.vars, "models": models, "couplings": couplings,
        })
    });
    Ok(())
}

fn text(of: &impl Serialize) -> String {
    // Names, numbers and texts always become JSON.
    serde_json::to_string_pretty(of).unwrap_or_default() + "\n"
}
