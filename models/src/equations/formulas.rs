//! Names of an equation unit, and its derivatives and outputs as expressions.
use super::{
    elaborate::by_name,
    read::{Declared, Entry, MODE, Reader, SHORT},
};
use crate::{
    kinds::{Located, Param, ParamError, Span},
    maths::expr::{
        Compare, Comparison, Expr, Freezer, Frozen, Names, Node, Op, Scope, Symbol, VarId,
        built_in, nearest,
    },
    solve::equations::Dims,
};
use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
};

/// Helpers count as variables from here on, until they are put in.
pub(super) const HELPERS: u32 = 1 << 30;

pub(super) type Moves = Box<dyn Fn(VarId) -> bool>;

/// Turns the texts of a unit into expressions over its variables.
pub(super) struct Formulas {
    /// Names known everywhere in the unit.
    pub scope: Names,
    /// Names known in each mode.
    pub in_mode: Vec<Names>,
    /// The variable that holds the present mode.
    pub mode: Option<VarId>,
    /// Sizes, without relations.
    pub dims: Dims,
    /// Variables that events may assign.
    pub targets: HashMap<String, usize>,
    helpers: Vec<Expr>,
    /// Whether switching functions of equations are held still.
    located: bool,
    freezer: RefCell<Freezer<Moves>>,
}

impl Formulas {
    pub(super) fn new(r: &mut Reader<'_>, d: &Declared<'_>, constants: Names) -> Self {
        let modes = usize::from(!d.modes.is_empty());
        let dims = Dims {
            states: d.states.len(),
            algebraic: d.algebraic,
            inputs: d.inputs.len() + d.hidden_inputs.len(),
            discrete: d.discrete.len() + modes,
            outputs: d.outputs.len() + d.hidden_outputs.len() + usize::from(d.shows_mode()),
            event_inputs: d.event_inputs.len(),
            event_outputs: d.event_outputs.len(),
            indicators: 0,
        };
        let mut f = Self {
            scope: constants,
            in_mode: Vec::new(),
            mode: None,
            dims,
            targets: HashMap::new(),
            helpers: Vec::new(),
            located: r.params.text("switching") != "ignored",
            freezer: RefCell::new(freezer(&dims)),
        };
        f.variables(r, d);
        if modes > 0 {
            let mode = VarId((dims.first_discrete() + d.discrete.len()) as u32);
            f.scope.insert(MODE, Symbol::Var(mode));
            f.mode = Some(mode);
            for (number, (name, _)) in d.modes.iter().enumerate() {
                let full = format!("{MODE}.{}", name.value);
                f.scope.insert(full, Symbol::Const(number as f64));
            }
        }
        let lets = r.table("let");
        let own: Vec<Vec<Entry<'_>>> = d.modes.iter().map(|(_, e)| part(r, e, "let")).collect();
        if own.iter().all(Vec::is_empty) {
            let mut scope = std::mem::take(&mut f.scope);
            f.helpers(r, &lets, &mut scope);
            f.in_mode = vec![scope.clone(); d.modes.len()];
            f.scope = scope;
        } else {
            f.helpers_by_mode(r, &lets, &own);
        }
        f
    }

    /// `let` expressions where modes have some of their own: each mode has all of the unit, with its own in the places
    /// of those that have their names. The unit itself has those that all modes know, as the present mode has them.
    fn helpers_by_mode(&mut self, r: &mut Reader<'_>, lets: &[Entry<'_>], own: &[Vec<Entry<'_>>]) {
        let before = r.errors.len();
        for own in own {
            let of_unit = lets
                .iter()
                .map(|unit| *own.iter().find(|e| e.0.value == unit.0.value).unwrap_or(unit));
            let more = own.iter().filter(|e| lets.iter().all(|l| l.0.value != e.0.value));
            let all: Vec<Entry<'_>> = of_unit.chain(more.copied()).collect();
            let mut scope = self.scope.clone();
            self.helpers(r, &all, &mut scope);
            self.in_mode.push(scope);
            if r.errors.len() > before {
                // Other modes would tell it again.
                break;
            }
        }
        self.in_mode.resize(own.len(), self.in_mode[0].clone());
        let names = lets.iter().chain(own.iter().flatten()).map(|e| &e.0.value);
        for name in names.collect::<BTreeSet<_>>() {
            let of_mode = |scope: &Names| match scope.lookup(name)? {
                Symbol::Const(value) => Some(Expr::constant(value)),
                Symbol::Var(v) if v.0 >= HELPERS => {
                    Some(self.helpers[(v.0 - HELPERS) as usize].clone())
                }
                _ => None,
            };
            let all: Option<Vec<Expr>> = self.in_mode.iter().map(of_mode).collect();
            let (Some(all), Some(mode)) = (all, self.mode) else { continue };
            if all.iter().all(|expr| *expr == all[0]) {
                let symbol = self.in_mode[0].lookup(name).expect("a helper of all modes");
                self.scope.insert(name.clone(), symbol);
                continue;
            }
            self.scope
                .insert(name.clone(), Symbol::Var(VarId(HELPERS + self.helpers.len() as u32)));
            self.helpers.push(Expr::choose(mode, &all));
        }
    }

    /// The formulas with switching functions as they are written.
    pub(super) fn with_switching(mut self) -> Self {
        self.located = false;
        self
    }

    /// Gives numbers to states, inputs and discrete values.
    fn variables(&mut self, r: &mut Reader<'_>, d: &Declared<'_>) {
        for time in ["t", "time"] {
            self.scope.insert(time, Symbol::Var(VarId(0)));
        }
        let variables =
            d.states.iter().copied().chain(d.all_inputs()).chain(d.discrete.iter().copied());
        let parameters = r.table("parameters");
        for (name, _) in &parameters {
            free(r, name);
        }
        let mut seen: HashSet<&str> = HashSet::from(["value"]);
        seen.extend(parameters.iter().map(|(name, _)| name.value.as_str()));
        if !d.modes.is_empty() {
            seen.insert(MODE);
        }
        for (place, (name, _)) in variables.enumerate() {
            free(r, name);
            if !seen.insert(&name.value) {
                already(r, name);
            }
            let place = Dims::STATES + place;
            self.scope.insert(name.value.clone(), Symbol::Var(VarId(place as u32)));
            if place < self.dims.first_input() || place >= self.dims.first_discrete() {
                self.targets.insert(name.value.clone(), place);
            }
        }
        self.follow(d);
    }

    /// Makes the variables known that elimination let follow from others.
    fn follow(&mut self, d: &Declared<'_>) {
        let Some(joined) = &d.joined else { return };
        for (name, expr) in &joined.explicit {
            let expr = joined.renumbered(expr, |name| self.variable(name).map(Symbol::Var));
            let symbol = match expr.as_constant() {
                Some(value) => Symbol::Const(value),
                None => Symbol::Var(VarId(HELPERS + self.helpers.len() as u32)),
            };
            self.scope.insert(name.clone(), symbol);
            self.helpers.push(expr);
        }
    }

    /// The symbol of a name.
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.scope.lookup(name)
    }

    /// The variable of a name, if it is one.
    fn variable(&self, name: &str) -> Option<VarId> {
        match self.scope.lookup(name) {
            Some(Symbol::Var(v)) if v.0 < HELPERS => Some(v),
            _ => None,
        }
    }

    /// `let` expressions, each in terms of variables alone.
    fn helpers(&mut self, r: &mut Reader<'_>, lets: &[Entry<'_>], scope: &mut Names) {
        for (name, p) in lets {
            if !free(r, name) {
                continue;
            }
            if let Some(expr) = r.expression(p, scope) {
                let expr = self.without_helpers(&expr);
                let symbol = match expr.as_constant() {
                    Some(value) => Symbol::Const(value),
                    None => Symbol::Var(VarId(HELPERS + self.helpers.len() as u32)),
                };
                let before = scope.insert(name.value.clone(), symbol);
                if matches!(before, Some(Symbol::Var(id)) if id.0 < HELPERS) {
                    already(r, name);
                }
                self.helpers.push(expr);
            }
        }
    }

    pub(super) fn without_helpers(&self, expr: &Expr) -> Expr {
        let helper = |v: &VarId| {
            let at = v.0.checked_sub(HELPERS)?;
            Some((*v, &self.helpers[at as usize]))
        };
        let by: Vec<(VarId, &Expr)> = expr.vars().iter().filter_map(helper).collect();
        expr.substitute(&by)
    }

    /// An expression in `scope`, its switching functions held still.
    fn smooth(
        &mut self,
        r: &mut Reader<'_>,
        p: &Located<Param>,
        mode: Option<usize>,
    ) -> Option<Expr> {
        let scope = mode.map_or(&self.scope, |k| &self.in_mode[k]);
        let short = r.expression(p, scope)?;
        let expr = self.without_helpers(&short);
        let more = expr.nodes().len().saturating_sub(short.nodes().len());
        if more > SHORT && !r.add(&p.span, more, 1) {
            return None;
        }
        Some(self.still(r, &p.span, &expr, mode))
    }

    /// An expression of a text at `span` with its switching functions held still.
    fn still(&mut self, r: &mut Reader<'_>, span: &Span, expr: &Expr, mode: Option<usize>) -> Expr {
        if !self.located {
            return expr.clone();
        }
        let freezer = self.freezer.get_mut();
        let before = freezer.equalities;
        let frozen = freezer.freeze(expr, mode.map(|k| k as f64));
        if freezer.equalities > before {
            r.errors.push(equality(span, false));
        }
        frozen
    }

    /// An equation of the start, in the present mode.
    pub(super) fn equation(&mut self, r: &mut Reader<'_>, p: &Located<Param>) -> Option<Expr> {
        self.smooth(r, p, None)
    }

    /// In each mode its own formula, or else the one for all; one of them must be there unless
    /// there is a `fallback`.
    fn alternatives(
        &mut self,
        r: &mut Reader<'_>,
        common: Option<&Located<Param>>,
        own: &[Option<&Located<Param>>],
        fallback: Option<f64>,
    ) -> Option<Expr> {
        let common = match common {
            Some(p) => Some(self.smooth(r, p, None)?),
            None => fallback.map(Expr::constant),
        };
        if own.iter().all(Option::is_none) {
            return common;
        }
        let mut all = Vec::with_capacity(own.len());
        for (k, p) in own.iter().enumerate() {
            all.push(match p {
                Some(p) => self.smooth(r, p, Some(k))?,
                None => common.clone()?,
            });
        }
        self.mode.map(|mode| Expr::choose(mode, &all))
    }

    /// Residuals of algebraic variables: those that elimination left, where there was one.
    pub(super) fn residuals(&mut self, r: &mut Reader<'_>, d: &Declared<'_>) -> Vec<Expr> {
        let Some(joined) = &d.joined else { return self.rates(r, d, true) };
        let here = |z: &Expr| joined.renumbered(z, |name| self.variable(name).map(Symbol::Var));
        let all: Vec<Expr> = joined.residuals.iter().map(here).collect();
        all.iter().map(|z| self.still(r, &(0..0), z, None)).collect()
    }

    /// Derivatives of states, or residuals of algebraic variables.
    pub(super) fn rates(
        &mut self,
        r: &mut Reader<'_>,
        d: &Declared<'_>,
        algebraic: bool,
    ) -> Vec<Expr> {
        let (key, what) = match algebraic {
            false => ("derivatives", "state"),
            true => ("residuals", "algebraic variable"),
        };
        let unknowns = d.unknowns(algebraic);
        let common = r.table(key);
        let own: Vec<Vec<Entry<'_>>> = d.modes.iter().map(|(_, e)| part(r, e, key)).collect();
        let states: Vec<&str> = unknowns.iter().map(|(s, _)| s.value.as_str()).collect();
        let known: HashSet<&str> = states.iter().copied().collect();
        for (name, _) in common.iter().chain(own.iter().flatten()) {
            let follows = d.joined.as_ref().is_some_and(|joined| joined.eliminates(&name.value));
            if !known.contains(name.value.as_str()) && !follows {
                let error = format!("`{}` is no {what}", name.value);
                let error = ParamError::at(name.span.clone(), error);
                let help = match (states.is_empty(), algebraic) {
                    (true, true) => format!("declare it: algebraic = {{ {} = 0 }}", name.value),
                    _ => choice(&name.value, &states, &format!("{what}s are")),
                };
                r.errors.push(error.help(help));
            }
        }
        let (common, own) = (by_name(&common), own.iter().map(|e| by_name(e)).collect::<Vec<_>>());
        let mut expressions = Vec::with_capacity(states.len());
        for (state, _) in unknowns {
            let name = state.value.as_str();
            let own: Vec<_> = own.iter().map(|table| table.get(name).copied()).collect();
            let common = common.get(name).copied();
            if common.is_none() && own.iter().all(Option::is_none) {
                let lacks = if algebraic { "residual" } else { "derivative" };
                let error = format!("{what} `{name}` has no {lacks}");
                let help = format!("add {key}.{name} = \"...\"");
                r.errors.push(ParamError::at(state.span.clone(), error).help(help));
                continue;
            }
            if algebraic && common.is_none() && own.contains(&None) {
                let k = own.iter().position(Option::is_none).unwrap_or(0);
                let mode = &d.modes[k].0.value;
                let error = format!("{what} `{name}` has no residual in mode `{mode}`");
                let help = "give it one in every mode, such as a residual that is its value there";
                r.errors.push(ParamError::at(state.span.clone(), error).help(help));
                continue;
            }
            // A state without a derivative in some mode is not active there: it keeps its value.
            expressions.extend(self.alternatives(r, common, &own, Some(0.0)));
        }
        expressions
    }

    pub(super) fn outputs(&mut self, r: &mut Reader<'_>, d: &Declared<'_>) -> Vec<Expr> {
        let own: Vec<Vec<Entry<'_>>> = d.modes.iter().map(|(_, e)| part(r, e, "outputs")).collect();
        let names: Vec<&str> = d.outputs.iter().map(|(s, _)| s.value.as_str()).collect();
        for (name, _) in own.iter().flatten() {
            if !names.contains(&name.value.as_str()) {
                let error = format!("`{}` is not an output of the unit", name.value);
                let help = "give it a formula for all modes under `outputs` of the unit first";
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
            }
        }
        let own: Vec<_> = own.iter().map(|e| by_name(e)).collect();
        let mut expressions = Vec::new();
        for (name, p) in &d.outputs {
            let own: Vec<_> = own.iter().map(|t| t.get(name.value.as_str()).copied()).collect();
            expressions.extend(self.alternatives(r, Some(p), &own, None));
        }
        if let Some(mode) = self.mode.filter(|_| d.shows_mode()) {
            expressions.push(Expr::var(mode));
        }
        for (_, p) in &d.hidden_outputs {
            expressions.extend(self.smooth(r, p, None));
        }
        expressions
    }

    /// The functions whose sides are held, in the order of these.
    pub(super) fn relations(&self) -> Vec<Frozen> {
        self.freezer.borrow().found().to_vec()
    }

    /// Lets `f` work on the functions whose sides are held.
    pub(super) fn with_freezer<R>(&self, f: impl FnOnce(&mut Freezer<Moves>) -> R) -> R {
        f(&mut self.freezer.borrow_mut())
    }
}

/// For variables of these sizes.
fn freezer(dims: &Dims) -> Freezer<Moves> {
    let still = dims.first_discrete() as u32;
    Freezer::new(VarId(dims.first_side() as u32), Box::new(move |v| v.0 < still))
}

/// A comparison for equality of what moves holds at instants that nobody would see; one of a `remainder` with
/// zero at no tick, for the remainder jumps there.
pub(super) fn equality(span: &Span, remainder: bool) -> ParamError {
    const ZERO: &str = "a remainder that moves is zero at no tick: it jumps there";
    const COUNT: &str = "keep the next multiple in a discrete value, as in when = \"x >= next\" with \
                         reset = { next = \"next + 1\" }; for multiples of time use every = \"1 s\"";
    const ERROR: &str = "`==` and `!=` compare values that move between events";
    const HELP: &str = "`==` can be a part of a `when` that must hold, as in when = \"x == 1 and n > 0\"; \
                        else compare with <= or >=, or hold the fact in a discrete value";
    let (error, help) = if remainder { (ZERO, COUNT) } else { (ERROR, HELP) };
    ParamError::at(span.clone(), error).help(help)
}

/// Whether a comparison holds only, or all but, while a remainder, `mod(a, b)`, that moves is zero.
pub(super) fn is_remainder(atom: &Compare, stands: impl Fn(&VarId) -> bool) -> bool {
    matches!(atom.relation, Comparison::Equal | Comparison::NotEqual | Comparison::LessEq)
        && matches!(atom.z.nodes().last(), Some(Node::Call(Op::Mod, _)))
        && !atom.z.vars().iter().all(stands)
}

/// The table of a mode under a key.
fn part<'a>(r: &mut Reader<'_>, mode: &[Entry<'a>], key: &str) -> Vec<Entry<'a>> {
    let Some((_, p)) = mode.iter().find(|(k, _)| k.value == key) else { return Vec::new() };
    let Param::Table(entries) = &p.value else {
        let error = ParamError::at(p.span.clone(), format!("`{key}` must be a table"));
        r.errors.push(error.help(format!("write {key} = {{ name = \"expression\" }}")));
        return Vec::new();
    };
    entries.iter().map(|(k, p)| (k, p)).collect()
}

/// Help for a name that is none of `known`.
pub(super) fn choice(name: &str, known: &[&str], which: &str) -> String {
    if known.len() > 12 {
        return match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {} of them, such as `{}`", known.len(), known[0]),
        };
    }
    format!("{which}: {}", known.join(", "))
}

/// Refuses a name that stands for a function, a constant or the time in every formula.
fn free(r: &mut Reader<'_>, name: &Located<String>) -> bool {
    let taken = built_in(&name.value);
    if let Some(what) = taken {
        let error = format!("`{}` is {what} in all formulas", name.value);
        r.errors.push(ParamError::at(name.span.clone(), error).help("choose another name"));
    }
    taken.is_none()
}

fn already(r: &mut Reader<'_>, name: &Located<String>) {
    let error = format!("`{}` is already a name of this unit", name.value);
    r.errors.push(ParamError::at(name.span.clone(), error).help("choose another name"));
}
