use proptest::prelude::*;

use super::*;

/// Coefficients of the product of `(e - root)`, times `lead`.
fn from_roots(lead: f64, zeros: &[f64]) -> Vec<f64> {
    let mut c = vec![lead];
    for &zero in zeros {
        c.insert(0, 0.0);
        for k in 0..c.len() - 1 {
            c[k] -= zero * c[k + 1];
        }
    }
    c
}

fn first(c: &[f64], a: f64, b: f64) -> Option<(f64, RootKind)> {
    earliest_root(c, a, b, Direction::Both).map(|root| (root.at, root.kind))
}

#[test]
fn closed_forms() {
    use RootKind::{Falling, Rising};
    let huge = f64::INFINITY;
    type Case = (&'static [f64], f64, f64, Option<(f64, RootKind)>);
    let cases: &[Case] = &[
        (&[], 0.0, 1.0, None),
        (&[0.0, 0.0], 0.0, 1.0, None),
        (&[2.0], 0.0, huge, None),
        (&[-1.0, 3.0], 0.0, 1.0, Some((1.0 / 3.0, Rising))),
        (&[1.0, 3.0], 0.0, huge, None),
        (&[-1.0, 1.0], 0.0, 1.0, Some((1.0, Rising))),
        (&[-1.0, 1.0], 1.0, 2.0, None),
        (&[0.0, 1.0, -1.0], 0.0, huge, Some((1.0, Falling))),
        (&[2.0, -3.0, 1.0], 0.0, huge, Some((1.0, Falling))),
        (&[2.0, -3.0, 1.0], 1.5, huge, Some((2.0, Rising))),
        (&[1.0, -2.0, 1.0], 0.0, huge, None),
        // A leading coefficient that matters only far away.
        (&[-1.0, 1.0, 1e-30], 0.0, huge, Some((1.0, Rising))),
        (&[1.0, -1e8, 1.0], 0.0, 1.0, Some((1e-8, Falling))),
        (&[1e300, -2e300, 0.5e300], 0.0, 1.0, Some((2.0 - 2f64.sqrt(), Falling))),
        (&[f64::NAN, 1.0], 0.0, 1.0, None),
    ];
    for (c, a, b, expected) in cases {
        let got = first(c, *a, *b);
        match (got, expected) {
            (Some((at, kind)), Some((expect, expected_kind))) => {
                assert!((at - expect).abs() <= 4.0 * f64::EPSILON * expect, "{c:?}: {at}");
                assert_eq!(kind, *expected_kind, "{c:?}");
            }
            _ => assert_eq!(got, *expected, "{c:?} on ({a}, {b}]"),
        }
    }
}

#[test]
fn direction_filters() {
    let c = from_roots(1.0, &[1.0, 2.0, 3.0, 4.0]);
    let at = |direction| earliest_root(&c, 0.0, 9.0, direction).unwrap().at;
    assert!((at(Direction::Falling) - 1.0).abs() < 1e-14);
    assert!((at(Direction::Rising) - 2.0).abs() < 1e-14);
    assert!((at(Direction::Both) - 1.0).abs() < 1e-14);
}

#[test]
fn touching_roots_are_passed_over() {
    for zeros in [&[1.0, 1.0, 3.0][..], &[1.0, 1.0, 3.0, 5.0], &[1.0, 1.0, 1.0, 1.0, 4.0]] {
        let c = from_roots(-1.0, zeros);
        let crossing = earliest_root(&c, 1.5, 10.0, Direction::Both).unwrap();
        assert!((crossing.at - zeros.iter().find(|&&z| z > 1.5).unwrap()).abs() < 1e-13);
    }
    // A triple root crosses.
    let root = earliest_root(&from_roots(1.0, &[1.0, 1.0, 1.0]), 0.0, 5.0, Direction::Both);
    assert_eq!(root.unwrap().kind, RootKind::Rising);
}

#[test]
fn a_root_at_the_start_is_over_and_one_at_the_end_counts() {
    let c = from_roots(1.0, &[0.0, 1.0, 2.0]);
    assert!((first(&c, 0.0, 1.5).unwrap().0 - 1.0).abs() < 1e-15);
    assert!((first(&c, 0.0, 1.0).unwrap().0 - 1.0).abs() < 1e-15);
    assert_eq!(first(&c, 0.0, 0.5), None);
    // Infinite horizon of a high degree.
    assert!(
        (first(&from_roots(1e-3, &[-2.0, -3.0, 7e5]), 0.0, f64::INFINITY).unwrap().0 - 7e5).abs()
            < 1e-8
    );
}

#[test]
fn band_exit() {
    assert_eq!(first_exceed(&[2.0], 1.0, 5.0), Some(0.0));
    assert_eq!(first_exceed(&[], 1.0, 5.0), None);
    assert_eq!(first_exceed(&[0.5, 0.0], 1.0, f64::INFINITY), None);
    // On the border: outwards, inwards, inwards and out on the other side, at rest, without any width.
    assert_eq!(first_exceed(&[1e-6, 1.0], 1e-6, 5.0), Some(0.0));
    assert_eq!(first_exceed(&[-1.0, 0.0, -1.0], 1.0, 5.0), Some(0.0));
    assert_eq!(first_exceed(&[1.0, -1.0], 1.0, 1.5), None);
    assert_eq!(first_exceed(&[1.0, -1.0], 1.0, 5.0), Some(2.0));
    assert_eq!(first_exceed(&[1.0, 0.0], 1.0, 5.0), None);
    assert_eq!(first_exceed(&[0.0, 0.0, -1.0], 0.0, 5.0), Some(0.0));
    assert_eq!(first_exceed(&[0.0, 0.0], 0.0, 5.0), None);
    let cubic = first_exceed(&[0.0, 0.0, 0.0, -8.0], 1.0, f64::INFINITY).unwrap();
    assert!((cubic - 0.5).abs() < 1e-15);
    // Up to 0.9 first, then out below.
    let c = [0.0, 1.8, -0.9];
    assert!((first_exceed(&c, 1.0, 10.0).unwrap() - (1.0 + (1.9f64 / 0.9).sqrt())).abs() < 1e-14);
}

proptest! {
    #[test]
    fn shift_moves_the_origin(c in prop::collection::vec(-3.0..3.0f64, 0..9), e0 in -2.0..2.0f64, e in -2.0..2.0f64) {
        let mut moved = c.clone();
        shift(&mut moved, e0);
        prop_assert!((eval(&moved, e) - eval(&c, e + e0)).abs() < 1e-9);
    }

    #[test]
    fn separated_roots_are_found(gaps in prop::collection::vec(0.2..1.0f64, 1..12), lead in prop_oneof![Just(1.0), Just(-2.5)]) {
        let mut at = 0.0;
        let zeros: Vec<f64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        let c = from_roots(lead, &zeros);
        let (found, _) = first(&c, 0.0, at + 1.0).unwrap();
        // Conditioning: the coefficients are rounded, relative to their magnitude sum.
        let noise = c.iter().rev().fold(0.0, |sum, k| sum * zeros[0] + k.abs()) * f64::EPSILON * 16.0;
        let (_, slope) = eval_slope(&c, zeros[0]);
        prop_assert!((found - zeros[0]).abs() <= noise / slope.abs() + 1e-14, "{found} {}", zeros[0]);
    }

    #[test]
    fn nothing_is_early_and_nothing_is_skipped(c in prop::collection::vec(-1.0..1.0f64, 4..13), a in 0.0..1.0f64, w in 0.1..4.0f64) {
        let b = a + w;
        let end = first(&c, a, b).map_or(b, |(at, _)| at);
        let sign = eval(&c, a).signum();
        let size: f64 = c.iter().rev().fold(0.0, |sum, k| sum * b + k.abs());
        for k in 1..400 {
            let e = a + (end - a) * f64::from(k) / 400.0;
            prop_assert!(sign * eval(&c, e) > -1e-13 * size, "sign change at {e} before {end}");
        }
        if end < b {
            prop_assert!(sign * eval(&c, end) <= 1e-13 * size);
        }
    }
}
