//! Rings of units that answer each other at the same instant.
//!
//! A ring in which each unit passes every message on at once is refused; where that depends on
//! values, [`super::graph`] tells of it.
use super::{
    evaluate::Evaluator,
    session::Session,
    tree::{Tree, Unit, dotted},
};
use crate::diagnostics::Mistake;
use superdense_models::{
    kinds::{
        Context, PortKind,
        feed_through::{FeedThrough, Passing},
    },
    maths::expr::Measure,
};

/// The feed-through of a unit.
pub(super) fn feed_through(tree: &Tree, unit: u32, session: &Session) -> FeedThrough {
    let unit = &tree.units[unit as usize];
    context(unit, session, |context| unit.kind.feed_through(&unit.params, context))
}

/// Calls `f` with a unit's surroundings, as far as they are known before it is built.
pub(super) fn context<T>(unit: &Unit, session: &Session, f: impl FnOnce(&Context<'_>) -> T) -> T {
    let index = unit.index.map(|i| ("i", f64::from(i)));
    let eval = Evaluator::new(session, &unit.scope, index.as_slice());
    f(&surroundings(unit, session, &|name| eval.constant(name), &|name| eval.measure(name)))
}

/// A unit's surroundings of these constants, with their dimensions, before it is built.
pub(super) fn surroundings<'a>(
    unit: &'a Unit,
    session: &'a Session,
    constants: &'a dyn Fn(&str) -> Option<f64>,
    measures: &'a dyn Fn(&str) -> Measure,
) -> Context<'a> {
    Context {
        path: &unit.path,
        resolution: session.resolution,
        seed: session.seed,
        horizon: session.horizon.get(),
        tighter: 1.0 / session.tighten,
        folder: &session.folder,
        constants,
        measures,
        angles: &|_| None,
        functions: session.functions(),
        links: &unit.links,
        input_sources: &[],
        output_connected: &[],
        output_read: &[],
        input_connected: &[],
        mastered: false,
        turn: (0, 0),
        input_names: &[],
    }
}

/// Reports each ring of units that pass everything on once, at the first of its units in the text.
pub(super) fn check(tree: &Tree, session: &Session) {
    // Continuous units pass nothing on that does not change.
    let all = |&u: &u32| {
        !tree.units[u as usize].kind.is_continuous()
            && feed_through(tree, u, session) == FeedThrough::All(Passing::Always)
    };
    let units = 0..tree.units.len() as u32;
    let passes: Vec<bool> = units.map(|u| all(&u)).collect();
    if !passes.contains(&true) {
        return;
    }
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); tree.units.len()];
    for (at, g) in tree.groups.iter().enumerate() {
        for w in &g.wires {
            let Some((from, _)) = tree.origin(at as u32, w.from) else { continue };
            if passes[from as usize] {
                let targets = tree.targets(at as u32, w.to);
                let targets = targets.iter().map(|t| t.0);
                next[from as usize].extend(targets.filter(|&t| passes[t as usize]));
            }
        }
    }
    for (ring, _) in rings(&next) {
        let unit = |u: &u32| &tree.units[*u as usize];
        let names: Vec<String> = ring.iter().map(|u| dotted(&unit(u).path)).collect();
        let shown = match names.len() {
            0..=8 => names.join(" -> "),
            n => format!("{} -> ... ({n} units)", names[..4].join(" -> ")),
        };
        let ports = ring.iter().flat_map(|u| unit(u).ports.inputs.iter());
        let signals = ports.clone().all(|p| p.kind == PortKind::Signal);
        let (code, what, help) = match signals {
            true => (
                "algebraic-loop",
                "algebraic loop",
                "each of these units needs the value of the others at the same instant; put a \
                 `delay`, a `first-order` or an `integrator` into the loop, or solve it by hand",
            ),
            false => (
                "zero-time-loop",
                "loop without delay",
                "each of these units sends on at once what it is sent, so that a message goes \
                 round for ever without time passing; put a `delay` into the loop",
            ),
        };
        let message = format!("{what}: {shown} -> {}", names[0]);
        session.report(Mistake::new(code, &unit(&ring[0]).span, message).help(help));
    }
}

/// For each set of nodes that reach each other (strongly connected components, Tarjan 1972): a
/// shortest ring through its lowest node that has one, and how many nodes the set has.
pub(super) fn rings(next: &[Vec<u32>]) -> Vec<(Vec<u32>, usize)> {
    let component = components(next);
    let mut members: Vec<Vec<u32>> = Vec::new();
    let count = component.iter().map(|c| c + 1).max().unwrap_or(0);
    members.resize(count as usize, Vec::new());
    for (node, &c) in (0..).zip(&component) {
        members[c as usize].push(node);
    }
    let to_itself = |node: u32| next[node as usize].contains(&node);
    members.retain(|m| m.len() > 1 || to_itself(m[0]));
    members.sort_unstable();
    members.into_iter().map(|m| (shortest(next, &component, m[0]), m.len())).collect()
}

/// The number of the component of each node; those that others follow have higher numbers.
pub(super) fn components(next: &[Vec<u32>]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut component = vec![NONE; next.len()];
    let (mut low, mut order) = (vec![NONE; next.len()], vec![NONE; next.len()]);
    let (mut open, mut seen, mut found) = (Vec::new(), 0, 0);
    // Nodes on the way from the start, each with the number of its successors done.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for start in 0..next.len() as u32 {
        if order[start as usize] == NONE {
            path.push((start, 0));
        }
        while let Some((node, done)) = path.last_mut() {
            let at = *node as usize;
            if *done == 0 && order[at] == NONE {
                (order[at], low[at]) = (seen, seen);
                seen += 1;
                open.push(*node);
            }
            if let Some(&to) = next[at].get(*done) {
                *done += 1;
                match order[to as usize] {
                    NONE => path.push((to, 0)),
                    first if component[to as usize] == NONE => low[at] = low[at].min(first),
                    _ => {}
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before as usize] = low[*before as usize].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(node) = open.pop() {
                    component[node as usize] = found;
                    if node as usize == at {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

/// A shortest ring through `start` within its component.
fn shortest(next: &[Vec<u32>], component: &[u32], start: u32) -> Vec<u32> {
    let inside = |n: u32| component[n as usize] == component[start as usize];
    let mut before = std::collections::BTreeMap::new();
    let mut todo = std::collections::VecDeque::from([start]);
    while let Some(node) = todo.pop_front() {
        for &to in next[node as usize].iter().filter(|&&to| inside(to)) {
            if to == start {
                let mut ring = vec![node];
                while let Some(&from) = before.get(&ring[ring.len() - 1]) {
                    ring.push(from);
                }
                ring.reverse();
                return ring;
            }
            if to != start && !before.contains_key(&to) {
                before.insert(to, node);
                todo.push_back(to);
            }
        }
    }
    vec![start]
}

#[cfg(test)]
mod tests {
    use super::rings;

    #[test]
    fn rings_are_told_once_and_are_shortest() {
        // 0 -> 1 -> 2 -> 0 with the short cut 1 -> 0; 3 to itself; 4 -> 5 is no ring; 6 <-> 7.
        let next = [vec![1], vec![2, 0], vec![0], vec![3, 4], vec![5], vec![], vec![7], vec![6]];
        let next = next.map(|list: Vec<u32>| list);
        let found = rings(&next);
        assert_eq!(found, [(vec![0, 1], 3), (vec![3], 1), (vec![6, 7], 2)]);
        assert!(rings(&[]).is_empty());
    }
}
