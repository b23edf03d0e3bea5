//! How many units a scenario has, before any of them is made.
//!
//! Templates within templates multiply: what holds the one below twice, thirty levels deep, is a
//! thousand million units in thirty lines. So sizes are computed from the declarations, each
//! template once for each set of its parameters.
use super::{
    declare::{Declarations, GroupDecl, Of, UnitDecl},
    evaluate::Evaluator,
    expand::{CONTINUOUS, MAX_DEPTH, MAX_UNITS, scope_of},
    parameters::{Scope, flatten},
    session::Session,
};
use crate::document::Table;
use std::{collections::HashMap, rc::Rc};
use superdense_models::kinds::Located;

/// The counts so far.
pub(super) struct Size<'a> {
    /// Units and groups.
    pub total: u64,
    /// The unit that has the most of them.
    pub largest: Option<&'a UnitDecl>,
    /// A template that is nested too deep.
    pub deep: Option<Located<String>>,
}

/// The size of a group. `scopes`: of the scenario, and of the group.
pub(super) fn of<'a>(
    declarations: &Declarations,
    group: &'a GroupDecl,
    scopes: [&Rc<Scope>; 2],
    session: &Session,
) -> Size<'a> {
    let (memo, open, root) = (HashMap::new(), Vec::new(), Rc::clone(scopes[0]));
    let mut sizes = Sizes { declarations, root, session, memo, open, deep: None };
    // Mistakes are told when units are made.
    session.sink.unheard(|| {
        let size = |u| (sizes.unit(u, scopes[1]), u);
        let all: Vec<(u64, &UnitDecl)> = group.units.iter().map(size).collect();
        let total = all.iter().fold(1, |sum: u64, (size, _)| sum.saturating_add(*size));
        let largest = all.into_iter().max_by_key(|(size, _)| *size).map(|(_, unit)| unit);
        Size { total, largest, deep: sizes.deep }
    })
}

struct Sizes<'a> {
    declarations: &'a Declarations,
    root: Rc<Scope>,
    session: &'a Session,
    /// By template and what is given to it.
    memo: HashMap<(String, Vec<(String, u64)>), u64>,
    /// Templates around the current one.
    open: Vec<String>,
    deep: Option<Located<String>>,
}

impl Sizes<'_> {
    fn group(&mut self, decl: &GroupDecl, scope: &Rc<Scope>) -> u64 {
        let sizes = decl.units.iter().map(|unit| self.unit(unit, scope));
        sizes.fold(1, u64::saturating_add)
    }

    fn unit(&mut self, unit: &UnitDecl, scope: &Rc<Scope>) -> u64 {
        let eval = Evaluator::new(self.session, scope, &[]);
        let count = unit.count.as_ref().map_or(Some(1), |node| eval.whole(node, "`count`"));
        let count = count.map_or(0, |n| n.max(0) as u64);
        match &unit.of {
            Of::Kind(kind) if kind.is_continuous() => count.saturating_mul(CONTINUOUS),
            Of::Kind(_) => count,
            Of::Template(template) => self.instances(template, unit, scope, count),
            Of::Unknown => 0,
        }
    }

    fn instances(
        &mut self,
        template: &Located<String>,
        unit: &UnitDecl,
        scope: &Rc<Scope>,
        count: u64,
    ) -> u64 {
        let name = &template.value;
        let Some((_, decl)) = self.declarations.templates.get(name) else { return 0 };
        let decl = Rc::clone(decl);
        // Rings are told when units are made.
        if self.open.contains(name) {
            return 0;
        }
        if self.open.len() >= MAX_DEPTH {
            self.deep.get_or_insert_with(|| template.clone());
            return 0;
        }
        // Each has one unit at least: no need to look into them.
        if count > MAX_UNITS as u64 {
            return count;
        }
        let mut total = 0u64;
        for i in 0..count {
            let locals = [("i", i as f64)];
            let locals = if unit.count.is_some() { &locals[..] } else { &[] };
            let eval = Evaluator::new(self.session, scope, locals);
            let size = self.instance(name, &decl, unit, &eval);
            if !eval.varies.get() {
                return size.saturating_mul(count);
            }
            total = total.saturating_add(size);
            if total > MAX_UNITS as u64 {
                break;
            }
        }
        total
    }

    fn instance(
        &mut self,
        name: &str,
        decl: &Rc<GroupDecl>,
        unit: &UnitDecl,
        eval: &Evaluator<'_>,
    ) -> u64 {
        let given = flatten(&Table { entries: unit.keys.clone() });
        let mut values = Vec::with_capacity(given.len());
        for (key, node) in given {
            let value = eval.number(&node, "a parameter").map_or(f64::NAN, |n| n.value);
            values.push((key.value, value.to_bits()));
        }
        let key = (name.to_owned(), values);
        if let Some(&size) = self.memo.get(&key) {
            return size;
        }
        let scope = Rc::new(scope_of(&self.root, self.session, decl, unit, eval));
        self.open.push(name.to_owned());
        let size = self.group(decl, &scope);
        self.open.pop();
        self.memo.insert(key, size);
        size
    }
}
