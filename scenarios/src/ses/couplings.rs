//! Couplings of an aspect: as they stand, under conditions, for indices, or by a function.
use super::{
    SesError,
    model::{Case, Coupling, Couplings, Function, Item},
    rules::{Scope, Wrong},
};
use std::collections::BTreeMap;
use superdense_models::maths::expr::nearest;

/// Couplings of one aspect at most.
const MOST: usize = 100_000;
/// Cases within each other at most.
const DEEPEST: usize = 32;

/// Writes out the couplings of an aspect at `place`.
pub(super) fn couplings(
    written: &Couplings,
    functions: &BTreeMap<String, Function>,
    scope: &Scope,
    place: &str,
) -> Result<Vec<Coupling>, SesError> {
    let mut writer = Writer { place, found: Vec::new() };
    match written {
        Couplings::List(items) => writer.items(items, scope, 0)?,
        Couplings::Call(call) => writer.call(call, functions, scope)?,
    }
    Ok(writer.found)
}

struct Writer<'a> {
    place: &'a str,
    found: Vec<Coupling>,
}

impl Writer<'_> {
    fn refuse<T>(&self, message: String, help: impl Into<String>) -> Result<T, SesError> {
        Err(SesError::new(self.place, message, help))
    }

    fn wrong(&self) -> impl Fn(Wrong) -> SesError + '_ {
        |Wrong(message, help)| SesError::new(self.place, message, help)
    }

    /// `name(argument, …)`.
    fn call(
        &mut self,
        call: &str,
        functions: &BTreeMap<String, Function>,
        scope: &Scope,
    ) -> Result<(), SesError> {
        let example = "write `name(argument, …)`, such as \"cplg1(feedforward)\"";
        let call = call.trim();
        let (name, given) = match call.split_once('(') {
            None => (call, ""),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(given) => (name.trim(), given.trim()),
                None => return self.refuse(format!("`{call}` is no call of a function"), example),
            },
        };
        let Some(function) = functions.get(name) else {
            let help = match nearest(name, functions.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "define it under `functions`".to_owned(),
            };
            return self.refuse(format!("there is no function `{name}`"), help);
        };
        let given: Vec<&str> =
            if given.is_empty() { Vec::new() } else { given.split(',').map(str::trim).collect() };
        if given.len() != function.args.len() {
            let (wants, has) = (function.args.len(), given.len());
            let message = format!("`{name}` takes {wants} arguments, and `{call}` has {has}");
            return self.refuse(message, example);
        }
        let mut inner = scope.clone();
        for (arg, text) in function.args.iter().zip(given) {
            inner = inner.and(arg, scope.scalar(text).map_err(self.wrong())?);
        }
        self.items(&function.couplings, &inner, 0)
    }

    fn items(&mut self, items: &[Item], scope: &Scope, depth: usize) -> Result<(), SesError> {
        if depth > DEEPEST {
            let message = format!("couplings are more than {DEEPEST} cases deep");
            return self.refuse(message, "join their conditions with `and`");
        }
        for item in items {
            match item {
                Item::Plain(text) => self.plain(text, scope)?,
                Item::Case(case) => self.case(case, scope, depth)?,
            }
        }
        Ok(())
    }

    fn case(&mut self, case: &Case, scope: &Scope, depth: usize) -> Result<(), SesError> {
        let holds = |scope: &Scope| match &case.when {
            Some(text) => scope.holds(text).map_err(self.wrong()),
            None => Ok(true),
        };
        let Some(each) = &case.each else {
            return if holds(scope)? {
                self.items(&case.couplings, scope, depth + 1)
            } else {
                Ok(())
            };
        };
        let example = "write `for` as \"i in 1..=n\"";
        let range = each.split_once(" in ").and_then(|(name, range)| {
            let (from, to) = range.split_once("..")?;
            let (to, last) = to.strip_prefix('=').map_or((to, -1), |to| (to, 0));
            Some((name.trim(), from, to, last))
        });
        let Some((name, from, to, last)) = range else {
            return self.refuse(format!("`{each}` is no range"), example);
        };
        let whole = |text: &str| {
            let x = scope.number(text).map_err(self.wrong())?;
            match x.fract() == 0.0 && x.abs() <= 1e6 {
                true => Ok(x as i64),
                false => self.refuse(format!("`{each}`: {x} is no whole number"), example),
            }
        };
        for k in whole(from)?..=whole(to)? + last {
            let scope = scope.with(name, k as f64);
            // Of each index: a condition may name it.
            let holds = match &case.when {
                Some(text) => scope.holds(text).map_err(self.wrong())?,
                None => true,
            };
            if holds {
                self.items(&case.couplings, &scope, depth + 1)?;
            }
        }
        Ok(())
    }

    /// `part.port -> part.port`, with numbers in place of `{i + 1}`.
    fn plain(&mut self, text: &str, scope: &Scope) -> Result<(), SesError> {
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, inner)) = rest.split_once('{') {
            let Some((formula, after)) = inner.split_once('}') else {
                return self
                    .refuse(format!("`{text}`: a `}}` is missing"), "write such as part_{i}.y");
            };
            let x = scope.number(formula).map_err(self.wrong())?;
            if x.fract() != 0.0 || x.abs() > 1e9 {
                let message = format!("`{text}`: {{{formula}}} is {x}");
                return self.refuse(message, "write a formula that is a whole number");
            }
            written += &format!("{before}{}", x as i64);
            rest = after;
        }
        written += rest;
        let parts: Vec<&str> = written.split("->").map(str::trim).collect();
        let port = |text: &&str| {
            let (part, port) = text.split_once('.')?;
            (!part.is_empty() && !port.is_empty()).then_some((*text).to_owned())
        };
        let [Some(from), Some(to)] = [parts.first(), parts.get(1)].map(|p| p.and_then(port)) else {
            return self
                .refuse(format!("`{text}` is no coupling"), "write `part.port -> part.port`");
        };
        if parts.len() != 2 {
            return self.refuse(format!("`{text}` has two arrows"), "write one coupling for each");
        }
        if self.found.len() >= MOST {
            return self.refuse(format!("more than {MOST} couplings"), "correct the ranges");
        }
        self.found.push(Coupling { from, to });
        Ok(())
    }
}
