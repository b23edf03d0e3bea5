//! Dimensions, and what operations make of them.

use super::super::error::{DIFFERENCES, SCALES, UNITS};
use crate::maths::quantity::{Unit, in_base_units};

/// Exponents closer than this are equal: thirds and tenths add up to whole numbers.
const EQUAL: f64 = 1e-9;
/// Zero degrees Celsius in kelvin.
const CELSIUS: f64 = 273.15;

/// The dimension of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Some name in it has no unit.
    Unknown,
    /// Made of numbers alone; their value, where it is known.
    Number(Option<f64>),
    /// Made of quantities.
    Known(Measured),
}

/// The dimension of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Of the base units.
    exponents: [f64; 8],
    /// How many temperatures on a scale are added in it; none where that does not count.
    points: Option<f64>,
    /// How many of them are added or taken away as they are; 0 where one has a factor, and in differences.
    plain: u16,
    /// Of a product: how many temperatures are added in the factor that is a sum of them.
    within: Option<f64>,
    /// Made of the time alone, whose unit nobody has written.
    soft: bool,
    /// Numbers are factors in it, by which it may count in another unit.
    scaled: bool,
}

/// Two values that do not go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Clash {
    /// Of different dimensions.
    Different,
    /// A temperature on a scale, and a value without a unit: whether the first one is the temperature.
    Scale(bool),
}

/// How two values come together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Together {
    /// The second one counts so many times in a sum: 1 or -1.
    Sum(f64),
    /// They are compared, or either of them is taken.
    Equal,
}

impl Measured {
    pub(super) fn is_pure(&self) -> bool {
        self.exponents.iter().all(|e| e.abs() < EQUAL)
    }

    fn is_scale(&self) -> bool {
        self.points.is_some_and(|n| n.abs() > EQUAL)
    }

    fn equals(&self, other: &Self) -> bool {
        let equal = |(a, b): (&f64, &f64)| (a - b).abs() < EQUAL;
        self.exponents.iter().zip(&other.exponents).all(equal)
    }

    fn text(&self) -> String {
        let points = |n: f64| match n {
            n if n.abs() < EQUAL => "a difference of temperatures".into(),
            n if (n - 1.0).abs() < EQUAL => "a temperature".into(),
            n => format!("{n} temperatures in a sum"),
        };
        match (self.points, self.within) {
            (Some(n), _) => points(n),
            (_, Some(n)) => format!("{}, in {}", points(n), in_base_units(self.exponents)),
            _ if self.is_pure() => "a pure number".into(),
            _ => format!("in {}", in_base_units(self.exponents)),
        }
    }

    fn with(self, other: Self, power: f64) -> Measure {
        let mut exponents = self.exponents;
        exponents.iter_mut().zip(other.exponents).for_each(|(a, b)| *a += power * b);
        let within = match (self.points.or(self.within), other.points.or(other.within)) {
            (sum, None) => sum,
            (None, sum) if power == 1.0 => sum,
            _ => None,
        };
        let (soft, scaled) = (self.soft && other.soft, self.scaled || other.scaled);
        Measure::Known(Self { exponents, points: None, plain: 0, within, soft, scaled })
    }

    /// Whether it is a sum such as `wanted + offset - T`, which is no difference although temperatures are taken
    /// away in it.
    pub(super) fn is_mixed(&self) -> bool {
        self.plain > 2 && self.points.is_some_and(|n| (n.abs() - 1.0).abs() < EQUAL)
    }
}

impl Measure {
    /// A time as formulas know it by `t`.
    pub const TIME: Self = Self::Known(Measured {
        exponents: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        points: None,
        plain: 0,
        within: None,
        soft: true,
        scaled: false,
    });

    /// The measure of a unit.
    pub fn of(unit: &Unit) -> Self {
        let exponents = unit.dimension().exponents().map(f64::from);
        let points = unit.is_scale().then_some(1.0);
        let scaled = false;
        Self::Known(Measured { exponents, points, plain: 1, within: None, soft: false, scaled })
    }

    /// As the dimension of a name that is declared by a value of this one.
    #[must_use]
    pub fn declared(self) -> Self {
        match self {
            Self::Known(m) if !m.soft => self,
            _ => Self::Unknown,
        }
    }

    /// Of the derivative; that of a temperature is made of differences.
    #[must_use]
    pub fn rate(self) -> Self {
        match self.times(Self::TIME, -1.0) {
            Self::Known(m) => Self::Known(Measured { within: m.within.and(Some(0.0)), ..m }),
            other => other,
        }
    }

    /// Of the integral over time.
    #[must_use]
    pub fn integral(self) -> Self {
        self.times(Self::TIME, 1.0)
    }

    /// Whether numbers are factors in it, by which it may count in another unit than that of its dimension.
    pub fn is_scaled(self) -> bool {
        matches!(self, Self::Known(m) if m.scaled)
    }

    /// Whether it is a temperature on a scale.
    pub fn is_scale(self) -> bool {
        matches!(self, Self::Known(m) if m.is_scale())
    }

    /// In words: "in m/s", "a pure number", "without a unit".
    pub fn text(self) -> String {
        match self {
            Self::Known(m) => m.text(),
            _ => "without a unit".into(),
        }
    }

    /// The exponents of base units, of a quantity.
    pub fn exponents(self) -> Option<[f64; 8]> {
        match self {
            Self::Known(m) if !m.soft => Some(m.exponents),
            _ => None,
        }
    }

    /// The remedy where a value of this measure cannot be given to a name of another one.
    pub fn misfit(self, name: Self) -> Option<&'static str> {
        match name.together(self, Together::Equal) {
            Ok(_)
                if self.within().zip(name.within()).is_some_and(|(a, b)| (a - b).abs() > EQUAL) =>
            {
                Some(DIFFERENCES)
            }
            Ok(_) => None,
            Err(Clash::Different) => Some(UNITS),
            Err(Clash::Scale(_)) => Some(SCALES),
        }
    }

    /// The sum of two values, or one of the two.
    pub(super) fn together(self, other: Self, how: Together) -> Result<Self, Clash> {
        let (a, b) = match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                let sum = |sign: f64| a.zip(b).map(|(a, b)| a + sign * b);
                return Ok(Self::Number(match how {
                    Together::Sum(sign) => sum(sign),
                    Together::Equal => None,
                }));
            }
            (Self::Known(a), Self::Known(b)) => (a, b),
            (Self::Known(m), Self::Unknown) | (Self::Unknown, Self::Known(m)) => {
                return if m.is_scale() { Err(self.beside()) } else { Ok(Self::Unknown) };
            }
            (Self::Known(m), Self::Number(n)) | (Self::Number(n), Self::Known(m)) => {
                return match m.is_scale() {
                    true if n == Some(CELSIUS) && how != Together::Equal => Ok(Self::Unknown),
                    true => Err(self.beside()),
                    false => Ok(Self::Known(m)),
                };
            }
            _ => return Ok(Self::Unknown),
        };
        if !a.equals(&b) {
            return if a.soft && b.soft { Ok(Self::Unknown) } else { Err(Clash::Different) };
        }
        let both = a.points.zip(b.points);
        let points = match how {
            Together::Sum(sign) => both.map(|(a, b)| a + sign * b),
            Together::Equal if both.is_some_and(|(a, b)| (a - b).abs() > EQUAL) => {
                return Err(Clash::Different);
            }
            Together::Equal => a.points.or(b.points),
        };
        let difference = points.is_none_or(|n| n.abs() < EQUAL);
        let plain = match how {
            Together::Sum(_) if a.plain > 0 && b.plain > 0 && !difference => {
                a.plain.saturating_add(b.plain)
            }
            _ => 0,
        };
        let (soft, scaled) = (a.soft && b.soft, a.scaled || b.scaled);
        Ok(Self::Known(Measured { points, plain, within: None, soft, scaled, ..a }))
    }

    fn within(self) -> Option<f64> {
        match self {
            Self::Known(m) => m.within,
            _ => None,
        }
    }

    /// Of two values of which one alone has a unit, and is a temperature.
    fn beside(self) -> Clash {
        Clash::Scale(self.is_scale())
    }

    /// The product with a power of another value.
    pub(super) fn times(self, other: Self, power: f64) -> Self {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                Self::Number(a.zip(b).map(|(a, b)| a * b.powf(power)))
            }
            (Self::Known(a), Self::Known(b)) => a.with(b, power),
            // A factor of the time may stand for anything per second.
            (Self::Known(m), Self::Number(_)) | (Self::Number(_), Self::Known(m)) if m.soft => {
                Self::Unknown
            }
            (Self::Known(m), Self::Number(n)) => {
                let times =
                    |count: Option<f64>| count.zip(n).map(|(count, n)| count * n.powf(power));
                let (points, within) = (times(m.points), times(m.within));
                let scaled = m.scaled || n != Some(1.0);
                Self::Known(Measured { points, plain: 0, within, scaled, ..m })
            }
            (Self::Number(n), Self::Known(m)) if power == 1.0 => {
                Self::Known(m).times(Self::Number(n), 1.0)
            }
            (Self::Number(n), Self::Known(m)) => {
                let scaled = m.scaled || n != Some(1.0);
                Self::Known(Measured { scaled, ..m.power(power) })
            }
            _ => Self::Unknown,
        }
    }

    /// A power with a constant exponent.
    pub(super) fn power(self, exponent: f64) -> Self {
        match self {
            Self::Number(n) => Self::Number(n.map(|n| n.powf(exponent))),
            Self::Known(m) => Self::Known(m.power(exponent)),
            Self::Unknown => Self::Unknown,
        }
    }

    /// A negative value.
    pub(super) fn negative(self) -> Self {
        match self {
            Self::Number(n) => Self::Number(n.map(|n| -n)),
            Self::Known(m) => {
                let [points, within] = [m.points, m.within].map(|count| count.map(|n| -n));
                Self::Known(Measured { points, within, ..m })
            }
            Self::Unknown => Self::Unknown,
        }
    }
}

impl Measured {
    fn power(self, exponent: f64) -> Self {
        let exponents = self.exponents.map(|e| e * exponent);
        Self { exponents, points: None, plain: 0, within: None, ..self }
    }

    /// Whether nobody has written its unit.
    pub(super) fn is_soft(&self) -> bool {
        self.soft
    }
}
