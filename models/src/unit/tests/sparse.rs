//! Implicit steps where the Jacobian is sparse.
use super::*;
use crate::solve::{
    dual::{Dual, Structure},
    ode::Partials,
};

const CELLS: usize = 60;
const STATES: usize = 80;

// A rod with cold ends, of which sin(π i/61) is a mode.
system!(Rod, CELLS, |v, dx| {
    for i in 1..=CELLS {
        let zero = S::constant(0.0);
        let left = if i == 1 { zero.clone() } else { v[i - 1].clone() };
        let right = if i == CELLS { zero } else { v[i + 1].clone() };
        dx[i - 1] = left.sub(&v[i]).add(&right.sub(&v[i]));
    }
});

// The rod with the last 20 cells once more, as algebraic variables that the derivatives read.
system!(Doubled, STATES; STATES - CELLS, |v, dx| {
    let cell = |i: usize| match i {
        0 => S::constant(0.0),
        i if i > CELLS => S::constant(0.0),
        i if i > 2 * CELLS - STATES => v[i + STATES - CELLS].clone(),
        i => v[i].clone(),
    };
    for i in 1..=CELLS {
        dx[i - 1] = cell(i - 1).sub(&cell(i)).add(&cell(i + 1).sub(&cell(i)));
    }
    for k in CELLS + 1..=STATES {
        dx[k - 1] = v[k].sub(&v[k - (STATES - CELLS)]);
    }
});

fn mode(states: usize) -> Vec<f64> {
    let angle = std::f64::consts::PI / (CELLS + 1) as f64;
    let cell = |i: usize| (angle * i as f64).sin();
    (1..=states).map(|i| cell(if i > CELLS { i - (STATES - CELLS) } else { i })).collect()
}

/// Columns are found together, and are those of one state at a time.
#[test]
fn columns_are_found_together() {
    let structure = Structure::of(&Rod).expect("three entries in a row");
    assert_eq!(structure.groups.len(), 3);
    assert_eq!(structure.pattern.places(), 3 * CELLS - 2);
    let mut vars = vec![0.0; Rod.dims().variables()];
    vars[1..=CELLS].copy_from_slice(&mode(CELLS));
    let columns = |structure: Option<&Structure>, places: usize| {
        let (mut dx, mut drift, mut jacobian) =
            (vec![0.0; CELLS], vec![0.0; CELLS], vec![0.0; places]);
        let to = Partials { dx: &mut dx, jacobian: &mut jacobian, drift: &mut drift };
        Dual::default().linearise(&Rod, structure, &vars, |_| 0.0, to);
        jacobian
    };
    let sparse = columns(Some(&structure), structure.pattern.places());
    let mut full = columns(None, CELLS * CELLS);
    for column in 0..CELLS {
        for place in structure.pattern.column(column) {
            let entry = &mut full[column * CELLS + structure.pattern.row(place)];
            assert_eq!(std::mem::take(entry), sparse[place]);
        }
    }
    assert!(full.iter().all(|&rest| rest == 0.0));
}

/// Small systems, and those where each derivative reads all states, are solved as a whole.
#[test]
fn full_matrices_stay_full() {
    system!(Mean, 40, |v, dx| {
        let mean = v[1..=40].iter().fold(S::constant(0.0), |sum, x| sum.add(x));
        for i in 0..40 {
            dx[i] = mean.sub(&v[i + 1]);
        }
    });
    system!(Pair, 2, |v, dx| {
        dx[0] = v[1].neg();
        dx[1] = v[2].neg();
    });
    assert!(Structure::of(&Mean).is_none());
    assert!(Structure::of(&Pair).is_none());
}

/// A mode of the rod decays as it has to.
#[test]
fn a_mode_decays() {
    let angle = std::f64::consts::PI / (CELLS + 1) as f64;
    let end = 200.0;
    let exact = (angle * 30.0).sin() * (-(2.0 - 2.0 * angle.cos()) * end).exp();
    for tolerance in [1e-6, 1e-9] {
        let mut rod = Alone::new(Rod, &mode(CELLS), settings(Method::Rodas, tolerance));
        rod.run(end).unwrap();
        let off = (rod.output(29) - exact).abs();
        assert!(off < 30.0 * tolerance, "{tolerance:e}: {off:e}");
        let mut doubled = Alone::new(Doubled, &mode(STATES), settings(Method::Rodas, tolerance));
        doubled.run(end).unwrap();
        let off = (doubled.output(29) - exact).abs();
        assert!(off < 30.0 * tolerance, "{tolerance:e}, with algebraic variables: {off:e}");
    }
}
