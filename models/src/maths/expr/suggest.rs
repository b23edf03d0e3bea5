//! "Did you mean": the nearest known name by edit distance.

/// The nearest of `candidates` if it is near enough to be a slip of the keyboard: at most a third
/// of the letters (one at least) inserted, deleted, replaced or swapped with their neighbour.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 4 * limit)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(d, candidate)| d <= limit && d < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// Optimal string alignment distance; upper and lower case count as equal, so that a wrong case
/// comes first.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["sin", "sinh", "speed", "upper.x1"];
        for (name, expected) in [
            ("sni", Some("sin")),
            ("Sin", Some("sin")),
            ("sped", Some("speed")),
            ("uper.x1", Some("upper.x1")),
            ("q", None),
            ("temperature", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known).as_deref(), expected, "{name}");
        }
    }
}
