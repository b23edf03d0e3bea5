//! Names of a part, as they are in the unit that it becomes a part of.
use crate::{
    kinds::{Located, Param},
    maths::quantity::Quantity,
};
use std::collections::{BTreeMap, BTreeSet};

/// Gives names a prefix.
pub(super) struct Renamer<'a> {
    /// The name of the part; empty leaves all names as they are.
    pub prefix: &'a str,
    /// First words of the part's own names.
    pub own: BTreeSet<String>,
    /// Names that become others, such as variables of connectors.
    pub others: BTreeMap<String, String>,
}

impl Renamer<'_> {
    /// A name of the part.
    pub(super) fn name(&self, name: &str) -> String {
        match self.others.get(name) {
            Some(other) => other.clone(),
            None if self.prefix.is_empty() => name.to_owned(),
            None => format!("{}.{name}", self.prefix),
        }
    }

    pub(super) fn located(&self, name: &Located<String>) -> Located<String> {
        Located::new(self.name(&name.value), name.span.clone())
    }

    /// A value with the names in its formulas, among which those of indices are no names of the part.
    pub(super) fn value(&self, p: &Located<Param>, indices: &[(String, i64)]) -> Located<Param> {
        let value = match &p.value {
            Param::Text(text) => Param::Text(self.formula(text, indices)),
            Param::List(items) => {
                Param::List(items.iter().map(|item| self.value(item, indices)).collect())
            }
            Param::Indexed(inner, own) => {
                let inner = Located::new((**inner).clone(), p.span.clone());
                Param::Indexed(Box::new(self.value(&inner, own).value), own.clone())
            }
            other => other.clone(),
        };
        Located::new(value, p.span.clone())
    }

    /// A table of names and formulas, but for the names in `fixed`.
    pub(super) fn table(
        &self,
        p: &Located<Param>,
        indices: &[(String, i64)],
        fixed: &[&str],
    ) -> Located<Param> {
        let Param::Table(entries) = &p.value else { return self.value(p, indices) };
        let entry = |(key, value): &(Located<String>, Located<Param>)| match fixed
            .contains(&key.value.as_str())
        {
            true => (key.clone(), value.clone()),
            false => (self.located(key), self.value(value, indices)),
        };
        Located::new(Param::Table(entries.iter().map(entry).collect()), p.span.clone())
    }

    fn formula(&self, text: &str, indices: &[(String, i64)]) -> String {
        if self.prefix.is_empty() && self.others.is_empty()
            || !matches!(Quantity::parse(text), Ok(None))
        {
            return text.to_owned();
        }
        let bound = bound(text);
        let is_index =
            |word: &str| indices.iter().any(|(name, _)| name == word) || bound.contains(&word);
        let mut out = String::with_capacity(text.len() * 2);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = match c {
                _ if c.is_ascii_digit() => number(rest),
                _ if c.is_alphabetic() || c == '_' => path(rest),
                _ => c.len_utf8(),
            };
            let (piece, behind) = rest.split_at(length);
            let word = piece.split('.').next().unwrap_or_default();
            let called = behind.trim_start().starts_with('(');
            let is_name = c.is_alphabetic() || c == '_';
            match is_name && !called && self.own.contains(word) && !is_index(word) {
                true => out += &self.path(piece),
                false => out += piece,
            }
            rest = behind;
        }
        out
    }

    /// A name with dots, of which the first ones may become another.
    fn path(&self, path: &str) -> String {
        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
        let known = ends.rev().find_map(|end| Some((self.others.get(&path[..end])?, end)));
        match known {
            Some((other, end)) => format!("{other}{}", &path[end..]),
            None => self.name(path),
        }
    }
}

/// Names of the indices of sums: `sum(x[k] for k in 1..=3)`.
fn bound(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).filter(|w| w[0] == "for" && w[2] == "in").map(|w| w[1]).collect()
}

/// The length of the number at the start of a text.
fn number(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    let byte = |at: usize| text.as_bytes().get(at).copied();
    // Two dots are a range.
    if byte(length) == Some(b'.') && byte(length + 1) != Some(b'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(byte(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(byte(length + 1), Some(b'+' | b'-')));
        let exponent = match byte(length + 1 + sign) {
            Some(_) => digits(length + 1 + sign),
            None => 0,
        };
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    length
}

/// The length of the words with dots between them at the start of a text.
fn path(text: &str) -> usize {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let length = |from: usize| {
        let rest = &text[from..];
        rest.find(|c: char| !word(c)).unwrap_or(rest.len())
    };
    let mut end = length(0);
    while text[end..].starts_with('.')
        && text[end + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_')
    {
        end += 1 + length(end + 1);
    }
    end
}

#[cfg(test)]
mod tests;
