//! `method = "auto"`: which method is likely to be the cheapest at the tolerances of a unit.
//!
//! # How
//! The solution's series at the start (after its fastest transient) and the right-hand side's
//! sensitivity there give, for each method, the length of its steps; the size of the compiled
//! equations gives what a step costs, in instructions as they were counted on this crate's own
//! methods. The cheapest method that takes the equations is used for the whole run. Nothing is
//! timed, so that the choice is the same everywhere.
//!
//! | quantity | of what it decides |
//! | --- | --- |
//! | coefficients of order 11 and 12 | step of the Taylor method (Jorba & Zou 2005, section 3) |
//! | coefficients of order 4 and 5 | step of the 5(4) pair |
//! | largest eigenvalue of the Jacobian, by power iteration | both, where the equations are stiff |
//! | a trial of some steps | step of the implicit method |
//! | coefficients of order 2 | steps of quantised states, each for itself: the activity |
//! | who reads whom | cost of such a step |
//! | a trial of quantised methods, where one leads | which of them, at equal error |
//! | the same beside some steps of the pair | whether any of them: it has to come to the same states |
use super::contest;
use crate::{
    maths::expr::{Degree, Tape, TapeMemory, VarId},
    solve::{
        Settings,
        consistent::Consistent,
        dual::Dual,
        equations::{Dims, Equations, Programs, Work},
        ode::{Method, OdeSystem, Partials, Solver},
        qss::Quanta,
        series::Series,
    },
};

/// A method that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Closed,
    Rk45,
    Taylor,
    Rodas,
    Qss1,
    Qss2,
    Liqss2,
}

impl Choice {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Rk45 => "rk45",
            Self::Taylor => "taylor",
            Self::Rodas => "rodas",
            Self::Qss1 => "qss1",
            Self::Qss2 => "qss2",
            Self::Liqss2 => "liqss2",
        }
    }

    /// The method of a solver that steps all states at once; the quantised ones have none.
    pub(super) fn stepped(self) -> Option<Method> {
        match self {
            Self::Closed => Some(Method::Closed),
            Self::Rk45 => Some(Method::Rk45),
            Self::Taylor => Some(Method::Taylor(ORDER, None)),
            Self::Rodas => Some(Method::Rodas),
            Self::Qss1 | Self::Qss2 | Self::Liqss2 => None,
        }
    }
}

const ORDER: usize = 12;
/// Steps of the pair are stable up to this over the fastest eigenvalue.
const STABLE: f64 = 3.3;

/// Quanta as large as the tolerances: what methods of either kind are compared at.
pub(super) fn quanta(settings: &Settings) -> Quanta {
    Quanta { relative: settings.solver.rtol, minimum: settings.solver.atol }
}

/// The methods with why they are where they are, likely the cheapest first.
pub(super) fn ranked<E: Equations>(
    equations: &E,
    settings: &Settings,
    vars: &[f64],
) -> Vec<(Choice, String)> {
    let Some(programs) = equations.programs() else {
        return vec![(Choice::Rk45, "the equations have no series".to_owned())];
    };
    let start = consistent(equations, settings, vars.to_vec());
    let look = |vars: &[f64]| Outlook::new(equations, &programs, settings, vars);
    // Where a solution has come to rest and nothing pulls it back, every method is free: such a place
    // says nothing about the way there.
    let settled = settled(equations, settings, &start)
        .map(|(end, vars)| (end, look(&vars), vars))
        .filter(|(end, outlook, _)| outlook.goes_on(*end));
    let (outlook, vars) =
        settled.map_or_else(|| (look(&start), start.clone()), |(_, outlook, vars)| (outlook, vars));
    let vars = &vars;
    if outlook.polynomial {
        let why = "the solution is a polynomial between events".to_owned();
        return vec![
            (Choice::Closed, why),
            (Choice::Rk45, "the closed form is refused".to_owned()),
        ];
    }
    let algebraic = equations.dims().algebraic > 0;
    let mut costs: Vec<(Choice, f64)> =
        [Choice::Rk45, Choice::Taylor, Choice::Rodas, Choice::Qss2, Choice::Liqss2]
            .into_iter()
            .filter(|c| !algebraic || c.stepped().is_some_and(Method::takes_algebraic))
            .filter(|c| outlook.smooth || *c != Choice::Taylor)
            .map(|choice| (choice, outlook.cost(choice)))
            .collect();
    costs.sort_by(|a, b| a.1.total_cmp(&b.1));
    if costs[0].0.stepped().is_none() {
        let (start, quanta) = ((equations.dims(), &vars[..]), quanta(settings));
        let (end, x) = pair(equations, settings, vars);
        if contest::misses(&programs, start, quanta, costs[0].0, (end, &x)) {
            costs.retain(|c| c.0.stepped().is_some());
        } else {
            let steps = contest::steps(&programs, start, quanta, costs[0].0);
            outlook.correct(&mut costs, &steps);
        }
    }
    let table: Vec<String> =
        costs.iter().map(|(c, cost)| format!("{} {cost:.1e}", c.name())).collect();
    let why = format!(
        "estimated instructions per second at the tolerances {:e} and {:e}: {}; fastest eigenvalue \
         {:.1e}/s, {} of {} states active",
        settings.solver.rtol,
        settings.solver.atol,
        table.join(", "),
        outlook.fastest,
        outlook.active,
        outlook.states,
    );
    costs.into_iter().map(|(choice, _)| (choice, why.clone())).collect()
}

/// The seconds until the fastest transient is over, some tens of its time constants without events,
/// and the variables then: where a stiff system spends its time. Nothing, if there is no transient or
/// the pair does not get there soon.
fn settled<E: Equations>(
    equations: &E,
    settings: &Settings,
    vars: &[f64],
) -> Option<(f64, Vec<f64>)> {
    const STEPS: usize = 300;
    let fastest = Some(fastest(equations, vars)).filter(|rate| *rate > 0.0)?;
    let dims = equations.dims();
    let states = Dims::STATES..Dims::STATES + dims.states;
    let mut system = Alone::new(equations, vars);
    let method = if dims.algebraic > 0 { Method::Rodas } else { Method::Rk45 };
    let mut solver = Solver::new(method, settings.solver.clone());
    solver.begin(0.0, &vars[states.clone()]);
    // The transient has to be gone beside the tolerances: what is left of it is in all powers of the
    // series, and makes a stiff system look as if accuracy alone kept steps short.
    let constants = 10.0 - libm::log(settings.solver.rtol.clamp(1e-16, 1.0));
    let end = (constants / fastest).min(settings.solver.max_step);
    for _ in 0..STEPS {
        solver.step(&mut system, Some(end)).ok()?;
        if solver.time() >= end {
            let mut settled = vars.to_vec();
            settled[0] += end;
            settled[states].copy_from_slice(solver.state());
            return Some((end, consistent(equations, settings, settled)));
        }
    }
    None
}

/// The variables with consistent algebraic ones, if there are any; that there are none is told when
/// the unit is made.
fn consistent<E: Equations>(equations: &E, settings: &Settings, mut vars: Vec<f64>) -> Vec<f64> {
    let tolerances = (settings.solver.rtol, settings.solver.atol);
    if equations.dims().algebraic > 0 {
        let _ = Consistent::default().find(equations, &mut vars, tolerances);
    }
    vars
}

/// The equations with all but the states as at the start.
struct Alone<'a, E> {
    equations: &'a E,
    start: f64,
    states: usize,
    now: Vec<f64>,
    work: Work,
    dual: Dual,
}

impl<'a, E: Equations> Alone<'a, E> {
    fn new(equations: &'a E, vars: &[f64]) -> Self {
        let (states, now) = (equations.dims().states, vars.to_vec());
        Self {
            equations,
            start: vars[0],
            states,
            now,
            work: Work::default(),
            dual: Dual::default(),
        }
    }

    fn put(&mut self, t: f64, x: &[f64]) {
        self.now[0] = self.start + t;
        self.now[Dims::STATES..][..self.states].copy_from_slice(x);
    }
}

impl<E: Equations> OdeSystem for Alone<'_, E> {
    type Error = std::convert::Infallible;
    fn dim(&self) -> usize {
        self.states
    }
    fn differential(&self) -> usize {
        self.equations.dims().differential()
    }
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        self.put(t, x);
        self.equations.derivatives(&self.now, &mut self.work, dx);
        Ok(())
    }
    fn linearise(&mut self, t: f64, x: &[f64], to: Partials<'_>) -> Result<bool, Self::Error> {
        self.put(t, x);
        self.dual.linearise(self.equations, &self.now, |_| 0.0, to);
        Ok(true)
    }
}

/// How far the pair comes in its first steps, and the states there.
fn pair<E: Equations>(equations: &E, settings: &Settings, vars: &[f64]) -> (f64, Vec<f64>) {
    const STEPS: usize = 100;
    let mut system = Alone::new(equations, vars);
    let mut solver = Solver::new(Method::Rk45, settings.solver.clone());
    solver.begin(0.0, &vars[Dims::STATES..][..equations.dims().states]);
    for _ in 0..STEPS {
        if solver.step(&mut system, None).is_err() {
            break;
        }
    }
    (solver.time(), solver.state().to_vec())
}

/// The mean step of the implicit method in its first ones from the start: the last one alone may
/// stand in a jump of a relaxation. None, if it fails or would have to solve systems that large.
fn implicit_step<E: Equations>(equations: &E, settings: &Settings, vars: &[f64]) -> f64 {
    const STEPS: usize = 40;
    const LARGE: usize = 200;
    let states = equations.dims().states;
    if states > LARGE {
        return 0.0;
    }
    let mut system = Alone::new(equations, vars);
    let mut solver = Solver::new(Method::Rodas, settings.solver.clone());
    solver.begin(0.0, &vars[Dims::STATES..][..states]);
    for _ in 0..STEPS {
        if solver.step(&mut system, None).is_err() {
            return 0.0;
        }
    }
    solver.time() / STEPS as f64
}

/// Facts about the equations at one point.
struct Outlook {
    states: usize,
    /// Instructions of the compiled right-hand sides, and how many reads of states they make.
    code: f64,
    reads: f64,
    polynomial: bool,
    /// The right-hand side has series wherever it is finite.
    smooth: bool,
    /// Modulus of the fastest eigenvalue, 1/s.
    fastest: f64,
    /// Steps in seconds as accuracy alone would have them.
    taylor: f64,
    pair: f64,
    /// The step of the implicit method, by a trial; zero where it is not worth one.
    implicit: f64,
    /// Steps per second of second-order quantised states, and how many states make any.
    quantised: f64,
    active: usize,
}

impl Outlook {
    fn new<E: Equations>(
        equations: &E,
        programs: &Programs,
        settings: &Settings,
        vars: &[f64],
    ) -> Self {
        let dims = equations.dims();
        let (past, n) = (dims.first_discrete(), dims.states);
        let moves = |id: VarId| (id.0 as usize) < past;
        let program = &programs.derivatives;
        let degrees = program.degrees(moves);
        let affine = degrees.iter().all(|d| *d <= Degree::Polynomial(1));
        let smooth = degrees.iter().all(|d| *d <= Degree::Smooth);
        let timed = program.inputs().iter().any(|id| id.0 == 0);
        let tape = Tape::new(program.clone(), moves);
        let stride = Method::CLOSED_ORDER + 1;
        let mut rows = vec![0.0; n * stride];
        let fill = |var: usize, row: &mut [f64]| {
            row.fill(0.0);
            row[0] = if var == 0 { 1.0 } else { 0.0 };
        };
        let ends = affine.then_some(usize::from(timed));
        let memory = &mut TapeMemory::default();
        let start = (vars, Dims::STATES);
        let length = if dims.algebraic > 0 {
            tape.solve_algebraic(memory, start, dims.algebraic, stride, fill, &mut rows);
            stride
        } else {
            tape.solve(memory, start, (stride, ends), fill, &mut rows)
        };
        let x = &vars[Dims::STATES..][..n];
        let scale = |i: usize| settings.solver.atol + settings.solver.rtol * x[i].abs();
        // The shortest step over states at which the term of this power comes down to a tolerance.
        let step = |power: usize, share: f64| {
            let of = |i: usize| scale(i) / (share * rows[i * stride + power].abs());
            let least = (0..n).map(of).fold(f64::INFINITY, f64::min);
            libm::pow(least, 1.0 / power as f64)
        };
        let rate = |i: usize| (rows[i * stride + 2].abs() / scale(i)).sqrt();
        let reads: usize = program.parts().iter().take(n).map(|part| part.inputs().len()).sum();
        let (polynomial, fastest) = (affine && length < stride, fastest(equations, vars));
        // The error constant of the pair, roughly.
        let pair = step(4, 0.05).min(step(5, 0.05));
        // Where stability does not shorten the pair's steps, the implicit method cannot be cheaper.
        let stiff = !polynomial && pair * fastest > STABLE || dims.algebraic > 0;
        Self {
            states: n,
            code: program.code().len() as f64,
            reads: reads as f64,
            polynomial,
            smooth,
            fastest,
            taylor: step(ORDER - 1, 1.0).min(step(ORDER, 1.0)),
            pair,
            implicit: if stiff { implicit_step(equations, settings, vars) } else { 0.0 },
            quantised: (0..n).map(rate).sum(),
            active: (0..n).filter(|&i| rate(i) > 1e-3).count(),
        }
    }

    /// Whether anything happens over so many seconds: a state moves by a quantum, or would decay.
    fn goes_on(&self, seconds: f64) -> bool {
        self.fastest.max(self.quantised) * seconds >= 1.0
    }

    /// Estimated instructions per second of simulated time.
    fn cost(&self, choice: Choice) -> f64 {
        let n = self.states as f64;
        // The stable methods: the pair, and series to about half their order.
        let stable = |h: f64, limit: f64| h.min(limit / self.fastest).max(f64::MIN_POSITIVE);
        match choice {
            Choice::Closed => 0.0,
            Choice::Rk45 => {
                (9.0 * (12.0 * self.code + 20.0 * n) + 1000.0) / stable(self.pair, STABLE)
            }
            Choice::Taylor => {
                let p = ORDER as f64;
                let series = (12.0 + 1.5 * p) * p * self.code + 40.0 * n;
                (series + 1000.0) / stable(self.taylor, 0.4 * p)
            }
            Choice::Rodas => {
                let slopes = (6.0 + 3.0 * (n + 1.0)) * (12.0 * self.code + 20.0 * n);
                let factors = 2.0 * n * n * n + 40.0 * n * n;
                (slopes + factors + 3000.0) / self.implicit
            }
            Choice::Qss1 | Choice::Qss2 | Choice::Liqss2 => {
                // An explicit quantiser steps back and forth at the pace of the fastest eigenvalue,
                // while it follows the solution too. So do all states, in the end: also those that
                // have come to rest.
                let rattle = if choice == Choice::Liqss2 { 0.0 } else { 0.5 * self.fastest * n };
                self.step(choice) * (self.quantised + rattle)
            }
        }
    }

    /// Estimated instructions of a step of a quantised method.
    fn step(&self, choice: Choice) -> f64 {
        let n = (self.states as f64).max(1.0);
        let readers = self.reads / n;
        let terms = if choice == Choice::Qss1 { 1.0 } else { 3.0 };
        let single = terms * 12.0 * self.code / n + 50.0 * terms;
        let own = if choice == Choice::Liqss2 { single } else { 0.0 };
        100.0 + 100.0 * terms + readers * single + own
    }

    /// Costs of quantised methods by the steps of a trial, in proportion to the first one's.
    fn correct(&self, costs: &mut Vec<(Choice, f64)>, steps: &[(Choice, f64)]) {
        let (leader, cost) = costs[0];
        let Some(&(_, own)) = steps.iter().find(|s| s.0 == leader) else { return };
        costs.retain(|c| c.0 == leader || c.0.stepped().is_some());
        let others = steps.iter().filter(|s| s.0 != leader);
        let share = |&(choice, steps): &(Choice, f64)| {
            let ratio = (self.step(choice) * steps) / (self.step(leader) * own);
            (choice, cost * ratio)
        };
        costs.extend(others.map(share));
        costs.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
}

/// Modulus of the fastest eigenvalue of the Jacobian, by power iteration with derivatives along a
/// direction; the mean over the last turns, as a complex pair makes them go up and down.
fn fastest<E: Equations>(equations: &E, vars: &[f64]) -> f64 {
    const TURNS: usize = 30;
    const COUNTED: usize = 10;
    let dims = equations.dims();
    let (n, places) = (dims.differential(), dims.algebraic_places());
    let mut residuals = vec![0.0; dims.algebraic];
    let algebra = match dims.algebraic {
        0 => None,
        _ => Consistent::default().linearise(equations, vars).ok(),
    };
    let mut work = Work::<Series<2>>::default();
    let mut v: Vec<Series<2>> = vars.iter().map(|&x| Series::from_slice(&[x])).collect();
    let mut dx = vec![Series::default(); dims.states];
    // No direction of a symmetric system is orthogonal to this one.
    let mut along: Vec<f64> = (0..n).map(|i| 1.0 + 0.37 * ((i * 7 % 11) as f64)).collect();
    let mut sum = 0.0;
    for turn in 0..TURNS {
        let norm = along.iter().map(|a| a * a).sum::<f64>().sqrt();
        if norm == 0.0 || !norm.is_finite() {
            return 0.0;
        }
        if turn > TURNS - COUNTED {
            sum += libm::log(norm);
        }
        for (v, a) in v[Dims::STATES..].iter_mut().zip(&along) {
            v.0[1] = a / norm;
        }
        if let Some(algebra) = &algebra {
            // Algebraic variables go with the states.
            v[places.clone()].iter_mut().for_each(|z| z.0[1] = 0.0);
            equations.derivatives(&v, &mut work, &mut dx);
            residuals.iter_mut().zip(&dx[n..]).for_each(|(r, dx)| *r = dx.0[1]);
            algebra.solve(&mut residuals);
            v[places.clone()].iter_mut().zip(&residuals).for_each(|(z, r)| z.0[1] = *r);
        }
        equations.derivatives(&v, &mut work, &mut dx);
        along.iter_mut().zip(&dx).for_each(|(a, dx)| *a = dx.0[1]);
    }
    libm::exp(sum / (COUNTED - 1) as f64)
}
