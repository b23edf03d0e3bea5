//! Changes of structure during a run (rule R12, in the manner of DSDE).
use crate::{coupled::Component, message::Message, path::Name, translation::Translation};
use std::borrow::Cow;

/// A port of a child, or of the coupled model itself, in a change of structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOf {
    /// The child's name, or `None` for the coupled model's own port.
    pub child: Option<Name>,
    /// The port number.
    pub port: u16,
}

impl PortOf {
    /// A port of the child `name`.
    pub fn child(name: impl Into<Name>, port: u16) -> Self {
        Self { child: Some(name.into()), port }
    }
    /// The coupled model's own port.
    pub fn own(port: u16) -> Self {
        Self { child: None, port }
    }
}

/// One change, asked for with [`crate::Effects::change`].
///
/// Paths are absolute, and the root is `""`; or they begin with `.`, the coupled model in which the model that
/// asks lives, or `..`, the one around that: `./pump[3]` is a neighbour. So a model need not know where it is.
///
/// All changes of a cycle take effect after its transitions, in the canonical order of the
/// models that asked. New models start at this tag and may be imminent from the next micro-step.
/// Every creator names what it creates; derive the name from a counter in the creator's own
/// state, so that names do not depend on the order of execution.
#[derive(Debug)]
pub enum Change<M: Message> {
    /// Adds a child.
    Add {
        /// Path of the coupled model that gets the child.
        parent: String,
        /// Its name there.
        name: Name,
        /// The child.
        component: Component<M>,
    },
    /// Removes an atomic or coupled model with all its couplings; its pending events vanish.
    Remove {
        /// Its path.
        path: String,
    },
    /// Adds a coupling.
    Couple {
        /// Path of the coupled model that owns the coupling.
        parent: String,
        /// Start.
        from: PortOf,
        /// End.
        to: PortOf,
        /// Translation function.
        translation: Option<Translation<M>>,
    },
    /// Removes a coupling.
    Decouple {
        /// Path of the coupled model that owns the coupling.
        parent: String,
        /// Start.
        from: PortOf,
        /// End.
        to: PortOf,
    },
    /// Removes all couplings that begin at an output port. What leads to the port inside a coupled model
    /// stays, so that the port delivers again once it is coupled again; [`Change::Decouple`] removes
    /// that, with the coupled model as the parent and its own port as the end.
    CloseOutput {
        /// Path of the model.
        path: String,
        /// The port number.
        port: u16,
    },
    /// Another change, whose refusal does not end the run: [`crate::Atomic::refused`] tells the model that asked.
    /// A refused change leaves nothing behind.
    Attempt(Box<Self>),
}

/// The absolute path for one that may be relative to `base`; `None` if it leads beyond the root.
pub(crate) fn absolute<'a>(base: &str, path: &'a str) -> Option<Cow<'a, str>> {
    if !matches!(path.split('/').next(), Some("." | "..")) {
        return Some(Cow::Borrowed(path));
    }
    let mut names: Vec<&str> = base.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(Cow::Owned(names.join("/")))
}
