//! The recurrences.

use super::Step;
use super::fuse::Term;

/// How coefficient k ≥ 1 of a row follows from coefficients up to k of its operands and up to
/// k - 1 of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// a
    Copy,
    /// -a
    Neg,
    Add,
    Sub,
    Mul,
    /// a²
    Square,
    /// a times a constant b
    Scale,
    /// -(a times a constant b)
    NegScale,
    Div,
    /// a divided by a constant b
    Share,
    Sqrt,
    /// a to a constant power b
    Power,
    /// y' = y a'
    Exp,
    /// y' = a' b
    Grow,
    /// y' = -a' b
    Shrink,
    /// y' = a' (1 + b)
    Tan,
    /// y' = a' (1 - b)
    Tanh,
    /// y' b = a'
    Quotient,
    /// y' b = -a'
    NegQuotient,
    /// y' c = a' b - b' a
    Angle,
    Abs,
    Mod,
    Min,
    Max,
    Select,
    /// Terms from a to b.
    Sum,
}

/// Σ a[j] b[n-1-j]: four sums, so that additions need not wait for each other. Rows are short, so
/// that what is around the loops counts: both slices shrink to nothing.
#[inline(always)]
fn convolve(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (mut a, mut b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 4];
    while let (Some((ahead, more)), Some((less, back))) =
        (a.split_first_chunk::<4>(), b.split_last_chunk::<4>())
    {
        for j in 0..4 {
            sums[j] += ahead[j] * back[3 - j];
        }
        (a, b) = (more, less);
    }
    let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    while let ([first, more @ ..], [less @ .., last]) = (a, b) {
        sum += first * last;
        (a, b) = (more, less);
    }
    sum
}

/// Σ j a[j] b[k-j] over j = 1..=last.
#[inline(always)]
fn weighted(a: &[f64], b: &[f64], k: usize, last: usize) -> f64 {
    let (a, b) = (&a[1..=last], &b[k - last..k]);
    let (mut even, mut odd, mut j) = (0.0, 0.0, 1.0);
    let (twos, rest) = a.as_chunks::<2>();
    let (head, backwards) = b.as_rchunks::<2>();
    for (a, b) in twos.iter().zip(backwards.iter().rev()) {
        even += j * a[0] * b[1];
        odd += (j + 1.0) * a[1] * b[0];
        j += 2.0;
    }
    for (a, b) in rest.iter().zip(head) {
        even += j * a * b;
    }
    even + odd
}

/// Coefficient `k ≥ 1` of a step's row.
#[inline(always)]
pub(super) fn coefficient(
    step: &Step,
    terms: &[Term],
    rows: &[f64],
    stride: usize,
    k: usize,
) -> f64 {
    let row = |r: u32| &rows[r as usize * stride..][..k + 1];
    let [a, b, c] = step.args;
    let at = |r: u32| rows[r as usize * stride + k];
    let value = |r: u32| rows[r as usize * stride];
    let order = k as f64;
    match step.rule {
        Rule::Copy => at(a),
        Rule::Neg => -at(a),
        Rule::Add => at(a) + at(b),
        Rule::Sub => at(a) - at(b),
        Rule::Mul => convolve(row(a), row(b)),
        Rule::Square => square(row(a), k),
        Rule::Scale => at(a) * value(b),
        Rule::NegScale => -(at(a) * value(b)),
        Rule::Share => at(a) / value(b),
        Rule::Div => {
            let (b, own) = (row(b), row(step.to));
            (at(a) - convolve(&b[1..], &own[..k])) / b[0]
        }
        Rule::Sqrt => {
            let own = row(step.to);
            let known = if k > 1 { convolve(&own[1..k], &own[1..k]) } else { 0.0 };
            if vanishes(row(a), k) { 0.0 } else { (at(a) - known) / (2.0 * own[0]) }
        }
        Rule::Power => power(row(a), row(step.to), value(b), k),
        Rule::Exp => weighted(row(a), row(step.to), k, k) / order,
        Rule::Grow => weighted(row(a), row(b), k, k) / order,
        Rule::Shrink => -weighted(row(a), row(b), k, k) / order,
        Rule::Tan => at(a) + weighted(row(a), row(b), k, k) / order,
        Rule::Tanh => at(a) - weighted(row(a), row(b), k, k) / order,
        Rule::Quotient | Rule::NegQuotient => {
            let b = row(b);
            let slope = if step.rule == Rule::Quotient { at(a) } else { -at(a) };
            (slope - weighted(row(step.to), b, k, k - 1) / order) / b[0]
        }
        Rule::Angle => {
            let (a, b, c) = (row(a), row(b), row(c));
            let slope = weighted(a, b, k, k) - weighted(b, a, k, k);
            (slope - weighted(row(step.to), c, k, k - 1)) / (order * c[0])
        }
        Rule::Abs => {
            if value(a) < 0.0 {
                -at(a)
            } else {
                at(a)
            }
        }
        Rule::Mod => at(a) - at(b) * (value(a) / value(b)).floor(),
        Rule::Min => at(if value(b) < value(a) || value(b).is_nan() { b } else { a }),
        Rule::Max => at(if value(b) > value(a) || value(b).is_nan() { b } else { a }),
        Rule::Select => at(if value(a) != 0.0 { b } else { c }),
        Rule::Sum => {
            let term = |t: &Term| t.sign * (at(t.row) * value(t.factor));
            let mut terms = terms[a as usize..b as usize].iter();
            let first = terms.next().map_or(0.0, term);
            terms.fold(first, |sum, t| sum + term(t))
        }
    }
}

/// Coefficient of a², whose terms come in equal pairs.
#[inline(always)]
fn square(a: &[f64], k: usize) -> f64 {
    let half = k.div_ceil(2);
    let pairs = 2.0 * convolve(&a[..half], &a[k + 1 - half..=k]);
    if k.is_multiple_of(2) { pairs + a[half] * a[half] } else { pairs }
}

/// Whether a stays zero, as far as is known: so do its roots.
#[inline(always)]
fn vanishes(a: &[f64], k: usize) -> bool {
    a[0] == 0.0 && a[1..=k].iter().all(|&a| a == 0.0)
}

/// From `a y' = p a' y`.
fn power(a: &[f64], own: &[f64], p: f64, k: usize) -> f64 {
    if vanishes(a, k) {
        return 0.0;
    }
    let mut sum = 0.0;
    for j in 1..=k {
        sum += (p * j as f64 - (k - j) as f64) * a[j] * own[k - j];
    }
    sum / (k as f64 * a[0])
}
