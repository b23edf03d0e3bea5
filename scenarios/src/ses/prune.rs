//! A structure and the values of its SESvars become one variant.
use super::{
    SesError,
    couplings::couplings,
    model::{Aspect, Attributes, Coupling, Entity, NONE, Node, Parts, Pes, Structure},
    rules::{Scope, Wrong},
};
use serde_json::Value;
use std::collections::BTreeMap;
use superdense_models::maths::expr::nearest;

/// Entities of a variant at most.
const MOST: usize = 100_000;
/// Levels of a tree at most.
const DEEPEST: usize = 200;

/// Decides every choice of a structure.
///
/// # Errors
/// The first mistake, with the path of its entity.
pub fn prune(structure: &Structure, scope: &Scope) -> Result<Pes, SesError> {
    let mut pruner = Pruner { structure, entities: 0 };
    let root = &structure.tree;
    let Some(tree) = pruner.entity(root, &root.name, &root.name, scope, 0)? else {
        let help = "choose a kind that is not NONE";
        return Err(SesError::new(&root.name, "the root is not there", help));
    };
    Ok(Pes { vars: scope.json(), tree })
}

struct Pruner<'a> {
    structure: &'a Structure,
    entities: usize,
}

fn wrong(place: &str) -> impl Fn(Wrong) -> SesError + '_ {
    move |Wrong(message, help)| SesError::new(place, message, help)
}

impl Pruner<'_> {
    /// The pruned entity at `path`; nothing of one that is NONE.
    fn entity(
        &mut self,
        entity: &Entity,
        name: &str,
        path: &str,
        scope: &Scope,
        depth: usize,
    ) -> Result<Option<Node>, SesError> {
        self.entities += 1;
        if self.entities > MOST || depth > DEEPEST {
            let message = format!("more than {MOST} entities, or {DEEPEST} levels of them");
            return Err(SesError::new(path, message, "set fewer copies"));
        }
        let mut node = Node {
            name: name.to_owned(),
            selected: BTreeMap::new(),
            mb: None,
            attributes: Attributes::new(),
            aspect: None,
        };
        let there = self.fill(entity, &mut node, path, scope, depth)?;
        if there && node.mb.is_some() && node.aspect.is_some() {
            let help = "a basic model is a leaf: take `mb` or the aspect away";
            return Err(SesError::new(path, "it has a basic model and parts", help));
        }
        Ok(there.then_some(node))
    }

    /// Gives a node what an entity has, or the kind that was selected. False where it is NONE.
    fn fill(
        &mut self,
        entity: &Entity,
        node: &mut Node,
        path: &str,
        scope: &Scope,
        depth: usize,
    ) -> Result<bool, SesError> {
        for (key, value) in &entity.attributes {
            node.attributes.insert(key.clone(), computed(value, scope, path, 0)?);
        }
        if let Some(mb) = &entity.mb {
            node.mb = Some(mb.clone());
        }
        if let Some(aspect) = chosen(&entity.aspects, path, scope)? {
            if let Some(other) = &node.aspect {
                let message = format!("it has the aspects `{}` and `{}`", other.name, aspect.name);
                let help = "write aspects at the entity, or at its kinds";
                return Err(SesError::new(path, message, help));
            }
            node.aspect = Some(self.parts(aspect, path, scope, depth)?);
        }
        for specialization in &entity.specializations {
            let place = format!("{path}/{}", specialization.name);
            let kinds = specialization.kinds.iter().map(|k| (k.name.as_str(), k.rule.as_deref()));
            let kind = &specialization.kinds[only(kinds, &place, scope)?];
            if kind.name == NONE {
                return Ok(false);
            }
            node.selected.insert(specialization.name.clone(), kind.name.clone());
            if !self.fill(kind, node, path, scope, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn parts(
        &mut self,
        aspect: &Aspect,
        path: &str,
        scope: &Scope,
        depth: usize,
    ) -> Result<Parts, SesError> {
        let place = format!("{path}/{}", aspect.name);
        let copies = match &aspect.copies {
            Some(value) => Some(count(value, scope, &place)?),
            None => None,
        };
        let mut parts = Vec::new();
        let mut inner = scope.clone();
        match copies {
            Some(n) => {
                inner = inner.with("numRep", n as f64);
                let part = &aspect.parts[0];
                for k in 1..=n {
                    let name = format!("{}_{k}", part.name);
                    let scope = inner.with("index", k as f64);
                    let node =
                        self.entity(part, &name, &format!("{path}/{name}"), &scope, depth + 1)?;
                    parts.extend(node);
                }
            }
            None => {
                for part in &aspect.parts {
                    let below = format!("{path}/{}", part.name);
                    parts.extend(self.entity(part, &part.name, &below, scope, depth + 1)?);
                }
            }
        }
        let couplings = couplings(&aspect.couplings, &self.structure.functions, &inner, &place)?;
        for coupling in &couplings {
            check(coupling, aspect, &parts, &place)?;
        }
        Ok(Parts { name: aspect.name.clone(), copies, parts, couplings })
    }
}

/// Refuses a coupling with what is not there.
fn check(
    coupling: &Coupling,
    aspect: &Aspect,
    parts: &[Node],
    place: &str,
) -> Result<(), SesError> {
    for end in [&coupling.from, &coupling.to] {
        let name = end.split('.').next().unwrap_or_default();
        if name == "self" || parts.iter().any(|p| p.name == name) {
            continue;
        }
        let text = format!("{} -> {}", coupling.from, coupling.to);
        if aspect.copies.is_none() && aspect.parts.iter().any(|p| p.name == name) {
            let message = format!("`{text}` is coupled, and `{name}` is NONE");
            let help = "write the coupling under an `if` with the rule of the specialization";
            return Err(SesError::new(place, message, help));
        }
        let help = match nearest(name, parts.iter().map(|p| p.name.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a part of this aspect, or `self` for its own entity".to_owned(),
        };
        let message = format!("`{text}` is coupled, and there is no part `{name}`");
        return Err(SesError::new(place, message, help));
    }
    Ok(())
}

/// The aspect that is chosen: a single one without a rule, else the one whose rule is true.
fn chosen<'a>(
    aspects: &'a [Aspect],
    path: &str,
    scope: &Scope,
) -> Result<Option<&'a Aspect>, SesError> {
    match aspects {
        [] => Ok(None),
        [one] if one.rule.is_none() => Ok(Some(one)),
        _ => {
            if let Some(without) = aspects.iter().find(|a| a.rule.is_none()) {
                let message = format!("the aspect `{}` has no `rule`", without.name);
                return Err(SesError::new(path, message, "write when it is chosen"));
            }
            let rules = aspects.iter().map(|a| (a.name.as_str(), a.rule.as_deref()));
            Ok(Some(&aspects[only(rules, path, scope)?]))
        }
    }
}

/// The place of the one whose rule is true.
fn only<'a>(
    rules: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    place: &str,
    scope: &Scope,
) -> Result<usize, SesError> {
    let all: Vec<(&str, &str)> = rules.map(|(name, rule)| (name, rule.unwrap_or("true"))).collect();
    let mut found = Vec::new();
    for (at, (_, rule)) in all.iter().enumerate() {
        if scope.holds(rule).map_err(wrong(place))? {
            found.push(at);
        }
    }
    let listed = |places: &mut dyn Iterator<Item = usize>| {
        let each = places.map(|at| format!("`{}` ({})", all[at].0, all[at].1));
        each.collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let message = format!("none of the rules is true: {}", listed(&mut (0..all.len())));
            let help = "write rules of which exactly one is true for all values of the SESvars";
            Err(SesError::new(place, message, help))
        }
        several => {
            let message = format!(
                "{} rules are true: {}",
                several.len(),
                listed(&mut several.iter().copied())
            );
            let help = "write rules of which exactly one is true for all values of the SESvars";
            Err(SesError::new(place, message, help))
        }
    }
}

/// The number of copies.
fn count(value: &Value, scope: &Scope, place: &str) -> Result<usize, SesError> {
    let x = match value {
        Value::Number(n) => n.as_f64(),
        Value::String(text) => Some(scope.number(text).map_err(wrong(place))?),
        _ => None,
    };
    match x {
        Some(x) if x >= 0.0 && x.fract() == 0.0 && x <= MOST as f64 => Ok(x as usize),
        x => {
            let told = x.map_or_else(|| value.to_string(), |x| x.to_string());
            let help = format!("write a whole number from 0 to {MOST}, or a formula of SESvars");
            Err(SesError::new(place, format!("numRep is {told}"), help))
        }
    }
}

/// An attribute: a text behind `=` is a formula of SESvars.
fn computed(value: &Value, scope: &Scope, path: &str, depth: usize) -> Result<Value, SesError> {
    if depth > DEEPEST {
        return Err(SesError::new(path, "an attribute is nested too deep", "flatten it"));
    }
    Ok(match value {
        Value::String(text) => match text.strip_prefix('=') {
            Some(formula) => scope.scalar(formula).map_err(wrong(path))?.json(),
            None => value.clone(),
        },
        Value::Array(items) => {
            let items = items.iter().map(|v| computed(v, scope, path, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(entries) => {
            let entry = |(key, v): (&String, &Value)| {
                Ok((key.clone(), computed(v, scope, path, depth + 1)?))
            };
            Value::Object(entries.iter().map(entry).collect::<Result<_, SesError>>()?)
        }
        Value::Null => {
            return Err(SesError::new(path, "null is no value of an attribute", "take it out"));
        }
        _ => value.clone(),
    })
}
