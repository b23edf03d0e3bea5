//! Events of a unit: triggers, resets, priorities, rest, modes.
use super::{
    build::{add, mul, neg, num, read, relation, seconds, sub},
    conditions::{condition, moving, threshold},
    units::{Draft, round, slope},
};
use crate::generate::random::Random;
use superdense_judge::model::{
    Comparison, Condition, Direction, Event, Expr, Instant, Mode, Rest, Trigger, Variable,
};

/// An instant at which something else may be due, too.
pub(super) fn moment(random: &mut Random) -> Instant {
    let (n, d) = random.pick(&[
        (1, 1),
        (1, 1),
        (2, 1),
        (1, 2),
        (1, 3),
        (2, 3),
        (3, 2),
        (3, 1),
        (1, 7),
        (1, 4),
        (4, 1),
    ]);
    seconds(n, d)
}

fn trigger(random: &mut Random, draft: &Draft) -> Trigger {
    let touching = random.chance(7).then(|| random.pick(&[1e-6, 1e-3]));
    match random.weighted(&[62, 12, 14, 12]) {
        0 => Trigger::When { condition: condition(random, draft), touching },
        1 => {
            let direction = random.pick(&[Direction::Rising, Direction::Falling, Direction::Both]);
            let formula = sub(moving(random, draft), num(threshold(random, draft)));
            Trigger::Crossing { formula, direction, touching }
        }
        2 => {
            let mut list: Vec<Instant> = (0..1 + random.below(2)).map(|_| moment(random)).collect();
            list.sort_by(|a, b| (a.numerator * b.denominator).cmp(&(b.numerator * a.denominator)));
            list.dedup();
            Trigger::At(list)
        }
        _ => {
            let every = random.pick(&[(1, 1), (1, 2), (1, 3), (2, 1), (1, 7)]);
            let every = seconds(every.0, every.1);
            // Two fractions are added up and rounded once, which is rarely right by chance.
            let from = match random.below(8) {
                0 => every,
                1 => moment(random),
                _ => seconds(random.within(1, 2), 1),
            };
            Trigger::Every { from, every }
        }
    }
}

/// A new value of a state.
fn of_state(random: &mut Random, draft: &Draft, k: usize) -> Expr {
    let x = draft.x(k);
    match random.below(6) {
        // Onto a threshold.
        0 | 1 => num(threshold(random, draft)),
        2 => neg(x),
        3 => mul(num(random.pick(&[-0.5, 0.5, -0.8, -1.0])), x),
        4 => sub(x, num(slope(random))),
        _ => add(x, num(slope(random))),
    }
}

fn of_discrete(random: &mut Random, draft: &Draft, k: usize) -> Expr {
    let d = draft.d(k);
    match random.below(5) {
        0 => sub(num(1.0), d),
        1 => num(random.pick(&[0.0, 1.0, 2.0])),
        2 => add(d, num(1.0)),
        3 if !draft.unit.states.is_empty() => draft.x(random.below(draft.unit.states.len())),
        _ => draft.d(random.below(draft.unit.discrete.len())),
    }
}

/// An event that counts itself, and may do more.
fn event(random: &mut Random, draft: &mut Draft, number: usize) -> Event {
    let counter = draft.discrete(0.0);
    let trigger = trigger(random, draft);
    let mut reset = vec![(Variable::Discrete(draft.at, counter), add(draft.d(counter), num(1.0)))];
    // What waits for a late start is set by that alone.
    let free = draft.gate.is_none();
    if free && random.chance(30) && !draft.unit.states.is_empty() {
        let k = random.below(draft.unit.states.len());
        reset.push((Variable::State(draft.at, k), of_state(random, draft, k)));
    }
    if free && random.chance(30) {
        let k = random.below(draft.unit.discrete.len());
        if k != counter {
            reset.push((Variable::Discrete(draft.at, k), of_discrete(random, draft, k)));
        }
    }
    let priority = random.pick(&[0, 0, 0, 1, -1, 2]);
    Event { name: format!("e{number}"), trigger, priority, reset, to: None, rest: None }
}

/// The bounce of a ball with a state of rest.
fn bounce(random: &mut Random, draft: &mut Draft, number: usize) -> Option<Event> {
    let v = (0..draft.unit.derivatives.len()).find(|&k| match &draft.unit.derivatives[k] {
        Expr::Number(g) => *g < 0.0 && k > 0,
        _ => false,
    })?;
    let x = v - 1;
    let unit = draft.at;
    let low = |e: Expr| relation(Comparison::AtMost, e, num(0.0));
    let mut list = vec![low(draft.x(x))];
    if random.chance(60) {
        list.push(low(draft.x(v)));
    } else {
        let down = Comparison::Less;
        list.push(relation(down, draft.x(v), num(0.0)));
    }
    let counter = draft.discrete(0.0);
    let back = mul(num(-random.pick(&[0.5, 0.8, 0.25])), draft.x(v));
    let within = seconds(1, random.pick(&[1000, 100, 1_000_000]));
    let mut values = vec![(Variable::State(unit, v), 0.0)];
    if random.chance(80) {
        values.extend(others_rest(draft, &[x, v]));
    }
    Some(Event {
        name: format!("e{number}"),
        trigger: Trigger::When { condition: Condition::And(list), touching: None },
        priority: 0,
        reset: vec![
            (Variable::State(unit, v), back),
            (Variable::Discrete(unit, counter), add(draft.d(counter), num(1.0))),
        ],
        to: None,
        rest: Some(Rest { within, values }),
    })
}

/// States beside these, with their start values as those at rest: one that moves must have a value there.
fn others_rest(draft: &Draft, beside: &[usize]) -> Vec<(Variable, f64)> {
    let states = draft.unit.states.iter().enumerate().filter(|(k, _)| !beside.contains(k));
    states.map(|(k, start)| (Variable::State(draft.at, k), *start)).collect()
}

/// Gives a unit its events.
pub(super) fn events(random: &mut Random, draft: &mut Draft) {
    if random.chance(40) {
        // Flags that nothing sets, or another event.
        let start = random.pick(&[0.0, 0.0, 1.0, -1.0]);
        draft.discrete(start);
        if random.chance(50) {
            draft.discrete(0.0);
        }
    }
    let count = 1 + random.weighted(&[40, 35, 18, 7]);
    for number in 0..count {
        let special = if random.chance(20) { bounce(random, draft, number) } else { None };
        let event = match special {
            Some(event) => event,
            None => {
                let mut event = event(random, draft, number);
                let located =
                    matches!(event.trigger, Trigger::When { .. } | Trigger::Crossing { .. });
                if random.chance(5) && located {
                    let d = draft.unit.discrete.len() - 1;
                    let mut values = vec![(Variable::Discrete(draft.at, d), 10.0)];
                    if random.chance(80) {
                        values.extend(others_rest(draft, &[]));
                    }
                    event.rest = Some(Rest { within: seconds(1, 1000), values });
                }
                event
            }
        };
        draft.unit.events.push(event);
    }
    let moded = draft.gate.is_none() && random.chance(20);
    if moded && !(random.chance(30) && end_stop(random, draft)) {
        modes(random, draft);
    }
}

/// Two modes: a state comes to a limit and stands there until its derivative points back.
fn end_stop(random: &mut Random, draft: &mut Draft) -> bool {
    let driven: Vec<usize> = (0..draft.unit.derivatives.len())
        .filter(|k| !matches!(draft.unit.derivatives[*k], Expr::Number(_)))
        .collect();
    if driven.is_empty() {
        return false;
    }
    let k = random.pick(&driven);
    let drive = draft.unit.derivatives[k].clone();
    let (hit, back) = random.pick(&[
        (Comparison::AtLeast, Comparison::AtMost),
        (Comparison::AtMost, Comparison::AtLeast),
        (Comparison::Greater, Comparison::Less),
    ]);
    let limit = num(threshold(random, draft));
    let conditions = [relation(hit, draft.x(k), limit), relation(back, drive, num(0.0))];
    let first = draft.unit.events.len();
    let mut list = Vec::new();
    for (mode, condition) in conditions.into_iter().enumerate() {
        let counter = draft.discrete(0.0);
        let event = Event {
            name: format!("e{}", first + mode),
            trigger: Trigger::When { condition, touching: None },
            priority: 0,
            reset: vec![(Variable::Discrete(draft.at, counter), add(draft.d(counter), num(1.0)))],
            to: Some(1 - mode),
            rest: None,
        };
        list.push(Mode { derivatives: None, events: vec![event] });
    }
    let held = draft.unit.derivatives.iter().cloned().map(Some);
    let mut held: Vec<Option<Expr>> = held.collect();
    held[k] = None;
    list[1].derivatives = Some(held);
    draft.unit.modes = list;
    true
}

/// Modes, each of which an event leads to.
fn modes(random: &mut Random, draft: &mut Draft) {
    let count = 2 + random.below(2);
    let states = draft.unit.states.len();
    let mut number = draft.unit.events.len();
    let mut list: Vec<Mode> = Vec::new();
    for _ in 0..count {
        let own = (states > 0 && random.chance(65)).then(|| {
            (0..states)
                .map(|_| random.chance(75).then(|| num(round(random))))
                .collect::<Vec<Option<Expr>>>()
        });
        list.push(Mode { derivatives: own, events: Vec::new() });
    }
    // States of the unit, of which a mode without derivatives has all.
    for (k, mode) in list.iter_mut().enumerate() {
        let target = match random.below(5) {
            // A mode to itself, beside the way on.
            0 if k > 0 => k,
            _ => (k + 1) % count,
        };
        let targets = if target == k { vec![k, (k + 1) % count] } else { vec![target] };
        for to in targets {
            let mut event = event(random, draft, number);
            number += 1;
            // Time events stand beside the modes.
            while !matches!(event.trigger, Trigger::When { .. } | Trigger::Crossing { .. }) {
                event.trigger = trigger(random, draft);
            }
            event.to = Some(to);
            mode.events.push(event);
        }
    }
    draft.unit.modes = list;
    if random.chance(30) {
        let at = draft.at;
        let target = draft.discrete(0.0);
        if let Some(event) = draft.unit.events.first_mut() {
            event.reset.push((Variable::Discrete(at, target), read(Variable::Mode(at))));
        }
    }
}
