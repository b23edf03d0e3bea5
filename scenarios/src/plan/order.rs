//! The order in which units hear each other where a scenario gives none.
//!
//! A unit goes after those whose signals its outputs follow at once (direct feed-through), so units
//! without feed-through go first; those that follow each other in a ring, an algebraic loop, go in the
//! order of their paths, and so do all that have no reason to wait (Gomes et al. 2017,
//! 4.3.2).
use super::{
    loops::{components, feed_through},
    session::Session,
    tree::{Body, End, Group, Tree},
};
use std::collections::HashMap;
use superdense_models::kinds::{PortKind, feed_through::Passing};

/// Units of a group as (child, member).
type Member = (u32, u32);

/// The units of a group in the order of feed-through.
pub(super) fn by_feed_through(
    tree: &Tree,
    group: u32,
    units: &[Member],
    session: &Session,
) -> Vec<Member> {
    let mut sorted = units.to_vec();
    // Declared children are sorted by name: this is the order of paths.
    sorted.sort_unstable();
    let g = &tree.groups[group as usize];
    let place: HashMap<Member, u32> = sorted.iter().copied().zip(0..).collect();
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); sorted.len()];
    for w in &g.wires {
        let at = |end: End| place.get(&(end.child, end.member));
        let (Some(&from), Some(&to)) = (at(w.from), at(w.to)) else { continue };
        if w.connection.is_some() && follows(tree, g, w.to, session) {
            followers[from as usize].push(to);
        }
    }
    // Components are numbered from those that nothing follows.
    let ring_of = components(&followers);
    let mut order: Vec<usize> = (0..sorted.len()).collect();
    order.sort_by_key(|&unit| std::cmp::Reverse(ring_of[unit]));
    let mut level = vec![0; sorted.len()];
    let mut first = vec![usize::MAX; sorted.len()];
    for unit in order.iter().copied() {
        let ring = ring_of[unit] as usize;
        first[ring] = first[ring].min(unit);
        for &next in &followers[unit] {
            let next = ring_of[next as usize] as usize;
            if next != ring {
                level[next] = level[next].max(level[ring] + 1);
            }
        }
    }
    let key = |unit: usize| (level[ring_of[unit] as usize], first[ring_of[unit] as usize], unit);
    order.sort_by_key(|&unit| key(unit));
    order.into_iter().map(|unit| sorted[unit]).collect()
}

/// Whether an output follows at once what its unit hears of units that the same coupling joins; of a group that is not
/// looked into.
pub(super) fn answers(
    tree: &Tree,
    g: &Group,
    output: End,
    is_coupled: impl Fn(&End) -> bool,
    session: &Session,
) -> bool {
    let Body::Unit(at) = g.body(output) else { return true };
    let ports = &tree.units[at as usize].ports;
    let pairs = feed_through(tree, at, session).pairs(ports.inputs.len(), ports.outputs.len());
    pairs.into_iter().any(|(from, to, how)| {
        let input = End { port: from, ..output };
        // Messages go from unit to unit without the coupling.
        let signal =
            ports.inputs.get(usize::from(from)).is_some_and(|i| i.kind == PortKind::Signal);
        let told = || g.wires.iter().any(|w| w.to == input && is_coupled(&w.from));
        to == output.port && how != Passing::Sometimes && signal && told()
    })
}

/// Whether an output of a child follows this input at once, as far as is known.
fn follows(tree: &Tree, g: &Group, input: End, session: &Session) -> bool {
    let unit = |(at, port): (u32, u16)| {
        let ports = &tree.units[at as usize].ports;
        let pairs = feed_through(tree, at, session).pairs(ports.inputs.len(), ports.outputs.len());
        let value = |(from, to, how): &(u16, u16, Passing)| {
            let to = ports.outputs.get(usize::from(*to));
            *from == port
                && *how != Passing::Sometimes
                && to.is_some_and(|o| o.kind == PortKind::Signal)
        };
        pairs.iter().any(value)
    };
    match g.body(input) {
        Body::Unit(at) => unit((at, input.port)),
        Body::Part(_) => false,
        Body::Group(inner) => {
            let ends = &tree.groups[inner as usize].inputs[usize::from(input.port)].ends;
            ends.iter().flat_map(|&end| tree.targets(inner, end)).any(unit)
        }
    }
}
