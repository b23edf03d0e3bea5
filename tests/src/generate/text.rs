//! A model as a scenario file.
use super::settings::Settings;
use std::fmt::Write;
use superdense_judge::model::{
    Binary, Comparison, Condition, Direction, Event, Expr, Instant, Model, Switching, Trigger,
    Unary, Unit, Variable,
};

/// Whose formulas are written: in a unit names stand alone, in a link the unit goes before them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Unit,
    Link,
}

/// A number as formulas and TOML read it.
pub fn number(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// An instant, written as a fraction of a second.
pub fn instant(at: Instant) -> String {
    match at.denominator {
        1 => format!("{} s", at.numerator),
        d => format!("{}/{d} s", at.numerator),
    }
}

/// The name of a variable without its unit.
pub fn name(variable: Variable) -> String {
    match variable {
        Variable::Time => "t".into(),
        Variable::State(_, k) => format!("x{k}"),
        Variable::Discrete(_, k) => format!("d{k}"),
        Variable::Algebraic(_, k) => format!("z{k}"),
        Variable::Input(_, k) => format!("i{k}"),
        Variable::Let(_, k) => format!("l{k}"),
        Variable::Mode(_) => "mode".into(),
    }
}

/// The unit of a variable.
pub fn unit_of(variable: Variable) -> Option<usize> {
    match variable {
        Variable::Time => None,
        Variable::State(u, _)
        | Variable::Discrete(u, _)
        | Variable::Algebraic(u, _)
        | Variable::Input(u, _)
        | Variable::Let(u, _)
        | Variable::Mode(u) => Some(u),
    }
}

fn placed(variable: Variable, place: Place) -> String {
    match (place, unit_of(variable)) {
        (Place::Link, Some(u)) => format!("u{u}.{}", name(variable)),
        _ => name(variable),
    }
}

/// How tightly an operator binds: sums 1, products 2, signs 3, powers 4, atoms 5.
fn level(e: &Expr) -> u8 {
    match e {
        Expr::Number(x) if x.is_sign_negative() => 3,
        Expr::Number(_) | Expr::Read(_) | Expr::Pre(_) => 5,
        Expr::Unary(Unary::Negate, _) => 3,
        Expr::Unary(..) => 5,
        Expr::Binary(Binary::Add | Binary::Subtract, ..) => 1,
        Expr::Binary(Binary::Multiply | Binary::Divide, ..) => 2,
        Expr::Binary(..) => 5,
        Expr::Power(..) => 4,
        Expr::If(..) => 0,
    }
}

fn inner(e: &Expr, least: u8, place: Place) -> String {
    let text = expression(e, place);
    if level(e) < least { format!("({text})") } else { text }
}

fn call(name: &str, arguments: &[&Expr], place: Place) -> String {
    let list: Vec<_> = arguments.iter().map(|e| expression(e, place)).collect();
    format!("{name}({})", list.join(", "))
}

fn expression(e: &Expr, place: Place) -> String {
    match e {
        Expr::Number(x) => number(*x),
        Expr::Read(v) => placed(*v, place),
        Expr::Pre(v) => format!("pre({})", placed(*v, place)),
        Expr::Unary(Unary::Negate, a) => format!("-{}", inner(a, 4, place)),
        Expr::Unary(f, a) => call(&format!("{f:?}").to_lowercase(), &[a], place),
        Expr::Binary(f, a, b) => {
            let infix = |sign: &str, left, right| {
                format!("{} {sign} {}", inner(a, left, place), inner(b, right, place))
            };
            match f {
                Binary::Add => infix("+", 1, 2),
                Binary::Subtract => infix("-", 1, 2),
                Binary::Multiply => infix("*", 2, 4),
                Binary::Divide => infix("/", 2, 4),
                _ => call(&format!("{f:?}").to_lowercase(), &[a, b], place),
            }
        }
        Expr::Power(a, n) => format!("{}^{n}", inner(a, 5, place)),
        Expr::If(c, a, b) => format!(
            "if {} then {} else {}",
            formula(c, place),
            inner(a, 1, place),
            inner(b, 1, place)
        ),
    }
}

/// The sign of a comparison.
pub fn sign(how: Comparison) -> &'static str {
    match how {
        Comparison::Less => "<",
        Comparison::AtMost => "<=",
        Comparison::Greater => ">",
        Comparison::AtLeast => ">=",
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
    }
}

fn formula(c: &Condition, place: Place) -> String {
    let part = |c: &Condition| match c {
        Condition::Relation(..) => formula(c, place),
        _ => format!("({})", formula(c, place)),
    };
    let join =
        |list: &[Condition], word: &str| list.iter().map(part).collect::<Vec<_>>().join(word);
    match c {
        Condition::Relation(how, a, b) => {
            format!("{} {} {}", inner(a, 1, place), sign(*how), inner(b, 1, place))
        }
        Condition::And(list) => join(list, " and "),
        Condition::Or(list) => join(list, " or "),
        Condition::Not(c) => format!("not ({})", formula(c, place)),
    }
}

/// An expression of a unit.
pub fn in_unit(e: &Expr) -> String {
    expression(e, Place::Unit)
}

fn table(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let list: Vec<_> = entries.into_iter().map(|(k, v)| format!("{k} = {v}")).collect();
    format!("{{ {} }}", list.join(", "))
}

fn quoted(text: String) -> String {
    format!("\"{text}\"")
}

fn reset(list: &[(Variable, Expr)], place: Place) -> String {
    table(list.iter().map(|(v, e)| {
        let key = placed(*v, place);
        let key = if place == Place::Link { quoted(key) } else { key };
        (key, quoted(expression(e, place)))
    }))
}

/// A value that an event sends at the port `o`, with its number among all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Emit {
    /// The unit of the event.
    pub unit: usize,
    /// Its name.
    pub event: String,
    /// The value.
    pub value: Expr,
}

fn event(out: &mut String, header: &str, event: &Event, emit: Option<(usize, &Emit)>) {
    let _ = writeln!(out, "[[{header}.event]]\nname = \"{}\"", event.name);
    let band = match &event.trigger {
        Trigger::When { condition, touching } => {
            let _ = writeln!(out, "when = \"{}\"", formula(condition, Place::Unit));
            *touching
        }
        Trigger::Crossing { formula, direction, touching } => {
            let direction = match direction {
                Direction::Rising => "rising",
                Direction::Falling => "falling",
                Direction::Both => "both",
            };
            let formula = expression(formula, Place::Unit);
            let _ = writeln!(out, "crossing = \"{formula}\"\ndirection = \"{direction}\"");
            *touching
        }
        Trigger::At(list) => {
            let list: Vec<_> = list.iter().map(|&i| quoted(instant(i))).collect();
            let _ = writeln!(out, "at = [{}]", list.join(", "));
            None
        }
        Trigger::Every { from, every } => {
            let _ = writeln!(out, "every = \"{}\"\nfrom = \"{}\"", instant(*every), instant(*from));
            None
        }
    };
    if let Some(band) = band {
        let _ = writeln!(out, "touching = {}", number(band));
    }
    if event.priority != 0 {
        let _ = writeln!(out, "priority = {}", event.priority);
    }
    if !event.reset.is_empty() {
        let _ = writeln!(out, "reset = {}", reset(&event.reset, Place::Unit));
    }
    if let Some((port, emit)) = emit {
        let _ = writeln!(out, "emit = {{ o{port} = \"{}\" }}", in_unit(&emit.value));
    }
    if let Some(mode) = event.to {
        let _ = writeln!(out, "to = \"m{mode}\"");
    }
    if let Some(rest) = &event.rest {
        let within = ("within".to_owned(), quoted(instant(rest.within)));
        let values = rest.values.iter().map(|(v, x)| (name(*v), number(*x)));
        let _ = writeln!(out, "rest = {}", table([within].into_iter().chain(values)));
    }
}

fn numbers(letter: &str, values: &[f64]) -> String {
    table(values.iter().enumerate().map(|(k, x)| (format!("{letter}{k}"), number(*x))))
}

fn formulas(letter: &str, list: &[Expr]) -> String {
    table(list.iter().enumerate().map(|(k, e)| (format!("{letter}{k}"), quoted(in_unit(e)))))
}

fn unit(out: &mut String, at: usize, unit: &Unit, settings: &Settings, emits: &[Emit]) {
    let emit = |e: &Event| {
        emits.iter().enumerate().find(|(_, emit)| emit.unit == at && emit.event == e.name)
    };
    let _ = writeln!(out, "\n[unit.u{at}]\nkind = \"equations\"");
    let starts = [
        ("states", "x", &unit.states),
        ("discrete", "d", &unit.discrete),
        ("inputs", "i", &unit.inputs),
    ];
    for (key, letter, values) in starts.into_iter().filter(|s| !s.2.is_empty()) {
        let _ = writeln!(out, "{key} = {}", numbers(letter, values));
    }
    if !unit.algebraic.is_empty() {
        let _ = writeln!(out, "algebraic = {}", numbers("z", &unit.algebraic));
    }
    let parts = [
        ("let", "l", &unit.lets),
        ("derivatives", "x", &unit.derivatives),
        ("residuals", "z", &unit.residuals),
        ("outputs", "y", &unit.outputs),
    ];
    for (key, letter, list) in parts.into_iter().filter(|p| !p.2.is_empty()) {
        let _ = writeln!(out, "{key} = {}", formulas(letter, list));
    }
    if unit.switching == Switching::Sliding {
        out.push_str("switching = \"sliding\"\n");
    }
    let ports = emits.iter().enumerate().filter(|(_, emit)| emit.unit == at);
    let ports: Vec<_> = ports.map(|(port, _)| quoted(format!("o{port}"))).collect();
    if !ports.is_empty() {
        let _ = writeln!(out, "event_outputs = [{}]", ports.join(", "));
    }
    out.push_str(&settings.of_unit());
    for e in &unit.events {
        event(out, &format!("unit.u{at}"), e, emit(e));
    }
    for (k, mode) in unit.modes.iter().enumerate() {
        let header = format!("unit.u{at}.mode.m{k}");
        let _ = writeln!(out, "[{header}]");
        if let Some(list) = &mode.derivatives {
            // In a mode without an own derivative that of the unit would hold.
            let text = |e: &Option<Expr>| e.as_ref().map_or_else(|| "0".into(), in_unit);
            let own = list.iter().enumerate().map(|(k, e)| (k, text(e)));
            let own = own.map(|(k, e)| (format!("x{k}"), quoted(e)));
            let _ = writeln!(out, "derivatives = {}", table(own));
        }
        for e in &mode.events {
            event(out, &header, e, emit(e));
        }
    }
}

/// The labels of all outputs, in order of units.
pub fn labels(model: &Model) -> Vec<String> {
    let of = |(u, unit): (usize, &Unit)| (0..unit.outputs.len()).map(move |k| format!("u{u}.y{k}"));
    model.units.iter().enumerate().flat_map(of).collect()
}

/// The whole file.
pub fn scenario(model: &Model, settings: &Settings) -> String {
    with(model, settings, &Beside::default())
}

/// Additions beside a model in its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// Values that events of the model send.
    pub emits: Vec<Emit>,
    /// Ports that are recorded after the outputs.
    pub records: Vec<String>,
    /// Connections; those of what is sent are among them.
    pub wires: Vec<String>,
    /// The units, as they are written.
    pub units: String,
}

/// The file of a model with something beside it.
pub fn with(model: &Model, settings: &Settings, beside: &Beside) -> String {
    let mut out = String::new();
    let resolution = match model.resolution {
        0 => "s",
        3 => "ms",
        6 => "us",
        9 => "ns",
        12 => "ps",
        _ => "fs",
    };
    let records = beside.records.iter().cloned();
    let labels: Vec<_> = labels(model).into_iter().chain(records).map(quoted).collect();
    let _ = writeln!(
        out,
        "stop = \"{}\"\nresolution = \"{resolution}\"\nsample = \"none\"\nrecord = [{}]",
        instant(model.stop),
        labels.join(", ")
    );
    let wires = model.wires.iter();
    let wires = wires.map(|w| format!("u{}.y{} -> u{}.i{}", w.from.0, w.from.1, w.to.0, w.to.1));
    let wires: Vec<_> = wires.chain(beside.wires.iter().cloned()).map(quoted).collect();
    if !wires.is_empty() {
        let _ = writeln!(out, "connections = [{}]", wires.join(", "));
    }
    for (at, u) in model.units.iter().enumerate() {
        unit(&mut out, at, u, settings, &beside.emits);
    }
    out.push_str(&beside.units);
    for (k, link) in model.links.iter().enumerate() {
        let units: Vec<_> = link.units.iter().map(|u| quoted(format!("u{u}"))).collect();
        let _ = writeln!(
            out,
            "\n[[link]]\nname = \"link{k}\"\nunits = [{}]\nwhen = \"{}\"\nreset = {}",
            units.join(", "),
            formula(&link.when, Place::Link),
            reset(&link.reset, Place::Link)
        );
        if link.priority != 0 {
            let _ = writeln!(out, "priority = {}", link.priority);
        }
    }
    out
}
