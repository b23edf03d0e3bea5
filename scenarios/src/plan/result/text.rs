//! Texts of formulas: paths and calls in them, and names in their places.
use super::Takes;
use std::collections::HashMap;

/// A text with names in the places of what was cut out.
pub(super) struct Masked {
    pub text: String,
    pub vars: HashMap<String, u32>,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), vars: HashMap::new() }
    }

    /// Replaces a part by a name of equal length that stands for variable `var`.
    pub(super) fn cut(&mut self, (start, end): (usize, usize), var: usize) {
        // The shortest text that is cut out, `a.b`, has room for two digits.
        let digit = |x: usize| char::from_digit((x % 36) as u32, 36).unwrap_or('_');
        let mut name = match var {
            0..36 => format!("_{}", digit(var)),
            _ => format!("_{}{}", digit(var / 36), digit(var)),
        };
        while name.len() < end - start {
            name.push('_');
        }
        name.truncate(end - start);
        self.text.replace_range(start..end, &name);
        self.vars.insert(name, var as u32);
    }

    /// A part of the masked text as the `original` has it.
    pub(super) fn shown(&self, part: &str, original: &str) -> String {
        let mut shown = part.to_owned();
        for name in self.vars.keys() {
            if let Some(at) = self.text.find(name.as_str()) {
                shown = shown.replace(name.as_str(), &original[at..at + name.len()]);
            }
        }
        shown
    }
}

/// A call in a text: its name, its arguments, and where it ends.
pub(super) struct Call {
    pub name: (usize, usize),
    pub args: Vec<(usize, usize)>,
    pub end: usize,
}

/// The next name or path in a text from byte `from` on: where it begins and ends. Texts in quotes and digits of
/// numbers are passed over.
pub(super) fn next_path(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += 1;
                }
                at += 1;
            }
            b if b.is_ascii_digit() => {
                while at < bytes.len()
                    && (letter(bytes[at]) || bytes[at].is_ascii_digit() || bytes[at] == b'.')
                {
                    at += 1;
                }
            }
            b if letter(b) => return Some((at, end_of_path(bytes, at))),
            _ => at += 1,
        }
    }
    None
}

fn end_of_path(bytes: &[u8], mut at: usize) -> usize {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    loop {
        while at < bytes.len() && part(bytes[at]) {
            at += 1;
        }
        while bytes.get(at) == Some(&b'[') {
            let close = bytes[at..].iter().position(|b| *b == b']');
            let Some(close) = close else { return at };
            at += close + 1;
        }
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        if bytes.get(at) != Some(&b'.')
            || !(next.is_ascii_alphabetic() || next == b'_' || next == b'*')
        {
            return at;
        }
        at += 1 + usize::from(next == b'*');
    }
}

/// The functions that make a number, and what they are made of.
pub(super) const REDUCTIONS: &[(&str, Takes)] = &[
    ("initial", Takes::Signal),
    ("final", Takes::Signal),
    ("at", Takes::Signal),
    ("rms", Takes::Signal),
    ("integral", Takes::Signal),
    ("time_of_min", Takes::Signal),
    ("time_of_max", Takes::Signal),
    ("mean", Takes::Values),
    ("std", Takes::Values),
    ("min", Takes::Values),
    ("max", Takes::Values),
    ("percentile", Takes::Values),
    ("duration", Takes::Truth),
    ("first", Takes::Instants),
    ("last", Takes::Instants),
    ("count", Takes::Instants),
    ("rate", Takes::Events),
    ("sum", Takes::Events),
];

/// Whether a name is a word of formulas that may stand before a bracket.
pub(super) fn is_word(name: &str) -> bool {
    matches!(name, "if" | "then" | "else" | "and" | "or" | "not" | "in" | "for")
}

/// The remedy for an unknown function.
pub(super) fn remedy(name: &str) -> String {
    match name {
        "median" => "take percentile(x, 50)".to_owned(),
        _ => {
            let names: Vec<_> = REDUCTIONS.iter().map(|(name, _)| *name).collect();
            format!("what makes a number of an output is {}", names.join(", "))
        }
    }
}

/// The call whose name is at a place, if there is one.
pub(super) fn call(text: &str, name: (usize, usize)) -> Option<Call> {
    let open = name.1 + text[name.1..].find(|c: char| !c.is_whitespace())?;
    if !text[open..].starts_with('(') {
        return None;
    }
    let (mut depth, mut quote, mut args, mut from) = (0, None, Vec::new(), open + 1);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match (quote, c) {
            (Some(q), _) => quote = Some(q).filter(|q| *q != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => {
                depth -= 1;
                if depth == 0 {
                    args.push((from, at));
                    return Some(Call { name, args, end: at + 1 });
                }
            }
            (None, ',') if depth == 1 => {
                args.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}
