//! Random models: the judge ends, and says the same of a model that is written in another way.
//!
//! `JUDGE_MODELS=8000` makes more models, `JUDGE_SLOW=1` prints the time of each, and
//! `JUDGE_ONLY=207` prints that one.
mod common;
use common::*;
use superdense_judge::model::{
    Comparison, Condition, Event, Expr, Link, Mode, Model, Switching, Trigger, Unary, Unit,
    Variable, Wire,
};
use superdense_judge::{Limits, Run, Verdict, judge};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn number(&mut self) -> f64 {
        let list = [0.0, 1.0, -1.0, 0.5, 2.0, 0.1, -0.7, 3.0, 0.25, 1.3];
        list[self.roll(10) as usize]
    }

    fn variable(&mut self, u: usize) -> Expr {
        Expr::Read(match self.roll(8) {
            0..=4 => Variable::State(u, self.roll(2) as usize),
            5 => Variable::Discrete(u, 0),
            6 => Variable::Input(u, 0),
            _ => Variable::Time,
        })
    }

    fn expr(&mut self, u: usize, depth: u32) -> Expr {
        if depth == 0 || self.roll(4) == 0 {
            return if self.roll(3) == 0 { n(self.number()) } else { self.variable(u) };
        }
        let a = self.expr(u, depth - 1);
        match self.roll(12) {
            0 => neg(a),
            1 => f(Unary::Sin, a),
            2 => f(Unary::Abs, a),
            3 => f(Unary::Tanh, a),
            4 => f([Unary::Sign, Unary::Step, Unary::Floor][self.roll(3) as usize], a),
            5 => min(a, n(self.number())),
            6 => cond(self.condition(u, 0), a, n(self.number())),
            7 => mul(a, n(self.number())),
            8 => mul(a, self.variable(u)),
            9 => sub(a, self.expr(u, depth - 1)),
            _ => add(a, self.expr(u, depth - 1)),
        }
    }

    fn condition(&mut self, u: usize, depth: u32) -> Condition {
        if depth > 0 && self.roll(2) == 0 {
            let (a, b) = (self.condition(u, depth - 1), self.condition(u, depth - 1));
            return match self.roll(3) {
                0 => and(a, b),
                1 => or(a, b),
                _ => not(a),
            };
        }
        let c = [Comparison::Less, Comparison::AtMost, Comparison::Greater, Comparison::AtLeast];
        let a = if self.roll(2) == 0 { self.variable(u) } else { self.expr(u, 1) };
        Condition::Relation(c[self.roll(4) as usize], a, n(self.number()))
    }

    fn event(&mut self, u: usize, i: usize, modes: usize) -> Event {
        let mut reset =
            vec![(Variable::Discrete(u, 0), add(Expr::Read(Variable::Discrete(u, 0)), n(1.0)))];
        if self.roll(2) == 0 {
            reset.push((Variable::State(u, self.roll(2) as usize), self.expr(u, 1)));
        }
        let mut event = match self.roll(4) {
            0 => once("", at(self.roll(40) as i64, 10), &reset),
            _ => when("", self.condition(u, 1), &reset),
        };
        event.name = format!("e{i}");
        event.priority = self.roll(2) as i64;
        if modes > 0 && self.roll(3) == 0 {
            event.to = Some(self.roll(modes as u64) as usize);
        }
        event
    }

    fn unit(&mut self, u: usize) -> Unit {
        let modes = if self.roll(4) == 0 { 2 } else { 0 };
        let linear = self.roll(2) == 0;
        let rate = |dice: &mut Self| {
            if linear { add(dice.variable(u), n(dice.number())) } else { dice.expr(u, 3) }
        };
        Unit {
            states: vec![self.number(), self.number()],
            discrete: vec![0.0],
            inputs: vec![0.0],
            derivatives: vec![rate(self), rate(self)],
            outputs: vec![Expr::Read(Variable::State(u, 0))],
            events: (0..self.roll(4) as usize).map(|i| self.event(u, i, modes)).collect(),
            modes: (0..modes)
                .map(|m| Mode {
                    derivatives: Some(vec![None, Some(self.expr(u, 1))]),
                    events: vec![self.event(u, 9 + m, modes)],
                })
                .collect(),
            switching: if self.roll(5) == 0 { Switching::Sliding } else { Switching::Located },
            ..Unit::default()
        }
    }

    fn model(&mut self) -> Model {
        let units = 1 + self.roll(2) as usize;
        let mut m = model(9, 4, (0..units).map(|u| self.unit(u)).collect());
        if units == 2 && self.roll(2) == 0 {
            m.wires.push(Wire { from: (0, 0), to: (1, 0) });
        }
        if units == 2 && self.roll(2) == 0 {
            let state = |u: usize| Expr::Read(Variable::State(u, 0));
            m.links.push(Link {
                units: vec![0, 1],
                when: ge(state(0), add(state(1), n(self.number()))),
                reset: vec![(Variable::State(0, 0), n(self.number()))],
                priority: 0,
            });
        }
        m
    }
}

fn mirror_condition(c: &Condition) -> Condition {
    match c {
        Condition::Relation(c, a, b) => {
            let c = match c {
                Comparison::Less => Comparison::Greater,
                Comparison::AtMost => Comparison::AtLeast,
                Comparison::Greater => Comparison::Less,
                Comparison::AtLeast => Comparison::AtMost,
                other => *other,
            };
            Condition::Relation(c, b.clone(), a.clone())
        }
        Condition::And(list) => Condition::And(list.iter().rev().map(mirror_condition).collect()),
        Condition::Or(list) => Condition::Or(list.iter().rev().map(mirror_condition).collect()),
        Condition::Not(c) => Condition::Not(Box::new(mirror_condition(c))),
    }
}

/// The same conditions, each relation the other way round.
fn mirror(m: &Model) -> Model {
    let mut m = m.clone();
    for unit in &mut m.units {
        let own = unit.events.iter_mut();
        let events = own.chain(unit.modes.iter_mut().flat_map(|m| m.events.iter_mut()));
        for event in events {
            if let Trigger::When { condition, .. } = &mut event.trigger {
                *condition = mirror_condition(condition);
            }
        }
    }
    m
}

fn trace(run: &Run) -> Vec<(String, i64, i64, u32)> {
    run.happened.iter().map(|h| (h.name.clone(), h.tick.lo, h.tick.hi, h.micro)).collect()
}

fn kind(verdict: &Verdict) -> (String, Vec<(String, i64, i64, u32)>) {
    match verdict {
        Verdict::Run(run) => ("run".into(), trace(run)),
        Verdict::Undecided(u) => (format!("undecided {:?}", u.reason), trace(&u.run)),
        Verdict::Error(f) => (format!("error {:?}", f.kind), trace(&f.run)),
    }
}

#[test]
fn relations_the_other_way_round_make_no_difference() {
    let mut dice = Dice(1);
    let mut decided = 0;
    let number: u64 =
        std::env::var("JUDGE_MODELS").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    let mut times = Vec::new();
    for k in 0..number {
        let m = dice.model();
        if std::env::var("JUDGE_ONLY").is_ok_and(|o| o.parse() == Ok(k)) {
            eprintln!("{m:?}");
        }
        let clock = std::time::Instant::now();
        let limits = Limits { effort: 300_000, events: 300, ..Limits::default() };
        let verdict = judge(&m, &limits, &[at(1, 1), at(5, 2)]);
        times.push(clock.elapsed());
        if std::env::var("JUDGE_SLOW").is_ok() {
            eprintln!("{k} {:?} {:?}", clock.elapsed(), kind(&verdict).0);
        }
        let a = kind(&verdict);
        let b = kind(&judge(&mirror(&m), &limits, &[]));
        if !a.0.contains("Effort") && !b.0.contains("Effort") {
            assert_eq!(a, b, "model {k}: {m:?}");
        }
        decided += usize::from(matches!(verdict, Verdict::Run(_)));
        let detail = match &verdict {
            Verdict::Undecided(u) => u.detail.clone(),
            _ => String::new(),
        };
        *kinds.entry(format!("{} {detail}", a.0)).or_default() += 1;
    }
    times.sort();
    println!("{kinds:#?}");
    println!(
        "median {:?}, 90 % {:?}, last {:?}",
        times[times.len() / 2],
        times[times.len() * 9 / 10],
        times.last()
    );
    assert!(decided * 2 > number as usize, "{decided} of {number} are decided");
}
