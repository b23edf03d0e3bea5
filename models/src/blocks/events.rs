//! Memoryless event blocks: `adder`, `encoder`, `merge`, `scaler`, `trigger`. Each answers one
//! micro-step after its input.
use super::algebra::numbered;
use crate::{
    kinds::{
        Context, Located, Param, ParamError, ParamType, Params, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Checked, Reader, clash, value_of, with},
        ports::{event, ports, type_of},
    },
    signal::value::Value,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// The effect of an [`EventBlock`] on the messages of one bag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// Sends the sum of the numbers that are present.
    Add,
    /// Sends `gain · value + offset` for each.
    Scale {
        /// Factor.
        gain: f64,
        /// The number that is added.
        offset: f64,
    },
    /// Sends one value, whatever came.
    Replace(Value),
    /// Sends each on.
    Pass,
    /// Sends for each what its value stands for; nothing, or the last value, for all others.
    Encode(Box<[(Value, Value)]>, Option<Value>),
}

/// A memoryless event block. Inputs: events; output 0: events, one micro-step later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventBlock {
    action: Action,
    inputs: u16,
    waiting: Vec<Value>,
}

impl EventBlock {
    const Y: OutPort<Value, Self> = OutPort::new(0);

    /// A block with this many inputs.
    pub fn new(action: Action, inputs: usize) -> Self {
        Self { action, inputs: inputs as u16, waiting: Vec::new() }
    }
}

/// The number in an event, or a failure that names the port.
pub(crate) fn number(value: &Value, port: &str, fx: &mut Effects<Value>) -> f64 {
    value.as_real().unwrap_or_else(|| {
        fx.fail(format_args!(
            "input `{port}` got `{value}`, which is no number; send a number, or put a `trigger` \
             between"
        ));
        0.0
    })
}

impl Atomic<Value> for EventBlock {
    fn inputs(&self) -> u16 {
        self.inputs
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.waiting.is_empty() { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.waiting.iter().for_each(|v| out.send(Self::Y, v.clone()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.waiting.clear();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        match &self.action {
            Action::Replace(value) => self.waiting.push(value.clone()),
            Action::Encode(code, other) => {
                let meaning = |v: &Value| {
                    // A truth value is itself before it is a number.
                    let exact = code.iter().find(|(from, _)| from == v);
                    let known = exact.or_else(|| code.iter().find(|(from, _)| same(from, v)));
                    known.map(|(_, to)| to).or(other.as_ref()).cloned()
                };
                self.waiting.extend(bag.iter().filter_map(|(_, v)| meaning(v)));
            }
            Action::Pass => self.waiting.extend(bag.iter().map(|(_, v)| v.clone())),
            &Action::Scale { gain, offset } => {
                let scaled = bag.iter().map(|(_, v)| gain * number(v, "u", fx) + offset);
                self.waiting.extend(scaled.map(Value::Real));
            }
            Action::Add => {
                let mut terms: Vec<f64> =
                    bag.iter().map(|(port, v)| number(v, &format!("u{}", port + 1), fx)).collect();
                // A bag has no order; the rounded sum must not depend on one.
                terms.sort_unstable_by(f64::total_cmp);
                self.waiting.push(Value::Real(terms.iter().sum()));
            }
        }
    }
}

const INPUTS: crate::kinds::ParamSpec = with("inputs", ParamType::Int, "2", "number of inputs");

unit_kind! {
    /// `adder`: the sum of the events that are present, one micro-step later; inputs without an
    /// event in that cycle do not count. Inputs `u1`, `u2`, … (numbers), output `y` (real).
    ///
    /// ```toml
    /// [unit.total]
    /// kind = "adder"
    /// inputs = 3
    /// ```
    Adder = "adder", "sum of the events that are present",
    params: [INPUTS],
    ports: |params| {
        let mut r = Reader::new(params);
        let inputs = numbered(r.int("inputs", 1, 4096) as usize, |n| {
            event(n, ValueType::Any).optional()
        });
        r.finish(Ports { inputs, outputs: vec![event("y", ValueType::Real)] })
    },
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, _| {
        let inputs = params.int("inputs") as usize;
        Ok(Component::atomic(EventBlock::new(Action::Add, inputs)))
    },
}

/// Equality of a wanted value and a received one; numbers of all types compare by value, and truth values
/// as 1 and 0.
pub(super) fn same(wanted: &Value, got: &Value) -> bool {
    match (wanted.as_real(), got.as_real()) {
        (Some(a), Some(b)) => a == b,
        _ => wanted == got,
    }
}

/// The code of an `encoder`: keys are texts, numbers and truth values as they are written.
fn code(params: &Params) -> Checked<Vec<(Value, Value)>> {
    let written = |text: &str| match (text.parse::<f64>(), text) {
        (Ok(x), _) => Value::Real(x),
        (_, "true") => Value::Bool(true),
        (_, "false") => Value::Bool(false),
        _ => Value::Text(text.into()),
    };
    let help = "write map = { up = 1, down = -1 }: received value = sent value";
    let Some(Param::Table(entries)) = params.get("map").map(|p| &p.value) else {
        let error = ParamError::at(params.span("map"), "an encoder needs a `map` of values");
        return Err(vec![error.help(help)]);
    };
    let (mut code, mut errors) = (Vec::new(), Vec::new());
    for (key, p) in entries {
        match value_of(&p.value) {
            Some(value) => code.push((written(&key.value), value)),
            None => errors.push(ParamError::at(p.span.clone(), "not a plain value").help(help)),
        }
    }
    if errors.is_empty() { Ok(code) } else { Err(errors) }
}

/// Words of a `map` that are parameters, too.
fn clashes(params: &Params, context: &Context<'_>) -> Vec<ParamError> {
    let Some(Param::Table(entries)) = params.get("map").map(|p| &p.value) else {
        return Vec::new();
    };
    let of = |(key, p): &(Located<String>, Located<Param>)| {
        let sent = match &p.value {
            Param::Text(word) => clash(word, &p.span, context),
            _ => None,
        };
        clash(&key.value, &key.span, context).into_iter().chain(sent)
    };
    entries.iter().flat_map(of).collect()
}

unit_kind! {
    /// `encoder`: another value for each event: words of one unit into those of another, states into
    /// numbers. Events that the map does not know are dropped, unless there is a `default`. Input
    /// `u`, output `y`.
    ///
    /// ```toml
    /// [unit.bridge]
    /// kind = "encoder"
    /// map = { up = 12, down = -12, stop = 0 }
    /// default = 0          # optional: for all other values
    /// ```
    Encoder = "encoder", "another value for each event",
    params: [
        with("map", ParamType::Raw, "", "received value = sent value"),
        with("default", ParamType::Value, "", "sent for values that the map does not know"),
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let other = r.value("default");
        let code = code(params)?;
        let mut types = code.iter().map(|(_, v)| v).chain(&other).map(type_of);
        let first = types.next().unwrap_or(ValueType::Unit);
        let ty = if types.all(|t| t == first) { first } else { ValueType::Any };
        r.finish(ports([event("u", ValueType::Any)], [event("y", ty)]))
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        r.extend(clashes(params, context));
        let action = Action::Encode(code(params)?.into(), r.value("default"));
        r.finish(Component::atomic(EventBlock::new(action, 1)))
    },
}

unit_kind! {
    /// `merge`: every event of any input, one micro-step later. Inputs `u1`, `u2`, …, output `y`.
    ///
    /// ```toml
    /// [unit.both]
    /// kind = "merge"
    /// inputs = 2
    /// ```
    Merge = "merge", "events of several inputs on one output",
    params: [INPUTS],
    ports: |params| {
        let mut r = Reader::new(params);
        let inputs = numbered(r.int("inputs", 1, 4096) as usize, |n| {
            event(n, ValueType::Any).optional()
        });
        r.finish(Ports { inputs, outputs: vec![event("y", ValueType::Any)] })
    },
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    hands_on: true,
    build: |params, _| {
        let inputs = params.int("inputs") as usize;
        Ok(Component::atomic(EventBlock::new(Action::Pass, inputs)))
    },
}

unit_kind! {
    /// `scaler`: `y = gain u + offset` for each event. Input `u` (number), output `y` (real).
    ///
    /// ```toml
    /// [unit.cents]
    /// kind = "scaler"
    /// gain = 100.0
    /// ```
    Scaler = "scaler", "events times a constant plus a constant",
    params: [
        with("gain", ParamType::Real(None), "1.0", "factor"),
        with("offset", ParamType::Real(None), "0.0", "what is added"),
    ],
    ports: |_| Ok(ports([event("u", ValueType::Any)], [event("y", ValueType::Real)])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, _| {
        let mut r = Reader::new(params);
        let action = Action::Scale { gain: r.finite("gain"), offset: r.finite("offset") };
        r.finish(Component::atomic(EventBlock::new(action, 1)))
    },
}

unit_kind! {
    /// `trigger`: one fixed value for each cycle in which anything arrives. Input `u`, output `y`.
    ///
    /// ```toml
    /// [unit.kick]
    /// kind = "trigger"
    /// value = -0.5         # default: an event without a value
    /// ```
    Trigger = "trigger", "a fixed value whenever an event arrives",
    params: [with("value", ParamType::Value, "", "the value; default none")],
    ports: |params| {
        let mut r = Reader::new(params);
        let value = r.value("value").unwrap_or(Value::Unit);
        r.finish(ports([event("u", ValueType::Any)], [event("y", type_of(&value))]))
    },
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, _| {
        let mut r = Reader::new(params);
        let value = r.value("value").unwrap_or(Value::Unit);
        r.finish(Component::atomic(EventBlock::new(Action::Replace(value), 1)))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H1.
    #[test]
    fn an_adder_sums_what_is_present() {
        let bench = Bench::run(
            r#"
            connections = ["a.y -> s.u1", "b.y -> s.u2", "s.y -> k.u", "k.y -> t.u"]
            [unit.a]
            kind = "clock"
            period = "1 s"
            offset = "1 s"
            value = 1
            [unit.b]
            kind = "clock"
            period = "2 s"
            offset = "2 s"
            value = 10
            [unit.s]
            kind = "adder"
            [unit.k]
            kind = "scaler"
            gain = 2.0
            offset = 0.5
            [unit.t]
            kind = "trigger"
            value = "go"
            "#,
            4.0,
        );
        assert_eq!(bench.events("s.y"), ["1@1 1", "2@1 11", "3@1 1", "4@1 11"]);
        assert_eq!(bench.events("k.y")[1], "2@2 22.5");
        assert_eq!(bench.events("t.y")[0], "1@3 go");
    }

    #[test]
    fn an_encoder_knows_words_and_numbers() {
        let bench = Bench::run(
            "connections=['s.y -> a.u','s.y -> b.u']\n[unit.s]\nkind='schedule'\n\
             times=[1,2,3,4,5]\nvalues=['up','stop',1,false,'up']\n\
             [unit.a]\nkind='encoder'\nmap={up=12,1='one',false=-1.5}\n\
             [unit.b]\nkind='encoder'\nmap={stop=0}\ndefault='other'",
            6.0,
        );
        assert_eq!(bench.events("a.y"), ["1@1 12", "3@1 one", "4@1 -1.5", "5@1 12"]);
        assert_eq!(bench.events("b.y")[..3], ["1@1 other", "2@1 0", "3@1 other"]);
    }

    #[test]
    fn merge_keeps_every_event() {
        let bench = Bench::run(
            "connections=['a.y -> m.u1','a.y -> m.u2']\n[unit.a]\nkind='clock'\nperiod=1\n\
             value=7\n[unit.m]\nkind='merge'",
            1.0,
        );
        assert_eq!(bench.events("m.y"), ["0@1 7", "0@1 7", "1@1 7", "1@1 7"]);
    }

    #[test]
    fn text_is_no_number() {
        let mut bench = Bench::start(
            ".".as_ref(),
            "connections=['a.y -> s.u1']\n[unit.a]\nkind='clock'\nperiod=1\nvalue='x'\n\
             [unit.s]\nkind='adder'",
        );
        let error = bench.go(1.0).unwrap_err().to_string();
        assert!(error.contains("input `u1` got `x`, which is no number"), "{error}");
    }
}
