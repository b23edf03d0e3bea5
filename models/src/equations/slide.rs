//! Sliding along the surface of a switching function.
//!
//! Where the solution is driven onto a surface from both sides, it stays there, with the convex
//! combination of the derivatives of both sides that is tangential (Filippov 1988, Differential
//! Equations with Discontinuous Righthand Sides, section 2.4). With z the switching function, its
//! slopes along both fields, dz/dt = `above` for z > 0 and `below` for z < 0, tell that:
//! it slides for above < 0 < below, with
//! f = (below f₊ - above f₋) / (below - above), until one of the slopes changes its sign.
//!
//! The variable that holds the side of the function is [`SLIDING`] meanwhile. Outputs are combined
//! in the same way (equivalent control).
use crate::{
    maths::expr::{Expr, Frozen, FrozenKind, Indicator, Symbol, VarId},
    solve::equations::Dims,
};

/// The side of a function on whose surface the solution is.
pub(super) const SLIDING: f64 = 2.0;

/// Most functions in one expression: each makes it three times as large.
const MOST: usize = 6;

/// The slopes of a switching function along the fields of both sides.
#[derive(Debug, Clone)]
pub(super) struct Slopes {
    side: VarId,
    above: Expr,
    below: Expr,
    /// Sides of functions whose sliding would change these slopes.
    apart: Vec<VarId>,
}

/// A formula of `side` and of the other expressions, by their names.
fn formula(text: &str, side: VarId, by: &[(&str, &Expr)]) -> Expr {
    const PLACES: u32 = 1 << 29;
    let place = |k: usize| VarId(PLACES + k as u32);
    let scope = |name: &str| match name {
        "side" => Some(Symbol::Var(side)),
        _ => by.iter().position(|(n, _)| *n == name).map(|k| Symbol::Var(place(k))),
    };
    let formula = Expr::parse(text, &scope).expect("a formula");
    let by: Vec<(VarId, &Expr)> =
        by.iter().enumerate().map(|(k, (_, expr))| (place(k), *expr)).collect();
    formula.substitute(&by)
}

fn on_side(expr: &Expr, side: VarId, value: f64) -> Expr {
    expr.substitute(&[(side, &Expr::constant(value))])
}

/// Lets the solution slide along the surfaces of `functions`: changes derivatives and outputs, and
/// gives the slopes of those functions along whose surfaces it can. Functions without a jump need
/// none, and the slope of one that reads an input is not known.
///
/// # Errors
/// When an expression has too many switching functions.
pub(super) fn slide(
    functions: &[Frozen],
    dims: &Dims,
    derivatives: &mut [Expr],
    outputs: &mut [Expr],
) -> Result<Vec<Option<Slopes>>, String> {
    let inputs = dims.first_input()..dims.first_discrete();
    let slopes = |function: &Frozen| {
        let reads = function.function.vars();
        let driven = reads.iter().any(|v| inputs.contains(&(v.0 as usize)));
        if !function.jumps || function.kind != FrozenKind::Sign || driven {
            return None;
        }
        let along = |value: f64| {
            let one = Expr::constant(1.0);
            let field: Vec<Expr> =
                derivatives.iter().map(|dx| on_side(dx, function.side, value)).collect();
            let state = |(i, dx)| (VarId((Dims::STATES + i) as u32), dx);
            let time = std::iter::once((VarId(0), &one));
            let field: Vec<(VarId, &Expr)> =
                time.chain(field.iter().enumerate().map(state)).collect();
            function.function.derivative_along(&field)
        };
        let (above, below) = (along(1.0), along(-1.0));
        let moved = above.to_string() != below.to_string();
        moved.then_some(Slopes { side: function.side, above, below, apart: Vec::new() })
    };
    let mut all: Vec<Option<Slopes>> = functions.iter().map(slopes).collect();
    let reads =
        |s: &Slopes, side: VarId| s.above.vars().contains(&side) || s.below.vars().contains(&side);
    for k in 0..all.len() {
        let Some(one) = &all[k] else { continue };
        let coupled = |other: &&Slopes| {
            other.side != one.side && (reads(other, one.side) || reads(one, other.side))
        };
        let apart = all.iter().flatten().filter(coupled).map(|s| s.side).collect();
        if let Some(one) = &mut all[k] {
            one.apart = apart;
        }
    }
    for expr in derivatives.iter_mut().chain(outputs) {
        let read = expr.vars();
        let own: Vec<&Slopes> = all.iter().flatten().filter(|s| read.contains(&s.side)).collect();
        if own.len() > MOST {
            return Err(format!(
                "sliding along surfaces of {} functions (sign, comparisons, ...) in one \
                 expression; at most {MOST} are possible",
                own.len()
            ));
        }
        for s in own {
            *expr = s.combined(expr);
        }
    }
    Ok(all)
}

impl Slopes {
    /// The expression, combined of both sides while the solution slides.
    fn combined(&self, expr: &Expr) -> Expr {
        let (up, down) = (on_side(expr, self.side, 1.0), on_side(expr, self.side, -1.0));
        formula(
            &format!(
                "if side == {SLIDING} then (below*up - above*down)/(below - above) else plain"
            ),
            self.side,
            &[
                ("above", &self.above),
                ("below", &self.below),
                ("up", &up),
                ("down", &down),
                ("plain", expr),
            ],
        )
    }

    /// The indicator of the change to `side`: that of the surface, or while the solution slides
    /// that of leaving it.
    pub(super) fn indicator(&self, crossing: &Indicator, side: f64) -> Indicator {
        let leaving = if side < 0.0 { "below" } else { "-above" };
        let expr = formula(
            &format!("if side == {SLIDING} then {leaving} else crossing"),
            self.side,
            &[("above", &self.above), ("below", &self.below), ("crossing", &crossing.expr)],
        );
        Indicator { expr, strict: crossing.strict }
    }

    /// What the side becomes where it would change to `side`: the solution slides if both fields
    /// drive it onto the surface, unless one that it slides along already has a say in that.
    pub(super) fn becomes(&self, side: f64) -> Expr {
        let apart: String =
            (0..self.apart.len()).map(|k| format!(" and other{k} != {SLIDING}")).collect();
        let names: Vec<String> = (0..self.apart.len()).map(|k| format!("other{k}")).collect();
        let others: Vec<Expr> = self.apart.iter().map(|&other| Expr::var(other)).collect();
        let mut by = vec![("above", &self.above), ("below", &self.below)];
        by.extend(names.iter().map(String::as_str).zip(&others));
        formula(
            &format!(
                "if side != {SLIDING} and above < 0 and below > 0{apart} \
                 then {SLIDING} else ({side})"
            ),
            self.side,
            &by,
        )
    }
}
