//! `check --real-time`.
use super::{
    options::CheckOptions,
    report::{Stop, columns},
};
use crate::{
    load,
    run::{
        demand::{self, Demand},
        pulse::Pulse,
    },
};

/// Units that a text lists.
const LISTED: usize = 8;

/// The time that the scenario asks for, if that was asked; a scenario that cannot keep up is refused.
pub(super) fn demand(check: &CheckOptions) -> Result<Option<Demand>, Stop> {
    let Some(speeds) = &check.real_time else { return Ok(None) };
    let plan = load(&check.plan.file, &check.plan.set, &check.plan.overrides())?;
    if plan.units.iter().all(|unit| unit.wcet.is_none()) {
        return Err(Stop::usage(
            "--real-time: no unit says how long its transitions take; write wcet = \"2 ms\" in units, such as \
             `longest_per_kind` in performance.json of `run --real-time` tells",
        ));
    }
    let pulse = Pulse::default();
    let _ = pulse.on_interrupt();
    let found = demand::demand(plan, speeds, &pulse).map_err(Stop::before)?;
    let Some(found) = found else { return Ok(None) };
    if found.late > check.late {
        let most = found.units.first().map_or(String::new(), |unit| {
            format!(
                "; `{}` takes {:.1} % of the time, {} s for each of {} transitions",
                unit.unit,
                100.0 * unit.load,
                unit.wcet,
                unit.transitions
            )
        });
        return Err(Stop::usage(format!(
            "the scenario cannot keep up with --real-time {}: at {} s it would be {:.6} s late, and {} s are allowed{most}. \
             Make it cheaper, lower the speed, or allow more by --late",
            found.speed, found.at, found.late, check.late
        )));
    }
    Ok(Some(found))
}

/// The table that is printed.
pub(super) fn text(found: &Demand) -> String {
    let mut rows = vec![
        vec!["real time".to_owned(), format!("{} simulated seconds per second", found.speed)],
        vec!["load".to_owned(), format!("{:.1} %", 100.0 * found.load)],
        vec!["latest".to_owned(), format!("{:.6} s late, at {} s", found.late, found.at)],
    ];
    rows.extend(found.units.iter().take(LISTED).map(|unit| {
        let text = format!(
            "{:.1} %, {} s for each of {} transitions",
            100.0 * unit.load,
            unit.wcet,
            unit.transitions
        );
        vec![format!("  {}", unit.unit), text]
    }));
    if found.undeclared > 0 {
        rows.push(vec![
            "without a wcet".to_owned(),
            format!("{} units, which count as free", found.undeclared),
        ]);
    }
    columns(&rows, &[])
}
