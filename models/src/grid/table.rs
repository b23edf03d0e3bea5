//! Machine data in a table beside a MATPOWER case, which has none.
use super::{
    case::{Case, Machine},
    errors::CaseError,
};
use std::collections::BTreeMap;

const COLUMNS: [&str; 4] = ["bus", "Sn", "H", "xdp"];

/// Gives a case machines: CSV with the columns `bus`, `Sn` (MVA), `H` (s), `xdp` (per unit), in any order;
/// lines that begin with `#` are comments. H and xdp are on the rating Sn of each machine, or on the base
/// of the case, if `on_system`. A machine stands for all generators in service at its bus.
///
/// # Errors
/// Names the line; generators without a machine, and machines without a generator.
pub(super) fn add(mut case: Case, text: &str, on_system: bool) -> Result<Case, CaseError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers()?.clone();
    if let Some(unknown) = header.iter().find(|h| !COLUMNS.contains(h)) {
        return Err(CaseError::UnknownColumn { found: unknown.to_owned(), known: &COLUMNS });
    }
    let column = |name: &'static str| {
        let mut found = header.iter().enumerate().filter(|(_, h)| *h == name);
        match (found.next(), found.next()) {
            (Some((k, _)), None) => Ok(k),
            _ => Err(CaseError::Column(name)),
        }
    };
    let places = [column("bus")?, column("Sn")?, column("H")?, column("xdp")?];
    let known: BTreeMap<u32, usize> = case.buses.iter().map(|b| b.id).zip(0..).collect();
    case.machines.clear();
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |k: usize| -> Result<f64, CaseError> {
            let cell = &record[k];
            cell.parse().map_err(|_| CaseError::NoNumber { line, cell: cell.to_owned() })
        };
        let id = &record[places[0]];
        let bus = id.parse().ok().and_then(|id: u32| known.get(&id).copied());
        let bus = bus.ok_or_else(|| CaseError::NoBusInLine { line, bus: id.to_owned() })?;
        let [rating, inertia, reactance] =
            [number(places[1])?, number(places[2])?, number(places[3])?];
        let scale = if on_system { 1.0 } else { rating / case.base };
        case.machines.push(Machine {
            bus,
            inertia: inertia * scale,
            reactance: reactance / scale,
            rating,
        });
    }
    let mut has = vec![[false; 2]; case.buses.len()];
    case.generators.iter().for_each(|g| has[g.bus][0] = true);
    case.machines.iter().for_each(|m| has[m.bus][1] = true);
    for ([generator, machine], bus) in has.into_iter().zip(&case.buses) {
        if generator && !machine {
            return Err(CaseError::NoMachine(bus.id));
        }
        if machine && !generator {
            return Err(CaseError::NoGenerator(bus.id));
        }
    }
    case.checked()
}
