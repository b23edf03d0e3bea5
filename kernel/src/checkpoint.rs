//! Saving a whole simulation: in memory for rollback and what-if runs, as bytes for a file.
//!
//! Both go through [`crate::Snapshot`] model by model. A saved state also holds the structure, so
//! that it brings back models which were created or removed since. As bytes, models created
//! during the run need [`Snapshot::from_bytes`](crate::Snapshot::from_bytes) and their kind must
//! be known to the resuming simulation (see [`Simulation::declare`]); translation functions are
//! found again by name (see [`Simulation::declare_translation`]).
use crate::{
    atomic::Atomic,
    blueprint::{Blueprint, NodeBody},
    error::{CheckpointError, RunError},
    event_list::LATEST,
    flatten::flatten,
    homes::Homes,
    key::ModelKey,
    message::{Digest, Message},
    plain::Plain,
    progress::Progress,
    simulation::{Injection, Simulation},
    slab::SavedState,
    snapshot::{SnapshotError, decode, encode},
    time::Resolution,
    translation::Translation,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// Format of checkpoint bytes.
const VERSION: u32 = 3;
/// Length of the digest at the end of the bytes.
const SEAL: usize = 8;
const MAGIC: [u8; 8] = *b"SDENSECP";

/// A saved simulation.
pub struct SavedSimulation<M: Message> {
    progress: Progress,
    structure: Arc<Blueprint<M>>,
    keys: Vec<ModelKey>,
    states: Vec<SavedState>,
    injections: Vec<(i64, Injection<M>)>,
}

impl<M: Message> std::fmt::Debug for SavedSimulation<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SavedSimulation(at {})", self.progress.now)
    }
}

#[derive(Serialize, Deserialize)]
struct File<M> {
    magic: [u8; 8],
    version: u32,
    resolution: Resolution,
    plan: u64,
    structure: Option<Vec<Plain>>,
    progress: Progress,
    states: Vec<Vec<u8>>,
    injections: Vec<(i64, String, u16, M)>,
}

/// A digest of all that stands before it.
fn seal(bytes: &[u8]) -> [u8; SEAL] {
    let mut digest = Digest::new();
    digest.bytes(bytes);
    digest.finish().to_le_bytes()
}

fn unit(path: String) -> impl FnOnce(SnapshotError) -> CheckpointError {
    move |source| CheckpointError::Unit { path, source }
}

impl<M: Message> Simulation<M> {
    /// Makes a kind of model known that is only created during the run, so that a checkpoint
    /// with such models can be resumed.
    pub fn declare<A: Atomic<M>>(&mut self) {
        self.slabs.kind_of::<A>();
    }

    /// Makes a translation known that is only made during the run, so that a checkpoint with couplings
    /// through it can be written and resumed: call it where the run is begun and where it is resumed.
    /// Functions are found again by name.
    pub fn declare_translation(&mut self, translation: Translation<M>) {
        self.slabs.declared.push(translation);
    }

    /// A failed run is in the middle of a cycle.
    fn sound(&self) -> Result<(), CheckpointError> {
        let failed = |e: &RunError| Err(CheckpointError::Failed { why: e.to_string() });
        self.failed.as_ref().map_or(Ok(()), failed)
    }

    /// Saves the run between two cycles.
    ///
    /// # Errors
    /// When a unit cannot be saved; names it. When the run has failed.
    pub fn save(&mut self) -> Result<SavedSimulation<M>, CheckpointError> {
        self.sound()?;
        let core = &self.core;
        let structure = Arc::clone(self.shared.get_or_insert_with(|| Arc::clone(&core.blueprint)));
        let states = (0..core.keys.len()).map(|m| {
            let (kind, slot) = core.homes.of(m as u32);
            let saved = self.slabs.kinds[kind as usize].save(slot);
            saved.map_err(|e| unit(core.path(m as u32))(e))
        });
        let states = states.collect::<Result<_, _>>()?;
        Ok(SavedSimulation {
            progress: self.progress(),
            structure,
            keys: core.keys.clone(),
            states,
            injections: self.pending(),
        })
    }

    fn pending(&self) -> Vec<(i64, Injection<M>)> {
        let all = self.injections.iter();
        all.flat_map(|(&at, list)| list.iter().map(move |i| (at, i.clone()))).collect()
    }

    /// Saves into a state that is no longer needed, whose memory it uses.
    pub(crate) fn save_again(
        &mut self,
        old: Option<SavedSimulation<M>>,
    ) -> Result<SavedSimulation<M>, CheckpointError> {
        let same = |old: &SavedSimulation<M>| {
            self.shared.as_ref().is_some_and(|s| Arc::ptr_eq(s, &old.structure))
        };
        let Some(mut saved) = old.filter(same) else { return self.save() };
        for (m, state) in (0..).zip(&mut saved.states) {
            let (kind, slot) = self.core.homes.of(m);
            let done = self.slabs.kinds[kind as usize].save_over(slot, state);
            done.map_err(|e| unit(self.core.path(m))(e))?;
        }
        (saved.progress, saved.injections) = (self.progress(), self.pending());
        Ok(saved)
    }

    /// Brings a saved state of this simulation back; may be called any number of times.
    ///
    /// # Errors
    /// When a unit cannot be restored; the run must then end.
    pub fn restore(&mut self, saved: &SavedSimulation<M>) -> Result<(), CheckpointError> {
        let taken = self.bring_back(saved);
        self.restored(taken)
    }

    /// A simulation that is restored in part is of no use.
    fn restored(&mut self, taken: Result<(), CheckpointError>) -> Result<(), CheckpointError> {
        if let Err(why) = &taken {
            self.failed = Some(RunError::Unrestored { why: why.to_string() });
        }
        taken
    }

    fn bring_back(&mut self, saved: &SavedSimulation<M>) -> Result<(), CheckpointError> {
        let same = self.shared.as_ref().is_some_and(|s| Arc::ptr_eq(s, &saved.structure));
        if same {
            for m in 0..self.core.keys.len() {
                let (kind, slot) = self.core.homes.of(m as u32);
                let result = self.slabs.kinds[kind as usize].restore(slot, &saved.states[m]);
                result.map_err(|e| unit(self.core.path(m as u32))(e))?;
            }
        } else {
            let structure = Blueprint::clone(&saved.structure);
            let known = |k: &ModelKey| self.core.blueprint.nodes.contains_key(*k).then_some(*k);
            let origins = saved.keys.iter().map(known).collect();
            self.adopt(structure, &saved.keys, origins, |kind, m, slot| match slot {
                Some(slot) => kind.restore(slot, &saved.states[m]).map(|()| slot),
                None => kind.push_saved(&saved.states[m]),
            })?;
            self.shared = Some(Arc::clone(&saved.structure));
        }
        self.injections.clear();
        for (at, i) in &saved.injections {
            self.injections.entry(*at).or_default().push(i.clone());
        }
        self.proceed_from(&saved.progress);
        Ok(())
    }

    /// Takes over another structure: models that exist stay (`origins`: their present keys),
    /// others are revived, those left over are dropped.
    fn adopt(
        &mut self,
        mut structure: Blueprint<M>,
        keys: &[ModelKey],
        origins: Vec<Option<ModelKey>>,
        mut revive: impl FnMut(
            &mut dyn crate::slab::Kind<M>,
            usize,
            Option<u32>,
        ) -> Result<u32, SnapshotError>,
    ) -> Result<(), CheckpointError> {
        let kept: std::collections::BTreeSet<ModelKey> =
            origins.iter().flatten().copied().collect();
        // Not only those with a number: a change that failed may have added some before.
        let present = self.core.blueprint.nodes.iter();
        let atomic = present.filter(|(_, node)| matches!(node.body, NodeBody::Atomic(_)));
        let others: Vec<ModelKey> = atomic.map(|(k, _)| k).filter(|k| !kept.contains(k)).collect();
        for key in others {
            self.bury(key);
        }
        for (m, (&key, origin)) in keys.iter().zip(&origins).enumerate() {
            let path = structure.path(key);
            let old = origin.and_then(|k| match &self.core.blueprint.nodes.get(k)?.body {
                NodeBody::Atomic(a) => Some(a.slot),
                NodeBody::Coupled(_) => None,
            });
            let NodeBody::Atomic(node) = &mut structure.nodes[key].body else { continue };
            let kind = &mut self.slabs.kinds[node.kind as usize];
            let slot = revive(&mut **kind, m, old).map_err(unit(path))?;
            node.slot = slot;
            self.slabs.set_owner(node.kind, slot, key);
        }
        let unreadable = |e: RunError| CheckpointError::Unreadable(e.to_string());
        let (network, keys) = flatten(&mut structure).map_err(|e| unreadable(e.into()))?;
        let core = &mut self.core;
        core.homes = Homes::new(&structure, &keys);
        core.bus.fit(&network);
        core.network = network;
        core.keys = keys;
        core.blueprint = Arc::new(structure);
        core.find_heard();
        (self.shared, self.apart) = (None, None);
        Ok(())
    }
}

impl<M: Message + Serialize + DeserializeOwned> Simulation<M> {
    /// The run as bytes: versioned, with the digest of the plan and the resolution.
    ///
    /// # Errors
    /// When a unit has no bytes; names it. When the structure was changed, and a coupling has a translation
    /// that nobody [declared](Simulation::declare_translation). When the run has failed.
    pub fn checkpoint(&self) -> Result<Vec<u8>, CheckpointError> {
        self.sound()?;
        if self.restructured {
            self.check_translations()?;
        }
        let core = &self.core;
        let states = (0..core.keys.len()).map(|m| {
            let (kind, slot) = core.homes.of(m as u32);
            let bytes = self.slabs.kinds[kind as usize].to_bytes(slot);
            bytes.map_err(|e| unit(core.path(m as u32))(e))
        });
        let pending = self.injections.iter().flat_map(|(&at, l)| l.iter().map(move |i| (at, i)));
        let file = File {
            magic: MAGIC,
            version: VERSION,
            resolution: core.resolution,
            plan: self.plan_hash,
            structure: self.restructured.then(|| self.plain_structure()),
            progress: self.progress(),
            states: states.collect::<Result<_, _>>()?,
            injections: pending
                .map(|(at, i)| (at, core.blueprint.path(i.target), i.port, i.value.clone()))
                .collect(),
        };
        let bytes = encode(&file).map_err(|e| CheckpointError::Unreadable(e.to_string()));
        bytes.map(|mut bytes| {
            bytes.extend(seal(&bytes));
            bytes
        })
    }

    /// Goes on from bytes of [`Simulation::checkpoint`], in a simulation built as the one that
    /// wrote them was.
    ///
    /// # Errors
    /// Damaged bytes, another version, resolution or model; a unit that cannot be restored.
    /// On refusal of the bytes as a whole the simulation is unchanged.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let head: Result<([u8; 8], u32), _> = postcard::take_from_bytes(bytes).map(|x| x.0);
        let unreadable = |why: &str| CheckpointError::Unreadable(why.to_owned());
        match head {
            Ok((MAGIC, VERSION)) => {}
            Ok((MAGIC, found)) => {
                return Err(CheckpointError::Version { found, expected: VERSION });
            }
            _ => return Err(unreadable("the header is missing")),
        }
        let Some((body, sealed)) = bytes.split_last_chunk::<SEAL>() else {
            return Err(unreadable("its end is missing"));
        };
        if seal(body) != *sealed {
            return Err(unreadable("its digest is that of other bytes"));
        }
        let file: File<M> = decode(body).map_err(|e| unreadable(&e.to_string()))?;
        if file.resolution != self.core.resolution {
            let (found, expected) = (file.resolution, self.core.resolution);
            return Err(CheckpointError::Resolution { found, expected });
        }
        if file.plan != self.plan_hash {
            return Err(CheckpointError::Plan { found: file.plan, expected: self.plan_hash });
        }
        let n = file.states.len();
        if let Some(why) = file.progress.defect(n, &self.core.guards) {
            return Err(unreadable(why));
        }
        if file.progress.restructured != file.structure.is_some() {
            return Err(unreadable("its parts do not fit together"));
        }
        if file.structure.is_none() && (n != self.core.keys.len() || self.restructured) {
            return Err(unreadable("it holds another number of models"));
        }
        let adopted = match &file.structure {
            None => None,
            Some(plain) => {
                let adopted = self.plain_blueprint(plain)?;
                if adopted.1.len() != n {
                    return Err(unreadable("its parts do not fit together"));
                }
                Some(adopted)
            }
        };
        let blueprint = adopted.as_ref().map_or(&*self.core.blueprint, |adopted| &adopted.0);
        let injections = read_injections(&file, blueprint)?;
        let taken = self.take_over(&file, adopted);
        self.restored(taken)?;
        self.injections.clear();
        for (at, injection) in injections {
            self.injections.entry(at).or_default().push(injection);
        }
        Ok(())
    }

    /// Models and progress from a file that was found fit, with its structure.
    fn take_over(
        &mut self,
        file: &File<M>,
        adopted: Option<(Blueprint<M>, Vec<ModelKey>)>,
    ) -> Result<(), CheckpointError> {
        if let Some((structure, keys)) = adopted {
            let origins = keys.iter().map(|&k| self.twin(&structure, k)).collect();
            self.adopt(structure, &keys, origins, |kind, m, slot| match slot {
                Some(slot) => kind.restore_bytes(slot, &file.states[m]).map(|()| slot),
                None => kind.push_bytes(&file.states[m]),
            })?;
        } else {
            for (m, bytes) in file.states.iter().enumerate() {
                let (kind, slot) = self.core.homes.of(m as u32);
                let result = self.slabs.kinds[kind as usize].restore_bytes(slot, bytes);
                result.map_err(|e| unit(self.core.path(m as u32))(e))?;
            }
        }
        let corrupt =
            |m: u32, why: &str| unit(self.core.path(m))(SnapshotError::Corrupt(why.to_owned()));
        for (m, &key) in (0..).zip(&self.core.keys) {
            let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { continue };
            if self.slabs.kinds[a.kind as usize].ports(a.slot) != (a.inputs, a.outputs) {
                return Err(corrupt(m, "a state with other ports"));
            }
        }
        if let Some(m) = self.astray(&file.progress) {
            return Err(corrupt(m, "the next event does not follow from the state"));
        }
        self.proceed_from(&file.progress);
        Ok(())
    }

    /// The present model of the same path and kind.
    fn twin(&self, structure: &Blueprint<M>, key: ModelKey) -> Option<ModelKey> {
        let present = self.core.blueprint.find(&structure.path(key))?;
        match (&structure.nodes[key].body, &self.core.blueprint.nodes[present].body) {
            (NodeBody::Atomic(a), NodeBody::Atomic(b)) if a.kind == b.kind => Some(present),
            _ => None,
        }
    }
}

/// Inputs that wait for their cycles, for models of a structure.
fn read_injections<M: Message>(
    file: &File<M>,
    blueprint: &Blueprint<M>,
) -> Result<Vec<(i64, Injection<M>)>, CheckpointError> {
    let unreadable = |why: &str| CheckpointError::Unreadable(why.to_owned());
    let mut read = Vec::with_capacity(file.injections.len());
    let mut earliest = file.progress.floor;
    for (at, path, port, value) in &file.injections {
        let target = blueprint.find(path).ok_or_else(|| unreadable("it names an unknown model"))?;
        let is_open =
            target == blueprint.root || matches!(blueprint.nodes[target].body, NodeBody::Atomic(_));
        let is_there = is_open && *port < blueprint.port_counts(target).0;
        if !is_there || !(earliest..=LATEST).contains(at) {
            return Err(unreadable("an input for no port or no time"));
        }
        earliest = *at;
        read.push((*at, Injection { target, port: *port, value: value.clone() }));
    }
    Ok(read)
}

#[cfg(test)]
mod tests;
