use super::*;

fn all(f: impl Fn(f64) -> f64) -> Vec<(f64, f64, Vec<f64>)> {
    let mut out = Vec::new();
    let mut sample = |t: f64, row: &mut [f64]| row[0] = f(t);
    cut((1, 0), (0.0, &mut Cuts::default()), &mut sample, &mut |(a, b), _, c| {
        out.push((a, b, c.to_vec()))
    });
    out
}

/// A function that was of size one and is rounding now is not looked at more closely.
#[test]
fn rounding_of_what_was_large_is_left() {
    let (mut largest, mut count) = (Cuts::default(), 0);
    let mut wave = |t: f64, row: &mut [f64]| row[0] = t.sin();
    cut((1, 0), (0.0, &mut largest), &mut wave, &mut |_, _, _| {});
    assert!((largest.largest[0] - 0.84).abs() < 0.5);
    let mut noise = |t: f64, row: &mut [f64]| row[0] = 1e-16 * (1e9 * t).sin();
    cut((1, 0), (0.0, &mut largest), &mut noise, &mut |_, _, _| count += 1);
    assert_eq!(count, 1);
}

/// Each function is known as well beside one that must be cut as it is alone.
#[test]
fn functions_do_not_depend_on_their_order() {
    let mut line = Vec::new();
    let mut both = |t: f64, row: &mut [f64]| row.copy_from_slice(&[(500.0 * t).sin(), 50.0 * t]);
    let mut take = |(a, b): (f64, f64), f: usize, c: &[f64]| {
        if f == 1 {
            line.push(poly::eval(c, 0.5) - 50.0 * 0.5 * (a + b));
        }
    };
    cut((2, 0), (0.0, &mut Cuts::default()), &mut both, &mut take);
    assert!(line.len() > 100 && line.iter().all(|miss| miss.abs() < 1e-12), "{line:?}");
}

/// Half-waves of a rectified oscillation, which are flat at many nodes, and narrow tips of one.
#[test]
fn nothing_passes_between_the_nodes() {
    for (level, k) in [(0.0, 1000), (0.0, 7000), (0.99, 1000)] {
        let frequency = f64::from(k);
        let mut area = 0.0;
        let mut tips = |t: f64, row: &mut [f64]| {
            let z = (frequency * t).cos() - level;
            row.copy_from_slice(&[z.max(0.0), -z]);
        };
        let mut take = |(a, b): (f64, f64), _: usize, c: &[f64]| {
            let terms = c.iter().enumerate().map(|(k, c)| c / (k + 1) as f64);
            area += (b - a) * terms.sum::<f64>();
        };
        cut((1, 1), (0.0, &mut Cuts::default()), &mut tips, &mut take);
        // Of whole and broken half-waves.
        let wide = f64::acos(level);
        let wave = 2.0 * (wide.sin() - level * wide);
        let turns = (frequency / std::f64::consts::TAU).floor();
        let rest = (frequency - turns * std::f64::consts::TAU).min(std::f64::consts::TAU);
        let up = |to: f64| to.min(wide).sin() - level * to.min(wide);
        let back = (rest - (std::f64::consts::TAU - wide)).max(0.0);
        let down = wave / 2.0 - up(wide - back);
        let exact = (turns * wave + up(rest) + if back > 0.0 { down } else { 0.0 }) / frequency;
        assert!((area / exact - 1.0).abs() < 1e-8, "{level} {k}: {area} {exact}");
    }
}

/// The rest of a balance is rounding: it is noted once, not looked at more and more closely.
#[test]
fn rounding_of_a_balance_is_left() {
    let mut count = 0;
    let mut balance = |t: f64, row: &mut [f64]| {
        let (v, x) = ((3.0 * t).cos(), (3.0 * t).sin());
        row[0] = 20.0 * v * v + 20.0 * x * x - 20.0 + 1e-9 * (5.0 * t).sin();
    };
    cut((1, 0), (0.0, &mut Cuts::default()), &mut balance, &mut |_, _, _| count += 1);
    assert!(count <= 4, "{count}");
}

/// The distance of two large signals that are told apart by rounding alone where they part.
struct Parting;

impl Curves for Parting {
    fn values(&mut self, t: f64, row: &mut [f64]) {
        let z = (10.0 + 0.05 * t * t) - 10.0f64.next_down();
        row.copy_from_slice(&[z.abs(), z]);
    }
    fn roundings(&mut self, _: f64, row: &mut [f64]) {
        row.fill(40.0 * f64::EPSILON);
    }
}

/// A guide that touches zero with slope zero has no place there at which functions switch.
#[test]
fn guides_that_touch_zero_are_left() {
    let (mut cuts, mut count, mut most) = (Cuts::default(), 0, 0.0f64);
    cut((1, 1), (0.0, &mut cuts), &mut Parting, &mut |_, _, c| {
        count += 1;
        most = most.max(poly::eval(c, 1.0));
    });
    assert!(count < 60 && !cuts.is_coarse() && (most - 0.05).abs() < 1e-12, "{count}, {most}");
}

fn largest_error(f: impl Fn(f64) -> f64 + Copy) -> (usize, f64) {
    let all = all(f);
    let error = |(a, b, c): &(f64, f64, Vec<f64>)| {
        let at = |k: i32| f64::from(k) / 50.0;
        let miss = |k| (poly::eval(c, at(k)) - f(a + at(k) * (b - a))).abs();
        (0..=50).map(miss).fold(0.0, f64::max)
    };
    (all.len(), all.iter().map(error).fold(0.0, f64::max))
}

#[test]
fn rounding_of_late_times_is_not_resolved() {
    // A microsecond at 4.5 s, from zero: the value is off by a share of 1e-9.
    let late = |t: f64| (4.5 + 1e-6 * t) - 4.5;
    let mut parts = 0;
    let mut sample = |t: f64, row: &mut [f64]| row[0] = late(t);
    cut((1, 0), (4.5 * f64::EPSILON / 1e-6, &mut Cuts::default()), &mut sample, &mut |_, _, c| {
        parts += 1;
        assert!((poly::eval(c, 0.3) / 3e-7 - 1.0).abs() < 1e-8, "{c:?}");
    });
    assert_eq!(parts, 1);
}

#[test]
fn polynomials_are_met_with_their_degree() {
    let parabola = all(|t| 10.0 - 3.0 * t - 4.9 * t * t);
    assert_eq!((parabola.len(), parabola[0].2.len()), (1, 3));
    for (c, wanted) in parabola[0].2.iter().zip([10.0, -3.0, -4.9]) {
        assert!((c - wanted).abs() < 1e-13, "{parabola:?}");
    }
    assert_eq!(all(|_| 2.5), [(0.0, 1.0, vec![2.5])]);
    let (count, error) = largest_error(|t| t.powi(8) - 2.0 * t.powi(7) + 0.5);
    assert!(count == 1 && error < 1e-12, "{count} {error}");
}

#[test]
fn other_functions_are_cut_until_they_fit() {
    let (count, error) = largest_error(|t| (20.0 * t).sin());
    assert!((4..=64).contains(&count) && error < 1e-11, "{count} {error}");
    // A kink ends in a piece that is too short to matter.
    let (count, error) = largest_error(|t| (t - 0.3).abs());
    assert!(count < 100 && error < 1e-9, "{count} {error}");
    // A jump does, too, and no piece is beyond the values on both sides of it.
    let jump = all(|t| f64::from(t < 0.3));
    assert!(jump.len() < 100 && jump.iter().all(|(_, _, c)| *c == [0.0] || *c == [1.0]));
    // Rounding that is larger than that of the arguments takes no more parts than it is worth.
    let (count, error) = largest_error(|t| (3.0 * t).sin() + 1e-9 * (1e9 * t).sin());
    assert!(count <= 2 * FEW as usize && error < 1e-8, "{count} {error}");
    let (count, error) = largest_error(|t| (1e5 + (3.0 * t).sin()) - 1e5);
    assert!(count < 100 && error < 1e-10, "{count} {error}");
    let (count, error) = largest_error(|t| (200.0 * t).sin());
    assert!(count <= 500 && error < 1e-10, "{count} {error}");
    let (count, error) = largest_error(|t| (2e4 * t).sin());
    assert!((5_000..100_000).contains(&count) && error < 1e-7, "{count} {error}");
    let mut fast = |t: f64, row: &mut [f64]| row[0] = (1e7 * t).sin();
    let (mut cuts, mut count) = (Cuts::default(), [0, 0]);
    for count in &mut count {
        cut((1, 0), (0.0, &mut cuts), &mut fast, &mut |_, _, _| *count += 1);
    }
    assert!(cuts.is_coarse() && count[0] > MORE && count[1] < 2 * FEW, "{count:?}");
    assert!(all(|_| f64::NAN).len() == 1);
}
