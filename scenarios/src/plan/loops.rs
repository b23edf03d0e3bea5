//! Algebraic loops: units without memory that wait for each other.
use super::{
    session::Session,
    tree::{Tree, dotted},
};
use crate::diagnostics::Mistake;

/// Kinds whose output is a function of their inputs at the same instant.
const MEMORYLESS: [&str; 4] = ["gain", "offset", "product", "sum"];

/// Reports each ring of memoryless units once, at the first of its units in the text.
pub(super) fn check(tree: &Tree, session: &Session) {
    let memoryless = |u: u32| MEMORYLESS.contains(&tree.units[u as usize].kind.name());
    if !(0..tree.units.len() as u32).any(memoryless) {
        return;
    }
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); tree.units.len()];
    for (at, g) in tree.groups.iter().enumerate() {
        for w in &g.wires {
            let Some((from, _)) = tree.origin(at as u32, w.from) else { continue };
            if !memoryless(from) {
                continue;
            }
            let targets = tree.targets(at as u32, w.to);
            next[from as usize].extend(targets.iter().map(|t| t.0).filter(|&t| memoryless(t)));
        }
    }
    for ring in rings(&next) {
        let names: Vec<String> =
            ring.iter().map(|&u| dotted(&tree.units[u as usize].path)).collect();
        let first = &tree.units[ring[0] as usize];
        let shown = match names.len() {
            0..=8 => names.join(" -> "),
            n => format!("{} -> ... ({n} units)", names[..4].join(" -> ")),
        };
        let message = format!("algebraic loop: {shown} -> {}", names[0]);
        let help = "each of these units needs the value of the others at the same instant; put a \
                    `delay`, a `first-order` or an `integrator` into the loop, or solve it by hand";
        session.report(Mistake::new("algebraic-loop", &first.span, message).help(help));
    }
}

/// One ring of each group of units that reach each other, beginning with its lowest number.
fn rings(next: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut seen = vec![NEW; next.len()];
    let mut found = Vec::new();
    for start in 0..next.len() as u32 {
        // Units on the way from the start, each with the number of its successors done.
        let mut path: Vec<(u32, usize)> = vec![(start, 0)];
        if seen[start as usize] != NEW {
            continue;
        }
        seen[start as usize] = OPEN;
        while let Some((unit, done)) = path.last_mut() {
            let Some(&to) = next[*unit as usize].get(*done) else {
                seen[*unit as usize] = DONE;
                path.pop();
                continue;
            };
            *done += 1;
            match seen[to as usize] {
                NEW => {
                    seen[to as usize] = OPEN;
                    path.push((to, 0));
                }
                OPEN => {
                    let from = path.iter().position(|(u, _)| *u == to).unwrap_or(0);
                    let mut ring: Vec<u32> = path[from..].iter().map(|(u, _)| *u).collect();
                    let lowest = ring.iter().enumerate().min_by_key(|(_, u)| **u);
                    let lowest = lowest.map_or(0, |(i, _)| i);
                    ring.rotate_left(lowest);
                    found.push(ring);
                    // What is left of this way is told of already.
                    path.iter().for_each(|(u, _)| seen[*u as usize] = DONE);
                    path.clear();
                }
                _ => {}
            }
        }
    }
    found
}
