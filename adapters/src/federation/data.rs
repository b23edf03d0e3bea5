//! Values as HELICS knows them, and as texts in records.
use std::fmt::Write;

/// A type of HELICS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A double.
    Double,
    /// A 64-bit integer.
    Int,
    /// A truth value.
    Bool,
    /// A text.
    Text,
    /// Real and imaginary part.
    Complex,
    /// Doubles.
    Vector,
    /// Real and imaginary parts in turn.
    ComplexVector,
    /// A text and a double.
    NamedPoint,
    /// A time in whole nanoseconds.
    Time,
    /// One byte.
    Char,
    /// Bytes.
    Raw,
}

/// All types with their names in HELICS.
const TYPES: [(Type, &str); 11] = [
    (Type::Double, "double"),
    (Type::Int, "int64"),
    (Type::Bool, "bool"),
    (Type::Text, "string"),
    (Type::Complex, "complex"),
    (Type::Vector, "double_vector"),
    (Type::ComplexVector, "complex_vector"),
    (Type::NamedPoint, "named_point"),
    (Type::Time, "time"),
    (Type::Char, "char"),
    (Type::Raw, "raw"),
];

impl Type {
    /// Its name in HELICS.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|t| t.0 == self).map_or("", |t| t.1)
    }

    /// Its name in scenarios.
    pub fn written(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Vector => "vector",
            other => other.name(),
        }
    }

    /// The type of a name, which may be the one that scenarios use.
    pub fn named(name: &str) -> Option<Self> {
        let name = match name {
            "int" | "integer" => "int64",
            "boolean" => "bool",
            "vector" => "double_vector",
            other => other,
        };
        TYPES.iter().find(|t| t.1 == name).map(|t| t.0)
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// See [`Type::Double`].
    Double(f64),
    /// See [`Type::Int`].
    Int(i64),
    /// See [`Type::Bool`].
    Bool(bool),
    /// See [`Type::Text`].
    Text(String),
    /// See [`Type::Complex`].
    Complex([f64; 2]),
    /// See [`Type::Vector`].
    Vector(Vec<f64>),
    /// See [`Type::ComplexVector`].
    ComplexVector(Vec<f64>),
    /// See [`Type::NamedPoint`].
    NamedPoint(String, f64),
    /// See [`Type::Time`].
    Time(i64),
    /// See [`Type::Char`].
    Char(u8),
    /// See [`Type::Raw`].
    Raw(Vec<u8>),
}

impl Data {
    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Self::Double(_) => Type::Double,
            Self::Int(_) => Type::Int,
            Self::Bool(_) => Type::Bool,
            Self::Text(_) => Type::Text,
            Self::Complex(_) => Type::Complex,
            Self::Vector(_) => Type::Vector,
            Self::ComplexVector(_) => Type::ComplexVector,
            Self::NamedPoint(..) => Type::NamedPoint,
            Self::Time(_) => Type::Time,
            Self::Char(_) => Type::Char,
            Self::Raw(_) => Type::Raw,
        }
    }

    /// Its text in a record: numbers as the shortest one that reads back as the same, lists with spaces, bytes
    /// as hexadecimal digits.
    pub fn text(&self) -> String {
        match self {
            Self::Double(x) => format!("{x:?}"),
            Self::Int(i) | Self::Time(i) => i.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Text(t) => t.clone(),
            Self::Complex(v) => numbers(v),
            Self::Vector(v) | Self::ComplexVector(v) => numbers(v),
            Self::NamedPoint(t, x) => format!("{x:?} {t}"),
            Self::Char(b) => format!("{b:02x}"),
            Self::Raw(b) => hex(b),
        }
    }

    /// The value that a text in a record stands for.
    pub fn parse(ty: Type, text: &str) -> Option<Self> {
        let all = || text.split(' ').filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect();
        Some(match ty {
            Type::Double => Self::Double(text.parse().ok()?),
            Type::Int => Self::Int(text.parse().ok()?),
            Type::Bool => Self::Bool(text.parse().ok()?),
            Type::Text => Self::Text(text.to_owned()),
            Type::Complex => {
                let all: Option<Vec<f64>> = all();
                Self::Complex(all?.try_into().ok()?)
            }
            Type::Vector => Self::Vector(all()?),
            Type::ComplexVector => Self::ComplexVector(all()?),
            Type::NamedPoint => {
                let (value, name) = text.split_once(' ')?;
                Self::NamedPoint(name.to_owned(), value.parse().ok()?)
            }
            Type::Time => Self::Time(text.parse().ok()?),
            Type::Char => Self::Char(*bytes(text)?.first()?),
            Type::Raw => Self::Raw(bytes(text)?),
        })
    }
}

fn numbers(list: &[f64]) -> String {
    let mut text = String::new();
    for (k, x) in list.iter().enumerate() {
        let gap = if k > 0 { " " } else { "" };
        let _ = write!(text, "{gap}{x:?}");
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back_as_the_value() {
        for data in [
            Data::Double(0.1 + 0.2),
            Data::Double(-1e300),
            Data::Double(f64::INFINITY),
            Data::Int(i64::MIN),
            Data::Bool(true),
            Data::Text("a, \"b\"\n ä".into()),
            Data::Complex([1.0, -2.5]),
            Data::Vector(vec![1.5, 2e-300]),
            Data::Vector(Vec::new()),
            Data::ComplexVector(vec![1.0, 2.0, 3.0, 4.0]),
            Data::NamedPoint("a b".into(), 0.25),
            Data::Time(1_427_843_124),
            Data::Char(b'x'),
            Data::Raw(vec![0, 255, 16]),
        ] {
            assert_eq!(Data::parse(data.ty(), &data.text()), Some(data.clone()), "{data:?}");
            assert_eq!(Type::named(data.ty().name()), Some(data.ty()));
        }
        assert_eq!(Data::parse(Type::Raw, "0"), None);
        assert_eq!(Data::parse(Type::Complex, "1"), None);
    }
}
