//! The observer of a run: events, segments on recorded outputs.
use super::LISTED;
use crate::{
    output::{csv, table::Table, trajectory::Trajectory},
    plan::{is_meter, part_of},
    result::evaluation::{Evaluation, State},
};
use serde::{Deserialize, Serialize};
use slotmap::SecondaryMap;
use std::{collections::VecDeque, ops::ControlFlow};
use superdense_kernel::{
    EventKind, Fact, ModelKey,
    time::{Resolution, Tag},
    trace::{Observer, Site, Transition, Verdict},
};
use superdense_models::signal::value::Value;

/// Remarks of units that are kept.
pub(super) const NOTES: usize = 20;

/// A row of `events.csv`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// Seconds, exact.
    pub time: String,
    /// Micro-step.
    pub micro: u32,
    /// Unit, or link of a shared event.
    pub unit: String,
    /// Name of the event.
    pub event: String,
    /// `private`, `shared` or `time`.
    pub kind: String,
}

/// The part of the recorder that goes on across a checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Rows of `events.csv`.
    pub events: u64,
    /// The first rows, one more than are listed.
    pub listed: Vec<EventRow>,
    /// The last value on each recorded output, and its tick.
    pub last: Vec<Option<(i64, Value)>>,
    /// Shared events of the latest tag: every member may report one, it is one row.
    shared: Vec<(Tag, String, String)>,
    /// Remarks of units.
    pub notes: Vec<String>,
    /// The digest of all states at the start.
    pub start: u64,
    /// The evaluation of results, where it is saved.
    pub(crate) evaluation: Option<State>,
}

impl Memory {
    /// Nothing yet, of a run whose states at the start have a digest.
    pub fn new(start: u64) -> Self {
        Self { start, ..Self::default() }
    }
}

/// Writes `events.csv` and `trajectory.csv`.
pub(super) struct Recorder {
    pub events: Table,
    pub trajectory: Trajectory,
    pub memory: Memory,
    pub evaluation: Option<Evaluation>,
    /// The last rows of `events.csv`, for messages.
    recent: VecDeque<EventRow>,
    /// Recorded outputs of a model: port and number of the signal.
    signals: SecondaryMap<ModelKey, Vec<(u16, u32)>>,
    resolution: Resolution,
}

/// How many events of a loop are looked at.
const RECENT: usize = 16;

/// The table of events.
pub(super) const EVENTS_FILE: &str = "events.csv";
/// Header of `events.csv`.
pub(super) const EVENTS: &str = "time,micro,unit,event,kind";

impl Recorder {
    /// `signals` are the recorded outputs: model, port and label, as the trajectory has them.
    pub(super) fn new(
        (events, trajectory, evaluation): (Table, Trajectory, Option<Evaluation>),
        signals: &[(ModelKey, u16, Option<String>)],
        memory: Memory,
        resolution: Resolution,
    ) -> Self {
        let mut map: SecondaryMap<ModelKey, Vec<(u16, u32)>> = SecondaryMap::new();
        for (number, (key, port, _)) in signals.iter().enumerate() {
            if let Some(entry) = map.entry(*key) {
                entry.or_default().push((*port, number as u32));
            }
        }
        let mut memory = memory;
        memory.last.resize(signals.len(), None);
        let recent = VecDeque::new();
        Self { events, trajectory, memory, evaluation, recent, signals: map, resolution }
    }

    /// The memory, with where the evaluation stands.
    pub(super) fn remember(&self) -> Memory {
        let evaluation = self.evaluation.as_ref().map(|e| e.state().clone());
        Memory { evaluation, ..self.memory.clone() }
    }

    fn event(&mut self, tag: Tag, unit: String, event: &str, kind: EventKind) {
        if kind == EventKind::Shared {
            let shared = &mut self.memory.shared;
            shared.retain(|s| s.0 == tag);
            if shared.iter().any(|s| s.1 == unit && s.2 == event) {
                return;
            }
            shared.push((tag, unit.clone(), event.to_owned()));
        }
        if let Some(evaluation) = &mut self.evaluation {
            evaluation.event(&unit.replace('/', "."), event, tag.ticks);
        }
        let row = EventRow {
            time: self.resolution.format(tag.ticks),
            micro: tag.micro,
            unit,
            event: event.to_owned(),
            kind: kind.name().to_owned(),
        };
        self.events.line(|text| {
            let (unit, event) = (csv::field(&row.unit), csv::field(&row.event));
            text.extend([&row.time, ",", &row.micro.to_string(), ",", &unit, ",", &event, ","]);
            text.push_str(&row.kind);
        });
        self.memory.events += 1;
        if self.memory.listed.len() <= LISTED {
            self.memory.listed.push(row.clone());
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(row);
    }

    /// The events by which a loop without time goes round, with a remedy, if it goes through events.
    pub(super) fn loop_of_events(&self) -> Option<String> {
        let last = self.recent.back().filter(|row| row.micro as usize > RECENT)?;
        let mut names: Vec<String> = Vec::new();
        for row in self.recent.iter().filter(|row| row.time == last.time) {
            let name = format!("`{}.{}`", row.unit.replace('/', "."), row.event);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(format!(
            "; {} follow on each other without time: let their conditions exclude each other, with limits that \
             lie apart, or let a reset lead off the limit",
            names.join(", ")
        ))
    }
}

impl Observer<Value> for Recorder {
    fn wants_transitions(&self, model: ModelKey) -> bool {
        let evaluated = self.evaluation.as_ref().is_some_and(|e| e.hears(model));
        evaluated || self.signals.contains_key(model)
    }

    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, Value>) -> Verdict {
        if let Some(evaluation) = &mut self.evaluation {
            for sent in t.outputs {
                evaluation.sent(site.key(), sent.port, t.tag.ticks, &sent.value);
            }
        }
        let Some(signals) = self.signals.get(site.key()) else { return ControlFlow::Continue(()) };
        for sent in t.outputs {
            for &(_, number) in signals.iter().filter(|s| s.0 == sent.port) {
                self.trajectory.record(t.tag, number, &sent.value);
                self.memory.last[number as usize] = Some((t.tag.ticks, sent.value.clone()));
            }
        }
        ControlFlow::Continue(())
    }

    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        match fact {
            Fact::Event { unit, name, kind } => {
                let unit = unit.as_ref().map_or_else(|| site.path(), |u| u.to_string());
                if is_meter(&unit) {
                    return ControlFlow::Continue(());
                }
                match part_of(&unit, name) {
                    Some((part, own)) => self.event(tag, part, own, *kind),
                    None => self.event(tag, unit, name, *kind),
                }
            }
            Fact::Note(text) if self.memory.notes.len() < NOTES => {
                let time = self.resolution.format(tag.ticks);
                self.memory.notes.push(format!("{} at {time} s: {text}", site.path()));
            }
            Fact::Note(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn wants_cycles(&self) -> bool {
        false
    }
}
