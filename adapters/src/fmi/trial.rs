//! A test of the state access before it is relied on: a scratch instance saves its state, steps, is brought back, and
//! steps again. FMUs that declare what they cannot do would give wrong results without a word.
use super::{
    archive::Unpacked,
    beginning::Beginning,
    description::{Description, Interface, InterfaceKind},
    instance::{Block, CallError, Called, Instance},
    layout::Layout,
    library::Vector,
    me::build::first_event,
};

/// The trial of one FMU.
pub(super) struct Trial<'a> {
    pub layout: &'a Layout,
    pub beginning: &'a Beginning,
    pub inputs: (&'a [Block], &'a [f64]),
    pub outputs: &'a [Block],
    /// Seconds of a step.
    pub step: f64,
}

/// Values of an instance after a step as bits: NaN is equal to itself then.
type Shown = Result<Vec<u64>, CallError>;

impl Trial<'_> {
    /// The fault of the state access, if it has one; one unit of an archive finds out for all.
    pub(super) fn verdict(
        &self,
        files: &Unpacked,
        make: impl FnOnce() -> Result<Instance, String>,
    ) -> Option<String> {
        let kind = self.layout.interface.kind;
        files.once(kind, || match make() {
            Ok(instance) => self.run(&instance),
            // The unit's own instance tells.
            Err(_) => None,
        })
    }

    fn run(&self, instance: &Instance) -> Option<String> {
        // A fault before a state is saved is one of the unit's own instance, too, which tells it.
        self.begin(instance).ok()?;
        let name = |call: &str| instance.name(call);
        let saved = match instance.save() {
            Ok(saved) => saved,
            Err(e) => return Some(e.story()),
        };
        let first = self.step(instance).ok()?;
        if let Err(e) = instance.restore(&saved) {
            return Some(e.story());
        }
        let set = name("SetFMUState");
        match self.step(instance) {
            Err(e) => {
                Some(format!("after {set} a step goes wrong that went well before: {}", e.story()))
            }
            Ok(again) if again != first => {
                Some(format!("after {set} the step from 0 s ends with other values than before"))
            }
            Ok(_) => None,
        }
    }

    fn begin(&self, instance: &Instance) -> Called {
        self.beginning.enter(instance).map_err(|(_, e)| e)?;
        let Interface { kind, event_mode, .. } = self.layout.interface;
        if kind == InterfaceKind::CoSimulation {
            return instance.initialised(event_mode).map(|_| ());
        }
        instance.exit_initialisation()?;
        first_event(instance)?;
        instance.enter_continuous()
    }

    /// A step, and what shows after it.
    fn step(&self, instance: &Instance) -> Shown {
        let mut shown = Vec::new();
        if self.layout.interface.kind == InterfaceKind::CoSimulation {
            let stepped = instance.step(self.inputs, (0.0, self.step), &[], false)?;
            let reached = if stepped.early { stepped.reached } else { self.step };
            shown.extend([reached.to_bits(), stepped.event.into(), stepped.terminate.into()]);
        } else {
            self.exchange(instance, &mut shown)?;
        }
        let places = self.outputs.iter().flat_map(Block::all).max().map_or(0, |most| most + 1);
        let mut y = vec![0.0; places];
        instance.read(self.outputs, &mut y)?;
        shown.extend(y.into_iter().map(f64::to_bits));
        Ok(shown)
    }

    /// A step along the derivatives, with an event at its end.
    fn exchange(&self, instance: &Instance, shown: &mut Vec<u64>) -> Called {
        let Description { structure, variables, .. } = &*self.layout.description;
        let own = structure.states.iter().map(|s| variables[s.state].elements).sum();
        let states = instance.sizes().map_or(own, |(states, _)| states);
        let (mut x, mut dx) = (vec![0.0; states], vec![0.0; states]);
        instance.fill(Vector::States, &mut x)?;
        instance.fill(Vector::Derivatives, &mut dx)?;
        x.iter_mut().zip(&dx).for_each(|(x, dx)| *x += self.step * dx);
        instance.place(self.step, &x)?;
        if self.layout.interface.completed_step {
            instance.completed()?;
        }
        instance.enter_event()?;
        let updated = first_event(instance)?;
        instance.enter_continuous()?;
        instance.fill(Vector::States, &mut x)?;
        instance.fill(Vector::Derivatives, &mut dx)?;
        let next = updated.next.unwrap_or(f64::NAN);
        shown.extend([next].iter().chain(&x).chain(&dx).map(|x| x.to_bits()));
        Ok(())
    }
}
