mod events;
mod solver;
mod two_masses;

use super::*;

/// 2⁻⁹ tick at nanosecond resolution.
const FRESH: f64 = 1e-9 / 512.0;

/// Undamped oscillator of frequency one.
fn oscillator() -> FnSystem<impl FnMut(f64, &[f64], &mut [f64])> {
    FnSystem::new(2, |_t, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = -x[0];
    })
}

/// Free fall: height and velocity.
fn fall(g: f64) -> FnSystem<impl FnMut(f64, &[f64], &mut [f64])> {
    FnSystem::new(2, move |_t, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = -g;
    })
}

/// Runs to `end` and returns the largest error of ends and of dense output against `exact`.
fn errors<S: OdeSystem<Error = std::convert::Infallible>>(
    solver: &mut Solver,
    system: &mut S,
    end: f64,
    exact: impl Fn(f64) -> f64,
) -> (f64, f64) {
    let (mut at_ends, mut inside) = (0.0_f64, 0.0_f64);
    while solver.time() < end {
        let step = solver.step(system, Some(end)).unwrap();
        at_ends = at_ends.max((solver.state()[0] - exact(step.t1)).abs());
        for k in 1..16 {
            let t = step.t0 + (step.t1 - step.t0) * f64::from(k) / 16.0;
            inside = inside.max((solver.path().component(0, t) - exact(t)).abs());
        }
    }
    (at_ends, inside)
}
