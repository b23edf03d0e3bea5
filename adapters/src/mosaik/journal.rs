//! The journal of a simulator: all steps with what it was told and what it gave.
//!
//! **Why.** The protocol has no call that saves a state, but a simulator that depends only on what it is told is brought
//! to a state by telling it everything again. So a run with simulators is resumed: new ones are told the journal, and have
//! to give again what is in it. The journal has bytes, some ten for a step and each of its values.
use super::{
    begin::Begun,
    exchange::{Out, Sent},
    json::{of_real, of_value},
    unit::{Settings, Trouble},
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use superdense_kernel::snapshot::SnapshotError;

/// A value in JSON, in few bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Word {
    Real(f64),
    /// Any other one as its text.
    Text(String),
}

impl Word {
    pub(super) fn of(json: &Json) -> Self {
        match json.as_f64() {
            Some(x) if json.is_f64() => Self::Real(x),
            _ => Self::Text(json.to_string()),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn json(&self) -> Result<Json, SnapshotError> {
        let corrupt = |why: String| SnapshotError::Corrupt(why);
        match self {
            Self::Real(x) => of_real(*x).map_err(|e| corrupt(e.to_string())),
            Self::Text(text) => serde_json::from_str(text).map_err(|e| corrupt(e.to_string())),
        }
    }
}

/// A step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Step {
    time: i64,
    /// Values of inputs.
    told: Vec<Option<Word>>,
    /// The next time that the simulator gave.
    next: Option<i64>,
    sent: Sent,
}

impl Step {
    pub(super) fn new(time: i64, told: &[Option<Json>], next: Option<i64>, sent: Sent) -> Self {
        let told = told.iter().map(|json| json.as_ref().map(Word::of)).collect();
        Self { time, told, next, sent }
    }
}

/// All steps so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    bytes: Vec<u8>,
}

impl Journal {
    /// Adds a step.
    ///
    /// # Errors
    /// When it has no form in bytes.
    pub(super) fn note(&mut self, step: &Step) -> Result<(), SnapshotError> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(step, bytes).map_err(corrupt)?;
        Ok(())
    }

    /// Tells a new simulator all that the one before was told.
    ///
    /// # Errors
    /// When it fails, or gives something else.
    pub(super) fn tell(&self, begun: &mut Begun, s: &Settings) -> Result<(), Trouble> {
        let mut rest = &self.bytes[..];
        while !rest.is_empty() {
            let (step, after): (Step, _) = postcard::take_from_bytes(rest).map_err(corrupt)?;
            rest = after;
            let told = step.told.iter().map(|word| word.as_ref().map(Word::json).transpose());
            let told = told.collect::<Result<Vec<_>, _>>()?;
            let next = begun.step(s, step.time, &told)?;
            let changed = |name, how| Trouble::Changed { call: s.call(name, step.time), how };
            if next != step.next {
                let at =
                    |next: Option<i64>| next.map_or("none".to_owned(), |next| next.to_string());
                let (then, now) = (at(step.next), at(next));
                let how = format!("its next time is {now}, and was {then} in the run before");
                return Err(changed("step", how));
            }
            let sent = begun.outputs(s, step.time)?;
            if let Some(how) = difference(&step.sent, &sent, s) {
                return Err(changed("get_data", how));
            }
        }
        Ok(())
    }
}

/// The first difference of outputs that were given before and now.
fn difference(then: &Sent, now: &Sent, s: &Settings) -> Option<String> {
    if then.at != now.at {
        let (then, now) = (then.at, now.at);
        return Some(format!("its outputs have the time {now}, and had {then} in the run before"));
    }
    let text = |sent: &Sent, number: u16| {
        let found = sent.values.iter().find(|(port, _)| *port == number);
        found.map_or("nothing".to_owned(), |(_, out)| match out {
            Out::Signal(x) => format!("{x:?}"),
            Out::Event(value) => match of_value(value) {
                Ok(json) => json.to_string(),
                Err(_) => format!("{value:?}"),
            },
        })
    };
    (0u16..).zip(&s.layout.outputs).find_map(|(number, port)| {
        let (then, now) = (text(then, number), text(now, number));
        let name = &port.name;
        (then != now).then(|| format!("output `{name}` is {now}, and was {then} in the run before"))
    })
}

fn corrupt(e: postcard::Error) -> SnapshotError {
    SnapshotError::Corrupt(e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_the_values_that_they_stand_for() {
        for value in [
            json!(0),
            json!(0.0),
            json!(-0.0),
            json!(0.1),
            json!(null),
            json!([1, "a"]),
            json!("1.5"),
        ] {
            assert_eq!(Word::of(&value).json().unwrap().to_string(), value.to_string());
        }
        assert!(Word::Text("{".into()).json().is_err() && Word::Real(f64::NAN).json().is_err());
    }
}
