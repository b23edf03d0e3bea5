//! Names and hierarchical paths, such as `plant/pump[3]`.
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

/// The name of a child within its parent: a stem and, for members of an array, an index.
///
/// Names order by stem, then numerically by index; this is the canonical order of models (R5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    stem: Cow<'static, str>,
    index: Option<u32>,
}

impl Name {
    /// Member `index` of the array `stem`.
    pub fn member(stem: impl Into<Cow<'static, str>>, index: u32) -> Self {
        Self { stem: stem.into(), index: Some(index) }
    }
    pub(crate) fn new(stem: Cow<'static, str>, index: Option<u32>) -> Self {
        Self { stem, index }
    }
    pub(crate) fn into_stem(self) -> Cow<'static, str> {
        self.stem
    }
    /// The name without its index.
    pub fn stem(&self) -> &str {
        &self.stem
    }
    /// The array index.
    pub fn index(&self) -> Option<u32> {
        self.index
    }
    fn parse(text: Cow<'static, str>) -> Self {
        let split = text.strip_suffix(']').and_then(|t| t.rsplit_once('['));
        match split.and_then(|(stem, i)| Some((stem.len(), i.parse().ok()?))) {
            Some((end, index)) => {
                let stem = match text {
                    Cow::Borrowed(t) => Cow::Borrowed(&t[..end]),
                    Cow::Owned(mut t) => {
                        t.truncate(end);
                        Cow::Owned(t)
                    }
                };
                Self { stem, index: Some(index) }
            }
            None => Self { stem: text, index: None },
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self::parse(Cow::Borrowed(text))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::parse(Cow::Owned(text))
    }
}

impl From<(&'static str, usize)> for Name {
    fn from((stem, index): (&'static str, usize)) -> Self {
        Self::member(stem, index as u32)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stem)?;
        match self.index {
            Some(i) => write!(f, "[{i}]"),
            None => Ok(()),
        }
    }
}
