//! Numbers, conditions and times from what stands in the scenario: bare numbers, quantities,
//! formulas.
use super::{
    parameters::{Number, Scope},
    session::Session,
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
};
use std::cell::Cell;
use superdense_kernel::time::{Resolution, TimeError};
use superdense_models::{
    kinds::Located,
    maths::{
        expr::{self, Condition, Function, Measure, Symbol, parse},
        quantity::{Decimal, Dimension, Quantity, TicksError, fraction},
    },
};

/// Resolutions that have a name, from the coarsest on.
const NAMED: [Resolution; 6] = [
    Resolution::SECOND,
    Resolution::MILLI,
    Resolution::MICRO,
    Resolution::NANO,
    Resolution::PICO,
    Resolution::FEMTO,
];

/// The text by which a scenario writes one of these.
fn key(resolution: Resolution) -> String {
    format!("resolution = \"{}\"", resolution.to_string().trim_start_matches("1 "))
}

/// Evaluates what stands in one place of the scenario.
pub(super) struct Evaluator<'a> {
    pub session: &'a Session,
    pub scope: &'a Scope,
    /// The array index and loop variables.
    locals: &'a [(&'a str, f64)],
    /// A local was used: the value differs between the members of an array.
    pub varies: Cell<bool>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        session: &'a Session,
        scope: &'a Scope,
        locals: &'a [(&'a str, f64)],
    ) -> Self {
        Self { session, scope, locals, varies: Cell::new(false) }
    }

    /// An evaluator whose mistakes go to another session.
    pub(super) fn reporting_to(&self, session: &'a Session) -> Self {
        Self::new(session, self.scope, self.locals)
    }

    fn local(&self, name: &str) -> Option<f64> {
        let found = self.locals.iter().find(|(n, _)| *n == name).map(|(_, x)| *x);
        if found.is_some() {
            self.varies.set(true);
        }
        found
    }

    /// The value of a name, for kinds that evaluate expressions themselves.
    pub(super) fn constant(&self, name: &str) -> Option<f64> {
        self.local(name)
            .or_else(|| self.scope.number(name, self.session)?.map(|n| n.value).or(Some(1.0)))
    }

    /// The measure of a name.
    pub(super) fn measure(&self, name: &str) -> Measure {
        if self.local(name).is_some() {
            return Measure::Number(None);
        }
        match (self.scope.number(name, self.session), name) {
            (Some(number), _) => number.map_or(Measure::Unknown, |n| n.measure),
            (None, "pi") => Measure::Number(Some(std::f64::consts::PI)),
            (None, _) => Measure::Unknown,
        }
    }

    /// Whether the unit has angles with which the quantity is written that has a name.
    pub(super) fn angles(&self, name: &str) -> Option<bool> {
        let number = self.scope.number(name, self.session)??;
        number.dimension.map(|_| number.has_angles)
    }

    /// A number from a bare number, a quantity, or an expression; a mistake is reported.
    pub(super) fn number(&self, node: &Node, what: &str) -> Option<Number> {
        let number = match &node.item {
            Item::Int(i) => Number { exact: Some(Decimal::whole(*i)), ..Number::plain(*i as f64) },
            Item::Real(x, exact) => Number { exact: *exact, ..Number::plain(*x) },
            Item::Bool(b) => Number::plain(f64::from(u8::from(*b))),
            Item::Text(t) => return self.text(&Located::new(t.clone(), node.span.clone()), what),
            _ => {
                let example = "a number such as 0.5, a quantity such as \"5 ms\", or a formula \
                               such as \"2*g\"";
                self.session.report(node.wrong_type(what, "a number", example));
                return None;
            }
        };
        if number.value.is_nan() {
            let mistake = Mistake::new("not-a-number", &node.span, format!("{what} is NaN"));
            self.session.report(mistake.help("give it a number"));
            return None;
        }
        Some(number)
    }

    fn text(&self, text: &Located<String>, what: &str) -> Option<Number> {
        match Quantity::parse(&text.value) {
            Ok(Some(q)) => {
                let dimension = Some(q.unit.dimension());
                let measure = Measure::of(&q.unit);
                let (exact, has_angles) = (q.exact_si(), q.unit.has_angles());
                let number = Number { value: q.si(), dimension, measure, exact, has_angles };
                return self.finite(number, text, what);
            }
            Err(e) => {
                let span = self.session.sources.inside(&text.span, &text.value, e.span.clone());
                let message = format!("unknown unit of measure `{}`", e.error.unknown);
                self.session
                    .report(Mistake::new("unknown-unit-of-measure", &span, message).help(e.help()));
                return None;
            }
            Ok(None) => {}
        }
        let lookup = Lookup { eval: self, wrong: Cell::new(false) };
        let name = text.value.trim();
        // A bare name passes its value on with unit and digits.
        if self.local(name).is_none()
            && let Some(number) = self.scope.number(name, self.session)
        {
            return number;
        }
        let parsed = parse(&text.value).map_err(|error| vec![error]);
        let result = parsed.and_then(|ast| Ok((ast.real(&lookup)?, ast)));
        if lookup.wrong.get() {
            return None;
        }
        let measured = result.and_then(|(expr, ast)| {
            let (measure, errors) =
                ast.measure(&|name| self.measure(name), self.session.functions());
            if errors.is_empty() { Ok((expr, measure)) } else { Err(errors) }
        });
        let (expr, measure) = match measured {
            Ok(measured) => measured,
            Err(errors) => {
                self.session.expression(text, &errors);
                return None;
            }
        };
        let value = expr.as_constant().unwrap_or_else(|| expr.eval(&[]));
        // A bare number has the digits that are written.
        let exact = Decimal::parse(name);
        let number = Number { exact, measure: measure.declared(), ..Number::plain(value) };
        self.finite(number, text, what)
    }

    fn finite(&self, number: Number, text: &Located<String>, what: &str) -> Option<Number> {
        if number.value.is_finite() {
            return Some(number);
        }
        let message = format!("{what} comes out as {}", number.value);
        let mistake = Mistake::new("not-a-number", &text.span, message);
        self.session.report(mistake.help("check for divisions by zero and overflow"));
        None
    }

    /// A truth value from `true`, or from a condition over constants.
    pub(super) fn truth(&self, node: &Node, what: &str) -> Option<bool> {
        match &node.item {
            Item::Bool(b) => Some(*b),
            Item::Text(t) => {
                let lookup = Lookup { eval: self, wrong: Cell::new(false) };
                match Condition::parse(t, &lookup) {
                    _ if lookup.wrong.get() => None,
                    Ok(c) => Some(c.eval(&[])),
                    Err(errors) => {
                        let text = Located::new(t.clone(), node.span.clone());
                        self.session.expression(&text, &errors);
                        None
                    }
                }
            }
            _ => {
                self.session.report(node.wrong_type(what, "true or false", "true or false"));
                None
            }
        }
    }

    /// A whole number.
    pub(super) fn whole(&self, node: &Node, what: &str) -> Option<i64> {
        if let Item::Int(i) = node.item {
            return Some(i);
        }
        if matches!(node.item, Item::Bool(_)) {
            self.session.report(node.wrong_type(
                what,
                "a whole number",
                "a whole number such as 3",
            ));
            return None;
        }
        let number = self.number(node, what)?;
        if number.measure.exponents().is_some_and(|e| e != [0.0; 8]) {
            let message =
                format!("{what} is {}, but must be a whole number", number.measure.text());
            let help = "write a whole number such as 3, without a unit";
            self.session.report(Mistake::new("unit-mismatch", &node.span, message).help(help));
            return None;
        }
        let x = number.value;
        if x.fract() == 0.0 && x.abs() < 9.0e15 {
            return Some(x as i64);
        }
        let (must, help) = match x.fract() == 0.0 {
            true => ("be smaller", "write a whole number between -9e15 and 9e15"),
            false => ("be a whole number", "write a whole number such as 3"),
        };
        let message = format!("{what} is {x}, but must {must}");
        self.session.report(Mistake::new("wrong-type", &node.span, message).help(help));
        None
    }

    /// Seconds of a duration, as numerator and denominator: as written, or else the simplest fraction
    /// that a formula comes to. A numerator of `i64::MAX` is infinite.
    pub(super) fn period(&self, node: &Node, what: &str) -> Option<(i64, i64)> {
        let ticks = self.ticks(node, what)?;
        let number = self.number(node, what)?;
        let computed = if number.exact.is_none() { fraction(number.value) } else { None };
        Some(computed.unwrap_or((ticks, self.session.resolution.ticks_per_second())))
    }

    /// Seconds of a duration above zero, which need not be a whole number of ticks.
    pub(super) fn seconds(&self, node: &Node, what: &str) -> Option<f64> {
        let n = self.number(node, what)?;
        let time = n.dimension.is_none_or(|d| d == Dimension::TIME);
        if !time || n.value <= 0.0 || !n.value.is_finite() {
            let message = format!("{what} is no time above zero");
            let mistake = Mistake::new("bad-duration", &node.span, message);
            self.session.report(mistake.help("write a time such as \"2 ms\""));
            return None;
        }
        Some(n.value)
    }

    /// Ticks of a duration of zero or more; bare numbers are seconds. `i64::MAX` is infinite.
    pub(super) fn ticks(&self, node: &Node, what: &str) -> Option<i64> {
        if matches!(node.item, Item::Bool(_)) {
            self.session.report(node.wrong_type(
                what,
                "a duration",
                "a duration such as \"0.1 s\"",
            ));
            return None;
        }
        let n = self.number(node, what)?;
        let report = |code, message: String, help: String| {
            self.session.report(Mistake::new(code, &node.span, message).help(help));
            None
        };
        if let Some(d) = n.dimension.filter(|d| *d != Dimension::TIME) {
            let message = format!("{what} is measured in {d}, but must be a duration");
            return report("unit-mismatch", message, "write a time such as \"0.1 s\"".into());
        }
        if n.value < 0.0 {
            let message = format!("{what} is negative ({} s)", n.value);
            return report("negative-time", message, "a duration is zero or more".into());
        }
        let resolution = self.session.resolution;
        let ticks = |r: Resolution| n.value * r.ticks_per_second() as f64;
        let too_long = || {
            let message =
                format!("{what} is beyond the largest time at a resolution of {resolution}");
            let coarser = NAMED.iter().rev().filter(|r| r.exponent() < resolution.exponent());
            let choose =
                |r: &Resolution| format!(", or choose a coarser resolution, such as {}", key(*r));
            let choose = { coarser }.find(|r| ticks(**r) < i64::MAX as f64).map(choose);
            let help = format!("give a shorter time{}", choose.unwrap_or_default());
            report("time-too-long", message, help)
        };
        if n.value == f64::INFINITY {
            return Some(i64::MAX);
        }
        match n.exact.map(|d| d.ticks(resolution)) {
            Some(Ok(ticks)) => Some(ticks),
            Some(Err(TicksError::TooLong)) => too_long(),
            Some(Err(TicksError::Finer(places))) => {
                let message = format!("{what} is no whole number of ticks of {resolution}");
                let finer = NAMED.iter().find(|r| places.is_some_and(|p| p <= r.exponent()));
                let set = finer.map_or_else(String::new, |r| format!("set {}, ", key(*r)));
                let help = format!("{set}give fewer decimals, or divide, as in \"1/3 s\"");
                report("time-too-fine", message, help)
            }
            None => match resolution.duration(n.value) {
                Ok(d) => Some(d.ticks()),
                Err(TimeError::BelowTick { .. }) => {
                    let message =
                        format!("{what} is {:e} s, less than one tick of {resolution}", n.value);
                    let help = match NAMED.iter().find(|r| ticks(**r) >= 1.0) {
                        Some(r) => format!("choose a finer resolution, such as {}", key(*r)),
                        None => "give a longer time".into(),
                    };
                    report("time-too-fine", message, help)
                }
                Err(_) => too_long(),
            },
        }
    }
}

/// The evaluator as the expression compiler sees it.
struct Lookup<'a> {
    eval: &'a Evaluator<'a>,
    /// A name is known but wrong.
    wrong: Cell<bool>,
}

impl expr::Scope for Lookup<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        if let Some(x) = self.eval.local(name) {
            return Some(Symbol::Const(x));
        }
        match self.eval.scope.number(name, self.eval.session)? {
            Some(n) => Some(Symbol::Const(n.value)),
            None => {
                self.wrong.set(true);
                Some(Symbol::Const(1.0))
            }
        }
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.eval.session.functions().get(name)
    }

    fn names(&self) -> Vec<&str> {
        let mut out: Vec<&str> = self.eval.locals.iter().map(|(n, _)| *n).collect();
        self.eval.scope.all_names(&mut out);
        out
    }
}
