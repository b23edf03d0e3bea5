//! Flips of relations along given functions and along solutions.
use proptest::prelude::*;

use super::*;
use crate::maths::{poly, rounding};

const NANO: u64 = 1_000_000_000;

/// As [`Off`], and from zero they certainly go on that way.
struct Heading(f64, f64);

impl Doubts for Heading {
    fn bound(&mut self, _: usize, _: f64) -> f64 {
        self.0
    }
    fn heading(&mut self, _: usize, _: f64, _: f64) -> f64 {
        self.1
    }
}

/// Searches one sampled relation after the other step.
struct Search {
    locator: Locator,
    side: f64,
    flips: Vec<Flip>,
    past: Past,
}

impl Search {
    fn new(watched: Watched, side: f64) -> Self {
        let locator = Locator::new(vec![watched]);
        Self { locator, side, flips: Vec::new(), past: Past::default() }
    }

    /// Over one step, and on where the search ends before.
    fn go(
        &mut self,
        (start, end): (f64, f64),
        doubts: &mut impl Doubts,
        z: impl Fn(f64) -> f64,
    ) -> &mut Self {
        let mut within = Interval { start, end, fresh: FRESH };
        loop {
            let found = (&mut self.flips, std::slice::from_mut(&mut self.past));
            let sides = std::slice::from_mut(&mut self.side);
            let sample = |t: f64, out: &mut [f64]| out[0] = z(t);
            let reached =
                self.locator.sample(within, sides, |_| true, sample, doubts, found).unwrap();
            assert!(reached > within.start || reached == end);
            if reached == end {
                return self;
            }
            within = Interval { start: reached, end, fresh: 0.0 };
        }
    }

    /// The search on a polynomial in the time from the start.
    fn follow(
        &mut self,
        (start, end): (f64, f64),
        doubts: &mut impl Doubts,
        row: &[f64],
    ) -> &mut Self {
        let within = Interval { start, end, fresh: FRESH };
        let found = (&mut self.flips, &mut self.past);
        self.locator.polynomial((0, row), within, &mut self.side, |_| None, doubts, found);
        self
    }

    /// Times and new sides.
    fn found(&self) -> Vec<(f64, f64)> {
        self.flips.iter().map(|f| (f.t, f.side)).collect()
    }
}

/// Flips of the sign of a function from `side` on, over one step.
fn flips(side: f64, end: f64, z: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    Search::new(Watched::default(), side).go((0.0, end), &mut Off(0.0), z).found()
}

fn close(found: &[(f64, f64)], expected: &[(f64, f64)], error: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} for {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        let near = (found.0 - expected.0).abs() <= error && found.1 == expected.1;
        assert!(near, "{found:?} for {expected:?}");
    }
}

const TOUCHING: Watched =
    Watched { kind: Kind::Sign, only: 0.0, touching: Some(1e-9), slides: false };

#[test]
fn bouncing_ball() {
    let mut solver = Solver::dopri5(Options::default());
    let mut x = [10.0, 0.0];
    solver.begin(0.0, &x);
    let (mut bounces, mut steps) = (Vec::new(), 0);
    while bounces.len() < 40 {
        let step = solver.step(&mut fall(9.81), None).unwrap();
        steps += 1;
        assert!(steps < 200);
        let mut search = Search::new(Watched::default(), 1.0);
        let height = |t: f64| solver.path().component(0, t);
        search.go((step.t0, step.t1), &mut Off(0.0), height);
        let hit = search.flips.first().map(|flip| flip.t);
        let mut again = Search::new(Watched::default(), 1.0);
        again.follow((step.t0, step.t1), &mut Off(0.0), solver.path().row(0));
        let other = again.flips.first().map(|flip| flip.t);
        assert_eq!(hit.is_some(), other.is_some(), "as a polynomial");
        let t = hit.unwrap_or(step.t1);
        assert!(other.is_none_or(|other| (other - t).abs() < 1e-13));
        solver.truncate_to(t).unwrap();
        x.copy_from_slice(solver.state());
        assert!(x[0] > -1e-12, "never through the floor");
        if hit.is_some() {
            assert!(x[1] < 0.0);
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
    let mut search = Search::new(Watched::default(), -1.0);
    let mut ticks = Vec::new();
    while solver.time() < 5.0 {
        let step = solver.step(&mut ramp, None).unwrap();
        search.go((step.t0, step.t1), &mut Off(0.0), |t| solver.path().component(0, t));
        if let Some(flip) = search.flips.pop() {
            assert_eq!(flip.side, 1.0);
            let tick = rounding::ceil_ticks(flip.t, NANO).unwrap();
            solver.truncate_to(rounding::tick_seconds(tick, NANO)).unwrap();
            assert!((solver.state()[0] - 2e-9).abs() < 1e-15);
            ticks.push(tick);
        }
        assert!(search.flips.is_empty());
    }
    assert_eq!(ticks, [333_333_334]);
}

/// H6: a touch is no flip; it is reported on demand only.
#[test]
fn touching_parabola() {
    let run = |watched: Watched, low: f64| {
        let z = |t: f64| (t - 1.0) * (t - 1.0) + low;
        Search::new(watched, 1.0).go((0.0, 3.0), &mut Off(0.0), z).flips.clone()
    };
    for low in [1e-13, 0.0] {
        assert_eq!(run(Watched::default(), low), []);
        let [touch] = run(TOUCHING, low)[..] else { panic!("one touch at {low}") };
        assert!((touch.t - 1.0).abs() < 1e-7 && touch.relation == 0);
        assert!(touch.touch.unwrap() <= 1e-9 && (touch.before, touch.side) == (1.0, 1.0));
    }
    // Beyond the band it does not count; through zero there are two ordinary flips.
    assert_eq!(run(TOUCHING, 1e-8), []);
    let through = run(TOUCHING, -0.01);
    assert!(through.iter().all(|flip| flip.touch.is_none()));
    let through: Vec<(f64, f64)> = through.iter().map(|f| (f.t, f.side)).collect();
    close(&through, &[(0.9, -1.0), (1.1, 1.0)], 1e-14);
}

/// Touching is reported once, also when it falls on the end of a step.
#[test]
fn touching_once_over_several_steps() {
    for ends in [[1.0, 2.0, 3.0], [0.7, 1.5, 3.0], [1.0 + 1e-12, 2.0, 3.0]] {
        let mut search = Search::new(TOUCHING, 1.0);
        let mut start = 0.0;
        for end in ends {
            search.go((start, end), &mut Off(0.0), |t| (t - 1.0) * (t - 1.0));
            start = end;
        }
        assert_eq!(search.flips.len(), 1, "{ends:?}: {:?}", search.flips);
        assert!((search.flips[0].t - 1.0).abs() < 1e-7);
    }
}

/// Also where the interval is halved right there, and once per extremum.
#[test]
fn touches_of_a_wave() {
    let mut search = Search::new(TOUCHING, 1.0);
    search.go((0.0, 2.0), &mut Off(0.0), |t| 1.0 - libm::cos(20.0 * (t - 1.0)));
    let period = std::f64::consts::PI / 10.0;
    let expected: Vec<f64> = (-3..=3).map(|k| 1.0 + period * f64::from(k)).collect();
    let found: Vec<f64> = search.flips.iter().map(|f| f.t).collect();
    assert_eq!(found.len(), expected.len(), "{found:?} for {expected:?}");
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    assert!(search.flips.iter().all(|f| f.touch.is_some() && f.side == 1.0));
}

#[test]
fn two_flips_in_one_large_step() {
    // A narrow dip, polynomial and not.
    for width in [0.3, 1e-2, 1e-4, 1e-6] {
        let ends = [(3.3 - width, -1.0), (3.3 + width, 1.0)];
        let dip = |t: f64| (t - 3.3) * (t - 3.3) - width * width;
        close(&flips(1.0, 10.0, dip), &ends, 1e-15 / width + 4e-15);
        let row = [3.3 * 3.3 - width * width, -6.6, 1.0];
        let mut search = Search::new(Watched::default(), 1.0);
        let found = search.follow((0.0, 10.0), &mut Off(0.0), &row).found();
        close(&found, &ends, 1e-14 / width + 4e-15);
    }
    let wave = |t: f64| libm::sin(t) + 0.9995;
    let (low, half) = (1.5 * std::f64::consts::PI, libm::acos(0.9995));
    let turn = 2.0 * std::f64::consts::PI;
    let expected = [low - half, low + half, low + turn - half, low + turn + half];
    let sides = [-1.0, 1.0, -1.0, 1.0];
    let expected: Vec<(f64, f64)> = expected.into_iter().zip(sides).collect();
    close(&flips(1.0, 12.0, wave), &expected, 1e-12);
}

/// A search of very many flips ends early, for the next one to go on; none is lost between them.
#[test]
fn long_steps_with_many_flips() {
    let found = flips(1.0, 10.0, |t| libm::cos(1e4 * t));
    let last = (1e5 / std::f64::consts::PI + 0.5).floor() as usize;
    assert_eq!(found.len(), last);
    for (k, (t, side)) in found.iter().enumerate() {
        let expected = std::f64::consts::PI * (k as f64 + 0.5) / 1e4;
        assert!((t - expected).abs() < 1e-13, "{k}: {t} for {expected}");
        assert_eq!(*side, if k % 2 == 0 { -1.0 } else { 1.0 });
    }
}

/// H8 and H23: relations do not see each other; equal ones flip at equal times.
#[test]
fn simultaneous_flips() {
    let mut locator = Locator::new(vec![Watched::default(); 4]);
    let within = Interval { start: 0.0, end: 4.0, fresh: FRESH };
    let z = |t: f64, z: &mut [f64]| {
        z.copy_from_slice(&[1.0 - t, 2.0 - 2.0 * t, 1.0 - t, 1.0 + 1e-6 - t]);
    };
    let (mut sides, mut found) = ([1.0; 4], Vec::new());
    let lists = (&mut found, &mut [Past::default(); 4][..]);
    let end = locator.sample(within, &mut sides, |_| true, z, &mut Off(0.0), lists);
    assert_eq!((end, sides), (Ok(4.0), [-1.0; 4]));
    let at = |k: u16| {
        let mut own = found.iter().filter(|f| f.relation == k).map(|f| f.t);
        (own.next().unwrap(), own.next()).0
    };
    assert_eq!(found.len(), 4);
    assert!((at(0) - 1.0).abs() <= 4.0 * f64::EPSILON && (at(1) - 1.0).abs() <= 4.0 * f64::EPSILON);
    assert_eq!(at(0), at(2));
    assert!((at(3) - 1.000_001).abs() <= 4.0 * f64::EPSILON);
    // Others than the selected ones stay as they are.
    let (mut sides, mut found) = ([1.0; 4], Vec::new());
    let lists = (&mut found, &mut [Past::default(); 4][..]);
    locator.sample(within, &mut sides, |k| k == 1, z, &mut Off(0.0), lists).unwrap();
    assert_eq!((found.len(), sides), (1, [1.0, -1.0, 1.0, 1.0]));
}

#[test]
fn sides_at_the_start() {
    let one = |side: f64, z: fn(f64) -> f64| flips(side, 1.0, z);
    assert_eq!(one(-1.0, |t| -1.0 - t), [], "on its side");
    assert_eq!(one(1.0, |t| -1.0 - t), [(0.0, -1.0)], "not on its side");
    assert_eq!(one(1.0, |t| -t), [(0.0, -1.0)], "from the surface to the other side");
    assert_eq!(one(-1.0, |t| t), [(0.0, 1.0)]);
    assert_eq!(one(1.0, |t| t), [], "away from the surface");
    assert_eq!(one(-1.0, |t| -t * t), []);
    close(&one(1.0, |t| t * (0.5 - t)), &[(0.5, -1.0)], 1e-15);
    close(&one(-1.0, |t| t * (0.5 - t)), &[(0.0, 1.0), (0.5, -1.0)], 1e-15);
    // On the other side, and back.
    let expected = [(0.25, 1.0), (0.75, -1.0)];
    close(&one(-1.0, |t| (t - 0.25) * (0.75 - t)), &expected, 1e-15);
}

/// A function that rests at zero has side 0, and departs to either side.
#[test]
fn departing_from_rest() {
    for side in [-1.0, 0.0, 1.0] {
        assert_eq!(flips(side, 1.0, |_| 0.0), [], "at rest on {side}");
    }
    assert_eq!(flips(0.0, 1.0, |t| t), [(0.0, 1.0)]);
    assert_eq!(flips(0.0, 1.0, |t| -t * t), [(0.0, -1.0)]);
    close(&flips(0.0, 1.0, |t| t * (t - 0.5)), &[(0.0, -1.0), (0.5, 1.0)], 1e-15);
    // By no more than its error it has not departed.
    let mut search = Search::new(Watched::default(), 0.0);
    assert_eq!(search.go((0.0, 1.0), &mut Off(1e-6), |t| 1e-6 * t).found(), []);
    assert_eq!(search.go((1.0, 2.0), &mut Off(1e-6), |t| 1e-6 * t).found(), [(1.0, 1.0)]);
    for (row, expected) in [([0.0, 0.0, 0.0], None), ([0.0, -2.0, 0.0], Some((0.0, -1.0)))] {
        let mut search = Search::new(Watched::default(), 0.0);
        let found = search.follow((0.0, 1.0), &mut Off(0.0), &row).found();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}

/// A function rounded down: an end belongs to both sides until the function is beyond it.
#[test]
fn floors() {
    let floor = Watched { kind: Kind::Floor, ..Watched::default() };
    let run = |side: f64, end: f64, z: fn(f64) -> f64| {
        Search::new(floor, side).go((0.0, end), &mut Off(0.0), z).found()
    };
    let thirds = [(0.1, 1.0), (0.2, 2.0), (0.3, 3.0)];
    close(&run(0.0, 0.35, |t| 10.0 * t), &thirds, 1e-15);
    close(&run(1.0, 2.0, |t| 1.5 - t), &[(0.5, 0.0), (1.5, -1.0)], 1e-15);
    assert_eq!(run(0.0, 2.0, |t| 1.0 - (t - 1.0) * (t - 1.0)), [], "touches 1 from below");
    assert_eq!(run(1.0, 2.0, |t| 1.0 + (t - 1.0) * (t - 1.0)), [], "touches 1 from above");
    assert_eq!(run(1.0, 1.0, |_| 1.0), []);
    assert_eq!(run(0.0, 1.0, |_| 1.0), []);
    let at = |z: f64| libm::asin(z / 2.5);
    let pi = std::f64::consts::PI;
    let wave: [(f64, f64); 6] = [
        (at(1.0), 1.0),
        (at(2.0), 2.0),
        (pi - at(2.0), 1.0),
        (pi - at(1.0), 0.0),
        (pi, -1.0),
        (pi + at(1.0), -2.0),
    ];
    close(&run(0.0, pi + 0.7, |t| 2.5 * libm::sin(t)), &wave, 1e-14);
    // One monotone piece of a polynomial.
    let mut search = Search::new(floor, 0.0);
    let found = search.follow((0.0, 0.35), &mut Off(0.0), &[0.0, 10.0]).found();
    close(&found, &thirds, 1e-15);
    assert!(search.flips.windows(2).all(|pair| pair[0].side == pair[1].before));
}

/// A tick may lie 2⁻¹⁰ tick before the root that it was rounded from; there the function is on its
/// old side yet, and does not flip again.
#[test]
fn ticks_before_the_root() {
    let snap = 1e-9 / 1024.0;
    let ramp = |t: f64| 0.5 + snap - t;
    let mut search = Search::new(Watched::default(), -1.0);
    assert_eq!(search.go((0.5, 2.0), &mut Off(0.0), ramp).found(), []);
    let row = [snap, -1.0];
    assert_eq!(search.follow((0.5, 2.0), &mut Off(0.0), &row).found(), []);
    // That much earlier it has flipped back, and flips again.
    let early = |t: f64| 0.5 + 1e-9 - t;
    close(
        &search.go((0.5, 2.0), &mut Off(0.0), early).found(),
        &[(0.5, 1.0), (0.5 + 1e-9, -1.0)],
        1e-16,
    );
    // The root found before is ignored, the next one is not.
    let mut search = Search::new(Watched::default(), -1.0);
    let hump = |t: f64| (0.5 + snap - t) * (1.0 - t);
    close(&search.go((0.5, 2.0), &mut Off(0.0), hump).found(), &[(1.0, 1.0)], 1e-15);
}

/// Beyond its side by no more than its error a function has not flipped; it has once it is farther
/// beyond before it comes back.
#[test]
fn unconfirmed_excursions() {
    let dip = |depth: f64| move |t: f64| 4.0 * depth * ((t - 1.0) * (t - 1.0) - 0.25);
    let run = |depth: f64| {
        Search::new(Watched::default(), 1.0).go((0.0, 2.0), &mut Off(1e-6), dip(depth)).found()
    };
    assert_eq!(run(0.99e-6), []);
    // The return is confirmed in its turn, by the height behind it.
    close(&run(1.01e-6), &[(0.5, -1.0), (1.5, 1.0)], 1e-12);
    // As a polynomial.
    for (depth, count) in [(0.99e-6, 0), (1.01e-6, 2)] {
        let row = [3.0 * depth, -8.0 * depth, 4.0 * depth];
        let mut search = Search::new(Watched::default(), 1.0);
        assert_eq!(search.follow((0.0, 2.0), &mut Off(1e-6), &row).flips.len(), count);
    }
    // Nearer and nearer, computed below zero in the end.
    let decay = |t: f64| libm::exp(-t) - 1e-12;
    assert!(flips(1.0, 40.0, decay).len() == 1);
    let mut search = Search::new(Watched::default(), 1.0);
    assert_eq!(search.go((0.0, 40.0), &mut Off(1e-11), decay).found(), []);
}

/// A function that ends within its error waits for the next step, unless it certainly goes on.
#[test]
fn confirmed_later_or_by_its_heading() {
    let ramp = |t: f64| 0.5 - t;
    let end = 0.5 + 1e-7;
    let mut search = Search::new(Watched::default(), 1.0);
    assert_eq!(search.go((0.0, end), &mut Heading(1e-6, 0.0), ramp).found(), []);
    assert_eq!(search.go((0.0, end), &mut Heading(1e-6, 1.0), ramp).found(), []);
    let mut sure = Search::new(Watched::default(), 1.0);
    close(&sure.go((0.0, end), &mut Heading(1e-6, -1.0), ramp).found(), &[(0.5, -1.0)], 1e-16);
    assert_eq!(sure.go((end, 1.0), &mut Off(1e-6), ramp).flips.len(), 1, "once");
    let found = search.go((end, 1.0), &mut Off(1e-6), ramp).found();
    assert!(found.len() == 1 && found[0].0 >= 0.5 && found[0].0 <= end, "{found:?}");
}

/// A function that begins beyond its side and comes back at once had flipped, unless it slid.
#[test]
fn sliding_begins_beyond() {
    for (slides, count) in [(false, 2), (true, 0)] {
        let watched = Watched { slides, ..Watched::default() };
        let mut search = Search::new(watched, 1.0);
        let found = search.go((0.0, 1.0), &mut Off(0.0), |t| t - 0.01).found();
        assert_eq!(found.len(), count, "{found:?}");
        let mut search = Search::new(watched, 1.0);
        let found = search.follow((0.0, 1.0), &mut Off(0.0), &[-0.25, 1.0]).found();
        assert_eq!(found.len(), count, "{found:?}");
        // For good it has flipped in any case.
        let mut search = Search::new(watched, 1.0);
        let found = search.go((0.0, 1.0), &mut Off(0.0), |t| -0.25 - t).found();
        assert_eq!(found, [(0.0, -1.0)]);
    }
}

#[test]
fn a_function_that_is_not_finite_is_named() {
    let mut locator = Locator::new(vec![Watched::default(); 2]);
    let z = |t: f64, z: &mut [f64]| z.copy_from_slice(&[1.0, (0.5 - t).sqrt()]);
    let within = Interval { start: 0.0, end: 1.0, fresh: FRESH };
    let lists = (&mut Vec::new(), &mut [Past::default(); 2][..]);
    let error =
        locator.sample(within, &mut [1.0; 2], |_| true, z, &mut Off(0.0), lists).unwrap_err();
    assert!(error.indicator == 1 && error.t > 0.5);
    // Without relations nothing is evaluated.
    let never = |_: f64, _: &mut [f64]| panic!("evaluated");
    let lists = (&mut Vec::new(), &mut [Past::default(); 2][..]);
    let mut none = Locator::new(vec![]);
    assert_eq!(none.sample(within, &mut [], |_| true, never, &mut Off(0.0), lists), Ok(1.0));
}

#[test]
fn oscillator_flips_are_as_accurate_as_the_solution() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-12, 1e-12));
    let mut search = Search::new(Watched::default(), 1.0);
    solver.begin(0.0, &[1.0, 0.0]);
    while solver.time() < 20.0 {
        let step = solver.step(&mut oscillator(), None).unwrap();
        search.follow((step.t0, step.t1), &mut Off(0.0), solver.path().row(0));
    }
    let mut worst = 0.0_f64;
    for (k, flip) in search.flips.iter().enumerate() {
        worst = worst.max((flip.t - std::f64::consts::PI * (k as f64 + 0.5)).abs());
        assert_eq!(flip.side, if k % 2 == 0 { -1.0 } else { 1.0 });
    }
    println!("oscillator: largest error of {} flips {worst:e}", search.flips.len());
    assert!(search.flips.len() == 6 && worst < 1e-10, "{worst:e}");
}

/// The polynomial with these roots.
fn with_roots(roots: &[f64], scale: f64) -> Vec<f64> {
    let mut row = vec![scale];
    for root in roots {
        row.push(0.0);
        for k in (0..row.len()).rev() {
            row[k] = if k > 0 { row[k - 1] } else { 0.0 } - root * row[k];
        }
    }
    row
}

/// How far rounding moves a simple root.
fn blur(row: &[f64], root: f64) -> f64 {
    let size = row.iter().rev().fold(0.0, |sum, c| sum * root.abs() + c.abs());
    let (mut slope, mut power) = (0.0, 1.0);
    for (k, c) in row.iter().enumerate().skip(1) {
        slope += k as f64 * c * power;
        power *= root;
    }
    64.0 * f64::EPSILON * (size / slope.abs() + root.abs())
}

proptest! {
    /// Simple roots inside the step are flips, in turn, and nothing else is.
    #[test]
    fn polynomials_flip_at_their_roots(
        gaps in prop::collection::vec(0.05..0.8_f64, 1..8),
        from in -0.5..0.3_f64,
        scale in prop_oneof![-3.0..-0.1_f64, 0.1..3.0_f64],
        origin in prop_oneof![Just(0.0), 1.0..100.0_f64],
    ) {
        let mut roots = vec![from];
        for gap in &gaps[1..] {
            roots.push(roots[roots.len() - 1] + gap);
        }
        prop_assume!(roots.iter().all(|r| r.abs() > 1e-3 && (r - 2.0).abs() > 1e-3));
        let row = with_roots(&roots, scale);
        let side = row[0].signum();
        let inside: Vec<f64> = roots.into_iter().filter(|r| *r > 0.0 && *r < 2.0).collect();
        let mut searches = [0, 1].map(|_| Search::new(Watched::default(), side));
        let step = (origin, origin + 2.0);
        searches[0].follow(step, &mut Off(0.0), &row);
        searches[1].go(step, &mut Off(0.0), |t| poly::eval(&row, t - origin));
        for search in searches {
            let found = search.found();
            prop_assert_eq!(found.len(), inside.len(), "{:?} for {:?}", found, inside);
            let mut before = side;
            for ((t, side), root) in found.into_iter().zip(&inside) {
                let error = blur(&row, *root) + 8.0 * f64::EPSILON * origin;
                prop_assert!((t - origin - root).abs() <= error, "{} for {}", t - origin, root);
                prop_assert_eq!(side, -before);
                before = side;
            }
            prop_assert_eq!(search.side, before);
        }
    }

    /// Squares touch zero; expanded they are computed to lie beyond, and do not flip.
    #[test]
    fn squares_never_flip(root in 0.1..1.9_f64, scale in 0.1..3.0_f64, other in 2.5..4.0_f64) {
        for roots in [vec![root; 2], vec![root, root, other, other]] {
            let row = with_roots(&roots, scale);
            let mut search = Search::new(Watched::default(), 1.0);
            prop_assert_eq!(search.follow((0.0, 2.0), &mut Off(0.0), &row).found(), []);
        }
    }

    /// Waves of their own frequencies: times by the inverse function.
    #[test]
    fn waves_flip_where_their_formula_says(
        frequency in 0.3..30.0_f64,
        phase in 0.0..6.0_f64,
        offset in -1.3..1.3_f64,
    ) {
        prop_assume!((offset.abs() - 1.0).abs() > 1e-4);
        let z = |t: f64| libm::sin(frequency * t + phase) + offset;
        prop_assume!(z(0.0).abs() > 1e-6 && z(5.0).abs() > 1e-6);
        let turn = 2.0 * std::f64::consts::PI;
        let mut expected = Vec::new();
        if offset.abs() < 1.0 {
            let rising = -libm::asin(offset);
            let falling = std::f64::consts::PI - rising;
            for k in -1..30 {
                for (angle, side) in [(rising, 1.0), (falling, -1.0)] {
                    expected.push(((angle + turn * f64::from(k) - phase) / frequency, side));
                }
            }
            expected.retain(|(t, _)| *t > 0.0 && *t < 5.0);
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let found = flips(z(0.0).signum(), 5.0, z);
        prop_assert_eq!(found.len(), expected.len(), "{:?} for {:?}", found, expected);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found.0 - expected.0).abs() < 1e-11, "{:?} for {:?}", found, expected);
            prop_assert_eq!(found.1, expected.1);
        }
    }

    /// Cut anywhere, also at a root or right beside it, a step has the same flips.
    #[test]
    fn cut_steps_have_the_same_flips(
        roots in prop::array::uniform3(0.1..1.9_f64),
        cut in prop_oneof![(0.05..1.95_f64).prop_map(|cut| (3, cut)), (0..3usize, -4.0..4.0_f64)],
        sampled in any::<bool>(),
    ) {
        let mut roots = roots;
        roots.sort_by(f64::total_cmp);
        prop_assume!(roots.windows(2).all(|pair| pair[1] - pair[0] > 0.01));
        // Near a root by some units in the last place.
        let cut = match cut {
            (3, cut) => cut,
            (k, ulps) => roots[k] * (1.0 + f64::EPSILON * ulps.round()),
        };
        let row = with_roots(&roots, 1.0);
        let mut search = Search::new(Watched::default(), -1.0);
        for (start, end) in [(0.0, cut), (cut, 2.0)] {
            let z = |t: f64| (t - roots[0]) * (t - roots[1]) * (t - roots[2]);
            let mut shifted = row.clone();
            poly::shift(&mut shifted, start);
            if sampled {
                search.go((start, end), &mut Off(0.0), z);
            } else {
                search.follow((start, end), &mut Off(0.0), &shifted);
            }
        }
        let found = search.found();
        prop_assert_eq!(found.len(), 3, "{:?} for {:?} cut at {}", found, roots, cut);
        for ((t, _), root) in found.iter().zip(&roots) {
            prop_assert!((t - root).abs() <= 4.0 * blur(&row, *root), "{} for {}", t, root);
        }
    }
}
