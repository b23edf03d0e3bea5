//! The keys of a unit into the parameters that its kind declares.
use super::{
    declare::UnitDecl,
    evaluate::Evaluator,
    session::{Session, did_you_mean},
};
use crate::{
    diagnostics::Mistake,
    document::{self, Item, Node},
    source::Span,
};
use superdense_kernel::time::Duration;
use superdense_models::{
    kinds::{Located, Param, ParamSpec, ParamType, Params, UnitKind},
    maths::{
        expr::Measure,
        quantity::{Quantity, unit},
    },
};

/// The parameters of a unit; `None` after a mistake.
pub(super) fn params(kind: &dyn UnitKind, unit: &UnitDecl, eval: &Evaluator<'_>) -> Option<Params> {
    of_keys(kind, &unit.name, &unit.keys, eval)
}

/// Converts keys that stand elsewhere, as with adapters.
pub(super) fn of_keys(
    kind: &dyn UnitKind,
    name: &Located<String>,
    keys: &[(Located<String>, Node)],
    eval: &Evaluator<'_>,
) -> Option<Params> {
    let session = eval.session;
    let mut good = true;
    let visible = || kind.params().iter().map(|p| p.name);
    for (key, _) in keys {
        if !visible().any(|p| p == key.value && !p.starts_with('~')) {
            let message = format!("kind `{}` has no parameter `{}`", kind.name(), key.value);
            let list = format!("parameters of `{}`", kind.name());
            let help = did_you_mean(&key.value, visible(), &list);
            // The unit is still checked with what remains.
            session.report(Mistake::new("unknown-parameter", &key.span, message).help(help));
        }
    }
    let mut params = Params::default();
    for spec in kind.params() {
        let given = keys.iter().find(|(k, _)| k.value == spec.name).map(|(_, n)| n);
        let value = match (given, spec.default) {
            (Some(node), _) => convert(node, spec, eval),
            (None, Some("")) => continue,
            (None, Some(default)) => {
                convert(&default_node(default, spec.ty, &name.span), spec, eval)
            }
            (None, None) => {
                let message = format!("unit `{}` lacks the parameter `{}`", name.value, spec.name);
                let help = format!("add {} = {} ({})", spec.name, example(spec.ty), spec.doc);
                session.report(Mistake::new("missing-parameter", &name.span, message).help(help));
                None
            }
        };
        match value {
            Some(value) => params.values.push((spec.name.to_owned(), value)),
            None => good = false,
        }
    }
    // A value from the command line does not make a mistake of a key that the file has beside it.
    let method = keys.iter().find(|(k, _)| k.value == "method").map(|(_, n)| n.span.start);
    let beside = |at: usize| method.is_none_or(|m| session.sources.same(m, at));
    for (key, _) in keys.iter().filter(|(_, node)| beside(node.span.start)) {
        if let Some((message, help)) = kind.unused(&params, &key.value) {
            session.report(Mistake::new("unused-parameter", &key.span, message).help(help));
        }
    }
    good.then_some(params)
}

/// Defaults are written as in a scenario, but texts may lack their quotes.
fn default_node(default: &str, ty: ParamType, span: &Span) -> Node {
    let text = matches!(
        ty,
        ParamType::Text | ParamType::Choice(_) | ParamType::File | ParamType::Expression
    );
    if text {
        let bare = default.trim_matches(|c| c == '"' || c == '\'');
        return Node { item: Item::Text(bare.to_owned()), span: span.clone() };
    }
    document::parse_default(default, span)
}

/// How a value of a type looks.
pub(crate) fn example(ty: ParamType) -> String {
    match ty {
        ParamType::Real(Some(unit)) => format!("1.0 or \"1 {unit}\""),
        ParamType::Real(None) => "1.0".into(),
        ParamType::Int => "1".into(),
        ParamType::Bytes => "1500 or \"1.5 kB\"".into(),
        ParamType::Bool => "true".into(),
        ParamType::Text => "\"text\"".into(),
        ParamType::Choice(words) => {
            words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" or ")
        }
        ParamType::Duration | ParamType::Period => "\"0.1 s\"".into(),
        ParamType::File => "\"data.csv\"".into(),
        ParamType::RealList | ParamType::ValueList => "[1.0, 2.0]".into(),
        ParamType::Value => "1".into(),
        ParamType::Expression => "\"2*x\"".into(),
        ParamType::Raw => "{ name = \"expression\" }".into(),
    }
}

/// A value of any type written within a text, in which numbers are not told from texts: what reads as
/// a number, a quantity, a truth value or the name of a parameter is one.
pub(super) fn value(
    node: &Node,
    name: &'static str,
    eval: &Evaluator<'_>,
) -> Option<Located<Param>> {
    let plain = match &node.item {
        Item::Text(t) => t.trim(),
        _ => "",
    };
    let item = match (plain.parse::<f64>(), plain) {
        (Ok(x), _) => Item::Real(x, None),
        (_, "true" | "false") => Item::Bool(plain == "true"),
        _ => node.item.clone(),
    };
    let spec = ParamSpec { name, ty: ParamType::Value, default: None, doc: "" };
    convert(&Node { item, span: node.span.clone() }, &spec, eval)
}

fn convert(node: &Node, spec: &ParamSpec, eval: &Evaluator<'_>) -> Option<Located<Param>> {
    let what = format!("`{}`", spec.name);
    let session = eval.session;
    let wrong = |wanted: &str| {
        session.report(node.wrong_type(&what, wanted, &example(spec.ty)));
        None
    };
    let param = match (spec.ty, &node.item) {
        (ParamType::Real(unit), _) => Param::Real(real(node, unit, &what, eval)?),
        (ParamType::Int, _) => Param::Int(eval.whole(node, &what)?),
        (ParamType::Bytes, Item::Text(_)) => {
            let bytes = real(node, Some("B"), &what, eval)?;
            let item = Item::Real(bytes, None);
            Param::Int(eval.whole(&Node { item, span: node.span.clone() }, &what)?)
        }
        (ParamType::Bytes, _) => Param::Int(eval.whole(node, &what)?),
        (ParamType::Bool, _) => Param::Bool(eval.truth(node, &what)?),
        (ParamType::Duration, _) => Param::Duration(Duration::from_ticks(eval.ticks(node, &what)?)),
        (ParamType::Period, _) => {
            let (n, d) = eval.period(node, &what)?;
            Param::Period(n, d)
        }
        (ParamType::Text, Item::Text(t)) => Param::Text(t.clone()),
        // A column or a port by its number.
        (ParamType::Text, Item::Int(i)) => Param::Text(i.to_string()),
        (ParamType::Text, _) => return wrong("a text"),
        (ParamType::Choice(words), Item::Text(t)) => {
            if !words.contains(&t.as_str()) {
                let message = format!("{what} cannot be \"{t}\"");
                let help = did_you_mean(t, words.iter().copied(), "possible values");
                session.report(Mistake::new("unknown-choice", &node.span, message).help(help));
                return None;
            }
            Param::Text(t.clone())
        }
        (ParamType::Choice(_), _) => return wrong("a text"),
        (ParamType::File, Item::Text(t)) => Param::Text(file(t, node, &what, session)?),
        (ParamType::File, _) => return wrong("the name of a file"),
        (ParamType::RealList, Item::List(list)) => {
            let what = format!("an element of {what}");
            elements(list, |n| real(n, None, &what, eval).map(Param::Real))?
        }
        (ParamType::RealList, _) => return wrong("a list of numbers"),
        (ParamType::Value, Item::Text(t)) => value_of_text(t, node, &what, eval)?,
        (ParamType::ValueList, Item::List(list)) => {
            let one = ParamSpec { ty: ParamType::Value, default: None, ..*spec };
            let values = elements(list, |n| convert(n, &one, eval).map(|p| p.value))?;
            refuse_clashes(list, &values, eval)?;
            values
        }
        (ParamType::ValueList, _) => return wrong("a list of values"),
        (ParamType::Expression, Item::Text(t)) => Param::Text(t.clone()),
        (ParamType::Expression, Item::Int(_) | Item::Real(..)) => match &node.item {
            Item::Int(i) => Param::Text(i.to_string()),
            Item::Real(x, _) => Param::Text(format!("{x:?}")),
            _ => return None,
        },
        (ParamType::Expression, _) => return wrong("an expression"),
        (ParamType::Value | ParamType::Raw, _) => return raw(node, &what, session),
    };
    Some(Located::new(param, node.span.clone()))
}

/// Refuses names of parameters beside words in a list of values of events.
fn refuse_clashes(list: &[Node], values: &Param, eval: &Evaluator<'_>) -> Option<()> {
    let Param::List(values) = values else { return Some(()) };
    if !values.iter().any(|p| matches!(p.value, Param::Text(_))) {
        return Some(());
    }
    let name = |node: &Node| match &node.item {
        Item::Text(t) if eval.constant(t.trim()).is_some() => Some((t.clone(), node.span.clone())),
        _ => None,
    };
    let Some((name, span)) = list.iter().find_map(name) else { return Some(()) };
    let message = format!("`{name}` stands among words of events here, and is a parameter, too");
    let help = "give one of them another name: this name stands for the number of the parameter";
    eval.session.report(Mistake::new("bad-name", &span, message).help(help));
    None
}

/// A list, if all its elements are good.
fn elements(list: &[Node], each: impl Fn(&Node) -> Option<Param>) -> Option<Param> {
    let item = |n: &Node| each(n).map(|param| Located::new(param, n.span.clone()));
    let items: Vec<_> = list.iter().filter_map(item).collect();
    (items.len() == list.len()).then_some(Param::List(items))
}

/// A real number in the declared unit of measure.
fn real(
    node: &Node,
    declared: Option<&'static str>,
    what: &str,
    eval: &Evaluator<'_>,
) -> Option<f64> {
    if matches!(node.item, Item::Bool(_)) {
        eval.session.report(node.wrong_type(what, "a number", &example(ParamType::Real(declared))));
        return None;
    }
    let number = eval.number(node, what)?;
    let (Some(found), Some(text)) = (number.measure.exponents(), declared) else {
        return Some(number.value);
    };
    let Ok(declared) = unit(text) else { return Some(number.value) };
    if number.has_angles && matches!(text, "Hz" | "1/s") {
        let message = format!("{what} is a rate of rotation, but must be in {text}");
        let help =
            format!("write turns per second: 60 rpm, 360 deg/s and 2 pi rad/s are \"1 {text}\"");
        eval.session.report(Mistake::new("unit-mismatch", &node.span, message).help(help));
        return None;
    }
    if Some(found) != Measure::of(&declared).exponents() {
        let is = number.measure.text();
        let message = format!("{what} is {is}, but must be in {text}");
        let help = format!("write a number of {text}, such as \"1 {text}\"");
        eval.session.report(Mistake::new("unit-mismatch", &node.span, message).help(help));
        return None;
    }
    Some(declared.of_si(number.value))
}

/// A text for a parameter of any type is a number when it is a quantity or names a parameter.
fn value_of_text(text: &str, node: &Node, what: &str, eval: &Evaluator<'_>) -> Option<Param> {
    let quantity = matches!(Quantity::parse(text), Ok(Some(_)));
    if quantity || eval.constant(text.trim()).is_some() {
        return eval.number(node, what).map(|n| Param::Real(n.value));
    }
    Some(Param::Text(text.to_owned()))
}

fn file(name: &str, node: &Node, what: &str, session: &Session) -> Option<String> {
    // A file is looked for beside the text that names it, which may be an included one.
    let folder = session.sources.folder(node.span.start);
    if !folder.join(name).is_file() {
        let message = format!("{what}: there is no file `{name}`");
        let help = match session.sources.line(node.span.start).0 {
            "--set" => "a path in `--set` is relative to the working folder",
            _ => "the path is relative to the scenario file",
        };
        session.report(Mistake::new("missing-file", &node.span, message).help(help));
        return None;
    }
    if folder == session.folder {
        return Some(name.to_owned());
    }
    let full = folder.join(name).canonicalize().ok()?;
    Some(full.to_string_lossy().into_owned())
}

/// As it stands in the file.
fn raw(node: &Node, what: &str, session: &Session) -> Option<Located<Param>> {
    let param = match &node.item {
        Item::Text(t) => Param::Text(t.clone()),
        Item::Int(i) => Param::Int(*i),
        Item::Real(x, _) => Param::Real(*x),
        Item::Bool(b) => Param::Bool(*b),
        Item::Date => {
            session.report(node.wrong_type(
                what,
                "a number, a text, a list or a table",
                "it in quotes",
            ));
            return None;
        }
        Item::List(list) => {
            let items: Vec<_> = list.iter().filter_map(|n| raw(n, what, session)).collect();
            Param::List(items)
        }
        Item::Table(table) => Param::Table(
            table
                .entries
                .iter()
                .filter_map(|(k, n)| Some((k.clone(), raw(n, what, session)?)))
                .collect(),
        ),
    };
    Some(Located::new(param, node.span.clone()))
}
