//! Connections into wires, each checked: names, indices, kinds, types, units of measure, drivers.
use super::{
    adapters, carried, drivers,
    evaluate::Evaluator,
    selector::{Connection, Index, Loop, Selector, Step},
    session::{Session, did_you_mean},
    terminals,
    tree::{Body, Child, End, Group, Tree, Wire, dotted},
};
use crate::{diagnostics::Mistake, source::Span};
use superdense_models::{
    kinds::{PortKind, PortSpec},
    maths::quantity::unit,
};

/// Most wires of a scenario.
pub(super) const MAX_WIRES: usize = 1_000_000;

/// Resolves the connections of a group and checks that every input has its driver.
pub(super) fn connect(tree: &mut Tree, group: u32, session: &Session) {
    let decl = std::rc::Rc::clone(&tree.groups[group as usize].decl);
    let mut adapters = adapters::Adapters::default();
    let wrong_ports = decl.inputs.len() > tree.groups[group as usize].inputs.len();
    let mut meant = drivers::Meant::new(decl.unread || wrong_ports);
    for (number, connection) in (0u32..).zip(&decl.connections) {
        each(tree, group, (&connection.loops, &connection.span), session, |tree, eval| {
            let own = (connection, number);
            let done = match connection.terminals {
                true => terminals::join(tree, group, own, eval, &mut adapters),
                false => one(tree, group, connection, number, eval, &mut adapters),
            };
            if done.is_none() {
                meant.note(tree, group, &connection.to, eval);
            }
            done
        });
    }
    adapters.insert(tree, group, session);
    drivers::check(&tree.groups[group as usize], tree, &meant, session);
}

/// Calls `f` for all values of the loop variables; stops at the first mistake.
pub(super) fn each(
    tree: &mut Tree,
    group: u32,
    (loops, span): (&[Loop], &Span),
    session: &Session,
    mut f: impl FnMut(&mut Tree, &Evaluator<'_>) -> Option<()>,
) {
    let scope = std::rc::Rc::clone(&tree.groups[group as usize].scope);
    let before = session.sink.len();
    let mut todo: Vec<Vec<(&str, f64)>> = vec![Vec::new()];
    while let Some(locals) = todo.pop() {
        let eval = Evaluator::new(session, &scope, &locals);
        let Some(next) = loops.get(locals.len()) else {
            if f(tree, &eval).is_none() || session.sink.len() > before {
                return;
            }
            continue;
        };
        const WHAT: &str = "an end of the range";
        let (from, to) = (eval.whole(&next.from, WHAT), next.to.behind(&eval, WHAT));
        let (Some(from), Some(to)) = (from, to) else { return };
        if to.saturating_sub(from) > MAX_WIRES as i64 || todo.len() > MAX_WIRES {
            let mistake = Mistake::new("too-large", span, "this range is too long");
            session.report(
                mistake.help(
                    "a range has at most a million members; divide the model among templates",
                ),
            );
            return;
        }
        todo.extend((from..to).rev().map(|i| {
            let mut more = locals.clone();
            more.push((&next.variable, i as f64));
            more
        }));
    }
}

/// One connection with fixed loop variables.
fn one(
    tree: &mut Tree,
    group: u32,
    connection: &Connection,
    number: u32,
    eval: &Evaluator<'_>,
    adapters: &mut adapters::Adapters,
) -> Option<()> {
    // Both, though one be wrong: each has its own mistakes.
    let from = ends(tree, group, &connection.from, false, eval);
    let to = ends(tree, group, &connection.to, true, eval);
    let ((from, _), (to, _)) = (from?, to?);
    let pairs = from.len().max(to.len());
    if from.len() != to.len() && from.len() != 1 && to.len() != 1 {
        let message = format!("{} outputs meet {} inputs", from.len(), to.len());
        let mistake = Mistake::new("size-mismatch", &connection.span, message);
        let help = "with an array on both sides their sizes must be equal; write explicit \
                    indices with `for i in 0..n`";
        eval.session.report(mistake.help(help));
        return None;
    }
    tree.wires += pairs;
    if tree.wires > MAX_WIRES {
        let mistake =
            Mistake::new("too-large", &connection.span, "more than a million connections");
        eval.session.report(
            mistake.help("choose smaller arrays, or connect sums and means of their members"),
        );
        return None;
    }
    if from.is_empty() || to.is_empty() {
        return Some(());
    }
    for k in 0..pairs {
        let pick = |side: &[End]| if side.len() == 1 { side[0] } else { side[k] };
        let (a, b) = (pick(&from), pick(&to));
        let g = &tree.groups[group as usize];
        if (a.child, a.member) == (b.child, b.member) && connection.via.is_empty() {
            let message = format!("`{}` is connected to itself", g.name_of(a));
            let help = "a unit cannot be its own input; put a unit between, such as a `delay`";
            let mistake = Mistake::new("self-loop", &connection.span, message);
            eval.session.report(mistake.help(help));
            return None;
        }
        let out = tree.port(g.body(a), false, a.port);
        let into = tree.port(g.body(b), true, b.port);
        match connection.via.as_slice() {
            [] => {
                let told = [b, a].into_iter().find(|&end| tree.takes_signals(g.body(end)));
                let told = told
                    .map(|end| format!("with of = \"signal\" `{}` takes signals", g.name_of(end)));
                let ends = ((&*g.name_of(a), out), (&*g.name_of(b), into));
                fits(&connection.span, ends, told, eval.session)?;
                let wire = Wire { from: a, to: b, connection: Some(number) };
                tree.groups[group as usize].wires.push(wire);
            }
            via => adapters.add(tree, group, via, (a, b), number, eval)?,
        }
    }
    Some(())
}

/// A name of a unit, and a port of it.
pub(super) type At<'a> = (&'a str, &'a PortSpec);

/// Whether an output may drive an input. `told` says how one of both would be a signal.
pub(super) fn fits(
    span: &Span,
    ((from, out), (to, into)): (At<'_>, At<'_>),
    told: Option<String>,
    session: &Session,
) -> Option<()> {
    let (from, to) = (format!("{from}.{}", out.name), format!("{to}.{}", into.name));
    let refuse = |code, message: String, help: String| {
        session.report(Mistake::new(code, span, message).help(help));
        None
    };
    match (out.kind, into.kind) {
        (PortKind::Event, PortKind::Signal) => {
            return refuse(
                "signal-event-mismatch",
                format!("`{from}` sends events, but `{to}` is a signal"),
                told.unwrap_or_else(|| {
                    format!(
                        "add a hold with the value before the first event: {from} -> {to} via hold(0)"
                    )
                }),
            );
        }
        (PortKind::Signal, PortKind::Event) => {
            return refuse(
                "signal-event-mismatch",
                format!("`{from}` is a signal, but `{to}` takes events"),
                told.unwrap_or_else(|| {
                    format!(
                        "add `via sample('0.1 s')` for values at a fixed rate, or `via detect(20)` \
                         for an event when the signal crosses 20: {from} -> {to} via sample('0.1 s')"
                    )
                }),
            );
        }
        _ => {}
    }
    if !out.ty.fits(into.ty) {
        return refuse(
            "type-mismatch",
            format!("`{from}` sends {}, but `{to}` takes {}", out.ty.name(), into.ty.name()),
            carried::remedy(into.ty).into(),
        );
    }
    if let (Some(a), Some(b)) = (&out.unit, &into.unit)
        && a != b
    {
        let factor = match (unit(a), unit(b)) {
            (Ok(a), Ok(b)) if a.dimension() == b.dimension() => Some(a.to_si(1.0) / b.to_si(1.0)),
            _ => None,
        };
        return refuse(
            "unit-mismatch",
            format!("`{from}` is in {a}, but `{to}` is in {b}"),
            match factor {
                Some(k) => format!("put a unit of kind \"gain\" with gain = {k} between them"),
                None => "these measure different things; connect another port".into(),
            },
        );
    }
    Some(())
}

/// The child and the port of a selector; one that reaches into a group is refused, with what `help` says of the group.
pub(super) fn child_and_port<'a>(
    selector: &'a Selector,
    session: &Session,
    help: impl Fn(&str) -> String,
) -> Option<(&'a Step, &'a Step)> {
    if let [child, port] = selector.steps.as_slice() {
        return Some((child, port));
    }
    let first = &selector.steps[0].name.value;
    let message = format!("this reaches into the group `{first}`");
    session.report(Mistake::new("reach-inside", &selector.span, message).help(help(first)));
    None
}

/// The child and the connector that a selector names.
pub(super) fn child_and_connector<'a>(
    selector: &'a Selector,
    session: &Session,
) -> Option<(&'a Step, &'a Step)> {
    child_and_port(selector, session, |inner| {
        format!("give the template of `{inner}` a connector: connectors = {{ p = \"unit.p\" }}")
    })
}

/// The ports that a selector names, and whether it names many.
pub(super) fn ends(
    tree: &Tree,
    group: u32,
    selector: &Selector,
    input: bool,
    eval: &Evaluator<'_>,
) -> Option<(Vec<End>, bool)> {
    let session = eval.session;
    let g = &tree.groups[group as usize];
    let reach = |inner: &str| {
        format!("give the template of `{inner}` an input or output for it, and connect that")
    };
    let (step, port) = child_and_port(selector, session, reach)?;
    let (child_at, members) = members(g, step, eval)?;
    let child = &g.children[child_at as usize];
    let mut out = Vec::new();
    for &member in &members {
        let body = child.members[member as usize];
        out.extend(ports(tree, body, child, port, input, eval)?.into_iter().map(|port| End {
            child: child_at,
            member,
            port,
        }));
    }
    Some((out, members.len() > 1))
}

/// The child and its members that a step names; `None` after a mistake, or silently for a child
/// that is wrong itself.
pub(super) fn members(g: &Group, step: &Step, eval: &Evaluator<'_>) -> Option<(u32, Vec<u32>)> {
    let session = eval.session;
    let Some(at) = g.find(&step.name.value) else {
        let known = g.children[..g.declared].iter().map(|c| &*c.name);
        let place = if g.path.is_empty() {
            "this scenario".into()
        } else {
            format!("`{}`", dotted(&g.path))
        };
        let help = did_you_mean(&step.name.value, known, "units");
        let message = format!("there is no unit `{}` in {place}", step.name.value);
        session.report(Mistake::new("unknown-unit", &step.name.span, message).help(help));
        return None;
    };
    let child = &g.children[at as usize];
    let n = child.members.len() as i64;
    if child.wrong {
        return None;
    }
    let name = &child.name;
    let refuse = |span: &Span, message: String, help: String| {
        session.report(Mistake::new("bad-index", span, message).help(help));
        None
    };
    let members = match step.indices.as_slice() {
        [] if child.array => {
            let help = format!("write `{name}[*]` for all of them, or `{name}[0]` for one");
            return refuse(&step.name.span, format!("`{name}` is an array of {n}"), help);
        }
        [] => vec![0],
        [(_, span), ..] if !child.array => {
            let help = format!("write `{name}`, or give it a `count`");
            return refuse(span, format!("`{name}` is not an array"), help);
        }
        [_, (_, span), ..] => {
            let help = format!("write one index, such as `{name}[0]`");
            return refuse(span, format!("`{name}` has one dimension"), help);
        }
        [(Index::All, _)] => (0..n as u32).collect(),
        [(Index::One(node), span)] => {
            let i = eval.whole(node, "this index")?;
            if i < 0 || i >= n {
                let help = match n {
                    0 => format!("`{name}` has no members at all; see its `count`"),
                    _ => format!("members are {name}[0] to {name}[{}]", n - 1),
                };
                return refuse(span, format!("`{name}` has no member {i}"), help);
            }
            vec![i as u32]
        }
        [(Index::Range(from, to), span)] => {
            let from = eval.whole(from, "the start of the range")?;
            let to = to.behind(eval, "the end of the range")?;
            if from < 0 || to > n || from > to {
                let help =
                    format!("ranges of `{name}` lie within 0..{n} (the end is not included)");
                return refuse(span, format!("`{name}` has no members {from}..{to}"), help);
            }
            (from as u32..to as u32).collect()
        }
    };
    Some((at, members))
}

/// A finder of the ports of one name by index. `u[3]` is the port that is called `u[3]`. Without
/// ports of that form it is `u3`, or `u4` where ports are counted from 1: then `u[0]` is `u1`.
fn indexed<'a>(
    tree: &'a Tree,
    body: Body,
    input: bool,
    name: &'a str,
) -> impl Fn(i64) -> Option<u16> + 'a {
    let find = move |name: &str| tree.port_number(body, input, name);
    let own = |p: &&PortSpec| p.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    let named = tree.ports(body, input).iter().any(own);
    let numbered = |i: i64| find(&format!("{name}{i}"));
    let first = i64::from(numbered(0).is_none() && numbered(1).is_some());
    move |i| match named {
        true => find(&format!("{name}[{i}]")),
        false if i < 0 => None,
        false => find(&format!("{name}{}", i.checked_add(first)?)),
    }
}

/// All ports of one name that have an index or end in a number, in the order of these, which may have gaps:
/// buses keep the numbers of their file.
fn all_ports(tree: &Tree, body: Body, input: bool, name: &str) -> Vec<u16> {
    let ports = tree.ports(body, input);
    let number = |text: &str| {
        let canonical = |n: &u64| text.bytes().all(|b| b.is_ascii_digit()) && n.to_string() == text;
        text.parse().ok().filter(canonical)
    };
    let find = |index: &dyn Fn(&str) -> Option<u64>| {
        let all = (0u16..).zip(&ports);
        let index = |p: &PortSpec| p.name.strip_prefix(name).and_then(index);
        let mut all: Vec<_> = all.filter_map(|(port, p)| Some((index(p)?, port))).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, port)| port).collect::<Vec<_>>()
    };
    let indexed = find(&|rest| number(rest.strip_prefix('[')?.strip_suffix(']')?));
    if indexed.is_empty() { find(&number) } else { indexed }
}

/// The ports `T[1][2]` of a name that indices of several dimensions choose, the last index the fastest; none if there
/// are none, or if one that is named is missing.
fn elements(
    ports: &[&PortSpec],
    name: &str,
    indices: &[(Index, Span)],
    eval: &Evaluator<'_>,
) -> Option<Option<Vec<u16>>> {
    let mut wanted = Vec::new();
    for (index, _) in indices {
        wanted.push(match index {
            Index::All => i64::MIN..i64::MAX,
            Index::One(node) => {
                let i = eval.whole(node, "this index")?;
                i..i.saturating_add(1)
            }
            Index::Range(from, to) => {
                let from = eval.whole(from, "the start of the range")?;
                from..to.behind(eval, "the end of the range")?
            }
        });
    }
    let place = |port: &PortSpec| {
        let inner = port.name.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
        let place: Vec<i64> = inner.split("][").map(str::parse).collect::<Result<_, _>>().ok()?;
        let chosen =
            place.len() == wanted.len() && place.iter().zip(&wanted).all(|(i, w)| w.contains(i));
        chosen.then_some(place)
    };
    let mut found: Vec<(Vec<i64>, u16)> =
        ports.iter().zip(0u16..).filter_map(|(p, k)| Some((place(p)?, k))).collect();
    found.sort_unstable();
    let missing = |(d, range): (usize, &std::ops::Range<i64>)| {
        let all =
            found.iter().map(|(place, _)| place[d]).collect::<std::collections::BTreeSet<_>>();
        range.start != i64::MIN && all.len() as i64 != range.end.saturating_sub(range.start)
    };
    let complete = !found.is_empty() && !wanted.iter().enumerate().any(missing);
    Some(complete.then(|| found.into_iter().map(|(_, k)| k).collect()))
}

/// The numbers of the ports that a step names.
fn ports(
    tree: &Tree,
    body: Body,
    child: &Child,
    step: &Step,
    input: bool,
    eval: &Evaluator<'_>,
) -> Option<Vec<u16>> {
    let session = eval.session;
    let name = &step.name.value;
    let indexed = indexed(tree, body, input, name);
    let first = if indexed(0).is_some() { 0 } else { 1 };
    let found = match step.indices.as_slice() {
        [] => tree.port_number(body, input, name).map(|p| vec![p]),
        [(Index::One(node), _)] => indexed(eval.whole(node, "this index")?).map(|p| vec![p]),
        [(Index::All, _)] => {
            let all = all_ports(tree, body, input, name);
            (!all.is_empty()).then_some(all)
        }
        [(Index::Range(from, to), _)] => {
            let from = eval.whole(from, "the start of the range")?;
            let to = to.behind(eval, "the end of the range")?;
            (from..to.min(from.saturating_add(70_000))).map(&indexed).collect()
        }
        indices => elements(&tree.ports(body, input), name, indices, eval)?,
    };
    if found.is_some() {
        return found;
    }
    if let Body::Group(g) = body {
        let decl = &tree.groups[g as usize].decl;
        let declared = if input { &decl.inputs } else { &decl.outputs };
        if declared.iter().any(|p| p.name.value == *name) {
            return None;
        }
    }
    let direction = if input { "input" } else { "output" };
    let known: Vec<&str> = tree.ports(body, input).iter().map(|p| p.name.as_str()).collect();
    let other = tree.port_number(body, !input, name).is_some();
    let last = (first..).take_while(|&i| indexed(i).is_some()).last();
    let help = if let ([_], Some(last)) = (step.indices.as_slice(), last) {
        format!(
            "indices of `{name}` here are {first} to {last}; the end of a range is not included"
        )
    } else if other {
        let opposite = if input { "an output" } else { "an input" };
        format!(
            "`{}.{name}` is {opposite}; {}",
            child.name,
            did_you_mean("", known.iter().copied(), &format!("{direction}s"))
        )
    } else {
        did_you_mean(name, known.iter().copied(), &format!("{direction}s"))
    };
    let shown = format!("{name}{}", "[...]".repeat(step.indices.len()));
    let message = format!("`{}` has no {direction} `{shown}`", child.name);
    session.report(Mistake::new("unknown-port", &step.name.span, message).help(help));
    None
}
