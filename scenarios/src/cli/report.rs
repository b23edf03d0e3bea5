//! The output of commands, as text or JSON.
use crate::{
    Diagnostics,
    output::{OutputError, explained},
    run::Failure,
};
use serde_json::{Value as Json, json};
use std::{
    io::{ErrorKind, IsTerminal, Write},
    sync::OnceLock,
};
use superdense_kernel::error::RunError;

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(super) struct Console {
    /// Nothing but errors.
    pub quiet: bool,
    /// One JSON object.
    pub json: bool,
}

/// Why something could not be printed on standard output.
static LOST: OnceLock<String> = OnceLock::new();

/// Why a command ended without success.
#[derive(Debug)]
pub(super) enum Stop {
    /// Wrong usage.
    Usage(String),
    /// Mistakes in the scenario.
    Scenario(Box<Diagnostics>),
    /// The run stopped in error: why, where results are, and what may have to do with it.
    Failed { failure: Box<Failure>, results: Option<String>, notes: Vec<String> },
    /// So many numbers of the papers are not reproduced; which was printed already.
    Different(usize),
    /// Runs of a study have no results: how many, and why; the object was printed already.
    #[cfg_attr(not(feature = "study"), expect(dead_code, reason = "of studies"))]
    Lost(String),
    /// Runs that were compared differ; how was printed already.
    Unequal,
    /// Ctrl-C; the object was printed already.
    Interrupted,
    /// Another process has told why, and ended with this code.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "of ranks"))]
    Told(u8),
}

impl Stop {
    /// A mistake of usage.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A failure before the first cycle: the scenario or the options are to blame.
    pub(super) fn before(failure: Failure) -> Self {
        match failure {
            Failure::Mismatch(_) | Failure::Checkpoint(_) | Failure::Output(_) => {
                Self::Usage(failure.to_string())
            }
            Failure::Run { ref error, .. } if matches!(**error, RunError::Build(_)) => {
                Self::Usage(failure.to_string())
            }
            failure => Self::Failed { failure: failure.into(), results: None, notes: Vec::new() },
        }
    }

    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Different(_) | Self::Unequal => 1,
            Self::Usage(_) | Self::Scenario(_) => 2,
            Self::Failed { .. } | Self::Lost(_) => 3,
            Self::Interrupted => 130,
            Self::Told(code) => *code,
        }
    }
}

impl From<OutputError> for Stop {
    fn from(e: OutputError) -> Self {
        Self::Usage(e.to_string())
    }
}

impl From<Diagnostics> for Stop {
    fn from(d: Diagnostics) -> Self {
        Self::Scenario(Box::new(d))
    }
}

impl Console {
    /// Prints text, or the object when JSON is asked for.
    pub(super) fn say(&self, text: &str, object: impl FnOnce() -> Json) {
        if self.json {
            let mut object = object();
            if object["status"].is_string() && object.get("exit_code").is_none() {
                object["exit_code"] = json!(0);
            }
            self.object(&object);
        } else if !self.quiet {
            out(text);
        }
    }

    /// Prints an object.
    pub(super) fn object(&self, object: &Json) {
        out(&format!("{object:#}\n"));
    }

    /// Prints an object as one line of many.
    pub(super) fn line(&self, object: &impl serde::Serialize) {
        if let Ok(text) = serde_json::to_string(object) {
            out(&format!("{text}\n"));
        }
    }

    /// Prints text, unless nothing is to be printed.
    pub(super) fn text(&self, text: &str) {
        if !self.quiet {
            out(text);
        }
    }

    /// Whether all that was to be printed was, or nobody listens any more.
    ///
    /// # Errors
    /// When standard output did not take the text: with the reason.
    pub(super) fn printed(&self) -> Result<(), Stop> {
        LOST.get().map_or(Ok(()), |why| Err(Stop::usage(why)))
    }

    /// A remark on standard error.
    pub(super) fn remark(&self, text: &str) {
        if !self.quiet {
            put(&mut std::io::stderr().lock(), &format!("{text}\n"));
        }
    }

    /// Says why the command failed.
    pub(super) fn complain(&self, stop: &Stop) {
        if let Stop::Interrupted | Stop::Unequal | Stop::Told(_) = stop {
            return;
        }
        if let Stop::Different(count) = stop {
            self.remark(&format!("error: {count} numbers are not reproduced"));
            return;
        }
        if let Stop::Lost(why) = stop {
            self.remark(&format!("error: {why}"));
            return;
        }
        if self.json {
            self.object(&stop.object());
            if self.printed().is_ok() {
                return;
            }
        }
        let mut err = std::io::stderr().lock();
        match stop {
            Stop::Scenario(diagnostics) => {
                let fancy = err.is_terminal() && std::env::var_os("NO_COLOR").is_none();
                put(&mut err, &diagnostics.render(fancy));
            }
            Stop::Usage(message) => put(&mut err, &format!("error: {message}\n")),
            Stop::Failed { failure, results, notes } => {
                notes.iter().for_each(|note| put(&mut err, &format!("note: {note}\n")));
                put(&mut err, &format!("error: {failure}\n"));
                if let Some(dir) = results {
                    put(&mut err, &format!("results up to the error are in {dir}\n"));
                }
            }
            Stop::Different(_)
            | Stop::Unequal
            | Stop::Lost(_)
            | Stop::Interrupted
            | Stop::Told(_) => {}
        }
    }
}

impl Stop {
    fn object(&self) -> Json {
        let mut object = json!({ "status": "error", "exit_code": self.code() });
        match self {
            Self::Usage(message) => object["error"] = json!(message),
            Self::Scenario(diagnostics) => {
                object["error"] = json!("the scenario has mistakes");
                let mistake = |m: &crate::diagnostics::Mistake| {
                    let line = diagnostics.line(m);
                    json!({
                        "code": m.code,
                        "message": m.message,
                        "help": m.help,
                        "file": line.map(|l| l.0),
                        "line": line.map(|l| l.1),
                    })
                };
                let mistakes: Vec<_> = diagnostics.mistakes().iter().map(mistake).collect();
                object["mistakes"] = json!(mistakes);
            }
            Self::Failed { failure, results, notes } => {
                object["error"] = json!(failure.to_string());
                object["out"] = json!(results);
                object["notes"] = json!(notes);
            }
            Self::Different(_) | Self::Unequal | Self::Lost(_) | Self::Told(_) => {}
            Self::Interrupted => object["status"] = json!("interrupted"),
        }
        object
    }
}

fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    printing(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
}

/// Notes what came of printing on standard output; a closed pipe is no reason to fail.
pub(super) fn printing(done: std::io::Result<()>) {
    if let Err(e) = done
        && e.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(format!("standard output: {}", explained(&e)));
    }
}

/// Prints on standard error.
fn put(to: &mut impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes());
    let _ = to.flush();
}

/// Rows with aligned columns, two spaces apart; columns in `right` are aligned to the right.
pub(super) fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max();
    let widths: Vec<_> = (0..count).map(|c| width(c).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            let (before, after) = if right.contains(&c) { (&pad[..], "") } else { ("", &pad[..]) };
            line.extend(["  ", before, cell, after]);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
