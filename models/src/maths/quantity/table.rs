//! The units that a scenario may use.
use super::Decimal;
use std::{borrow::Cow, f64::consts::PI, fmt};

/// Exponents of second, metre, kilogram, ampere, kelvin, mole, candela and bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dimension([i8; 8]);

const BASE: [&str; 8] = ["s", "m", "kg", "A", "K", "mol", "cd", "b"];

impl Dimension {
    /// A pure number.
    pub const NONE: Self = Self([0; 8]);
    /// Time.
    pub const TIME: Self = Self([1, 0, 0, 0, 0, 0, 0, 0]);

    /// Exponents of the base units, in their order.
    pub fn exponents(self) -> [i8; 8] {
        self.0
    }

    /// The SI unit: by its own symbol, such as `W`, where it has one; else in base units.
    pub fn symbol(self) -> String {
        // A rate is no frequency.
        let own = TABLE.iter().find(|Entry(symbol, exponents, factor, _)| {
            *exponents == self.0 && *factor == "1" && *symbol != "Hz" && self != Self::NONE
        });
        own.map_or_else(|| self.to_string(), |entry| entry.0.to_owned())
    }

    fn power(self, n: i8) -> Option<Self> {
        let mut out = self.0;
        for e in &mut out {
            *e = e.checked_mul(n)?;
        }
        Some(Self(out))
    }

    fn times(self, other: Self) -> Option<Self> {
        let mut out = self.0;
        for (a, b) in out.iter_mut().zip(other.0) {
            *a = a.checked_add(b)?;
        }
        Some(Self(out))
    }
}

impl fmt::Display for Dimension {
    /// In base units: `m/s^2`; `1` for a pure number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_base_units(self.0.map(f64::from)))
    }
}

/// Powers of the base units as a text: `m/s^2`; `1` for a pure number.
pub(crate) fn in_base_units(exponents: [f64; 8]) -> String {
    let part = |sign: f64| {
        let named = BASE.iter().zip(exponents).filter(move |(_, e)| e * sign > 0.0);
        named.map(move |(name, e)| match e * sign {
            1.0 => (*name).to_owned(),
            n => format!("{name}^{}", (n * 1e3).round() / 1e3),
        })
    };
    let (above, below) = (part(1.0).collect::<Vec<_>>(), part(-1.0).collect::<Vec<_>>());
    let above = if above.is_empty() { "1".to_owned() } else { above.join("*") };
    below.iter().fold(above, |text, b| format!("{text}/{b}"))
}

/// A unit of measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    text: String,
    dimension: Dimension,
    factor: f64,
    offset: f64,
    exact: Option<Decimal>,
}

impl Unit {
    /// The dimension that it measures.
    pub fn dimension(&self) -> Dimension {
        self.dimension
    }
    /// Whether numbers of it are points on a scale whose zero is not that of the SI: temperatures.
    pub fn is_scale(&self) -> bool {
        self.offset != 0.0
    }
    /// Whether it measures angles, or what has them: a rate of rotation is no frequency.
    pub fn has_angles(&self) -> bool {
        let symbols = self.text.split(|c: char| !c.is_alphabetic() && c != '°');
        symbols
            .into_iter()
            .any(|symbol| symbol.ends_with("rad") || ["deg", "°", "rpm"].contains(&symbol))
    }
    /// A number of this unit in SI base units.
    pub fn to_si(&self, x: f64) -> f64 {
        x * self.factor + self.offset
    }
    /// A number of SI base units in this unit.
    pub fn of_si(&self, x: f64) -> f64 {
        (x - self.offset) / self.factor
    }
    /// The factor to SI as a decimal, when it is one.
    pub fn exact(&self) -> Option<Decimal> {
        self.exact
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A unit that is not in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitError {
    /// The part that is unknown.
    pub unknown: String,
    /// A unit that may be meant.
    pub suggestion: Option<String>,
}

/// Symbol, exponents, factor, whether SI prefixes apply.
struct Entry(&'static str, [i8; 8], &'static str, bool);

#[rustfmt::skip]
const TABLE: &[Entry] = &[
    //             s   m  kg   A  K mol cd  b
    Entry("s",    [1,  0,  0,  0, 0, 0, 0, 0], "1", true),
    Entry("min",  [1,  0,  0,  0, 0, 0, 0, 0], "60", false),
    Entry("h",    [1,  0,  0,  0, 0, 0, 0, 0], "3600", false),
    Entry("d",    [1,  0,  0,  0, 0, 0, 0, 0], "86400", false),
    Entry("day",  [1,  0,  0,  0, 0, 0, 0, 0], "86400", false),
    Entry("m",    [0,  1,  0,  0, 0, 0, 0, 0], "1", true),
    Entry("ft",   [0,  1,  0,  0, 0, 0, 0, 0], "0.3048", false),
    Entry("g",    [0,  0,  1,  0, 0, 0, 0, 0], "1e-3", true),
    Entry("t",    [0,  0,  1,  0, 0, 0, 0, 0], "1e3", false),
    Entry("A",    [0,  0,  0,  1, 0, 0, 0, 0], "1", true),
    Entry("K",    [0,  0,  0,  0, 1, 0, 0, 0], "1", true),
    Entry("mol",  [0,  0,  0,  0, 0, 1, 0, 0], "1", true),
    Entry("cd",   [0,  0,  0,  0, 0, 0, 1, 0], "1", true),
    Entry("b",    [0,  0,  0,  0, 0, 0, 0, 1], "1", true),
    Entry("bit",  [0,  0,  0,  0, 0, 0, 0, 1], "1", true),
    Entry("B",    [0,  0,  0,  0, 0, 0, 0, 1], "8", true),
    Entry("byte", [0,  0,  0,  0, 0, 0, 0, 1], "8", true),
    Entry("Hz",   [-1, 0,  0,  0, 0, 0, 0, 0], "1", true),
    Entry("N",    [-2, 1,  1,  0, 0, 0, 0, 0], "1", true),
    Entry("Pa",   [-2, -1, 1,  0, 0, 0, 0, 0], "1", true),
    Entry("bar",  [-2, -1, 1,  0, 0, 0, 0, 0], "1e5", true),
    Entry("J",    [-2, 2,  1,  0, 0, 0, 0, 0], "1", true),
    Entry("Wh",   [-2, 2,  1,  0, 0, 0, 0, 0], "3600", true),
    Entry("W",    [-3, 2,  1,  0, 0, 0, 0, 0], "1", true),
    Entry("VA",   [-3, 2,  1,  0, 0, 0, 0, 0], "1", true),
    Entry("var",  [-3, 2,  1,  0, 0, 0, 0, 0], "1", true),
    Entry("C",    [1,  0,  0,  1, 0, 0, 0, 0], "1", true),
    Entry("Ah",   [1,  0,  0,  1, 0, 0, 0, 0], "3600", true),
    Entry("V",    [-3, 2,  1, -1, 0, 0, 0, 0], "1", true),
    Entry("Ohm",  [-3, 2,  1, -2, 0, 0, 0, 0], "1", true),
    Entry("ohm",  [-3, 2,  1, -2, 0, 0, 0, 0], "1", true),
    Entry("Ω",    [-3, 2,  1, -2, 0, 0, 0, 0], "1", true),
    Entry("S",    [3, -2, -1,  2, 0, 0, 0, 0], "1", true),
    Entry("F",    [4, -2, -1,  2, 0, 0, 0, 0], "1", true),
    Entry("H",    [-2, 2,  1, -2, 0, 0, 0, 0], "1", true),
    Entry("Wb",   [-2, 2,  1, -1, 0, 0, 0, 0], "1", true),
    Entry("T",    [-2, 0,  1, -1, 0, 0, 0, 0], "1", true),
    Entry("L",    [0,  3,  0,  0, 0, 0, 0, 0], "1e-3", true),
    Entry("l",    [0,  3,  0,  0, 0, 0, 0, 0], "1e-3", true),
    Entry("rad",  [0; 8], "1", true),
    Entry("%",    [0; 8], "1e-2", false),
    Entry("pu",   [0; 8], "1", false),
];

const PREFIXES: &[(&str, i32)] = &[
    ("da", 1),
    ("f", -15),
    ("p", -12),
    ("n", -9),
    ("u", -6),
    ("µ", -6),
    ("μ", -6),
    ("m", -3),
    ("c", -2),
    ("d", -1),
    ("h", 2),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
];
const BINARY: &[(&str, i64)] =
    &[("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("Ti", 1 << 40)];

/// The unit of a text such as `ms`, `Mb/s`, `kg m^2`, `1/s`.
///
/// A `/` divides by the next factor only, as usual, or by all in the brackets that follow: `J/(mol*K)`.
///
/// # Errors
/// A part that is not in the table.
pub fn unit(text: &str) -> Result<Unit, UnitError> {
    let text = text.trim();
    let unknown = |part: &str| UnitError { unknown: part.to_owned(), suggestion: suggest(part) };
    if text.len() > 100 {
        return Err(unknown("this long text"));
    }
    let scale = match text {
        "degC" | "°C" => Some((1.0, 273.15)),
        "degF" | "°F" => Some((5.0 / 9.0, 459.67 * 5.0 / 9.0)),
        _ => None,
    };
    if let Some((factor, offset)) = scale {
        let dimension = Dimension([0, 0, 0, 0, 1, 0, 0, 0]);
        return Ok(Unit { text: text.into(), dimension, factor, offset, exact: None });
    }
    let one = Decimal::whole(1);
    let mut out = Unit {
        text: text.to_owned(),
        dimension: Dimension::NONE,
        factor: 1.0,
        offset: 0.0,
        exact: Some(one),
    };
    let flat = without_brackets(text).ok_or_else(|| unknown(text))?;
    let flat = flat.replace('²', "^2").replace('³', "^3");
    let mut rest = &*flat;
    let mut divide = false;
    loop {
        let end = rest.find([' ', '*', '/', '·']).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let (symbol, power) = match part.split_once('^') {
            Some((symbol, n)) => (symbol, n.parse::<i8>().map_err(|_| unknown(part))?),
            None => (part, 1),
        };
        let (dimension, factor, exact) = if symbol == "1" {
            (Dimension::NONE, 1.0, Some(one))
        } else {
            symbol_of(symbol).ok_or_else(|| unknown(symbol))?
        };
        if power.unsigned_abs() > 8 {
            return Err(unknown(part));
        }
        let power = if divide { -power } else { power };
        let dimension = dimension.power(power).and_then(|d| out.dimension.times(d));
        out.dimension = dimension.ok_or_else(|| unknown(part))?;
        out.factor *= factor.powi(power.into());
        out.exact = match (out.exact, exact) {
            (Some(a), Some(e)) if power >= 0 => {
                (0..power).try_fold(a, |product, _| product.times(e))
            }
            _ => None,
        };
        let tail = after.trim_start();
        if tail.is_empty() {
            break;
        }
        divide = tail.starts_with('/');
        rest = tail.trim_start_matches(['*', '/', '·']).trim_start();
        if tail.len() - rest.len() > 3 || rest.is_empty() {
            return Err(unknown(text));
        }
    }
    if let Some(exact) = out.exact {
        out.factor = exact.to_f64();
    }
    Ok(out)
}

/// `J/(mol*K)` as `J/mol/K`; nothing where brackets stand elsewhere, or have a quotient in them.
fn without_brackets(text: &str) -> Option<Cow<'_, str>> {
    let Some((before, rest)) = text.split_once('(') else { return Some(Cow::Borrowed(text)) };
    let (inner, after) = rest.split_once(')')?;
    let before = before.trim_end();
    if !before.ends_with('/') || inner.contains(['/', '(']) || after.contains(['(', ')']) {
        return None;
    }
    let factors = inner.split([' ', '*', '·']).filter(|factor| !factor.is_empty());
    let factors: Vec<&str> = factors.collect();
    (!factors.is_empty()).then(|| Cow::Owned(format!("{before}{}{after}", factors.join("/"))))
}

type Factor = (Dimension, f64, Option<Decimal>);

fn symbol_of(symbol: &str) -> Option<Factor> {
    let entry = |name: &str| TABLE.iter().find(|e| e.0 == name);
    let factor = |e: &Entry, scale: Decimal| {
        let exact = Decimal::parse(e.2).and_then(|d| d.times(scale));
        Some((Dimension(e.1), exact?.to_f64(), exact))
    };
    let irrational = |dimension: Dimension, factor: f64| Some((dimension, factor, None));
    match symbol {
        "deg" | "°" => return irrational(Dimension::NONE, PI / 180.0),
        "rpm" => return irrational(Dimension([-1, 0, 0, 0, 0, 0, 0, 0]), PI / 30.0),
        _ => {}
    }
    if let Some(e) = entry(symbol) {
        return factor(e, Decimal::whole(1));
    }
    for (prefix, power) in PREFIXES {
        // No deci-bytes: `dB` is not what its author means.
        let allowed = |e: &&Entry| e.3 && (e.1[7] == 0 || *power >= 3);
        if let Some(e) = symbol.strip_prefix(prefix).and_then(entry).filter(allowed) {
            return factor(e, Decimal { mantissa: 1, exponent: *power });
        }
    }
    for (prefix, scale) in BINARY {
        let bits = |e: &&Entry| e.1[7] != 0;
        if let Some(e) = symbol.strip_prefix(prefix).and_then(entry).filter(bits) {
            return factor(e, Decimal::whole(*scale));
        }
    }
    None
}

/// Frequent ways of writing what the table calls otherwise.
fn suggest(part: &str) -> Option<String> {
    let lower = part.to_lowercase();
    let known = [
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("minute", "min"),
        ("minutes", "min"),
        ("mins", "min"),
        ("hour", "h"),
        ("hours", "h"),
        ("hr", "h"),
        ("days", "d"),
        ("usec", "us"),
        ("nsec", "ns"),
        ("celsius", "degC"),
        ("fahrenheit", "degF"),
        ("c", "degC"),
        ("degrees", "deg"),
        ("bits", "b"),
        ("bytes", "B"),
        ("kbps", "kb/s"),
        ("mbps", "Mb/s"),
        ("gbps", "Gb/s"),
        ("bps", "b/s"),
        ("hz", "Hz"),
        ("khz", "kHz"),
        ("mhz", "MHz"),
        ("meter", "m"),
        ("metre", "m"),
        ("meters", "m"),
        ("metres", "m"),
        ("kw", "kW"),
        ("mw", "MW"),
        ("w", "W"),
        ("v", "V"),
        ("kv", "kV"),
        ("a", "A"),
        ("k", "K"),
        ("pa", "Pa"),
        ("n", "N"),
        ("j", "J"),
        ("mbs", "Mb/s"),
        ("kbs", "kb/s"),
        ("radians", "rad"),
        ("liter", "L"),
        ("litre", "L"),
        ("kmh", "km/h"),
        ("kph", "km/h"),
        ("nm", "N*m"),
        ("s2", "s^2"),
        ("m2", "m^2"),
        ("m3", "m^3"),
    ];
    // Only alone does it count from its own zero.
    if ["degC", "degF", "°C", "°F"].iter().any(|scale| part.ends_with(scale)) {
        return Some("K".to_owned());
    }
    known.iter().find(|(name, _)| *name == lower).map(|(_, unit)| (*unit).to_owned())
}
