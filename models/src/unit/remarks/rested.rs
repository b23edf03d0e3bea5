//! Units that `rest` puts elsewhere.
use crate::{
    signal::value::Value,
    solve::{
        core::Core,
        equations::{Dims, Equations},
    },
    unit::wrapper::{Scratch, Unit},
};
use superdense_kernel::{Effects, Fact};

/// So many times as far as a state moves within the bound of `rest` it may be put.
const FAR: f64 = 3.0;
/// Differences below this, beside 1 and beside the value, are none.
const NEAR: f64 = 1e-6;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Notes a state that an event in `fired` has just put to rest farther away than it moves meanwhile: the values of `rest`
    /// are numbers, and a ball on a floor that has moved does not rest where the floor was.
    pub(in crate::unit) fn note_far(&mut self) {
        if !self.state.retiring || self.scene.frame.resting {
            return;
        }
        let (equations, dims) = (&self.scene.equations, self.scene.dims);
        let Scratch { prior, work, .. } = &mut self.scratch;
        let mut dx = vec![0.0; dims.states];
        equations.derivatives(prior, work, &mut dx);
        let events = self.state.fired.iter().map(|&event| &equations.events()[usize::from(event)]);
        for event in events {
            let Some(rest) = &event.rest else { continue };
            let states = Dims::STATES..Dims::STATES + dims.states;
            for &(var, value) in rest.values.iter().filter(|(var, _)| states.contains(var)) {
                let reach = FAR * dx[var - Dims::STATES].abs() * rest.within;
                let before = prior[var];
                if (before - value).abs() > reach + NEAR * (1.0 + value.abs()) {
                    self.state.far = Some(format!(
                        "event `{}`: `rest` has put a state from {before} to {value}, and it moves by less than that within \
                         {:e} s: values of `rest` are numbers, and what they rest on has moved; model the contact as a mode \
                         in its place",
                        event.name, rest.within
                    ));
                    return;
                }
            }
        }
    }

    /// Tells that.
    pub(in crate::unit) fn tell_far(&mut self, fx: &mut Effects<Value>) {
        if let Some(note) = self.state.far.take() {
            fx.report(Fact::Note(note.into()));
        }
    }
}
