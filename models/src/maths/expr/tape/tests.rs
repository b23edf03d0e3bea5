use super::*;
use crate::{
    maths::expr::{Expr, Names, Scalar},
    solve::series::Series,
};

const TEXTS: [&str; 25] = [
    "x*y - 3*x + x/y",
    "1/(2 + x*x)",
    "sqrt(2 + x) * cbrt(3 + y)",
    "exp(x*y) + ln(2 + y)",
    "sin(x) * cos(x) + sin(y)",
    "cos(x + k*y)",
    "tan(x) - tanh(y)",
    "asin(x/2) + acos(y/3) * atan(x*y)",
    "sinh(x) / cosh(y)",
    "atan2(1 + x, 2 + y)",
    "hypot(x, 2 + y)",
    "(2 + x)^1.7 + (2 + x)^k",
    "(2 + x)^y",
    "x^5 - y^3",
    "lambertw(1 + x)",
    "log10(3 + x) + log2(3 + y)",
    "abs(x - 1) + abs(y + 2) + sign(x)*y",
    "min(x, y) * max(x, 2*y)",
    "if x > y then x*x else sin(y)/0.5",
    "mod(x + 5, 2) + floor(y)",
    "k*k*t + x",
    "k + 1",
    "k*x - 3*y + (x - k*y) - (2*x + y*k - x*y)",
    "-(k*x + y) - (x*y - (3*x - y)) + k*t - 2*(x + y*k - t)",
    "(k*x + y) * (k*x + y) + (x - 2*y) + (x - 2*y)",
];

fn scope() -> Names {
    Names::new().var("t", 0).var("x", 1).var("y", 2).var("k", 3)
}

/// Each expression along given curves against the program run on whole series.
#[test]
fn agrees_with_series_arithmetic() {
    const N: usize = 9;
    let curve = [
        Series::<N>([0.3, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        Series::<N>([0.4, 0.3, -0.2, 0.1, 0.05, -0.3, 0.2, 0.0, 0.1]),
        Series::<N>([-0.2, 0.5, 0.1, -0.4, 0.0, 0.2, 0.1, -0.1, 0.3]),
        Series::<N>::from_slice(&[1.5]),
    ];
    let values: Vec<f64> = curve.iter().map(Scalar::value).collect();
    for text in TEXTS {
        let program = Program::compile([&Expr::parse(text, &scope()).unwrap()]);
        let mut expected = [Series::<N>::default()];
        program.eval(&curve, &mut Registers::default(), &mut expected);
        let tape = Tape::new(program, |var| var.0 < 3);
        let mut memory = TapeMemory::default();
        for stride in [N, 3, N] {
            tape.along(&mut memory, &values, stride, |var, row| {
                row.copy_from_slice(&curve[var].0[1..stride]);
            });
            let result = tape.result(&memory, 0);
            for (k, c) in expected[0].0[..stride].iter().enumerate() {
                let found = result.get(k).copied().unwrap_or(0.0);
                assert!((found - c).abs() < 1e-12 * (1.0 + c.abs()), "{text}: {k}: {found} {c}");
            }
        }
    }
}

/// x' = y, y' = -x, and a state that only counts: exact series.
#[test]
fn solves_by_series() {
    let texts = ["y", "-x", "2"];
    let scope = Names::new().var("x", 1).var("y", 2);
    let exprs = texts.map(|text| Expr::parse(text, &scope).unwrap());
    let tape = Tape::new(Program::compile(&exprs), |var| var.0 < 4);
    let mut rows = [0.0; 33];
    let vars = [0.0, 0.0, 1.0, 7.0];
    let length = tape.solve(
        &mut TapeMemory::default(),
        (&vars, 1),
        (11, Some(0)),
        |_, row| row.fill(0.0),
        &mut rows,
    );
    assert_eq!(length, 11);
    let mut factorial = 1.0;
    for k in 0..11 {
        factorial *= (k as f64).max(1.0);
        let sine = [0.0, 1.0, 0.0, -1.0][k % 4] / factorial;
        assert!((rows[k] - sine).abs() < 1e-18, "{k}");
    }
    assert_eq!(rows[22..25], [7.0, 2.0, 0.0]);
}

/// Results of a branch that is not taken now, but was before, are no part of anything else.
#[test]
fn branches_that_are_skipped_leave_nothing_behind() {
    let systems: [&[&str]; 4] = [
        &["if x < 1 then cos(x) else 0*x", "sin(x)"],
        &["if x < 1 then cosh(x) else sinh(x)", "sinh(x)"],
        &["if x < 1 then 2*ln(1 + x) else (1 + x)^x"],
        &["if x < 1 then atan(x)*exp(x) else hypot(x, y)", "asin(x/3) + x*x"],
    ];
    for texts in systems {
        let exprs: Vec<Expr> = texts.iter().map(|t| Expr::parse(t, &scope()).unwrap()).collect();
        let tape = Tape::new(Program::compile(&exprs), |var| var.0 < 3);
        let along = |memory: &mut TapeMemory, x: f64| {
            tape.along(memory, &[0.0, x, 0.7, 1.0], 5, |var, row| {
                let x = [1.0, 0.5, -0.3, 0.2];
                row.copy_from_slice(if var == 1 { &x } else { &[1.0, 0.0, 0.0, 0.0] });
            });
            let result = |k| tape.result(memory, k).to_vec();
            (0..exprs.len()).map(result).collect::<Vec<_>>()
        };
        let mut used = TapeMemory::default();
        along(&mut used, 0.4);
        assert_eq!(along(&mut used, 1.4), along(&mut TapeMemory::default(), 1.4), "{texts:?}");
        assert_eq!(along(&mut used, 0.4), along(&mut TapeMemory::default(), 0.4), "{texts:?}");
        // Fresh memory may be wrong, too.
        let curve: [Series<5>; 4] = [
            Series([0.0, 1.0, 0.0, 0.0, 0.0]),
            Series([1.4, 1.0, 0.5, -0.3, 0.2]),
            Series([0.7, 1.0, 0.0, 0.0, 0.0]),
            Series([1.0, 0.0, 0.0, 0.0, 0.0]),
        ];
        let mut expected = vec![Series::default(); exprs.len()];
        Program::compile(&exprs).eval(&curve, &mut Registers::default(), &mut expected);
        let found = along(&mut used, 1.4);
        for (found, Series(expected)) in found.iter().zip(&expected) {
            for (k, c) in expected.iter().enumerate() {
                let found = found.get(k).copied().unwrap_or(0.0);
                assert!(
                    (found - c).abs() <= 1e-12 * (1.0 + c.abs()),
                    "{texts:?}: {found}, not {c}"
                );
            }
        }
    }
}
