//! One step of a simulator: what it is told, and what it gives.
use super::{
    begin::Begun,
    host::{HostError, quoted, table},
    json::{to_real, to_value},
    meta::Stepping,
    unit::{Settings, Trouble},
    wire::start,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use superdense_models::signal::value::Value;

/// A value on its way out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Out {
    Signal(f64),
    Event(Value),
}

/// The outputs of a step: the whole time at which they leave, and values by ports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sent {
    pub at: i64,
    pub values: Vec<(u16, Out)>,
}

impl Begun {
    /// Lets the simulator step at a time, with a value for each input that has one, and gives its next time.
    ///
    /// # Errors
    /// When it does not answer, or gives no such time.
    pub(super) fn step(
        &mut self,
        s: &Settings,
        time: i64,
        told: &[Option<Json>],
    ) -> Result<Option<i64>, Trouble> {
        // Nobody knows before which messages arrive between.
        let open = self.triggers.iter().zip(&s.driven).any(|(t, d)| *t && *d);
        let most = if open { time } else { s.until() };
        let call = || s.call("step", time);
        self.host.time = time;
        let args = format!("[{time},{},{most}]", self.inputs(s, told));
        let next = self.host.ask("step", &args, "{}", &call)?;
        let strange = |why| Trouble::Host(HostError::Strange { call: call(), why });
        match &next {
            Json::Null if self.stepping == Stepping::TimeBased => {
                let why = "it gave no next time, as time-based simulators must".into();
                Err(strange(why))
            }
            Json::Null => Ok(None),
            next => match next.as_i64() {
                Some(next) if next > time => Ok(Some(next)),
                _ => {
                    let why = format!(
                        "it gave {} as next time, which is no later whole time",
                        start(&next.to_string())
                    );
                    Err(strange(why))
                }
            },
        }
    }

    /// The inputs of a step as JSON.
    fn inputs(&self, s: &Settings, told: &[Option<Json>]) -> String {
        let mut entities = Vec::new();
        for (entity, attributes) in &self.fed {
            let mut fed = Vec::new();
            for (attribute, ports) in attributes {
                let value = |&port: &usize| {
                    Some((s.sources[port].as_str(), told.get(port)?.as_ref()?.to_string()))
                };
                let mut sources = ports.iter().filter_map(value).peekable();
                if sources.peek().is_some() {
                    fed.push((attribute.as_str(), table(sources)));
                }
            }
            if !fed.is_empty() {
                entities.push((entity.as_str(), table(fed.into_iter())));
            }
        }
        table(entities.into_iter())
    }

    /// Asks for the outputs after a step.
    ///
    /// # Errors
    /// When the simulator does not answer, or gives something else than the file says.
    pub(super) fn outputs(&mut self, s: &Settings, time: i64) -> Result<Sent, Trouble> {
        let mut sent = Sent { at: time, values: Vec::new() };
        if s.layout.outputs.is_empty() {
            return Ok(sent);
        }
        let call = || s.call("get_data", time);
        let data = self.host.ask("get_data", &format!("[{}]", self.wanted), "{}", &call)?;
        let wrong = |why| Trouble::Host(HostError::Strange { call: call(), why });
        match data.get("time") {
            None | Some(Json::Null) => {}
            Some(at) => match at.as_i64().filter(|at| *at >= time) {
                Some(at) => sent.at = at,
                None => {
                    return Err(wrong(format!("its outputs have the time {at}, which is past")));
                }
            },
        }
        for ((number, port), place) in (0u16..).zip(&s.layout.outputs).zip(&self.places) {
            let fail =
                |why: String| Trouble::Output { output: port.name.clone(), call: call(), why };
            let found = data.get(&place.entity).and_then(|e| e.get(&place.attribute));
            let Some(value) = found else {
                if self.stepping == Stepping::TimeBased {
                    let text = format!("{} of {}", quoted(&place.attribute), quoted(&place.entity));
                    return Err(fail(format!("the simulator gave no {text}")));
                }
                continue;
            };
            let value = match port.event {
                None => to_real(value).map(Out::Signal),
                Some(ty) => to_value(value, ty).map(Out::Event),
            };
            sent.values.push((number, value.map_err(|e| fail(e.to_string()))?));
        }
        Ok(sent)
    }
}
