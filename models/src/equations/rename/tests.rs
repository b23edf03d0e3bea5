//! Names in formulas of parts.
use super::Renamer;
use crate::kinds::{Located, Param};

fn renamed(text: &str, indices: &[(String, i64)]) -> String {
    let own = ["x", "p", "R", "u", "i", "k"].map(str::to_owned).into();
    let others = [("p.v".to_owned(), "first.p.v".to_owned())].into();
    let renamer = Renamer { prefix: "box[2].r", own, others };
    let p = Located::new(Param::Text(text.to_owned()), 0..0);
    match renamer.value(&p, indices).value {
        Param::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_the_part_get_its_name() {
    for (text, expected) in [
        ("x + 2*R", "box[2].r.x + 2*box[2].r.R"),
        ("p.v - R*p.i", "first.p.v - box[2].r.R*box[2].r.p.i"),
        ("sin(t) + y", "sin(t) + y"),
        // A function, a number with an exponent, a range, a quantity with a unit.
        ("x(2) + 1e5*x", "x(2) + 1e5*box[2].r.x"),
        ("2.5e-3*x.k", "2.5e-3*box[2].r.x.k"),
        ("u[1..R]", "box[2].r.u[1..box[2].r.R]"),
        ("5 K", "5 K"),
        // Names that sums bind are none of the part.
        ("sum(u[k]*R for k in 1..=3)", "sum(box[2].r.u[k]*box[2].r.R for k in 1..=3)"),
    ] {
        assert_eq!(renamed(text, &[]), expected);
    }
}

#[test]
fn indices_hide_names_of_the_part() {
    let indices = [("i".to_owned(), 3)];
    assert_eq!(renamed("u[i] + i*x", &indices), "box[2].r.u[i] + i*box[2].r.x");
    assert_eq!(renamed("u[i] + i*x", &[]), "box[2].r.u[box[2].r.i] + box[2].r.i*box[2].r.x");
}
