//! Dimensions of blocks: by the quantities that their parameters are written as.
use super::{evaluate::Evaluator, session::Session, tree::Unit};
use superdense_models::maths::{
    expr::Measure,
    quantity::{Decimal, Quantity},
};

/// Parameters of which the output is made, by kinds of blocks; the first one that has a dimension counts.
const SENT: [(&str, &[&str]); 5] = [
    ("constant", &["value"]),
    ("step", &["from", "to"]),
    ("ramp", &["value"]),
    ("pulse", &["low", "high"]),
    ("sine", &["offset", "amplitude"]),
];

/// Parameters with which the input is compared.
const COMPARED: [(&str, &[&str]); 2] =
    [("hysteresis", &["low", "high"]), ("detector", &["threshold"])];

/// The measure of what a block sends.
pub(super) fn sent(unit: &Unit, session: &Session) -> Measure {
    all(&SENT, unit, session)
        .map(|(_, m)| m)
        .find(|m| m.exponents().is_some())
        .unwrap_or(Measure::Unknown)
}

/// The measure of what a block takes, and the parameter that says so; of a bare number it is [`Measure::Number`].
pub(super) fn compared(unit: &Unit, session: &Session) -> Option<(&'static str, Measure)> {
    all(&COMPARED, unit, session).find(|(_, m)| *m != Measure::Unknown)
}

fn all<'a>(
    table: &'static [(&str, &[&str])],
    unit: &'a Unit,
    session: &'a Session,
) -> impl Iterator<Item = (&'static str, Measure)> + 'a {
    let names = table.iter().filter(|(kind, _)| *kind == unit.kind.name());
    names.flat_map(|(_, names)| *names).map(move |name| (*name, written(unit, name, session)))
}

/// The measure of a parameter as it stands in the file: of a quantity, a number, or the name of a parameter.
fn written(unit: &Unit, name: &str, session: &Session) -> Measure {
    let Some(param) = unit.params.get(name) else { return Measure::Unknown };
    let text = session.sources.slice(&param.span).trim().trim_matches(['"', '\'']);
    match Quantity::parse(text) {
        Ok(Some(quantity)) => Measure::of(&quantity.unit),
        _ if Decimal::parse(text).is_some() => Measure::Number(None),
        _ => {
            let index = unit.index.map(|i| ("i", f64::from(i)));
            Evaluator::new(session, &unit.scope, index.as_slice()).measure(text)
        }
    }
}
