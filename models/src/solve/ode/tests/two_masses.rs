//! Two masses on springs between a ceiling and each other, integrated as one system.

use super::*;

const M: [f64; 2] = [0.2, 0.3];
const D: f64 = 0.01;
const K: f64 = 1.0;
const G: f64 = 9.81;
const GAP: f64 = 0.55;

/// Events to 1e-12 (multi-precision integration): time, whether it is a collision.
const EVENTS: [(f64, bool); 12] = [
    (0.5407270365756703, true),
    (1.6599572429127696, true),
    (4.631695284738953, true),
    (4.900693539472291, false),
    (5.289556203264611, true),
    (8.415365357100805, true),
    (8.901088520111077, false),
    (9.189006534536922, true),
    (13.723741642697071, true),
    (14.832242781228695, true),
    (18.15111885679336, true),
    (19.17423548719755, true),
];

const END: [f64; 4] = [-4.738699217821, -6.191009332078, -8.410101376233, -4.706424151185];

fn rhs(_t: f64, x: &[f64], dx: &mut [f64]) {
    let [x1, v1, x2, v2] = [x[0], x[1], x[2], x[3]];
    let link = K * (x2 - x1) + D * (v2 - v1);
    dx[0] = v1;
    dx[1] = (link - K * x1 - D * v1) / M[0] - G;
    dx[2] = v2;
    dx[3] = -link / M[1] - G;
}

/// Distance to the ceiling, and of the masses.
fn distances(x: &[f64], z: &mut [f64]) {
    z[0] = -GAP - x[0];
    z[1] = x[0] - x[2] - 2.0 * GAP;
}

fn collide(x: &mut [f64; 4]) {
    let (v1, v2, sum) = (x[1], x[3], M[0] + M[1]);
    x[1] = ((M[0] - M[1]) * v1 + 2.0 * M[1] * v2) / sum;
    x[3] = ((M[1] - M[0]) * v2 + 2.0 * M[0] * v1) / sum;
}

/// Largest errors of event times and of the end state.
fn run(tolerance: f64) -> (f64, f64, Statistics) {
    let mut system = FnSystem::new(4, rhs);
    let mut solver = Solver::dopri5(Options::tolerance(tolerance, tolerance));
    let mut locator = Locator::new(vec![Watched::default(); 2]);
    let mut x = [-0.7, 3.5, -8.8, 3.0];
    solver.begin(0.0, &x);
    let (mut found, mut worst) = (0, 0.0_f64);
    while solver.time() < 20.0 {
        let step = solver.step(&mut system, Some(20.0)).unwrap();
        let mut inner = [0.0; 4];
        let z = |t: f64, z: &mut [f64]| {
            solver.dense(t, &mut inner);
            distances(&inner, z);
        };
        let within = Interval { start: step.t0, end: step.t1, fresh: FRESH };
        // Each contact parts the masses again: both distances are positive before every step.
        let (mut sides, mut flips) = ([1.0; 2], Vec::new());
        let lists = (&mut flips, &mut [Past::default(); 2][..]);
        let end = locator.sample(within, &mut sides, |_| true, z, &mut Off(0.0), lists).unwrap();
        assert_eq!(end, step.t1);
        let first = flips.iter().min_by(|a, b| a.t.total_cmp(&b.t));
        let t = first.map_or(step.t1, |flip| flip.t);
        solver.truncate_to(t).unwrap();
        x.copy_from_slice(solver.state());
        if let Some(flip) = first {
            assert_eq!((flip.before, flip.side, flip.touch), (1.0, -1.0, None));
            let collision = flip.relation == 1;
            let (expected, kind) = EVENTS[found];
            assert_eq!(collision, kind, "event {found} at {t}");
            worst = worst.max((t - expected).abs());
            found += 1;
            if collision {
                collide(&mut x)
            } else {
                x[1] = -x[1]
            }
            solver.restart(t, &x);
        }
    }
    assert_eq!(found, EVENTS.len());
    let end = x.iter().zip(END).fold(0.0_f64, |end, (x, expected)| end.max((x - expected).abs()));
    (worst, end, solver.statistics())
}

#[test]
fn events_and_end_state() {
    let (events, end, statistics) = run(1e-12);
    println!("two masses at 1e-12: events {events:e}, end {end:e}, {statistics:?}");
    assert!(events < 1e-10 && end < 1e-9, "{events:e} {end:e}");
    let (events, end, statistics) = run(1e-9);
    println!("two masses at 1e-9: events {events:e}, end {end:e}, {statistics:?}");
    assert!(events < 1e-7 && end < 1e-6, "{events:e} {end:e}");
}
