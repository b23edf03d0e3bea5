//! Equations of connected units, reduced to those that a solver has to solve.
//!
//! # Why
//! Two capacitors side by side have the same voltage, and two masses on one flange the same position: nothing tells
//! that from the equations of one of them. So every equation in which a variable stands with a constant factor is
//! solved for it, and the result is put into all others. Equations in which only states are left are constraints:
//! one of their states is eliminated likewise, and the derivative of the constraint takes its place (Pantelides
//! 1988, with elimination in the place of assignment). What then remains is nonlinear, and goes through
//! [`super::index`] as the equations of any unit do. Of a linear circuit no algebraic variable remains.
use super::{
    formulas::Formulas,
    impulse::{self, Constraint, Indivisible, Jump, Kinds},
    read::{Declared, Entry, Reader, StartValues},
};
use crate::{
    kinds::{Located, Param, ParamError},
    maths::expr::{Expr, Names, Sum, Symbol, VarId},
    solve::equations::Dims,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The table that tells connected units from others: variables that connections made, with a word on the equation
/// that stands under the name of each.
pub(super) const JOINED: &str = "~joined";
/// How far, relative to its terms, a constraint may be from zero at the start.
pub(super) const CONSISTENT: f64 = 1e-6;
/// The beginning of a word on a sum of flows, which stands under the name of a potential.
pub(super) const FLOWS: &str = "the sum of flows at";
/// Most unknowns, whose number squared is about the size of what is computed here.
const MOST: usize = 2000;
/// A constant that should be zero is so up to here.
const ZERO: f64 = 1e-9;

/// Equations that elimination left, over the variables as they were before it.
pub(super) struct Joined {
    /// Names of the variables by their numbers.
    names: Vec<String>,
    /// Eliminated variables.
    pub explicit: Vec<(String, Expr)>,
    pub residuals: Vec<Expr>,
    /// A word on each of these.
    pub labels: Vec<String>,
    /// How states answer to jumps of the constraints by which others were eliminated.
    pub jumps: Vec<Jump>,
}

impl Joined {
    /// An expression over the symbols that `of` finds by name.
    pub(super) fn renumbered(&self, expr: &Expr, of: impl Fn(&str) -> Option<Symbol>) -> Expr {
        let pair = |old: &VarId| {
            let new = match of(self.names.get(old.0 as usize)?)? {
                Symbol::Var(v) => Expr::var(v),
                Symbol::Const(c) => Expr::constant(c),
            };
            Some((*old, new))
        };
        let pairs: Vec<(VarId, Expr)> = expr.vars().iter().filter_map(pair).collect();
        expr.substitute(&pairs.iter().map(|(old, new)| (*old, new)).collect::<Vec<_>>())
    }

    pub(super) fn eliminates(&self, name: &str) -> bool {
        self.explicit.iter().any(|(own, _)| own == name)
    }

    /// Refuses values at the start of eliminated states, all of which `entries` has, that are not what they follow
    /// to be. Those of algebraic variables only say where a search begins.
    pub(super) fn check(
        &self,
        r: &mut Reader<'_>,
        (entries, constants): (&[Entry<'_>], &Names),
        (d, start): (&Declared<'_>, &StartValues),
    ) {
        let guessed: BTreeSet<_> = [JOINED, "algebraic"]
            .into_iter()
            .flat_map(|table| r.table(table))
            .map(|(name, _)| name.value.clone())
            .collect();
        let free: Vec<String> = r.names("free").into_iter().map(|name| name.value).collect();
        let names =
            d.states.iter().copied().chain(d.all_inputs()).chain(d.discrete.iter().copied());
        let values = start.initial.iter().chain(&start.inputs).chain(&start.discrete);
        let known: HashMap<&str, f64> =
            names.map(|(k, _)| k.value.as_str()).zip(values.copied()).collect();
        let value = |name: &String| known.get(name.as_str()).copied().unwrap_or(0.0);
        let at: Vec<f64> = self.names.iter().map(value).collect();
        for (name, p) in entries {
            let found = self.explicit.iter().find(|(own, _)| *own == name.value);
            let Some((_, follows)) =
                found.filter(|(own, _)| !guessed.contains(own) && !free.contains(own))
            else {
                continue;
            };
            let (given, found) = (r.constant(p, constants), follows.eval(&at));
            if (given - found).abs() <= CONSISTENT * (1.0 + found.abs()) {
                continue;
            }
            let of: Vec<&str> =
                follows.vars().iter().map(|v| self.names[v.0 as usize].as_str()).collect();
            let of = match of.len() {
                0 => "equations alone".to_owned(),
                _ => format!("`{}`", of.join("`, `")),
            };
            let error = format!(
                "`{}` is {given} at the start, but by the connections it follows from {of}, and is {found}",
                name.value
            );
            let help = "give states that are rigidly connected values that fit, or name those that may follow: \
                        free = [\"x\"]";
            r.errors.push(ParamError::at(p.span.clone(), error).help(help));
        }
    }
}

/// Eliminates variables of connected units; nothing for all other units, and for one with mistakes.
pub(super) fn eliminate(r: &mut Reader<'_>, d: &Declared<'_>, constants: &Names) -> Option<Joined> {
    let labels = r.params.get(JOINED)?;
    let labels = r.entries(labels, JOINED);
    if d.states.len() > MOST {
        let error = format!("{} variables of connected units are more than {MOST}", d.states.len());
        let help = "divide the system where a signal can carry what one part needs of the other";
        r.errors.push(ParamError::whole(error).help(help));
        return None;
    }
    let mut formulas = Formulas::new(r, d, constants.clone()).with_switching();
    let derivatives = formulas.rates(r, d, false);
    let residuals = formulas.rates(r, d, true);
    if !r.errors.is_empty() {
        return None;
    }
    let (labels, assigned) = (Labels::new(&labels), assigned(r));
    let free: Vec<String> = r.names("free").into_iter().map(|name| name.value).collect();
    let class = |(name, _): &Entry<'_>| match name.value.as_str() {
        name if assigned.contains(name) => None,
        name if labels.0.contains_key(name) => Some(2),
        name if free.iter().any(|free| free == name) => Some(1),
        _ => Some(0),
    };
    let mut work = Work {
        rows: residuals.iter().map(Sum::of).enumerate().collect(),
        field: derivatives.iter().map(Sum::of).collect(),
        explicit: Vec::new(),
        constraints: Vec::new(),
        class: d.states.iter().map(class).collect(),
        dims: formulas.dims,
        stuck: Vec::new(),
    };
    let variables =
        d.states.iter().copied().chain(d.all_inputs()).chain(d.discrete.iter().copied());
    let names: Vec<String> = std::iter::once("t".to_owned())
        .chain(variables.map(|(name, _)| name.value.clone()))
        .collect();
    let row_names: Vec<&str> = d.unknowns(true).iter().map(|(k, _)| k.value.as_str()).collect();
    let label = |row: usize| labels.of(row_names[row]);
    if let Err(row) = work.run() {
        let error = format!(
            "{} leaves a constraint on states that reads an input, whose rate is not known",
            label(row)
        );
        let help = "put an element between that yields, such as a resistance or a spring, or give \
                    the input as a formula of the time";
        r.errors.push(ParamError::whole(error).help(help));
        return None;
    }
    if !work.stuck.is_empty() {
        r.errors.push(work.singular(&names, &labels, label));
        return None;
    }
    let is_assigned = |v| names.get(v).is_none_or(|name| assigned.contains(name));
    let jumps = match work.jumps(&names, &is_assigned) {
        Ok(jumps) => jumps,
        Err(why) => {
            r.errors.push(work.indivisible(&names, &why));
            return None;
        }
    };
    let named = |(v, sum): &(VarId, Sum)| (names[v.0 as usize].clone(), sum.expr());
    let explicit = work.explicit.iter().map(named).collect();
    let residuals = work.rows.iter().map(|(_, sum)| sum.expr()).collect();
    let labels = work.rows.iter().map(|(row, _)| label(*row)).collect();
    Some(Joined { names, explicit, residuals, labels, jumps })
}

/// Words on equations by the names under which they stand.
struct Labels<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Labels<'a> {
    fn new(entries: &[Entry<'a>]) -> Self {
        let word = |(name, p): &Entry<'a>| match &p.value {
            Param::Text(word) => Some((name.value.as_str(), word.as_str())),
            _ => None,
        };
        Self(entries.iter().filter_map(word).collect())
    }

    fn of(&self, name: &str) -> String {
        self.0
            .get(name)
            .map_or_else(|| format!("the residual of `{name}`"), |&word| word.to_owned())
    }
}

/// The variables that events assign.
fn assigned(r: &Reader<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let tables = |p: &Located<Param>| match &p.value {
        Param::List(list) => list.clone(),
        _ => Vec::new(),
    };
    for table in ["event", "on"].iter().filter_map(|key| r.params.get(key)).flat_map(tables) {
        let Param::Table(entries) = super::elaborate::indexed(&table.value).0 else { continue };
        for (_, p) in
            entries.iter().filter(|(key, _)| ["reset", "rest"].contains(&key.value.as_str()))
        {
            if let Param::Table(targets) = super::elaborate::indexed(&p.value).0 {
                names.extend(targets.iter().map(|(name, _)| name.value.clone()));
            }
        }
    }
    names
}

struct Work {
    /// Equations that are zero, with the numbers of the residuals that they come from.
    rows: Vec<(usize, Sum)>,
    /// Derivatives of the states.
    field: Vec<Sum>,
    /// Eliminated variables, over those that are not.
    explicit: Vec<(VarId, Sum)>,
    /// The constraints by which states were eliminated.
    constraints: Vec<Constraint>,
    /// By state and algebraic variable, how gladly it is eliminated; none if it must stay.
    class: Vec<Option<u8>>,
    dims: Dims,
    /// Equations that say nothing, or the impossible: their number, and what should be zero.
    stuck: Vec<(usize, f64)>,
}

impl Work {
    fn is_algebraic(&self, v: VarId) -> bool {
        self.dims.algebraic_places().contains(&(v.0 as usize))
    }

    fn is_state(&self, v: VarId) -> bool {
        (Dims::STATES..Dims::STATES + self.field.len()).contains(&(v.0 as usize))
    }

    /// The variable of a row, of those that `of` takes, for which it is solved.
    fn pivot(&self, sum: &Sum, of: impl Fn(VarId) -> bool) -> Option<VarId> {
        let class = |v: &VarId| self.class[v.0 as usize - Dims::STATES];
        // A quotient by a subnormal number is infinite.
        let may = sum
            .terms
            .iter()
            .filter(|(v, c)| of(**v) && c.is_normal() && class(v).is_some() && !sum.bends(**v));
        let best = may.max_by(|(v, a), (w, b)| {
            let by_class = if self.is_algebraic(**v) {
                std::cmp::Ordering::Equal
            } else {
                class(v).cmp(&class(w))
            };
            by_class.then(a.abs().total_cmp(&b.abs())).then(v.cmp(w))
        });
        best.map(|(v, _)| *v)
    }

    /// Eliminates what can be; the number of a constraint that reads an input, if there is one.
    fn run(&mut self) -> Result<(), usize> {
        loop {
            let algebraic =
                |sum: &Sum| sum.vars().into_iter().filter(|v| self.is_algebraic(*v)).count();
            let counts: Vec<usize> = self.rows.iter().map(|(_, sum)| algebraic(sum)).collect();
            let solvable = |k: &usize| {
                let pivot = self.pivot(&self.rows[*k].1, |v| self.is_algebraic(v))?;
                Some((counts[*k], *k, pivot))
            };
            let next = (0..self.rows.len()).filter_map(|k| solvable(&k)).min();
            if let Some((_, row, pivot)) = next {
                let (_, sum) = self.rows.remove(row);
                self.put(pivot, sum.solved_for(pivot));
                continue;
            }
            if self.combine() {
                continue;
            }
            let done =
                (0..self.rows.len()).filter(|k| counts[*k] == 0).find_map(|k| self.constraint(k));
            match done {
                None => return Ok(()),
                Some(Err(row)) => return Err(row),
                Some(Ok((row, None))) => {
                    let (label, sum) = self.rows.remove(row);
                    let off = if sum.vars().is_empty() { sum.constant } else { f64::NAN };
                    self.stuck.push((label, off));
                }
                Some(Ok((row, Some(pivot)))) => {
                    let (label, sum) = self.rows.remove(row);
                    let mut rate = self.rate(&sum);
                    rate.add(&Sum::of(&Expr::var(impulse::rate(self.constraints.len()))), 1.0);
                    self.constraints.push(Constraint { state: pivot, zero: sum.clone() });
                    self.put(pivot, sum.solved_for(pivot));
                    let (v, by) = &self.explicit[self.explicit.len() - 1];
                    rate.put(*v, by, &by.expr());
                    self.rows.insert(row, (label, rate));
                }
            }
        }
    }

    /// Puts a combination of rows in which all that is nonlinear cancels in the place of one of them; whether there
    /// is one. Currents of diodes may be unknown, and their sum into a part without other ends is zero.
    fn combine(&mut self) -> bool {
        let mut sums: Vec<Sum> = self.rows.iter().map(|(_, sum)| sum.clone()).collect();
        for k in 0..sums.len() {
            let (done, rest) = sums.split_at_mut(k + 1);
            let Some(pivot) = done[k].rest() else {
                if self.rows[k].1.rest().is_none() {
                    continue;
                }
                self.rows[k].1 = sums.swap_remove(k);
                return true;
            };
            let factor = done[k].factor(pivot);
            for sum in rest {
                let other = sum.factor(pivot);
                if other != 0.0 {
                    sum.add(&done[k], -other / factor);
                }
            }
        }
        false
    }

    /// The use of a row without algebraic variables: the state that it is solved for, or none where there is
    /// no state in it. Nothing is done with a nonlinear one.
    fn constraint(&self, row: usize) -> Option<Result<(usize, Option<VarId>), usize>> {
        let (label, sum) = &self.rows[row];
        let reads = sum.vars();
        if !reads.iter().any(|v| self.is_state(*v)) {
            return Some(Ok((row, None)));
        }
        let inputs = self.dims.first_input()..self.dims.first_discrete();
        if reads.iter().any(|v| inputs.contains(&(v.0 as usize))) {
            return Some(Err(*label));
        }
        Some(Ok((row, Some(self.pivot(sum, |v| self.is_state(v))?))))
    }

    /// The derivative of a sum along the solution.
    fn rate(&self, sum: &Sum) -> Sum {
        let rates: Vec<Expr> = self.field.iter().map(Sum::expr).collect();
        let one = Expr::constant(1.0);
        let states = (Dims::STATES as u32..).map(VarId).zip(&rates);
        let field: Vec<(VarId, &Expr)> = std::iter::once((VarId(0), &one)).chain(states).collect();
        Sum::of(&sum.expr().derivative_along(&field))
    }

    /// How states that remain answer to jumps of constraints. The rates of these jumps are zero from then on.
    fn jumps(
        &mut self,
        names: &[String],
        is_assigned: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<Jump>, Indivisible> {
        let gone = |v: VarId| self.explicit.iter().any(|(own, _)| *own == v);
        let states = (Dims::STATES as u32..).map(VarId).zip(&self.field).filter(|(v, _)| !gone(*v));
        let field: Vec<_> = states.map(|(v, rate)| (names[v.0 as usize].as_str(), rate)).collect();
        let rows = self.rows.iter().map(|(_, sum)| sum);
        let explicit = self.explicit.iter().filter(|(v, _)| self.is_state(*v)).map(|(_, sum)| sum);
        let others: Vec<&Sum> = rows.chain(explicit).collect();
        let moves = |v: VarId| v.0 == 0 || self.is_state(v) || self.is_algebraic(v);
        let kinds = Kinds { is_assigned: &|v| is_assigned(v.0 as usize), moves: &moves };
        let found = impulse::jumps(&self.constraints, &field, &others, &kinds);
        let (none, zero) = (Sum::default(), Expr::constant(0.0));
        for k in 0..self.constraints.len() {
            let rows = self.rows.iter_mut().map(|(_, sum)| sum);
            let explicit = self.explicit.iter_mut().map(|(_, sum)| sum);
            rows.chain(explicit).for_each(|sum| sum.put(impulse::rate(k), &none, &zero));
        }
        found
    }

    /// The mistake of a constraint whose jump does not divide among its states.
    fn indivisible(&self, names: &[String], why: &Indivisible) -> ParamError {
        let constraint = &self.constraints[why.constraint];
        let state = names[constraint.state.0 as usize].as_str();
        let reads = constraint.zero.vars();
        let others = reads.iter().filter(|v| self.is_state(**v) && **v != constraint.state);
        let others: Vec<&str> = others.map(|v| names[v.0 as usize].as_str()).collect();
        let (when, help) = match why.switches {
            true => (
                "where a comparison or a step of its formula switches",
                "let an event reset a discrete value of the source, `discrete = { U = 0 }` and `reset = { U = 10 }`, \
                 or put an element between that yields, such as a resistance or a spring",
            ),
            false => (
                "with a discrete value, beside elements that are not linear",
                "put an element between that yields, such as a resistance or a spring",
            ),
        };
        let error = format!(
            "`{state}` is rigidly connected to `{}` by a constraint that jumps {when}: how much of the jump each takes \
             is not known",
            others.join("`, `")
        );
        ParamError::whole(error).help(help)
    }

    /// Eliminates a variable.
    fn put(&mut self, v: VarId, by: Sum) {
        let expr = by.expr();
        let rows = self.rows.iter_mut().map(|(_, sum)| sum);
        let explicit = self.explicit.iter_mut().map(|(_, sum)| sum);
        rows.chain(&mut self.field).chain(explicit).for_each(|sum| sum.put(v, &by, &expr));
        self.explicit.push((v, by));
    }

    /// The mistake of equations that do not determine their variables.
    fn singular(
        &self,
        names: &[String],
        labels: &Labels<'_>,
        label: impl Fn(usize) -> String,
    ) -> ParamError {
        let done = |v: &usize| self.explicit.iter().any(|(own, _)| own.0 as usize == *v);
        let read: BTreeSet<VarId> = self.rows.iter().flat_map(|(_, sum)| sum.vars()).collect();
        let open: Vec<usize> = self.dims.algebraic_places().filter(|v| !done(v)).collect();
        let alone: Vec<usize> =
            open.iter().copied().filter(|v| !read.contains(&VarId(*v as u32))).collect();
        let open = if alone.is_empty() { open } else { alone };
        let list = |all: &[String]| match all.len() {
            0..=6 => all.join(", "),
            n => format!("{} and {} more", all[..5].join(", "), n - 5),
        };
        let those = list(&open.iter().map(|v| format!("`{}`", names[*v])).collect::<Vec<_>>());
        let rows = list(&self.stuck.iter().map(|(row, _)| label(*row)).collect::<Vec<_>>());
        if let Some((row, off)) =
            self.stuck.iter().find(|(_, off)| off.is_nan() || off.abs() > ZERO)
        {
            let is = match off.is_nan() {
                true => "depends on the time, inputs or discrete values alone".to_owned(),
                false => format!("is {off} instead of 0"),
            };
            let error = format!(
                "the connected equations contradict each other: by the others {} {is}, and nothing determines {those}",
                label(*row)
            );
            let help = "two ideal sources, or two rigid parts, set the same quantity: leave one out, or put an element \
                        between that yields";
            return ParamError::whole(error).help(help);
        }
        let error = format!(
            "the connected equations do not determine {those}: {rows} follows from the others"
        );
        let is_level = |v: &usize| {
            labels.0.get(names[*v].as_str()).is_some_and(|word| word.starts_with(FLOWS))
        };
        let help = if open.iter().any(is_level) {
            "only differences of potentials are determined: connect a ground, a fixed point or another part that sets \
             the level"
        } else {
            "a ring of ideal sources or of rigid parts is closed twice: leave one out, or put an element into it that \
             yields, such as a resistance or a spring"
        };
        ParamError::whole(error).help(help)
    }
}
