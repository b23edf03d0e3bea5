//! The unit of measure that a result is printed with: its number has to count in it.
use super::{Masked, Reader};
use crate::{
    plan::selector::Piece,
    result::{How, Of, Reduction},
};
use superdense_models::maths::{
    expr::{Ast, Measure},
    quantity::{self, Unit},
};

impl Reader<'_> {
    /// The measure of a formula over reductions; a mistake is reported.
    pub(super) fn of_formula(
        &self,
        whole: Piece<'_>,
        ast: &Ast,
        masked: &Masked,
    ) -> Option<Measure> {
        let name = |name: &str| match masked.vars.get(name) {
            Some(&reduction) => self.of_reduction(&self.found.reductions[reduction as usize]),
            None if name == "stop" => of("s"),
            None => self.eval.measure(name),
        };
        let (measure, errors) = ast.measure(&name, self.session.functions());
        self.refuse_clashes(whole, masked, errors)?;
        Some(measure)
    }

    fn of_reduction(&self, reduction: &Reduction) -> Measure {
        let measure = match reduction.of {
            Of::Signal(signal) => self.of_signals.get(&signal).copied(),
            Of::Stream(_) => None,
        };
        let measure = measure.unwrap_or(Measure::Unknown);
        match reduction.how {
            How::Duration | How::First | How::Last | How::TimeOfMin | How::TimeOfMax => of("s"),
            How::Rate => of("1/s"),
            How::Integral => measure.integral(),
            How::Rms | How::Std if measure.is_scale() => Measure::Unknown,
            How::Rms | How::Std => measure,
            How::Initial | How::Final | How::At(_) | How::Mean | How::Min | How::Max => measure,
            How::Percentile(_) => measure,
            _ => Measure::Unknown,
        }
    }

    /// Refuses a unit of measure in which the number of a formula does not count. The number counts in `own`, where it
    /// is that of an output alone that has a unit of its own, and in SI base units where its measure is known.
    pub(super) fn label(
        &self,
        whole: Piece<'_>,
        label: &str,
        own: Option<&str>,
        measure: Measure,
    ) -> Option<()> {
        let Ok(unit) = quantity::unit(label) else { return Some(()) };
        let own = own.and_then(|own| quantity::unit(own).ok());
        let of_own = own.as_ref().map(Measure::of);
        let measure = of_own.filter(|_| measure == Measure::Unknown).unwrap_or(measure);
        let Some(exponents) = measure.exponents() else { return Some(()) };
        let pure = exponents.iter().all(|e| *e == 0.0);
        if Measure::of(&unit).exponents() != Some(exponents) {
            if pure {
                return Some(());
            }
            let message = format!("this is {}, and its `unit` is {label}", measure.text());
            return self.refuse(
                whole,
                message,
                "name a unit of its dimension, or leave `unit` out",
            );
        }
        let counts = |unit: &Unit| [unit.to_si(0.0), unit.to_si(1.0)];
        let base = own.as_ref().map_or([0.0, 1.0], counts);
        // Numbers in the formula may convert it, and a difference of degrees is one of kelvins.
        let fine = measure.is_scaled() || unit.is_scale() && !measure.is_scale();
        if fine || counts(&unit) == base {
            return Some(());
        }
        let text = whole.text();
        if unit.is_scale() && own.is_none() {
            let message = "this is a temperature that counts in kelvin".to_owned();
            let [zero, one] = counts(&unit);
            let written = match one - zero {
                1.0 => format!("{text} - {zero}"),
                size => format!("({text} - {zero}) / {size}"),
            };
            return self.refuse(whole, message, format!("write {written}, or unit = \"K\""));
        }
        let counted = own.map_or_else(|| "SI base units".to_owned(), |own| own.to_string());
        let size = (unit.to_si(1.0) - unit.to_si(0.0)) / (base[1] - base[0]);
        let message = format!("this counts in {counted}, and its `unit` is {label}");
        let product = text.contains(['+', '-']);
        let text = if product { format!("({text})") } else { text.to_owned() };
        self.refuse(whole, message, format!("write {text} / {size}, or leave `unit` out"))
    }
}

fn of(unit: &str) -> Measure {
    quantity::unit(unit).map_or(Measure::Unknown, |unit| Measure::of(&unit))
}
