//! Random networks of packets and jobs, against a plain event loop.
mod loops;
mod text;

use super::random::Random;

/// A network whose every instant is known beforehand: periods, rates and services are constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Ticks per second, as a power of ten.
    pub resolution: u32,
    /// The last tick.
    pub stop: i64,
    /// Senders of packets.
    pub sources: Vec<Source>,
    /// Links; each leads to ones behind it or to sinks.
    pub links: Vec<Link>,
    /// Number of packet sinks.
    pub sinks: usize,
    /// A line of stations behind one source of jobs.
    pub line: Option<Line>,
}

/// A periodic sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Ticks before the first period.
    pub start: i64,
    /// Ticks between packets.
    pub period: i64,
    /// Most packets.
    pub limit: u64,
    /// Payload of each packet.
    pub bytes: u32,
    /// The sink.
    pub to: usize,
    /// The link that it feeds.
    pub link: usize,
}

/// A directed link.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Bits per second.
    pub rate: f64,
    /// Ticks on the wire.
    pub propagation: i64,
    /// Most packets that wait.
    pub capacity: Option<usize>,
    /// Where packets go, by sink.
    pub routes: Vec<Hop>,
}

/// The end of a link, for one destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// Another link.
    Link(usize),
    /// The sink.
    Sink,
}

/// A source of jobs and the stations that they pass one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Ticks between jobs.
    pub gap: i64,
    /// Most jobs.
    pub limit: u64,
    /// Stations.
    pub stations: Vec<Station>,
}

/// A station with equal servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Ticks of service.
    pub service: i64,
    /// Servers.
    pub servers: usize,
    /// Most jobs in the station.
    pub capacity: Option<usize>,
}

/// The random network of a stream.
pub fn network(random: &mut Random) -> Network {
    // Few different numbers, so that packets meet.
    let unit = 1000;
    let sinks = 1 + random.below(3);
    let count = 1 + random.below(5);
    let mut links: Vec<Link> = Vec::new();
    for at in 0..count {
        let hop = |random: &mut Random| {
            let last = at + 1 >= count;
            if last || random.chance(45) {
                Hop::Sink
            } else {
                Hop::Link(at + 1 + random.below(count - at - 1))
            }
        };
        links.push(Link {
            // A packet of 125 bytes takes 1 to 8 thousand ticks of 1 us.
            rate: random.pick(&[1e6, 5e5, 2.5e5, 125e3]),
            propagation: unit * random.pick(&[0, 0, 1, 2, 5]),
            capacity: random.pick(&[None, None, Some(1), Some(1), Some(2), Some(3)]),
            routes: (0..sinks).map(|_| hop(random)).collect(),
        });
    }
    // Every link hears somebody.
    for at in 1..count {
        if !links.iter().any(|l| l.routes.contains(&Hop::Link(at))) {
            links[at - 1].routes[0] = Hop::Link(at);
        }
    }
    let source = |random: &mut Random| Source {
        start: unit * random.within(0, 4),
        period: unit * random.pick(&[1, 2, 2, 3, 4, 5]),
        limit: random.within(1, 60) as u64,
        bytes: 125 * random.pick(&[1, 1, 2, 3]),
        to: random.below(sinks),
        link: random.below(count),
    };
    let mut sources: Vec<Source> = (0..1 + random.below(4)).map(|_| source(random)).collect();
    sources[0].link = 0;
    let station = |random: &mut Random| Station {
        service: unit * random.pick(&[1, 2, 3, 4, 6]),
        servers: 1 + random.below(3),
        capacity: random.pick(&[None, None, Some(3), Some(4), Some(1)]),
    };
    let line = random.chance(50).then(|| Line {
        gap: unit * random.pick(&[1, 2, 3]),
        limit: random.within(1, 60) as u64,
        stations: (0..1 + random.below(3)).map(|_| station(random)).collect(),
    });
    let stop = unit * random.pick(&[20, 50, 100, 400]);
    Network { resolution: 6, stop, sources, links, sinks, line }
}

impl Network {
    /// The scenario file.
    pub fn text(&self) -> String {
        text::scenario(self)
    }

    /// The recorded values at the end, by the event loop.
    pub fn values(&self) -> Vec<f64> {
        loops::values(self)
    }

    /// Smaller networks.
    pub fn smaller(&self) -> Vec<Self> {
        let mut list = Vec::new();
        let mut edit = |f: &dyn Fn(&mut Self)| super::shrink::edited(self, f, &mut list);
        edit(&|n| n.line = None);
        for k in 0..self.sources.len() {
            if self.sources.len() > 1 {
                edit(&|n| {
                    n.sources.remove(k);
                });
            }
            edit(&|n| n.sources[k].limit = n.sources[k].limit.div_ceil(2));
            edit(&|n| n.sources[k].start = 0);
        }
        let last = self.links.len() - 1;
        let free = |n: &Self| {
            n.sources.iter().all(|s| s.link != last)
                && n.links.iter().all(|l| !l.routes.contains(&Hop::Link(last)))
        };
        if last > 0 && free(self) {
            edit(&|n| n.links.truncate(last));
        }
        for k in 0..self.links.len() {
            edit(&|n| n.links[k].routes.iter_mut().for_each(|h| *h = Hop::Sink));
            edit(&|n| n.links[k].capacity = None);
            edit(&|n| n.links[k].propagation = 0);
        }
        if let Some(line) = &self.line {
            edit(&|n| n.line.iter_mut().for_each(|l| l.limit = l.limit.div_ceil(2)));
            for k in 0..line.stations.len() {
                if line.stations.len() > 1 {
                    edit(&|n| {
                        n.line.iter_mut().for_each(|l| {
                            l.stations.remove(k);
                        });
                    });
                }
            }
        }
        if self.stop > 2000 {
            edit(&|n| n.stop /= 2);
        }
        list
    }
}
