//! The sides of switching functions: discrete values that change with events of the unit itself.
use super::{events::Spec, slide::Slopes, text::Reset};
use crate::{
    maths::expr::{Expr, Frozen, Program, SideChange, VarId},
    solve::equations::{Dims, Trigger, Work},
};

/// Switching functions and where their sides stand.
#[derive(Debug, Clone)]
pub(super) struct Sides {
    functions: Vec<Frozen>,
    program: Program,
    /// Place of the first side in the variables.
    first: usize,
    /// By function: those that read its side, or the side of one that does.
    readers: Vec<Vec<usize>>,
    /// By function: whether states may slide along its surface.
    slides: Vec<bool>,
}

impl Sides {
    /// Adds the events at which sides change, and their indicators.
    pub(super) fn new(
        functions: &[Frozen],
        slopes: &[Option<Slopes>],
        dims: &Dims,
        indicators: &mut Vec<Expr>,
        events: &mut Vec<Spec>,
    ) -> Self {
        for (function, slopes) in functions.iter().zip(slopes) {
            for SideChange { indicator, side, relative } in function.changes() {
                let slides = slopes.as_ref();
                let indicator = slides.map_or(indicator.clone(), |s| s.indicator(&indicator, side));
                indicators.push(indicator.expr);
                let trigger = Trigger::State {
                    indicators: vec![indicators.len() - 1],
                    strict: indicator.strict,
                    touching: None,
                };
                let new = match slides {
                    Some(slopes) => slopes.becomes(side),
                    None if relative => stepped(function.side, side),
                    None => Expr::constant(side),
                };
                let program = Program::compile([&new]);
                let targets = vec![function.side.0 as usize];
                events.push(Spec::internal(trigger, Reset { targets, emits: Vec::new(), program }));
            }
        }
        let first = dims.received() - functions.len();
        let program = Program::compile(functions.iter().map(|f| &f.function));
        let readers = (0..functions.len()).map(|k| readers(functions, k)).collect();
        let slides = slopes.iter().map(Option::is_some).collect();
        Self { functions: functions.to_vec(), program, first, readers, slides }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Sets all sides by what the functions say now. A side may depend on earlier ones.
    pub(super) fn settle(&self, vars: &mut [f64], work: &mut Work) {
        self.settle_some(|_| true, vars, work);
    }

    /// Sets the sides that depend on that of function `changed`, which has changed by its own event:
    /// what it says itself is a matter of rounding there.
    pub(super) fn follow(&self, changed: usize, vars: &mut [f64], work: &mut Work) {
        let readers = &self.readers[changed];
        if !readers.is_empty() {
            self.settle_some(|k| readers.contains(&k), vars, work);
        }
    }

    /// Whether event `number` of the sides, downwards and upwards in turn, would change one as they
    /// are; never where states may slide.
    pub(super) fn changes(&self, number: usize, vars: &[f64]) -> bool {
        let function = &self.functions[number / 2];
        let change = &function.changes()[number % 2];
        let new = change.relative || vars[function.side.0 as usize] != change.side;
        new && !self.slides[number / 2]
    }

    /// Whether `reader` is set with the side of `function`.
    pub(super) fn follows(&self, reader: usize, function: usize) -> bool {
        self.readers[function].contains(&reader)
    }

    fn settle_some(&self, chosen: impl Fn(usize) -> bool, vars: &mut [f64], work: &mut Work) {
        if self.functions.is_empty() {
            return;
        }
        let mut values = vec![0.0; self.functions.len()];
        // Each round settles at least one more level of functions within functions.
        for _ in 0..=self.functions.len().min(MAX_LEVELS) {
            self.program.eval(vars, &mut work.reset, &mut values);
            let mut changed = false;
            let sides = &mut vars[self.first..];
            let all = self.functions.iter().zip(sides).zip(&values).enumerate();
            for (_, ((function, side), &value)) in all.filter(|(k, _)| chosen(*k)) {
                let new = function.side_of(value);
                changed |= new != *side;
                *side = new;
            }
            if !changed {
                return;
            }
        }
    }
}

/// The functions that read the side of `function`, or the side of one that does.
fn readers(functions: &[Frozen], function: usize) -> Vec<usize> {
    let mut sides = vec![functions[function].side];
    let mut readers = Vec::new();
    // Inner functions come before those that use them.
    for (k, other) in functions.iter().enumerate().skip(function + 1) {
        if other.function.vars().iter().any(|v| sides.contains(v)) {
            sides.push(other.side);
            readers.push(k);
        }
    }
    readers
}

/// Functions within functions beyond this depth settle by their events.
const MAX_LEVELS: usize = 64;

/// `side + by`
fn stepped(side: VarId, by: f64) -> Expr {
    let scope = |name: &str| (name == "side").then_some(crate::maths::expr::Symbol::Var(side));
    Expr::parse(&format!("side + ({by})"), &scope).expect("a formula")
}
