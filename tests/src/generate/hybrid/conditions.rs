//! Conditions of events: relations that move, relations of discrete variables, and mixes of both.
use super::{
    build::{add, binary, choose, mul, num, pow, read, relation, sub, time, unary},
    units::{Draft, round},
};
use crate::generate::random::Random;
use superdense_judge::model::{Binary, Comparison, Condition, Expr, Unary, Variable};

const ORDERED: [Comparison; 4] =
    [Comparison::Less, Comparison::AtMost, Comparison::Greater, Comparison::AtLeast];

/// A number at which something is likely to be the case.
pub(super) fn threshold(random: &mut Random, draft: &Draft) -> f64 {
    if !draft.landmarks.is_empty() && random.chance(65) {
        return random.pick(&draft.landmarks);
    }
    match random.below(8) {
        0 => 1.0 / 3.0,
        1 => 0.1,
        _ => round(random),
    }
}

/// A value that moves.
pub(super) fn moving(random: &mut Random, draft: &Draft) -> Expr {
    if draft.moving.is_empty() {
        return time();
    }
    let x = random.pick(&draft.moving);
    let y = random.pick(&draft.moving);
    let c = threshold(random, draft);
    match random.weighted(&[60, 6, 4, 4, 3, 5, 4, 4, 3, 3, 3, 6]) {
        0 => x,
        1 => sub(x, y),
        2 => add(x, y),
        3 => pow(sub(x, num(c)), 2),
        4 => mul(x.clone(), x),
        5 => unary(Unary::Abs, sub(x, num(c))),
        6 => binary(random.pick(&[Binary::Min, Binary::Max]), x, num(c)),
        7 => unary(random.pick(&[Unary::Floor, Unary::Ceil]), x),
        8 => binary(Binary::Mod, x, num(random.pick(&[1.0, 0.5, 2.0]))),
        9 => unary(random.pick(&[Unary::Sign, Unary::Step]), sub(x, num(c))),
        10 => choose(relation(random.pick(&ORDERED), y, num(c)), x.clone(), sub(num(0.0), x)),
        _ => time(),
    }
}

/// A relation that moves.
pub(super) fn moving_relation(random: &mut Random, draft: &Draft) -> Condition {
    let a = moving(random, draft);
    let b = match random.below(10) {
        0 if !draft.unit.discrete.is_empty() => draft.d(random.below(draft.unit.discrete.len())),
        1 if draft.moving.len() > 1 => random.pick(&draft.moving),
        _ => num(threshold(random, draft)),
    };
    // A constant on the left now and then.
    if random.chance(10) {
        return relation(random.pick(&ORDERED), b, a);
    }
    relation(random.pick(&ORDERED), a, b)
}

/// A relation that changes by events only.
pub(super) fn discrete_relation(random: &mut Random, draft: &Draft) -> Condition {
    let n = draft.unit.discrete.len();
    if n == 0 {
        return relation(Comparison::Greater, num(0.0), num(1.0));
    }
    let how = random.pick(&[
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::Greater,
        Comparison::AtLeast,
        Comparison::Equal,
        Comparison::NotEqual,
    ]);
    let a = draft.d(random.below(n));
    let b = if random.chance(12) {
        draft.d(random.below(n))
    } else {
        num(random.pick(&[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, -1.0, 5.0]))
    };
    relation(how, a, b)
}

fn joined(random: &mut Random, list: Vec<Condition>) -> Condition {
    if random.chance(50) { Condition::And(list) } else { Condition::Or(list) }
}

fn tree(random: &mut Random, draft: &Draft, depth: usize) -> Condition {
    let leaf = depth == 0 || random.chance(25);
    let c = if leaf {
        if random.chance(55) {
            moving_relation(random, draft)
        } else {
            discrete_relation(random, draft)
        }
    } else {
        let n = if random.chance(20) { 3 } else { 2 };
        let list = (0..n).map(|_| tree(random, draft, depth - 1)).collect();
        joined(random, list)
    };
    if random.chance(15) { Condition::Not(Box::new(c)) } else { c }
}

/// A condition of an event.
pub(super) fn condition(random: &mut Random, draft: &Draft) -> Condition {
    match random.weighted(&[38, 8, 16, 8, 18, 6, 4, 2]) {
        0 => moving_relation(random, draft),
        1 => Condition::Not(Box::new(moving_relation(random, draft))),
        2 => {
            let mut list = vec![moving_relation(random, draft), discrete_relation(random, draft)];
            if random.chance(30) {
                list.push(discrete_relation(random, draft));
            }
            Condition::And(list)
        }
        3 => Condition::Or(vec![moving_relation(random, draft), discrete_relation(random, draft)]),
        4 => {
            let either = vec![discrete_relation(random, draft), discrete_relation(random, draft)];
            let either = Condition::Or(either);
            Condition::And(vec![moving_relation(random, draft), either])
        }
        5 => tree(random, draft, 2),
        6 => Condition::And(vec![moving_relation(random, draft), moving_relation(random, draft)]),
        _ => {
            // Equality of values that move stands as a conjunct of an event only.
            let equal =
                relation(Comparison::Equal, moving(random, draft), num(threshold(random, draft)));
            Condition::And(vec![equal, discrete_relation(random, draft)])
        }
    }
}

/// A condition of two units, for a link: it reads no time.
pub(super) fn shared(random: &mut Random, members: &[&Draft]) -> Condition {
    let state = |random: &mut Random, draft: &Draft| match draft.unit.states.len() {
        // Each member counts the link's events.
        0 => draft.d(random.below(draft.unit.discrete.len())),
        n => read(Variable::State(draft.at, random.below(n))),
    };
    let first = random.below(members.len());
    let second = (first + 1) % members.len();
    let (a, b) = (state(random, members[first]), state(random, members[second]));
    let pair = relation(random.pick(&ORDERED), a.clone(), b.clone());
    match random.below(4) {
        0 => pair,
        1 => {
            let sum = add(a, b);
            relation(random.pick(&ORDERED), sum, num(threshold(random, members[first])))
        }
        2 => Condition::And(vec![pair, discrete_relation(random, members[second])]),
        _ => {
            let own = relation(random.pick(&ORDERED), a, num(threshold(random, members[first])));
            Condition::And(vec![pair, own])
        }
    }
}
