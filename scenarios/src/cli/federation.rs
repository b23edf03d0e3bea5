//! `federation`.
use super::{
    Done,
    options::PlanOptions,
    report::{Console, Stop, columns},
};
use crate::{
    Plan, load,
    plan::federate::{Engine, Federate},
    run::federation,
};
use clap::Subcommand;
use serde_json::json;
use std::path::{Path, PathBuf};
#[cfg(feature = "helics")]
use superdense_adapters::helics::Federation;

/// Commands about federations.
#[derive(Debug, Subcommand)]
pub(super) enum FederationCommand {
    /// Join the federation of a scenario, tell all that does not fit, and leave without a run.
    Check(PlanOptions),
    /// Tell the first record in which two runs of a federate differ.
    Diff {
        /// Output directory of the first run.
        a: PathBuf,
        /// Output directory of the second run.
        b: PathBuf,
    },
}

/// `superdense federation …`.
pub(super) fn federation(console: &Console, command: &FederationCommand) -> Done {
    match command {
        FederationCommand::Check(options) => check(console, options),
        FederationCommand::Diff { a, b } => diff(console, a, b),
    }
}

/// Takes the record of a run in the place of the federation.
pub(super) fn replay(plan: &mut Plan, dir: &Path) -> Done {
    let name = plan.name.clone();
    let none =
        || Stop::usage(format!("--replay: `{name}` takes part in no federation; leave it out"));
    let peers = plan.federate.as_mut().filter(|f| f.engine.has_peers());
    let federate = peers.ok_or_else(none)?;
    federate.replay = Some(dir.to_owned());
    Ok(())
}

fn check(console: &Console, options: &PlanOptions) -> Done {
    let plan = load(&options.file, &options.set, &options.overrides())?;
    let Some(federate) = plan.federate else {
        let why = format!("`{}` takes part in no federation: it has no [federate]", plan.name);
        return Err(Stop::usage(why));
    };
    let (name, count) = (federate.name.clone(), federate.inputs.len());
    let (found, remarks) = found(federate)?;
    let status = if found.is_empty() { "ok" } else { "mistakes" };
    let rows = [vec!["inputs".into(), count.to_string()]];
    let list: String = found.iter().map(|f| format!("  {f}\n")).collect();
    let told: String = remarks.iter().map(|r| format!("remark: {r}\n")).collect();
    let text = match found.len() {
        0 => format!("{name}: ok\n{}{told}", columns(&rows, &[])),
        1 => format!("{name}: a mistake in the federation\n{list}{told}"),
        n => format!("{name}: {n} mistakes in the federation\n{list}{told}"),
    };
    if console.quiet && !console.json && !found.is_empty() {
        // They are errors, which even a quiet command prints.
        eprint!("{text}");
    }
    console.say(&text, || {
        let code = u8::from(!found.is_empty());
        json!({ "status": status, "exit_code": code, "federate": name, "mistakes": found,
                "remarks": remarks })
    });
    if found.is_empty() { Ok(()) } else { Err(Stop::Unequal) }
}

fn diff(console: &Console, a: &Path, b: &Path) -> Done {
    let difference = federation::difference(a, b).map_err(Stop::usage)?;
    let text = match &difference {
        None => "equal: what came and what went out\n".to_owned(),
        Some(d) => format!("{d}\n"),
    };
    console.say(&text, || match &difference {
        None => json!({ "status": "equal" }),
        Some(d) => {
            json!({
                "status": "different", "exit_code": 1, "record": d.record, "line": d.line, "lines": d.lines,
            })
        }
    });
    if difference.is_none() { Ok(()) } else { Err(Stop::Unequal) }
}

/// All that does not fit in a federation, and all that may go wrong.
fn found(federate: Federate) -> Result<(Vec<String>, Vec<String>), Stop> {
    match federate.engine {
        #[cfg(feature = "helics")]
        Engine::Helics(taking, _) => {
            let pulse = crate::run::pulse::Pulse::start();
            let _ = pulse.on_interrupt();
            let interrupted = std::sync::Arc::new(move || pulse.interrupted());
            Federation::check(*taking, interrupted)
                .map(|found| (found.mistakes, found.remarks))
                .map_err(|why| Stop::usage(format!("federate `{}`: {why}", federate.name)))
        }
        #[cfg(feature = "mosaik")]
        Engine::Mosaik(..) => Err(Stop::usage(
            "a world of mosaik tells nothing before it runs; `superdense check` checks the file alone",
        )),
        Engine::Fmi(_) => Err(Stop::usage(
            "engine = \"fmi\" is no federation: `superdense check` checks the file, and `superdense fmu check` an FMU of it",
        )),
    }
}
