//! Steps of fixed length that are cut short.
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations},
    unit::wrapper::Unit,
};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Counts a step of fixed length that ends at the present for an input, or else for an event or a flip; the
    /// first one is told.
    pub(in crate::unit) fn note_cut(&mut self, input: Option<usize>, fx: &mut Effects<Value>) {
        let now = Some(self.scene.frame.last);
        let (Some(step), Some(done)) = (self.core.own_step(), self.core.inside(&self.scene)) else {
            return;
        };
        if std::mem::replace(&mut self.state.cut, now) == now {
            return;
        }
        self.state.cut_steps += 1;
        if self.state.cut_steps > 1 {
            return;
        }
        let by = match input {
            Some(port) => self.input(port),
            None => {
                let own = self.scene.equations.events();
                let event = self.state.fired.iter().find_map(|&event| own.get(usize::from(event)));
                let flip = "a change of an `if`, `abs`, `min` or `max`".to_owned();
                event.map_or(flip, |event| format!("event `{}`", event.name))
            }
        };
        let note = format!(
            "{by} cuts a step of {step} s short, after {done} s; `cut_steps` of the summary counts all. \
             For steps as long as `step` says make the time between two exchanges or events a multiple of it"
        );
        fx.report(Fact::Note(note.into()));
    }

    #[cold]
    pub(in crate::unit) fn input(&self, port: usize) -> String {
        let event = port.checked_sub(self.scene.dims.inputs);
        match event.and_then(|port| self.scene.equations.reception(port)) {
            Some(name) => format!("input `{name}`"),
            None => format!("input {}", self.signal(false, port)),
        }
    }
}
