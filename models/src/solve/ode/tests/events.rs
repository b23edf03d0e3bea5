use proptest::prelude::*;

use super::*;
use crate::maths::rounding;

const NANO: u64 = 1_000_000_000;

/// Locates on functions of time alone, over one step.
fn first(
    events: Vec<Event>,
    b: f64,
    z: impl FnMut(f64, &mut [f64]),
) -> (Option<f64>, Vec<Option<f64>>) {
    let mut locator = Locator::new(events);
    let found = locator.locate(0.0, b, 1e-9, z).unwrap();
    let hits = (0..locator.events().len()).map(|k| locator.hit(k)).collect();
    (found, hits)
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("an event");
    assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected, "{found} for {expected}");
}

#[test]
fn bouncing_ball() {
    let mut solver = Solver::dopri5(Options::default());
    let mut floor = Locator::new(vec![Event::when(vec![0, 1])]);
    let mut x = [10.0, 0.0];
    solver.begin(0.0, &x);
    let (mut bounces, mut steps) = (Vec::new(), 0);
    while bounces.len() < 40 {
        let step = solver.step(&mut fall(9.81), None).unwrap();
        steps += 1;
        assert!(steps < 200);
        let indicators = |t: f64, z: &mut [f64]| solver.dense(t, z);
        let hit = floor.locate(step.t0, step.t1, 0.0, indicators).unwrap();
        let t = hit.unwrap_or(step.t1);
        solver.truncate_to(t).unwrap();
        x.copy_from_slice(solver.state());
        assert!(x[0] > -1e-12, "never through the floor");
        floor.accept(t, &x);
        if hit.is_some() {
            bounces.push(t);
            x[1] *= -0.9;
            solver.restart(t, &x);
        }
    }
    let flight = (2.0 * 10.0 / 9.81f64).sqrt();
    let mut expected = flight;
    for (k, bounce) in bounces.iter().enumerate() {
        assert!((bounce - expected).abs() < 1e-12, "{k}: {bounce} {expected}");
        expected += 2.0 * flight * 0.9f64.powi(k as i32 + 1);
    }
    assert!((bounces[0] - 1.427843122927064).abs() < 1e-12);
    assert!((bounces[1] - 3.997960744195781).abs() < 1e-12);
    // Hardly more than one step a bounce: the step size survives the reset.
    assert!(steps <= 60, "{steps}");
}

/// H7: x' = 3 from -1; the crossing lies off the grid, the tick is after it, nothing follows.
#[test]
fn linear_root_off_grid() {
    let mut ramp = FnSystem::new(1, |_t, _x: &[f64], dx: &mut [f64]| dx[0] = 3.0);
    let mut solver = Solver::dopri5(Options::default());
    solver.begin(0.0, &[-1.0]);
    let mut locator = Locator::new(vec![Event::when(vec![0])]);
    let mut ticks = Vec::new();
    while solver.time() < 5.0 {
        let step = solver.step(&mut ramp, None).unwrap();
        let indicator = |t: f64, z: &mut [f64]| z[0] = -solver.path().component(0, t);
        let mut t = step.t1;
        if let Some(hit) = locator.locate(step.t0, step.t1, 1e-9, indicator).unwrap() {
            let tick = rounding::ceil_ticks(hit, NANO).unwrap();
            t = rounding::tick_seconds(tick, NANO);
            solver.truncate_to(t).unwrap();
            assert!((solver.state()[0] - 2e-9).abs() < 1e-15);
            ticks.push(tick);
        }
        locator.accept_within(t, &[-solver.state()[0]], 1e-9 / 1024.0);
    }
    assert_eq!(ticks, [333_333_334]);
}

/// H6: both modes.
#[test]
fn touching_parabola() {
    let parabola = |t: f64, z: &mut [f64]| z[0] = (t - 1.0) * (t - 1.0) + 1e-13;
    assert_eq!(first(vec![Event::when(vec![0])], 3.0, parabola).0, None);
    let (found, _) = first(vec![Event::when(vec![0]).touching(1e-9)], 3.0, parabola);
    assert!((found.unwrap() - 1.0).abs() < 1e-7);
    // Beyond the band it does not count; through zero it is an ordinary crossing.
    let above = |t: f64, z: &mut [f64]| z[0] = (t - 1.0) * (t - 1.0) + 1e-8;
    assert_eq!(first(vec![Event::when(vec![0]).touching(1e-9)], 3.0, above).0, None);
    let below = |t: f64, z: &mut [f64]| z[0] = (t - 1.0) * (t - 1.0) - 0.01;
    close(first(vec![Event::when(vec![0]).touching(1e-9)], 3.0, below).0, 0.9);
    // Strictly negative is asked, zero is touched exactly: a sign-change detector is silent.
    let strict = Event { strict: true, ..Event::when(vec![0]) };
    let exact = |t: f64, z: &mut [f64]| z[0] = (t - 1.0) * (t - 1.0);
    assert_eq!(first(vec![strict], 3.0, exact).0, None);
}

/// Touching is reported once, also when it falls on the end of a step.
#[test]
fn touching_once_over_several_steps() {
    for ends in [[1.0, 2.0, 3.0], [0.7, 1.5, 3.0], [1.0 + 1e-12, 2.0, 3.0]] {
        let mut locator = Locator::new(vec![Event::when(vec![0]).touching(1e-9)]);
        let z = |t: f64| (t - 1.0) * (t - 1.0);
        let (mut t, mut hits) = (0.0, Vec::new());
        for end in ends {
            while t < end {
                let hit = locator.locate(t, end, 1e-9, |t, out| out[0] = z(t)).unwrap();
                assert!(hits.len() < 5);
                hits.extend(hit);
                t = hit.map_or(end, |hit| if hit > t { hit } else { t });
                locator.accept(t, &[z(t)]);
            }
        }
        assert_eq!(hits.len(), 1, "{ends:?}: {hits:?}");
        assert!((hits[0] - 1.0).abs() < 1e-7);
    }
}

#[test]
fn two_crossings_in_one_large_step() {
    // A narrow dip, polynomial and not.
    for width in [0.3, 1e-2, 1e-4, 1e-6] {
        let dip = |t: f64, z: &mut [f64]| z[0] = (t - 3.3) * (t - 3.3) - width * width;
        let (found, _) = first(vec![Event::when(vec![0])], 10.0, dip);
        assert!(
            (found.unwrap() - (3.3 - width)).abs() < 1e-15 / width + 4e-15,
            "{width} {found:?}"
        );
    }
    let wave = |t: f64, z: &mut [f64]| z[0] = libm::sin(t) + 0.9995;
    let expected = 1.5 * std::f64::consts::PI - libm::acos(0.9995);
    let found = first(vec![Event::when(vec![0])], 12.0, wave).0.unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    // After the first, the second within the same step.
    let mut locator = Locator::new(vec![Event::when(vec![0])]);
    let hit = locator.locate(0.0, 12.0, 0.0, wave).unwrap().unwrap();
    locator.accept(hit, &[-0.0]);
    let again = locator.locate(hit, 12.0, 0.0, wave).unwrap().unwrap();
    assert!((again - expected - 2.0 * std::f64::consts::PI).abs() < 1e-12);
}

#[test]
fn conjunction_waits_for_its_last_condition() {
    let both = vec![Event::when(vec![0, 1])];
    let z = |t: f64, z: &mut [f64]| z.copy_from_slice(&[1.0 - t, 2.0 - t]);
    close(first(both.clone(), 4.0, z).0, 2.0);
    // The first has gone again when the second comes.
    let apart = |t: f64, z: &mut [f64]| z.copy_from_slice(&[(t - 1.0) * (t - 1.0) - 0.25, 2.0 - t]);
    assert_eq!(first(both.clone(), 4.0, apart).0, None);
    // Overlap: 1.2 to 1.5.
    let overlap =
        |t: f64, z: &mut [f64]| z.copy_from_slice(&[(t - 1.0) * (t - 1.0) - 0.25, 1.2 - t]);
    close(first(both, 4.0, overlap).0, 1.2);
}

/// H8 and H23: simultaneous and identical conditions are all reported.
#[test]
fn simultaneous_events() {
    let events = vec![
        Event::when(vec![0]),
        Event::when(vec![1]),
        Event::when(vec![0]),
        Event::when(vec![2]),
    ];
    let z = |t: f64, z: &mut [f64]| z.copy_from_slice(&[1.0 - t, 2.0 - 2.0 * t, 1.0 + 1e-6 - t]);
    let (found, hits) = first(events, 4.0, z);
    close(found, 1.0);
    for hit in &hits[..3] {
        close(*hit, 1.0);
    }
    assert_eq!(hits[0], hits[2]);
    assert_eq!(hits[3], None, "beyond the tick");
}

#[test]
fn arming_at_the_start() {
    let at = |z: fn(f64) -> f64, strict: bool| {
        let event = Event { strict, ..Event::when(vec![0]) };
        first(vec![event], 1.0, move |t, out: &mut [f64]| out[0] = z(t)).0
    };
    assert_eq!(at(|t| -1.0 - t, false), None, "a state is no event");
    assert_eq!(at(|t| -t, false), Some(0.0), "from the surface into the condition");
    assert_eq!(at(|t| t, false), None, "away from the surface");
    assert_eq!(at(|_| 0.0, false), None, "at rest");
    assert!(at(|t| -t, true).unwrap() < 1e-15);
    close(at(|t| t * (0.5 - t), false), 0.5);
    // Holds, leaves, returns.
    close(at(|t| (t - 0.25) * (0.75 - t), false), 0.75);
}

/// Whether the first event happens if a jump leads its indicator there.
fn is_due(locator: &Locator, z: f64) -> bool {
    let mut due = false;
    locator.clone().settle(&[z], |_| due = true);
    due
}

/// A strict condition whose crossing lies on a tick is computed to be false there: it happened all the
/// same, once; and so it is with one that rounding hides for many ticks.
#[test]
fn strict_conditions_happen_once() {
    let strict = Event { strict: true, ..Event::when(vec![0]) };
    let mut locator = Locator::new(vec![strict]);
    let (tick, snap) = (1e-9, 1e-9 / 1024.0);
    let ramp = |t: f64, z: &mut [f64]| z[0] = 0.5 - t;
    let hit = locator.locate(0.0, 2.0, tick, ramp).unwrap().unwrap();
    assert!(hit > 0.5 && hit < 0.5 + snap);
    locator.accept_within(0.5, &[0.0], snap);
    locator.settle(&[0.0], |_| panic!("it does not hold"));
    assert_eq!(locator.arm(0), Arm::Left);
    assert_eq!(locator.locate(0.5, 2.0, tick, ramp).unwrap(), None);
    locator.pass();
    // Rounding hides it at the next ticks, too.
    for k in 1..4 {
        let t = 0.5 + f64::from(k) * tick;
        locator.accept_within(t, &[0.0], snap);
        assert_eq!(locator.locate(t, 2.0, tick, |s, z| z[0] = t - s).unwrap(), None);
        locator.pass();
    }
    // What really leaves happens again, and what a jump leads back into it.
    let hump = |t: f64, z: &mut [f64]| z[0] = (t - 0.6) * (1.0 - t);
    close(locator.locate(0.5 + 4e-9, 2.0, tick, hump).unwrap(), 1.0);
    locator.accept_within(0.7, &[0.03], snap);
    assert_eq!(locator.arm(0), Arm::Armed);
    assert!(is_due(&locator, -1.0));
}

/// What lies farther on in a step that an input cuts short has not happened.
#[test]
fn a_cut_step_arms_nothing() {
    let mut locator = Locator::new(vec![Event::when(vec![0])]);
    let parabola = |t: f64, z: &mut [f64]| z[0] = (t - 1.0) * (t - 3.0);
    let hit = locator.locate(0.0, 5.0, 0.0, parabola).unwrap().unwrap();
    locator.accept(hit, &[0.0]);
    assert_eq!(locator.locate(hit, 5.0, 0.0, parabola).unwrap(), None);
    locator.pass();
    assert_eq!((locator.passed(0), locator.arm(0)), (Arm::Armed, Arm::Happened));
    locator.accept(2.0, &[-1.0]);
    assert!(!is_due(&locator, -1.0), "it has held all the time");
    // To the end of the step the event is armed again.
    assert_eq!(locator.locate(2.0, 5.0, 0.0, parabola).unwrap(), None);
    locator.accept(5.0, &[8.0]);
    assert!(is_due(&locator, -1.0));
}

#[test]
fn rearming_after_an_event() {
    let mut locator = Locator::new(vec![Event::when(vec![0])]);
    let ramp = |t: f64, z: &mut [f64]| z[0] = 1.0 - t;
    let hit = locator.locate(0.0, 2.0, 1e-9, ramp).unwrap().unwrap();
    // Truncation before the hit leaves the event armed.
    let mut other = locator.clone();
    other.accept(0.5, &[0.5]);
    assert_eq!(other.arm(0), Arm::Armed);
    let restored: Locator = postcard::from_bytes(&postcard::to_stdvec(&locator).unwrap()).unwrap();
    assert_eq!((restored.hit(0), restored.arm(0)), (Some(hit), locator.arm(0)));
    // No reset at all, and a tick just before the crossing: the same crossing is not new.
    let tick = hit - 1e-9 / 1100.0;
    locator.accept_within(tick, &[1.0 - tick], 1e-9 / 1024.0);
    assert_eq!(locator.arm(0), Arm::Happened);
    assert_eq!(locator.locate(tick, 2.0, 1e-9, ramp).unwrap(), None);
    // A jump far off the surface re-arms within the same step.
    let later = |t: f64, z: &mut [f64]| z[0] = 1.5 - t;
    close(locator.locate(tick, 2.0, 1e-9, later).unwrap(), 1.5);
    // Staying inside does not.
    locator.accept(1.5, &[0.0]);
    assert_eq!(locator.locate(1.5, 2.0, 1e-9, |_, z| z[0] = 0.0).unwrap(), None);
    // A jump of something else makes an armed condition true: at once.
    locator.accept(2.0, &[0.0]);
    locator.settle(&[1.0], |_| panic!("it does not hold"));
    assert_eq!(locator.locate(2.0, 3.0, 1e-9, |_, z| z[0] = -1.0).unwrap(), Some(2.0));
}

#[test]
fn an_indicator_that_is_not_finite_is_named() {
    let mut locator = Locator::new(vec![Event::when(vec![1])]);
    let z = |t: f64, z: &mut [f64]| z.copy_from_slice(&[1.0, (0.5 - t).sqrt()]);
    let error = locator.locate(0.0, 1.0, 1e-9, z).unwrap_err();
    assert!(error.indicator == 1 && error.t > 0.5);
    assert_eq!(Locator::new(vec![]).locate(0.0, 1.0, 1e-9, |_, _| panic!()).unwrap(), None);
}

#[test]
fn oscillator_crossings_are_as_accurate_as_the_solution() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-12, 1e-12));
    let mut locator = Locator::new(vec![Event::when(vec![0])]);
    solver.begin(0.0, &[1.0, 0.0]);
    let mut worst = 0.0_f64;
    let mut count = 0;
    while solver.time() < 20.0 {
        let step = solver.step(&mut oscillator(), None).unwrap();
        let mut t = step.t0;
        while let Some(hit) =
            locator.locate(t, step.t1, 0.0, |t, z| z[0] = solver.path().component(0, t)).unwrap()
        {
            let expected = std::f64::consts::PI * (0.5 + 2.0 * f64::from(count));
            worst = worst.max((hit - expected).abs());
            count += 1;
            locator.accept(hit, &[0.0]);
            t = hit;
        }
        locator.accept(step.t1, &[solver.state()[0]]);
    }
    println!("oscillator: largest error of {count} crossings {worst:e}");
    assert!(count == 3 && worst < 1e-10, "{count} {worst:e}");
}

proptest! {
    /// Against a fine scan: nothing is skipped, nothing is early, the condition holds.
    #[test]
    fn conjunctions_agree_with_a_scan(
        amplitude in prop::array::uniform2(0.2..2.0f64),
        frequency in prop::array::uniform2(0.3..6.0f64),
        phase in prop::array::uniform2(0.0..6.0f64),
        offset in prop::array::uniform2(-0.5..0.5f64),
    ) {
        let value = |t: f64, z: &mut [f64]| {
            for k in 0..2 {
                z[k] = amplitude[k] * libm::sin(frequency[k] * t + phase[k]) + offset[k];
            }
        };
        let event = Event::when(vec![0, 1]);
        let found = first(vec![event.clone()], 5.0, value).0;
        let (mut z, mut armed) = ([0.0; 2], false);
        let end = found.unwrap_or(5.0);
        for k in 0..=5000 {
            let t = end * f64::from(k) / 5000.0;
            value(t, &mut z);
            armed |= !event.holds(&z);
            prop_assert!(!(armed && event.holds(&z)) || t >= end * (1.0 - 1e-15), "missed {t} before {end}");
        }
        if found.is_some() {
            value(end, &mut z);
            prop_assert!(event.holds(&z));
            value(end.next_down().next_down().next_down(), &mut z);
            prop_assert!(!event.holds(&z) || z[0].max(z[1]) > -1e-14);
        }
    }
}

/// Where `c0 + c1 e + c2 e²` is zero, ascending, inside (0, width).
fn zeros(c: &[f64], width: f64) -> Vec<f64> {
    let root = (c[1] * c[1] - 4.0 * c[0] * c[2]).sqrt();
    let mut zeros = vec![(-c[1] - root) / (2.0 * c[2]), (-c[1] + root) / (2.0 * c[2])];
    zeros.retain(|e| *e > 0.0 && *e < width);
    zeros.sort_by(f64::total_cmp);
    zeros
}

proptest! {
    /// Parabolas, whole or with the small terms that a solver's dense output adds: the first interval
    /// between roots in which all are negative begins at the event.
    #[test]
    fn parabolas_happen_where_their_formula_says(
        rows in prop::collection::vec(
            (-1.0..1.0_f64, -3.0..3.0_f64, prop_oneof![-3.0..-0.1_f64, 0.1..3.0_f64]),
            1..4,
        ),
        small in prop_oneof![Just(0.0), -1e-12..1e-12_f64],
        armed in any::<bool>(),
    ) {
        let width = 2.0;
        let all: Vec<f64> = rows
            .iter()
            .flat_map(|&(c0, c1, c2)| [c0, c1, c2, small, -small, small])
            .collect();
        // Whole parabolas come in rows of three.
        let stride = if small == 0.0 { 3 } else { 6 };
        let table: Vec<f64> =
            all.chunks(6).flat_map(|row| row[..stride].iter().copied()).collect();
        let mut points = vec![0.0, width];
        points.extend(all.chunks(6).flat_map(|row| zeros(row, width)));
        points.sort_by(f64::total_cmp);
        prop_assume!(points.windows(2).all(|pair| pair[1] - pair[0] > 1e-3));
        let negative = |e: f64| all.chunks(6).all(|c| c[0] + e * (c[1] + e * c[2]) < 0.0);
        let holds: Vec<bool> =
            points.windows(2).map(|pair| negative(0.5 * (pair[0] + pair[1]))).collect();
        prop_assume!(!holds[0]);
        let expected = holds.iter().position(|h| *h).map(|piece| points[piece]);
        let indicators = (0..rows.len()).collect();
        let mut locator = Locator::new(vec![Event::when(indicators)]);
        locator.set(0, if armed { Arm::Armed } else { Arm::Disarmed });
        locator.open();
        let rows = Rows { rows: &table, stride };
        let mut formulas = locator.clone();
        let best = locator.polynomials(rows, (0.0, width), 0.0, |_| true, |_, _| None);
        let found = locator.close(best, 0.0);
        if small == 0.0 {
            let places: Vec<usize> = (0..table.len() / 3).collect();
            let same = formulas.parabolas((table.as_chunks().0, &places), (0.0, width), 0.0);
            prop_assert!(same.is_none_or(|same| same == found), "{:?}, not {:?}", same, found);
            formulas.pass();
            locator.pass();
            let arms = (formulas.passed(0), locator.passed(0));
            prop_assert!(same != Some(None) || arms.0 == arms.1, "{:?}", arms);
        }
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => {
                prop_assert!((found - expected).abs() < 1e-9, "{} for {}", found, expected);
                let value = |k: usize| crate::maths::poly::eval(rows.row(k), found);
                prop_assert!((0..rows.rows.len() / stride).all(|k| value(k) <= 0.0));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
