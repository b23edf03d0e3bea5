//! MATPOWER case files (version 2): `mpc.baseMVA`, `mpc.bus`, `mpc.gen`, `mpc.branch`.
//!
//! Zimmerman, Murillo-Sánchez, "MATPOWER User's Manual", appendix B. Only numbers are read; a
//! file that computes is refused, with the line: MATPOWER's `savecase` writes such a case in numbers.
//! Comments (`%`, `%{` to `%}`) and continued lines (`...`) are understood; fields of `mpc` other
//! than these four are passed over.
use super::case::{Branch, Bus, BusType, Case, Generator, bus_type, place};
use std::{collections::BTreeMap, mem::take};

type Row = (usize, Vec<f64>);
/// Lines with their numbers, without comments.
type Lines = Vec<(usize, String)>;

/// Reads a case.
///
/// # Errors
/// Names the line.
pub fn parse(text: &str) -> Result<Case, String> {
    let fields = fields(text)?;
    let [bus, generation, branch] = ["bus", "gen", "branch"].map(|name| table(&fields, name));
    let base = scalar(&fields, "baseMVA")?;
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
        let [id, active, reactive, _, _, vg, _, status] = head(*line, row, "gen")?;
        if status > 0.0 {
            let bus = at(*line, id)?;
            generators.push(Generator { bus, power: [active, reactive] });
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
        if matches!(buses[bus].ty, BusType::Generator | BusType::Reference) {
            buses[bus].vm = vg;
        }
    }
    let (machines, governor) = (Vec::new(), None);
    Ok(Case { base, frequency: 60.0, buses, branches, generators, machines, governor })
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
fn statements(text: &str) -> Result<Vec<Lines>, String> {
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
            Err(format!("line {line}: `{}` has no closing bracket", start.trim()))
        }
        None => Ok(all),
    }
}

/// The matrices assigned to `mpc.NAME`, by name.
fn fields(text: &str) -> Result<BTreeMap<String, Lines>, String> {
    let mut fields = BTreeMap::new();
    for mut statement in statements(text)? {
        let (line, start) = statement[0].clone();
        let start = start.trim();
        let harmless = ["", "end", "endfunction", "return"].contains(&start);
        let heading =
            start.strip_prefix("function").is_some_and(|rest| rest.starts_with([' ', '\t']));
        if harmless || heading {
            continue;
        }
        let assigned = start.strip_prefix("mpc.").and_then(|rest| rest.split_once('='));
        let (name, value) = assigned.ok_or_else(|| computes(line, start))?;
        let name = name.trim();
        let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        statement[0].1 = value.to_owned();
        if !plain || fields.insert(name.to_owned(), statement).is_some() {
            return Err(computes(line, start));
        }
    }
    Ok(fields)
}

fn computes(line: usize, what: &str) -> String {
    format!(
        "line {line}: `{what}` computes, and only numbers are read: load the case in MATPOWER and \
         write it with `savecase`"
    )
}

fn scalar(fields: &BTreeMap<String, Lines>, name: &str) -> Result<f64, String> {
    let lines = fields.get(name).ok_or_else(|| format!("`mpc.{name}` is missing"))?;
    let (line, value) = (lines[0].0, lines[0].1.trim());
    value.parse().map_err(|_| format!("line {line}: `{value}` is no number"))
}

/// The rows of a matrix and their lines.
fn table(fields: &BTreeMap<String, Lines>, name: &str) -> Result<Vec<Row>, String> {
    let missing = || format!("`mpc.{name} = [` is missing");
    let mut lines = fields.get(name).cloned().ok_or_else(missing)?;
    let (first, start) = lines[0].clone();
    let not_plain = || computes(first, &format!("mpc.{name} = {}", start.trim()));
    lines[0].1 = start.trim().strip_prefix('[').ok_or_else(not_plain)?.to_owned();
    let last = &mut lines.last_mut().ok_or_else(missing)?.1;
    *last = last.trim().strip_suffix(']').ok_or_else(not_plain)?.to_owned();
    let mut rows = Vec::new();
    for (number, line) in &lines {
        for row in line.split(';') {
            let words = row.split([' ', '\t', ',']).filter(|w| !w.is_empty());
            let numbers: Result<Vec<f64>, String> = words
                .map(|w| w.parse().map_err(|_| format!("line {number}: `{w}` is no number")))
                .collect();
            let numbers = numbers?;
            if !numbers.is_empty() {
                rows.push((*number, numbers));
            }
        }
    }
    Ok(rows)
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
