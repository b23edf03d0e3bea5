//! Who reads what: relations, events and variables of a unit, fixed for its life.
use crate::{
    maths::expr::{Program, VarId},
    solve::equations::{Dims, Equations, Programs, Relation, Role, Trigger},
};
use serde::{Deserialize, Serialize};

/// A flip or a touch at a tick, counted from the unit's last transition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub tick: i64,
    /// Where it was found, in seconds.
    pub t: f64,
    pub relation: u16,
    pub side: f64,
    pub touch: Option<f64>,
}

/// A relation whose flip ended its mode.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Left {
    pub relation: u16,
    /// Its indicator there.
    pub z: f64,
    /// The side to which it goes back, in the cycle in which the mode is entered again; else zero.
    pub back: f64,
}

/// Readers of relations and variables.
#[derive(Debug, Default)]
pub(super) struct Readers {
    pub relations: Vec<Relation>,
    /// Per relation: the variables that its indicator reads, in place of algebraic ones those that the
    /// residuals read which give them their values; none if that is not known.
    pub reads: Vec<Option<Vec<VarId>>>,
    /// Per relation: the events, then links, whose conditions read its side.
    pub events: Vec<Vec<u16>>,
    /// Per event, then link: the relations whose sides its condition reads.
    pub of: Vec<Vec<usize>>,
    pub timed: Vec<usize>,
    /// The variables that conditions of events read which bring the unit to rest.
    pub rests_on: Vec<usize>,
    /// Relations of role [`Role::Passes`], and of what.
    pub passing: Vec<(usize, usize)>,
    /// Per relation: whether other indicators read its side, or it begins or ends sliding. Sides are
    /// decided first where it flips.
    pub inner: Vec<bool>,
    /// Per relation: whether its indicator reads sides of others, or what algebraic equations with
    /// sides give, or whether the solution may slide along it.
    pub nested: Vec<bool>,
    /// Per relation: whether its indicator follows from algebraic variables, also by sides of others.
    pub solved: Vec<bool>,
}

impl Readers {
    /// For equations with these programs, where they have some.
    pub(super) fn new<E: Equations>(equations: &E, programs: Option<&Programs>) -> Self {
        let (dims, relations) = (equations.dims(), equations.relations());
        let parts = programs.map(|programs| programs.indicators.parts());
        let systems = programs.map(|programs| systems(&dims, &programs.derivatives));
        let reads = |k: usize| {
            let (part, systems) = (&parts.as_ref()?[k], systems.as_ref()?);
            let (solved, own) = apart(&dims, part);
            let behind = systems.iter().filter(|(by, _)| by.iter().any(|id| solved.contains(id)));
            Some(own.into_iter().chain(behind.flat_map(|(_, read)| read).copied()).collect())
        };
        let mut events = vec![Vec::new(); relations.len()];
        let own = equations.events().iter().map(|e| match &e.trigger {
            Trigger::State { truth, .. } => truth.relations(&dims),
            _ => Vec::new(),
        });
        let links = equations.links().iter().map(|l| l.truth.relations(&dims));
        let of: Vec<Vec<usize>> = own.chain(links).collect();
        for (event, read) in of.iter().enumerate() {
            read.iter().for_each(|&k| events[k].push(event as u16));
        }
        let sides = dims.first_side()..dims.variables();
        let mut inner = vec![parts.is_none(); relations.len()];
        let read = parts.iter().flatten().flat_map(|part| part.inputs());
        for side in read.filter_map(|id| (id.0 as usize).checked_sub(sides.start)) {
            inner[side] = true;
        }
        for (k, relation) in relations.iter().enumerate() {
            if let Some(s) = &relation.sliding {
                [k, s.above, s.below].into_iter().for_each(|k| inner[k] = true);
            }
        }
        let sided = |id: &VarId| {
            let place = id.0 as usize;
            sides.contains(&place) || dims.algebraic_places().contains(&place)
        };
        let nested = |k: usize| {
            let reads = parts.as_ref().is_none_or(|parts| parts[k].inputs().iter().any(sided));
            reads || relations[k].sliding.is_some()
        };
        let nested: Vec<bool> = (0..relations.len()).map(nested).collect();
        let solves = dims.algebraic > 0;
        inner.iter_mut().zip(&relations).for_each(|(inner, r)| *inner |= solves && r.stops);
        let solved = solved(&dims, parts.as_deref(), relations.len());
        let passes = |(k, r): (usize, &Relation)| match r.role {
            Role::Passes(base) => Some((k, base)),
            _ => None,
        };
        let reads: Vec<Option<Vec<VarId>>> = (0..relations.len()).map(reads).collect();
        let resting = equations.events().iter().zip(&of).filter(|(e, _)| e.rest.is_some());
        let rests_on = resting.flat_map(|(_, of)| of).flat_map(|&k| reads[k].iter().flatten());
        Self {
            rests_on: rests_on.map(|id| id.0 as usize).collect(),
            reads,
            events,
            of,
            timed: (0..relations.len()).filter(|&k| relations[k].role == Role::Timed).collect(),
            passing: relations.iter().enumerate().filter_map(passes).collect(),
            relations,
            inner,
            nested,
            solved,
        }
    }

    /// Whether the indicator of relation `k` is known to read such a variable.
    pub(super) fn read(&self, k: usize, like: impl Fn(usize) -> bool) -> bool {
        self.reads[k].iter().flatten().any(|id| like(id.0 as usize))
    }

    /// Whether a unit at rest wakes where this variable is set: a state, or what the event reads that brought it to rest.
    pub(super) fn wakes(&self, dims: &Dims, place: usize) -> bool {
        (Dims::STATES..dims.first_input()).contains(&place) || self.rests_on.contains(&place)
    }

    /// Whether flips of one tick decide other sides: indicators read theirs, or one of several stops what comes to its
    /// threshold at that tick.
    pub(super) fn carry(&self, group: &[Pending]) -> bool {
        let is_inner = |p: &Pending| self.inner[usize::from(p.relation)];
        let mut flips = group.iter().filter(|p| p.touch.is_none());
        let stops = |p: &Pending| self.relations[usize::from(p.relation)].stops;
        group.iter().any(is_inner) || flips.clone().nth(1).is_some() && flips.any(stops)
    }
}

/// Per relation: whether its indicator reads algebraic variables, or the side of one that does.
fn solved(dims: &Dims, parts: Option<&[Program]>, count: usize) -> Vec<bool> {
    let mut solved = vec![parts.is_none() && dims.algebraic > 0; count];
    let parts = parts.filter(|_| dims.algebraic > 0).unwrap_or_default();
    let reads = |id: &VarId, solved: &[bool]| {
        let place = id.0 as usize;
        let side = place.checked_sub(dims.first_side()).and_then(|k| solved.get(k));
        dims.algebraic_places().contains(&place) || side.is_some_and(|solved| *solved)
    };
    for _ in 0..parts.len() {
        let before = solved.clone();
        for (solved, part) in solved.iter_mut().zip(parts) {
            *solved |= part.inputs().iter().any(|id| reads(id, &before));
        }
        if solved == before {
            break;
        }
    }
    solved
}

/// The algebraic variables that a program reads, and the others.
fn apart(dims: &Dims, program: &Program) -> (Vec<VarId>, Vec<VarId>) {
    let algebraic = |id: &VarId| dims.algebraic_places().contains(&(id.0 as usize));
    program.inputs().iter().copied().partition(algebraic)
}

/// Algebraic variables that residuals connect, and what these residuals read beside them: one system of equations each.
fn systems(dims: &Dims, derivatives: &Program) -> Vec<(Vec<VarId>, Vec<VarId>)> {
    let mut systems: Vec<(Vec<VarId>, Vec<VarId>)> = Vec::new();
    for residual in &derivatives.parts()[dims.differential()..] {
        let (mut solved, mut read) = apart(dims, residual);
        let own = solved.clone();
        for (of, by) in systems.extract_if(.., |(of, _)| own.iter().any(|id| of.contains(id))) {
            solved.extend(of);
            read.extend(by);
        }
        systems.push((solved, read));
    }
    systems
}
