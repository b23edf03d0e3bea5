//! The part of MATLAB in which case files are written: constants, and tables computed from them.
//!
//! | statement | what it does |
//! | --- | --- |
//! | `mpc.baseMVA = 50/3` | a number, by + - * / ^, functions such as `sqrt`, `pi`, names |
//! | `mpc.bus = [ 1 3 12/sqrt(3) … ]` | a table |
//! | `Vbase = mpc.bus(1, BASE_KV) * 1e3` | a name; also of what stands in a table |
//! | `[PQ, …] = idx_bus`, `define_constants` | the names of the columns |
//! | `mpc.bus(:, [PD, QD]) = mpc.bus(:, [PD, QD]) / 1e3` | columns, all rows or one |
//! | `if fixed … else … end` | one of two parts, by a number |
use super::{errors::CaseError, matpower::Lines};
use std::collections::BTreeMap;

/// Rows with their lines.
pub(super) type Table = Vec<(u64, Vec<f64>)>;

/// Fields of `mpc` that are read.
const TABLES: [&str; 3] = ["bus", "gen", "branch"];

/// The columns of tables by name: `idx_bus`, `idx_brch`, `idx_gen` with the values that they give.
const COLUMNS: [(&str, &[(&str, u8)]); 3] = [
    (
        "idx_bus",
        &[
            ("PQ", 1),
            ("PV", 2),
            ("REF", 3),
            ("NONE", 4),
            ("BUS_I", 1),
            ("BUS_TYPE", 2),
            ("PD", 3),
            ("QD", 4),
            ("GS", 5),
            ("BS", 6),
            ("BUS_AREA", 7),
            ("VM", 8),
            ("VA", 9),
            ("BASE_KV", 10),
            ("ZONE", 11),
            ("VMAX", 12),
            ("VMIN", 13),
            ("LAM_P", 14),
            ("LAM_Q", 15),
            ("MU_VMAX", 16),
            ("MU_VMIN", 17),
        ],
    ),
    (
        "idx_brch",
        &[
            ("F_BUS", 1),
            ("T_BUS", 2),
            ("BR_R", 3),
            ("BR_X", 4),
            ("BR_B", 5),
            ("RATE_A", 6),
            ("RATE_B", 7),
            ("RATE_C", 8),
            ("TAP", 9),
            ("SHIFT", 10),
            ("BR_STATUS", 11),
            ("PF", 14),
            ("QF", 15),
            ("PT", 16),
            ("QT", 17),
            ("MU_SF", 18),
            ("MU_ST", 19),
            ("ANGMIN", 12),
            ("ANGMAX", 13),
            ("MU_ANGMIN", 20),
            ("MU_ANGMAX", 21),
        ],
    ),
    (
        "idx_gen",
        &[
            ("GEN_BUS", 1),
            ("PG", 2),
            ("QG", 3),
            ("QMAX", 4),
            ("QMIN", 5),
            ("VG", 6),
            ("MBASE", 7),
            ("GEN_STATUS", 8),
            ("PMAX", 9),
            ("PMIN", 10),
            ("MU_PMAX", 22),
            ("MU_PMIN", 23),
            ("MU_QMAX", 24),
            ("MU_QMIN", 25),
            ("PC1", 11),
            ("PC2", 12),
            ("QC1MIN", 13),
            ("QC1MAX", 14),
            ("QC2MIN", 15),
            ("QC2MAX", 16),
            ("RAMP_AGC", 17),
            ("RAMP_10", 18),
            ("RAMP_30", 19),
            ("RAMP_Q", 20),
            ("APF", 21),
        ],
    ),
];

/// A file, as far as it was carried out.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub base: Option<f64>,
    pub tables: BTreeMap<String, Table>,
    names: BTreeMap<String, f64>,
    /// Per open `if`: whether its present part counts.
    parts: Vec<bool>,
}

/// A number, or columns of a table.
#[derive(Debug, Clone)]
enum Value {
    Number(f64),
    Columns(Vec<Vec<f64>>),
}

impl Script {
    /// Carries a statement out.
    pub(super) fn run(&mut self, statement: Lines) -> Result<(), CaseError> {
        let line = statement[0].0;
        let start = statement[0].1.trim().to_owned();
        let refused = || CaseError::NotUnderstood { line, statement: start.clone() };
        if self.branches(&start).ok_or_else(refused)? {
            return Ok(());
        }
        let heading =
            start.strip_prefix("function").is_some_and(|rest| rest.starts_with([' ', '\t']));
        if heading || ["", "end", "endfunction", "return"].contains(&start.as_str()) {
            return Ok(());
        }
        if start == "define_constants" {
            COLUMNS.iter().for_each(|(_, list)| self.define(list));
            return Ok(());
        }
        let (target, _) = start.split_once('=').ok_or_else(refused)?;
        let target = target.trim();
        if let Some(field) = target.strip_prefix("mpc.") {
            return self.assign(field.trim(), &statement).ok_or_else(refused)?;
        }
        let mut text = String::new();
        statement.iter().for_each(|(_, piece)| text = format!("{text} {piece}"));
        let value = text.split_once('=').ok_or_else(refused)?.1.trim();
        if target.starts_with('[') {
            let list = COLUMNS.iter().find(|(name, _)| *name == value).ok_or_else(refused)?.1;
            return self.columns(target, list).ok_or_else(refused);
        }
        match self.eval(value) {
            Some(Value::Number(x)) if is_name(target) => {
                self.names.insert(target.to_owned(), x);
                Ok(())
            }
            _ => Err(refused()),
        }
    }

    fn define(&mut self, list: &[(&str, u8)]) {
        let names = list.iter().map(|(name, k)| ((*name).to_owned(), f64::from(*k)));
        self.names.extend(names);
    }

    /// `[A, B] = idx_bus`: names by their places in the list, not by what they are called.
    fn columns(&mut self, target: &str, list: &[(&str, u8)]) -> Option<()> {
        let names = target.strip_prefix('[')?.strip_suffix(']')?.split([',', ' ', '\t']);
        for (k, name) in names.filter(|n| !n.is_empty()).enumerate() {
            let value = f64::from(list.get(k)?.1);
            if name != "~" {
                is_name(name).then(|| self.names.insert(name.to_owned(), value))?;
            }
        }
        Some(())
    }

    /// Whether the statement belongs to an `if`, or to a part of one that does not count. None if it
    /// does something unknown.
    fn branches(&mut self, start: &str) -> Option<bool> {
        let skips = self.parts.contains(&false);
        let word = start.split([' ', '\t', '(']).next().unwrap_or_default();
        match word {
            "if" => {
                // Within a part that does not count nothing does.
                let counts = if skips {
                    true
                } else {
                    match self.eval(start.strip_prefix("if")?)? {
                        Value::Number(x) => x != 0.0,
                        Value::Columns(_) => return None,
                    }
                };
                self.parts.push(counts);
            }
            "else" => {
                let part = self.parts.last_mut()?;
                *part = !*part;
            }
            "end" | "endif" if !self.parts.is_empty() => {
                self.parts.pop();
            }
            "for" | "while" | "switch" | "try" | "elseif" => return None,
            _ => return Some(skips),
        }
        Some(true)
    }

    /// `mpc.FIELD = …`; none if that computes something unknown.
    fn assign(&mut self, field: &str, statement: &Lines) -> Option<Result<(), CaseError>> {
        let mut lines = statement.clone();
        lines[0].1 = lines[0].1.split_once('=')?.1.to_owned();
        let (name, place) = match field.split_once('(') {
            Some((name, place)) => (name.trim(), Some(place.strip_suffix(')')?)),
            None => (field, None),
        };
        is_name(name).then_some(())?;
        let text = || lines.iter().map(|l| l.1.trim()).collect::<Vec<_>>().join(" ");
        if name == "baseMVA" && place.is_none() {
            let Value::Number(base) = self.eval(&text())? else { return None };
            self.base = Some(base);
        } else if let Some(place) = place.filter(|_| TABLES.contains(&name)) {
            let value = self.eval(&text())?;
            self.put(name, place, value)?;
        } else if TABLES.contains(&name) {
            if !lines[0].1.trim_start().starts_with('[') {
                return None;
            }
            return Some(self.table(&lines)?.map(|table| {
                self.tables.insert(name.to_owned(), table);
            }));
        }
        Some(Ok(()))
    }

    /// Rows in brackets.
    fn table(&self, lines: &Lines) -> Option<Result<Table, CaseError>> {
        let mut lines = lines.clone();
        lines[0].1 = lines[0].1.trim().strip_prefix('[')?.to_owned();
        let last = &mut lines.last_mut()?.1;
        *last = last.trim().strip_suffix(']')?.to_owned();
        let mut rows = Table::new();
        for (number, line) in &lines {
            for row in line.split(';') {
                let words = row.split([' ', '\t', ',']).filter(|w| !w.is_empty());
                let cell = |w: &str| match w.parse() {
                    Ok(x) => Ok(x),
                    Err(_) => match self.eval(w) {
                        Some(Value::Number(x)) => Ok(x),
                        _ => Err(CaseError::NoNumber { line: *number, cell: w.to_owned() }),
                    },
                };
                match words.map(cell).collect::<Result<Vec<f64>, CaseError>>() {
                    Ok(numbers) if numbers.is_empty() => {}
                    Ok(numbers) => rows.push((*number, numbers)),
                    Err(why) => return Some(Err(why)),
                }
            }
        }
        Some(Ok(rows))
    }

    /// The rows and columns, from 0, that `place` names in a table.
    fn places(&self, name: &str, place: &str) -> Option<(Vec<usize>, Vec<usize>)> {
        let table = self.tables.get(name)?;
        let (rows, columns) = place.split_once(',')?;
        let index = |text: &str, end: usize| match self.eval(text)? {
            Value::Number(x) if x >= 1.0 && x <= end as f64 && x.fract() == 0.0 => {
                Some(x as usize - 1)
            }
            _ => None,
        };
        let width = table.iter().map(|(_, row)| row.len()).min()?;
        let rows = match rows.trim() {
            ":" => (0..table.len()).collect(),
            one => vec![index(one, table.len())?],
        };
        let columns = columns.trim();
        let list = columns.strip_prefix('[').map(|list| list.strip_suffix(']'));
        let columns = match list {
            Some(list) => list?
                .split([',', ' ', '\t'])
                .filter(|w| !w.is_empty())
                .map(|w| index(w, width))
                .collect::<Option<Vec<usize>>>()?,
            None => vec![index(columns, width)?],
        };
        Some((rows, columns))
    }

    /// Sets a part of a table.
    fn put(&mut self, name: &str, place: &str, value: Value) -> Option<()> {
        let (rows, columns) = self.places(name, place)?;
        let fits = match &value {
            Value::Number(_) => true,
            Value::Columns(v) => {
                v.len() == columns.len() && v.iter().all(|c| c.len() == rows.len())
            }
        };
        let table = self.tables.get_mut(name).filter(|_| fits)?;
        for (r, &row) in rows.iter().enumerate() {
            for (c, &column) in columns.iter().enumerate() {
                table[row].1[column] = match &value {
                    Value::Number(x) => *x,
                    Value::Columns(v) => v[c][r],
                };
            }
        }
        Some(())
    }

    fn get(&self, name: &str, place: &str) -> Option<Value> {
        let (rows, columns) = self.places(name, place)?;
        let table = &self.tables[name];
        if let ([row], [column]) = (rows.as_slice(), columns.as_slice()) {
            return Some(Value::Number(table[*row].1[*column]));
        }
        let column = |&c: &usize| rows.iter().map(|&r| table[r].1[c]).collect();
        Some(Value::Columns(columns.iter().map(column).collect()))
    }

    fn eval(&self, text: &str) -> Option<Value> {
        let mut reader = Reader { script: self, rest: text.trim(), depth: 0 };
        let value = reader.sum()?;
        reader.rest.is_empty().then_some(value)
    }
}

/// Reads an expression.
struct Reader<'a> {
    script: &'a Script,
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest).trim_start();
        rest.is_some()
    }

    fn sum(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let mut sum = self.product()?;
        loop {
            sum = if self.take("+") {
                apply(sum, self.product()?, |a, b| a + b, true)?
            } else if self.take("-") {
                apply(sum, self.product()?, |a, b| a - b, true)?
            } else {
                self.depth -= 1;
                return Some(sum);
            };
        }
    }

    /// Products of tables are products of matrices, which no case needs; `.*` goes by elements.
    fn product(&mut self) -> Option<Value> {
        let mut product = self.signed()?;
        loop {
            product = if self.take(".*") {
                apply(product, self.signed()?, |a, b| a * b, true)?
            } else if self.take("./") {
                apply(product, self.signed()?, |a, b| a / b, true)?
            } else if self.take("*") {
                apply(product, self.signed()?, |a, b| a * b, false)?
            } else if self.take("/") {
                let by = self.signed()?;
                matches!(by, Value::Number(_)).then_some(())?;
                apply(product, by, |a, b| a / b, false)?
            } else {
                return Some(product);
            };
        }
    }

    /// A sign stands outside of powers.
    fn signed(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let value = if self.take("-") {
            apply(Value::Number(0.0), self.signed()?, |a, b| a - b, true)
        } else if self.take("+") {
            self.signed()
        } else {
            self.power()
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Option<Value> {
        let mut base = self.value()?;
        loop {
            let plain = self.take("^");
            if !plain && !self.take(".^") {
                return Some(base);
            }
            let sign = if self.take("-") { -1.0 } else { 1.0 };
            let Value::Number(exponent) = self.value()? else { return None };
            let scalar = matches!(base, Value::Number(_));
            (scalar || !plain).then_some(())?;
            let power = move |a, b| libm::pow(a, sign * b);
            base = apply(base, Value::Number(exponent), power, true)?;
        }
    }

    fn value(&mut self) -> Option<Value> {
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        let digits = self.number();
        if digits > 0 {
            let (number, rest) = self.rest.split_at(digits);
            self.rest = rest.trim_start();
            return Some(Value::Number(number.parse().ok()?));
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        if let Some(field) = name.strip_prefix("mpc.") {
            if field == "baseMVA" {
                return self.script.base.map(Value::Number);
            }
            let place = self.rest.strip_prefix('(')?;
            let (place, rest) = place.split_once(')')?;
            self.rest = rest.trim_start();
            return self.script.get(field, place);
        }
        if let Some(x) = self.script.names.get(name) {
            return Some(Value::Number(*x));
        }
        match name {
            "pi" => Some(Value::Number(std::f64::consts::PI)),
            "Inf" | "inf" => Some(Value::Number(f64::INFINITY)),
            "NaN" | "nan" => Some(Value::Number(f64::NAN)),
            _ => {
                let function = function(name)?;
                let argument = self.take("(").then(|| self.sum())??;
                let apply = apply(argument, Value::Number(0.0), |a, _| function(a), true)?;
                self.take(")").then_some(apply)
            }
        }
    }

    /// The length of the number that stands next, without a sign.
    fn number(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let digits =
            |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count() + from;
        let mut end = digits(0);
        // `1./x` divides by elements.
        let point = bytes.get(end) == Some(&b'.')
            && !matches!(bytes.get(end + 1), Some(b'*' | b'/' | b'^'));
        if point {
            end = digits(end + 1);
        }
        if end == 0 || (end == 1 && point) {
            return 0;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits((end + 1 + sign).min(bytes.len()));
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        end
    }
}

fn function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sqrt" => libm::sqrt,
        "abs" => libm::fabs,
        "exp" => libm::exp,
        "log" => libm::log,
        "sin" => libm::sin,
        "cos" => libm::cos,
        "tan" => libm::tan,
        "asin" => libm::asin,
        "acos" => libm::acos,
        "atan" => libm::atan,
        _ => return None,
    })
}

/// Two values by elements; tables with tables only where `both` allows it and they are equally large.
fn apply(a: Value, b: Value, f: impl Fn(f64, f64) -> f64, both: bool) -> Option<Value> {
    let map = |columns: Vec<Vec<f64>>, f: &dyn Fn(f64) -> f64| {
        Value::Columns(columns.into_iter().map(|c| c.into_iter().map(f).collect()).collect())
    };
    Some(match (a, b) {
        (Value::Number(a), Value::Number(b)) => Value::Number(f(a, b)),
        (Value::Columns(a), Value::Number(b)) => map(a, &|a| f(a, b)),
        (Value::Number(a), Value::Columns(b)) => map(b, &|b| f(a, b)),
        (Value::Columns(a), Value::Columns(b)) => {
            let fits = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.len() == b.len());
            (both && fits).then_some(())?;
            let pair =
                |(a, b): (Vec<f64>, Vec<f64>)| a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect();
            Value::Columns(a.into_iter().zip(b).map(pair).collect())
        }
    })
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_alphabetic())
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}
