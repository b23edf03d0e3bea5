//! All formulas of connected units as one graph, in which equal formulas are one node and relations
//! that are equal up to sign are one relation (rule 1).
use crate::model::{Binary, Comparison, Condition, Expr, Unary, Unit, Variable};
use crate::number::Dd;
use std::collections::HashMap;

pub(crate) type Id = u32;

/// Who decides a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Unit(usize),
    Link(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Bits of a double.
    Const(u64),
    Read(Variable),
    Pre(Variable),
    Negate(Id),
    Add(Id, Id),
    Subtract(Id, Id),
    Multiply(Id, Id),
    Divide(Id, Id),
    Sin(Id),
    Cos(Id),
    Exp(Id),
    Tanh(Id),
    Sqrt(Id),
    Log(Id),
    /// Condition, then, else.
    If(u32, Id, Id),
    Abs(Id, Side),
    Sign(Side),
    Step(Side),
    /// The relation is the first minus the second.
    Min(Id, Id, Side),
    Max(Id, Id, Side),
    /// Index of the floor.
    Floor(u32),
}

impl Op {
    /// The nodes whose values are its arguments.
    pub(crate) fn operands(self) -> impl Iterator<Item = Id> {
        let list = match self {
            Self::Const(_) | Self::Read(_) | Self::Pre(_) => [None; 2],
            Self::Sign(_) | Self::Step(_) | Self::Floor(_) => [None; 2],
            Self::Negate(a)
            | Self::Sin(a)
            | Self::Cos(a)
            | Self::Exp(a)
            | Self::Tanh(a)
            | Self::Sqrt(a)
            | Self::Log(a)
            | Self::Abs(a, _) => [Some(a), None],
            Self::Add(a, b)
            | Self::Subtract(a, b)
            | Self::Multiply(a, b)
            | Self::Divide(a, b)
            | Self::If(_, a, b)
            | Self::Min(a, b, _)
            | Self::Max(a, b, _) => [Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }

    /// The relation that it switches by, unless that is a condition.
    pub(crate) fn side(self) -> Option<Side> {
        match self {
            Self::Abs(_, side) | Self::Sign(side) | Self::Step(side) => Some(side),
            Self::Min(_, _, side) | Self::Max(_, _, side) => Some(side),
            _ => None,
        }
    }
}

/// A relation, or its opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Side {
    pub(crate) relation: u32,
    pub(crate) flipped: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Relation {
    pub(crate) z: Id,
    pub(crate) scope: Scope,
    /// Something in z can move between events; otherwise rule 2 holds.
    pub(crate) moves: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Floor {
    pub(crate) argument: Id,
    pub(crate) scope: Scope,
    pub(crate) moves: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Formula {
    Relation(Comparison, Side),
    And(Vec<u32>),
    Or(Vec<u32>),
    Not(u32),
}

/// The formulas, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) ops: Vec<Op>,
    memo: HashMap<Op, Id>,
    pub(crate) relations: Vec<Relation>,
    relation_memo: HashMap<(Scope, Vec<u64>), u32>,
    pub(crate) floors: Vec<Floor>,
    floor_memo: HashMap<(Scope, Id), u32>,
    pub(crate) formulas: Vec<Formula>,
    lets: HashMap<(usize, usize), Id>,
}

impl Default for Scope {
    fn default() -> Self {
        Scope::Unit(0)
    }
}

impl Graph {
    pub(crate) fn add(&mut self, op: Op) -> Id {
        if let Some(id) = self.memo.get(&op) {
            return *id;
        }
        let id = self.ops.len() as Id;
        self.ops.push(op);
        self.memo.insert(op, id);
        id
    }

    pub(crate) fn constant(&mut self, value: f64) -> Id {
        // One zero: the sign of a zero means nothing here.
        self.add(Op::Const((value + 0.0).to_bits()))
    }

    /// Adds a formula.
    pub(crate) fn expr(&mut self, scope: Scope, units: &[Unit], expr: &Expr) -> Id {
        match expr {
            Expr::Number(value) => self.constant(*value),
            Expr::Read(Variable::Let(u, i)) => {
                if let Some(id) = self.lets.get(&(*u, *i)) {
                    return *id;
                }
                let id = self.expr(Scope::Unit(*u), units, &units[*u].lets[*i]);
                self.lets.insert((*u, *i), id);
                id
            }
            Expr::Read(variable) => self.add(Op::Read(*variable)),
            Expr::Pre(variable) => self.add(Op::Pre(*variable)),
            Expr::Unary(unary, a) => {
                let a = self.expr(scope, units, a);
                self.unary(scope, *unary, a)
            }
            Expr::Binary(binary, a, b) => {
                let a = self.expr(scope, units, a);
                let b = self.expr(scope, units, b);
                self.binary(scope, *binary, a, b)
            }
            Expr::Power(a, n) => {
                let a = self.expr(scope, units, a);
                self.power(a, *n)
            }
            Expr::If(condition, a, b) => {
                let condition = self.condition(scope, units, condition);
                let a = self.expr(scope, units, a);
                let b = self.expr(scope, units, b);
                self.add(Op::If(condition, a, b))
            }
        }
    }

    fn power(&mut self, a: Id, n: u32) -> Id {
        match n {
            0 => self.constant(1.0),
            1 => a,
            _ => {
                let half = self.power(a, n / 2);
                let square = self.add(Op::Multiply(half, half));
                if n % 2 == 1 { self.add(Op::Multiply(square, a)) } else { square }
            }
        }
    }

    fn unary(&mut self, scope: Scope, unary: Unary, a: Id) -> Id {
        match unary {
            Unary::Negate => self.add(Op::Negate(a)),
            Unary::Abs => {
                let side = self.relation(scope, a, None);
                self.add(Op::Abs(a, side))
            }
            Unary::Sign => {
                let side = self.relation(scope, a, None);
                self.add(Op::Sign(side))
            }
            Unary::Step => {
                let side = self.relation(scope, a, None);
                self.add(Op::Step(side))
            }
            Unary::Floor => self.floor(scope, a),
            Unary::Ceil => {
                let a = self.add(Op::Negate(a));
                let floor = self.floor(scope, a);
                self.add(Op::Negate(floor))
            }
            Unary::Sin => self.add(Op::Sin(a)),
            Unary::Cos => self.add(Op::Cos(a)),
            Unary::Exp => self.add(Op::Exp(a)),
            Unary::Tanh => self.add(Op::Tanh(a)),
            Unary::Sqrt => self.add(Op::Sqrt(a)),
            Unary::Log => self.add(Op::Log(a)),
        }
    }

    fn floor(&mut self, scope: Scope, a: Id) -> Id {
        let moves = self.moves(a);
        let next = self.floors.len() as u32;
        let index = *self.floor_memo.entry((scope, a)).or_insert(next);
        if index == next {
            self.floors.push(Floor { argument: a, scope, moves });
        }
        self.add(Op::Floor(index))
    }

    fn binary(&mut self, scope: Scope, binary: Binary, a: Id, b: Id) -> Id {
        match binary {
            Binary::Add => self.add(Op::Add(a.min(b), a.max(b))),
            Binary::Multiply => self.add(Op::Multiply(a.min(b), a.max(b))),
            Binary::Subtract => self.add(Op::Subtract(a, b)),
            Binary::Divide => self.add(Op::Divide(a, b)),
            Binary::Min => {
                let side = self.relation(scope, a, Some(b));
                self.add(Op::Min(a, b, side))
            }
            Binary::Max => {
                let side = self.relation(scope, a, Some(b));
                self.add(Op::Max(a, b, side))
            }
            Binary::Mod => {
                let ratio = self.add(Op::Divide(a, b));
                let floor = self.floor(scope, ratio);
                let multiple = self.add(Op::Multiply(b.min(floor), b.max(floor)));
                self.add(Op::Subtract(a, multiple))
            }
        }
    }

    /// Adds a condition.
    pub(crate) fn condition(&mut self, scope: Scope, units: &[Unit], c: &Condition) -> u32 {
        let formula = match c {
            Condition::Relation(comparison, a, b) => {
                let a = self.expr(scope, units, a);
                let b = self.expr(scope, units, b);
                Formula::Relation(*comparison, self.relation(scope, a, Some(b)))
            }
            Condition::And(all) => {
                Formula::And(all.iter().map(|c| self.condition(scope, units, c)).collect())
            }
            Condition::Or(any) => {
                Formula::Or(any.iter().map(|c| self.condition(scope, units, c)).collect())
            }
            Condition::Not(c) => Formula::Not(self.condition(scope, units, c)),
        };
        self.formulas.push(formula);
        self.formulas.len() as u32 - 1
    }

    /// The relation `a - b`, which may be there already, also as its opposite.
    pub(crate) fn relation(&mut self, scope: Scope, a: Id, b: Option<Id>) -> Side {
        let zero = self.constant(0.0);
        let z = match b {
            Some(b) if b != zero => self.add(Op::Subtract(a, b)),
            _ => a,
        };
        let (key, flipped) = self.key(z);
        let next = self.relations.len() as u32;
        let relation = *self.relation_memo.entry((scope, key)).or_insert(next);
        if relation == next {
            let moves = self.moves(z);
            // The first coefficient says which side is the positive one.
            let z = if flipped { self.add(Op::Negate(z)) } else { z };
            self.relations.push(Relation { z, scope, moves });
        }
        Side { relation, flipped }
    }

    /// The linear form of a node, its first coefficient made 1.
    fn key(&self, z: Id) -> (Vec<u64>, bool) {
        let mut terms: Vec<(Id, Dd)> = Vec::new();
        let mut rest = Dd::ZERO;
        self.linear(z, Dd::ONE, &mut terms, &mut rest);
        terms.sort_by_key(|t| t.0);
        terms.retain(|t| t.1 != Dd::ZERO);
        let lead = terms.first().map_or(rest, |t| t.1);
        let flipped = lead.hi < 0.0;
        let lead = if lead == Dd::ZERO { Dd::ONE } else { lead };
        let mut key = Vec::new();
        for (id, c) in terms {
            let c = c / lead;
            key.extend([u64::from(id), (c.hi + 0.0).to_bits(), (c.lo + 0.0).to_bits()]);
        }
        let rest = rest / lead;
        key.extend([(rest.hi + 0.0).to_bits(), (rest.lo + 0.0).to_bits()]);
        (key, flipped)
    }

    fn linear(&self, id: Id, by: Dd, terms: &mut Vec<(Id, Dd)>, rest: &mut Dd) {
        match self.ops[id as usize] {
            Op::Const(bits) => *rest = *rest + by * Dd::new(f64::from_bits(bits)),
            Op::Negate(a) => self.linear(a, -by, terms, rest),
            Op::Add(a, b) => {
                self.linear(a, by, terms, rest);
                self.linear(b, by, terms, rest);
            }
            Op::Subtract(a, b) => {
                self.linear(a, by, terms, rest);
                self.linear(b, -by, terms, rest);
            }
            Op::Multiply(a, b) => match (self.ops[a as usize], self.ops[b as usize]) {
                (Op::Const(c), _) => {
                    self.linear(b, by * Dd::new(f64::from_bits(c)), terms, rest);
                }
                (_, Op::Const(c)) => {
                    self.linear(a, by * Dd::new(f64::from_bits(c)), terms, rest);
                }
                _ => add_term(terms, id, by),
            },
            Op::Divide(a, b) => match self.ops[b as usize] {
                Op::Const(c) if f64::from_bits(c) != 0.0 => {
                    self.linear(a, by / Dd::new(f64::from_bits(c)), terms, rest);
                }
                _ => add_term(terms, id, by),
            },
            _ => add_term(terms, id, by),
        }
    }

    /// Whether something in a node can move between events. What only switches does not: it is
    /// decided anew when an inner side changes.
    pub(crate) fn moves(&self, id: Id) -> bool {
        self.any(id, &|v| !matches!(v, Variable::Discrete(..) | Variable::Mode(_)))
    }

    /// Whether nothing but the time moves a node.
    pub(crate) fn timed(&self, id: Id) -> bool {
        self.moves(id)
            && !self.any(id, &|v| {
                matches!(v, Variable::State(..) | Variable::Algebraic(..) | Variable::Input(..))
            })
    }

    /// Whether a node reads a variable that is found by solving equations.
    pub(crate) fn solved(&self, id: Id) -> bool {
        self.any(id, &|v| matches!(v, Variable::Algebraic(..)))
    }

    /// Whether a node reads, not only by switching, such a variable.
    fn any(&self, id: Id, such: &dyn Fn(Variable) -> bool) -> bool {
        match self.ops[id as usize] {
            Op::Read(v) => such(v),
            op => op.operands().any(|a| self.any(a, such)),
        }
    }
}

fn add_term(terms: &mut Vec<(Id, Dd)>, id: Id, by: Dd) {
    match terms.iter_mut().find(|t| t.0 == id) {
        Some(t) => t.1 = t.1 + by,
        None => terms.push((id, by)),
    }
}
