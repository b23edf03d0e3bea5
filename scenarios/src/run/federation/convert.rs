//! Values of a federation into those of the scenario, and back.
use std::sync::Arc;
use superdense_adapters::federation::{
    clock::{nanoseconds, seconds},
    data::{Data, Type},
};
use superdense_models::{kinds::ValueType, signal::value::Value};

/// Integers that doubles hold exactly.
const EXACT: u64 = 1 << 53;

/// The values for ports of these types.
///
/// # Errors
/// A value that does not go into them, and why.
pub(super) fn inwards(data: &Data, types: &[ValueType]) -> Result<Vec<Value>, String> {
    let reals = |list: &[f64], unit: &str| {
        if list.len() != types.len() {
            let (sent, ports) = (list.len(), types.len());
            return Err(format!("a {unit} of {sent} numbers, but there are {ports} ports"));
        }
        list.iter().map(|x| real(*x)).collect()
    };
    let ty = types.first().copied().unwrap_or(ValueType::Any);
    let one = |value: Value| Ok(vec![value]);
    match data {
        Data::Double(x) => one(real(*x)?),
        Data::Int(i) | Data::Time(i) if ty == ValueType::Int => one(Value::Int(*i)),
        Data::Time(ns) => one(Value::Real(seconds(*ns))),
        Data::Int(i) if ty == ValueType::Real && i.unsigned_abs() > EXACT => {
            Err(format!("{i}, which no real number holds exactly"))
        }
        Data::Int(i) if ty == ValueType::Real => one(Value::Real(*i as f64)),
        Data::Int(i) => one(Value::Int(*i)),
        Data::Bool(_) if ty == ValueType::Unit => one(Value::Unit),
        Data::Bool(b) if ty == ValueType::Real => one(Value::Real(f64::from(u8::from(*b)))),
        Data::Bool(b) if ty == ValueType::Int => one(Value::Int(i64::from(*b))),
        Data::Bool(b) => one(Value::Bool(*b)),
        Data::Text(t) => one(Value::Text(Arc::from(t.as_str()))),
        Data::Complex(v) => reals(v, "complex number"),
        Data::Vector(v) => reals(v, "vector"),
        Data::ComplexVector(v) => reals(v, "complex vector"),
        Data::NamedPoint(t, x) => Ok(vec![Value::Text(Arc::from(t.as_str())), real(*x)?]),
        Data::Char(b) => one(Value::Text(Arc::from(char::from(*b).to_string()))),
        Data::Raw(b) => message(b, ty).and_then(one),
    }
}

fn real(x: f64) -> Result<Value, String> {
    if x.is_finite() { Ok(Value::Real(x)) } else { Err(format!("{x}, which is no finite number")) }
}

/// The value in the text of a message.
fn message(bytes: &[u8], ty: ValueType) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "bytes that are no UTF-8 text".to_owned())?;
    let wrong = || format!("\"{text}\", which is no {}", ty.name());
    let trimmed = text.trim();
    match ty {
        ValueType::Unit => Ok(Value::Unit),
        ValueType::Bool => trimmed.parse().map(Value::Bool).map_err(|_| wrong()),
        ValueType::Int => trimmed.parse().map(Value::Int).map_err(|_| wrong()),
        ValueType::Real => real(trimmed.parse().map_err(|_| wrong())?),
        _ => Ok(Value::Text(Arc::from(text))),
    }
}

/// The value for the federation made of those of its ports.
///
/// # Errors
/// A value that is not of this type.
pub(super) fn outwards(ty: Type, values: &[Value]) -> Result<Data, String> {
    let reals = || values.iter().map(number).collect::<Result<Vec<f64>, String>>();
    let first = values.first().ok_or("nothing")?;
    Ok(match ty {
        Type::Double => Data::Double(number(first)?),
        Type::Int => match first {
            Value::Int(i) => Data::Int(*i),
            other => {
                let x = number(other)?;
                let whole = x.fract() == 0.0 && x.abs() <= EXACT as f64;
                Data::Int(
                    whole.then_some(x as i64).ok_or(format!("{x}, which is no whole number"))?,
                )
            }
        },
        Type::Bool => match first {
            Value::Unit => Data::Bool(true),
            Value::Bool(b) => Data::Bool(*b),
            other => match number(other)? {
                0.0 => Data::Bool(false),
                1.0 => Data::Bool(true),
                x => return Err(format!("{x}, which is neither 0 (false) nor 1 (true)")),
            },
        },
        Type::Text => Data::Text(text(first)?),
        Type::Complex => {
            let all = reals()?;
            Data::Complex(all.try_into().map_err(|_| "no two numbers")?)
        }
        Type::Vector => Data::Vector(reals()?),
        Type::ComplexVector => Data::ComplexVector(reals()?),
        Type::NamedPoint => {
            Data::NamedPoint(text(first)?, number(values.get(1).ok_or("no number")?)?)
        }
        Type::Time => match first {
            Value::Int(ns) => Data::Time(*ns),
            other => Data::Time(nanoseconds(number(other)?)),
        },
        Type::Char => {
            let text = text(first)?;
            let [byte] = text.as_bytes() else {
                return Err(format!("\"{text}\", which is no single byte"));
            };
            Data::Char(*byte)
        }
        Type::Raw => Data::Raw(text(first)?.into_bytes()),
    })
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Real(x) => Ok(*x),
        Value::Int(i) if i.unsigned_abs() <= EXACT => Ok(*i as f64),
        other => Err(format!("{other:?}, which is no number")),
    }
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(t) if t.contains('\0') => Err("a text with a zero byte".into()),
        Value::Text(t) => Ok(t.to_string()),
        other => Err(format!("{other:?}, which is no text")),
    }
}

/// The bytes of a message with a value.
///
/// # Errors
/// A value that has no text.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    Ok(match value {
        Value::Unit => Vec::new(),
        Value::Bool(b) => b.to_string().into_bytes(),
        Value::Int(i) => i.to_string().into_bytes(),
        Value::Real(x) => format!("{x:?}").into_bytes(),
        Value::Text(t) => t.as_bytes().to_vec(),
        other => return Err(format!("{other:?}, which has no text")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_there_and_back() {
        let real = [ValueType::Real, ValueType::Real];
        for (data, types) in [
            (Data::Double(0.1), &real[..1]),
            (Data::Int(-7), &[ValueType::Int][..]),
            (Data::Bool(true), &[ValueType::Bool]),
            (Data::Text("a".into()), &[ValueType::Text]),
            (Data::Complex([1.0, -2.0]), &real),
            (Data::Vector(vec![1.0, 2.0]), &real),
            (Data::ComplexVector(vec![1.0, 2.0]), &real),
            (Data::NamedPoint("a".into(), 2.0), &[ValueType::Text, ValueType::Real]),
            (Data::Time(1_427_843_124), &real[..1]),
            (Data::Char(b'x'), &[ValueType::Text]),
            (Data::Raw(b"ab".to_vec()), &[ValueType::Text]),
        ] {
            let values = inwards(&data, types).unwrap();
            assert_eq!(outwards(data.ty(), &values).unwrap(), data);
        }
        assert!(inwards(&Data::Double(f64::NAN), &real[..1]).is_err());
        assert!(inwards(&Data::Vector(vec![1.0]), &real).is_err());
        assert!(inwards(&Data::Int(i64::MAX), &real[..1]).is_err());
        assert_eq!(message(b" 4", ValueType::Int), Ok(Value::Int(4)));
        assert!(message(b"x", ValueType::Real).is_err());
        assert!(outwards(Type::Int, &[Value::Real(0.5)]).is_err());
        assert_eq!(inwards(&Data::Bool(true), &real[..1]), Ok(vec![Value::Real(1.0)]));
        assert_eq!(outwards(Type::Bool, &[Value::Real(1.0)]), Ok(Data::Bool(true)));
        assert!(outwards(Type::Bool, &[Value::Real(0.5)]).is_err());
    }
}
