//! `partition`: which units share a worker, by a strategy or by name.
use super::{
    connect,
    evaluate::Evaluator,
    selector::{self, Piece},
    session::{Session, did_you_mean},
    tree::{Body, End, Tree, join},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use std::collections::BTreeMap;
use superdense_kernel::{Simulation, message::Message, parallel};

/// Names of strategies; the first one is the default.
pub(crate) const PARTITIONS: [&str; 3] = ["blocks", "wiring", "round-robin"];
/// Most parts that can be named: so many workers there may be.
const MAX_PARTS: usize = 256;

/// Which units share a worker of a parallel executor at the start; never changes results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partition {
    /// By a strategy of the kernel.
    By(parallel::Partition),
    /// The part of each unit or group that is named, by its path; all else belongs to the first part.
    Named(BTreeMap<String, u32>),
}

impl Default for Partition {
    fn default() -> Self {
        Self::By(parallel::Partition::default())
    }
}

impl Partition {
    /// The partition of the models of a simulation.
    pub fn of<M: Message>(&self, sim: &Simulation<M>) -> parallel::Partition {
        match self {
            Self::By(strategy) => strategy.clone(),
            Self::Named(parts) => {
                let part = |path: String| {
                    let mut ends = path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
                    ends.push(path.len());
                    let named = ends.iter().rev().find_map(|&end| parts.get(&path[..end]));
                    named.copied().unwrap_or(0)
                };
                parallel::Partition::Given(sim.paths().map(part).collect())
            }
        }
    }
}

/// Reads the key `partition`.
pub(super) fn partition(root: &Table, tree: &Tree, session: &Session) -> Partition {
    let Some(node) = root.get("partition") else { return Partition::default() };
    match &node.item {
        Item::List(parts) => named(node, parts, tree, session),
        _ => strategy(node, session),
    }
}

fn strategy(node: &Node, session: &Session) -> Partition {
    let example = "partition = \"wiring\"";
    let Some(name) = node.text("`partition`", example, &session.sink) else {
        return Partition::default();
    };
    Partition::By(match name.value.as_str() {
        "blocks" => parallel::Partition::Blocks,
        "wiring" => parallel::Partition::Wiring,
        "round-robin" => parallel::Partition::RoundRobin,
        other => {
            let message = format!("there is no partition `{other}`");
            let help = did_you_mean(other, PARTITIONS, "write one of");
            session.report(Mistake::new("bad-partition", &node.span, message).help(help));
            parallel::Partition::default()
        }
    })
}

/// A list of parts, each a list of units and groups.
fn named(node: &Node, parts: &[Node], tree: &Tree, session: &Session) -> Partition {
    let refuse = |span, message: String, help: &str| {
        session.report(Mistake::new("bad-partition", span, message).help(help));
    };
    if parts.is_empty() || parts.len() > MAX_PARTS {
        let message = format!("a partition has 1 to {MAX_PARTS} parts, this one {}", parts.len());
        refuse(&node.span, message, "write partition = [[\"plant[*]\"], [\"controller\"]]");
    }
    let mut places = BTreeMap::new();
    for (number, part) in (0..).zip(parts.iter().take(MAX_PARTS)) {
        let units = match &part.item {
            Item::List(units) => units,
            _ => std::slice::from_ref(part),
        };
        for unit in units {
            let Some(text) = unit.text("a unit", "\"plant[*]\"", &session.sink) else { continue };
            for path in units_of(Piece::new(session, &text), tree, session) {
                if places.insert(path.clone(), number).is_some_and(|before| before != number) {
                    let message = format!("`{}` is in two parts", super::tree::dotted(&path));
                    refuse(&unit.span, message, "name each unit once");
                    break;
                }
            }
        }
    }
    Partition::Named(places)
}

/// Paths of the units and groups that a path names, at any depth; wildcards and ranges give many.
fn units_of(piece: Piece<'_>, tree: &Tree, session: &Session) -> Vec<String> {
    let steps = match selector::steps(piece) {
        Ok(steps) => steps,
        Err(_) => {
            let message = format!("`{}` is not the name of a unit", piece.text());
            let help = "write `unit`, `unit[2]`, `unit[*]` or `group.unit[0..5]`";
            session.report(Mistake::new("bad-partition", &piece.span(), message).help(help));
            return Vec::new();
        }
    };
    let mut groups: Vec<u32> = vec![0];
    let mut paths = Vec::new();
    for (depth, step) in steps.iter().enumerate() {
        let last = depth + 1 == steps.len();
        let mut inner = Vec::new();
        for group in groups {
            let g = &tree.groups[group as usize];
            let eval = Evaluator::new(session, &tree.groups[0].scope, &[]);
            let Some((child, members)) = connect::members(g, step, &eval) else {
                return Vec::new();
            };
            for member in members {
                let end = End { child, member, port: 0 };
                match g.body(end) {
                    _ if last => paths.push(join(&g.path, &g.name_of(end))),
                    Body::Group(group) => inner.push(group),
                    Body::Unit(_) | Body::Part(_) => {
                        let message =
                            format!("`{}` is a unit and has nothing inside", g.name_of(end));
                        let mistake = Mistake::new("unknown-unit", &step.name.span, message);
                        session.report(mistake.help("name the unit alone, without an output"));
                        return Vec::new();
                    }
                }
            }
        }
        groups = inner;
    }
    paths
}
