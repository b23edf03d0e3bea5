//! Names and hierarchical paths, such as `plant/pump[3]`.
use crate::bag::NONE;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

/// The name of a child within its parent: a stem and, for members of an array, an index.
///
/// Names order by stem, then numerically by index; this is the canonical order of models (R5).
///
/// A path leads to one model only, so a stem is not empty and holds no `/`, and an index is written in one way:
/// `x[1]` is a member, and `x[01]` or an index of 4 294 967 295 and more are refused by the build.
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
        match split(&text).and_then(|(stem, i)| Some((stem.len(), canonical(i)?))) {
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

/// Stem and index of a name, as they are written.
fn split(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(']')?.rsplit_once('[')
}

/// An index that is written without a sign and without zeros before it.
fn canonical(text: &str) -> Option<u32> {
    let plain = text == "0" || text.starts_with(|c: char| c.is_ascii_digit() && c != '0');
    text.parse().ok().filter(|&index| plain && index < NONE)
}

/// Why no model can have a stem.
pub(crate) fn bad_stem(stem: &str) -> Option<&'static str> {
    let is_number = |text: &str| text.parse::<i128>().is_ok() || text.len() > 10;
    if stem.is_empty() {
        Some("is empty")
    } else if stem == "." || stem == ".." {
        Some("is a place in a relative path")
    } else if stem.contains('/') {
        Some("holds a '/', which separates names in paths")
    } else if split(stem).is_some_and(|(_, index)| canonical(index).is_none() && is_number(index)) {
        Some(BAD_INDEX)
    } else {
        None
    }
}

/// Why no model can have an index.
pub(crate) const BAD_INDEX: &str =
    "has no proper index; write it without sign and leading zeros, and below 4294967295";

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
        Self::member(stem, u32::try_from(index).unwrap_or(NONE))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Atomic, Component, Coupled, Effects, Simulation,
        error::{BuildError, RunError},
        structure::Change,
        time::Duration,
    };

    /// Adds a child of this name at tick 5.
    #[derive(Clone, Serialize, Deserialize)]
    struct Adds(Option<Name>);

    impl Atomic<u32> for Adds {
        fn time_advance(&self) -> Duration {
            if self.0.is_some() { Duration::from_ticks(5) } else { Duration::INFINITE }
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            if let Some(name) = self.0.take() {
                let component = Component::atomic(Adds(None));
                fx.change(Change::Add { parent: String::new(), name, component });
            }
        }
    }

    fn refused(result: Result<impl Sized, RunError>) -> Vec<(String, &'static str)> {
        let errors = match result {
            Ok(_) => Vec::new(),
            Err(RunError::Build(errors)) => errors.0,
            Err(RunError::Structure { why, .. }) => why.0,
            Err(other) => panic!("{other}"),
        };
        let name = |error| match error {
            BuildError::BadName { path, why } => (path, why),
            other => panic!("{other}"),
        };
        errors.into_iter().map(name).collect()
    }

    /// No two models have one path, however their names are made.
    #[test]
    fn names_that_would_give_one_path_twice_are_refused() {
        let slash = "holds a '/', which separates names in paths";
        let bad: [(Name, &str, &str); 8] = [
            ("a/b".into(), "a/b", slash),
            (Name::member("a/b", 1), "a/b[1]", slash),
            ("".into(), "", "is empty"),
            (Name::member("", 1), "[1]", "is empty"),
            (Name::member("x", u32::MAX), "x[4294967295]", BAD_INDEX),
            (("x", usize::MAX).into(), "x[4294967295]", BAD_INDEX),
            ("x[01]".into(), "x[01]", BAD_INDEX),
            ("x[+1]".to_owned().into(), "x[+1]", BAD_INDEX),
        ];
        for (name, path, why) in bad {
            let mut top = Coupled::new();
            let mut inner = Coupled::new();
            inner.add("b", Adds(None));
            top.add_component("a", inner);
            top.add("x[1]", Adds(None));
            top.add(name.clone(), Adds(None));
            let errors = refused(Simulation::new(top, Default::default()));
            assert_eq!(errors, [(path.to_owned(), why)]);
            // Twice, so that the second one has a stem that is known.
            for _ in 0..2 {
                let mut top = Coupled::new();
                top.add("adds", Adds(Some(name.clone())));
                let mut sim = Simulation::new(top, Default::default()).expect("a model");
                assert_eq!(refused(sim.run_through(10)), [(path.to_owned(), why)]);
            }
        }
        let both = ["p/q", "p/q"].map(|stem| Name::member(stem, 0));
        let mut top = Coupled::new();
        both.into_iter().zip(["m", "n"]).for_each(|(name, group)| {
            let mut inner = Coupled::<u32>::new();
            inner.add(name, Adds(None));
            top.add_component(group, inner);
        });
        let errors = refused(Simulation::new(top, Default::default()));
        assert_eq!(errors, ["m/p/q[0]", "n/p/q[0]"].map(|path| (path.to_owned(), slash)));
    }

    /// A name that is written as an index is one, and any other is a name of its own.
    #[test]
    fn names_are_read_in_one_way() {
        for (text, stem, index) in [
            ("x[0]", "x", Some(0)),
            ("x[10]", "x", Some(10)),
            ("x[1][2]", "x[1]", Some(2)),
            ("x[4294967294]", "x", Some(4_294_967_294)),
            ("x[y]", "x[y]", None),
            ("x[01]", "x[01]", None),
            ("x[]", "x[]", None),
        ] {
            let name = Name::from(text);
            assert_eq!((name.stem(), name.index(), &*name.to_string()), (stem, index, text));
        }
    }
}
