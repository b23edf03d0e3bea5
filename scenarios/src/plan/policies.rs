//! Which policies of couplings the units of each group allow, and what stands in for what they
//! lack.
use super::{
    coupling,
    session::Session,
    tree::{Body, Tree, dotted},
};
use superdense_models::{
    couplings::{SCHEMES, Scheme, Whom, Without},
    signal::capabilities::{Capabilities, Capability},
};

/// A group whose signals pass through a master, or the scenario itself where they could.
#[derive(Debug, Clone, PartialEq)]
pub struct Master {
    /// Path of the group; empty for the scenario.
    pub group: String,
    /// There is a `[coupling]`.
    pub declared: bool,
    /// Its macro step in ticks; zero without a coupling.
    pub step: i64,
    /// The units that lack something, with what and why.
    pub lacking: Vec<(String, Vec<(Capability, String)>)>,
    /// All policies.
    pub policies: Vec<Policy>,
}

/// A policy and what comes of it in this group.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// As a line of a scenario.
    pub line: String,
    /// The effect of the policy.
    pub what: &'static str,
    /// The group's `[coupling]` has it.
    pub used: bool,
    /// The units allow it.
    pub possible: bool,
    /// The missing capabilities: which units lack which one.
    pub missing: Vec<String>,
    /// A policy that can be taken in its place, or the fallback for a missing capability.
    pub instead: Option<&'static str>,
}

/// A unit with what it can.
struct Able {
    unit: u32,
    path: String,
    can: Capabilities,
}

/// The units that pass something through a master, hear something from it, and all around it.
#[derive(Default)]
struct Members {
    sources: Vec<u32>,
    receivers: Vec<u32>,
    all: Vec<u32>,
}

/// The coupled groups of a scenario. Without any coupling, the scenario counts if it has continuous
/// units that could have one.
pub(super) fn masters(tree: &Tree, session: &Session) -> Vec<Master> {
    let coupled = |at: &u32| coupling::master(&tree.groups[*at as usize]).is_some();
    let groups = 0..tree.groups.len() as u32;
    let mut found: Vec<u32> = groups.filter(coupled).collect();
    if found.is_empty() {
        found.push(0);
    }
    let masters = found.into_iter().filter_map(|at| master(tree, at, session));
    masters.collect()
}

/// The units that are known at communication points only.
pub(super) fn sampled(tree: &Tree) -> Vec<String> {
    let units = tree.units.iter().filter(|u| u.ports.outputs.iter().any(|p| p.sampled));
    units.map(|u| dotted(&u.path)).collect()
}

fn master(tree: &Tree, at: u32, session: &Session) -> Option<Master> {
    let g = &tree.groups[at as usize];
    let members = members(tree, at)?;
    let able = |&unit: &u32| {
        let u = &tree.units[unit as usize];
        let can = u.kind.capabilities(&u.params, &session.folder);
        Able { unit, path: dotted(&u.path), can }
    };
    let mut units: Vec<Able> = members.all.iter().map(able).collect();
    units.sort_by(|a, b| a.path.cmp(&b.path));
    let hidden = coupling::master(g).map(|child| g.children[child as usize].members[0]);
    let params = match hidden {
        Some(Body::Unit(u)) => Some(&tree.units[u as usize].params),
        _ => None,
    };
    let policy = |s: &Scheme| {
        let used = params.is_some_and(|p| s.used(p));
        let links = members.all.iter().any(|u| !tree.units[*u as usize].links.is_empty());
        let by_links = links.then(|| s.refused_by_links(params.map(|p| &**p))).flatten();
        policy(s, used, &units, (&members, !g.inputs.is_empty(), by_links))
    };
    let lacks = |u: &Able| {
        let each = Capability::ALL.iter().filter(|c| **c != Capability::Equations);
        let lacks: Vec<_> = each.filter_map(|c| Some((*c, u.can.lacks(*c)?.to_owned()))).collect();
        (!lacks.is_empty()).then(|| (u.path.clone(), lacks))
    };
    Some(Master {
        group: dotted(&g.path),
        declared: params.is_some(),
        step: params.map_or(0, |p| p.duration("step").ticks()),
        lacking: units.iter().filter_map(lacks).collect(),
        policies: SCHEMES.iter().map(policy).collect(),
    })
}

/// The verdict on a policy: the first need that is not met, and who does not meet it.
fn policy(
    s: &Scheme,
    used: bool,
    units: &[Able],
    (members, inputs, by_links): (&Members, bool, Option<(&'static str, &'static str)>),
) -> Policy {
    let mut told = Policy {
        line: s.line(),
        what: s.what,
        used,
        possible: true,
        missing: Vec::new(),
        instead: None,
    };
    if let Some((why, instead)) = by_links {
        (told.possible, told.instead) = (false, Some(instead));
        told.missing = vec![why.into()];
        return told;
    }
    for &(need, whom, without) in s.needs {
        let concerned = match whom {
            Whom::Sources => &members.sources,
            Whom::Receivers => &members.receivers,
            Whom::Group => &members.all,
        };
        // Where something from outside may end a step, its start is kept as bytes.
        let also = (inputs && need == Capability::Restore).then_some(Capability::Serialise);
        let missing = |u: &Able| {
            let lacks = |need: Capability| Some((need.name(), u.can.lacks(need)?));
            let (name, why) = lacks(need).or_else(|| lacks(also?))?;
            Some(format!("{}: no {name} ({why})", u.path))
        };
        let concerned = units.iter().filter(|u| concerned.contains(&u.unit));
        let missing: Vec<String> = concerned.filter_map(missing).collect();
        if !missing.is_empty() {
            told.missing = missing;
            (told.possible, told.instead) = match without {
                Without::Refused(instead) => (false, Some(instead)),
                Without::StandsIn(how) => (true, Some(how)),
            };
            return told;
        }
    }
    if inputs && s.line().starts_with("pre_step") {
        told.possible = false;
        told.missing = vec!["the group has inputs, which would end whole steps".into()];
        told.instead = Some("the coupling in the group around");
    }
    told
}

/// The members of a coupling; without one, all continuous units of the group if there are two.
fn members(tree: &Tree, at: u32) -> Option<Members> {
    let g = &tree.groups[at as usize];
    let mut m = Members::default();
    below(tree, at, &mut m.all);
    let Some(master) = coupling::master(g) else {
        let continuous = |u: &&u32| tree.units[**u as usize].kind.is_continuous();
        m.sources = m.all.iter().filter(continuous).copied().collect();
        m.receivers.clone_from(&m.sources);
        return (m.sources.len() > 1).then_some(m);
    };
    for w in &g.wires {
        if w.to.child == master {
            m.sources.extend(tree.origin(at, w.from).map(|(unit, _)| unit));
        } else if w.from.child == master {
            m.receivers.extend(tree.targets(at, w.to).iter().map(|(unit, _)| *unit));
        }
    }
    Some(m)
}

/// The units of a group and of the groups in it.
fn below(tree: &Tree, at: u32, all: &mut Vec<u32>) {
    for child in &tree.groups[at as usize].children {
        for body in &child.members {
            match *body {
                Body::Group(inner) => below(tree, inner, all),
                Body::Unit(u) if !tree.units[u as usize].hidden => all.push(u),
                Body::Unit(_) | Body::Part(_) => {}
            }
        }
    }
}
