//! Values at the start that follow from equations: those of states that are `free`.
//!
//! # Why
//! Constraints, and equations of `initial`, say where a run may begin; the author knows some of the states and
//! guesses the others. Free states and algebraic variables are found together by Gauss and Newton's iteration with
//! damping (Deuflhard 2004, chapter 4). Constraints and their derivatives may say the same twice at the start,
//! as those of a pendulum at rest do, so that more equations than unknowns are right as long as all of them hold.
use super::{
    formulas::Formulas,
    index::{Reduced, reduced},
    read::{Declared, Entry, MODE, Reader, StartValues},
};
use crate::{
    kinds::{Located, Param, ParamError},
    maths::expr::{Expr, Names, VarId},
    solve::equations::Dims,
};
use nalgebra::{DMatrix, DVector};
use std::collections::HashMap;

/// Corrections after which the search gives up.
const MAX_TURNS: usize = 100;
/// A singular value so much smaller than the largest one counts as zero.
const SINGULAR: f64 = 1e-11;
/// How far an equation may be from zero in the end, relative to its terms.
const HOLDS: f64 = 1e-9;

/// The residuals of `initial`: its table without the mode; none where it is the name of a mode.
fn rows<'a>(r: &Reader<'a>) -> Vec<Entry<'a>> {
    let Some(Param::Table(entries)) = r.params.get("initial").map(|p| &p.value) else {
        return Vec::new();
    };
    let modes = r.params.get(MODE).is_some();
    let is_row = |(name, _): &&(Located<String>, _)| !modes || name.value != MODE;
    entries.iter().filter(is_row).map(|(name, p)| (name, p)).collect()
}

/// Puts found values of free states in the place of their guesses, by name, and of algebraic variables.
pub(super) struct Found(HashMap<String, f64>);

impl Found {
    /// The values of a unit at the start, with what is found.
    pub(super) fn start(
        &self,
        r: &mut Reader<'_>,
        d: &Declared<'_>,
        constants: &Names,
    ) -> StartValues {
        let mut start = StartValues::read(r, d, constants);
        for ((name, _), value) in d.states.iter().zip(&mut start.initial) {
            if let Some(found) = self.0.get(&name.value) {
                *value = *found;
            }
        }
        start
    }
}

/// Finds the values of free states; mistakes are reported.
pub(super) fn settle(r: &mut Reader<'_>, d: &Declared<'_>, constants: &Names) -> Found {
    let mut found = Found(HashMap::new());
    let (rows, free) = (rows(r), r.names("free"));
    if rows.is_empty() && free.is_empty() {
        return found;
    }
    if !r.errors.is_empty() {
        return found;
    }
    // Eliminated states are found with those that they follow from.
    let eliminated = |name: &str| d.joined.as_ref().is_some_and(|joined| joined.eliminates(name));
    let free: Vec<_> = free.into_iter().filter(|name| !eliminated(&name.value)).collect();
    let known = d.unknowns(false);
    let mut places = Vec::new();
    for name in &free {
        match known.iter().position(|(state, _)| state.value == name.value) {
            Some(k) if places.contains(&k) => {
                let error = format!("`{}` is free twice", name.value);
                r.errors.push(ParamError::at(name.span.clone(), error).help("name it once"));
            }
            Some(k) => places.push(k),
            None => {
                let error = format!("`{}` is no state of this unit", name.value);
                let help = "`free` names states whose values at the start are found; algebraic \
                            variables always are";
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
            }
        }
    }
    if rows.is_empty() && places.is_empty() {
        return found;
    }
    let mut formulas = Formulas::new(r, d, constants.clone()).with_switching();
    let own: Vec<Expr> = rows.iter().filter_map(|(_, p)| formulas.equation(r, p)).collect();
    let Some(equations) = reduced(r, d, &mut formulas).filter(|_| own.len() == rows.len()) else {
        return found;
    };
    if !counted(r, (&rows, &free), equations.constraints.len()) {
        return found;
    }
    let StartValues { initial, inputs, discrete, .. } = StartValues::read(r, d, constants);
    let mut at = [&[0.0][..], &initial, &inputs, &discrete].concat();
    at.resize(formulas.dims.variables(), 0.0);
    let mut search = Search::new(&own, &equations, &places, &formulas.dims);
    match search.run(&mut at) {
        Ok(()) => {
            let algebraic = formulas.dims.differential()..formulas.dims.states;
            for k in places.into_iter().chain(algebraic) {
                found.0.insert(d.states[k].0.value.clone(), at[Dims::STATES + k]);
            }
        }
        Err(why) => refuse(r, d, (&rows, &free, &equations), &why),
    }
    found
}

/// Whether there may be as many equations as free states.
fn counted(
    r: &mut Reader<'_>,
    (rows, free): (&[Entry<'_>], &[Located<String>]),
    constraints: usize,
) -> bool {
    let (equations, states) = (rows.len(), free.len());
    let listed = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join("`, `");
    let (span, error, help) = if equations > states {
        let names = listed(&mut rows.iter().map(|(name, _)| name.value.as_str()));
        let of = match states {
            0 => "no state is free".to_owned(),
            _ => format!("only `{}` is free", listed(&mut free.iter().map(|f| f.value.as_str()))),
        };
        let error = format!("`initial` has the equations `{names}`, but {of}");
        let help =
            "each of them finds one state: name it, free = [\"x\"], or leave the equation out";
        (&rows[states].0.span, error, help)
    } else if equations + constraints < states {
        let names = listed(&mut free.iter().map(|f| f.value.as_str()));
        let error = format!(
            "the states `{names}` are free, more than there are equations: {equations} of `initial`, constraints: \
             {constraints}"
        );
        let help = "add an equation for each: initial = { x = \"x - 2*y\" }, or leave a state out of \
                    `free`, so that it keeps its value";
        (&free[equations + constraints].span, error, help)
    } else {
        return true;
    };
    r.errors.push(ParamError::at(span.clone(), error).help(help));
    false
}

/// Why nothing was found.
enum Failed {
    /// The equations leave the free state of this number open.
    Open(usize),
    /// The equation of this number stays at a value.
    Stays(usize, f64),
}

fn refuse(
    r: &mut Reader<'_>,
    d: &Declared<'_>,
    (rows, free, equations): (&[Entry<'_>], &[Located<String>], &Reduced),
    why: &Failed,
) {
    let error = match why {
        Failed::Open(k) => {
            let error =
                format!("nothing at the start determines the free state `{}`", free[*k].value);
            let help = "add an equation to `initial` that does, begin with another guess, or leave it out of `free`, so \
                        that it keeps its value";
            ParamError::at(free[*k].span.clone(), error).help(help)
        }
        Failed::Stays(row, value) => {
            let (name, what) = named(*row, d, rows, equations);
            let error =
                format!("no values of the free states make {what} zero: it stays at {value:e}");
            let help = "begin with other guesses in `states`, let another state be free, or correct the equation";
            let error = match name {
                Some(name) => ParamError::at(name.span.clone(), error),
                None => ParamError::whole(error),
            };
            error.help(help)
        }
    };
    r.errors.push(error);
}

/// The place and name of an equation: those of `initial` come first, then constraints, then residuals.
fn named<'a>(
    row: usize,
    d: &Declared<'a>,
    rows: &[Entry<'a>],
    equations: &Reduced,
) -> (Option<&'a Located<String>>, String) {
    let Some(k) = row.checked_sub(rows.len()) else {
        let name = rows[row].0;
        return (Some(name), format!("`initial.{}`", name.value));
    };
    let constraints = &equations.constraints;
    let (residual, what) = match constraints.get(k) {
        Some((residual, _)) => (*residual, "the constraint"),
        None => (k - constraints.len(), "the residual"),
    };
    if let Some(joined) = &d.joined {
        return (None, joined.labels[residual].clone());
    }
    let name = d.unknowns(true)[residual].0;
    (Some(name), format!("{what} of `{}`", name.value))
}

/// Equations with their slopes.
struct Search {
    /// The variables that are found: free states, then algebraic ones.
    unknowns: Vec<usize>,
    free: usize,
    equations: Vec<Expr>,
    /// Per equation the numbers of the unknowns in it, with slopes.
    slopes: Vec<Vec<(usize, Expr)>>,
}

impl Search {
    fn new(own: &[Expr], reduced: &Reduced, free: &[usize], dims: &Dims) -> Self {
        let states = free.iter().map(|k| Dims::STATES + k);
        let unknowns: Vec<usize> = states.chain(dims.algebraic_places()).collect();
        let constraints = reduced.constraints.iter().map(|(_, z)| z);
        let equations: Vec<Expr> =
            own.iter().chain(constraints).chain(&reduced.residuals).cloned().collect();
        let slope = |z: &Expr| {
            let reads = z.vars();
            let those = unknowns.iter().enumerate();
            let those = those.filter(|(_, v)| reads.contains(&VarId(**v as u32)));
            those.map(|(k, v)| (k, z.differentiate(VarId(*v as u32)))).collect()
        };
        let slopes = equations.iter().map(slope).collect();
        Self { unknowns, free: free.len(), equations, slopes }
    }

    /// Residuals, and for each the size of its terms.
    fn residuals(&self, at: &[f64]) -> (DVector<f64>, Vec<f64>) {
        let size = |slopes: &Vec<(usize, Expr)>| {
            slopes.iter().map(|(k, e)| (e.eval(at) * at[self.unknowns[*k]]).abs()).sum::<f64>()
        };
        let left = self.equations.iter().map(|z| z.eval(at));
        (DVector::from_iterator(self.equations.len(), left), self.slopes.iter().map(size).collect())
    }

    /// The correction of the unknowns.
    fn correction(&self, at: &[f64], left: &DVector<f64>) -> Result<DVector<f64>, Failed> {
        let mut matrix = DMatrix::zeros(self.equations.len(), self.unknowns.len());
        for (row, slopes) in self.slopes.iter().enumerate() {
            for (k, slope) in slopes {
                matrix[(row, *k)] = slope.eval(at);
            }
        }
        let inverse = |largest: f64| if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let rows: Vec<f64> = matrix.row_iter().map(|row| inverse(row.amax())).collect();
        let mut right = -left;
        for ((mut row, factor), b) in matrix.row_iter_mut().zip(&rows).zip(right.iter_mut()) {
            row *= *factor;
            *b *= factor;
        }
        let columns: Vec<f64> = matrix.column_iter().map(|c| inverse(c.amax())).collect();
        for (mut column, factor) in matrix.column_iter_mut().zip(&columns) {
            column *= *factor;
        }
        let steep = |row: usize| matrix.row(row).iter().any(|m| !m.is_finite());
        if let Some(row) = (0..matrix.nrows()).find(|row| steep(*row)) {
            return Err(Failed::Stays(row, left[row]));
        }
        let svd = matrix.svd(true, true);
        let most = svd.singular_values.max();
        // The direction of a singular value of zero is one that no equation determines.
        if let (Some(v), Some(n)) =
            (&svd.v_t, svd.singular_values.iter().position(|s| *s <= SINGULAR * most))
        {
            let row = v.row(n);
            let size = |k: &usize| row[*k].abs();
            let found = (0..self.free).max_by(|a, b| size(a).total_cmp(&size(b)));
            if let Some(k) = found.filter(|k| size(k) > 1e-6) {
                return Err(Failed::Open(k));
            }
        }
        let step = svd.solve(&right, SINGULAR * most).map_err(|_| Failed::Stays(0, left[0]))?;
        Ok(DVector::from_fn(step.len(), |k, _| step[k] * columns[k]))
    }

    fn run(&mut self, at: &mut [f64]) -> Result<(), Failed> {
        let (mut left, mut sizes) = self.residuals(at);
        for turn in 0..MAX_TURNS {
            if left.iter().any(|r| !r.is_finite()) {
                break;
            }
            let step = match self.correction(at, &left) {
                // On the way, the search came to where equations are at their least.
                Err(Failed::Open(_)) if turn > 0 => break,
                step => step?,
            };
            let start: Vec<f64> = self.unknowns.iter().map(|&v| at[v]).collect();
            let small = step.iter().zip(&start).all(|(d, z)| d.abs() <= 1e-13 * (1.0 + z.abs()));
            let norm = |left: &DVector<f64>| {
                let scaled = left.iter().zip(&sizes).map(|(r, size)| r / (1.0 + size));
                scaled.map(|r| r * r).sum::<f64>()
            };
            let before = norm(&left);
            let mut damping = 1.0;
            let after = loop {
                for ((v, z), d) in self.unknowns.iter().zip(&start).zip(step.iter()) {
                    at[*v] = z + damping * d;
                }
                let after = self.residuals(at);
                if small || norm(&after.0) < before || before == 0.0 || damping < 1e-10 {
                    break after;
                }
                damping *= 0.5;
            };
            (left, sizes) = after;
            if small || damping < 1e-10 {
                break;
            }
        }
        let holds = |k: &usize| left[*k].abs() <= HOLDS * (1.0 + sizes[*k]);
        let off = |k: &usize| left[*k].abs() / (1.0 + sizes[*k]);
        match (0..left.len()).filter(|k| !holds(k)).max_by(|a, b| off(a).total_cmp(&off(b))) {
            Some(row) => Err(Failed::Stays(row, left[row])),
            None => Ok(()),
        }
    }
}
