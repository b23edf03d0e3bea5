//! Models of a coupled model under construction, on their way into the slabs.
//!
//! **Why.** With a box for each, a large model was built half out of boxes. Here equal models of
//! one level lie side by side until the build moves them on, in path order.
use crate::{atomic::Atomic, message::Message, slab::Slabs};
use std::any::{Any, TypeId};

/// Where a model lies, and what the blueprint has to know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub kind: u16,
    pub slot: u32,
    pub inputs: u16,
    pub outputs: u16,
}

/// All models of one type.
trait Ward<M: Message>: Send {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// From now on, models leave in this order of their places.
    fn arrange(&mut self, places: &[u32]);
    fn leave(&mut self, slabs: &mut Slabs<M>) -> Option<Placed>;
    /// Says how many will leave.
    fn announce(&self, slabs: &mut Slabs<M>);
    fn shrink_to_fit(&mut self);
}

struct Models<A>(Vec<A>);

impl<M: Message, A: Atomic<M>> Ward<M> for Models<A> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    fn arrange(&mut self, places: &[u32]) {
        if places.is_sorted() {
            self.0.reverse();
            return;
        }
        let mut models: Vec<Option<A>> =
            std::mem::take(&mut self.0).into_iter().map(Some).collect();
        self.0 = places.iter().rev().filter_map(|&p| models[p as usize].take()).collect();
    }
    fn leave(&mut self, slabs: &mut Slabs<M>) -> Option<Placed> {
        let model = self.0.pop()?;
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
        Some(slabs.place(model))
    }
    fn announce(&self, slabs: &mut Slabs<M>) {
        slabs.expect::<A>(self.0.len());
    }
    fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }
}

/// The models of one level, by type.
pub(crate) struct Nursery<M: Message> {
    wards: Vec<(TypeId, Box<dyn Ward<M>>)>,
}

impl<M: Message> Nursery<M> {
    pub(crate) fn new() -> Self {
        Self { wards: Vec::new() }
    }

    /// Takes a model in; returns its ward and its place there.
    pub(crate) fn add<A: Atomic<M>>(&mut self, model: A) -> (u32, u32) {
        let id = TypeId::of::<A>();
        // From the end: most models are of the type of the one before.
        let known = self.wards.iter().rposition(|w| w.0 == id);
        let ward = known.unwrap_or_else(|| {
            self.wards.push((id, Box::new(Models::<A>(Vec::new()))));
            self.wards.len() - 1
        });
        let Some(Models(models)) = self.wards[ward].1.as_any_mut().downcast_mut::<Models<A>>()
        else {
            unreachable!("the ward of this type")
        };
        models.push(model);
        (ward as u32, models.len() as u32 - 1)
    }

    /// Says how many models of each type will leave.
    pub(crate) fn announce(&self, slabs: &mut Slabs<M>) {
        self.wards.iter().for_each(|(_, ward)| ward.announce(slabs));
    }

    /// Gives back the room for more models.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.wards.iter_mut().for_each(|(_, ward)| ward.shrink_to_fit());
    }

    /// From now on, models leave in this order of (ward, place), which names each once.
    pub(crate) fn arrange(&mut self, order: impl Iterator<Item = (u32, u32)>) {
        let mut places = vec![Vec::new(); self.wards.len()];
        order.for_each(|(ward, place)| places[ward as usize].push(place));
        for ((_, ward), places) in self.wards.iter_mut().zip(places) {
            ward.arrange(&places);
        }
    }

    /// The next model of a ward moves into its slab.
    pub(crate) fn leave(&mut self, ward: u32, slabs: &mut Slabs<M>) -> Option<Placed> {
        self.wards.get_mut(ward as usize)?.1.leave(slabs)
    }
}
