//! Networks of queues whose lengths equation units follow at once, while jobs take their time to the next node.
use super::random::Random;

/// A ring of nodes, with followers of their lengths and a sum of these.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Queues {
    stop: i64,
    nodes: i64,
    delay: i64,
    /// Arrivals and services per second.
    rates: [i64; 2],
    exit: f64,
    /// Whether somebody hears the followers.
    summed: bool,
    partition: &'static str,
    seed: i64,
}

impl Queues {
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            stop: random.pick(&[1, 100, 2000]),
            nodes: random.within(2, 8),
            delay: random.pick(&[0, 1, 10, 500]),
            rates: [random.within(1, 60), random.within(5, 120)],
            exit: random.pick(&[0.2, 0.5, 1.0]),
            summed: random.chance(60),
            partition: random.pick(&["blocks", "wiring", "round-robin"]),
            seed: random.within(1, 1000),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self { stop, nodes, delay, rates: [arrivals, service], exit, partition, seed, .. } =
            self;
        let (wire, record, sum) = match self.summed {
            true => {
                let sum = format!(
                    "[unit.z]\nkind = \"sum\"\nsigns = \"{}\"\n",
                    "+".repeat(*nodes as usize)
                );
                (", \"u[*].x -> z.u[*]\"", ", \"z.y\"", sum)
            }
            false => ("", "", String::new()),
        };
        format!(
            "stop = \"{stop} ms\"\nsample = \"none\"\nseed = {seed}\npartition = \"{partition}\"\n\
             record = [\"n[*].length\", \"u[*].x\"{record}]\n\
             connections = [\"n[i].out1 -> n[mod(i + 1, {nodes})].in for i in 0..{nodes}\", \
             \"n[*].length -> u[*].q\"{wire}]\n\
             [unit.n]\nkind = \"queue-node\"\ncount = {nodes}\narrivals = {arrivals}\nservice = {service}\n\
             exit = {exit}\nneighbours = 1\ndelay = \"{delay} ms\"\n\
             [unit.u]\nkind = \"equations\"\ncount = {nodes}\ninputs = {{ q = 5 }}\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = \"q - x\" }}\noutputs = {{ x = \"x\" }}\n{sum}"
        )
    }

    pub(super) fn smaller(&self) -> Vec<Self> {
        let edits: [fn(&mut Self); 5] = [
            |q| q.nodes -= 1,
            |q| q.stop /= 10,
            |q| q.summed = false,
            |q| q.exit = 1.0,
            |q| q.seed = 1,
        ];
        let list = edits.into_iter().map(|edit| {
            let mut other = self.clone();
            edit(&mut other);
            other
        });
        list.filter(|q| *q != *self && q.nodes > 1 && q.stop > 0).collect()
    }
}
