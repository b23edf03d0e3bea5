//! Connections of terminals, `a:flange -> b:flange`: one wire for each pair of their members.
use super::{
    adapters::Adapters,
    connect::{self, MAX_WIRES, child_and_port, fits},
    evaluate::Evaluator,
    selector::{Connection, Selector, Via},
    session::{Session, did_you_mean},
    tree::{Body, End, Tree, Wire},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
    source::Span,
};
use superdense_models::kinds::{Located, Terminal};

/// A terminal of a unit.
struct Side {
    child: u32,
    member: u32,
    body: Body,
    /// As it is written: `motor:flange`.
    text: String,
    terminal: Terminal,
}

impl Side {
    /// A member in messages.
    fn shows(&self, member: usize) -> String {
        format!("`{}` of `{}`", self.terminal.members[member].0, self.text)
    }
}

/// Connects two terminals, or as many as arrays have.
pub(super) fn join(
    tree: &mut Tree,
    group: u32,
    (connection, number): (&Connection, u32),
    eval: &Evaluator<'_>,
    adapters: &mut Adapters,
) -> Option<()> {
    let from = sides(tree, group, &connection.from, eval);
    let to = sides(tree, group, &connection.to, eval);
    let (from, to) = (from?, to?);
    if from.len() != to.len() && from.len() != 1 && to.len() != 1 {
        let message = format!("{} terminals meet {}", from.len(), to.len());
        let mistake = Mistake::new("size-mismatch", &connection.span, message);
        let help = "with an array on both sides their sizes must be equal";
        eval.session.report(mistake.help(help));
        return None;
    }
    if from.is_empty() || to.is_empty() {
        return Some(());
    }
    for k in 0..from.len().max(to.len()) {
        let (a, b) = (from.get(k).unwrap_or(&from[0]), to.get(k).unwrap_or(&to[0]));
        for (i, j) in pairs(a, b, &connection.span, eval.session)? {
            tree.wires += 1;
            if tree.wires > MAX_WIRES {
                let message = "more than a million connections";
                let mistake = Mistake::new("too-large", &connection.span, message);
                eval.session.report(mistake.help("choose smaller arrays"));
                return None;
            }
            wire(tree, group, ((a, i), (b, j)), (connection, number), eval, adapters)?;
        }
    }
    Some(())
}

/// The terminals that a selector names.
fn sides(tree: &Tree, group: u32, selector: &Selector, eval: &Evaluator<'_>) -> Option<Vec<Side>> {
    let session = eval.session;
    let g = &tree.groups[group as usize];
    let inner = |_: &str| "connect terminals inside of the group".to_owned();
    let (step, named) = child_and_port(selector, session, inner)?;
    let (child, members) = connect::members(g, step, eval)?;
    let mut out = Vec::new();
    for member in members {
        let body = g.children[child as usize].members[member as usize];
        let name = &g.children[child as usize].name;
        let refuse = |message: String, help: String| {
            session.report(Mistake::new("unknown-terminal", &named.name.span, message).help(help));
        };
        let all = match body {
            Body::Unit(unit) => {
                let unit = &tree.units[unit as usize];
                unit.kind.terminals(&unit.params, &session.folder)
            }
            Body::Group(_) | Body::Part(_) => Ok(Vec::new()),
        };
        let all = match all {
            Ok(all) => all,
            Err(errors) => {
                let why = errors.first().map_or("", |e| e.message.as_str());
                let help = "connect the ports one by one, or export the FMU again";
                refuse(format!("the terminals of `{name}` cannot be read: {why}"), help.into());
                return None;
            }
        };
        let Some(terminal) = all.iter().find(|t| t.name == named.name.value) else {
            let known = all.iter().map(|t| t.name.as_str());
            let help = match all.is_empty() {
                true => "connect its ports one by one: `unit.output -> other.input`".into(),
                false => did_you_mean(&named.name.value, known, "terminals"),
            };
            refuse(format!("`{name}` has no terminal `{}`", named.name.value), help);
            return None;
        };
        let (terminal, text) = (terminal.clone(), format!("{name}:{}", named.name.value));
        out.push(Side { child, member, body, text, terminal });
    }
    Some(out)
}

/// Pairs of members of two terminals.
fn pairs(a: &Side, b: &Side, span: &Span, session: &Session) -> Option<Vec<(usize, usize)>> {
    let refuse = |message: String, help: &str| {
        session.report(Mistake::new("terminals", span, message).help(help));
        None
    };
    let (s, t) = (&a.terminal, &b.terminal);
    let (x, y) = (&a.text, &b.text);
    if let (Some(k), Some(l)) = (&s.kind, &t.kind)
        && k != l
    {
        let message = format!("`{x}` is a terminal of kind {k}, and `{y}` one of kind {l}");
        return refuse(message, "connect terminals of one kind, or their ports one by one");
    }
    if (s.ordered, s.partial) != (t.ordered, t.partial) {
        let rule = |t: &Terminal| match (t.ordered, t.partial) {
            (true, _) => "sequence",
            (false, true) => "bus",
            (false, false) => "plug",
        };
        let message = format!("`{x}` matches as a {}, and `{y}` as a {}", rule(s), rule(t));
        return refuse(message, "connect terminals of one rule, or their ports one by one");
    }
    let help = "export both FMUs with equal terminals, or connect the ports one by one";
    let (n, m) = (s.members.len(), t.members.len());
    if s.ordered {
        if n != m {
            return refuse(format!("`{x}` has {n} members, and `{y}` has {m}"), help);
        }
        return Some((0..n).map(|k| (k, k)).collect());
    }
    let place = |t: &Terminal, name: &str| t.members.iter().position(|own| own.0 == name);
    let alone = |one: &Terminal, other: &Terminal| {
        let mut names = one.members.iter().map(|m| m.0.clone());
        names.find(|name| place(other, name).is_none())
    };
    if !s.partial {
        for (one, other, (has, lacks)) in [(s, t, (x, y)), (t, s, (y, x))] {
            if let Some(name) = alone(one, other) {
                let message = format!(
                    "member `{name}` of `{has}` has no partner: `{lacks}` has no member of this name"
                );
                return refuse(message, help);
            }
        }
    }
    let pair = |(i, own): (usize, &(String, Option<String>, i8))| Some((i, place(t, &own.0)?));
    Some(s.members.iter().enumerate().filter_map(pair).collect())
}

/// One wire, from that of two members which is an output.
fn wire(
    tree: &mut Tree,
    group: u32,
    ((a, i), (b, j)): ((&Side, usize), (&Side, usize)),
    (connection, number): (&Connection, u32),
    eval: &Evaluator<'_>,
    adapters: &mut Adapters,
) -> Option<()> {
    let refuse = |message: String, help: &str| {
        let mistake = Mistake::new("terminals", &connection.span, message);
        eval.session.report(mistake.help(help));
        None
    };
    let port = |side: &Side, member: usize, input: bool| {
        let (_, port, _) = &side.terminal.members[member];
        let port = tree.port_number(side.body, input, port.as_deref()?)?;
        Some(End { child: side.child, member: side.member, port })
    };
    let ends = [(a, i), (b, j)].map(|(s, k)| (port(s, k, false), port(s, k, true)));
    let (from, to) = match ends {
        [(Some(from), _), (_, Some(to))] | [(_, Some(to)), (Some(from), _)] => (from, to),
        [(None, None), _] | [_, (None, None)] if a.terminal.partial => return Some(()),
        [(None, None), _] | [_, (None, None)] => {
            let (s, k) = if ends[0] == (None, None) { (a, i) } else { (b, j) };
            let message = format!("{} is no input or output of its FMU", s.shows(k));
            return refuse(message, "connect the ports one by one");
        }
        _ => {
            let both = if ends[0].0.is_some() { "outputs" } else { "inputs" };
            let message = format!("{} and {} are both {both}", a.shows(i), b.shows(j));
            return refuse(message, "export one of both FMUs with the other direction");
        }
    };
    let g = &tree.groups[group as usize];
    let out = tree.port(g.body(from), false, from.port);
    let into = tree.port(g.body(to), true, to.port);
    fits(&connection.span, ((&g.name_of(from), out), (&g.name_of(to), into)), None, eval.session)?;
    let [own, other] = [(a, i), (b, j)].map(|(s, k)| s.terminal.members[k].2);
    if own != 0 && own == other {
        let span = &connection.span;
        let minus = Node { item: Item::Text("-1".to_owned()), span: span.clone() };
        let gain = Via {
            name: Located::new("gain".to_owned(), span.clone()),
            positional: vec![minus],
            named: Vec::new(),
            text: "gain(-1)".to_owned(),
        };
        return adapters.add(tree, group, &[gain], (from, to), number, eval);
    }
    if (own == 0) != (other == 0) {
        let (flow, signal) = if own != 0 { ((a, i), (b, j)) } else { ((b, j), (a, i)) };
        let message = format!(
            "{} is a flow, and {} is a signal",
            flow.0.shows(flow.1),
            signal.0.shows(signal.1)
        );
        return refuse(message, "export both FMUs with members of equal kinds");
    }
    let wire = Wire { from, to, connection: Some(number) };
    tree.groups[group as usize].wires.push(wire);
    Some(())
}
