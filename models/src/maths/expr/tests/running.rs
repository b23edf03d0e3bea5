//! Form of programs, their failures and their speed.

use super::super::{Op, Program, Registers, VarId};
use super::{expr, same};

fn ops(program: &Program) -> Vec<Op> {
    program.code().iter().map(|instr| instr.op).collect()
}

fn run(program: &Program, vars: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; program.outputs().len()];
    program.eval(vars, &mut Registers::default(), &mut out);
    out
}

#[test]
fn common_parts_are_computed_once() {
    let exprs = ["sin(x + y)*2", "sin(y + x) + 1", "3", "y"].map(expr);
    let program = Program::compile(&exprs);
    assert_eq!(ops(&program), [Op::Add, Op::Sin, Op::Mul, Op::Add]);
    assert_eq!(program.constants(), [2.0, 1.0, 3.0]);
    assert_eq!(run(&program, &[0.0, 0.0]), [0.0, 1.0, 3.0, 0.0]);
    // An expression and its derivative share as well.
    let f = expr("exp(x*y)");
    let program = Program::compile([&f, &f.differentiate(VarId(0))]);
    assert_eq!(ops(&program), [Op::Mul, Op::Exp, Op::Mul]);
}

#[test]
fn small_powers_and_exact_quotients_are_multiplications() {
    for (text, expected) in [
        ("x^2", &[Op::Mul][..]),
        ("x^3", &[Op::Mul; 2]),
        ("x^4", &[Op::Mul; 2]),
        ("x^-1", &[Op::Div]),
        ("x^32", &[Op::Mul; 5]),
        ("x^33", &[Op::Pow]),
        ("x^0.5", &[Op::Sqrt]),
        ("x/4", &[Op::Mul]),
        ("x/3", &[Op::Div]),
    ] {
        let text_expr = expr(text);
        let program = Program::compile([&text_expr]);
        assert_eq!(ops(&program), expected, "{text}");
        for x in [1.1, -3.7, 1e-310, 0.0] {
            assert!(same(run(&program, &[x])[0], text_expr.eval(&[x])), "{text} at {x}");
        }
    }
}

#[test]
fn costly_branches_are_skipped_and_shared_parts_are_not() {
    use Op::{Add, Exp, Jump, JumpIf, JumpUnless, Less, Mul, Select, Sin};
    for (text, expected) in [
        ("if x < y then x + 1 else y", &[Add, Less, Select][..]),
        ("if x < y then sin(x) else y", &[Less, JumpUnless, Sin, Select]),
        ("if x < y then x else sin(y)", &[Less, JumpIf, Sin, Select]),
        ("if x < y then sin(x) else exp(y)", &[Less, JumpUnless, Sin, Jump, Exp, Select]),
        ("sin(x) + if x < y then sin(x) else 0", &[Sin, Less, Select, Add]),
        (
            "if x < y then sin(x + 1) else exp(x + 1)",
            &[Add, Less, JumpUnless, Sin, Jump, Exp, Select],
        ),
        (
            "if x < y then (if y < z then sin(x) else x*y) else z",
            &[Less, JumpUnless, Mul, Less, JumpUnless, Sin, Select, Select],
        ),
    ] {
        let mut found = ops(&Program::compile([&expr(text)]));
        let mut expected = expected.to_vec();
        if !expected.iter().any(|op| matches!(op, Jump | JumpIf | JumpUnless)) {
            // Without jumps the order of independent parts is of no interest.
            found.sort();
            expected.sort();
        }
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for op in [Add, Exp, Jump, JumpIf, JumpUnless, Less, Mul, Select, Sin] {
            let count = |ops: &[Op]| ops.iter().filter(|&&o| o == op).count();
            assert_eq!(count(&found), count(&expected), "{text}: {found:?}");
        }
    }
}

#[test]
fn many_nested_branches_compile() {
    let long_min = expr(&format!("min({}x)", "sin(x*y + z),".repeat(1000)));
    let distinct: String = (0..2000).map(|i| format!("sin(x + {i}),")).collect();
    let distinct = expr(&format!("max({distinct}x)"));
    for f in [long_min, distinct] {
        let slope = f.differentiate(VarId(0));
        let program = Program::compile([&f, &slope]);
        let at = [0.3, 0.5, 0.7];
        assert_eq!(run(&program, &at), [f.eval(&at), slope.eval(&at)]);
    }
}

#[test]
fn registers_adapt_to_the_program() {
    let (a, b) = (Program::compile([&expr("x + 2")]), Program::compile([&expr("x + 3")]));
    let mut registers = Registers::default();
    let mut out = [0.0];
    for (program, expected) in [(&a, 3.0), (&b, 4.0), (&a, 3.0)] {
        program.eval(&[1.0], &mut registers, &mut out);
        assert_eq!(out, [expected]);
    }
}

#[test]
fn the_culprit_is_named() {
    for (text, at, expected) in [
        ("1 + sqrt(x - y)*z", [0.0, 0.25, 1.0], "`sqrt(x - y)` is NaN: sqrt(-0.25)"),
        ("x/(y - z)", [1.0, 2.0, 2.0], "`x/(y - z)` is inf: 1.0 / 0.0"),
        ("exp(1000*x) * 0", [1.0, 0.0, 0.0], "`exp(1000*x)` is inf: exp(1000.0)"),
        ("2 * (x + y)", [f64::NAN, 1.0, 1.0], "`x` is NaN"),
        ("(1/0) + x", [1.0, 1.0, 1.0], "`1/0` is inf: 1.0 / 0.0"),
        ("(x - 1)^4", [1e200, 0.0, 0.0], "`(x - 1)^4` is inf: 1e200 * 1e200"),
        ("if x > 0 then ln(x - 2) else ln(x)", [1.0, 0.0, 0.0], "`ln(x - 2)` is NaN: ln(-1.0)"),
        ("z^x", [0.5, 0.0, -1.0], "`z^x` is NaN: (-1.0) ^ 0.5"),
    ] {
        let f = expr(text);
        let why = Program::compile([&expr("x - x"), &f]).explain_non_finite(&at);
        // The first expression is clean unless x itself is not finite.
        let why = why.unwrap();
        assert_eq!(why.to_string(), expected, "{text}");
        assert_eq!(why.output, usize::from(at[0].is_finite()), "{text}");
    }
    let harmless = expr("if x > 0 then sqrt(x) else 1/exp(-1000*x)");
    assert_eq!(Program::compile([&harmless]).explain_non_finite(&[-1.0]), None);
    // Nothing is computed, and a variable is to blame.
    let why = Program::compile([&expr("y"), &expr("x")]).explain_non_finite(&[f64::NAN, 1.0]);
    assert_eq!(why.unwrap().to_string(), "`x` is NaN");

    let slope = expr("y*sqrt(x)").differentiate(VarId(0));
    let why = Program::compile([&slope]).explain_non_finite(&[0.0, 1.0]).unwrap();
    assert_eq!(why.to_string(), "`sqrt(x)` is inf: 1.0 / 0.0");
}

#[test]
#[should_panic(expected = "the program reads 3 variables, got 2")]
fn too_few_variables_are_refused() {
    run(&Program::compile([&expr("x + z")]), &[1.0, 2.0]);
}

#[test]
fn programs_can_be_stored() {
    fn stored<T: serde::Serialize + for<'de> serde::Deserialize<'de> + Clone + std::fmt::Debug>() {}
    stored::<Program>();
    stored::<super::super::Expr>();
    stored::<super::super::Condition>();
}
