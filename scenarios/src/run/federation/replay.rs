//! Records: a run that is fed from one, and the first difference of two.
use super::{Broken, INBOUND, OUTBOUND, Outside, lines::Lines};
use crate::{
    output::{csv, directory::SUMMARY},
    plan::federate::Federate,
};
use std::{collections::VecDeque, path::Path};
use superdense_adapters::federation::{Arrival, Departure, Place, record::Line};
use superdense_kernel::time::Resolution;

/// A record in the place of a federation.
pub(super) struct Replay {
    lines: VecDeque<(i64, Arrival)>,
    end: End,
}

/// How far the recorded run came, of which nothing is known beyond.
struct End {
    /// In whole times of the federation.
    time: i64,
    /// The message for a run that would go further.
    told: String,
}

impl Replay {
    /// Reads the record of what came.
    ///
    /// # Errors
    /// When it cannot be read, or is of another scenario.
    pub(super) fn read(
        dir: &Path,
        facts: &Federate,
        resolution: Resolution,
    ) -> Result<Self, String> {
        let mut lines = Lines::open(&dir.join(INBOUND))?;
        let mut all = VecDeque::new();
        while let Some(line) = lines.next()? {
            let place = || lines.place();
            let line = Line::read(&csv::split(&line)).ok_or_else(|| {
                format!("{} is no line of a record; it was changed: restore it", place())
            })?;
            let input = facts.inputs.iter().position(|heard| {
                let is_source = |rest: &str| rest.is_empty() || rest.starts_with(" from ");
                (&heard.path, heard.ty) == (&line.port, line.data.ty())
                    && line.source.strip_prefix(&heard.from).is_some_and(is_source)
            });
            let is_end = |(heard, _): &(Option<_>, _)| {
                heard.as_ref().is_some_and(|h: &crate::plan::federate::Heard| h.path == line.port)
            };
            let endpoint = || facts.endpoints.iter().position(is_end).map(Place::Endpoint);
            let found = input.map(Place::Input).or_else(endpoint).ok_or_else(|| {
                format!(
                    "{} is of `{}` from `{}`, which this scenario does not hear; replay a record of the same scenario",
                    place(),
                    line.port,
                    line.source
                )
            })?;
            let Line { nanoseconds, source, data, .. } = line;
            let at = whole(nanoseconds, facts, resolution);
            all.push_back((at, Arrival { place: found, at, source, data }));
        }
        let end = End::of(dir, all.back().map_or(0, |l| l.0), facts, resolution)?;
        Ok(Self { lines: all, end })
    }

    /// Arrivals up to a time.
    fn at(&mut self, now: i64) -> Vec<Arrival> {
        let mut all = Vec::new();
        while self.lines.front().is_some_and(|l| l.0 <= now) {
            all.extend(self.lines.pop_front().map(|l| l.1));
        }
        all
    }
}

impl End {
    /// The end of the run in an output directory, with an arrival at `last`.
    fn of(dir: &Path, last: i64, facts: &Federate, resolution: Resolution) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        struct Facts<'a> {
            #[serde(borrow)]
            end_time: &'a serde_json::value::RawValue,
            ended: Option<&'a str>,
        }
        let shown = dir.display();
        let remedy = |time: i64| {
            let seconds = resolution.format(time.saturating_mul(facts.grain));
            format!(
                "end there with --until {seconds}, or take the record of a run that went further"
            )
        };
        let Ok(text) = std::fs::read_to_string(dir.join(SUMMARY)) else {
            // A run that was broken off: what came and what went was at granted times.
            let sent = Lines::open(&dir.join(OUTBOUND))?.rest()?.pop();
            let sent = sent.and_then(|line| Line::read(&csv::split(&line)));
            let sent = sent.map_or(0, |line| whole(line.nanoseconds, facts, resolution));
            let time = last.max(sent);
            let told = format!(
                "the record in {shown} ends here, as its run was broken off without {SUMMARY}; {}",
                remedy(time)
            );
            return Ok(Self { time, told });
        };
        let read = serde_json::from_str::<Facts<'_>>(&text).ok();
        let read =
            read.and_then(|f| Some((resolution.parse_ticks(f.end_time.get()).ok()?, f.ended)));
        let (tick, ended) = read.ok_or_else(|| {
            format!(
                "{SUMMARY} in {shown} tells no end of its run; restore it, or make the run again"
            )
        })?;
        let time = tick.div_euclid(facts.grain) + i64::from(tick.rem_euclid(facts.grain) > 0);
        let how = if ended == Some("fault") { "in a fault" } else { "at its stop" };
        let told =
            format!("the record in {shown} ends here, as its run ended {how}; {}", remedy(time));
        Ok(Self { time: time.max(last), told })
    }
}

/// The whole time of a federation, of nanoseconds in a record.
fn whole(nanoseconds: i64, facts: &Federate, resolution: Resolution) -> i64 {
    let nano = i128::from(Resolution::NANO.ticks_per_second()) * i128::from(facts.grain);
    let at = i128::from(nanoseconds) * i128::from(resolution.ticks_per_second()) / nano;
    i64::try_from(at).unwrap_or(i64::MAX)
}

impl Outside for Replay {
    fn begin(&mut self) -> Result<Vec<Arrival>, Broken> {
        Ok(self.at(0))
    }

    fn exchange(
        &mut self,
        _: Vec<Departure>,
        now: i64,
        next: i64,
    ) -> Result<(i64, Vec<Arrival>), Broken> {
        let granted = self.lines.front().map_or(next, |l| l.0.min(next));
        if granted > self.end.time {
            if now < self.end.time {
                return Ok((self.end.time, Vec::new()));
            }
            return Err(Broken::Failed(self.end.told.clone()));
        }
        Ok((granted, self.at(granted)))
    }

    fn leave(&mut self, _: Vec<Departure>, _: i64) -> Result<(), Broken> {
        Ok(())
    }

    fn fail(&mut self, _: &str) {}

    fn sender(&mut self, _: &str) -> Option<String> {
        None
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The first place in which two runs of a federation differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The record.
    pub record: &'static str,
    /// The number of the line.
    pub line: usize,
    /// The lines; nothing where a record has ended.
    pub lines: [Option<String>; 2],
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let said = |line: &Option<String>| {
            let Some(line) = line else { return "nothing more".to_owned() };
            match Line::read(&csv::split(line)) {
                Some(l) => {
                    let time = superdense_kernel::time::Resolution::NANO.format(l.nanoseconds);
                    format!("at {time} s {} from {}: {}", l.port, l.source, l.data.text())
                }
                None => line.clone(),
            }
        };
        let [a, b] = [said(&self.lines[0]), said(&self.lines[1])];
        write!(f, "{}, line {}\n  first:  {a}\n  second: {b}", self.record, self.line)
    }
}

/// Compares the records in two output directories: first what came, then what went out.
///
/// # Errors
/// When a record cannot be read.
pub fn difference(a: &Path, b: &Path) -> Result<Option<Difference>, String> {
    for record in [INBOUND, OUTBOUND] {
        let [first, second] =
            [Lines::open(&a.join(record))?.rest()?, Lines::open(&b.join(record))?.rest()?];
        let most = first.len().max(second.len());
        if let Some(k) = (0..most).find(|k| first.get(*k) != second.get(*k)) {
            let lines = [first.get(k).cloned(), second.get(k).cloned()];
            // The first line is the header.
            return Ok(Some(Difference { record, line: k + 2, lines }));
        }
    }
    Ok(None)
}
