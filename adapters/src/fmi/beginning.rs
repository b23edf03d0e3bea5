//! The initialisation mode: when the unit is built, and again when it hears other inputs at the time of the
//! start. These belong to the start (R7): states that follow from inputs, samples at zero and limits that are kept are
//! set there.
use super::{
    description::Variable,
    instance::{Block, CallError, Instance},
    starts::{Start, set},
};

/// Everything that is set before the initialisation mode, or in it.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    /// Structural parameters, which take their values in a mode of their own.
    pub structure: Vec<(Variable, i128)>,
    pub starts: Vec<(Variable, Start)>,
    pub tolerance: Option<f64>,
}

/// The part of a beginning that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Structure,
    /// A start value, by its place.
    Start(usize),
    Whole,
}

impl Beginning {
    /// Sets structure and start values, and enters the initialisation mode.
    ///
    /// # Errors
    /// The FMU's, with the part that it refused.
    pub(super) fn enter(&self, instance: &Instance) -> Result<(), (Part, CallError)> {
        self.configure(instance).map_err(|e| (Part::Structure, e))?;
        for (k, (variable, start)) in self.starts.iter().enumerate() {
            set(instance, variable, start).map_err(|e| (Part::Start(k), e))?;
        }
        instance.begin(self.tolerance).map_err(|e| (Part::Whole, e))
    }

    fn configure(&self, instance: &Instance) -> Result<(), CallError> {
        if self.structure.is_empty() {
            return Ok(());
        }
        instance.configure(true)?;
        for (v, value) in &self.structure {
            instance.write_whole(&v.name, v.ty, v.reference, &[*value])?;
        }
        instance.configure(false)
    }

    /// Enters the initialisation mode once more, with these inputs; whether the FMU can.
    ///
    /// # Errors
    /// The FMU's.
    pub(super) fn again<'a>(
        &self,
        instance: &Instance,
        inputs: impl IntoIterator<Item = &'a Block>,
        values: &[f64],
    ) -> Result<bool, CallError> {
        if !instance.reset()? {
            instance.remark(
                "the FMU was initialised before it heard its inputs, and has no function to begin again: give the \
                 inputs' values in `start`"
                    .to_owned(),
            );
            return Ok(false);
        }
        self.enter(instance).map_err(|(_, e)| e)?;
        for block in inputs {
            instance.write(std::slice::from_ref(block), values)?;
        }
        Ok(true)
    }
}
