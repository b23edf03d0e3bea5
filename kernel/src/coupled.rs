//! Coupled models, as an author writes them: children, ports and couplings of one level.
//!
//! The hierarchy is the author's; [`crate::Simulation::new`] flattens it.
use crate::{
    atomic::Atomic,
    message::{Message, Payload},
    nursery::Nursery,
    path::Name,
    port::{self, InPort, OutPort, port_number},
    slab::{Erased, Slabs},
    time::Duration,
    translation::Translation,
};
use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// A model of any kind, ready to be put into a coupled model.
pub struct Component<M: Message>(pub(crate) Body<M>);

pub(crate) enum Body<M: Message> {
    Atomic(Box<dyn Erased<M>>),
    /// In the nursery of the coupled model, in this ward, at this place.
    Near(u32, u32),
    Coupled(Box<Coupled<M>>),
}

impl<M: Message> Component<M> {
    /// An atomic model.
    pub fn atomic<A: Atomic<M>>(model: A) -> Self {
        Self::with_elapsed(model, Duration::ZERO)
    }

    /// An atomic model that starts with `elapsed` of its first time advance gone (rule R8).
    pub fn with_elapsed<A: Atomic<M>>(model: A, elapsed: Duration) -> Self {
        Self(Body::Atomic(Box::new((model, elapsed))))
    }
}

impl<M: Message> From<Coupled<M>> for Component<M> {
    fn from(mut coupled: Coupled<M>) -> Self {
        // It is complete; a deep hierarchy keeps all its levels until the build.
        coupled.children.shrink_to_fit();
        coupled.wires.shrink_to_fit();
        coupled.nursery.shrink_to_fit();
        Self(Body::Coupled(Box::new(coupled)))
    }
}

impl<M: Message> fmt::Debug for Component<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Body::Atomic(_) | Body::Near(..) => "Component::Atomic",
            Body::Coupled(_) => "Component::Coupled",
        })
    }
}

/// The child number of the coupled model itself, in an end of a coupling.
pub(crate) const SELF: u32 = u32::MAX;

/// The child number of a child of another coupled model, which the build refuses.
const FOREIGN: u32 = u32::MAX - 1;

/// Tells coupled models under construction apart, so that a child of one cannot be taken for
/// the child of another that happens to have its number. Compared, never ordered or stored.
static NEXT_FAMILY: AtomicU32 = AtomicU32::new(0);

/// A child of a coupled model: of one whose type `A` is known, or of any.
///
/// A child takes ports of its own model only (see [`OutPort`]). Couplings name children of their own coupled model only; a child of another level is refused
/// by the build:
/// ```
/// use superdense_kernel::{Coupled, Simulation, nested::Nested, port::{InPort, OutPort}};
/// # fn relay() -> Nested<u32> {
/// #     let mut c = Coupled::<u32>::new();
/// #     c.add_input::<u32>("in");
/// #     c.add_output::<u32>("out");
/// #     Nested::new(Simulation::new(c, Default::default()).unwrap()).unwrap()
/// # }
/// let mut inner = Coupled::<u32>::new();
/// let a = inner.add("a", relay());
/// let mut top = Coupled::new();
/// top.add_component("inner", inner);
/// let b = top.add("b", relay());
/// top.couple(a.output(OutPort::<u32, _>::new(0)), b.input(InPort::<u32, _>::new(0)));
/// assert!(Simulation::new(top, Default::default()).is_err());
/// ```
///
/// A coupling from input to input, or from output to output, of two children does not compile:
/// ```compile_fail,E0308
/// use superdense_kernel::{Child, Coupled, port::InPort};
/// fn wire(c: &mut Coupled<u32>, a: Child, b: Child) {
///     c.couple(a.input(InPort::<u32>::new(0)), b.input(InPort::<u32>::new(0)));
/// }
/// ```
pub struct Child<A = port::Any> {
    family: u32,
    index: u32,
    model: PhantomData<fn(A) -> A>,
}

impl<A> Clone for Child<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Child<A> {}

impl<A> fmt::Debug for Child<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Child({})", self.index)
    }
}

/// The start of a coupling.
pub struct Source<T>(Authored, PhantomData<fn(T) -> T>);
/// The end of a coupling.
pub struct Sink<T>(Authored, PhantomData<fn(T) -> T>);

/// An end of a coupling with the family of its child; the own ports belong to every family.
#[derive(Debug, Clone, Copy)]
struct Authored {
    family: Option<u32>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub child: u32,
    pub port: u16,
}

impl<A> Child<A> {
    fn end(self, port: u16) -> Authored {
        Authored { family: Some(self.family), end: End { child: self.index, port } }
    }
    /// An output port of this child.
    pub fn output<T>(self, port: OutPort<T, A>) -> Source<T> {
        Source(self.end(port.index()), PhantomData)
    }
    /// An input port of this child.
    pub fn input<T>(self, port: InPort<T, A>) -> Sink<T> {
        Sink(self.end(port.index()), PhantomData)
    }
    /// This child, whose ports go by numbers from here on.
    pub fn any(self) -> Child {
        let Self { family, index, .. } = self;
        Child { family, index, model: PhantomData }
    }
}

fn own(port: u16) -> Authored {
    Authored { family: None, end: End { child: SELF, port } }
}

impl<T> InPort<T> {
    /// The coupled model's own input port, seen from inside: where external input couplings
    /// start.
    pub fn inside(self) -> Source<T> {
        Source(own(self.index()), PhantomData)
    }
}

impl<T> OutPort<T> {
    /// The coupled model's own output port, seen from inside: where external output couplings
    /// end.
    pub fn inside(self) -> Sink<T> {
        Sink(own(self.index()), PhantomData)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AuthoredWire {
    pub from: End,
    pub to: End,
    /// Index into `translations`, or `bag::NONE`.
    pub z: u32,
}

/// A coupled model under construction.
///
/// ```
/// use superdense_kernel::{Atomic, Coupled, Outbox, port::{InPort, OutPort}, time::Duration};
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Idle;
/// impl Idle {
///     const IN: InPort<u32, Self> = InPort::new(0);
///     const OUT: OutPort<u32, Self> = OutPort::new(0);
/// }
/// impl Atomic<u32> for Idle {
///     fn inputs(&self) -> u16 { 1 }
///     fn outputs(&self) -> u16 { 1 }
///     fn time_advance(&self) -> Duration { Duration::INFINITE }
/// }
/// let mut inner = Coupled::<u32>::new();
/// let input = inner.add_input::<u32>("in");
/// let a = inner.add("a", Idle);
/// let b = inner.add("b", Idle);
/// inner.couple(input.inside(), a.input(Idle::IN));
/// inner.couple(a.output(Idle::OUT), b.input(Idle::IN));
/// let mut top = Coupled::new();
/// top.add_component("inner", inner);
/// superdense_kernel::Simulation::new(top, Default::default()).unwrap();
/// ```
pub struct Coupled<M: Message> {
    family: u32,
    pub(crate) children: Vec<(Name, Component<M>)>,
    pub(crate) nursery: Nursery<M>,
    pub(crate) inputs: Vec<Cow<'static, str>>,
    pub(crate) outputs: Vec<Cow<'static, str>>,
    pub(crate) wires: Vec<AuthoredWire>,
    pub(crate) translations: Vec<Translation<M>>,
}

impl<M: Message> fmt::Debug for Coupled<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Coupled({} children, {} wires)", self.children.len(), self.wires.len())
    }
}

/// Level by level: a deep hierarchy would need much stack.
impl<M: Message> Drop for Coupled<M> {
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.children);
        while let Some((_, child)) = open.pop() {
            if let Body::Coupled(mut inner) = child.0 {
                open.append(&mut inner.children);
            }
        }
    }
}

impl<M: Message> Default for Coupled<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> Coupled<M> {
    /// An empty coupled model.
    pub fn new() -> Self {
        Self {
            family: NEXT_FAMILY.fetch_add(1, Ordering::Relaxed),
            children: Vec::new(),
            nursery: Nursery::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            wires: Vec::new(),
            translations: Vec::new(),
        }
    }

    /// Adds an atomic child. Two children of one name are reported when the model is built.
    pub fn add<A: Atomic<M>>(&mut self, name: impl Into<Name>, model: A) -> Child<A> {
        let (ward, place) = self.nursery.add(model);
        let Child { family, index, .. } =
            self.add_component(name, Component(Body::Near(ward, place)));
        Child { family, index, model: PhantomData }
    }

    /// Adds a child of any kind, whose ports go by numbers.
    pub fn add_component(
        &mut self,
        name: impl Into<Name>,
        component: impl Into<Component<M>>,
    ) -> Child {
        self.children.push((name.into(), component.into()));
        let (family, index) = (self.family, (self.children.len() - 1) as u32);
        Child { family, index, model: PhantomData }
    }

    /// Declares an input port. More than 65 535 are reported when the model is built.
    pub fn add_input<T: Payload<M>>(&mut self, name: impl Into<Cow<'static, str>>) -> InPort<T> {
        self.inputs.push(name.into());
        InPort::new(port_number(self.inputs.len() - 1))
    }

    /// Declares an output port. More than 65 535 are reported when the model is built.
    pub fn add_output<T: Payload<M>>(&mut self, name: impl Into<Cow<'static, str>>) -> OutPort<T> {
        self.outputs.push(name.into());
        OutPort::new(port_number(self.outputs.len() - 1))
    }

    /// Couples two ports of one type.
    pub fn couple<T: Payload<M>>(&mut self, from: Source<T>, to: Sink<T>) {
        self.wire(from.0, to.0, crate::bag::NONE);
    }

    /// Couples two ports through a translation function, which may change the type.
    pub fn couple_with<A: Payload<M>, B: Payload<M>>(
        &mut self,
        from: Source<A>,
        to: Sink<B>,
        name: impl Into<Arc<str>>,
        f: impl Fn(&A) -> Option<B> + Send + Sync + 'static,
    ) {
        self.translations.push(Translation::new(name, f));
        let z = (self.translations.len() - 1) as u32;
        self.wire(from.0, to.0, z);
    }

    fn wire(&mut self, from: Authored, to: Authored, z: u32) {
        let end = |a: Authored| {
            let known = a.family.is_none_or(|f| f == self.family);
            End { child: if known { a.end.child } else { FOREIGN }, ..a.end }
        };
        self.wires.push(AuthoredWire { from: end(from), to: end(to), z });
    }

    /// This one and all coupled models below.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.children.iter().filter_map(|(_, child)| match &child.0 {
                Body::Coupled(inner) => Some(&**inner),
                Body::Atomic(_) | Body::Near(..) => None,
            }));
            Some(next)
        })
    }

    /// Number of models below.
    pub(crate) fn count(&self) -> usize {
        self.levels().map(Self::len).sum()
    }

    /// Tells the slabs what is to come, so that they are made as large at once.
    pub(crate) fn announce(&self, slabs: &mut Slabs<M>) {
        self.levels().for_each(|level| level.nursery.announce(slabs));
    }

    /// Number of children.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// True without children.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Simulation,
        error::{BuildError, RunError},
    };

    /// As many ports as can be numbered, and one more.
    #[test]
    fn a_port_too_many_is_refused_with_the_path() {
        let errors = |inputs: usize, outputs: usize| {
            let mut inner = Coupled::<u32>::new();
            (0..inputs).for_each(|_| _ = inner.add_input::<u32>("in"));
            (0..outputs).for_each(|_| _ = inner.add_output::<u32>("out"));
            let mut top = Coupled::new();
            top.add_component("inner", inner);
            match Simulation::new(top, Default::default()) {
                Ok(_) => Vec::new(),
                Err(RunError::Build(errors)) => errors.0,
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(errors(65_535, 65_535), []);
        let too_many = |direction| {
            let path = "inner".to_owned();
            [BuildError::TooManyPorts { path, direction, count: 65_537 }]
        };
        assert_eq!(errors(65_537, 0), too_many("input"));
        assert_eq!(errors(0, 65_537), too_many("output"));
        let count = 65_536;
        let path = "inner".to_owned();
        assert_eq!(
            errors(0, count),
            [BuildError::TooManyPorts { path, direction: "output", count }]
        );
    }
}
