//! The values that a parameter may take.

/// The step of an interval: `mantissa * 10^exponent`, exactly.
///
/// Values are multiples of it, so that a time of a design is one that a person would write, and one that
/// is a whole number of ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    mantissa: i64,
    exponent: i32,
}

impl Step {
    /// `mantissa * 10^exponent`; none that is zero or negative.
    pub fn new(mantissa: i64, exponent: i32) -> Option<Self> {
        (mantissa > 0).then_some(Self { mantissa, exponent })
    }

    /// The step whose shortest decimal is that of a float, which is how a person writes it.
    ///
    /// ```
    /// use superdense_study::Step;
    /// assert_eq!(Step::of(0.0001), Step::new(1, -4));
    /// ```
    pub fn of(size: f64) -> Option<Self> {
        let text = format!("{size:e}");
        let (digits, exponent) = text.split_once('e')?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mantissa = format!("{whole}{fraction}").parse().ok()?;
        Self::new(mantissa, exponent.parse::<i32>().ok()? - fraction.len() as i32)
    }

    /// Its size.
    pub fn size(self) -> f64 {
        self.multiple(1)
    }

    /// The float nearest to a multiple.
    pub fn multiple(self, k: i64) -> f64 {
        let mantissa = i128::from(self.mantissa) * i128::from(k);
        // The standard library rounds decimal text correctly.
        format!("{mantissa}e{}", self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The multiple nearest to a number.
    pub fn round(self, x: f64) -> f64 {
        self.multiple(self.nearest(x))
    }

    fn nearest(self, x: f64) -> i64 {
        (x / self.size()).round() as i64
    }

    /// The first and the last multiple from one number to another; the first is the larger one if there is none.
    fn between(self, from: f64, to: f64) -> (i64, i64) {
        let (first, last) = (self.nearest(from), self.nearest(to));
        let above = i64::from(self.multiple(first) < from);
        let below = i64::from(self.multiple(last) > to);
        (first + above, last - below)
    }
}

/// The values of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// From one number to another.
    Interval {
        /// The lower end.
        from: f64,
        /// The upper end.
        to: f64,
        /// The step of which values between are multiples.
        step: Option<Step>,
    },
    /// A list.
    Values(Vec<f64>),
}

impl Range {
    /// The value at a place from 0 on and below 1. A list is divided evenly, and an interval with a step among its
    /// values: rounding would give its ends half the share of the others.
    pub fn at(&self, u: f64) -> f64 {
        match self {
            Self::Interval { from, to, step: None } => (from + (to - from) * u).clamp(*from, *to),
            Self::Interval { from, to, step: Some(step) } => {
                let (first, last) = step.between(*from, *to);
                // Ends that are no multiples are values, too.
                let [before, behind] = [(first, *from), (last, *to)].map(|(k, end)| {
                    let none = first > last;
                    i64::from(none || step.multiple(k) != end)
                });
                let n = (last - first + 1).max(0) + before + behind;
                let k = ((u * n as f64) as i64).clamp(0, n - 1);
                match k - before {
                    k if k < 0 => *from,
                    k if first + k > last => *to,
                    k => step.multiple(first + k),
                }
            }
            Self::Values(values) => {
                let index = (u * values.len() as f64) as usize;
                values.get(index.min(values.len().wrapping_sub(1))).copied().unwrap_or(f64::NAN)
            }
        }
    }

    /// The nearest multiple of the step within the ends, or an end that is nearer.
    pub fn rounded(&self, x: f64) -> f64 {
        match self {
            Self::Interval { from, to, step } => {
                let multiple = step.map_or(x, |step| step.round(x)).clamp(*from, *to);
                let nearer = |best: f64, end: f64| {
                    if (end - x).abs() < (best - x).abs() { end } else { best }
                };
                nearer(nearer(multiple, *from), *to)
            }
            Self::Values(_) => x,
        }
    }

    /// So many values at equal distances, both ends included, in ascending order; fewer where steps are
    /// wider. Of a list each of its values.
    pub fn levels(&self, n: usize) -> Vec<f64> {
        match self {
            Self::Values(values) => {
                let mut levels: Vec<f64> = Vec::new();
                values.iter().for_each(|x| {
                    if !levels.contains(x) {
                        levels.push(*x)
                    }
                });
                levels
            }
            Self::Interval { from, to, .. } => {
                let last = n.saturating_sub(1).max(1) as f64;
                let at = |i: usize| match i as f64 {
                    i if i == last => *to,
                    i => self.rounded(from + (to - from) * (i / last)),
                };
                let mut levels: Vec<f64> = (0..n).map(at).collect();
                levels.dedup();
                levels
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_a_person_would_write() {
        let step = Step::new(1, -4);
        let range = Range::Interval { from: 0.001, to: 2.0, step };
        assert_eq!(range.rounded(1.159_712_345), 1.1597);
        assert_eq!(Step::new(1, -4).unwrap().multiple(11597).to_string(), "1.1597");
        assert_eq!(range.levels(3), [0.001, 1.0005, 2.0]);
        assert_eq!(range.at(0.0), 0.001);
        assert_eq!((Step::new(0, 1), Step::new(-1, 0)), (None, None));
    }

    #[test]
    fn wide_steps_leave_fewer_levels() {
        let range = Range::Interval { from: 0.0, to: 1.0, step: Step::new(5, -1) };
        assert_eq!(range.levels(9), [0.0, 0.5, 1.0]);
        let whole = Range::Interval { from: 0.0, to: 1.0, step: None };
        assert_eq!(whole.levels(5), [0.0, 0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn both_ends_are_values() {
        let range =
            |from: f64, to: f64, step: f64| Range::Interval { from, to, step: Step::of(step) };
        assert_eq!(range(3.0, 11.0, 5.0).levels(2), [3.0, 11.0]);
        assert_eq!(range(3.0, 11.0, 5.0).levels(5), [3.0, 5.0, 10.0, 11.0]);
        assert_eq!(range(0.7, 10.2, 1.0).levels(5), [0.7, 3.0, 5.0, 8.0, 10.2]);
        assert_eq!(range(-1.2, 4.0, 1.0).at(0.0), -1.2);
        assert_eq!(range(3.0, 11.0, 5.0).rounded(3.9), 3.0);
    }

    /// Rounding gave the ends half of what the others have.
    #[test]
    fn values_of_a_step_are_equally_frequent() {
        let counts = |from: f64, to: f64, step: f64, n: usize| {
            let range = Range::Interval { from, to, step: Step::of(step) };
            let mut counts: Vec<(f64, usize)> = Vec::new();
            for i in 0..n {
                let x = range.at((i as f64 + 0.5) / n as f64);
                match counts.last_mut() {
                    Some((last, count)) if *last == x => *count += 1,
                    _ => counts.push((x, 1)),
                }
            }
            counts
        };
        assert_eq!(counts(1.0, 3.0, 1.0, 300), [(1.0, 100), (2.0, 100), (3.0, 100)]);
        let both = [(0.1, 10), (0.4, 10), (0.8, 10), (0.9, 10)];
        assert_eq!(counts(0.1, 0.9, 0.4, 40), both);
        assert_eq!(counts(0.1, 0.2, 0.5, 40), [(0.1, 20), (0.2, 20)]);
        assert_eq!(counts(-1.0, 0.0, 0.5, 30), [(-1.0, 10), (-0.5, 10), (0.0, 10)]);
    }

    #[test]
    fn lists_are_divided_evenly() {
        let list = Range::Values(vec![2.0, 3.0, 4.0]);
        let found: Vec<f64> =
            [0.0, 0.33, 0.34, 0.67, 0.999_999].iter().map(|&u| list.at(u)).collect();
        assert_eq!(found, [2.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(list.levels(7), [2.0, 3.0, 4.0]);
        // 20 degC and 68 degF.
        assert_eq!(Range::Values(vec![293.15, 293.15, 300.0]).levels(3), [293.15, 300.0]);
    }
}
