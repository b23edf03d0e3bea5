//! The continuous part of a unit: small families of equations, whose numbers are round so that
//! thresholds, start values and rest points coincide.
use super::build::{add, binary, choose, mul, neg, num, pow, read, relation, sub, time, unary};
use crate::generate::random::Random;
use superdense_judge::model::{Binary, Comparison, Expr, Switching, Unary, Unit, Variable};

/// A unit that is being made, and what formulas of it can be made from.
pub(super) struct Draft {
    /// Its index.
    pub(super) at: usize,
    /// The unit so far.
    pub(super) unit: Unit,
    /// Values that move.
    pub(super) moving: Vec<Expr>,
    /// Values at which something is the case: start values, rest points, sides.
    pub(super) landmarks: Vec<f64>,
    /// It starts long after the beginning, when this discrete variable becomes 1.
    pub(super) gate: Option<usize>,
}

impl Draft {
    pub(super) fn new(at: usize) -> Self {
        Self { at, unit: Unit::default(), moving: Vec::new(), landmarks: Vec::new(), gate: None }
    }

    pub(super) fn x(&self, k: usize) -> Expr {
        read(Variable::State(self.at, k))
    }

    pub(super) fn d(&self, k: usize) -> Expr {
        read(Variable::Discrete(self.at, k))
    }

    /// A new discrete variable.
    pub(super) fn discrete(&mut self, start: f64) -> usize {
        self.unit.discrete.push(start);
        self.unit.discrete.len() - 1
    }

    fn state(&mut self, start: f64, derivative: Expr) -> usize {
        let k = self.unit.states.len();
        let derivative = match self.gate {
            Some(d) => mul(self.d(d), derivative),
            None => derivative,
        };
        self.unit.states.push(start);
        self.unit.derivatives.push(derivative);
        self.moving.push(self.x(k));
        self.landmarks.push(start);
        k
    }

    /// A value for others to hear: a state, or without states whatever moves.
    pub(super) fn signal(&self, random: &mut Random) -> Expr {
        match self.unit.states.len() {
            0 => random.pick(&self.moving),
            n => self.x(random.below(n)),
        }
    }

    /// The number that the next state will have.
    fn next(&self) -> usize {
        self.unit.states.len()
    }
}

/// A small round number.
pub(super) fn round(random: &mut Random) -> f64 {
    random.pick(&[0.0, 1.0, 1.0, 2.0, -1.0, 0.5, -0.5, 0.25, 3.0, 4.0, -2.0, 1.5])
}

/// A round number that is not 0.
pub(super) fn slope(random: &mut Random) -> f64 {
    random.pick(&[1.0, 1.0, -1.0, 0.5, -0.5, 2.0, 0.25, -0.25, 3.0])
}

/// Adds one family of equations.
pub(super) fn dynamics(random: &mut Random, draft: &mut Draft) {
    let family = random.weighted(&[18, 12, 10, 14, 9, 10, 4, 6, 8, 3, 3, 4, 4]);
    match family {
        0 => ramp(random, draft),
        1 => ball(random, draft),
        2 => oscillator(random, draft),
        3 => decay(random, draft),
        4 => polynomial(random, draft),
        5 => smooth(random, draft),
        6 => stiff(random, draft),
        7 => algebraic(random, draft),
        8 => switched(random, draft),
        9 => drop(draft.state(round(random), num(0.0))),
        10 => partial(random, draft),
        11 => sliding(random, draft),
        _ => pulse(random, draft),
    }
}

fn ramp(random: &mut Random, draft: &mut Draft) {
    let s = slope(random);
    let derivative = match random.below(4) {
        0 => {
            let d = draft.discrete(random.pick(&[0.0, 1.0]));
            sub(num(s), draft.d(d))
        }
        1 => {
            let d = draft.discrete(random.pick(&[0.0, 1.0, -1.0]));
            mul(num(s), draft.d(d))
        }
        _ => num(s),
    };
    draft.state(random.pick(&[0.0, 0.0, 1.0, -1.0, 0.5]), derivative);
}

fn ball(random: &mut Random, draft: &mut Draft) {
    let (x, v) = (draft.next(), draft.next() + 1);
    let g = random.pick(&[-1.0, -2.0, -10.0, -0.5, 1.0, -9.81]);
    draft.state(random.pick(&[0.0, 1.0, 0.5, 2.0]), draft.x(v));
    draft.state(random.pick(&[0.0, 0.0, 1.0, -1.0, 2.0]), num(g));
    draft.landmarks.push(0.0);
    let (height, speed) = (draft.unit.states[x], draft.unit.states[v]);
    // The height at the turning point.
    draft.landmarks.push(height - speed * speed / (2.0 * g));
}

fn oscillator(random: &mut Random, draft: &mut Draft) {
    let (x, v) = (draft.next(), draft.next() + 1);
    let (a, b) = random.pick(&[(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (-1.0, 0.0), (2.0, 0.0)]);
    let w = random.pick(&[1.0, 1.0, 4.0, 0.25]);
    draft.state(a, draft.x(v));
    let back = if w == 1.0 { neg(draft.x(x)) } else { neg(mul(num(w), draft.x(x))) };
    draft.state(b, back);
    draft.landmarks.extend([-a, 0.0, b, -b]);
}

fn decay(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let a = random.pick(&[1.0, 1.0, 0.0, 0.5, 2.0, -1.0]);
    let start = random.pick(&[0.0, a, 2.0 * a, 1.0, -1.0]);
    let towards = if a == 0.0 { neg(draft.x(k)) } else { sub(num(a), draft.x(k)) };
    let rate = random.pick(&[1.0, 1.0, 2.0, 0.5]);
    draft.state(start, if rate == 1.0 { towards } else { mul(num(rate), towards) });
    draft.landmarks.extend([a, a, a]);
}

fn polynomial(random: &mut Random, draft: &mut Draft) {
    let c = random.pick(&[1.0, 0.5, 2.0, 1.0]);
    let shifted = || sub(time(), num(c));
    let (start, derivative) = match random.below(5) {
        0 => (0.0, time()),
        1 => (c * c, mul(num(2.0), shifted())),
        2 => (-c * c, mul(num(-2.0), shifted())),
        3 => (-c * c * c, mul(num(3.0), pow(shifted(), 2))),
        _ => (0.0, sub(mul(num(3.0), pow(time(), 2)), num(3.0))),
    };
    draft.state(start, derivative);
    draft.landmarks.extend([0.0, 0.0, c]);
}

fn smooth(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let x = draft.x(k);
    let (start, derivative, rest) = match random.below(8) {
        0 => (0.5, mul(x.clone(), sub(num(1.0), x)), 1.0),
        1 => (1.0, neg(unary(Unary::Sin, x)), 0.0),
        2 => (1.0, neg(pow(x, 3)), 0.0),
        3 => (0.0, sub(num(1.0), unary(Unary::Tanh, x)), 1.0),
        4 => (0.0, unary(Unary::Exp, neg(time())), 1.0),
        5 => (0.0, unary(Unary::Cos, time()), 1.0),
        6 => (0.0, sub(num(1.0), pow(x, 2)), 1.0),
        _ => (1.0, neg(unary(Unary::Sin, time())), -1.0),
    };
    draft.state(if random.chance(30) { rest } else { start }, derivative);
    draft.landmarks.extend([rest, rest, -rest]);
}

/// Derivatives that differ from nothing, or from a constant, for a part of the run.
fn pulse(random: &mut Random, draft: &mut Draft) {
    let late = sub(time(), num(random.pick(&[1.0, 2.0, 1.5, 4.0])));
    let sharp = random.pick(&[4.0, 1.0, 16.0]);
    let (derivative, reached) = match random.below(4) {
        0 | 1 => (unary(Unary::Exp, neg(mul(num(sharp), pow(late, 2)))), 1.0),
        2 => (pow(unary(Unary::Sin, time()), 20), 0.25),
        _ => (add(num(1.0), unary(Unary::Tanh, mul(num(sharp), late))), 2.0),
    };
    draft.state(random.pick(&[0.0, 0.0, -1.0, 1.0]), derivative);
    draft.landmarks.extend([0.0, reached, 0.5]);
}

fn stiff(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let rate = random.pick(&[100.0, 1000.0, 64.0]);
    let aim = random.pick(&[unary(Unary::Cos, time()), num(1.0), time()]);
    let start = random.pick(&[1.0, 0.0]);
    draft.state(start, mul(num(-rate), sub(draft.x(k), aim)));
    draft.landmarks.push(1.0);
}

fn algebraic(random: &mut Random, draft: &mut Draft) {
    let z = draft.unit.algebraic.len();
    let var = read(Variable::Algebraic(draft.at, z));
    let k = draft.next();
    let a = round(random);
    let (residual, derivative, start) = match random.below(4) {
        0 => (sub(add(var.clone(), draft.x(k)), num(1.0)), var.clone(), 0.0),
        1 => (sub(add(pow(var.clone(), 3), var.clone()), draft.x(k)), neg(var.clone()), 2.0),
        2 => (sub(mul(num(2.0), var.clone()), draft.x(k)), num(1.0), 0.0),
        _ => (sub(var.clone(), unary(Unary::Abs, draft.x(k))), sub(num(a), var.clone()), -1.0),
    };
    draft.state(start, derivative);
    draft.unit.algebraic.push(random.pick(&[0.0, 0.0, 1.0]));
    draft.unit.residuals.push(residual);
    draft.moving.push(var);
    draft.landmarks.extend([1.0, 0.0, a]);
}

fn switched(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let x = draft.x(k);
    let c = random.pick(&[0.0, 1.0, 0.5]);
    let side =
        |how, up: f64, down: f64| choose(relation(how, x.clone(), num(c)), num(up), num(down));
    let derivative = match random.below(8) {
        0 => side(random.pick(&[Comparison::Less, Comparison::AtMost]), 1.0, 2.0),
        1 => sub(num(1.0), mul(num(0.5), unary(Unary::Abs, x))),
        2 => binary(Binary::Min, num(1.0), sub(num(2.0), x)),
        3 => binary(Binary::Max, num(-1.0), neg(x)),
        4 => sub(num(1.0), unary(Unary::Floor, time())),
        5 => sub(binary(Binary::Mod, time(), num(1.0)), num(0.5)),
        6 => add(num(1.0), unary(Unary::Sign, sub(x, num(c)))),
        _ => {
            let inner = side(Comparison::AtLeast, 0.5, 1.0);
            choose(relation(Comparison::Greater, time(), num(1.0)), inner, num(1.0))
        }
    };
    draft.state(random.pick(&[0.0, c, -1.0, 1.0]), derivative);
    draft.landmarks.extend([c, c, 1.0, 2.0]);
}

/// Derivatives that are not numbers beyond a border.
fn partial(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let x = draft.x(k);
    let zero = || binary(Binary::Max, draft.x(k), num(0.0));
    let (start, derivative) = match random.below(4) {
        0 => (1.0, neg(unary(Unary::Sqrt, x))),
        1 => (1.0, neg(unary(Unary::Sqrt, zero()))),
        2 => (1.0, unary(Unary::Log, x)),
        _ => (0.0, unary(Unary::Sqrt, sub(num(1.0), x))),
    };
    draft.state(start, derivative);
    draft.landmarks.extend([0.0, 1.0]);
}

fn sliding(random: &mut Random, draft: &mut Draft) {
    let k = draft.next();
    let force = match random.below(3) {
        0 => unary(Unary::Sin, time()),
        1 => mul(num(2.0), unary(Unary::Sin, time())),
        _ => num(0.5),
    };
    draft.unit.switching = Switching::Sliding;
    draft.state(random.pick(&[1.0, 0.0, -1.0, 0.5]), sub(force, unary(Unary::Sign, draft.x(k))));
    draft.landmarks.extend([0.0, 0.0]);
}
