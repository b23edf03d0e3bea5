//! Where a federation stands at a checkpoint.
use super::{Failure, Federate, Federation, catching_up::Past, outward::Kept};
use serde::{Deserialize, Serialize};
use std::path::Path;
use superdense_kernel::{error::CheckpointError, message::Digest};

/// Everything of a federation that is not in its records.
#[derive(Debug, Serialize, Deserialize)]
struct Standing {
    /// Digest of all that is heard and told.
    facts: u64,
    granted: Option<i64>,
    reached: i64,
    on_the_way: Option<String>,
    held: Vec<Option<f64>>,
    lines: Vec<Kept>,
}

impl Federation {
    /// Where it stands, as bytes of a checkpoint.
    ///
    /// # Errors
    /// When a value has no place in them.
    pub(in crate::run) fn standing(&mut self) -> Result<Vec<u8>, Failure> {
        let standing = Standing {
            facts: digest(&self.facts),
            granted: self.granted,
            reached: self.reached,
            on_the_way: self.on_the_way.clone(),
            held: self.held.clone(),
            lines: self.outward.keep(),
        };
        let bytes = postcard::to_stdvec(&standing);
        Ok(bytes.map_err(|e| CheckpointError::Unreadable(e.to_string()))?)
    }

    /// Goes on from a checkpoint, with the records in the folder of results as long as they were.
    ///
    /// # Errors
    /// When the checkpoint is of another federate; records that cannot be read.
    pub(in crate::run) fn go_on(&mut self, bytes: &[u8], folder: &Path) -> Result<(), Failure> {
        let standing: Standing = postcard::from_bytes(bytes)
            .map_err(|e| CheckpointError::Unreadable(format!("its federation: {e}")))?;
        // A grant may lie one time behind the stop, and none does farther.
        let times = 0..=self.up(self.stop).saturating_add(1);
        let fits = standing.facts == digest(&self.facts)
            && standing.held.len() == self.held.len()
            && standing.granted.is_none_or(|granted| times.contains(&granted));
        if !fits || !self.outward.restore(standing.lines) {
            return Err(Failure::Mismatch(
                "the scenario is not the one of the checkpoint: its name in the federation, or that which it hears or tells there, \
                 has changed; restore [federate] as it was, or start a new run"
                    .to_owned(),
            ));
        }
        if standing.granted.is_some() {
            self.past = Some(Past::open(folder).map_err(Failure::Mismatch)?);
        }
        (self.granted, self.reached) = (standing.granted, standing.reached);
        (self.on_the_way, self.held) = (standing.on_the_way, standing.held);
        Ok(())
    }
}

/// All of a federate that records and held values depend on.
fn digest(facts: &Federate) -> u64 {
    let Federate { name, grain, up, inputs, outputs, endpoints, .. } = facts;
    let mut digest = Digest::new();
    digest.bytes(format!("{:?}", (name, grain, up, inputs, outputs, endpoints)).as_bytes());
    digest.finish()
}
