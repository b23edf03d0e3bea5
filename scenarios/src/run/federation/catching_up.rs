//! Peers of a resumed run catch up: they are started anew, are told again all that they were told, and must answer as
//! they answered.
//!
//! **Why records.** The model of the run stands where its checkpoint has it, and does nothing meanwhile: what it told, and
//! the times that it asked for, are in the records, which are as long as they were at the checkpoint.
use super::{Failure, Federation, GRANTS, INBOUND, OUTBOUND, lines::Lines, written};
use crate::output::csv;
use std::path::Path;
use superdense_adapters::federation::{Departure, data::Data, record::Line};
use superdense_kernel::time::Resolution;

/// The records of a run that is resumed, from their beginning.
pub(super) struct Past {
    grants: Lines,
    inbound: Lines,
    outbound: Lines,
}

/// A grant, and all that led to it.
struct Step {
    now: i64,
    sent: Vec<Departure>,
    /// The time that was asked for; nothing where all began.
    asked: Option<i64>,
    granted: i64,
    /// Lines of what came.
    came: Vec<String>,
}

/// The number of something that goes out, in the record of grants: of an output, or of an endpoint behind an `m`.
pub(super) fn number(departure: &Departure) -> String {
    match departure {
        Departure::Value(k, _) => k.to_string(),
        Departure::Message(k, _) => format!("m{k}"),
    }
}

impl Past {
    /// # Errors
    /// When the records cannot be read.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        let [grants, inbound, outbound] =
            [GRANTS, INBOUND, OUTBOUND].map(|name| Lines::open(&folder.join(name)));
        Ok(Self { grants: grants?, inbound: inbound?, outbound: outbound? })
    }

    /// The next grant.
    fn next(&mut self) -> Result<Option<Step>, String> {
        let Some(line) = self.grants.next()? else { return Ok(None) };
        let fields: Vec<&str> = line.split(',').collect();
        let [now, told, asked, granted, heard] = fields[..] else {
            return Err(changed(&self.grants));
        };
        let number = |text: &str| text.parse::<i64>().map_err(|_| changed(&self.grants));
        let (now, granted, heard) = (number(now)?, number(granted)?, number(heard)?);
        let asked = (!asked.is_empty()).then(|| number(asked)).transpose()?;
        let mut came = Vec::new();
        for _ in 0..heard {
            came.push(self.inbound.next()?.ok_or_else(|| changed(&self.inbound))?);
        }
        Ok(Some(Step { now, sent: self.sent(told)?, asked, granted, came }))
    }

    /// The next of what went out, by outputs and endpoints of these numbers.
    fn sent(&mut self, numbers: &str) -> Result<Vec<Departure>, String> {
        let mut all = Vec::new();
        for number in numbers.split(' ').filter(|number| !number.is_empty()) {
            let line = self.outbound.next()?;
            let line = line.and_then(|line| Line::read(&csv::split(&line)));
            let data = line.ok_or_else(|| changed(&self.outbound))?.data;
            let sent = match (number.strip_prefix('m'), data) {
                (Some(k), Data::Raw(bytes)) => k.parse().map(|k| Departure::Message(k, bytes)),
                (None, data) => number.parse().map(|k| Departure::Value(k, data)),
                _ => return Err(changed(&self.outbound)),
            };
            all.push(sent.map_err(|_| changed(&self.grants))?);
        }
        Ok(all)
    }
}

fn changed(lines: &Lines) -> String {
    format!("{} is no line of a record; it was changed: restore it", lines.place())
}

impl Federation {
    /// Lets the peers of a resumed run catch up, if they have not yet; tells whether that is done, and not interrupted.
    ///
    /// # Errors
    /// A federation that failed; a peer that does something else than it did.
    pub(super) fn catch_up(&mut self) -> Result<bool, Failure> {
        let Some(mut past) = self.past.take() else { return Ok(true) };
        while let Some(step) = past.next().map_err(Failure::Mismatch)? {
            let answer = match step.asked {
                None => self.outside.begin().map(|came| (0, came)),
                Some(next) => self.outside.exchange(step.sent, step.now, next),
            };
            let (granted, arrivals) = match answer {
                Ok(answer) => answer,
                Err(why) => return self.failed(why, step.now).map(|_| false),
            };
            let line = |a| Some(written(&self.line_of(a, self.heard(a)?, granted)));
            let came: Vec<String> = arrivals.iter().filter_map(line).collect();
            if (granted, &came) != (step.granted, &step.came) {
                return Err(self.differs([step.granted, granted], [&step.came, &came]));
            }
        }
        if let Some(numbers) = &self.on_the_way {
            self.waiting = past.sent(numbers).map_err(Failure::Mismatch)?;
        }
        Ok(true)
    }

    /// Tells the first difference of the record (first) and what came now at a grant.
    fn differs(&mut self, granted: [i64; 2], came: [&[String]; 2]) -> Failure {
        let most = came[0].len().max(came[1].len());
        let first = (0..most).find(|k| came[0].get(*k) != came[1].get(*k)).unwrap_or(most);
        let all = came.map(|lines| -> Vec<Line> {
            lines[first..].iter().filter_map(|line| Line::read(&csv::split(line))).collect()
        });
        let [then, now] = &all;
        let is_of = |a: &Line, b: &Line| {
            (a.nanoseconds, &a.port, &a.source) == (b.nanoseconds, &b.port, &b.source)
        };
        let [then, now] = match (then.first(), now.first()) {
            (Some(a), Some(b)) if is_of(a, b) => [Some(a), Some(b)],
            // One of them has no counterpart: the earlier one, and at one time the one that the other list lacks.
            (Some(a), Some(b)) => {
                let later = b.nanoseconds > a.nanoseconds;
                let lacks =
                    b.nanoseconds == a.nanoseconds && !now.iter().any(|line| is_of(line, a));
                if later || lacks { [Some(a), None] } else { [None, Some(b)] }
            }
            others => others.into(),
        };
        let name = &self.facts.name;
        let remedy = "a run is resumed only with peers that do again what they did: start them as they were, or begin a new run";
        let Some(line) = now.or(then) else {
            let [then, now] = granted.map(|time| self.seconds(time));
            return Failure::Mismatch(format!(
                "federate `{name}`: the time {now} s was granted, and {then} s in the run before; {remedy}"
            ));
        };
        let said = |line: Option<&Line>| line.map_or("nothing".to_owned(), |line| line.data.text());
        let (then, now, at) = (said(then), said(now), Resolution::NANO.format(line.nanoseconds));
        let (port, source) = (&line.port, &line.source);
        let of = self.outside.sender(source).map_or(String::new(), |peer| format!(" of `{peer}`"));
        Failure::Mismatch(format!(
            "federate `{name}`: `{port}` at {at} s: `{source}`{of} sent {now}, and {then} in the run before; {remedy}"
        ))
    }
}
