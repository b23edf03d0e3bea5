//! MATPOWER case files (version 2): `mpc.baseMVA`, `mpc.bus`, `mpc.gen`, `mpc.branch`.
//!
//! Zimmerman, Murillo-Sánchez, "MATPOWER User's Manual", appendix B. Comments (`%`, `%{` to `%}`) and
//! continued lines (`...`) are understood. Numbers may be computed from constants (`50/3`), and the
//! case from itself, as distribution cases do whose data is in ohms and kW: see `script.rs`. Fields of
//! `mpc` other than these four are passed over. What else a file computes is refused, with the line:
//! MATPOWER's `savecase` writes such a case in numbers.
use super::{
    case::{Branch, Bus, BusType, Case, Generator, bus_type},
    errors::CaseError,
    script::{Script, Table},
};
use std::{collections::BTreeMap, mem::take};

/// Lines with their numbers, without comments.
pub(super) type Lines = Vec<(u64, String)>;

/// Reads a case.
///
/// # Errors
/// Names the line.
pub(super) fn parse(text: &str) -> Result<Case, CaseError> {
    let mut script = Script::default();
    for statement in statements(text)? {
        script.run(statement)?;
    }
    let base = script.base.ok_or(CaseError::MissingField("baseMVA"))?;
    let table = |name: &'static str| script.tables.get(name).ok_or(CaseError::MissingField(name));
    let [bus, generation, branch] = [table("bus")?, table("gen")?, table("branch")?];
    let (mut buses, mut places) = (Vec::new(), BTreeMap::new());
    for (line, row) in rows(bus) {
        let [id, ty, pd, qd, gs, bs, _, vm, va] = head(line, row, "bus")?;
        let id = number(line, id)?;
        places.entry(id).or_insert(buses.len());
        buses.push(Bus {
            id,
            ty: bus_type(ty).ok_or(CaseError::BusTypeInLine { line, code: ty })?,
            demand: [pd, qd],
            shunt: [gs, bs],
            vm,
            va,
        });
    }
    let at = |line: u64, id: f64| {
        let id = number(line, id)?;
        let missing = || CaseError::NoBusInLine { line, bus: id.to_string() };
        places.get(&id).copied().ok_or_else(missing)
    };
    let (mut generators, mut voltages) = (Vec::new(), Vec::new());
    for (line, row) in rows(generation) {
        let [id, active, reactive, _, _, vg, _, status] = head(line, row, "gen")?;
        if status > 0.0 {
            let bus = at(line, id)?;
            generators.push(Generator { bus, power: [active, reactive] });
            voltages.push((bus, vg));
        }
    }
    let mut branches = Vec::new();
    for (line, row) in rows(branch) {
        let [from, to, r, x, charging, _, _, _, tap, shift, status] = head(line, row, "branch")?;
        if status > 0.0 {
            let ends = [at(line, from)?, at(line, to)?];
            let tap = if tap == 0.0 { 1.0 } else { tap };
            branches.push(Branch { ends, series: [r, x], charging, tap, shift });
        }
    }
    for (bus, vg) in voltages {
        if matches!(buses[bus].ty, BusType::Generator | BusType::Reference) {
            buses[bus].vm = vg;
        }
    }
    let (machines, governor) = (Vec::new(), None);
    Ok(Case { base, frequency: 60.0, buses, branches, generators, machines, governor })
}

fn rows(table: &Table) -> impl Iterator<Item = (u64, &[f64])> {
    table.iter().map(|(line, row)| (*line, row.as_slice()))
}

/// A line without its comment and without what its strings contain, and whether the next goes on.
fn code(line: &str) -> (String, bool) {
    let (mut code, mut string) = (String::new(), None);
    for (k, c) in line.char_indices() {
        match string {
            Some(quote) if c != quote => continue,
            Some(_) => string = None,
            None if c == '%' => break,
            None if line[k..].starts_with("...") => return (code, true),
            // Behind a value, `'` transposes.
            None if c == '\'' && code.ends_with(|c: char| c.is_alphanumeric() || c == ']') => {}
            None if c == '\'' || c == '"' => string = Some(c),
            None => {}
        }
        code.push(c);
    }
    (code, false)
}

/// The lines of a file; continued ones are one, with the number of the first.
fn lines(text: &str) -> Lines {
    let (mut all, mut blocks, mut goes_on) = (Lines::new(), 0, false);
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        match line.trim() {
            "%{" => blocks += 1,
            "%}" if blocks > 0 => blocks -= 1,
            _ if blocks > 0 => {}
            _ => {
                let (code, continued) = code(line);
                match all.last_mut().filter(|_| goes_on) {
                    Some((_, start)) => *start = format!("{start} {code}"),
                    None => all.push((number, code)),
                }
                goes_on = continued;
            }
        }
    }
    all
}

/// The statements of a file, which end at `;`, `,` or the end of a line outside of brackets.
fn statements(text: &str) -> Result<Vec<Lines>, CaseError> {
    let (mut all, mut statement, mut depth) = (Vec::new(), Lines::new(), 0);
    for (number, line) in lines(text) {
        let mut piece = String::new();
        for c in line.chars() {
            depth += i32::from("[({".contains(c)) - i32::from("])}".contains(c));
            if depth <= 0 && (c == ';' || c == ',') {
                statement.push((number, take(&mut piece)));
                all.push(take(&mut statement));
            } else {
                piece.push(c);
            }
        }
        statement.push((number, piece));
        if depth <= 0 {
            all.push(take(&mut statement));
            depth = 0;
        }
    }
    match statement.first() {
        Some((line, start)) => {
            Err(CaseError::Unclosed { line: *line, statement: start.trim().to_owned() })
        }
        None => Ok(all),
    }
}

fn head<const N: usize>(
    line: u64,
    row: &[f64],
    table: &'static str,
) -> Result<[f64; N], CaseError> {
    let first = row.get(..N).and_then(|r| r.try_into().ok());
    first.ok_or(CaseError::ShortRow { line, table, found: row.len(), needed: N })
}

fn number(line: u64, id: f64) -> Result<u32, CaseError> {
    let ok = id > 0.0 && id.fract() == 0.0 && id <= f64::from(u32::MAX);
    if ok { Ok(id as u32) } else { Err(CaseError::NoBusNumber { line, number: id }) }
}
