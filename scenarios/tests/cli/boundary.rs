//! Algebraic constraints between units by `boundary-condition` (Gomes et al. 2017, section 4.3.1).
use super::library::{Results, number};

fn rows(file: &str, sets: &[&str]) -> Vec<Vec<f64>> {
    let mut all = vec!["--until", "5"];
    sets.iter().for_each(|set| all.extend(["--set", set]));
    let results = Results::of(file, &all);
    let rows = results.rows("samples.csv");
    rows.iter().map(|r| r.iter().map(|c| number(c)).collect()).collect()
}

/// Largest amount by which the condition is missed from the first step on.
fn missed(rows: &[Vec<f64>]) -> f64 {
    let g = |r: &Vec<f64>| (r[2] - r[4] + (r[1] - r[3]) / 0.1).abs();
    rows[1..].iter().map(g).fold(0.0, f64::max)
}

/// Without knowing the masses, the same as the coordinator that predicts them from their equations.
#[test]
fn a_link_needs_no_model_of_what_it_joins() {
    let (found, known) =
        (rows("papers/004_boundary_condition.toml", &[]), rows("papers/004_constraint.toml", &[]));
    assert_eq!((found.len(), known.len()), (51, 51));
    for (a, b) in found.iter().zip(&known) {
        let off = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-6, "{a:?} {b:?}");
    }
    assert!(missed(&found) < 1e-7);
}

/// Springs that are not linear: the condition holds at the end of every step; with the one correction
/// of the paper's algorithm nearly so, and better with each step.
#[test]
fn conditions_hold_for_units_that_are_not_linear() {
    let file = "papers/004_boundary_condition.toml";
    let spring = "unit.first.derivatives.v=\"(-c1*x^3 - d1*v + force)/m1\"";
    let exact = rows(file, &[spring]);
    assert!(missed(&exact) < 1e-7, "{}", missed(&exact));
    let once = rows(file, &[spring, "coupling.iterate={ method = \"newton\", corrections = 1 }"]);
    let of = missed(&once);
    assert!(1e-9 < of && of < 1e-2, "{of}");
    let (a, b) = (&exact[50], &once[50]);
    assert!((a[1] - b[1]).abs() < 1e-3, "{a:?} {b:?}");
}
