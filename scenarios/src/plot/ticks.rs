//! Readable ticks: multiples of 1, 2 or 5 times a power of ten.
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Tick positions and their labels, with a factor that the axis label must name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    /// Positions in data units.
    pub at: Vec<f64>,
    /// Power of ten that the labels leave out.
    pub exponent: i32,
    step: f64,
    /// Instead of numbers: names of rows from the bottom up, each one unit high.
    names: Vec<String>,
    /// Positions are logarithms of what they stand for.
    decades: bool,
}

impl Ticks {
    /// About `wanted` ticks within `low..=high`.
    pub(super) fn new(low: f64, high: f64, wanted: usize) -> Self {
        let raw = (high - low) / wanted.max(1) as f64;
        let magnitude = 10f64.powi(raw.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * magnitude);
        let step = step.into_iter().find(|s| *s >= raw * 0.8).unwrap_or(magnitude * 10.0);
        // Positions come from their index, so 0.1 + 0.2 is no tick.
        let slack = 1e-9;
        let (first, last) = ((low / step - slack).ceil(), (high / step + slack).floor());
        let count = (last - first).clamp(0.0, 50.0) as usize;
        let at: Vec<f64> = (0..=count).map(|i| (first + i as f64) * step).collect();
        let largest = at.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let exponent = match largest.log10().floor() as i32 {
            _ if largest == 0.0 => 0,
            e if e >= 5 => e - e.rem_euclid(3),
            e if e <= -4 => e - e.rem_euclid(3),
            _ => 0,
        };
        Self { at, exponent, step, names: Vec::new(), decades: false }
    }

    /// Names of rows from the bottom up, each one unit high.
    pub(super) fn named(names: Vec<String>) -> Self {
        let at = (0..names.len()).map(|i| i as f64 + 0.5).collect();
        Self { at, exponent: 0, step: 1.0, names, decades: false }
    }

    /// Names of the values 0, 1, 2, ….
    pub(super) fn values(names: &[String]) -> Self {
        let at = (0..names.len()).map(|i| i as f64).collect();
        Self { at, ..Self::named(names.to_vec()) }
    }

    /// Powers of ten between these logarithms, and where there are few of them multiples.
    pub(super) fn decades(low: f64, high: f64) -> Self {
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        let parts: &[f64] = if high - low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let stride = usize::try_from((last - first) / 9 + 1).unwrap_or(1);
        let powers = (first..=last).step_by(stride);
        let all = powers.flat_map(|k| parts.iter().map(move |m| f64::from(k) + m.log10()));
        let at = all.filter(|x| (low..=high).contains(x)).collect();
        Self { at, exponent: 0, step: 1.0, names: Vec::new(), decades: true }
    }

    /// The label of a tick.
    pub(super) fn label(&self, x: f64) -> String {
        if !self.names.is_empty() {
            return self.names.get(x.max(0.0) as usize).cloned().unwrap_or_default();
        }
        if self.decades {
            let power = x.floor();
            let part = 10f64.powf(x - power).round();
            let (part, power) = if part >= 10.0 { (1.0, power + 1.0) } else { (part, power) };
            return match (part, power) {
                (part, 0.0..=3.0) => format!("{}", part * 10f64.powf(power)),
                (1.0, power) => format!("10{}", superscript(power as i32)),
                (part, power) => format!("{part}×10{}", superscript(power as i32)),
            };
        }
        let factor = 10f64.powi(self.exponent);
        let step = self.step / factor;
        let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
        let text = format!("{:.decimals$}", x / factor);
        match text.strip_prefix('-') {
            Some(digits) if digits.bytes().all(|b| b == b'0' || b == b'.') => digits.to_owned(),
            Some(digits) => format!("\u{2212}{digits}"),
            None => text,
        }
    }

    /// An axis label with the factor that the tick labels leave out.
    pub(super) fn axis_label(&self, label: &str) -> String {
        if self.exponent == 0 {
            return label.to_owned();
        }
        format!("{label}  (×10{})", superscript(self.exponent))
    }
}

/// A whole number as an exponent.
fn superscript(number: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = number.unsigned_abs().to_string();
    let power: String = text.bytes().map(|b| digits[usize::from(b - b'0')]).collect();
    if number < 0 { format!("⁻{power}") } else { power }
}

/// An axis of plotters with these ticks and labels.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    range: Range<f64>,
    ticks: Ticks,
}

impl Axis {
    /// The axis from `low` to `high`.
    pub(super) fn new((low, high): (f64, f64), ticks: &Ticks) -> Self {
        Self { range: low..high, ticks: ticks.clone() }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;
    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        let length = f64::from(limit.1 - limit.0);
        // Far outside the axis would overflow the canvas; such points are not drawn anyway.
        limit.0 + (share.clamp(-10.0, 10.0) * length).round() as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.at.clone() }
    }
    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        value.to_string()
    }
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.label(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        for (low, high, wanted, labels) in [
            (0.0, 20.0, 9, "0 2 4 6 8 10 12 14 16 18 20"),
            (0.0, 1.0, 5, "0.0 0.2 0.4 0.6 0.8 1.0"),
            (-0.31, 0.32, 6, "−0.3 −0.2 −0.1 0.0 0.1 0.2 0.3"),
            (0.0, 2.5e7, 5, "0 5 10 15 20 25"),
            (0.0, 3e-5, 3, "0 10 20 30"),
        ] {
            let t = Ticks::new(low, high, wanted);
            let found: Vec<_> = t.at.iter().map(|&x| t.label(x)).collect();
            assert_eq!(found.join(" "), labels, "{low}..{high}");
        }
        let decades = |low, high| {
            let t = Ticks::decades(low, high);
            t.at.iter().map(|&x| t.label(x)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(decades(-0.1, 3.1), "1 10 100 1000");
        assert_eq!(decades(-6.0, 1.0), "10⁻⁶ 10⁻⁵ 10⁻⁴ 10⁻³ 10⁻² 10⁻¹ 1 10");
        assert_eq!(decades(0.5, 1.4), "5 10 20");
        assert_eq!(decades(-5.2, -4.0), "10⁻⁵ 2×10⁻⁵ 5×10⁻⁵ 10⁻⁴");
        assert_eq!(Ticks::new(0.0, 2.5e7, 5).axis_label("P / W"), "P / W  (×10⁶)");
        assert_eq!(Ticks::new(0.0, 3e-5, 3).axis_label("i / A"), "i / A  (×10⁻⁶)");
    }
}
