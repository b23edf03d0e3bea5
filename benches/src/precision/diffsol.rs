//! diffsol on a problem: the systems in Rust, sparse matrices for the large ones.
use super::{
    Limits, Run,
    problem::Problem,
    systems::{Direction, Slice, Visitor, with_system},
};
use cpu_time::ProcessTime;
use diffsol::{
    FaerSparseLU, FaerSparseMat, NalgebraLU, NalgebraMat, OdeBuilder, OdeEquations,
    OdeSolverMethod, OdeSolverStopReason, Vector,
};
use superdense_models::solve::qss::System;

const TOLERANCES: [f64; 10] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Solver {
    Tsit45,
    Esdirk34,
    TrBdf2,
    Bdf,
}

const SOLVERS: [(Solver, &str); 4] = [
    (Solver::Tsit45, "tsit45"),
    (Solver::Esdirk34, "esdirk34"),
    (Solver::TrBdf2, "tr_bdf2"),
    (Solver::Bdf, "bdf"),
];

/// Result of one solution.
struct Solution {
    states: Vec<f64>,
    steps: u64,
    seconds: f64,
}

/// The state at the end of a phase.
struct Driven {
    solution: Solution,
    last: Vec<f64>,
}

struct Attempt {
    problem: Problem,
    solver: Solver,
    tolerance: f64,
    limit: f64,
}

/// Steps to `until` and collects the samples on the way; a root is a bounce.
fn drive<'a, E, S>(
    mut solver: S,
    until: f64,
    samples: &[f64],
    found: &mut Driven,
    limit: f64,
) -> Result<(), String>
where
    E: OdeEquations<T = f64> + 'a,
    S: OdeSolverMethod<'a, E>,
{
    let text = |e: diffsol::error::DiffsolError| e.to_string();
    let begun = ProcessTime::now();
    let (mut next, mut sampled) = (0, Vec::new());
    solver.set_stop_time(until).map_err(text)?;
    loop {
        let reason = solver.step().map_err(text)?;
        found.solution.steps += 1;
        let reached = match reason {
            OdeSolverStopReason::RootFound(t, _) => t,
            _ => solver.state().t,
        };
        while next < samples.len() && samples[next] <= reached {
            sampled.extend(solver.interpolate(samples[next]).map_err(text)?.clone_as_vec());
            next += 1;
        }
        match reason {
            OdeSolverStopReason::TstopReached => break,
            OdeSolverStopReason::InternalTimestep => {}
            OdeSolverStopReason::RootFound(t, _) => {
                solver.state_mut_back(t).map_err(text)?;
                let speed = solver.state().y.clone_as_vec()[1];
                let state = solver.state_mut();
                // A hair above the floor: else the same root is found again.
                state.y.set_index(0, 1e-14);
                state.y.set_index(1, -0.9 * speed);
                state.dy.set_index(0, -0.9 * speed);
                solver.set_stop_time(until).map_err(text)?;
            }
        }
        if found.solution.steps % 256 == 0 && begun.elapsed().as_secs_f64() > limit {
            return Err(format!("takes more than {limit} s"));
        }
    }
    found.last = solver.state().y.clone_as_vec();
    found.solution.seconds += begun.elapsed().as_secs_f64();
    found.solution.states.extend(sampled);
    Ok(())
}

impl Attempt {
    fn phase<Y: System>(
        &self,
        system: &Y,
        (from, until, discrete): (f64, f64, f64),
        found: &mut Driven,
    ) -> Result<(), String> {
        let n = self.problem.states();
        let start = found.last.clone();
        let samples: Vec<f64> =
            self.problem.samples().filter(|&t| t > from && t <= until).collect();
        macro_rules! solve {
            ($matrix:ty, $linear:ty) => {{
                let text = |e: diffsol::error::DiffsolError| e.to_string();
                let built = OdeBuilder::<$matrix>::new()
                    .t0(from)
                    .h0((until - from) * 1e-6)
                    .rtol(self.tolerance)
                    .atol([self.tolerance * self.problem.absolute()])
                    .rhs_implicit(
                        move |x: &[f64], _: &[f64], _: f64, dx: &mut [f64]| {
                            let view = Slice(x, discrete);
                            for (i, dx) in dx.iter_mut().enumerate() {
                                *dx = system.derivative(i, &view, &mut Vec::new());
                            }
                        },
                        move |x: &[f64], _: &[f64], _: f64, v: &[f64], y: &mut [f64]| {
                            let view = Direction(x, v);
                            for (i, y) in y.iter_mut().enumerate() {
                                *y = system.derivative(i, &view, &mut Vec::new()).0[1];
                            }
                        },
                    )
                    .init(move |_: &[f64], _: f64, x: &mut [f64]| x.copy_from_slice(&start), n);
                if self.problem == Problem::Bounces {
                    if self.solver != Solver::Tsit45 {
                        return Err("nothing is stiff here".to_owned());
                    }
                    let root = |x: &[f64], _: &[f64], _: f64, y: &mut [f64]| y[0] = x[0];
                    let built = built.root(root, 1).build().map_err(text)?;
                    let solver = built.tsit45().map_err(text)?;
                    return drive(solver, until, &samples, found, self.limit);
                }
                let built = built.build().map_err(text)?;
                match self.solver {
                    Solver::Tsit45 => {
                        let solver = built.tsit45().map_err(text)?;
                        drive(solver, until, &samples, found, self.limit)
                    }
                    Solver::Esdirk34 => {
                        let solver = built.esdirk34::<$linear>().map_err(text)?;
                        drive(solver, until, &samples, found, self.limit)
                    }
                    Solver::TrBdf2 => {
                        let solver = built.tr_bdf2::<$linear>().map_err(text)?;
                        drive(solver, until, &samples, found, self.limit)
                    }
                    Solver::Bdf => {
                        let solver = built.bdf::<$linear>().map_err(text)?;
                        drive(solver, until, &samples, found, self.limit)
                    }
                }
            }};
        }
        if n > 20 && self.solver != Solver::Tsit45 {
            solve!(FaerSparseMat<f64>, FaerSparseLU<f64>)
        } else {
            solve!(NalgebraMat<f64>, NalgebraLU<f64>)
        }
    }
}

impl Visitor for &Attempt {
    type Result = Result<Solution, String>;
    fn visit<Y: System>(self, system: Y) -> Self::Result {
        let solution = Solution { states: Vec::new(), steps: 0, seconds: 0.0 };
        let mut found = Driven { solution, last: self.problem.start() };
        let mut from = 0.0;
        for (until, discrete) in self.problem.phases() {
            self.phase(&system, (from, until, discrete), &mut found)?;
            from = until;
        }
        Ok(found.solution)
    }
}

/// All solvers at all tolerances.
pub(super) fn runs(problem: Problem, limits: Limits, sink: &mut dyn FnMut(Run)) {
    for (solver, name) in SOLVERS {
        for tolerance in TOLERANCES {
            let attempt = Attempt { problem, solver, tolerance, limit: limits.seconds };
            let solve =
                || with_system(problem, &attempt).unwrap_or_else(|| Err("not written".to_owned()));
            let found = solve().and_then(|first| {
                let again = (0..limits.repetitions(first.seconds)).map(|_| Ok(solve()?.seconds));
                let mut times = again.collect::<Result<Vec<f64>, String>>()?;
                times.sort_by(f64::total_cmp);
                Ok(Run {
                    seconds: times[times.len() / 2],
                    steps: first.steps,
                    states: first.states,
                    ..Run::default()
                })
            });
            let mut run = found.unwrap_or_else(|why| Run { failed: Some(why), ..Run::default() });
            (run.method, run.tolerance) = (name.to_owned(), tolerance);
            let failed = run.failed.is_some();
            sink(run);
            if failed && tolerance < 1e-2 {
                break;
            }
        }
    }
}
