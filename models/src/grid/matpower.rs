//! MATPOWER case files (version 2): `mpc.baseMVA`, `mpc.bus`, `mpc.gen`, `mpc.branch`.
//!
//! Zimmerman, Murillo-Sánchez, "MATPOWER User's Manual", appendix B. Only numbers are read; a
//! file that computes is refused.
use super::case::{Branch, Bus, Case, Generator, bus_type, place};

type Row = (usize, Vec<f64>);

/// Reads a case.
///
/// # Errors
/// Names the line.
pub fn parse(text: &str) -> Result<Case, String> {
    let tables = ["bus", "gen", "branch"].map(|name| table(text, name));
    let [bus, generation, branch] = tables;
    let base = scalar(text, "baseMVA")?;
    let mut buses = Vec::new();
    for (line, row) in &bus? {
        let [id, ty, pd, qd, gs, bs, _, vm, va] = head(*line, row, "bus")?;
        buses.push(Bus {
            id: number(*line, id)?,
            ty: bus_type(ty).map_err(|e| format!("line {line}: {e}"))?,
            demand: [pd, qd],
            shunt: [gs, bs],
            vm,
            va,
        });
    }
    let at = |line: usize, id: f64| {
        place(&buses, number(line, id)?).map_err(|e| format!("line {line}: {e}"))
    };
    let (mut generators, mut voltages) = (Vec::new(), Vec::new());
    for (line, row) in &generation? {
        let [id, power, _, _, _, vg, _, status] = head(*line, row, "gen")?;
        if status > 0.0 {
            let bus = at(*line, id)?;
            generators.push(Generator { bus, power });
            voltages.push((bus, vg));
        }
    }
    let mut branches = Vec::new();
    for (line, row) in &branch? {
        let [from, to, r, x, charging, _, _, _, tap, shift, status] = head(*line, row, "branch")?;
        if status > 0.0 {
            let ends = [at(*line, from)?, at(*line, to)?];
            let tap = if tap == 0.0 { 1.0 } else { tap };
            branches.push(Branch { ends, series: [r, x], charging, tap, shift });
        }
    }
    for (bus, vg) in voltages {
        buses[bus].vm = vg;
    }
    let (machines, governor) = (Vec::new(), None);
    Ok(Case { base, frequency: 60.0, buses, branches, generators, machines, governor })
}

fn code(line: &str) -> &str {
    line.split('%').next().unwrap_or("")
}

fn scalar(text: &str, name: &str) -> Result<f64, String> {
    let start = format!("mpc.{name}");
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(rest) = code(line).trim().strip_prefix(&start) {
            let value = rest.trim_start().trim_start_matches('=').trim().trim_end_matches(';');
            return value
                .trim()
                .parse()
                .map_err(|_| format!("line {number}: `{value}` is no number"));
        }
    }
    Err(format!("`{start}` is missing"))
}

/// The rows of a matrix and their lines.
fn table(text: &str, name: &str) -> Result<Vec<Row>, String> {
    let start = format!("mpc.{name}");
    let mut lines = (1..).zip(text.lines()).map(|(n, l)| (n, code(l)));
    let opens = |l: &str| {
        let rest = l.trim().strip_prefix(start.as_str())?.trim_start().strip_prefix('=')?;
        rest.trim_start().strip_prefix('[').map(str::to_owned)
    };
    let (first, mut rest) = lines
        .by_ref()
        .find_map(|(n, l)| opens(l).map(|rest| (n, rest)))
        .ok_or_else(|| format!("`{start} = [` is missing"))?;
    let (mut rows, mut number) = (Vec::new(), first);
    loop {
        let (body, ends) = match rest.split_once(']') {
            Some((body, _)) => (body.to_owned(), true),
            None => (rest.clone(), false),
        };
        for row in body.split(';') {
            let words = row.split([' ', '\t', ',']).filter(|w| !w.is_empty());
            let numbers: Result<Vec<f64>, String> = words
                .map(|w| w.parse().map_err(|_| format!("line {number}: `{w}` is no number")))
                .collect();
            let numbers = numbers?;
            if !numbers.is_empty() {
                rows.push((number, numbers));
            }
        }
        if ends {
            return Ok(rows);
        }
        match lines.next() {
            Some((n, l)) => (number, rest) = (n, l.to_owned()),
            None => return Err(format!("line {first}: `{start}` has no closing bracket")),
        }
    }
}

fn head<const N: usize>(line: usize, row: &[f64], name: &str) -> Result<[f64; N], String> {
    let first = row.get(..N).and_then(|r| r.try_into().ok());
    first.ok_or_else(|| {
        format!(
            "line {line}: a row of mpc.{name} has {} columns, at least {N} are needed",
            row.len()
        )
    })
}

fn number(line: usize, id: f64) -> Result<u32, String> {
    let ok = id > 0.0 && id.fract() == 0.0 && id <= f64::from(u32::MAX);
    if ok { Ok(id as u32) } else { Err(format!("line {line}: {id} is no bus number")) }
}
