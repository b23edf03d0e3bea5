//! `schedule`: events at listed times.
use crate::{
    kinds::{
        Context, Param, ParamError, ParamType, Params, ValueType,
        params::{Checked, Reader, needed, ticks_of, value_of, with},
        ports::{event, ports, type_of},
    },
    signal::{NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{Atomic, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Sends listed values at listed times. Output 0: the events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Agenda {
    timer: Timer,
    events: Arc<[(i64, Value)]>,
    next: usize,
}

impl Agenda {
    const Y: OutPort<Value, Self> = OutPort::new(0);

    fn due(&self) -> &[(i64, Value)] {
        let at = self.timer.next();
        let rest = &self.events[self.next..];
        &rest[..rest.iter().take_while(|e| e.0 == at).count()]
    }
}

impl Atomic<Value> for Agenda {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.due().iter().for_each(|(_, v)| out.send(Self::Y, v.clone()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.next += self.due().len();
        self.timer.fire();
        self.timer.set(self.events.get(self.next).map_or(NEVER, |e| e.0));
    }
}

fn values(params: &Params) -> Checked<Vec<Value>> {
    let mut errors = Vec::new();
    let mut values = Vec::new();
    match params.get("values").map(|p| &p.value) {
        Some(Param::List(list)) => {
            for p in list {
                match value_of(&p.value) {
                    Some(v) => values.push(v),
                    None => errors.push(
                        ParamError::at(p.span.clone(), "not a plain value")
                            .help("give a number, a text, true or false"),
                    ),
                }
            }
        }
        Some(Param::Text(t)) if t.is_empty() => {}
        Some(_) => errors.push(
            ParamError::at(params.span("values"), "`values` is no list")
                .help("write values = [1.0, 2.0], one per time"),
        ),
        None => {}
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

fn build(params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
    let mut r = Reader::new(params);
    let mut times = Vec::new();
    match params.get("times").map(|p| &p.value) {
        Some(Param::List(list)) => {
            for p in list {
                match ticks_of(p, context) {
                    Ok(t) if times.last().is_some_and(|&last| last > t) => r.push(
                        ParamError::at(p.span.clone(), "this time lies before the one before it")
                            .help("list times in ascending order"),
                    ),
                    Ok(t) => times.push(t),
                    Err(e) => r.push(e),
                }
            }
            let ok = !list.is_empty();
            r.check(ok, "times", "`times` is empty", "list at least one time");
        }
        _ => r.check(false, "times", "`times` is no list", "write times = [1.0, \"2 s\"]"),
    }
    let values = match values(params) {
        Ok(values) => values,
        Err(errors) => {
            r.extend(errors);
            Vec::new()
        }
    };
    if r.given("values") && values.len() != times.len() {
        let message = format!("{} values for {} times", values.len(), times.len());
        r.check(false, "values", message, "give one value per time");
    }
    let value = |k: usize| values.get(k).cloned().unwrap_or(Value::Unit);
    let events: Vec<_> = times.iter().enumerate().map(|(k, &t)| (t, value(k))).collect();
    let first = times.first().copied().unwrap_or(NEVER);
    let timer = Timer::due(first, context.resolution);
    r.finish(Component::atomic(Agenda { timer, events: events.into(), next: 0 }))
}

unit_kind! {
    /// `schedule`: events at listed times. Output `y`.
    ///
    /// ```toml
    /// [unit.orders]
    /// kind = "schedule"
    /// times = [0.5, "2 s", "2500 ms"]
    /// values = ["open", "shut", "open"]   # optional: default events without a value
    /// ```
    Schedule = "schedule", "events at listed times",
    params: [
        needed("times", ParamType::Raw, "times, ascending: seconds or texts with a unit"),
        with("values", ParamType::ValueList, "", "one value per time"),
    ],
    ports: |params| {
        let values = values(params)?;
        let mut types = values.iter().map(type_of);
        let first = types.next().unwrap_or(ValueType::Unit);
        let ty = if types.all(|t| t == first) { first } else { ValueType::Any };
        Ok(ports([], [event("y", ty)]))
    },
    build: build,
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn events_at_their_times() {
        let text = "[unit.s]\nkind='schedule'\ntimes=[0, '100 ms', 0.1, '1/3 s', 'two', '0.1 min', '2*two + 3']\n\
                    values=['a', 2, true, 3, 0.5, 'b', 7]";
        let bench = Bench::run(text, 9.0);
        let expected =
            ["0@0 a", "0.1@0 2", "0.1@0 true", "0.333333333@0 3", "2@0 0.5", "6@0 b", "7@0 7"];
        assert_eq!(bench.events("s.y"), expected);
    }

    #[test]
    fn mistakes_are_named() {
        let text = "[unit.s]\nkind='schedule'\ntimes=[2, 1, 'soon', -1]\nvalues=[1]";
        assert_eq!(
            mistakes(text),
            [
                "this time lies before the one before it; list times in ascending order",
                "`soon` is no time; give a number of seconds or a text such as \"5 ms\"",
                "a negative duration (-1 s); a duration must be zero or more; give a number of \
                 seconds or a text such as \"5 ms\"",
            ]
        );
        for fine in ["0.3333333333333", "'0.3333333333333'", "'333.3333333 ms'"] {
            let text = format!("[unit.s]\nkind='schedule'\ntimes=[{fine}]\nvalues=[1]");
            assert!(mistakes(&text)[0].starts_with("no whole number of ticks of 1 ns"), "{fine}");
        }
        assert_eq!(
            mistakes("[unit.s]\nkind='schedule'\ntimes=[]"),
            ["`times` is empty; list at least one time"]
        );
    }
}
