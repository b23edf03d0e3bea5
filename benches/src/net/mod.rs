//! Shipped scenarios of grids and networks, against SimPy and ns-3.
//!
//! # Why
//!
//! Ours is what a user runs: the shipped scenario, read from its file, without result files. A
//! peer's program is what that peer's guide teaches: processes and resources for SimPy, UDP
//! sockets over point-to-point links for ns-3.
use crate::{
    child::{Engine, Job, Measured, has_simpy, simpy, spawn},
    suites::{Effort, compare},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use superdense::{Overrides, plan::Source};
use superdense_kernel::{Options, Simulation};
use superdense_models::signal::value::Value;

/// A scenario and its size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Net {
    /// M/M/1 for so many seconds.
    Queue(u32),
    /// n x n queues with a link delay of 1 ms, for so many milliseconds.
    Torus(u32, u32),
    /// Eight Poisson sources share a bottleneck for 60 s (S4a).
    Bottleneck,
    /// Thermostat loads for 6 h (S2).
    Loads(u32),
}

/// An output whose events are counted, and how many events each of them stands for.
type Count = (&'static str, f64);

impl Net {
    /// The name in reports, and the size.
    pub fn label(self) -> (&'static str, String) {
        match self {
            Self::Queue(seconds) => ("M/M/1", format!("{seconds} s")),
            Self::Torus(n, ms) => ("torus", format!("{n}x{n}, {ms} ms")),
            Self::Bottleneck => ("S4a", "60 s".into()),
            Self::Loads(units) => ("S2", format!("{units} units")),
        }
    }

    /// Stations, sources, links or loads.
    pub fn units(self) -> u64 {
        match self {
            Self::Queue(_) => 3,
            Self::Torus(n, _) => u64::from(n).pow(2),
            Self::Bottleneck => 18,
            Self::Loads(units) => u64::from(units),
        }
    }

    /// File, options, end and count. A job of the queue arrives and departs; one of the torus does
    /// so four times in the mean; of 59 485 packets sent and relayed 52 315 are received.
    fn scenario(self) -> (&'static str, Vec<(&'static str, String)>, Option<String>, Count) {
        match self {
            Self::Queue(seconds) => {
                let sets = vec![("record", "[\"sink.count\"]".into()), ("plot", "[]".into())];
                let sets = [sets, vec![("unit.sink.warm_up", "0".into())]].concat();
                ("queue.toml", sets, Some(format!("{seconds} s")), ("sink.count", 2.0))
            }
            Self::Torus(n, ms) => {
                let sets = vec![("torus.n", n.to_string()), ("warm_up", "0".into())];
                let until = Some(format!("{ms} ms"));
                ("network/s4b.toml", sets, until, ("out.count", 8.0))
            }
            Self::Bottleneck => {
                let sets = vec![("record", "[\"collector.count\"]".into()), ("plot", "[]".into())];
                let each = (2.0 * 59_485.0 + 52_315.0) / 52_315.0;
                ("network/s4a.toml", sets, None, ("collector.count", each))
            }
            Self::Loads(units) => {
                let sets = vec![("units", units.to_string())];
                ("grid/s2.toml", sets, None, ("total.switches", 1.0))
            }
        }
    }
}

/// A scenario that is ready to run.
#[expect(missing_debug_implementations, reason = "a simulation of a million models")]
pub struct Run {
    sim: Simulation<Value>,
    stop: i64,
    counter: (String, u16),
    each: f64,
}

impl Run {
    /// Reads the scenario and builds the model.
    ///
    /// # Panics
    /// When the shipped scenario does not load.
    pub fn new(net: Net) -> Self {
        let (file, sets, until, (label, each)) = net.scenario();
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/library");
        let sets: Vec<(String, String)> =
            sets.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let overrides = Overrides { until, ..Overrides::default() };
        let mut plan = superdense::load(&library.join(file), &sets, &overrides)
            .unwrap_or_else(|e| panic!("{e}"));
        let record = plan.record.iter().find(|r| r.label == label).expect("a recorded count");
        let Source::Port { unit, port } = record.source.clone() else { panic!("{label}") };
        let options = Options { resolution: plan.resolution, ..Options::default() };
        let sim = Simulation::new(std::mem::take(&mut plan.model), options).expect("a model");
        Self { sim, stop: plan.stop, counter: (unit, port), each }
    }

    /// The simulation, and the last tick of its run.
    pub fn into_parts(self) -> (Simulation<Value>, i64) {
        (self.sim, self.stop)
    }

    /// Runs to the end; the number of events.
    ///
    /// # Panics
    /// When the run fails.
    pub fn run(&mut self) -> u64 {
        self.sim.run_through(self.stop).expect("shipped scenarios do not fail");
        let (unit, port) = &self.counter;
        let key = self.sim.find(unit).expect("the unit that counts");
        let count = self.sim.probe(key, *port, self.stop).and_then(|v| v.as_real());
        (count.unwrap_or(0.0) * self.each).round() as u64
    }
}

/// The peer's program for a scenario.
///
/// # Errors
/// When it cannot be compiled, or there is none.
pub fn peer(engine: Engine, net: Net) -> Result<Command, String> {
    match (engine, net) {
        (Engine::SimPy, Net::Queue(seconds)) => Ok(on_simpy("queue", 1, f64::from(seconds))),
        (Engine::SimPy, Net::Torus(n, ms)) => Ok(on_simpy("torus", n, f64::from(ms) * 1e-3)),
        (Engine::SimPy, Net::Bottleneck) => Ok(on_simpy("bottleneck", 8, 60.0)),
        (Engine::Ns3, Net::Bottleneck) => ns3().map(Command::new),
        _ => Err(format!("{} has no program for {net:?}", engine.name())),
    }
}

fn on_simpy(load: &str, n: u32, horizon: f64) -> Command {
    let mut python = simpy(include_str!("simpy_peer.py"));
    python.arg(load).arg(n.to_string()).arg(horizon.to_string());
    python
}

/// Whether the headers of ns-3 and a compiler are installed.
pub fn has_ns3() -> bool {
    let cflags = Command::new("pkg-config").args(["--cflags", "ns3-core"]).output();
    let compiler = Command::new("c++").arg("--version").output();
    cflags.is_ok_and(|o| o.status.success()) && compiler.is_ok_and(|o| o.status.success())
}

/// The compiled program of ns-3, beside this one.
fn ns3() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let (program, source) = (own.with_extension("ns3"), own.with_extension("ns3.cc"));
    let text = include_str!("ns3_peer.cc");
    if program.exists() && std::fs::read_to_string(&source).is_ok_and(|old| old == text) {
        return Ok(program);
    }
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let libraries = ["core", "network", "internet", "point-to-point", "traffic-control"];
    let mut compiler = Command::new("c++");
    compiler.arg("-O3").arg("-o").arg(&program).arg(&source);
    compiler.args(libraries.map(|name| format!("-lns3-{name}")));
    let output = compiler.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("ns3: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(program)
}

/// A measurement. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `M/M/1`, `torus`, `S4a`, `S2`.
    pub workload: &'static str,
    /// The size of the workload.
    pub size: String,
    /// `simpy`, `ns3`, or nothing.
    pub peer: &'static str,
    /// Our events per second: arrivals and departures at stations, packets sent and received,
    /// switches.
    pub ours_events_per_s: f64,
    /// The peer's.
    pub peer_events_per_s: f64,
    /// Ours over the peer's.
    pub ratio: f64,
    /// Our peak memory.
    pub ours_peak_bytes: u64,
    /// The peer's.
    pub peer_peak_bytes: u64,
    /// Our peak memory per unit.
    pub ours_bytes_per_unit: f64,
    /// Least ratio that is the target, zero where there is none.
    pub target: f64,
}

impl Row {
    fn new(net: Net, peer: &'static str, ours: Measured, theirs: Option<Measured>) -> Self {
        let (workload, size) = net.label();
        let rate = |m: &Measured| m.events as f64 / m.run_s;
        let peer_rate = theirs.as_ref().map_or(0.0, rate);
        let ratio = if peer_rate > 0.0 { rate(&ours) / peer_rate } else { 0.0 };
        Self {
            workload,
            size,
            peer,
            ours_events_per_s: rate(&ours),
            peer_events_per_s: peer_rate,
            ratio,
            ours_peak_bytes: ours.peak_bytes,
            peer_peak_bytes: theirs.map_or(0, |m| m.peak_bytes),
            ours_bytes_per_unit: ours.peak_bytes as f64 / net.units() as f64,
            target: match (workload, peer) {
                ("S4a", "simpy") => 100.0,
                ("S4a", "ns3") => 3.0,
                _ => 0.0,
            },
        }
    }

    /// Whether the target is met.
    pub fn met(&self) -> bool {
        self.ratio >= self.target
    }
}

/// The line above the table.
pub fn heading() -> String {
    format!(
        "{:<8} {:<18} {:<6} {:>14} {:>14} {:>8} {:>8} {:>8} {:>11}  target",
        "workload",
        "size",
        "peer",
        "ours events/s",
        "peer events/s",
        "ratio",
        "ours MB",
        "peer MB",
        "bytes/unit"
    )
}

/// A row of the table.
pub fn line(row: &Row) -> String {
    let verdict = if row.peer.is_empty() {
        String::new()
    } else {
        format!("ratio >= {}: {}", row.target, if row.met() { "met" } else { "NOT MET" })
    };
    format!(
        "{:<8} {:<18} {:<6} {:>14.0} {:>14.0} {:>8.1} {:>8.1} {:>8.1} {:>11.0}  {verdict}",
        row.workload,
        row.size,
        row.peer,
        row.ours_events_per_s,
        row.peer_events_per_s,
        row.ratio,
        row.ours_peak_bytes as f64 / 1e6,
        row.peer_peak_bytes as f64 / 1e6,
        row.ours_bytes_per_unit
    )
}

/// All comparisons; a quick effort runs short ones and no large scenario alone.
///
/// # Errors
/// A failed child, or one with another number of events.
pub fn suite(effort: Effort, sink: &mut dyn FnMut(Row)) -> Result<(), String> {
    let quick = effort.quick;
    let mut against = |engine: Engine, net: Net| {
        let job = Job::Net(net);
        let (ours, theirs) = compare(job, (engine, job), effort.repetitions(3))?;
        sink(Row::new(net, engine.name(), ours, Some(theirs)));
        Ok::<_, String>(())
    };
    if has_simpy() {
        against(Engine::SimPy, Net::Queue(if quick { 20 } else { 250 }))?;
        against(Engine::SimPy, Net::Torus(10, if quick { 500 } else { 5_000 }))?;
        against(Engine::SimPy, Net::Bottleneck)?;
    } else {
        eprintln!("simpy: skipped, python3 cannot import it; to install: pip install simpy");
    }
    if has_ns3() {
        against(Engine::Ns3, Net::Bottleneck)?;
    } else {
        eprintln!("ns3: skipped, not installed; to install: apt install libns3-dev g++");
    }
    let alone: &[Net] = if quick {
        &[Net::Loads(10_000)]
    } else {
        &[Net::Loads(10_000), Net::Loads(400_000), Net::Torus(317, 1_000)]
    };
    for &net in alone {
        sink(Row::new(net, "", spawn(Engine::Ours, Job::Net(net))?, None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_the_peers_count_the_same_events() {
        let mut rows = Vec::new();
        for net in [Net::Queue(20), Net::Torus(4, 2_000), Net::Bottleneck] {
            rows.push((net, Run::new(net).run()));
        }
        assert_eq!(rows[2].1, 171_285);
        // 2 x 800/s; 16 nodes x 100/s x 8, less what is still inside.
        assert!((rows[0].1 as f64 - 32_000.0).abs() < 2_000.0, "{}", rows[0].1);
        assert!((rows[1].1 as f64 - 25_600.0).abs() < 2_500.0, "{}", rows[1].1);
    }
}
