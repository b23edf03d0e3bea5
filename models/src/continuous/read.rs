//! Reading the tables and texts of an equation unit; mistakes are collected, never only the first.
use super::equations::Dims;
use crate::{
    expr::{Expr, ExprError, Names},
    registry::{Context, Located, Param, ParamError, Params, Span},
};

pub(super) type Entry<'a> = (&'a Located<String>, &'a Located<Param>);

/// Collects mistakes; readers return what they could read.
pub(super) struct Reader<'a> {
    pub params: &'a Params,
    pub errors: Vec<ParamError>,
}

impl<'a> Reader<'a> {
    pub(super) fn table(&mut self, name: &str) -> Vec<Entry<'a>> {
        match self.params.get(name) {
            None => Vec::new(),
            Some(p) => self.entries(p, name),
        }
    }

    pub(super) fn entries(&mut self, p: &'a Located<Param>, name: &str) -> Vec<Entry<'a>> {
        match &p.value {
            Param::Table(entries) => entries.iter().map(|(k, v)| (k, v)).collect(),
            Param::Text(t) if t.is_empty() => Vec::new(),
            _ => {
                let error = ParamError::at(p.span.clone(), format!("`{name}` must be a table"));
                self.errors.push(error.help(format!("write {name} = {{ name = \"expression\" }}")));
                Vec::new()
            }
        }
    }

    pub(super) fn list(
        &mut self,
        p: Option<&'a Located<Param>>,
        name: &str,
    ) -> Vec<&'a Located<Param>> {
        match p.map(|p| (&p.value, &p.span)) {
            None => Vec::new(),
            Some((Param::List(list), _)) => list.iter().collect(),
            Some((Param::Text(t), _)) if t.is_empty() => Vec::new(),
            Some((_, span)) => {
                self.errors.push(ParamError::at(span.clone(), format!("`{name}` must be a list")));
                Vec::new()
            }
        }
    }

    pub(super) fn names(&mut self, name: &str) -> Vec<Located<String>> {
        let list = self.list(self.params.get(name), name);
        let mut names = Vec::new();
        for p in list {
            match &p.value {
                Param::Text(t) => names.push(Located::new(t.clone(), p.span.clone())),
                _ => self.errors.push(ParamError::at(p.span.clone(), "a name must be text")),
            }
        }
        names
    }

    /// An expression: a number, or text.
    pub(super) fn expression(&mut self, p: &Located<Param>, scope: &Names) -> Option<Expr> {
        match &p.value {
            Param::Real(x) if x.is_finite() => Some(Expr::constant(*x)),
            Param::Int(i) => Some(Expr::constant(*i as f64)),
            Param::Bool(b) => Some(Expr::constant(f64::from(u8::from(*b)))),
            Param::Text(text) => match Expr::parse(text, scope) {
                Ok(expr) => Some(expr),
                Err(errors) => {
                    self.expression_errors(&p.span, text, errors);
                    None
                }
            },
            _ => {
                let error = ParamError::at(p.span.clone(), "expected a number or an expression");
                self.errors.push(error);
                None
            }
        }
    }

    /// Mistakes inside a text, under their place in it (after the opening quote).
    pub(super) fn expression_errors(&mut self, span: &Span, text: &str, errors: Vec<ExprError>) {
        let quoted = span.len().saturating_sub(text.len()) / 2;
        for e in errors {
            let at = e.span();
            let start = (span.start + quoted + at.start as usize).min(span.end);
            let end = (span.start + quoted + at.end as usize).clamp(start, span.end);
            let error = ParamError::at(start..end, e.to_string());
            self.errors.push(match e.help() {
                Some(help) => error.help(help),
                None => error,
            });
        }
    }

    pub(super) fn constant(&mut self, p: &Located<Param>, scope: &Names) -> f64 {
        let Some(expr) = self.expression(p, scope) else { return 0.0 };
        match expr.as_constant() {
            Some(x) => x,
            None if expr.vars().is_empty() => expr.eval::<f64>(&[]),
            None => {
                let error = ParamError::at(p.span.clone(), "this must be a constant");
                self.errors.push(error.help("use numbers and parameters only"));
                0.0
            }
        }
    }
}

/// Everything that the texts declare.
pub(super) struct Declared<'a> {
    pub states: Vec<Entry<'a>>,
    pub inputs: Vec<Entry<'a>>,
    pub hidden_inputs: Vec<Entry<'a>>,
    pub discrete: Vec<Entry<'a>>,
    pub outputs: Vec<Entry<'a>>,
    pub hidden_outputs: Vec<Entry<'a>>,
    pub event_inputs: Vec<Located<String>>,
    pub event_outputs: Vec<Located<String>>,
}

impl<'a> Declared<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Self {
        Self {
            states: r.table("states"),
            inputs: r.table("inputs"),
            hidden_inputs: r.table("~inputs"),
            discrete: r.table("discrete"),
            outputs: r.table("outputs"),
            hidden_outputs: r.table("~outputs"),
            event_inputs: r.names("event_inputs"),
            event_outputs: r.names("event_outputs"),
        }
    }

    pub(super) fn dims(&self) -> Dims {
        Dims {
            states: self.states.len(),
            inputs: self.inputs.len() + self.hidden_inputs.len(),
            discrete: self.discrete.len(),
            outputs: self.outputs.len() + self.hidden_outputs.len(),
            event_inputs: self.event_inputs.len(),
            event_outputs: self.event_outputs.len(),
            indicators: 0,
        }
    }

    pub(super) fn all_inputs(&self) -> impl Iterator<Item = Entry<'a>> + '_ {
        self.inputs.iter().chain(&self.hidden_inputs).copied()
    }
}

pub(super) fn check_keys(r: &mut Reader<'_>, entries: &[Entry<'_>], known: &[&str]) {
    for (key, _) in entries {
        if !known.contains(&key.value.as_str()) {
            let error = format!("unknown key `{}`", key.value);
            let help = format!("keys are: {}", known.join(", "));
            r.errors.push(ParamError::at(key.span.clone(), error).help(help));
        }
    }
}

/// A point in time, in ticks: a number of seconds, or text with seconds as a decimal.
pub(super) fn ticks(r: &mut Reader<'_>, context: &Context<'_>, p: &Located<Param>) -> Option<i64> {
    let text = match &p.value {
        Param::Real(x) => format!("{x}"),
        Param::Int(i) => i.to_string(),
        Param::Text(t) => t.trim().trim_end_matches('s').trim().to_owned(),
        Param::Duration(d) => return Some(d.ticks()),
        _ => String::new(),
    };
    match context.resolution.parse_ticks(&text) {
        Ok(ticks) => Some(ticks),
        Err(e) => {
            r.errors.push(ParamError::at(p.span.clone(), e.to_string()));
            None
        }
    }
}

pub(super) fn instants(
    r: &mut Reader<'_>,
    context: &Context<'_>,
    p: &Located<Param>,
) -> Option<Vec<i64>> {
    let list = match &p.value {
        Param::List(list) => list.iter().collect(),
        _ => vec![p],
    };
    let mut found = Vec::with_capacity(list.len());
    for p in list {
        found.push(ticks(r, context, p)?);
    }
    found.sort_unstable();
    found.dedup();
    if let Some(&first) = found.first()
        && first <= 0
    {
        r.errors.push(ParamError::at(p.span.clone(), "a time event must come after the start"));
    }
    Some(found)
}
