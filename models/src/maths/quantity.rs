//! Numbers with units of measure: `0.1 s`, `10 Mb/s`, `3 kW`, `20 degC`.
//!
//! **Why not a crate.** A scenario needs few units, exact decimals (`0.1 s` is exactly
//! 100 000 000 ns, never 99 999 999), bits and bytes, and a message that says which unit was
//! meant. A quantity is therefore kept as a decimal, and becomes a float or a number of ticks
//! only at the end, rounded once.
use std::{fmt, ops::Range};
use superdense_kernel::time::Resolution;

mod fraction;
mod table;
pub use fraction::fraction;
pub(super) use table::in_base_units;
pub use table::{Dimension, Unit, UnitError, unit};

/// `mantissa * 10^exponent`, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i128,
    exponent: i32,
}

impl Decimal {
    /// A whole number.
    pub const fn whole(n: i64) -> Self {
        Self { mantissa: n as i128, exponent: 0 }
    }

    /// Reads `12`, `-0.5`, `1_000`, `2.5e-9`; `None` for anything else, or beyond 36 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (sign, digits) = match mantissa.as_bytes().first()? {
            b'-' => (-1, &mantissa[1..]),
            b'+' => (1, &mantissa[1..]),
            _ => (1, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || exponent.abs() > 400 {
            return None;
        }
        let (mut value, mut places) = (0i128, 0);
        for c in whole.bytes().filter(|&c| c != b'_') {
            value = push_digit(value, c)?;
        }
        for c in fraction.bytes().filter(|&c| c != b'_') {
            value = push_digit(value, c)?;
            places += 1;
        }
        Some(Self { mantissa: sign * value, exponent: exponent - places })
    }

    /// The product with another decimal, if it fits.
    pub fn times(self, other: Self) -> Option<Self> {
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        Some(Self { mantissa, exponent: self.exponent + other.exponent })
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        // The standard library rounds decimal text correctly.
        format!("{}e{}", self.mantissa, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Below zero.
    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// The exponent, when this is a power of ten.
    pub fn power_of_ten(self) -> Option<i32> {
        let normal = self.normal();
        (normal.mantissa == 1).then_some(normal.exponent)
    }

    /// Seconds as ticks. A number of 16 digits and more was computed by a program, such as 0.30000000000000004, and is
    /// rounded to ticks.
    ///
    /// # Errors
    /// When it is no whole number of ticks, or too many.
    pub fn ticks(self, resolution: Resolution) -> Result<i64, TicksError> {
        const COMPUTED: u128 = 10u128.pow(15);
        let is_computed = self.normal().mantissa.unsigned_abs() >= COMPUTED;
        let mut value = self.mantissa;
        let mut shift = self.exponent + i32::from(resolution.exponent());
        while shift > 0 && value != 0 {
            value = value.checked_mul(10).ok_or(TicksError::TooLong)?;
            shift -= 1;
        }
        while shift < 0 && value != 0 {
            let lowest = value % 10;
            if lowest != 0 && (!is_computed || value.unsigned_abs() < 10) {
                let places = u8::try_from(-self.normal().exponent).ok();
                return Err(TicksError::Finer(places.filter(|&p| p <= 18)));
            }
            // The first digit below a tick tells how to round, those behind it are cut.
            let carry = if shift == -1 && lowest.abs() >= 5 { lowest.signum() } else { 0 };
            value = value / 10 + carry;
            shift += 1;
        }
        i64::try_from(value).ok().filter(|&v| v != i64::MAX).ok_or(TicksError::TooLong)
    }

    fn normal(mut self) -> Self {
        while self.mantissa != 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        self
    }
}

fn push_digit(value: i128, c: u8) -> Option<i128> {
    if !c.is_ascii_digit() || value >= 10i128.pow(36) {
        return None;
    }
    Some(value * 10 + i128::from(c - b'0'))
}

/// Why seconds are no number of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicksError {
    /// There are digits below one tick; the exponent of a resolution that would hold them.
    Finer(Option<u8>),
    /// More ticks than a time can count.
    TooLong,
}

/// A number with a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The number as written.
    pub number: Decimal,
    /// The divisor, in `1/3 s`.
    pub over: Option<Decimal>,
    /// Its unit.
    pub unit: Unit,
}

/// Why a text that looks like a quantity is none.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantityError {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// The mistake in the unit.
    pub error: UnitError,
}

impl QuantityError {
    /// The remedy.
    pub fn help(&self) -> String {
        match &self.error.suggestion {
            Some(unit) => format!("did you mean `{unit}`?"),
            None if ["+", "-"].contains(&self.error.unknown.as_str()) => {
                "a quantity is one number with its unit: write the sum as such a number, `1.5 s`, or add parameters".into()
            }
            None => "units are s, min, h, m, kg, A, K, W, V, Hz, b, B, ... with SI prefixes; a product needs its `*`".into(),
        }
    }
}

impl Quantity {
    /// Reads `number unit` or `number/number unit`. `Ok(None)` when the text does not have that form (a formula, say).
    ///
    /// ```
    /// use superdense_kernel::time::Resolution;
    /// use superdense_models::maths::quantity::Quantity;
    /// let q = Quantity::parse("10 Mb/s").unwrap().unwrap();
    /// assert_eq!(q.si(), 1e7);
    /// let q = Quantity::parse("5 ms").unwrap().unwrap();
    /// assert_eq!(q.exact_si().unwrap().ticks(Resolution::NANO), Ok(5_000_000));
    /// assert_eq!(Quantity::parse("2 * x"), Ok(None));
    /// ```
    ///
    /// # Errors
    /// A number followed by an unknown unit.
    pub fn parse(text: &str) -> Result<Option<Self>, QuantityError> {
        let start = text.len() - text.trim_start().len();
        let body = text.trim();
        let Some(end) = number_length(body) else { return Ok(None) };
        let mut rest = body[end..].trim_start();
        let mut over = None;
        if let Some(divisor) = rest.strip_prefix('/').map(str::trim_start)
            && let Some(end) = number_length(divisor)
        {
            let Some(number) = Decimal::parse(&divisor[..end]) else { return Ok(None) };
            over = Some(number);
            rest = divisor[end..].trim_start();
        }
        let begins =
            |text: &str| text.starts_with(|c: char| c.is_alphabetic() || "%°Ω".contains(c));
        // `100 1/h`: no formula has a number behind a number.
        let apart = rest.len() < body.len() - end && over.is_none();
        let divisor = |text: &str| begins(text) || text.starts_with('(');
        let reciprocal = rest.strip_prefix("1/").is_some_and(divisor) && apart;
        if !begins(rest) && !reciprocal {
            return Ok(None);
        }
        let Some(number) = Decimal::parse(&body[..end]) else { return Ok(None) };
        let at = start + body.len() - rest.len();
        match unit(rest) {
            Ok(unit) => Ok(Some(Self { number, over, unit })),
            Err(error) => Err(QuantityError { span: at..at + rest.len(), error }),
        }
    }

    /// The value in SI base units (seconds, metres, bits, ...).
    pub fn si(&self) -> f64 {
        match self.exact_si() {
            Some(d) => d.to_f64(),
            None => self.unit.to_si(self.value()),
        }
    }

    fn value(&self) -> f64 {
        self.number.to_f64() / self.over.map_or(1.0, Decimal::to_f64)
    }

    /// The value in SI as an exact decimal, when the unit is an exact decimal multiple and nothing
    /// is divided.
    pub fn exact_si(&self) -> Option<Decimal> {
        if self.over.is_some() {
            return None;
        }
        self.number.times(self.unit.exact()?)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value(), self.unit)
    }
}

/// Length of the decimal number at the start.
fn number_length(text: &str) -> Option<usize> {
    let b = text.as_bytes();
    let run = |from: usize| {
        b[from.min(b.len())..].iter().take_while(|c| c.is_ascii_digit() || **c == b'_').count()
    };
    let sign = usize::from(matches!(b.first(), Some(b'+' | b'-')));
    let whole = run(sign);
    let mut end = sign + whole;
    if b.get(end) == Some(&b'.') {
        let fraction = run(end + 1);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if matches!(b.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(b.get(end + 1), Some(b'+' | b'-')));
        let digits = run(end + 1 + sign);
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        let ticks = |t: &str| {
            let q = Quantity::parse(t).unwrap().unwrap();
            q.exact_si().unwrap().ticks(Resolution::NANO)
        };
        assert_eq!(ticks("0.1 s"), Ok(100_000_000));
        assert_eq!(ticks("5 ms"), Ok(5_000_000));
        assert_eq!(ticks("2 h"), Ok(7_200_000_000_000));
        assert_eq!(ticks("0.1 min"), Ok(6_000_000_000));
        assert_eq!(ticks("1.5 d"), Ok(129_600_000_000_000));
        assert_eq!(ticks("1 ps"), Err(TicksError::Finer(Some(12))));
        assert_eq!(ticks("1e30 s"), Err(TicksError::TooLong));
        assert_eq!(ticks("-3us"), Ok(-3_000));
        // Computed: 0.1 + 0.2, 1/3, 2/3.
        assert_eq!(ticks("0.30000000000000004 s"), Ok(300_000_000));
        assert_eq!(ticks("0.3333333333333333 s"), Ok(333_333_333));
        assert_eq!(ticks("-0.6666666666666666 s"), Ok(-666_666_667));
        assert_eq!(ticks("3.333333333333333e-10 s"), Err(TicksError::Finer(None)));
        assert_eq!(ticks("0.66666666666 s"), Err(TicksError::Finer(Some(11))));
    }

    #[test]
    fn units_compose() {
        let si = |t: &str| Quantity::parse(t).unwrap().unwrap().si();
        assert_eq!(si("0.55 m"), 0.55);
        assert_eq!(si("10 Mb/s"), 1e7);
        assert_eq!(si("1 MB"), 8e6);
        assert_eq!(si("1 KiB"), 8192.0);
        assert_eq!(si("3 kW"), 3000.0);
        assert_eq!(si("36 km/h"), 10.0);
        assert_eq!(si("9.81 m/s^2"), 9.81);
        assert_eq!(si("8.314 kJ/(mol*K)"), si("8.314 kJ/mol/K"));
        assert_eq!(si("4.2 J/(g K)"), 4200.0);
        assert_eq!(si("2 N m"), 2.0);
        assert_eq!(si("2 N*m"), 2.0);
        assert_eq!(si("20 degC"), 293.15);
        assert_eq!(si("20 °C"), 293.15);
        assert_eq!([si("32 degF"), si("212 °F")].map(f64::round), [273.0, 373.0]);
        assert!((si("32 degF") - 273.15).abs() < 1e-12);
        assert_eq!(si("1 kWh"), 3.6e6);
        assert_eq!(si("50 %"), 0.5);
        assert_eq!(si("1e3 mm"), 1.0);
        assert_eq!(si("4.7 kΩ"), 4700.0);
        assert_eq!(si("1 µs"), 1e-6);
        assert_eq!([si("7200 1/h"), si("-3 1/s")], [2.0, -3.0]);
        let long = format!("1/{} s", "3".repeat(40));
        assert_eq!(Quantity::parse(&long), Ok(None), "more digits than are exact");
        assert_eq!([si("1/3 s"), si("-1 / 60s"), si("5/2 ms")], [1.0 / 3.0, -1.0 / 60.0, 2.5e-3]);
    }

    #[test]
    fn formulas_are_no_quantities_and_wrong_units_are_named() {
        for text in
            ["2*h", "x", "", "1 / s", "1/3", "1/3*s", "1/3/4 s", "-", "1e", "(1 s)", "1.5", "- 3 s"]
        {
            assert!(!matches!(Quantity::parse(text), Ok(Some(_))), "{text}");
        }
        let e = Quantity::parse("10 Mbs").unwrap_err();
        assert_eq!(e.span, 3..6);
        assert_eq!(e.error.unknown, "Mbs");
        assert_eq!(Quantity::parse("3 secs").unwrap_err().error.suggestion.as_deref(), Some("s"));
    }
}
