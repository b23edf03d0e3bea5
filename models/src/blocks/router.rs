//! `router`: sends each event to one of several outputs.
use crate::{
    kinds::{
        ParamType, Ports, ValueType,
        params::{Reader, with},
        ports::event,
    },
    maths::random::RandomStream,
    signal::value::{Job, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Routes events. Input 0: events; outputs: the branches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// Sums of the weights up to each output, for a random choice; else in turn.
    cumulative: Option<Box<[f64]>>,
    stream: RandomStream,
    outputs: u16,
    next: u16,
    waiting: Vec<(u16, Value)>,
}

impl Branch {
    fn choose(&mut self) -> u16 {
        match &self.cumulative {
            Some(sums) => {
                let x = self.stream.uniform() * sums.last().copied().unwrap_or(0.0);
                (sums.partition_point(|s| *s <= x) as u16).min(self.outputs - 1)
            }
            None => {
                let port = self.next;
                self.next = (port + 1) % self.outputs;
                port
            }
        }
    }
}

impl Atomic<Value> for Branch {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        self.outputs
    }
    fn time_advance(&self) -> Duration {
        if self.waiting.is_empty() { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.waiting.iter().for_each(|(port, v)| out.send(OutPort::new(*port), v.clone()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.waiting.clear();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        if let Some((_, value)) = bag.single() {
            let port = self.choose();
            return self.waiting.push((port, value.clone()));
        }
        let mut values: Vec<&Value> = bag.iter().map(|(_, v)| v).collect();
        // Jobs have an order of their own; other events keep that of their sources.
        let job = |v: &&Value| if let Value::Job(j) = v { *j } else { Job::default() };
        values.sort_by_key(job);
        for value in values {
            let port = self.choose();
            self.waiting.push((port, value.clone()));
        }
    }
}

unit_kind! {
    /// `router`: each event goes to one of several outputs, one micro-step later. Input `in`
    /// (any events, such as jobs), outputs `out1`, `out2`, ….
    ///
    /// `mode = "random"` chooses by `weights`, `"turn"` takes the outputs in turn.
    ///
    /// ```toml
    /// [unit.fork]
    /// kind = "router"
    /// outputs = 2
    /// weights = [0.75, 0.25]
    /// ```
    Router = "router", "each event to one of several outputs",
    params: [
        with("outputs", ParamType::Int, "2", "number of outputs"),
        with("mode", ParamType::Choice(&["random", "turn"]), "random", "how an output is chosen"),
        with("weights", ParamType::RealList, "", "weight of each output; default equal"),
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let n = r.int("outputs", 1, 4096);
        let outputs = (1..=n).map(|k| event(&format!("out{k}"), ValueType::Any)).collect();
        r.finish(Ports { inputs: vec![event("in", ValueType::Any)], outputs })
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let n = r.int("outputs", 1, 4096) as usize;
        let random = params.text("mode") != "turn";
        let mut weights = params.reals("weights");
        if r.given("weights") {
            let ok = weights.len() == n
                && weights.iter().all(|w| w.is_finite() && *w >= 0.0)
                && weights.iter().sum::<f64>() > 0.0;
            let message = format!("`weights` are no {n} numbers of zero or more, not all zero");
            r.check(ok, "weights", message, "give one weight per output");
            r.check(random, "weights", "outputs in turn have no weights", "remove them");
        } else {
            weights = vec![1.0; n];
        }
        let mut sum = 0.0;
        let cumulative: Box<[f64]> = weights.iter().map(|w| { sum += w; sum }).collect();
        let stream = RandomStream::new(context.seed, &format!("{}#route", context.path));
        r.finish(Component::atomic(Branch {
            cumulative: random.then_some(cumulative),
            stream,
            outputs: n as u16,
            next: 0,
            waiting: Vec::new(),
        }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn shares_follow_the_weights() {
        let bench = Bench::run(
            "connections=['c.y -> r.in','c.y -> t.in']\n[unit.c]\nkind='clock'\nperiod=0.001\n\
             [unit.r]\nkind='router'\noutputs=3\nweights=[3, 0, 1]\n\
             [unit.t]\nkind='router'\nmode='turn'",
            9.999,
        );
        let share = bench.count("r.out1") as f64 / 1e4;
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert_eq!((bench.count("r.out2"), bench.count("t.out1")), (0, 5000));
    }

    #[test]
    fn bad_weights() {
        assert_eq!(
            mistakes("[unit.r]\nkind='router'\nweights=[1, -1]"),
            ["`weights` are no 2 numbers of zero or more, not all zero; give one weight per \
                 output"]
        );
    }
}
