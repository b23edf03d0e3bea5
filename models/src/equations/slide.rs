//! Sliding along the surface of a switching function.
//!
//! Where the solution is driven onto a surface from both sides, it stays there, with the convex
//! combination of the derivatives of both sides that is tangential (Filippov 1988, Differential
//! Equations with Discontinuous Righthand Sides, section 2.4). With z the switching function, its
//! slopes along both fields, dz/dt = `above` for z > 0 and `below` for z < 0, tell that:
//! it slides for above < 0 < below, with
//! f = (below f₊ - above f₋) / (below - above), until one of the slopes changes its sign.
//!
//! The side of the function is zero meanwhile, and a relation of its own says that it slides. Outputs are
//! combined in the same way (equivalent control).
use super::refused::NoSliding;
use crate::{
    maths::expr::{Expr, Frozen, Kind, VarId},
    solve::equations::Dims,
};

/// Most functions in one expression: each makes it three times as large.
const MOST: usize = 6;

/// The slopes of a switching function along the fields of both sides.
#[derive(Debug, Clone)]
pub(super) struct Slopes {
    /// The number of the function.
    pub function: usize,
    side: VarId,
    /// A variable that is 1 while the solution slides along its surface.
    flag: VarId,
    pub above: Expr,
    pub below: Expr,
    /// The state that stands still on the surface, where the function reads no other one.
    still: Option<usize>,
    /// Which of all slopes belong to functions whose sliding would change these.
    pub apart: Vec<usize>,
}

fn on_side(expr: &Expr, side: VarId, value: f64) -> Expr {
    expr.substitute(&[(side, &Expr::constant(value))])
}

/// Lets the solution slide along the surfaces of `functions`: changes derivatives and outputs, and
/// gives the slopes of those functions along whose surfaces it can. Functions without a jump need
/// none, and the slope of one that reads an input is not known. Variables from `flags` on say along
/// which of them it slides.
///
/// # Errors
/// When an expression has too many switching functions.
pub(super) fn slide(
    functions: &[Frozen],
    (dims, flags): (&Dims, VarId),
    derivatives: &mut [Expr],
    outputs: &mut [Expr],
) -> Result<Vec<Slopes>, NoSliding> {
    let mut all: Vec<Slopes> = Vec::new();
    for (number, function) in functions.iter().enumerate() {
        let flag = VarId(flags.0 + all.len() as u32);
        all.extend(slopes((number, function), flag, dims, derivatives));
    }
    let reads =
        |s: &Slopes, side: VarId| s.above.vars().contains(&side) || s.below.vars().contains(&side);
    for k in 0..all.len() {
        let one = &all[k];
        let coupled = |other: &Slopes| {
            other.side != one.side && (reads(other, one.side) || reads(one, other.side))
        };
        let apart = (0..all.len()).filter(|&other| coupled(&all[other])).collect();
        all[k].apart = apart;
    }
    let states = derivatives.len();
    for (number, expr) in derivatives.iter_mut().chain(outputs).enumerate() {
        let read = expr.vars();
        // An output that is the function itself stands on zero: a condition of a result would hear its rounding.
        let is_it =
            |s: &Slopes| number >= states && expr.nodes() == functions[s.function].function.nodes();
        let slides = |s| (s, is_it(s));
        let own: Vec<(&Slopes, bool)> =
            all.iter().map(slides).filter(|(s, it)| read.contains(&s.side) || *it).collect();
        if own.len() > MOST {
            return Err(NoSliding::Functions { found: own.len(), most: MOST });
        }
        for (s, is_it) in own {
            // The mean of both sides is nothing for it, but for rounding, which others would hear.
            let stands = s.still == Some(number) && number < states || is_it;
            *expr = match stands {
                true => {
                    let by = [("side", &Expr::var(s.flag)), ("plain", &*expr)];
                    Expr::of("if side == 1 then 0 else plain", &by)
                }
                false => s.combined(expr),
            };
        }
    }
    Ok(all)
}

/// The slopes of a function, if the solution can slide along its surface.
fn slopes(
    (number, function): (usize, &Frozen),
    flag: VarId,
    dims: &Dims,
    derivatives: &[Expr],
) -> Option<Slopes> {
    let inputs = dims.first_input()..dims.first_discrete();
    let reads = function.function.vars();
    let driven = reads.iter().any(|v| inputs.contains(&(v.0 as usize)));
    if !function.jumps || !function.stops || function.kind != Kind::Sign || driven {
        return None;
    }
    let along = |value: f64| {
        let one = Expr::constant(1.0);
        let field: Vec<Expr> =
            derivatives.iter().map(|dx| on_side(dx, function.side, value)).collect();
        let state = |(i, dx)| (VarId((Dims::STATES + i) as u32), dx);
        let time = std::iter::once((VarId(0), &one));
        let field: Vec<(VarId, &Expr)> = time.chain(field.iter().enumerate().map(state)).collect();
        function.function.derivative_along(&field)
    };
    let (above, below) = (along(1.0), along(-1.0));
    let moved = above.nodes() != below.nodes();
    let (side, apart) = (function.side, Vec::new());
    let mut moving = reads.iter().map(|v| v.0 as usize).filter(|v| *v < dims.first_discrete());
    let still = moving.next().and_then(|v| v.checked_sub(Dims::STATES));
    let still = still.filter(|_| moving.next().is_none());
    moved.then_some(Slopes { function: number, side, flag, above, below, still, apart })
}

impl Slopes {
    /// The expression, combined of both sides while the solution slides.
    fn combined(&self, expr: &Expr) -> Expr {
        let (up, down) = (on_side(expr, self.side, 1.0), on_side(expr, self.side, -1.0));
        Expr::of(
            "if side == 1 then (below*up - above*down)/(below - above) else plain",
            &[
                ("side", &Expr::var(self.flag)),
                ("above", &self.above),
                ("below", &self.below),
                ("up", &up),
                ("down", &down),
                ("plain", expr),
            ],
        )
    }

    /// The slopes while the solution slides, for where it lets go.
    pub(super) fn while_sliding(&self) -> [Expr; 2] {
        [&self.above, &self.below].map(|slope| slope.while_equal(self.flag, 1.0, 0.0))
    }
}
