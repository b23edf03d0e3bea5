//! Conditions and formulas over SESvars.
//!
//! SESvars are numbers or texts. The language of formulas knows numbers only: comparisons of texts are decided first,
//! and their truth values stand in what is parsed.
use super::{
    SesError,
    model::{Attributes, Structure, Var},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};
use superdense_models::maths::expr::{Condition, Expr, ExprError, Names, nearest};

/// The value of a SESvar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Number(f64),
    Text(String),
}

impl Scalar {
    /// A value as it is written in JSON.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(b) => Some(Self::Number(f64::from(u8::from(*b)))),
            Value::Number(n) => n.as_f64().filter(|x| x.is_finite()).map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Number(x) => number(*x),
            Self::Text(text) => text.clone().into(),
        }
    }

    /// A value as it stands behind `--set NAME=`.
    fn read(text: &str) -> Self {
        let unquoted = |q| text.strip_prefix(q).and_then(|t| t.strip_suffix(q));
        if let Some(inner) = unquoted('"').or_else(|| unquoted('\'')) {
            return Self::Text(inner.to_owned());
        }
        match text {
            "true" => Self::Number(1.0),
            "false" => Self::Number(0.0),
            _ => match text.parse() {
                Ok(x) if f64::is_finite(x) => Self::Number(x),
                _ => Self::Text(text.to_owned()),
            },
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

/// A number in JSON, whole ones without a point.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 9e15 { (x as i64).into() } else { x.into() }
}

/// The values of SESvars, and of indices.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    values: BTreeMap<String, Scalar>,
}

impl Scope {
    /// The values of the SESvars of a structure, where settings replace their defaults.
    ///
    /// # Errors
    /// A setting of none of them, a value that a semantic condition forbids, or a mistake in a condition.
    pub fn of(structure: &Structure, sets: &[(String, String)]) -> Result<Self, SesError> {
        let known = || structure.vars.keys().map(String::as_str);
        if let Some((name, _)) = sets.iter().find(|(name, _)| !structure.vars.contains_key(name)) {
            let help = match nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("SESvars are {}", known().collect::<Vec<_>>().join(", ")),
            };
            return Err(SesError::new("--set", format!("there is no SESvar `{name}`"), help));
        }
        let mut scope = Self::default();
        for (name, var) in &structure.vars {
            let set = sets.iter().rev().find(|(n, _)| n == name).map(|(_, text)| text.as_str());
            let value = value(name, var, set)?;
            scope.values.insert(name.clone(), value);
        }
        for (name, var) in &structure.vars {
            scope.check(name, var)?;
        }
        for text in &structure.conditions {
            if !scope.holds(text).map_err(|e| SesError::new("conditions", e.0, e.1))? {
                let named = scope.named(text);
                let message = format!("the condition `{text}` does not hold for {named}");
                return Err(SesError::new("conditions", message, "set other values with --set"));
            }
        }
        Ok(scope)
    }

    /// Checks the semantic condition of a SESvar.
    fn check(&self, name: &str, var: &Var) -> Result<(), SesError> {
        let place = format!("SESvar `{name}`");
        let own = &self.values[name];
        let allowed: Vec<Scalar> = var.values.iter().filter_map(Scalar::of).collect();
        if !var.values.is_empty() && !allowed.contains(own) {
            let texts: Vec<String> = allowed.iter().map(Scalar::to_string).collect();
            let help = format!("set one of {}", texts.join(", "));
            return Err(SesError::new(place, format!("it cannot be {own}"), help));
        }
        let Some(condition) = &var.condition else { return Ok(()) };
        if self.holds(condition).map_err(|e| SesError::new(&place, e.0, e.1))? {
            return Ok(());
        }
        let message = format!("its condition `{condition}` does not hold for {own}");
        Err(SesError::new(place, message, format!("set another value with --set {name}=...")))
    }

    /// The SESvars that a text names, with their values.
    fn named(&self, text: &str) -> String {
        let tokens = tokens(text);
        let in_text = |name: &&String| tokens.contains(&Token::Name(name));
        let named = self.values.keys().filter(in_text);
        named.map(|name| format!("{name} = {}", self.values[name])).collect::<Vec<_>>().join(", ")
    }

    /// These values and one more.
    pub(super) fn with(&self, name: &str, value: f64) -> Self {
        self.and(name, Scalar::Number(value))
    }

    pub(super) fn and(&self, name: &str, value: Scalar) -> Self {
        let mut more = self.clone();
        more.values.insert(name.to_owned(), value);
        more
    }

    /// All values.
    pub(super) fn json(&self) -> Attributes {
        self.values.iter().map(|(name, value)| (name.clone(), value.json())).collect()
    }

    fn names(&self) -> Names {
        self.values.iter().fold(Names::new(), |names, (name, value)| match value {
            Scalar::Number(x) => names.constant(name, *x),
            Scalar::Text(_) => names,
        })
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, text: &str) -> Result<bool, Wrong> {
        let decided = self.decided(text)?;
        let condition = Condition::parse(&decided, &self.names());
        Ok(condition.map_err(|e| self.wrong(text, &e))?.eval(&[]))
    }

    /// The value of a formula.
    pub(super) fn number(&self, text: &str) -> Result<f64, Wrong> {
        let decided = self.decided(text)?;
        let formula = Expr::parse(&decided, &self.names()).map_err(|e| self.wrong(text, &e))?;
        let x: f64 = formula.eval(&[]);
        let help = "write a formula that has a value for all settings";
        x.is_finite().then_some(x).ok_or_else(|| Wrong(format!("`{text}` is {x}"), help.into()))
    }

    /// The value of a formula, or the text of a SESvar.
    pub(super) fn scalar(&self, text: &str) -> Result<Scalar, Wrong> {
        match self.values.get(text.trim()) {
            Some(value) => Ok(value.clone()),
            None => self.number(text).map(Scalar::Number),
        }
    }

    fn wrong(&self, text: &str, errors: &[ExprError]) -> Wrong {
        let Some(first) = errors.first() else { return Wrong(text.to_owned(), String::new()) };
        let texts = self.values.iter().filter(|(_, v)| matches!(v, Scalar::Text(_)));
        let tokens = tokens(text);
        let misused = texts.map(|(n, _)| n).find(|n| tokens.contains(&Token::Name(n)));
        let help = match (misused, first.help()) {
            (Some(name), _) => format!("`{name}` is a text: compare it by == or !="),
            (None, Some(help)) => help.to_string(),
            (None, None) => {
                let names: Vec<&str> = self.values.keys().map(String::as_str).collect();
                match names.as_slice() {
                    [] => "there are no SESvars: declare some under `vars`".to_owned(),
                    names => format!("SESvars are {}", names.join(", ")),
                }
            }
        };
        Wrong(format!("`{text}`: {first}"), help)
    }

    /// A condition in which comparisons of texts are truth values.
    fn decided(&self, text: &str) -> Result<String, Wrong> {
        let tokens = tokens(text);
        let texts: Vec<Option<&str>> = tokens.iter().map(|t| self.text_of(t)).collect();
        let mut out = String::new();
        let mut at = 0;
        while at < tokens.len() {
            let sign = match (tokens.get(at + 1), tokens.get(at + 2)) {
                (Some(Token::Equal(sign)), Some(_)) => Some(*sign),
                _ => None,
            };
            match (texts[at], sign.and(texts.get(at + 2).copied().flatten()), sign) {
                (Some(a), Some(b), Some(sign)) => {
                    out.push_str(if (a == b) == (sign == "==") { " true " } else { " false " });
                    at += 3;
                }
                (a, b, Some(_)) if a.is_some() != b.is_some() => {
                    let message = format!("`{text}` compares a text with a number");
                    return Err(Wrong(message, "write texts in quotes, such as 'fast'".into()));
                }
                (Some(_), ..) if matches!(tokens[at], Token::Quoted(_)) => {
                    let message = format!("`{text}`: a text stands where a number should");
                    return Err(Wrong(message, "texts are compared by == or !=".into()));
                }
                _ => {
                    tokens[at].push_to(&mut out);
                    at += 1;
                }
            }
        }
        Ok(out)
    }

    fn text_of<'a>(&'a self, token: &Token<'a>) -> Option<&'a str> {
        match token {
            Token::Quoted(text) => Some(text),
            Token::Name(name) => match self.values.get(*name) {
                Some(Scalar::Text(text)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A mistake in a formula, and its remedy.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong(pub String, pub String);

/// A SESvar's value: that of its setting, else its default.
fn value(name: &str, var: &Var, set: Option<&str>) -> Result<Scalar, SesError> {
    let place = || format!("SESvar `{name}`");
    if let Some(wrong) = var.value.iter().chain(&var.values).find(|v| Scalar::of(v).is_none()) {
        let help = "write a number, a text, true or false";
        return Err(SesError::new(place(), format!("{wrong} is no value"), help));
    }
    let default = var.value.as_ref().and_then(Scalar::of);
    let model = default.clone().or_else(|| var.values.first().and_then(Scalar::of));
    match (set, model) {
        (None, _) => default.ok_or_else(|| {
            let help = format!("set it with --set {name}=..., or write a `value`");
            SesError::new(place(), "it has no value", help)
        }),
        // A text may look like a number.
        (Some(text), Some(Scalar::Text(_))) => Ok(match Scalar::read(text) {
            Scalar::Text(unquoted) => Scalar::Text(unquoted),
            Scalar::Number(_) => Scalar::Text(text.to_owned()),
        }),
        (Some(text), Some(Scalar::Number(_))) => match Scalar::read(text) {
            Scalar::Text(text) => {
                let message = format!("it is a number, and `{text}` is none");
                Err(SesError::new(place(), message, format!("set it as --set {name}=1")))
            }
            x => Ok(x),
        },
        (Some(text), None) => Ok(Scalar::read(text)),
    }
}

/// A part of a condition, as far as texts need it.
#[derive(Debug, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    Quoted(&'a str),
    Equal(&'a str),
    Other(&'a str),
}

impl Token<'_> {
    fn push_to(&self, out: &mut String) {
        match self {
            Self::Quoted(text) => *out += &format!(" '{text}'"),
            Self::Name(text) | Self::Equal(text) | Self::Other(text) => {
                out.push(' ');
                out.push_str(text);
            }
        }
    }
}

/// Names, texts in quotes, `==` and `!=`, and what is between them.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let (token, length) = match first {
            '\'' | '"' => match rest[1..].find(first) {
                Some(end) => (Token::Quoted(&rest[1..=end]), end + 2),
                None => (Token::Other(rest), rest.len()),
            },
            _ if rest.starts_with("==") || rest.starts_with("!=") => (Token::Equal(&rest[..2]), 2),
            c if c.is_alphanumeric() || c == '_' || c == '.' => {
                let mut end = rest.find(|c| !word(c)).unwrap_or(rest.len());
                let before = &rest[..end];
                // The sign of an exponent belongs to its number: 1e-3.
                let number = before.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                if number && before.ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']) {
                    let digits = &rest[end + 1..];
                    end += 1 + digits.find(|c| !word(c)).unwrap_or(digits.len());
                }
                (Token::Name(&rest[..end]), end)
            }
            '<' | '>' if rest[1..].starts_with('=') => (Token::Other(&rest[..2]), 2),
            '*' if rest[1..].starts_with('*') => (Token::Other(&rest[..2]), 2),
            '&' if rest[1..].starts_with('&') => (Token::Other(&rest[..2]), 2),
            '|' if rest[1..].starts_with('|') => (Token::Other(&rest[..2]), 2),
            c => (Token::Other(&rest[..c.len_utf8()]), c.len_utf8()),
        };
        out.push(token);
        rest = rest[length..].trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope::default()
            .with("n", 3.0)
            .and("sim", Scalar::Text("12".into()))
            .and("other", Scalar::Text("x".into()))
    }

    #[test]
    fn texts_are_compared_before_numbers_are_read() {
        let holds = |text: &str| scope().holds(text).unwrap();
        assert!(holds("sim == '12'") && holds("'12' == sim") && !holds("sim != \"12\""));
        assert!(holds("sim != other and n == 3") && holds("not (sim == other) and n >= 1e-3"));
        assert!(!holds("sim == 'x' or n**2 < 9") && holds("n==3&&sim=='12'"));
        let wrong = scope().holds("sim == 12").unwrap_err();
        assert_eq!(wrong.0, "`sim == 12` compares a text with a number");
        let wrong = scope().holds("sim > 3").unwrap_err();
        assert_eq!(wrong.1, "`sim` is a text: compare it by == or !=");
        assert!(scope().holds("n == 3 and 'a'").is_err() && scope().holds("n ==").is_err());
        assert!(scope().holds("'").is_err() && scope().holds("m == 1").is_err());
        assert!(scope().holds("").is_err());
    }

    #[test]
    fn formulas_have_finite_values() {
        assert_eq!(scope().number("2*n + (if sim == '12' then 1 else 0)"), Ok(7.0));
        assert_eq!(scope().number("n/0").unwrap_err().0, "`n/0` is inf");
        assert_eq!(scope().scalar("other"), Ok(Scalar::Text("x".into())));
    }
}
