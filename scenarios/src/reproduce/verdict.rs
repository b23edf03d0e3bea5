//! Whether a number is what it must be.
use super::table::{Check, Numbers, Paper, Verdict};

/// Whether the n-th number of a check is accepted.
///
/// Where the paper prints a number and its tolerance is known, the verdict itself is tested: what is
/// called equal must agree with the paper, and what is called a misprint must not.
pub(super) fn accepted(check: &Check, n: usize, ours: f64) -> bool {
    let mut ok = ours.is_finite();
    if let Some(expected) = expected(check, n) {
        let room = check.within.unwrap_or(0.0) * expected.abs();
        ok &= (ours - expected).abs() <= room.max(check.absolute.unwrap_or(0.0));
    }
    ok &= check.least.is_none_or(|least| ours >= least);
    ok &= check.most.is_none_or(|most| ours <= most);
    if let (Some(printed), Some(within)) = (printed(check, n), check.paper_within) {
        let agrees = (ours - printed).abs() <= within * printed.abs();
        ok &= agrees == (check.verdict == Verdict::Equal);
    }
    ok
}

/// The least and the largest number that is accepted, where there is a bound.
pub(super) fn bounds(check: &Check, n: usize) -> (Option<f64>, Option<f64>) {
    let (mut low, mut high): (Vec<f64>, Vec<f64>) =
        (check.least.into_iter().collect(), check.most.into_iter().collect());
    if let Some(expected) = expected(check, n) {
        let room = check.within.unwrap_or(0.0) * expected.abs();
        let room = room.max(check.absolute.unwrap_or(0.0));
        low.push(expected - room);
        high.push(expected + room);
    }
    // Away from a misprint leads no interval.
    if let (Some(printed), Some(within), Verdict::Equal) =
        (printed(check, n), check.paper_within, check.verdict)
    {
        low.push(printed - within * printed.abs());
        high.push(printed + within * printed.abs());
    }
    (low.into_iter().reduce(f64::max), high.into_iter().reduce(f64::min))
}

/// The acceptance in words.
pub(super) fn tolerance(check: &Check, n: usize) -> String {
    let mut parts = Vec::new();
    if let Some(expected) = expected(check, n) {
        let expected = exact(expected);
        parts.push(match (check.within, check.absolute) {
            (Some(r), None) => format!("{expected} within {}", relative(r)),
            (None, Some(a)) => format!("{expected} ± {a:e}"),
            (Some(r), Some(a)) => format!("{expected} within {} or ± {a:e}", relative(r)),
            (None, None) => format!("exactly {expected}"),
        });
    }
    parts.extend(check.least.map(|x| format!("at least {}", exact(x))));
    parts.extend(check.most.map(|x| format!("at most {}", exact(x))));
    if let Some(within) = check.paper_within {
        let not = if check.verdict == Verdict::Equal { "" } else { "not " };
        parts.push(format!("{not}within {} of the paper", relative(within)));
    }
    parts.join(", ")
}

fn expected(check: &Check, n: usize) -> Option<f64> {
    check.expected.as_ref().and_then(|e| e.get(n))
}

/// The number that the paper prints.
pub(super) fn printed(check: &Check, n: usize) -> Option<f64> {
    match &check.paper {
        Some(Paper::Numbers(numbers)) => Numbers::get(numbers, n),
        _ => None,
    }
}

fn relative(x: f64) -> String {
    // A hundred times as much has the same digits.
    let percent = format!("{:.14e}", x * 100.0).parse().unwrap_or(x * 100.0);
    format!("{} %", exact(percent))
}

/// A number with all its digits: as short as it can be read back.
fn exact(x: f64) -> String {
    if x == 0.0 || (1e-3..1e7).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

/// A number for people: seven digits.
pub fn number(x: f64) -> String {
    let text = format!("{x:.6e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match exponent.parse::<i32>() {
        Ok(e) if (-3..7).contains(&e) => trimmed(&format!("{x:.*}", (6 - e) as usize)).to_owned(),
        _ => format!("{}e{exponent}", trimmed(mantissa)),
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Check {
        let text = format!("item = ''\nmeasure.formula = '1'\nreading = ''\n{text}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn bounds_and_verdicts_are_tested() {
        for (text, ours, ok) in [
            ("expected = 2\nwithin = 0.1", 2.1, true),
            ("expected = 2\nwithin = 0.1", 2.3, false),
            ("expected = 0\nabsolute = 1e-3", 5e-4, true),
            ("expected = 2", 2.0, true),
            ("expected = 2", 2.1, false),
            ("least = 1\nmost = 3", 3.5, false),
            ("least = 1\nmost = 3", f64::NAN, false),
            ("paper = 2\npaper_within = 0.1", 2.1, true),
            ("paper = 2\npaper_within = 0.1", 2.3, false),
            ("paper = 2\npaper_within = 0.1\nverdict = 'misprint'", 2.1, false),
            ("paper = 2\npaper_within = 0.1\nverdict = 'misprint'", 2.3, true),
            ("paper = 'a statement'\nmost = 1", 0.5, true),
        ] {
            assert_eq!(accepted(&check(text), 0, ours), ok, "{text}: {ours}");
        }
    }

    /// The tolerance in words is the one that is tested, to the last digit.
    #[test]
    fn acceptance_is_told_exactly() {
        for (text, told) in [
            ("expected = 2440631.64\nwithin = 1e-6", "2440631.64 within 1e-4 %"),
            ("expected = 0.999232703374\nabsolute = 1e-12", "0.999232703374 ± 1e-12"),
            (
                "least = 0.0178000001\nmost = 12345678.5",
                "at least 0.0178000001, at most 1.23456785e7",
            ),
            ("paper = 1\npaper_within = 0.07", "within 7 % of the paper"),
        ] {
            assert_eq!(tolerance(&check(text), 0), told);
        }
    }

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (0.012_345_678_9, "0.01234568"),
            (2_440_631.64, "2440632"),
            (1e-7, "1e-7"),
            (-4.521_37e-5, "-4.52137e-5"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
