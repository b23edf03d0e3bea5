//! Turns: the micro-steps in which units that act once per instant act, such as simulators of mosaik.
//!
//! A unit with [`turns`](superdense_models::kinds::UnitKind::turns) acts when all that others send it at
//! the instant has come: in the micro-step of its *depth*, the longest way of connections that
//! pass something on at once. Rings of such connections are refused, unless one of them is shifted to the
//! next time or weak. A ring with a weak connection goes round at one instant, a *round* in so many
//! micro-steps; who hears it from outside waits for as many rounds as there may be.
use super::{
    coupling,
    loops::{components, feed_through, rings},
    session::Session,
    tree::{Tree, dotted},
};
use crate::diagnostics::Mistake;
use superdense_models::kinds::feed_through::Passing;

/// The turns of all units.
#[derive(Default)]
pub(super) struct Turns {
    /// Per unit: depth, and length of a round. Empty where no unit has turns.
    at: Vec<(u32, u32)>,
    /// Per unit and input: where it hears from.
    names: Vec<Vec<String>>,
}

impl Turns {
    pub(super) fn of(&self, unit: u32) -> (u32, u32) {
        self.at.get(unit as usize).copied().unwrap_or_default()
    }
    pub(super) fn names(&self, unit: u32) -> &[String] {
        self.names.get(unit as usize).map_or(&[], Vec::as_slice)
    }
}

/// A connection, and what follows from it at once.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    weak: bool,
    /// It is not known whether something follows.
    maybe: bool,
}

/// Nodes: first the units with turns, then the outputs of all others.
struct Graph {
    /// Per unit: its node, if it has turns.
    node: Vec<Option<u32>>,
    /// Per unit without turns: the node of its first output.
    first: Vec<u32>,
    /// Units by node.
    unit: Vec<u32>,
    /// Rounds, per unit with turns.
    rounds: Vec<u32>,
    edges: Vec<Edge>,
    names: Vec<Vec<String>>,
}

/// The turns of a scenario; rings are reported.
pub(super) fn turns(tree: &Tree, session: &Session) -> Turns {
    let all: Vec<_> = tree.units.iter().map(|u| u.kind.turns(&u.params)).collect();
    if all.iter().all(Option::is_none) {
        return Turns::default();
    }
    let mut graph = Graph::new(tree, &all);
    graph.connect(tree, &all, session);
    if !graph.settle(tree, session) {
        return Turns::default();
    }
    let (depths, ring) = graph.depths();
    let of = |node: &Option<u32>| node.map_or((0, 0), |n| (depths[n as usize], ring[n as usize]));
    let at: Vec<(u32, u32)> = graph.node.iter().map(of).collect();
    for (unit, &(depth, ring)) in tree.units.iter().zip(&at) {
        if depth.saturating_add(ring) >= session.micro_steps {
            let message = format!("`{}` would act after {depth} micro-steps", dotted(&unit.path));
            let help = "give the rings before it a smaller `max_rounds`, or raise `micro_steps`";
            session.report(Mistake::new("turns", &unit.span, message).help(help));
        }
    }
    Turns { at, names: graph.names }
}

type Declared = Option<(Vec<u16>, Vec<u16>, u32)>;

impl Graph {
    fn new(tree: &Tree, all: &[Declared]) -> Self {
        let mut g = Self {
            node: vec![None; all.len()],
            first: vec![0; all.len()],
            unit: Vec::new(),
            rounds: Vec::new(),
            edges: Vec::new(),
            names: vec![Vec::new(); all.len()],
        };
        for (u, declared) in (0u32..).zip(all) {
            if let Some((_, _, rounds)) = declared {
                g.node[u as usize] = Some(g.unit.len() as u32);
                g.names[u as usize] =
                    vec![String::new(); tree.units[u as usize].ports.inputs.len()];
                g.rounds.push(*rounds);
                g.unit.push(u);
            }
        }
        for u in (0..all.len() as u32).filter(|u| all[*u as usize].is_none()) {
            g.first[u as usize] = g.unit.len() as u32;
            let outputs = tree.units[u as usize].ports.outputs.len();
            g.unit.extend(std::iter::repeat_n(u, outputs));
        }
        g
    }

    /// Follows all connections.
    fn connect(&mut self, tree: &Tree, all: &[Declared], session: &Session) {
        let passed: Vec<_> = (0u32..)
            .zip(&tree.units)
            .map(|(u, unit)| match all[u as usize] {
                Some(_) => Vec::new(),
                None if coupling::is_master(unit) => {
                    let all = 0..unit.ports.outputs.len() as u16;
                    all.map(|k| (k, k, Passing::Value)).collect()
                }
                None => {
                    let ports = &unit.ports;
                    feed_through(tree, u, session).pairs(ports.inputs.len(), ports.outputs.len())
                }
            })
            .collect();
        for (at, group) in tree.groups.iter().enumerate() {
            for w in group.wires.iter().filter(|w| w.connection.is_some()) {
                let Some((from, out)) = tree.origin(at as u32, w.from) else { continue };
                for (to, input) in tree.targets(at as u32, w.to) {
                    self.wire(
                        tree,
                        (from, out),
                        (to, input),
                        &all[to as usize],
                        &passed[to as usize],
                    );
                }
            }
        }
    }

    fn wire(
        &mut self,
        tree: &Tree,
        (from, out): (u32, u16),
        (to, input): (u32, u16),
        declared: &Declared,
        passed: &[(u16, u16, Passing)],
    ) {
        let source = self.node[from as usize].unwrap_or(self.first[from as usize] + u32::from(out));
        let Some((shifted, weak, _)) = declared else {
            for (_, after, how) in passed.iter().filter(|p| p.0 == input) {
                let to = self.first[to as usize] + u32::from(*after);
                let maybe = *how == Passing::Sometimes;
                self.edges.push(Edge { from: source, to, weak: false, maybe });
            }
            return;
        };
        let unit = &tree.units[from as usize];
        if let Some(name) = self.names[to as usize].get_mut(usize::from(input))
            && !unit.hidden
        {
            *name = format!("{}.{}", dotted(&unit.path), unit.ports.outputs[usize::from(out)].name);
        }
        if let (Some(to), false) = (self.node[to as usize], shifted.contains(&input)) {
            self.edges.push(Edge { from: source, to, weak: weak.contains(&input), maybe: false });
        }
    }

    /// Per node those that follow, over edges of a choice.
    fn next(&self, which: impl Fn(&Edge) -> bool) -> Vec<Vec<u32>> {
        let mut next = vec![Vec::new(); self.unit.len()];
        for e in self.edges.iter().filter(|e| which(e)) {
            next[e.from as usize].push(e.to);
        }
        next
    }

    /// Reports rings that nothing breaks; without rings all edges but the weak ones lead ahead.
    fn settle(&mut self, tree: &Tree, session: &Session) -> bool {
        let component = components(&self.next(|e| !e.weak));
        let inside = |e: &Edge| component[e.from as usize] == component[e.to as usize];
        self.edges.retain(|e| e.weak || !(e.maybe && inside(e)));
        let with_turns = self.rounds.len() as u32;
        let mut clean = true;
        for (ring, _) in rings(&self.next(|e| !e.weak)) {
            clean = false;
            if ring.iter().all(|n| *n >= with_turns) {
                // The ring is one of units that know how to get along.
                continue;
            }
            let unit = |n: &u32| &tree.units[self.unit[*n as usize] as usize];
            let names: Vec<String> = ring.iter().map(|n| dotted(&unit(n).path)).collect();
            let message = format!(
                "each of these needs what the others send at the same time: {} -> {}",
                names.join(" -> "),
                names[0]
            );
            let help = "mark an input of the ring: shifted = true hears the value of the time before, weak = true repeats steps at one time";
            session.report(Mistake::new("ring", &unit(&ring[0]).span, message).help(help));
        }
        clean
    }

    /// Depth and length of a round, per node.
    fn depths(&self) -> (Vec<u32>, Vec<u32>) {
        let nodes = self.unit.len();
        let component = components(&self.next(|_| true));
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.sort_by_key(|n| std::cmp::Reverse(component[*n as usize]));
        let mut into: Vec<Vec<Edge>> = vec![Vec::new(); nodes];
        for e in &self.edges {
            into[e.to as usize].push(*e);
        }
        let (mut depth, mut ring, mut wait) =
            (vec![0u32; nodes], vec![0u32; nodes], vec![0u32; nodes]);
        let with_turns = self.rounds.len() as u32;
        for members in order.chunk_by(|a, b| component[*a as usize] == component[*b as usize]) {
            let outside = |e: &Edge| component[e.from as usize] != component[e.to as usize];
            // The micro-step in which something comes over an edge.
            let comes = |e: &Edge, depth: &[u32]| {
                let after = u32::from(e.from < with_turns) + u32::from(e.to >= with_turns);
                let late = if outside(e) { wait[e.from as usize] } else { 0 };
                depth[e.from as usize].saturating_add(after).saturating_add(late)
            };
            for _ in 0..=members.len() {
                let mut still = true;
                for &n in members {
                    let ahead = into[n as usize].iter().filter(|e| !e.weak || outside(e));
                    let deepest = ahead.map(|e| comes(e, &depth)).max().unwrap_or(0);
                    still &= deepest == depth[n as usize];
                    depth[n as usize] = deepest;
                }
                if still {
                    break;
                }
            }
            let back = members.iter().flat_map(|n| &into[*n as usize]);
            let back = back.filter(|e| e.weak && !outside(e));
            let length = |e: &Edge| comes(e, &depth).saturating_sub(depth[e.to as usize]).max(1);
            let Some(round) = back.map(length).max() else { continue };
            let rounds = members.iter().filter_map(|n| self.rounds.get(*n as usize)).max();
            for &n in members {
                ring[n as usize] = round;
                wait[n as usize] = round.saturating_mul(*rounds.unwrap_or(&0));
            }
        }
        (depth, ring)
    }
}
