//! Properties on random expressions, against an evaluator of its own.

use proptest::prelude::*;

use super::{
    super::{Condition, Expr, Freezer, Program, Registers, Symbol, VarId, op::powi, parse},
    same,
};
use crate::solve::{
    Dims,
    qss::{Sheet, System, View},
};

/// A test's own tree, as far from the implementation as it gets.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Var(u32),
    Unary(&'static str, Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Powi(Box<Tree>, i32),
    If(Box<Cond>, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Debug)]
enum Cond {
    Compare(&'static str, Tree, Tree),
    Join(&'static str, Box<Cond>, Box<Cond>),
    Not(Box<Cond>),
}

const UNARY: [&str; 23] = [
    "-", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "ln", "log10",
    "log2", "sqrt", "cbrt", "abs", "sign", "floor", "ceil", "round", "trunc", "step",
];
const BINARY: [&str; 9] = ["+", "-", "*", "/", "min", "max", "mod", "hypot", "atan2"];
const SMOOTH: [&str; 5] = ["sin", "cos", "tanh", "atan", "-"];

impl Tree {
    fn eval(&self, vars: &[f64]) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Var(id) => vars[*id as usize],
            Self::Powi(x, 0) => {
                x.eval(vars);
                1.0
            }
            Self::Powi(x, n) => powi(&x.eval(vars), *n),
            Self::If(c, a, b) => {
                if c.eval(vars) {
                    a.eval(vars)
                } else {
                    b.eval(vars)
                }
            }
            Self::Unary(name, a) => {
                let a = a.eval(vars);
                match *name {
                    "-" => -a,
                    "sin" => libm::sin(a),
                    "cos" => libm::cos(a),
                    "tan" => libm::tan(a),
                    "asin" => libm::asin(a),
                    "acos" => libm::acos(a),
                    "atan" => libm::atan(a),
                    "sinh" => libm::sinh(a),
                    "cosh" => libm::cosh(a),
                    "tanh" => libm::tanh(a),
                    "exp" => libm::exp(a),
                    "ln" => libm::log(a),
                    "log10" => libm::log10(a),
                    "log2" => libm::log2(a),
                    "sqrt" => a.sqrt(),
                    "cbrt" => libm::cbrt(a),
                    "abs" => a.abs(),
                    "sign" if a == 0.0 => 0.0,
                    "sign" => a.signum(),
                    "floor" => a.floor(),
                    "ceil" => a.ceil(),
                    "round" => a.round(),
                    "trunc" => a.trunc(),
                    "step" if a.is_nan() => a,
                    "step" => {
                        if a >= 0.0 {
                            1.0
                        } else {
                            0.0
                        }
                    }
                    _ => unreachable!(),
                }
            }
            Self::Binary(name, a, b) => {
                let (a, b) = (a.eval(vars), b.eval(vars));
                match *name {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "^" => libm::pow(a, b),
                    "min" | "max" if a.is_nan() || b.is_nan() => f64::NAN,
                    "min" => {
                        if b < a {
                            b
                        } else {
                            a
                        }
                    }
                    "max" => {
                        if b > a {
                            b
                        } else {
                            a
                        }
                    }
                    "mod" => {
                        let rest = a % b;
                        if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
                    }
                    "hypot" => libm::hypot(a, b),
                    "atan2" => libm::atan2(a, b),
                    _ => unreachable!(),
                }
            }
        }
    }

    /// Text with all parentheses.
    fn text(&self) -> String {
        match self {
            Self::Number(value) => format!("({value:?})"),
            Self::Var(id) => format!("v{id}"),
            Self::Powi(x, n) => format!("({}^{n})", x.text()),
            Self::If(c, a, b) => format!("if({}, {}, {})", c.text(), a.text(), b.text()),
            Self::Unary("-", a) => format!("(-{})", a.text()),
            Self::Unary(name, a) => format!("{name}({})", a.text()),
            Self::Binary(name, a, b) if name.len() == 1 => {
                format!("({} {name} {})", a.text(), b.text())
            }
            Self::Binary(name, a, b) => format!("{name}({}, {})", a.text(), b.text()),
        }
    }
}

impl Cond {
    fn eval(&self, vars: &[f64]) -> bool {
        match self {
            Self::Not(a) => !a.eval(vars),
            Self::Join("and", a, b) => a.eval(vars) && b.eval(vars),
            Self::Join(_, a, b) => a.eval(vars) || b.eval(vars),
            Self::Compare(relation, a, b) => {
                let (a, b) = (a.eval(vars), b.eval(vars));
                match *relation {
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    ">=" => a >= b,
                    "==" => a == b,
                    _ => a != b,
                }
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Not(a) => format!("(not {})", a.text()),
            Self::Join(name, a, b) => format!("({} {name} {})", a.text(), b.text()),
            Self::Compare(name, a, b) => format!("({} {name} {})", a.text(), b.text()),
        }
    }
}

fn leaf() -> impl Strategy<Value = Tree> {
    let numbers = [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.1, -2.5, 1e-7, 1e20];
    prop_oneof![
        1 => prop::sample::select(numbers.to_vec()).prop_map(Tree::Number),
        1 => (-10.0..10.0).prop_map(Tree::Number),
        3 => (0..4u32).prop_map(Tree::Var),
    ]
}

/// Comparisons of these trees, joined.
fn cond(inner: impl Strategy<Value = Tree> + Clone + 'static) -> impl Strategy<Value = Cond> {
    let relations = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let compare = (relations, inner.clone(), inner)
        .prop_map(|(relation, a, b)| Cond::Compare(relation, a, b));
    compare.prop_recursive(2, 4, 2, |c| {
        let c = c.prop_map(Box::new);
        prop_oneof![
            c.clone().prop_map(Cond::Not),
            (prop::sample::select(vec!["and", "or"]), c.clone(), c)
                .prop_map(|(name, a, b)| Cond::Join(name, a, b)),
        ]
    })
}

/// Trees of whole numbers that switch, on which arithmetic is exact and comparisons often tie.
fn whole_tree() -> impl Strategy<Value = Tree> + Clone {
    let leaf = prop_oneof![
        (-2..3i32).prop_map(|n| Tree::Number(f64::from(n))),
        (0..4u32).prop_map(Tree::Var)
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let binary = vec!["+", "-", "*", "min", "max"];
        prop_oneof![
            2 => (prop::sample::select(binary), boxed(), boxed())
                .prop_map(|(f, a, b)| Tree::Binary(f, a, b)),
            1 => (prop::sample::select(vec!["-", "abs", "sign", "floor", "ceil"]), boxed())
                .prop_map(|(f, a)| Tree::Unary(f, a)),
        ]
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(6, 48, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let cond = cond(inner.clone());
        prop_oneof![
            3 => (prop::sample::select(UNARY.to_vec()), boxed()).prop_map(|(f, a)| Tree::Unary(f, a)),
            5 => (prop::sample::select(BINARY.to_vec()), boxed(), boxed())
                .prop_map(|(f, a, b)| Tree::Binary(f, a, b)),
            1 => (boxed(), -9..40i32).prop_map(|(x, n)| Tree::Powi(x, n.min(32))),
            1 => (boxed(), 0..4u32).prop_map(|(a, v)| Tree::Binary("^", a, Box::new(Tree::Var(v)))),
            2 => (cond.prop_map(Box::new), boxed(), boxed()).prop_map(|(c, a, b)| Tree::If(c, a, b)),
        ]
    })
}

/// Trees whose derivatives of low order are tame on (-2, 2).
fn smooth_tree() -> impl Strategy<Value = Tree> {
    leaf().prop_filter("tame", |t| !matches!(t, Tree::Number(n) if n.abs() > 10.0)).prop_recursive(
        4,
        16,
        2,
        |inner| {
            let boxed = || inner.clone().prop_map(Box::new);
            let wrap = |name: &'static str, x: Box<Tree>| Tree::Unary(name, x);
            // 1.5 + sin(x): safe under roots, logarithms and fractions.
            let positive = move |x| {
                let sine = Box::new(wrap("sin", x));
                Box::new(Tree::Binary("+", Box::new(Tree::Number(1.5)), sine))
            };
            prop_oneof![
                (prop::sample::select(SMOOTH.to_vec()), boxed()).prop_map(move |(f, a)| wrap(f, a)),
                (
                    prop::sample::select(vec!["sqrt", "ln", "cbrt", "exp", "sinh", "cosh", "log2"]),
                    boxed()
                )
                    .prop_map(move |(f, a)| wrap(f, positive(a))),
                (prop::sample::select(vec!["+", "-", "*"]), boxed(), boxed())
                    .prop_map(|(f, a, b)| Tree::Binary(f, a, b)),
                (prop::sample::select(vec!["/", "hypot", "atan2"]), boxed(), boxed())
                    .prop_map(move |(f, a, b)| Tree::Binary(f, a, positive(b))),
                (boxed(), boxed()).prop_map(move |(a, b)| Tree::Binary(
                    "^",
                    positive(a),
                    positive(b)
                )),
                (boxed(), 2..4i32).prop_map(|(a, n)| Tree::Powi(a, n)),
            ]
        },
    )
}

fn numbered(name: &str) -> Option<Symbol> {
    let number = name.strip_prefix('v')?.parse().ok()?;
    (number < 4).then_some(Symbol::Var(VarId(number)))
}

fn read(text: &str) -> Expr {
    Expr::parse(text, &numbered).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn point() -> impl Strategy<Value = [f64; 4]> {
    let special = prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY]);
    let number = prop_oneof![4 => -3.0..3.0, 1 => special];
    [number.clone(), number.clone(), number.clone(), number]
}

fn whole_point() -> impl Strategy<Value = [f64; 4]> {
    let number = (-2..3i32).prop_map(f64::from);
    [number.clone(), number.clone(), number.clone(), number]
}

/// Time and states.
struct At([f64; 4]);

impl View<f64> for At {
    fn time(&self) -> f64 {
        self.0[0]
    }
    fn state(&self, index: usize) -> f64 {
        self.0[Dims::STATES + index]
    }
    fn input(&self, _: usize) -> f64 {
        f64::NAN
    }
    fn discrete(&self, _: usize) -> f64 {
        f64::NAN
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn text_tree_print_and_program_agree(trees in prop::collection::vec(tree(), 1..4), at in point()) {
        let exprs: Vec<Expr> = trees.iter().map(|tree| read(&tree.text())).collect();
        let program = Program::compile(&exprs);
        let mut registers = Registers::default();
        let mut out = vec![0.0; exprs.len()];
        // Values that an earlier evaluation left must not matter.
        program.eval(&[0.3, -0.4, 2.0, f64::NAN], &mut registers, &mut out);
        program.eval(&at, &mut registers, &mut out);
        let dims = Dims { states: at.len() - Dims::STATES, ..Dims::default() };
        let sheet = Sheet::new(dims, &program);
        for (index, (part, &found)) in program.parts().iter().zip(&out).enumerate() {
            let mut alone = [0.0];
            part.eval(&at, &mut Registers::default(), &mut alone);
            prop_assert!(same(alone[0], found), "alone: {} != {found}", alone[0]);
            prop_assert!(part.code().len() <= program.code().len());
            // The second time what the first one left must not matter.
            let mut scratch = Vec::new();
            sheet.derivative(index, &At([0.3, -0.4, 2.0, f64::NAN]), &mut scratch);
            let formula = sheet.derivative(index, &At(at), &mut scratch);
            prop_assert!(same(formula, found), "formula: {formula} != {found}");
        }
        for ((tree, expr), found) in trees.iter().zip(&exprs).zip(out) {
            let expected = tree.eval(&at);
            prop_assert!(same(expr.eval(&at), expected), "{} != {expected}", expr.eval(&at));
            prop_assert!(same(found, expected), "program: {found} != {expected}");
            let again = read(&expr.to_string());
            prop_assert!(same(again.eval(&at), expected), "printed: {expr}");
        }
    }

    /// Where no function is zero, a condition holds if one alternative has all of its functions below it.
    #[test]
    fn alternatives_agree_with_the_truth(cond in cond(whole_tree()), at in whole_point()) {
        let condition = Condition::parse(&cond.text(), &numbered).unwrap();
        prop_assert_eq!(condition.eval(&at), cond.eval(&at));
        let mut below = condition.alternatives().into_iter().map(|all| {
            all.iter().all(|z| z.eval(&at) <= 0.0)
        });
        if condition.atoms().iter().all(|atom| atom.z.eval(&at) != 0.0) {
            prop_assert_eq!(below.any(|b| b), cond.eval(&at), "{}", cond.text());
        } else if cond.eval(&at) {
            prop_assert!(below.any(|b| b), "{}", cond.text());
        }
    }

    /// Sides held as the functions are now say the same as the condition and the expression.
    #[test]
    fn frozen_conditions_agree_with_the_truth(
        cond in cond(whole_tree()),
        tree in whole_tree(),
        at in whole_point(),
        first in any::<bool>(),
    ) {
        let condition = Condition::parse(&cond.text(), &numbered).unwrap();
        let expr = read(&tree.text());
        // The first two variables move.
        let mut freezer = Freezer::new(VarId(4), |v| v.0 < 2);
        let early = first.then(|| freezer.freeze(&expr, None));
        let truth = freezer.condition(&condition, None);
        let smooth = early.unwrap_or_else(|| freezer.freeze(&expr, None));
        let mut vars = at.to_vec();
        for frozen in freezer.found() {
            prop_assert_eq!(frozen.side.0 as usize, vars.len());
            let side = match frozen.passes {
                Some(_) => 0.0,
                None => frozen.kind.side(frozen.function.eval(&vars)),
            };
            vars.push(side);
        }
        prop_assert_eq!(truth.eval(&vars) != 0.0, cond.eval(&at), "{} as {}", cond.text(), truth);
        prop_assert!(smooth.eval(&vars) == tree.eval(&at), "{} as {}", tree.text(), smooth);
        prop_assert!(truth.vars().iter().all(|v| v.0 >= 2), "reads what moves: {}", truth);
    }

    #[test]
    fn what_is_blamed_is_not_finite(tree in tree(), at in point()) {
        let expr = read(&tree.text());
        let program = Program::compile([&expr]);
        match program.explain_non_finite(&at) {
            None => prop_assert!(expr.eval(&at).is_finite()),
            Some(why) => {
                prop_assert!(!expr.eval(&at).is_finite());
                prop_assert!(!why.value.is_finite());
                prop_assert_eq!(why.span.of(expr.source()), why.text);
            }
        }
    }

    #[test]
    fn derivatives_match_finite_differences(
        tree in smooth_tree(),
        at in [-1.5..1.5f64, -1.5..1.5f64, -1.5..1.5f64, -1.5..1.5f64],
    ) {
        let expr = read(&tree.text());
        let value = |i: usize, h: f64| {
            let mut at = at;
            at[i] += h;
            expr.eval(&at)
        };
        let difference = |i: usize, h: f64| {
            let near = value(i, h) - value(i, -h);
            let far = value(i, 2.0 * h) - value(i, -2.0 * h);
            (8.0 * near - far) / (12.0 * h)
        };
        for i in 0..4 {
            let (coarse, fine) = (difference(i, 2e-3), difference(i, 1e-3));
            let scale = 1.0 + fine.abs() + value(i, 0.0).abs();
            // Where the differences disagree with each other they prove nothing.
            if (coarse - fine).abs() < 1e-7 * scale {
                let slope = expr.differentiate(VarId(i as u32));
                let found = slope.eval(&at);
                prop_assert!((found - fine).abs() < 1e-6 * scale, "{slope} = {found}, not {fine}");
            }
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse(&text).map(|ast| (ast.real(&numbered), ast.condition(&numbered)));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_soup_of_tokens_panics(tokens in prop::collection::vec(prop::sample::select(vec![
        "if", "then", "else", "(", ")", "[", "]", ",", ".", "+", "-", "*", "/", "^", "<", "==", "and",
        "or", "not", "true", "1", "2.5", "1e", ".5", "v0", "v1", "sin(", "min(", "if(", " ", "é", "=",
        "pow(", "0",
    ]), 0..30)) {
        let text: String = tokens.concat();
        if let Ok(ast) = parse(&text) {
            if let Ok(expr) = ast.real(&numbered) {
                let slope = expr.differentiate(VarId(0));
                let program = Program::compile([&expr, &slope]);
                program.eval(&[0.5, 1.5, 0.0, 0.0], &mut Registers::default(), &mut [0.0; 2]);
                program.explain_non_finite(&[0.0, -1.0, 0.0, 0.0]);
            }
            if let Ok(condition) = ast.condition(&numbered) {
                condition.eval(&[0.5, 1.5, 0.0, 0.0]);
                condition.alternatives();
            }
        }
    }
}
