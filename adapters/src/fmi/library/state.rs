//! State access.
use super::{
    Api, RawInstance, RawState, Status,
    raw::{Answer, call},
};
use std::ptr;

/// Most bytes of a state that is written down: what fits into a message of a worker.
const BYTES: usize = 1023 << 20;

impl RawInstance {
    /// `getFMUState`.
    pub fn get_state(&mut self) -> Answer<RawState> {
        let mut state = ptr::null_mut();
        if self.dead {
            return (Status::Fatal, RawState(state));
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.get_state,
            Api::V3(f) => f.get_state,
        };
        // A null state asks for a new one.
        (call!(self, f, &raw mut state), RawState(state))
    }
    /// `getFMUState` into the memory of a state that is needed no more. The standard lets an FMU return another place
    /// instead, which is then the only one that is known: from there on the old state is freed first.
    pub fn get_state_over(&mut self, state: &mut RawState) -> Status {
        if !self.reuses_states {
            self.free_state(state);
        }
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.get_state,
            Api::V3(f) => f.get_state,
        };
        let before = state.0;
        let status = call!(self, f, &raw mut state.0);
        self.reuses_states &= before.is_null() || state.0 == before;
        status
    }
    /// `setFMUState`. The state must be one of this instance.
    pub fn set_state(&mut self, state: &RawState) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.set_state,
            Api::V3(f) => f.set_state,
        };
        // Both live: states are freed before their instance.
        call!(self, f, state.0)
    }
    /// `freeFMUState`.
    pub fn free_state(&mut self, state: &mut RawState) {
        if self.dead || state.0.is_null() {
            return;
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.free_state,
            Api::V3(f) => f.free_state,
        };
        // The state is given up here, once.
        let _ = call!(self, f, &raw mut state.0);
        state.0 = ptr::null_mut();
    }
    /// `serializeFMUState`.
    pub fn serialize(&mut self, state: &RawState) -> Answer<Vec<u8>> {
        if self.dead {
            return (Status::Fatal, Vec::new());
        }
        let (measure, write) = match &self.functions.api {
            Api::V2(f) => (f.state_size, f.serialize),
            Api::V3(f) => (f.state_size, f.serialize),
        };
        let mut size = 0;
        let status = call!(self, measure, state.0, &raw mut size);
        let mut bytes = Vec::new();
        if !status.is_good() {
            return (status, bytes);
        }
        if size > BYTES || bytes.try_reserve_exact(size).is_err() {
            let text = format!(
                "the state has {size} bytes, as the FMU says; at most {} MiB can be written down, as far as there is \
                 memory: leave checkpoints out (`--checkpoint`), or report it to the FMU's vendor",
                BYTES >> 20
            );
            self.say(Status::Unasked, text);
            return (Status::Unasked, bytes);
        }
        bytes.resize(size, 0);
        (call!(self, write, state.0, bytes.as_mut_ptr(), size), bytes)
    }
    /// `deserializeFMUState`.
    pub fn deserialize(&mut self, bytes: &[u8]) -> Answer<RawState> {
        let mut state = ptr::null_mut();
        if self.dead {
            return (Status::Fatal, RawState(state));
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.deserialize,
            Api::V3(f) => f.deserialize,
        };
        (call!(self, f, bytes.as_ptr(), bytes.len(), &raw mut state), RawState(state))
    }
}
