//! A network as a scenario file.
use super::{Hop, Network};
use std::fmt::Write;

/// What is recorded, in the order of the event loop's values.
fn record(network: &Network) -> Vec<String> {
    let mut list = Vec::new();
    for k in 0..network.sinks {
        list.extend(["count", "delay", "loss"].map(|port| format!("sink{k}.{port}")));
    }
    for k in 0..network.links.len() {
        list.extend(["present", "utilisation", "loss"].map(|port| format!("link{k}.{port}")));
    }
    list.extend((0..network.sources.len()).map(|k| format!("source{k}.count")));
    if let Some(line) = &network.line {
        list.extend(["jobs.count", "exit.count", "exit.mean"].map(str::to_owned));
        for k in 0..line.stations.len() {
            list.extend(["length", "busy"].map(|port| format!("station{k}.{port}")));
        }
    }
    list
}

fn connections(network: &Network) -> Vec<String> {
    let mut list = Vec::new();
    for (k, source) in network.sources.iter().enumerate() {
        list.push(format!("source{k}.out -> link{}.in", source.link));
    }
    for (k, link) in network.links.iter().enumerate() {
        list.push(format!("link{k}.out -> routes{k}.in"));
        for (sink, hop) in link.routes.iter().enumerate() {
            let to = match hop {
                Hop::Link(next) => format!("link{next}"),
                Hop::Sink => format!("sink{sink}"),
            };
            list.push(format!("routes{k}.out{} -> {to}.in", sink + 1));
        }
    }
    if let Some(line) = &network.line {
        let mut from = "jobs.out".to_owned();
        for k in 0..line.stations.len() {
            list.push(format!("{from} -> station{k}.in"));
            from = format!("station{k}.out");
        }
        list.push(format!("{from} -> exit.in"));
    }
    list
}

fn quoted(list: &[String]) -> String {
    let list: Vec<_> = list.iter().map(|t| format!("  \"{t}\",\n")).collect();
    format!("[\n{}]", list.concat())
}

/// The file.
pub(super) fn scenario(network: &Network) -> String {
    let mut out = format!(
        "stop = \"{} us\"\nresolution = \"us\"\nsample = \"none\"\nrecord = {}\nconnections = {}\n",
        network.stop,
        quoted(&record(network)),
        quoted(&connections(network))
    );
    for (k, s) in network.sources.iter().enumerate() {
        let _ = writeln!(
            out,
            "\n[unit.source{k}]\nkind = \"packet-source\"\npattern = \"periodic\"\nstart = \"{} us\"\n\
             period = \"{} us\"\nlimit = {}\nbytes = {}\naddress = {}\nto = {}",
            s.start,
            s.period,
            s.limit,
            s.bytes,
            100 + k,
            s.to
        );
    }
    for (k, link) in network.links.iter().enumerate() {
        let _ = writeln!(
            out,
            "\n[unit.link{k}]\nkind = \"link\"\nrate = {}\npropagation = \"{} us\"",
            link.rate, link.propagation
        );
        if let Some(capacity) = link.capacity {
            let _ = writeln!(out, "capacity = {capacity}");
        }
        let _ = writeln!(
            out,
            "[unit.routes{k}]\nkind = \"routes\"\noutputs = {}\nfirst = 0",
            network.sinks
        );
    }
    for k in 0..network.sinks {
        let _ = writeln!(out, "\n[unit.sink{k}]\nkind = \"packet-sink\"");
    }
    if let Some(line) = &network.line {
        let _ = writeln!(
            out,
            "\n[unit.jobs]\nkind = \"arrivals\"\ndistribution = \"constant\"\nmean = \"{} us\"\nlimit = {}",
            line.gap, line.limit
        );
        for (k, s) in line.stations.iter().enumerate() {
            let _ = writeln!(
                out,
                "[unit.station{k}]\nkind = \"server\"\ndistribution = \"constant\"\nmean = \"{} us\"\n\
                 servers = {}",
                s.service, s.servers
            );
            if let Some(capacity) = s.capacity {
                let _ = writeln!(out, "capacity = {capacity}");
            }
        }
        out.push_str("[unit.exit]\nkind = \"sink\"\n");
    }
    out
}
