//! Precedence, spelling, and every error with its message, place and help.

use super::super::{MAX_DEPTH, MAX_SOURCE, parse};
use super::{condition, errors, expr};

#[test]
fn operators_bind_as_documented() {
    // The right column says the same with all parentheses.
    for (text, meaning) in [
        ("x + y * z", "x + (y * z)"),
        ("x - y - z", "(x - y) - z"),
        ("x / y / z", "(x / y) / z"),
        ("x - y + z", "(x - y) + z"),
        ("x / y * z", "(x / y) * z"),
        ("x ^ y ^ z", "x ^ (y ^ z)"),
        ("x ** y", "x ^ y"),
        ("-x ^ y", "-(x ^ y)"),
        ("x ^ -y ^ z", "x ^ (-(y ^ z))"),
        ("x ^ -y * z", "(x ^ (-y)) * z"),
        ("-x * y", "(-x) * y"),
        ("x - -y", "x - (-y)"),
        ("+x * +y", "x * y"),
        ("2 * -x + y", "(2 * (-x)) + y"),
        ("if x > 0 then y else z + 1", "if(x > 0, y, (z + 1))"),
        ("1 + if x > 0 then y else z", "1 + (if x > 0 then y else z)"),
        ("if(x > 0, y, z) * 2", "(if(x > 0, y, z)) * 2"),
        ("if (x > 0) and (y > 0) then 1 else 0", "if(((x > 0) and (y > 0)), 1, 0)"),
        ("if (x) + 1 > y then 1 else 0", "if((x + 1) > y, 1, 0)"),
        ("if x > 0 then 1 else if y > 0 then 2 else 3", "if(x > 0, 1, if(y > 0, 2, 3))"),
        ("pow(x, y)", "x ^ y"),
        ("min(x, y, z)", "min(min(x, y), z)"),
        ("clamp(x, 1, 2)", "min(max(x, 1), 2)"),
        ("log(x)", "ln(x)"),
        (".5e1 * x", "5.0*x"),
        ("1.*x + 2e-1", "1*x + 0.2"),
        ("2*n*half*x", "4*x"),
        ("sin(pi) * x", "1.2246467991473532e-16*x"),
        ("e", "2.718281828459045"),
    ] {
        assert_eq!(expr(text).to_string(), expr(meaning).to_string(), "{text}");
    }
    for (text, meaning) in [
        ("x < 1 or y < 1 and z < 1", "x < 1 or (y < 1 and z < 1)"),
        ("not x < 1 and y < 1", "(not (x < 1)) and (y < 1)"),
        ("!x < 1 && y < 1 || z < 1", "((not (x < 1)) and (y < 1)) or (z < 1)"),
        ("x + 1 < y * 2", "(x + 1) < (y * 2)"),
        ("x > 1", "1 < x"),
        ("x >= 1", "1 <= x"),
        ("true and x < 1", "x < 1"),
        ("x < 1 or 1 < 2", "true"),
        ("not not x == 1", "x == 1"),
    ] {
        let (a, b) = (condition(text), condition(meaning));
        assert_eq!(a.logic(), b.logic(), "{text}");
        let z = |c: &super::Condition| {
            c.atoms().iter().map(|atom| atom.z.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(z(&a), z(&b), "{text}");
    }
}

#[test]
fn paths_have_one_spelling() {
    for text in ["upper.x1", "upper . x1", " upper.x1\n"] {
        assert_eq!(expr(text).to_string(), "v4", "{text}");
    }
    for text in ["pump[3].q", "pump[n - 1].q", "pump[ 2*2-1 ] . q", "pump[3.0].q"] {
        assert_eq!(expr(text).to_string(), "v5", "{text}");
    }
    assert_eq!(expr("row[-0][sqrt(n)]").to_string(), "v6");
}

/// Source text, the errors' messages, each with the text under its span, and the first help.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const CASES: &[Case] = &[
    ("", &[("the expression is empty", "")], "write a number, a variable or a formula"),
    (" \n\t", &[("the expression is empty", " \n\t")], "write a number, a variable or a formula"),
    ("x = 1", &[("unexpected character `=`", "=")], "write `==` to compare"),
    ("x => 1", &[("`=>` is no comparison", "=>")], "write `>=`"),
    ("x =< 1", &[("`=<` is no comparison", "=<")], "write `<=`"),
    ("x & y", &[("unexpected character `&`", "&")], "write `and` or `&&`"),
    (
        "|x|",
        &[("unexpected character `|`", "|")],
        "write `or` or `||`; the absolute value is `abs(x)`",
    ),
    ("x − 1", &[("unexpected character `−`", "−")], "write the minus sign as `-`"),
    ("x·y", &[("unexpected character `·`", "·")], "write the product as `*`"),
    ("x % 2", &[("unexpected character `%`", "%")], "write the remainder as `mod(a, b)`"),
    ("{x}", &[("unexpected character `{`", "{")], "group with `(` and `)`"),
    ("x ? 1", &[("unexpected character `?`", "?")], ""),
    (
        "1 + 1e999",
        &[("the number `1e999` is too large", "1e999")],
        "the largest number is about 1.8e308",
    ),
    ("2x", &[("expected an operator or the end, found `x`", "x")], "a product needs its `*`"),
    ("2 (x)", &[("expected an operator or the end, found `(`", "(")], "a product needs its `*`"),
    ("1e", &[("expected an operator or the end, found `e`", "e")], "a product needs its `*`"),
    (
        "x, y",
        &[("expected an operator or the end, found `,`", ",")],
        "only the arguments of a function are separated by `,`",
    ),
    (
        "x > 0 then 1",
        &[("expected an operator or the end, found `then`", "then")],
        "a conditional starts with `if`",
    ),
    ("x + * y", &[("expected a number, a variable, a function or `(`, found `*`", "*")], ""),
    (
        "x +",
        &[(
            "expected a number, a variable, a function or `(`, found the end of the expression",
            "",
        )],
        "",
    ),
    ("sin(x,)", &[("expected a number, a variable, a function or `(`, found `)`", ")")], ""),
    ("(x + (y)", &[("this `(` is never closed", "(")], "add the missing `)`"),
    ("sin(x", &[("this `(` is never closed", "(")], "add the missing `)`"),
    ("pump[3", &[("this `[` is never closed", "[")], "add the missing `]`"),
    ("x + 1)", &[("this `)` closes nothing", ")")], "remove this `)`"),
    ("x]", &[("this `]` closes nothing", "]")], "remove this `]`"),
    ("(x]", &[("expected an operator or `)`, found `]`", "]")], ""),
    ("(x y)", &[("expected an operator or `)`, found `y`", "y")], ""),
    ("pump[3)", &[("expected an operator or `]`, found `)`", ")")], ""),
    (
        "upper.3",
        &[("expected an operator or the end, found `.3`", ".3")],
        "a product needs its `*`",
    ),
    ("upper.", &[("expected a name after `.`, found the end of the expression", "")], ""),
    ("if x > 0 1 else 2", &[("expected an operator or `then`, found `1`", "1")], ""),
    (
        "if x > 0 then 1",
        &[("expected an operator or `else`, found the end of the expression", "")],
        "",
    ),
    ("if(x > 0, 1)", &[("`if` takes 3 arguments, found 2", "if(x > 0, 1)")], ""),
    (
        "0 < x < 1",
        &[("comparisons cannot be chained", "<")],
        "write `a < b and b < c` instead of `a < b < c`",
    ),
    ("sni(x)", &[("unknown function `sni`", "sni")], "did you mean `sin`?"),
    (
        "x(y + 1)",
        &[("unknown function `x`", "x")],
        "if it is a variable, the product needs its `*`",
    ),
    ("uper.x1 + 1", &[("unknown variable `uper.x1`", "uper.x1")], "did you mean `upper.x1`?"),
    ("pump[4].q", &[("unknown variable `pump[4].q`", "pump[4].q")], "did you mean `pump[3].q`?"),
    ("(velocity)", &[("unknown variable `velocity`", "velocity")], ""),
    ("2 * sin", &[("`sin` is a function", "sin")], "write `sin(...)`"),
    ("atan2(x)", &[("`atan2` takes 2 arguments, found 1", "atan2(x)")], ""),
    ("sin(x, y)", &[("`sin` takes 1 argument, found 2", "sin(x, y)")], ""),
    ("max()", &[("`max` takes 1 argument or more, found 0", "max()")], ""),
    (
        "1 + (x > 2)",
        &[("expected a number, found a condition", "x > 2")],
        "`if c then 1 else 0` turns a condition into a number; `step(x)` is 1 where x >= 0",
    ),
    (
        "x > 1",
        &[("expected a number, found a condition", "x > 1")],
        "`if c then 1 else 0` turns a condition into a number; `step(x)` is 1 where x >= 0",
    ),
    (
        "if x then 1 else 2",
        &[("expected a condition, found a number", "x")],
        "compare the number with something, as in `x > 0`",
    ),
    (
        "if x > 0 and y then 1 else 2",
        &[("expected a condition, found a number", "y")],
        "compare the number with something, as in `x > 0`",
    ),
    (
        "pump[x].q",
        &[("an index must be a constant whole number from 0 to 4294967295", "x")],
        "indices may use numbers and named constants only",
    ),
    (
        "pump[1/2].q",
        &[("an index must be a constant whole number from 0 to 4294967295", "1/2")],
        "indices may use numbers and named constants only",
    ),
    (
        "pump[-1].q",
        &[("an index must be a constant whole number from 0 to 4294967295", "-1")],
        "indices may use numbers and named constants only",
    ),
    ("broken + 1", &[("the constant `broken` is inf", "broken")], "constants must be finite"),
    (
        "abs(q0) + sine(x) + (x < nope)*2",
        &[
            ("unknown variable `q0`", "q0"),
            ("unknown function `sine`", "sine"),
            ("unknown variable `nope`", "nope"),
        ],
        "",
    ),
];

#[test]
fn every_error_says_what_where_and_what_to_do() {
    for (text, expected, help) in CASES {
        let found = errors(text);
        let seen: Vec<(String, &str)> =
            found.iter().map(|error| (error.to_string(), error.span().of(text))).collect();
        let expected: Vec<(String, &str)> =
            expected.iter().map(|&(message, under)| (message.to_owned(), under)).collect();
        assert_eq!(seen, expected, "{text}");
        assert_eq!(found[0].help().unwrap_or_default(), *help, "{text}");
    }
}

#[test]
fn a_number_is_not_a_condition() {
    let found = super::Condition::parse("x + 1", &super::scope()).unwrap_err();
    assert_eq!(found[0].to_string(), "expected a condition, found a number");
}

#[test]
fn size_is_limited_and_length_is_not_depth() {
    let nest =
        |open: &str, close: &str, n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
    for (open, close) in
        [("(", ")"), ("sin(", ")"), ("-", ""), ("x^", ""), ("if true then 1 else ", "")]
    {
        assert!(parse(&nest(open, close, MAX_DEPTH - 1)).is_ok(), "{open}");
        let error = parse(&nest(open, close, MAX_DEPTH)).unwrap_err();
        assert_eq!(error.to_string(), "the expression is nested more than 200 levels deep");
        assert_eq!(error.help().unwrap(), "name parts of it as variables of their own");
    }
    assert!(parse(&"(".repeat(MAX_SOURCE)).is_err());

    let error = parse(&"x".repeat(MAX_SOURCE + 1)).unwrap_err();
    assert_eq!(error.to_string(), "the expression is 65537 bytes long; the limit is 65536");

    // A sum as long as the limit allows, through every pass.
    let sum = expr(&format!("x{}", "+x*y".repeat((MAX_SOURCE - 1) / 4)));
    let terms = (MAX_SOURCE - 1) as f64 / 4.0;
    assert_eq!(sum.eval(&[1.0, 1.0]), 1.0 + terms.floor());
    assert_eq!(sum.differentiate(super::super::VarId(1)).eval(&[1.0, 1.0]), terms.floor());
    assert!(sum.to_string().len() > MAX_SOURCE);
    let all = condition(&format!("x<1{}", " and x<1".repeat(8000)));
    assert_eq!(all.atoms().len(), 1);
    assert!(all.eval(&[0.5]) && !all.eval(&[1.0]));
    assert_eq!(all.alternatives().len(), 1);
}
