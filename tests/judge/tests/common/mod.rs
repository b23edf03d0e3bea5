#![allow(unreachable_pub, reason = "a module that several test binaries share")]
//! Short ways to write models, shared by the tests.
#![allow(dead_code)]
use superdense_judge::model::{
    Binary, Comparison, Condition, Direction, Event, Expr, Instant, Model, Trigger, Unary, Unit,
    Variable,
};
use superdense_judge::{Happened, Limits, Run, Verdict, judge};

pub fn n(value: f64) -> Expr {
    Expr::Number(value)
}

/// State of unit 0.
pub fn x(i: usize) -> Expr {
    Expr::Read(Variable::State(0, i))
}

/// Discrete variable of unit 0.
pub fn d(i: usize) -> Expr {
    Expr::Read(Variable::Discrete(0, i))
}

pub fn t() -> Expr {
    Expr::Read(Variable::Time)
}

fn two(op: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

pub fn add(a: Expr, b: Expr) -> Expr {
    two(Binary::Add, a, b)
}

pub fn sub(a: Expr, b: Expr) -> Expr {
    two(Binary::Subtract, a, b)
}

pub fn mul(a: Expr, b: Expr) -> Expr {
    two(Binary::Multiply, a, b)
}

pub fn div(a: Expr, b: Expr) -> Expr {
    two(Binary::Divide, a, b)
}

pub fn min(a: Expr, b: Expr) -> Expr {
    two(Binary::Min, a, b)
}

pub fn modulo(a: Expr, b: Expr) -> Expr {
    two(Binary::Mod, a, b)
}

pub fn f(op: Unary, a: Expr) -> Expr {
    Expr::Unary(op, Box::new(a))
}

pub fn neg(a: Expr) -> Expr {
    f(Unary::Negate, a)
}

pub fn cond(c: Condition, a: Expr, b: Expr) -> Expr {
    Expr::If(Box::new(c), Box::new(a), Box::new(b))
}

pub fn ge(a: Expr, b: Expr) -> Condition {
    Condition::Relation(Comparison::AtLeast, a, b)
}

pub fn gt(a: Expr, b: Expr) -> Condition {
    Condition::Relation(Comparison::Greater, a, b)
}

pub fn le(a: Expr, b: Expr) -> Condition {
    Condition::Relation(Comparison::AtMost, a, b)
}

pub fn lt(a: Expr, b: Expr) -> Condition {
    Condition::Relation(Comparison::Less, a, b)
}

pub fn eq(a: Expr, b: Expr) -> Condition {
    Condition::Relation(Comparison::Equal, a, b)
}

pub fn not(c: Condition) -> Condition {
    Condition::Not(Box::new(c))
}

pub fn and(a: Condition, b: Condition) -> Condition {
    Condition::And(vec![a, b])
}

pub fn or(a: Condition, b: Condition) -> Condition {
    Condition::Or(vec![a, b])
}

pub fn at(numerator: i64, denominator: i64) -> Instant {
    Instant { numerator, denominator }
}

fn event(name: &str, trigger: Trigger, reset: &[(Variable, Expr)]) -> Event {
    Event { name: name.into(), trigger, priority: 0, reset: reset.to_vec(), to: None, rest: None }
}

pub fn when(name: &str, condition: Condition, reset: &[(Variable, Expr)]) -> Event {
    event(name, Trigger::When { condition, touching: None }, reset)
}

pub fn crossing(name: &str, formula: Expr, direction: Direction) -> Event {
    event(name, Trigger::Crossing { formula, direction, touching: None }, &[])
}

pub fn once(name: &str, instant: Instant, reset: &[(Variable, Expr)]) -> Event {
    event(name, Trigger::At(vec![instant]), reset)
}

pub fn sx(i: usize) -> Variable {
    Variable::State(0, i)
}

pub fn sd(i: usize) -> Variable {
    Variable::Discrete(0, i)
}

/// A unit of states and their derivatives.
pub fn unit(states: &[f64], derivatives: &[Expr]) -> Unit {
    Unit { states: states.to_vec(), derivatives: derivatives.to_vec(), ..Unit::default() }
}

pub fn discrete(mut unit: Unit, values: &[f64]) -> Unit {
    unit.discrete = values.to_vec();
    unit
}

pub fn with(mut unit: Unit, events: Vec<Event>) -> Unit {
    unit.events = events;
    unit
}

pub fn model(resolution: u32, stop: i64, units: Vec<Unit>) -> Model {
    Model { resolution, stop: at(stop, 1), units, wires: Vec::new(), links: Vec::new() }
}

pub fn alone(stop: i64, unit: Unit) -> Model {
    model(9, stop, vec![unit])
}

/// A run that is decided.
#[track_caller]
pub fn run(model: &Model) -> Run {
    match judge(model, &Limits::default(), &[]) {
        Verdict::Run(run) => run,
        other => panic!("{other:#?}"),
    }
}

fn tag(h: &Happened) -> (String, i64, u32) {
    assert_eq!(h.tick.lo, h.tick.hi, "{h:?}");
    (h.name.clone(), h.tick.lo, h.micro)
}

/// Names, ticks and micro-steps of a run in which every tick is certain.
#[track_caller]
pub fn tags(model: &Model) -> Vec<(String, i64, u32)> {
    run(model).happened.iter().map(tag).collect()
}

#[track_caller]
pub fn happens(model: &Model, expected: &[(&str, i64, u32)]) {
    let found = tags(model);
    let found: Vec<(&str, i64, u32)> =
        found.iter().map(|(name, tick, micro)| (name.as_str(), *tick, *micro)).collect();
    assert_eq!(found, expected);
}

/// The final value of a state of unit 0.
#[track_caller]
pub fn end(model: &Model, state: usize) -> f64 {
    run(model).end[0].states[state].middle()
}
