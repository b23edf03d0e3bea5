//! A plain event loop for networks, written without a look at the kernel: a queue of arrivals by
//! tick and micro-step.
use super::{Hop, Line, Network};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    /// These three order packets that come at once.
    created: i64,
    source: u32,
    id: u64,
    to: usize,
    bits: u32,
}

#[derive(Default)]
struct Wire {
    /// When the transmitter is free.
    free: i64,
    /// Ends of transmissions that may lie ahead.
    ends: Vec<i64>,
    work: i64,
    offered: u64,
    gone: u64,
}

#[derive(Default)]
struct Sink {
    count: u64,
    /// Sum of delays, in ticks.
    delays: i64,
    highest: BTreeMap<u32, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Link(usize),
    Routes(usize),
    Sink(usize),
}

/// Arrivals: by tick and micro-step, at each place some packets.
type Agenda = BTreeMap<(i64, u32), BTreeMap<Place, Vec<Packet>>>;

/// The recorded values at the end.
pub(super) fn values(network: &Network) -> Vec<f64> {
    let mut values = packets(network);
    if let Some(line) = &network.line {
        values.extend(jobs(line, network.stop));
    }
    values
}

/// A share or a mean; of nothing it is no number.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { f64::NAN }
}

fn packets(network: &Network) -> Vec<f64> {
    let (stop, second) = (network.stop, 10_f64.powi(network.resolution as i32));
    let mut agenda = Agenda::new();
    let mut sent = Vec::new();
    for (k, source) in network.sources.iter().enumerate() {
        let mut count = 0;
        for id in 1..=source.limit {
            let at = source.start + source.period * (id as i64 - 1);
            if at > stop {
                break;
            }
            count += 1;
            let packet = Packet {
                created: at,
                source: 100 + k as u32,
                id,
                to: source.to,
                bits: 8 * source.bytes,
            };
            let cycle = agenda.entry((at, 0)).or_default();
            cycle.entry(Place::Link(source.link)).or_default().push(packet);
        }
        sent.push(f64::from(count));
    }
    let mut wires: Vec<Wire> = network.links.iter().map(|_| Wire::default()).collect();
    let mut sinks: Vec<Sink> = (0..network.sinks).map(|_| Sink::default()).collect();
    while let Some(((at, micro), cycle)) = agenda.pop_first() {
        if at > stop {
            break;
        }
        for (place, mut list) in cycle {
            list.sort_unstable();
            for packet in list {
                match place {
                    Place::Link(k) => {
                        let arrival = transmit(network, &mut wires[k], k, at, packet);
                        if let Some(arrival) = arrival {
                            let cycle = agenda.entry((arrival, 0)).or_default();
                            cycle.entry(Place::Routes(k)).or_default().push(packet);
                        }
                    }
                    Place::Routes(k) => {
                        let next = match network.links[k].routes[packet.to] {
                            Hop::Link(next) => Place::Link(next),
                            Hop::Sink => Place::Sink(packet.to),
                        };
                        let cycle = agenda.entry((at, micro + 1)).or_default();
                        cycle.entry(next).or_default().push(packet);
                    }
                    Place::Sink(k) => {
                        let sink = &mut sinks[k];
                        sink.count += 1;
                        sink.delays += at - packet.created;
                        let highest = sink.highest.entry(packet.source).or_default();
                        *highest = (*highest).max(packet.id);
                    }
                }
            }
        }
    }
    let mut values = recorded(&sinks, &wires, stop, second);
    values.extend(sent);
    values
}

/// What sinks and links tell at the end.
fn recorded(sinks: &[Sink], wires: &[Wire], stop: i64, second: f64) -> Vec<f64> {
    let mut values = Vec::new();
    for sink in sinks {
        let sent: u64 = sink.highest.values().sum();
        let mean = ratio(sink.delays as f64, sink.count as f64) / second;
        let lost = sent.saturating_sub(sink.count);
        values.extend([sink.count as f64, mean, ratio(lost as f64, sent as f64)]);
    }
    for wire in wires {
        let present = wire.ends.iter().filter(|end| **end > stop).count();
        let busy = wire.work - (wire.free - stop).max(0);
        let loss = ratio(wire.gone as f64, wire.offered as f64);
        values.extend([present as f64, ratio(busy as f64, stop as f64), loss]);
    }
    values
}

/// Puts a packet on a wire; returns when it arrives, unless it is dropped.
fn transmit(
    network: &Network,
    wire: &mut Wire,
    at_link: usize,
    now: i64,
    packet: Packet,
) -> Option<i64> {
    let link = &network.links[at_link];
    wire.offered += 1;
    wire.ends.retain(|end| *end > now);
    // One is in transmission, the others wait.
    if link.capacity.is_some_and(|most| wire.ends.len() > most) {
        wire.gone += 1;
        return None;
    }
    let second = 10_f64.powi(network.resolution as i32);
    let ticks = (f64::from(packet.bits) / link.rate * second).round() as i64;
    wire.free = wire.free.max(now) + ticks;
    wire.work += ticks;
    wire.ends.push(wire.free);
    Some(wire.free + link.propagation)
}

/// Counts of the source and of the exit, mean time, and for each station jobs and busy servers.
fn jobs(line: &Line, stop: i64) -> Vec<f64> {
    let created = (1..=line.limit as i64).map(|k| k * line.gap).filter(|t| *t <= stop);
    let mut arrivals: Vec<(i64, i64)> = created.map(|t| (t, t)).collect();
    let count = arrivals.len() as f64;
    let mut stations = Vec::new();
    for station in &line.stations {
        let mut leaving: Vec<(i64, i64)> = Vec::new();
        let mut served: Vec<(i64, i64)> = Vec::new();
        let mut free = vec![0_i64; station.servers];
        for &(at, born) in &arrivals {
            // Those who leave now go first.
            let present = leaving.iter().filter(|(end, _)| *end > at).count();
            if station.capacity.is_some_and(|most| present >= most) {
                continue;
            }
            let server = free.iter_mut().min();
            let Some(server) = server else { continue };
            let start = at.max(*server);
            *server = start + station.service;
            leaving.push((*server, born));
            served.push((start, *server));
        }
        let present = leaving.iter().filter(|(end, _)| *end > stop).count();
        let busy = served.iter().filter(|(start, end)| *start <= stop && *end > stop).count();
        stations.extend([present as f64, busy as f64]);
        leaving.sort_unstable();
        leaving.retain(|(end, _)| *end <= stop);
        arrivals = leaving;
    }
    let times: i64 = arrivals.iter().map(|(at, born)| at - born).sum();
    let mean =
        if arrivals.is_empty() { f64::NAN } else { times as f64 / arrivals.len() as f64 * 1e-6 };
    let mut values = vec![count, arrivals.len() as f64, mean];
    values.extend(stations);
    values
}

#[cfg(test)]
mod tests {
    use super::super::{Link, Source, Station};
    use super::*;

    #[test]
    fn a_packet_takes_its_length_by_the_rate() {
        let source = Source { start: 0, period: 1000, limit: 3, bytes: 125, to: 0, link: 0 };
        let link = Link { rate: 5e5, propagation: 10, capacity: Some(1), routes: vec![Hop::Sink] };
        let mut network = Network {
            resolution: 6,
            stop: 10_000,
            sources: vec![source],
            links: vec![link],
            sinks: 1,
            line: None,
        };
        // 1000 bits at 0.5 Mb/s take 2 ms: sent from 0 to 2, 2 to 4 and 4 to 6, as one may wait.
        assert_eq!(network.values()[0], 3.0);
        assert!((network.values()[1] - 0.003_01).abs() < 1e-12);
        network.stop = 2000;
        assert_eq!(network.values()[0], 0.0);
        assert!(network.values()[1..3].iter().all(|v| v.is_nan()));
        assert_eq!(network.values()[3..6], [2.0, 1.0, 0.0]);
        // One is sent and one waits; the two after them find no place.
        network.sources[0].period = 500;
        network.sources[0].limit = 4;
        assert_eq!(network.values()[3..6], [1.0, 1.0, 0.5]);
    }

    #[test]
    fn jobs_wait_for_a_server() {
        let station = Station { service: 3000, servers: 1, capacity: Some(2) };
        let line = Line { gap: 1000, limit: 4, stations: vec![station] };
        // Served from 1 to 4 and from 4 to 7; the third finds two, the fourth comes as one leaves.
        assert_eq!(jobs(&line, 20_000)[..2], [4.0, 3.0]);
        assert!((jobs(&line, 20_000)[2] - (3.0 + 5.0 + 6.0) / 3.0 * 1e-3).abs() < 1e-12);
        assert_eq!(jobs(&line, 4000)[3..], [2.0, 1.0]);
    }
}
