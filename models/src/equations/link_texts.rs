//! Shared events, as one member of the link knows them.
use super::{events::Events, read::Reader};
use crate::{
    kinds::{Context, LinkSpec, Located, Param, ParamError},
    maths::expr::{Compare, Condition, Expr, Names, Program, Scope, Symbol, VarId},
    solve::equations::LinkEquations,
};

impl Events<'_> {
    /// Reads the links in which the unit takes part.
    pub(super) fn links(&mut self, r: &mut Reader<'_>, context: &Context<'_>) {
        for l in context.links {
            if let Some((link, alternatives)) = self.link(r, l) {
                self.links.push(link);
                self.shared.push(alternatives);
            }
        }
        self.note_moved(context);
    }

    /// Notes the inputs that each link may change by its resets of other members.
    fn note_moved(&mut self, context: &Context<'_>) {
        let spec = |number: u32| context.links.iter().find(|l| l.link == number);
        // Per input by which this unit knows a variable of another one: that.
        let mut heard = Vec::new();
        for link in &self.links {
            let Some(l) = spec(link.link) else { continue };
            let variables = l.variables.iter().zip(&link.known);
            let others = variables.filter(|((member, _), _)| *member != l.member);
            heard.extend(others.map(|((member, v), &input)| (input, l.units[*member as usize], v)));
        }
        for link in &mut self.links {
            let Some(l) = spec(link.link) else { continue };
            let is_moved = |unit: u32, variable: &String| {
                let mut moved = l.moved.iter().filter(|(of, _)| *of == unit);
                moved.any(|(_, name)| name.as_ref().is_none_or(|name| name == variable))
            };
            let moved = heard.iter().filter(|(_, unit, variable)| is_moved(*unit, variable));
            link.moved = moved.map(|(input, ..)| *input).collect();
            let turned = heard.iter().filter(|(_, unit, _)| l.moved.iter().any(|m| m.0 == *unit));
            link.turned = turned.map(|(input, ..)| *input).collect();
        }
    }

    fn link(
        &mut self,
        r: &mut Reader<'_>,
        l: &LinkSpec,
    ) -> Option<(LinkEquations, Vec<Vec<Expr>>)> {
        let own_scope = &self.formulas.scope;
        // Known between exchanges: own variables, and inputs for those of others.
        let (mut known, mut exchanged) = (own_scope.clone(), own_scope.clone());
        let (mut own, mut by) = (Vec::new(), Vec::new());
        for (place, (member, variable)) in l.variables.iter().enumerate() {
            let full = format!("{}.{variable}", l.members[*member as usize]);
            let mine =
                if *member == l.member { Some(variable) } else { l.known_by[place].as_ref() };
            let symbol = mine.and_then(|name| own_scope.lookup(name));
            let Some(Symbol::Var(var)) = symbol else {
                let error = format!("link `{}` uses `{full}`, which is not known here", l.name);
                let help = "connect it to an input of this unit, or use other variables";
                r.errors.push(ParamError::at(l.when.span.clone(), error).help(help));
                return None;
            };
            own.extend((*member == l.member).then_some((place, var.0 as usize)));
            by.push(var.0 as usize);
            known.insert(full.clone(), Symbol::Var(var));
            exchanged.insert(full, Symbol::Var(VarId(place as u32)));
        }
        let parse =
            |r: &mut Reader<'_>, scope: &Names| r.condition(&l.when.span, &l.when.value, scope);
        let (detect, condition) = (parse(r, &known)?, parse(r, &exchanged)?);
        // Inputs that tell discrete values of others stand still between events, too.
        let still =
            |v: &VarId| by.iter().zip(&l.discrete).any(|(&k, still)| *still && k == v.0 as usize);
        let truth = self.truth(r, (&detect, &l.when.span), None, &still)?;
        let sides = self.sides(&detect);
        let alternatives = self.alternatives(&detect, None);
        let after = after(r, l, &condition, &exchanged);
        let (targets, values) = self.own_resets(r, l, &exchanged);
        let link = LinkEquations {
            link: l.link,
            name: l.name.as_str().into(),
            member: l.member,
            members: l.members.len() as u32,
            priority: l.priority,
            detection: l.detection,
            believed: l.believed,
            resets_told: l.resets_told,
            known: by,
            moved: Vec::new(),
            turned: Vec::new(),
            truth,
            sides,
            own,
            sender: l.variables.iter().map(|(m, _)| *m).collect(),
            condition,
            targets,
            reset: Program::compile(&values),
            after,
        };
        Some((link, alternatives))
    }

    /// The variables that a link sets here, and their new values from the exchanged ones.
    fn own_resets(
        &self,
        r: &mut Reader<'_>,
        l: &LinkSpec,
        exchanged: &Names,
    ) -> (Vec<usize>, Vec<Expr>) {
        let own_scope = &self.formulas.scope;
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for (name, expr) in &l.resets[l.member as usize] {
            let Some(Symbol::Var(var)) = own_scope.lookup(&name.value) else {
                let error = format!("`{}` is not a state of this unit", name.value);
                let help = "name a state or a discrete variable of the unit as `unit.variable`";
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
                continue;
            };
            let text = Located::new(Param::Text(expr.value.clone()), expr.span.clone());
            if let Some(expr) = r.expression(&text, exchanged) {
                targets.push(var.0 as usize);
                values.push(expr);
            }
        }
        (targets, values)
    }

    /// Per relation of a condition: the own relation that holds its side, and whether as its opposite.
    fn sides(&self, condition: &Condition) -> Vec<Option<(usize, f64)>> {
        let side = |atom: &Compare| {
            let z = self.formulas.without_helpers(&atom.z);
            let place = self.formulas.with_freezer(|f| f.relation(&z, None));
            place.map(|(k, opposite)| (k, if opposite { -1.0 } else { 1.0 }))
        };
        condition.atoms().iter().map(side).collect()
    }
}

/// The relations of a link's condition after its resets, from the exchanged values. Algebraic variables are solved for
/// behind a reset.
fn after(
    r: &mut Reader<'_>,
    l: &LinkSpec,
    condition: &Condition,
    exchanged: &Names,
) -> Option<Program> {
    if l.moved.iter().any(|(_, variable)| variable.is_none()) {
        return None;
    }
    let mut new = Vec::new();
    for (member, resets) in (0..).zip(&l.resets) {
        for (name, expr) in resets {
            let is = |(of, variable): &(u32, String)| *of == member && *variable == name.value;
            let Some(place) = l.variables.iter().position(is) else { continue };
            // Mistakes are those of the member.
            let mistakes = r.errors.len();
            let text = Located::new(Param::Text(expr.value.clone()), expr.span.clone());
            let value = r.expression(&text, exchanged);
            r.errors.truncate(mistakes);
            new.push((VarId(place as u32), value?));
        }
    }
    let by: Vec<_> = new.iter().map(|(place, value)| (*place, value)).collect();
    let relations = condition.atoms().iter().map(|atom| atom.z.substitute(&by));
    Some(Program::compile(&relations.collect::<Vec<_>>()))
}
