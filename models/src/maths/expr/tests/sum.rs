//! Expressions as sums of what stands in them with constant factors.
use super::super::{Expr, Names, Sum, VarId};

fn sum(text: &str) -> Sum {
    let scope = Names::new().var("x", 0).var("y", 1).var("z", 2);
    Sum::of(&Expr::parse(text, &scope).expect(text))
}

#[test]
fn factors_are_gathered_and_cancel() {
    let found = sum("3*(x - y)/2 + y*0.5 - (x + z*z)*1.5 + 4 - 1 + 0.1*y + 0.9*y");
    assert_eq!((found.constant, found.terms.len()), (3.0, 0));
    assert_eq!(found.vars(), [VarId(2)]);
    assert_eq!(found.expr().eval(&[7.0, 8.0, 2.0]), -3.0);
    assert!(found.bends(VarId(2)) && !found.bends(VarId(1)));
}

#[test]
fn what_is_solved_for_is_put_elsewhere() {
    let x = sum("2*x - 6*y + 4").solved_for(VarId(0));
    assert_eq!(x.expr().eval(&[0.0, 5.0, 0.0]), 13.0);
    let mut other = sum("x - 3*y + 2 + sin(x - 3*y)");
    other.put(VarId(0), &x, &x.expr());
    // The sine of a sum is left as it is, though the sum is a number by now.
    assert_eq!(other.terms.len(), 0);
    let value = other.expr().eval(&[0.0, 5.0, 0.0]);
    assert!((value - (-2.0f64).sin()).abs() < 1e-14, "{value}");
}

#[test]
fn a_product_of_variables_is_no_term() {
    let found = sum("x*y + x/z - 2*x");
    assert_eq!(found.terms.get(&VarId(0)), Some(&-2.0));
    assert!(found.bends(VarId(0)));
}
