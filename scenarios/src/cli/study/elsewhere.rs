//! Runs of a study that others do: pieces on other machines, and workers of Dask.
use super::{Conducted, Console, Done, Piece, RunOptions, Stop};
use serde_json::json;
use std::{env, path::Path, process::Command, str::FromStr};

/// Who does the runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum On {
    /// Threads of this process.
    Local,
    /// Workers of the Dask scheduler at this address.
    Dask(String),
    /// Whoever carries out the commands that are printed.
    List,
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            None if text == "list" => Ok(Self::List),
            Some(("dask", to)) if to.contains(':') => Ok(Self::Dask(to.to_owned())),
            _ => Err("write local, list, or dask:HOST:PORT, such as dask:127.0.0.1:8786".into()),
        }
    }
}

/// Reads `K/N`.
pub(super) fn piece(text: &str) -> Result<Piece, String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((number, of)) if (1..=of).contains(&number) => Ok(Piece { number, of }),
        _ => Err("write the number of the piece and how many there are, such as 3/8".into()),
    }
}

/// Tells which runs are left: of a list by the commands that do them.
pub(super) fn left(
    console: &Console,
    options: &RunOptions,
    found: &Conducted<'_>,
    out: &Path,
) -> Done {
    let (left, fresh) = (found.left, found.fresh);
    if let Some(Piece { number, of }) = options.piece {
        let text = format!(
            "piece {number} of {of}: {fresh} runs, and {left} that other pieces have\n\
             once they are done, the study without --piece takes them in\n"
        );
        console.say(
            &text,
            || json!({ "command": "study", "status": "piece", "exit_code": 0, "new": fresh, "left": left }),
        );
        // Failed runs are told by the exit code of their piece, too.
        return if found.lost() > 0 { Err(Stop::Lost(super::why(found))) } else { Ok(()) };
    }
    let of = options.pieces.min(u32::try_from(left).unwrap_or(u32::MAX));
    let commands: Vec<String> = (1..=of).map(|k| command(options, out, k, of)).collect();
    let text: String = commands.iter().map(|c| format!("{c}\n")).collect();
    console.say(
        &text,
        || json!({ "command": "study", "status": "left", "exit_code": 0, "left": left, "commands": commands }),
    );
    Ok(())
}

/// The command of a piece, for a shell in any folder.
fn command(options: &RunOptions, out: &Path, number: u32, of: u32) -> String {
    let path = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    let path = |p: &Path| quoted(&path(p).to_string_lossy());
    let mut words = vec!["superdense".into(), "study".into(), path(&options.file)];
    words.extend(["--out".into(), path(out), "--piece".into(), format!("{number}/{of}")]);
    for (name, value) in &options.set {
        words.extend(["--set".into(), quoted(&format!("{name}={value}"))]);
    }
    if let Some(ask) = &options.ask {
        words.extend(["--ask".into(), quoted(ask)]);
    }
    if options.retry_failed {
        words.push("--retry-failed".into());
    }
    if let Some(workers) = options.workers {
        words.extend(["--workers".into(), workers.to_string()]);
    }
    words.join(" ")
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Lets workers of Dask do the runs, by the Python package; they are in the store afterwards.
///
/// # Errors
/// Without Python, the package or the scheduler.
pub(super) fn by_dask(options: &RunOptions, scheduler: &str, out: &Path) -> Done {
    let python = env::var("SUPERDENSE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-m", "superdense.dask", scheduler]).arg(&options.file).arg("--out").arg(out);
    for (name, value) in &options.set {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    if let Some(ask) = &options.ask {
        command.arg("--ask").arg(ask);
    }
    if let Some(workers) = options.workers {
        command.arg("--workers").arg(workers.to_string());
    }
    if options.retry_failed {
        command.arg("--retry-failed");
    }
    let why = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(_) => "it has told why".to_owned(),
        Err(e) => e.to_string(),
    };
    Err(Stop::usage(format!(
        "{python} has not done the runs: {why}; it needs the package `superdense` and `pip install distributed`, also on \
         the workers; SUPERDENSE_PYTHON names another Python"
    )))
}
