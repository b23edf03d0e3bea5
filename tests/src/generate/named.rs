//! Named formulas (`let`): a part of the formulas of a unit gets a name, or names are written out.
use super::{
    random::Random,
    tree::{self, Part, Rewrite, Root},
};
use superdense_judge::model::{Expr, Model, Unit, Variable};

/// Puts the formula in place of each name.
struct Inline<'a>(usize, &'a [Expr]);

impl Rewrite for Inline<'_> {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(Variable::Let(u, k)) if u == self.0 => self.1[k].clone(),
            e => e,
        }
    }
}

/// Writes all named formulas out.
pub fn inline(model: &mut Model) {
    for (u, unit) in model.units.iter_mut().enumerate() {
        let mut done: Vec<Expr> = Vec::new();
        // Each may read those before it.
        for e in std::mem::take(&mut unit.lets) {
            done.push(tree::expression(e, &mut Inline(u, &done)));
        }
        tree::each_root_of_unit(unit, &mut |root| root.rewrite(&mut Inline(u, &done)));
    }
}

/// The model without named formulas.
pub fn inlined(model: &Model) -> Model {
    let mut model = model.clone();
    inline(&mut model);
    model
}

/// Puts a name in place of a formula, at some of the places or (above 99) at all.
struct Named<'a> {
    formula: &'a Expr,
    name: Variable,
    random: &'a mut Random,
    percent: usize,
}

impl Rewrite for Named<'_> {
    fn expression(&mut self, e: Expr) -> Expr {
        if e == *self.formula && self.random.chance(self.percent) {
            return Expr::Read(self.name);
        }
        e
    }
}

/// Parts of formulas of a unit that can have a name.
fn candidates(unit: &Unit) -> Vec<Expr> {
    let mut unit = unit.clone();
    unit.lets.clear();
    let mut found = Vec::new();
    tree::each_root_of_unit(&mut unit, &mut |root| {
        let mut list = Vec::new();
        match root {
            Root::Expression(e) => tree::parts(e, &mut list),
            Root::Condition(c) => tree::parts_of_condition(c, &mut list),
        }
        let compound = |p: Part<'_>| match p {
            Part::Expression(Expr::Number(_) | Expr::Read(_) | Expr::Pre(_))
            | Part::Condition(_) => None,
            Part::Expression(e) => Some(e.clone()),
        };
        found.extend(list.into_iter().filter_map(compound).filter(|e| !tree::has_pre(e)));
    });
    found
}

/// Gives a name to a part of the formulas of unit `u`, at `percent` of its places; false if there
/// is no such part.
pub fn name_a_part(random: &mut Random, model: &mut Model, u: usize, percent: usize) -> bool {
    let unit = &mut model.units[u];
    let list = candidates(unit);
    if list.is_empty() {
        return false;
    }
    let formula = random.pick(&list);
    let name = Variable::Let(u, unit.lets.len());
    let lets = std::mem::take(&mut unit.lets);
    let mut named = Named { formula: &formula, name, random, percent };
    tree::each_root_of_unit(unit, &mut |root| root.rewrite(&mut named));
    unit.lets = lets;
    unit.lets.push(formula);
    true
}

#[cfg(test)]
mod tests {
    use super::super::campaign;
    use super::*;

    #[test]
    fn names_are_written_out_again() {
        let mut named = 0;
        for number in 0..50 {
            let plain = inlined(&campaign::case(3, number).model);
            let mut model = plain.clone();
            let mut random = Random::new(3, number, "test");
            for u in 0..model.units.len() {
                named += usize::from(name_a_part(&mut random, &mut model, u, 70));
                named += usize::from(name_a_part(&mut random, &mut model, u, 100));
            }
            assert_eq!(inlined(&model), plain, "model {number}");
        }
        assert!(named > 80, "{named}");
    }
}
