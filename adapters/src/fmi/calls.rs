//! The calls of an instance as messages: an instance lives in this process ([`Local`]) or in a
//! worker process ([`super::worker`]), and the code above it sees no difference.
use super::{
    archive::Unpacked,
    description::Type,
    library::{
        Completed, Curve, Heard, RawInstance, RawState, Request, Status, Stepped, Updated, Vector,
        WorkingFolder, may_move,
    },
    place::Only,
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// One call. Numbers that it asks for go to a slice of the caller's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Call<'a> {
    EnterInitialisation(Option<f64>),
    ExitInitialisation,
    Reset,
    EnterEvent,
    EnterStep,
    EnterContinuous,
    Configure(bool),
    Update,
    Step {
        from: f64,
        by: f64,
        curves: Cow<'a, [Curve]>,
        certain: bool,
    },
    Completed,
    SetTime(f64),
    SetStates(Cow<'a, [f64]>),
    Fill(Vector),
    Sizes,
    Get(Type, Cow<'a, [u32]>),
    Set(Type, Cow<'a, [u32]>, Cow<'a, [f64]>),
    SetWhole(Type, u32, Cow<'a, [i128]>),
    SetTexts(u32, Cow<'a, [String]>),
    SetBytes(u32, Cow<'a, [Vec<u8>]>),
    /// Texts or bytes of so many elements.
    GetTexts(u32, usize),
    GetBytes(u32, usize),
    OutputDerivatives(Cow<'a, [u32]>, Cow<'a, [i32]>),
    Directional {
        unknowns: Cow<'a, [u32]>,
        knowns: Cow<'a, [u32]>,
        seed: Cow<'a, [f64]>,
    },
    Adjoint {
        unknowns: Cow<'a, [u32]>,
        knowns: Cow<'a, [u32]>,
        seed: Cow<'a, [f64]>,
    },
    /// Saves the state under a number of the caller's.
    Save(u64),
    Restore(u64),
    Free(u64),
    Serialise(u64),
    Deserialise(u64, Cow<'a, [u8]>),
}

impl Call<'_> {
    /// The call with its own values.
    pub(super) fn owned(self) -> Call<'static> {
        fn own<T: ToOwned + ?Sized>(part: Cow<'_, T>) -> Cow<'static, T> {
            Cow::Owned(part.into_owned())
        }
        match self {
            Self::Step { from, by, curves, certain } => {
                Call::Step { from, by, curves: own(curves), certain }
            }
            Self::SetStates(x) => Call::SetStates(own(x)),
            Self::Get(ty, references) => Call::Get(ty, own(references)),
            Self::Set(ty, references, values) => Call::Set(ty, own(references), own(values)),
            Self::SetWhole(ty, reference, values) => Call::SetWhole(ty, reference, own(values)),
            Self::SetTexts(reference, values) => Call::SetTexts(reference, own(values)),
            Self::SetBytes(reference, rows) => Call::SetBytes(reference, own(rows)),
            Self::OutputDerivatives(references, orders) => {
                Call::OutputDerivatives(own(references), own(orders))
            }
            Self::Directional { unknowns, knowns, seed } => {
                Call::Directional { unknowns: own(unknowns), knowns: own(knowns), seed: own(seed) }
            }
            Self::Adjoint { unknowns, knowns, seed } => {
                Call::Adjoint { unknowns: own(unknowns), knowns: own(knowns), seed: own(seed) }
            }
            Self::Deserialise(id, bytes) => Call::Deserialise(id, own(bytes)),
            Self::EnterInitialisation(tolerance) => Call::EnterInitialisation(tolerance),
            Self::ExitInitialisation => Call::ExitInitialisation,
            Self::Reset => Call::Reset,
            Self::EnterEvent => Call::EnterEvent,
            Self::EnterStep => Call::EnterStep,
            Self::EnterContinuous => Call::EnterContinuous,
            Self::Configure(begin) => Call::Configure(begin),
            Self::Update => Call::Update,
            Self::Completed => Call::Completed,
            Self::SetTime(t) => Call::SetTime(t),
            Self::Fill(vector) => Call::Fill(vector),
            Self::Sizes => Call::Sizes,
            Self::GetTexts(reference, elements) => Call::GetTexts(reference, elements),
            Self::GetBytes(reference, elements) => Call::GetBytes(reference, elements),
            Self::Save(id) => Call::Save(id),
            Self::Restore(id) => Call::Restore(id),
            Self::Free(id) => Call::Free(id),
            Self::Serialise(id) => Call::Serialise(id),
        }
    }
}

/// Results of a call beside its status and the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    Nothing,
    /// The binary does not have this optional function.
    Absent,
    Updated(Updated),
    Stepped(Stepped),
    Completed(Completed),
    Sizes(usize, usize),
    Bytes(Vec<u8>),
    Texts(Vec<String>),
    Rows(Vec<Vec<u8>>),
    /// A call that was to go before was refused: so many before this one.
    Earlier(usize),
}

/// A place where an instance lives. Dropping it frees the instance.
pub(super) trait Carrier: Send {
    /// Makes a call.
    fn carry(&mut self, call: Call<'_>, out: &mut [f64]) -> (Status, Answer);

    // The calls that a run makes most often: in this process they need not be messages.

    /// Moves to a time.
    fn set_time(&mut self, t: f64) -> Status {
        self.carry(Call::SetTime(t), &mut []).0
    }
    /// Sets the states.
    fn set_states(&mut self, x: &[f64]) -> Status {
        self.carry(Call::SetStates(x.into()), &mut []).0
    }
    /// Fills a vector.
    fn fill(&mut self, what: Vector, out: &mut [f64]) -> (Status, Answer) {
        self.carry(Call::Fill(what), out)
    }
    /// Reads numbers.
    fn get(&mut self, ty: Type, references: &[u32], out: &mut [f64]) -> (Status, Answer) {
        self.carry(Call::Get(ty, references.into()), out)
    }
    /// Sets numbers.
    fn set(&mut self, ty: Type, references: &[u32], values: &[f64]) -> Status {
        self.carry(Call::Set(ty, references.into(), values.into()), &mut []).0
    }

    /// Whether callbacks surely left nothing.
    fn is_silent(&mut self) -> bool {
        false
    }

    /// Whether calls gain by going together with the next one. In this process they do not.
    fn defers(&self) -> bool {
        false
    }

    /// Whether the call will be made with the next one, which answers for it ([`Answer::Earlier`]).
    fn defer(&mut self, _: &Call<'_>) -> bool {
        false
    }

    /// Takes what callbacks left.
    fn heard(&mut self) -> Heard;
}

/// An instance in this process.
pub(super) struct Local {
    /// Saved states by the numbers of their owner.
    states: BTreeMap<u64, RawState>,
    raw: RawInstance,
    /// Whether a step of the binary could leave another working folder.
    moves: bool,
    // After the instance, which may use its resources to the end.
    _files: Option<(Unpacked, Option<Only>)>,
}

impl Local {
    /// Loads and instantiates.
    ///
    /// # Errors
    /// The FMU's.
    pub(super) fn new(request: &Request<'_>) -> Result<Self, String> {
        let _here = WorkingFolder::now();
        let (raw, moves) = (RawInstance::new(request)?, may_move(&request.binary));
        Ok(Self { states: BTreeMap::new(), raw, moves, _files: None })
    }

    /// Keeps the unpacked FMU, and its claim to be the only one, as long as the instance lives.
    pub(super) fn keeping(mut self, files: Unpacked, only: Option<Only>) -> Self {
        self._files = Some((files, only));
        self
    }

    /// Saves the state under a number, over the state that has it.
    fn save(&mut self, id: u64) -> Status {
        if let Some(old) = self.states.get_mut(&id) {
            let status = self.raw.get_state_over(old);
            if !status.is_good() {
                self.states.remove(&id);
            }
            return status;
        }
        let (status, state) = self.raw.get_state();
        if status.is_good() {
            self.states.insert(id, state);
        }
        status
    }

    fn free(&mut self, id: u64) {
        if let Some(mut state) = self.states.remove(&id) {
            self.raw.free_state(&mut state);
        }
    }

    /// State access.
    fn access(&mut self, call: &Call<'_>) -> (Status, Answer) {
        match call {
            Call::Save(id) => (self.save(*id), Answer::Nothing),
            Call::Deserialise(id, bytes) => {
                let (status, state) = self.raw.deserialize(bytes);
                if status.is_good() {
                    self.free(*id);
                    self.states.insert(*id, state);
                }
                (status, Answer::Nothing)
            }
            Call::Free(id) => {
                self.free(*id);
                (Status::Ok, Answer::Nothing)
            }
            Call::Restore(id) | Call::Serialise(id) => {
                let Some(state) = self.states.get(id) else {
                    return (Status::Discard, Answer::Nothing);
                };
                if matches!(call, Call::Restore(_)) {
                    return (self.raw.set_state(state), Answer::Nothing);
                }
                let (status, bytes) = self.raw.serialize(state);
                (status, Answer::Bytes(bytes))
            }
            _ => (Status::Discard, Answer::Nothing),
        }
    }

    /// Calls that answer with a status only, and with numbers.
    fn plain(&mut self, call: &Call<'_>, out: &mut [f64]) -> Status {
        let raw = &mut self.raw;
        match call {
            Call::EnterInitialisation(tolerance) => {
                let _here = WorkingFolder::now();
                raw.enter_initialization(*tolerance)
            }
            Call::ExitInitialisation => {
                let _here = WorkingFolder::now();
                raw.exit_initialization()
            }
            Call::EnterEvent => raw.enter_event_mode(),
            Call::EnterStep => raw.enter_step_mode(),
            Call::EnterContinuous => raw.enter_continuous(),
            Call::Configure(begin) => raw.configure(*begin),
            Call::SetTime(t) => raw.set_time(*t),
            Call::SetStates(x) => raw.set_states(x),
            Call::Fill(vector) => raw.fill(*vector, out),
            Call::Get(ty, references) => raw.get_numbers(*ty, references, out),
            Call::Set(ty, references, values) => raw.set_numbers(*ty, references, values),
            Call::SetWhole(ty, reference, values) => raw.set_whole(*ty, *reference, values),
            Call::SetTexts(reference, values) => raw.set_texts(*reference, values),
            Call::SetBytes(reference, bytes) => raw.set_bytes(*reference, bytes),
            Call::OutputDerivatives(references, orders) => {
                raw.output_derivatives(references, orders, out)
            }
            Call::Directional { unknowns, knowns, seed } => {
                raw.directional(unknowns, knowns, seed, out)
            }
            Call::Adjoint { unknowns, knowns, seed } => raw.adjoint(unknowns, knowns, seed, out),
            _ => Status::Discard,
        }
    }
}

impl Carrier for Local {
    fn carry(&mut self, call: Call<'_>, out: &mut [f64]) -> (Status, Answer) {
        match &call {
            Call::Step { from, by, curves, certain } => {
                let _here = self.moves.then(WorkingFolder::now);
                self.raw.set_curves(curves);
                let (status, stepped) = self.raw.do_step(*from, *by, *certain);
                (status, Answer::Stepped(stepped))
            }
            Call::Update => {
                let (status, updated) = self.raw.update();
                (status, Answer::Updated(updated))
            }
            Call::Completed => {
                let (status, completed) = self.raw.completed();
                (status, Answer::Completed(completed))
            }
            Call::Sizes => match self.raw.sizes() {
                Some((states, indicators)) => (Status::Ok, Answer::Sizes(states, indicators)),
                None => (Status::Ok, Answer::Absent),
            },
            Call::GetTexts(reference, elements) => {
                let (status, texts) = self.raw.get_texts(*reference, *elements);
                (status, Answer::Texts(texts))
            }
            Call::GetBytes(reference, elements) => {
                let (status, rows) = self.raw.get_bytes(*reference, *elements);
                (status, Answer::Rows(rows))
            }
            Call::Reset => match self.raw.reset() {
                Some(status) => (status, Answer::Nothing),
                None => (Status::Ok, Answer::Absent),
            },
            Call::Save(_)
            | Call::Restore(_)
            | Call::Free(_)
            | Call::Serialise(_)
            | Call::Deserialise(..) => self.access(&call),
            _ => (self.plain(&call, out), Answer::Nothing),
        }
    }

    fn set_time(&mut self, t: f64) -> Status {
        self.raw.set_time(t)
    }
    fn set_states(&mut self, x: &[f64]) -> Status {
        self.raw.set_states(x)
    }
    fn fill(&mut self, what: Vector, out: &mut [f64]) -> (Status, Answer) {
        (self.raw.fill(what, out), Answer::Nothing)
    }
    fn get(&mut self, ty: Type, references: &[u32], out: &mut [f64]) -> (Status, Answer) {
        (self.raw.get_numbers(ty, references, out), Answer::Nothing)
    }
    fn set(&mut self, ty: Type, references: &[u32], values: &[f64]) -> Status {
        self.raw.set_numbers(ty, references, values)
    }

    fn is_silent(&mut self) -> bool {
        self.raw.is_silent()
    }

    fn heard(&mut self) -> Heard {
        self.raw.heard()
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for (_, mut state) in std::mem::take(&mut self.states) {
            self.raw.free_state(&mut state);
        }
    }
}
