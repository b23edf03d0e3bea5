//! Units that `rest` stops.
use crate::eval::{Class, class};
use crate::model::Variable;
use crate::sim::{Sim, Stop, undecided};
use crate::verdict::{FailureKind, Reason};

impl<const M: usize> Sim<'_, M> {
    /// An error where `rest` has stopped a unit in this cycle in which a state that it does not name would go on.
    /// Where there are algebraic variables, they may do so.
    pub(crate) fn stays(&mut self) -> Result<(), Stop> {
        for e in std::mem::take(&mut self.stopped) {
            let event = &self.sys.events[e];
            let u = event.unit;
            if self.frozen[u] && self.sys.residuals[&u].is_empty() {
                for i in 0..self.model.units[u].states.len() {
                    let named = |v: &Variable| *v == Variable::State(u, i);
                    if !event.rest.iter().flat_map(|r| &r.values).any(|(v, _)| named(v)) {
                        self.stays_one(e, i)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn stays_one(&self, e: usize, state: usize) -> Result<(), Stop> {
        let u = self.sys.events[e].unit;
        let Some(id) = self.sys.derivatives[&(u, self.mode[u])][state] else { return Ok(()) };
        let speed = self.output(u, id)?;
        match class(&speed, self.size(id)?) {
            Class::Zero => Ok(()),
            Class::Sign(_) => {
                let message =
                    format!("event {} stops x{state}, which moves", self.sys.events[e].name);
                Err(Stop::Fail(FailureKind::MovesAtRest, message, self.range))
            }
            _ => undecided(Reason::Sign, "a state that `rest` stops moves, or does not"),
        }
    }
}
