//! `superdense study export`: the table of runs in another form.
use super::super::{
    Done,
    report::{Console, Stop},
};
use clap::Args;
use std::path::PathBuf;

/// Options of `study export`.
#[derive(Debug, Args)]
pub(super) struct ExportOptions {
    /// Directory of the study.
    dir: PathBuf,
    /// As results.parquet; for a program built with --features parquet.
    #[arg(long, required = true)]
    parquet: bool,
}

/// Writes it.
#[cfg(feature = "parquet")]
pub(super) fn export(console: &Console, options: &ExportOptions) -> Done {
    use crate::{
        output::directory,
        study::{RESULTS, parquet},
    };
    debug_assert!(options.parquet, "there is no other form");
    let file = options.dir.join(RESULTS);
    let text = std::fs::read_to_string(&file).map_err(|e| {
        let why = "run the study to its end first: superdense study FILE";
        Stop::usage(format!("{}: {e}; {why}", file.display()))
    })?;
    let bytes = parquet::encode(&text).map_err(|e| Stop::usage(e.to_string()))?;
    let out = options.dir.join("results.parquet");
    directory::replace(&out, &bytes)?;
    let rows = text.lines().count().saturating_sub(1);
    console.say(&format!("{rows} runs: {}\n", out.display()), || {
        serde_json::json!({ "command": "study export", "status": "done", "exit_code": 0,
                            "rows": rows, "file": out })
    });
    Ok(())
}

/// Says that this program cannot.
#[cfg(not(feature = "parquet"))]
pub(super) fn export(_: &Console, options: &ExportOptions) -> Done {
    let why = "this program was built without Parquet; build it with --features parquet";
    Err(Stop::usage(format!("{}: {why}", options.dir.display())))
}
