//! Random hybrid models: units with events, wires and links between them.
//!
//! The numbers are round and few, so that what coincides in a model coincides exactly: thresholds
//! stand at start values, rest points and turning points, instants of several events are equal,
//! and resets lead onto surfaces.
pub mod build;
mod conditions;
mod events;
mod extras;
mod stateless;
mod units;

use super::random::Random;
use build::{add, mul, neg, num, read, seconds, sub};
use superdense_judge::model::{Event, Link, Model, Switching, Trigger, Variable, Wire};
use units::Draft;

/// Adds `pre` and `let` to some models, by choices of a stream of their own.
pub fn extend(random: &mut Random, model: &mut Model) {
    extras::extras(random, model);
}

/// The random model of a stream.
pub fn model(random: &mut Random) -> Model {
    let count = 1 + random.weighted(&[66, 27, 7]);
    let late = count == 1 && random.chance(4);
    let mut drafts: Vec<Draft> = (0..count).map(Draft::new).collect();
    for draft in &mut drafts {
        if late {
            // Nothing moves until long after the start.
            draft.gate = Some(draft.discrete(0.0));
        }
        let families = if count == 1 { 1 + random.weighted(&[65, 35]) } else { 1 };
        (0..families).for_each(|_| units::dynamics(random, draft));
    }
    whole(random, drafts, late, 60)
}

/// The random model of a stream in which one unit at least has no differential states.
pub fn without_states(random: &mut Random) -> Model {
    let count = 1 + random.weighted(&[30, 55, 15]);
    let mut drafts: Vec<Draft> = (0..count).map(Draft::new).collect();
    let still = random.below(count);
    for (at, draft) in drafts.iter_mut().enumerate() {
        if at == still || random.chance(25) {
            stateless::dynamics(random, draft);
        } else {
            units::dynamics(random, draft);
        }
    }
    whole(random, drafts, false, 85)
}

/// Adds wires to so many of 100 models, events and links.
fn whole(random: &mut Random, mut drafts: Vec<Draft>, late: bool, wired: usize) -> Model {
    let count = drafts.len();
    let wires =
        if count > 1 && random.chance(wired) { wire(random, &mut drafts) } else { Vec::new() };
    drafts.iter_mut().for_each(|d| events::events(random, d));
    let links =
        if count > 1 && random.chance(45) { links(random, &mut drafts) } else { Vec::new() };
    let stop = random.pick(&[(3, 1), (5, 1), (2, 1), (10, 3), (7, 2), (8, 1)]);
    let mut stop = seconds(stop.0, stop.1);
    let mut resolution = random.pick(&[9, 9, 9, 9, 6, 6, 3, 12, 12, 15]);
    if late {
        let start = 1_000_000_000;
        let gate = drafts[0].gate.map(|d| (Variable::Discrete(0, d), num(1.0)));
        drafts[0].unit.events.push(Event {
            name: "late".into(),
            trigger: Trigger::At(vec![seconds(start, 1)]),
            priority: 0,
            reset: gate.into_iter().collect(),
            to: None,
            rest: None,
        });
        // Other events of this unit wait, too.
        drafts[0].unit.events.retain(|e| !matches!(e.trigger, Trigger::Every { .. }));
        stop = seconds(start + stop.numerator / stop.denominator, 1);
        resolution = random.pick(&[3, 6, 9]);
    }
    let mut units: Vec<_> = drafts.into_iter().map(|d| d.unit).collect();
    for (at, unit) in units.iter_mut().enumerate() {
        // Sources of wires are outputs already.
        let states = (0..unit.states.len()).map(|k| read(Variable::State(at, k)));
        let discrete = (0..unit.discrete.len()).map(|k| read(Variable::Discrete(at, k)));
        unit.outputs.extend(states.chain(discrete));
        // Surfaces that depend on inputs are refused.
        if unit.switching == Switching::Sliding && !unit.inputs.is_empty() {
            unit.switching = Switching::Located;
        }
    }
    Model { resolution, stop, units, wires, links }
}

/// Signals from the first unit to the others: values that jump, and values that move.
fn wire(random: &mut Random, drafts: &mut [Draft]) -> Vec<Wire> {
    let mut wires = Vec::new();
    for to in 1..drafts.len() {
        let from = random.below(to);
        let source = &mut drafts[from];
        let signal = source.signal(random);
        let output = match random.below(4) {
            0 => signal,
            1 => {
                let d = source.discrete(random.pick(&[0.0, 1.0]));
                source.d(d)
            }
            2 => {
                let d = source.discrete(0.0);
                add(signal, source.d(d))
            }
            _ => neg(signal),
        };
        source.unit.outputs.push(output);
        let port = source.unit.outputs.len() - 1;
        let draft = &mut drafts[to];
        let input = draft.unit.inputs.len();
        draft.unit.inputs.push(random.pick(&[0.0, 0.0, 1.0]));
        let value = read(Variable::Input(to, input));
        match (random.below(3), draft.unit.derivatives.first_mut()) {
            (0, Some(d)) => *d = add(d.clone(), value.clone()),
            (1, Some(d)) => *d = mul(value.clone(), d.clone()),
            (how @ (0 | 1), None) => stateless::hear(random, draft, &value, how),
            _ => {}
        }
        draft.moving.push(value);
        wires.push(Wire { from: (from, port), to: (to, input) });
    }
    wires
}

/// Events of several units at once.
fn links(random: &mut Random, drafts: &mut [Draft]) -> Vec<Link> {
    let mut links = Vec::new();
    for number in 0..1 + random.below(2) {
        let mut members: Vec<usize> = (0..drafts.len()).collect();
        if members.len() > 2 && random.chance(50) {
            members.remove(random.below(3));
        }
        let mut reset = Vec::new();
        for &m in &members {
            let draft = &mut drafts[m];
            let counter = draft.discrete(0.0);
            let counted = add(draft.d(counter), num(1.0));
            reset.push((Variable::Discrete(m, counter), counted));
        }
        let (a, b) = (members[0], members[1]);
        let last = |m: usize| drafts[m].unit.states.len().checked_sub(1);
        match (random.below(4), last(a), last(b)) {
            // Both take the other's last value.
            (0, Some(x), Some(y)) => {
                reset.push((Variable::State(a, x), drafts[b].x(y)));
                reset.push((Variable::State(b, y), drafts[a].x(x)));
            }
            (1, Some(_), _) => reset.push((Variable::State(a, 0), sub(drafts[a].x(0), num(1.0)))),
            (2, _, Some(_)) => reset.push((Variable::State(b, 0), num(units::round(random)))),
            _ => {}
        }
        let list: Vec<&Draft> = members.iter().map(|&m| &drafts[m]).collect();
        let when = conditions::shared(random, &list);
        let priority = random.pick(&[0, 0, 1, number as i64]);
        links.push(Link { units: members, when, reset, priority });
    }
    links
}
