//! The ports that units of a kind usually have, for catalogues: with default parameters, and an
//! example for each that is required.
use super::{convert, evaluate::Evaluator, parameters::Scope, session::Session};
use crate::document::{Item, Node};
use std::path::Path;
use superdense_models::kinds::{Located, ParamType, Ports, UnitKind};

/// The ports with default parameters; nothing where others are needed to say any.
///
/// ```
/// let gain = superdense_models::catalogue::find("gain").unwrap();
/// let ports = superdense::plan::usual_ports(gain).unwrap();
/// assert_eq!((&*ports.inputs[0].name, &*ports.outputs[0].name), ("u", "y"));
/// ```
pub fn usual_ports(kind: &dyn UnitKind) -> Option<Ports> {
    let session = Session::new(Path::new(""));
    let scope = Scope::new(&Vec::new(), None);
    let eval = Evaluator::new(&session, &scope, &[]);
    let name = Located::new(kind.name().to_owned(), 0..0);
    let required = kind.params().iter().filter(|p| p.default.is_none());
    let keys: Vec<_> = required
        .map(|p| {
            let node = Node { item: example(p.ty), span: 0..0 };
            (Located::new(p.name.to_owned(), 0..0), node)
        })
        .collect();
    let params = convert::of_keys(kind, &name, &keys, &eval)?;
    let ports = kind.ports(&params).ok()?;
    (!ports.inputs.is_empty() || !ports.outputs.is_empty()).then_some(ports)
}

fn example(ty: ParamType) -> Item {
    let number = || Node { item: Item::Real(1.0, None), span: 0..0 };
    match ty {
        ParamType::Real(_) => Item::Real(1.0, None),
        ParamType::Int | ParamType::Bytes | ParamType::Value => Item::Int(1),
        ParamType::Bool => Item::Bool(true),
        ParamType::Choice(words) => Item::Text(words.first().copied().unwrap_or("").to_owned()),
        ParamType::Duration | ParamType::Period => Item::Text("1 s".into()),
        ParamType::RealList | ParamType::ValueList => Item::List(vec![number()]),
        ParamType::Expression => Item::Text("1".into()),
        ParamType::Text | ParamType::File => Item::Text(String::new()),
        ParamType::Raw => Item::List(Vec::new()),
    }
}
