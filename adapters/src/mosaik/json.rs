//! Values of scenarios and of units as JSON, and back.
use serde_json::{Map, Number, Value as Json};
use superdense_models::{
    kinds::{Located, Param, ParamError, ValueType},
    signal::value::Value,
};

/// Integers beyond are not all numbers of a signal.
const EXACT: i64 = 1 << 53;

/// A parameter as a simulator is told it.
///
/// # Errors
/// Numbers that JSON does not have.
pub(super) fn of_param(p: &Located<Param>) -> Result<Json, ParamError> {
    Ok(match &p.value {
        Param::Bool(b) => Json::Bool(*b),
        Param::Int(i) => Json::from(*i),
        Param::Text(t) => Json::from(t.as_str()),
        Param::Real(x) => match Number::from_f64(*x) {
            Some(x) => Json::Number(x),
            None => {
                let wrong = ParamError::at(p.span.clone(), format!("{x} has no form in JSON"));
                return Err(wrong.help("give a finite number"));
            }
        },
        Param::List(list) => Json::Array(list.iter().map(of_param).collect::<Result<_, _>>()?),
        Param::Table(entries) => {
            let entry = |(key, p): &(Located<String>, Located<Param>)| {
                Ok((key.value.clone(), of_param(p)?))
            };
            Json::Object(entries.iter().map(entry).collect::<Result<Map<_, _>, ParamError>>()?)
        }
        Param::Duration(_) | Param::Period(..) | Param::Indexed(..) => {
            let wrong = ParamError::at(p.span.clone(), "this has no form in JSON");
            return Err(wrong.help("give a number, a text, true or false, a list or a table"));
        }
    })
}

/// A number of a signal.
///
/// # Errors
/// Why it has no form in JSON.
pub(super) fn of_real(x: f64) -> Result<Json, ValueError> {
    Number::from_f64(x).map(Json::Number).ok_or(ValueError::NotFinite(x))
}

/// The value of an event; what simulators could not read has none.
///
/// # Errors
/// Why it has no form in JSON.
pub(super) fn of_value(value: &Value) -> Result<Json, ValueError> {
    Ok(match value {
        Value::Unit => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(i) => Json::from(*i),
        Value::Real(x) => of_real(*x)?,
        Value::Text(t) => Json::from(&**t),
        Value::Segment(s) => of_real(s.value(0.0))?,
        Value::Link(_) | Value::Job(_) | Value::Packet(_) => {
            return Err(ValueError::Foreign(value.to_string()));
        }
    })
}

/// Why a value cannot pass.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum ValueError {
    /// NaN or an infinity.
    #[error("{0} has no form in JSON; see where it comes from")]
    NotFinite(f64),
    /// A job, a packet.
    #[error("{0} has no form in JSON; connect numbers, truth values or texts")]
    Foreign(String),
    /// A signal is a number.
    #[error("{0} is no number, as a signal must be; connect an attribute that is one")]
    NoNumber(String),
    /// An integer that no double is.
    #[error("{0} is beyond the integers that a signal holds exactly (2^53)")]
    TooLarge(String),
    /// An event of another type.
    #[error("{0} is not of type {1}; write another `event` for this output, such as \"any\"")]
    OtherType(String, &'static str),
}

/// The number of a signal.
///
/// # Errors
/// A value that is no number.
pub(super) fn to_real(json: &Json) -> Result<f64, ValueError> {
    match json {
        Json::Bool(b) => Ok(f64::from(u8::from(*b))),
        Json::Number(n) => match n.as_i64() {
            Some(i) if (-EXACT..=EXACT).contains(&i) => Ok(i as f64),
            None if n.is_f64() => n.as_f64().ok_or_else(|| ValueError::NoNumber(json.to_string())),
            _ => Err(ValueError::TooLarge(json.to_string())),
        },
        _ => Err(ValueError::NoNumber(super::wire::start(&json.to_string()))),
    }
}

/// The value of an event of a type. A list or a table becomes the text of its JSON.
///
/// # Errors
/// A value of another type.
pub(super) fn to_value(json: &Json, ty: ValueType) -> Result<Value, ValueError> {
    let other = || ValueError::OtherType(super::wire::start(&json.to_string()), ty.name());
    Ok(match (ty, json) {
        (ValueType::Unit, _) | (ValueType::Any, Json::Null) => Value::Unit,
        (ValueType::Real, _) => Value::Real(to_real(json).map_err(|_| other())?),
        (ValueType::Bool | ValueType::Any, Json::Bool(b)) => Value::Bool(*b),
        (ValueType::Int, Json::Number(n)) => Value::Int(n.as_i64().ok_or_else(other)?),
        (ValueType::Any, Json::Number(n)) => match n.as_i64() {
            Some(i) => Value::Int(i),
            None => Value::Real(to_real(json)?),
        },
        (ValueType::Text | ValueType::Any, Json::String(t)) => Value::Text(t.as_str().into()),
        (ValueType::Text, _) | (ValueType::Any, Json::Array(_) | Json::Object(_)) => {
            Value::Text(json.to_string().into())
        }
        _ => return Err(other()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_pass_bit_for_bit() {
        let odd = [0.1, 1.0 / 3.0, -0.0, 5e-324, 1.797_693_134_862_315_7e308, 1e16, 2.5];
        for x in odd {
            let text = of_real(x).unwrap().to_string();
            let back: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(to_real(&back).unwrap().to_bits(), x.to_bits(), "{text}");
        }
        assert_eq!(to_real(&json!(true)), Ok(1.0));
        assert_eq!(to_real(&json!(-3)), Ok(-3.0));
        assert!(to_real(&json!(9_007_199_254_740_993_i64)).is_err());
        assert!(to_real(&json!(u64::MAX)).is_err());
        assert!(to_real(&json!(null)).is_err() && to_real(&json!("5")).is_err());
        assert!(of_real(f64::NAN).is_err());
    }

    #[test]
    fn events_have_the_type_that_the_file_says() {
        let value = |json: Json, ty| to_value(&json, ty);
        assert_eq!(value(json!([1]), ValueType::Unit), Ok(Value::Unit));
        assert_eq!(value(json!(3), ValueType::Any), Ok(Value::Int(3)));
        assert_eq!(value(json!(3), ValueType::Real), Ok(Value::Real(3.0)));
        assert_eq!(value(json!({"a": [1]}), ValueType::Any), Ok(Value::Text("{\"a\":[1]}".into())));
        assert!(value(json!("x"), ValueType::Bool).is_err());
        assert!(value(json!(0.5), ValueType::Int).is_err());
        for v in [
            Value::Unit,
            Value::Bool(true),
            Value::Int(7),
            Value::Real(0.5),
            Value::Text("t".into()),
        ] {
            assert_eq!(value(of_value(&v).unwrap(), ValueType::Any), Ok(v));
        }
    }
}
