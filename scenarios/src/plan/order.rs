//! The order in which units hear each other where a scenario gives none.
//!
//! A unit goes after those whose signals its outputs follow at once (direct feed-through), so units
//! without feed-through go first; those that follow each other in a ring, an algebraic loop, go in the
//! order of their paths, and so do all that have no reason to wait (Gomes et al. 2017, document 004,
//! 4.3.2).
use super::tree::{Body, End, Group, Tree};
use std::collections::HashMap;

/// Units of a group as (child, member).
type Member = (u32, u32);

/// The units of a group in the order of feed-through.
pub(super) fn by_feed_through(tree: &Tree, group: u32, units: &[Member]) -> Vec<Member> {
    let mut sorted = units.to_vec();
    // Declared children are sorted by name: this is the order of paths.
    sorted.sort_unstable();
    let g = &tree.groups[group as usize];
    let place: HashMap<Member, usize> = sorted.iter().copied().zip(0..).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); sorted.len()];
    for w in &g.wires {
        let at = |end: End| place.get(&(end.child, end.member));
        let (Some(&from), Some(&to)) = (at(w.from), at(w.to)) else { continue };
        if w.connection.is_some() && follows(tree, g, w.to) {
            followers[from].push(to);
        }
    }
    let rings = components(&followers);
    let mut ring_of = vec![0; sorted.len()];
    for (number, ring) in rings.iter().enumerate() {
        ring.iter().for_each(|&unit| ring_of[unit] = number);
    }
    let mut level = vec![0; rings.len()];
    // Those that follow come first in the list of rings.
    for (number, ring) in rings.iter().enumerate().rev() {
        for &next in ring.iter().flat_map(|&unit| &followers[unit]) {
            if ring_of[next] != number {
                level[ring_of[next]] = level[ring_of[next]].max(level[number] + 1);
            }
        }
    }
    let mut order: Vec<usize> = (0..sorted.len()).collect();
    let first = |unit: usize| rings[ring_of[unit]].iter().min().copied();
    order.sort_by_key(|&unit| (level[ring_of[unit]], first(unit), unit));
    order.into_iter().map(|unit| sorted[unit]).collect()
}

/// Whether an output of a child follows this input at once, as far as is known.
fn follows(tree: &Tree, g: &Group, input: End) -> bool {
    let unit = |unit: u32, port: u16| {
        let unit = &tree.units[unit as usize];
        let name = &unit.ports.inputs[usize::from(port)].name;
        unit.kind.feeds_through(&unit.params, name)
    };
    match g.body(input) {
        Body::Unit(at) => unit(at, input.port),
        Body::Group(inner) => {
            let ends = &tree.groups[inner as usize].inputs[usize::from(input.port)].ends;
            let targets = ends.iter().flat_map(|&end| tree.targets(inner, end));
            targets.into_iter().any(|(at, port)| unit(at, port))
        }
    }
}

/// The strongly connected components of a graph, each before those that lead to it (Tarjan 1972).
fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low) = (vec![NEW; next.len()], vec![0; next.len()]);
    let (mut open, mut on_stack) = (Vec::new(), vec![false; next.len()]);
    let (mut found, mut count) = (Vec::new(), 0);
    for root in 0..next.len() {
        if index[root] != NEW {
            continue;
        }
        // Nodes on the way from the root, each with the number of its successors done.
        let mut path = vec![(root, 0)];
        while let Some((node, done)) = path.last_mut() {
            let node = *node;
            if *done == 0 && index[node] == NEW {
                (index[node], low[node]) = (count, count);
                count += 1;
                open.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = next[node].get(*done) {
                *done += 1;
                if index[to] == NEW {
                    path.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                low[before] = low[before].min(low[node]);
            }
            if low[node] == index[node] {
                let from = open.iter().rposition(|&n| n == node).unwrap_or(0);
                let ring = open.split_off(from);
                ring.iter().for_each(|&n| on_stack[n] = false);
                found.push(ring);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_come_after_what_they_lead_to() {
        // 0 -> 1 -> 2 -> 0 is a ring, which leads to 3 -> 4; 5 leads into it.
        let next = [vec![1], vec![2], vec![0, 3], vec![4], vec![], vec![1]];
        let mut rings = components(&next);
        rings.iter_mut().for_each(|ring| ring.sort_unstable());
        assert_eq!(rings, [vec![4], vec![3], vec![0, 1, 2], vec![5]]);
        assert_eq!(components(&[vec![0], vec![]]), [vec![0], vec![1]], "with itself");
    }
}
