//! Runs that stand, or as good as stand.
//!
//! Steps of a solver have no least length but what numbers can tell apart, and a run in which they become
//! ever shorter looks like one that works. So every million steps are asked how far they went.
use super::{
    core::Scene,
    equations::Equations,
    ode::{Method, OdeSystem, Solver},
};
use serde::{Deserialize, Serialize};

/// Steps that together have to go on by a tick, and after which a method is asked whether an implicit one
/// would be much faster.
const STEPS: u64 = 1_000_000;
/// How much longer an implicit step has to be.
const LONGER: f64 = 1000.0;
/// Steps of the implicit method in its trial: each may be ten times as long as the last one.
const TRIAL: usize = 20;
/// Most states for it, since it solves linear systems of all of them.
const LARGE: usize = 200;

/// Where the last million steps began.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    steps: u64,
    restarts: u64,
    /// The unit's last tick, and seconds after it.
    last: i64,
    t: f64,
}

/// A run that goes on too slowly.
#[derive(Debug)]
pub(super) struct Slow {
    method: Method,
    /// Seconds by which the last steps went on.
    moved: f64,
    /// The next steps of the method, and of the implicit one where that is much longer.
    h: f64,
    implicit: Option<f64>,
}

impl Progress {
    /// Asks every million steps how far these went.
    #[inline]
    pub(super) fn look<E: Equations, S: OdeSystem + ?Sized>(
        &mut self,
        solver: &Solver,
        scene: &Scene<E>,
        system: &mut S,
    ) -> Option<Slow> {
        if solver.statistics().accepted < self.steps + STEPS {
            None
        } else {
            self.ask(solver, scene, system)
        }
    }

    #[cold]
    fn ask<E: Equations, S: OdeSystem + ?Sized>(
        &mut self,
        solver: &Solver,
        scene: &Scene<E>,
        system: &mut S,
    ) -> Option<Slow> {
        let before = *self;
        let (counts, t) = (solver.statistics(), solver.time());
        let last = scene.frame.last;
        *self = Self { steps: counts.accepted, restarts: counts.restarts, last, t };
        let moved = scene.seconds(last - before.last) + (t - before.t);
        let h = solver.next_step();
        let implicit = implicit_step(solver, system).filter(|long| *long >= LONGER * h);
        // Where events or messages end steps, an implicit one is no longer.
        let own = h <= LONGER * moved / STEPS as f64;
        let stiff = implicit.is_some() && own && counts.restarts == before.restarts;
        (moved < scene.tick || stiff).then(|| Slow { method: solver.method(), moved, h, implicit })
    }
}

/// The step of the implicit method after some steps from here, for methods that may be bound by stability.
fn implicit_step<S: OdeSystem + ?Sized>(solver: &Solver, system: &mut S) -> Option<f64> {
    let explicit = matches!(
        solver.method(),
        Method::Rk45 | Method::Rk23 | Method::Taylor(_, None) | Method::Closed
    );
    if !explicit || system.dim() > LARGE {
        return None;
    }
    let mut trial = Solver::new(Method::Rodas, solver.options().clone());
    trial.begin(solver.time(), solver.state());
    for _ in 0..TRIAL {
        trial.step(system, None).ok()?;
    }
    Some(trial.next_step())
}

impl Slow {
    /// The sentence about that, which begins with the equation of the state that changes fastest.
    pub(super) fn sentence(&self, equation: &str, tick: f64) -> String {
        let Self { method, moved, h, implicit } = self;
        let went =
            format!("the last {STEPS} steps went on by {moved:e} s, the next one has {h:e} s");
        match implicit {
            Some(long) => format!(
                "{equation} is too stiff for the method {}: {went}, where an implicit one would have \
                 {long:e} s; use method = \"rodas\"",
                method.name(),
            ),
            None => format!(
                "{equation} makes the time stand: {went}, while a tick is {tick:e} s; let an event end \
                 the solution before, or take a finer `resolution` if it is meant to move that fast"
            ),
        }
    }
}

/// Flips of one relation that one search finds are at most few more.
const CROWD: usize = 50;

/// A relation that flips more often than there are ticks, as where a large value passes whole numbers: the run would
/// never end. `of` gives the ticks of flips in their order, and the relations. Gives the tick, the relation, and how
/// often it flips within how many ticks.
#[inline]
pub(crate) fn crowded<T>(
    flips: &[T],
    of: impl Fn(&T) -> (i64, u16),
) -> Option<(i64, u16, (usize, i64))> {
    let (end, relation) = of(flips.get(CROWD..)?.last()?);
    let same = || flips.iter().map(&of).filter(|f| f.1 == relation);
    let (begin, count) = (same().next()?.0, same().count());
    let within = end - begin + 1;
    (count > CROWD && within <= count as i64).then_some((begin, relation, (count, within)))
}
