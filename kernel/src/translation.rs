//! Functions on the messages of a connection.
use crate::message::{Message, Payload};
use std::{any::TypeId, fmt, sync::Arc};

pub(crate) type Function<M> = dyn Fn(&M) -> Option<M> + Send + Sync;

/// A pure function on the messages of one connection (`Z` of the DEVS literature); `None` drops
/// the message.
pub struct Translation<M> {
    pub(crate) name: Arc<str>,
    pub(crate) apply: Arc<Function<M>>,
    /// The type of a function that captures nothing, and so is known by it.
    plain: Option<TypeId>,
}

/// The type of a function without captured values.
fn plain_type<F: 'static>(_: &F) -> Option<TypeId> {
    (size_of::<F>() == 0).then(TypeId::of::<F>)
}

impl<M: Message> Translation<M> {
    /// A named translation. The name is part of the canonical order of parallel wires (R5) and
    /// is how a checkpoint finds the function again: give each function a name of its own, and tell
    /// [`Simulation::declare_translation`](crate::Simulation::declare_translation) of those that are only
    /// made during the run.
    pub fn new<A: Payload<M>, B: Payload<M>>(
        name: impl Into<Arc<str>>,
        f: impl Fn(&A) -> Option<B> + Send + Sync + 'static,
    ) -> Self {
        let plain = plain_type(&f);
        Self { name: name.into(), apply: Arc::new(move |m| f(A::unwrap(m)?).map(B::wrap)), plain }
    }

    /// Whether both are surely one function.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.apply, &other.apply) || self.plain.is_some() && self.plain == other.plain
    }

    /// Whether both are surely two functions.
    pub(crate) fn is_not(&self, other: &Self) -> bool {
        self.plain.is_some() && other.plain.is_some() && self.plain != other.plain
    }

    /// `self`, then `after`.
    pub(crate) fn then(&self, after: &Self) -> Self {
        let (f, g) = (Arc::clone(&self.apply), Arc::clone(&after.apply));
        Self {
            name: format!("{}>{}", self.name, after.name).into(),
            apply: Arc::new(move |m| g(&f(m)?)),
            plain: None,
        }
    }
}

impl<M> Clone for Translation<M> {
    fn clone(&self) -> Self {
        let Self { name, apply, plain } = self;
        Self { name: Arc::clone(name), apply: Arc::clone(apply), plain: *plain }
    }
}

impl<M> fmt::Debug for Translation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Translation({})", self.name)
    }
}
