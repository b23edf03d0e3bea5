//! Bonds of equations as connectors: where nothing is tried out, known equations are reduced with all others of the whole.
use super::{super::tree::Tree, Bond};
use superdense_models::kinds::{Located, Param, Params, Ports, Span};

/// Whether a unit is one of known equations outside of all couplings that repeat their steps.
pub(in super::super) fn is_known(tree: &Tree, kind: &str, path: &str) -> bool {
    let around = |group: &str| {
        group.is_empty() || path.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'))
    };
    let repeats = |g: &super::Group| {
        let keys = g.decl.coupling.iter().flat_map(|coupling| &coupling.keys);
        around(&g.path) && keys.clone().any(|(key, _)| key.value == "iterate")
    };
    kind == "equations" && !tree.groups.iter().any(repeats)
}

/// The parameters of a unit of equations with connectors in place of its bonds: inputs by which it was told become
/// variables of the connector, and its outputs say what the connector is.
pub(in super::super) fn reduced(mut params: Params, bonds: &[Bond], ports: &Ports) -> Params {
    let span = params.span("inputs");
    for bond in bonds {
        let input = |port: u16| ports.inputs[usize::from(port)].name.clone();
        let output = |port: u16| ports.outputs[usize::from(port)].name.clone();
        let [common, share, integral] = bond.words();
        // An input that is a variable of the connector, and an output that another one has to be.
        let (told, told_word, answer, answer_word) = match (bond.told, bond.integral, bond.common) {
            (true, _, told) => {
                (told.map(input).unwrap_or_default(), common, output(bond.share), share)
            }
            (false, Some(whole), _) => (input(bond.share), share, output(whole), integral),
            (false, None, own) => {
                (input(bond.share), share, own.map(output).unwrap_or_default(), common)
            }
        };
        let text = formula(&params, &answer);
        remove(&mut params, "inputs", &told);
        let name = &bond.name;
        let variable = Param::Text(format!("{name}.{told_word}"));
        entry(&mut params, ("let", 0), (&told, variable), &span);
        let residual = Param::Text(format!("{name}.{answer_word} - ({text})"));
        entry(&mut params, ("residuals", usize::MAX), (name, residual), &span);
        let mut words = vec![("potential", common), ("flow", share)];
        words.extend(bond.integral.map(|_| ("displacement", integral)));
        let word = |(key, word): (&str, &str)| {
            let text = Param::Text(word.to_owned());
            (Located::new(key.to_owned(), span.clone()), Located::new(text, span.clone()))
        };
        let connector = Param::Table(words.into_iter().map(word).collect());
        entry(&mut params, ("connectors", usize::MAX), (name, connector), &span);
    }
    params
}

/// The formula of an output.
fn formula(params: &Params, output: &str) -> String {
    let table = match params.get("outputs").map(|p| &p.value) {
        Some(Param::Table(entries)) => entries.as_slice(),
        _ => &[],
    };
    let own = table.iter().find(|(name, _)| name.value == output).map(|(_, p)| &p.value);
    match own {
        Some(Param::Text(text)) => text.clone(),
        Some(Param::Real(x)) => format!("{x:?}"),
        Some(Param::Int(x)) => x.to_string(),
        _ => output.to_owned(),
    }
}

fn remove(params: &mut Params, table: &str, name: &str) {
    let own = params.values.iter_mut().find(|(key, _)| key == table);
    if let Some((_, Located { value: Param::Table(entries), .. })) = own {
        entries.retain(|(key, _)| key.value != name);
    }
}

/// Adds an entry to a table, which may be missing, at a place.
fn entry(
    params: &mut Params,
    (table, at): (&str, usize),
    (name, value): (&str, Param),
    span: &Span,
) {
    let new = (Located::new(name.to_owned(), span.clone()), Located::new(value, span.clone()));
    let own = params.values.iter_mut().find(|(key, _)| key == table);
    match own {
        Some((_, Located { value: Param::Table(entries), .. })) => {
            entries.insert(at.min(entries.len()), new);
        }
        _ => {
            let table = (table.to_owned(), Located::new(Param::Table(vec![new]), span.clone()));
            params.values.push(table);
        }
    }
}
