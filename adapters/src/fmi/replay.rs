//! Going back for FMUs that cannot: an instance that is made anew makes all calls again up to the point to which a run goes
//! back. For FMUs that depend on nothing but their calls (`replay = true`).
use super::{
    calls::{Answer, Call, Carrier},
    library::{Heard, Status},
};
use std::collections::BTreeMap;

/// Makes an instance.
pub(super) type Maker = Box<dyn Fn() -> Result<Box<dyn Carrier>, String> + Send>;

/// An instance with all calls that have brought it where it is.
pub(super) struct Replaying {
    carrier: Option<Box<dyn Carrier>>,
    make: Maker,
    /// Calls that change something, each with the number of the one before it: a run that goes back begins a branch.
    /// Zero stands for the new instance.
    log: Vec<(Call<'static>, usize)>,
    /// The last call, and those at saved points.
    last: usize,
    points: BTreeMap<u64, usize>,
    /// Why there is no instance.
    lost: Heard,
}

impl Replaying {
    /// # Errors
    /// The FMU's.
    pub(super) fn new(make: Maker) -> Result<Self, String> {
        let carrier = Some(make()?);
        let (log, points) = (Vec::new(), BTreeMap::new());
        Ok(Self { carrier, make, log, last: 0, points, lost: Heard::default() })
    }

    /// Brings the instance to where it was after a call.
    fn go_back(&mut self, to: usize) -> Status {
        if to == self.last {
            return Status::Ok;
        }
        // The FMU may be one that a process can have only once.
        self.carrier = None;
        let mut way = Vec::new();
        let mut at = to;
        while let Some((call, before)) = at.checked_sub(1).and_then(|k| self.log.get(k)) {
            way.push(call);
            at = *before;
        }
        let again = (self.make)().and_then(|mut carrier| {
            for call in way.into_iter().rev() {
                let status = carrier.carry(call.clone(), &mut []).0;
                if matches!(status, Status::Fatal | Status::Lost) {
                    let name = status.name();
                    return Err(format!("the calls that were made again gave {name} (`replay`)"));
                }
            }
            // Its messages of then have been told.
            let _ = carrier.heard();
            Ok(carrier)
        });
        self.last = to;
        match again {
            Ok(carrier) => {
                self.carrier = Some(carrier);
                Status::Ok
            }
            Err(why) => {
                self.lost.log.push((Status::Lost, "replay".to_owned(), why));
                Status::Lost
            }
        }
    }
}

/// Whether a call may change the instance.
fn changes(call: &Call<'_>) -> bool {
    !matches!(
        call,
        Call::Get(..)
            | Call::GetTexts(..)
            | Call::GetBytes(..)
            | Call::Fill(_)
            | Call::Sizes
            | Call::OutputDerivatives(..)
            | Call::Directional { .. }
            | Call::Adjoint { .. }
    )
}

impl Carrier for Replaying {
    fn carry(&mut self, call: Call<'_>, out: &mut [f64]) -> (Status, Answer) {
        match call {
            Call::Save(id) => {
                self.points.insert(id, self.last);
                return (Status::Ok, Answer::Nothing);
            }
            Call::Free(id) => {
                self.points.remove(&id);
                return (Status::Ok, Answer::Nothing);
            }
            Call::Restore(id) => {
                let point = self.points.get(&id).copied();
                let status = point.map_or(Status::Discard, |to| self.go_back(to));
                return (status, Answer::Nothing);
            }
            Call::Serialise(_) | Call::Deserialise(..) => {
                return (Status::Discard, Answer::Nothing);
            }
            _ => {}
        }
        let Some(carrier) = &mut self.carrier else { return (Status::Lost, Answer::Nothing) };
        if changes(&call) {
            self.log.push((call.clone().owned(), self.last));
            self.last = self.log.len();
        }
        carrier.carry(call, out)
    }

    fn is_silent(&mut self) -> bool {
        self.carrier.as_mut().is_some_and(|c| c.is_silent()) && self.lost.log.is_empty()
    }

    fn heard(&mut self) -> Heard {
        let mut heard = self.carrier.as_mut().map(|c| c.heard()).unwrap_or_default();
        heard.merge(std::mem::take(&mut self.lost));
        heard
    }
}
