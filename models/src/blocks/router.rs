//! `router`: sends each event to one of several outputs.
use crate::{
    kinds::{
        ParamType, Ports, ValueType,
        params::{Reader, with},
        ports::{event, signal},
    },
    maths::random::RandomStream,
    signal::value::{Job, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Routes events. Input 0: events, then the lengths of the lines if these decide; outputs: the branches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// Sums of the weights up to each output, for a random choice; else in turn.
    cumulative: Option<Box<[f64]>>,
    stream: RandomStream,
    outputs: u16,
    next: u16,
    /// The lines that branches lead to, as far as is known, where the shortest one is chosen.
    lengths: Option<Box<[f64]>>,
    waiting: Vec<(u16, Value)>,
}

impl Branch {
    fn choose(&mut self) -> u16 {
        if let Some(lengths) = &mut self.lengths {
            let shorter = |a: &usize, b: &usize| lengths[*a].total_cmp(&lengths[*b]).then(a.cmp(b));
            let port = (0..lengths.len()).min_by(shorter).unwrap_or(0);
            // One more, until that is heard.
            lengths[port] += 1.0;
            return port as u16;
        }
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
        1 + self.lengths.as_ref().map_or(0, |lengths| lengths.len() as u16)
    }
    fn outputs(&self) -> u16 {
        self.outputs
    }
    fn time_advance(&self) -> Duration {
        if self.waiting.is_empty() { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.waiting.iter().for_each(|(port, v)| out.send(OutPort::<_>::new(*port), v.clone()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.waiting.clear();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        for (port, value) in bag.iter().filter(|(port, _)| *port > 0) {
            if let (Some(lengths), Some(length)) = (&mut self.lengths, value.as_real()) {
                lengths[usize::from(port) - 1] = length;
            }
        }
        if let Some((0, value)) = bag.single() {
            let port = self.choose();
            return self.waiting.push((port, value.clone()));
        }
        let events = bag.iter().filter(|(port, _)| *port == 0);
        let mut values: Vec<&Value> = events.map(|(_, v)| v).collect();
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
    /// `mode = "random"` chooses by `weights`, `"turn"` takes the outputs in turn. `"shortest"` takes the
    /// shortest line, of equal ones the first, by the signals at the inputs `length1`, `length2`, …, such as the
    /// `length` of servers; what was sent since a signal came counts, too.
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
        with("mode", ParamType::Choice(&["random", "turn", "shortest"]), "random", "how an output is chosen"),
        with("weights", ParamType::RealList, "", "weight of each output; default equal"),
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let n = r.int("outputs", 1, 4096);
        let outputs = (1..=n).map(|k| event(&format!("out{k}"), ValueType::Any)).collect();
        let mut inputs = vec![event("in", ValueType::Any)];
        if params.text("mode") == "shortest" {
            inputs.extend((1..=n).map(|k| signal(&format!("length{k}"))));
        }
        r.finish(Ports { inputs, outputs })
    },
    hands_on: true,
    build: |params, context| {
        let mut r = Reader::new(params);
        let n = r.int("outputs", 1, 4096) as usize;
        let random = params.text("mode") == "random";
        let shortest = params.text("mode") == "shortest";
        let mut weights = params.reals("weights");
        if r.given("weights") {
            let ok = weights.len() == n
                && weights.iter().all(|w| w.is_finite() && *w >= 0.0)
                && weights.iter().sum::<f64>() > 0.0;
            let message = format!("`weights` are no {n} numbers of zero or more, not all zero");
            r.check(ok, "weights", message, "give one weight per output");
            r.check(random, "weights", "only outputs that are chosen at random have weights", "remove them");
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
            lengths: shortest.then(|| vec![0.0; n].into()),
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

    /// A job that finds a line full is no longer in it.
    #[test]
    fn the_shortest_line_forgets_jobs_that_are_lost() {
        let bench = Bench::run(
            "connections=['a.out -> r.in', 'r.out1 -> s.in', 'r.out2 -> t.in', 's.length -> r.length1', \
             't.length -> r.length2', 's.out -> k.in', 't.out -> k.in']\n[unit.k]\nkind='sink'\n\
             [unit.a]\nkind='arrivals'\ndistribution='constant'\nmean=1\n\
             [unit.r]\nkind='router'\nmode='shortest'\n\
             [unit.s]\nkind='server'\ndistribution='constant'\nmean=9.5\ncapacity=1\n\
             [unit.t]\nkind='server'\ndistribution='constant'\nmean=2.25",
            1000.5,
        );
        // By a loop of its own in which the lengths are those at each instant.
        assert_eq!(
            (bench.count("r.out1"), bench.count("r.out2"), bench.count("s.lost")),
            (700, 300, 600)
        );
    }

    #[test]
    fn bad_weights() {
        assert_eq!(
            mistakes("[unit.r]\nkind='router'\nweights=[1, -1]"),
            ["`weights` are no 2 numbers of zero or more, not all zero; give one weight per \
                 output"]
        );
    }

    /// Two servers and the shorter line: the stationary mean of the chain of both lengths.
    #[test]
    fn the_shorter_line_is_chosen() {
        let bench = Bench::run(
            "connections=['a.out -> r.in', 'r.out1 -> s.in', 'r.out2 -> t.in', 's.length -> r.length1', \
             't.length -> r.length2', 's.out -> k.in', 't.out -> k.in']\n[unit.k]\nkind='sink'\n\
             [unit.a]\nkind='arrivals'\nrate=1.4\n[unit.r]\nkind='router'\nmode='shortest'\n\
             [unit.s]\nkind='server'\nrate=1.0\n[unit.t]\nkind='server'\nrate=1.0",
            200_000.0,
        );
        const MOST: usize = 40;
        let mut p = vec![[0.0f64; MOST]; MOST];
        p[0][0] = 1.0;
        // Uniformised at the rate 1.4 + 1 + 1.
        for _ in 0..4000 {
            let mut next = vec![[0.0f64; MOST]; MOST];
            for i in 0..MOST {
                for j in 0..MOST {
                    let part = p[i][j] / 3.4;
                    let to = if i <= j {
                        ((i + 1).min(MOST - 1), j)
                    } else {
                        (i, (j + 1).min(MOST - 1))
                    };
                    next[to.0][to.1] += 1.4 * part;
                    next[i.saturating_sub(1)][j] += part;
                    next[i][j.saturating_sub(1)] += part;
                }
            }
            p = next;
        }
        let number = |(i, row): (usize, &[f64; MOST])| -> f64 {
            row.iter().enumerate().map(|(j, p)| (i + j) as f64 * p).sum()
        };
        let mean = p.iter().enumerate().map(number).sum::<f64>() / 1.4;
        let found = bench.probe("k.mean");
        // Times are correlated over about ten seconds; a line at random takes 3.3 s.
        assert!((found - mean).abs() < 0.08, "{found}, not {mean}");
    }
}
