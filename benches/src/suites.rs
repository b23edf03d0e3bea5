//! The comparisons: which jobs, against whom, how often.
use crate::{
    bounces::{BOUNCES, Bounces, Flights},
    busy,
    child::{Engine, Job, Measured, PARALLEL, has_simpy, spawn},
    devstone::{Devstone, Shape},
    net::Net,
    report::Row,
    timers::{Increments, Load, Timers},
};

/// How much to run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Smaller models and fewer repetitions: a check that all runs, not a measurement.
    pub quick: bool,
}

impl Effort {
    pub(crate) fn repetitions(self, of: usize) -> usize {
        if self.quick { 1 } else { of }
    }
}

/// Where rows go as they come.
pub type Sink<'a> = &'a mut dyn FnMut(Row);

/// Runs ours and the peer in turn; the medians of both.
pub(crate) fn compare(
    ours: Job,
    peer: (Engine, Job),
    repetitions: usize,
) -> Result<(Measured, Measured), String> {
    let mut runs = (Vec::new(), Vec::new());
    for i in 0..repetitions {
        // Whoever runs first has the colder machine; take turns.
        let peer_first = i % 2 == 1;
        if peer_first {
            runs.1.push(spawn(peer.0, peer.1)?);
        }
        runs.0.push(spawn(Engine::Ours, ours)?);
        if !peer_first {
            runs.1.push(spawn(peer.0, peer.1)?);
        }
    }
    let (mine, theirs) = (median(runs.0), median(runs.1));
    // SimPy draws its own numbers, but for S4a, which is exact. Of queues we count jobs that left,
    // and up to a tenth of the jobs of a short run are still inside.
    let slack = match (peer.0, ours) {
        (_, Job::Net(Net::Bottleneck)) => 0,
        (Engine::SimPy, Job::Net(_)) => mine.events / 5,
        (Engine::SimPy, _) => mine.events / 50,
        // As many timers as expire by then: about as many.
        (_, Job::Exchange(_)) => mine.events / 50,
        _ => 0,
    };
    if mine.events.abs_diff(theirs.events) > slack {
        let (name, other) = (peer.0.name(), theirs.events);
        return Err(format!("{ours:?}: {} events, but {name} counts {other}", mine.events));
    }
    Ok((mine, theirs))
}

fn median(mut runs: Vec<Measured>) -> Measured {
    let middle = runs.len() / 2;
    let mut of = |key: fn(&Measured) -> f64| {
        runs.sort_by(|a, b| key(a).total_cmp(&key(b)));
        runs[middle]
    };
    let (build_s, run_s) = (of(|m| m.build_s).build_s, of(|m| m.run_s).run_s);
    let peak_bytes = of(|m| m.peak_bytes as f64).peak_bytes;
    Measured { build_s, run_s, peak_bytes, events: runs[0].events }
}

fn row(workload: String, size: &str, peer: Engine, ours_s: f64, m: (Measured, Measured)) -> Row {
    Row {
        workload,
        size: size.into(),
        ours_s,
        peer: peer.name(),
        peer_s: m.1.run_s,
        ratio: m.1.run_s / ours_s,
        ours_peak_bytes: m.0.peak_bytes,
        peer_peak_bytes: m.1.peak_bytes,
    }
}

/// DEVStone against xdevs; built with xdevs' parallel features, ours under `auto` with delays only.
///
/// # Errors
/// A failed child.
pub fn devstone(effort: Effort, sink: Sink<'_>) -> Result<(), String> {
    use Shape::{HI, HO, HOmod, LI};
    let mut run = |shape, size: usize, work, suffix: &str, times| {
        let job = Job::Devstone(Devstone { shape, width: size, depth: size, work });
        let m = compare(job, (Engine::Xdevs, job), effort.repetitions(times))?;
        let (name, size) = (format!("{}{suffix}", shape.name()), format!("{size}x{size}"));
        let row = |name, ours_s| row(name, &size, Engine::Xdevs, ours_s, m);
        sink(row(name.clone(), m.0.run_s));
        if work == 0 {
            sink(row(format!("{name}-build"), m.0.build_s));
        }
        Ok::<_, String>(())
    };
    if !PARALLEL {
        let large = if effort.quick { 100 } else { 300 };
        run(LI, large, 0, "", 7)?;
        run(HI, large, 0, "", 3)?;
        run(HO, large, 0, "", 3)?;
        run(HOmod, if effort.quick { 10 } else { 20 }, 0, "", 5)?;
        if !effort.quick {
            run(HOmod, 30, 0, "", 5)?;
            run(LI, 1001, 0, "-1e6", 1)?;
        }
    }
    let per_microsecond = busy::per_microsecond();
    let delays: &[u32] = if effort.quick { &[10] } else { &[1, 10, 100] };
    for &delay in delays {
        let work = (f64::from(delay) * per_microsecond).round() as u32;
        let suffix = format!("{}+{delay}us", if PARALLEL { "-auto" } else { "" });
        let times = if delay == 100 { 3 } else { 5 };
        for (shape, size) in [(LI, 50), (HI, 50), (HO, 50), (HOmod, 10)] {
            run(shape, if effort.quick { size / 5 } else { size }, work, &suffix, times)?;
        }
    }
    Ok(())
}

/// An exchange between two trivial units through a coupling, Jacobi, against an event of a bare heap
/// with 1024 timers (pop and push): both for as many events.
///
/// # Errors
/// A failed child.
pub fn exchange(effort: Effort, sink: Sink<'_>) -> Result<(), String> {
    let events = if effort.quick { 100_000 } else { 2_000_000 };
    let (load, increments) = (Load::Hold, Increments::Exponential);
    let timers = Timers { load, entities: 1024, events: events.into(), increments };
    let (ours, peer) = (Job::Exchange(events), (Engine::BareHeap, Job::Timers(timers)));
    let m = compare(ours, peer, effort.repetitions(9))?;
    sink(row("exchange".into(), "2", Engine::BareHeap, m.0.run_s, m));
    Ok(())
}

/// The bounces of a ball against a loop by hand, whose ratio is the share of our time that it takes.
///
/// # Errors
/// A failed child.
pub fn bounces(effort: Effort, sink: Sink<'_>) -> Result<(), String> {
    for text in [false, true] {
        for flights in Flights::ALL {
            let bounces = Bounces { text, flights };
            let job = Job::Bounces(bounces);
            let m = compare(job, (Engine::BareLoop, job), effort.repetitions(9))?;
            let size = BOUNCES.to_string();
            sink(row(bounces.name(), &size, Engine::BareLoop, m.0.run_s, m));
        }
    }
    Ok(())
}

/// Hold or ring against everyone, and for hold the event lists alone.
///
/// # Errors
/// A failed child.
pub fn timers(load: Load, effort: Effort, sink: Sink<'_>) -> Result<(), String> {
    let name = if load == Load::Hold { "hold" } else { "ring" };
    let sizes: &[u32] = if effort.quick { &[1024] } else { &[1024, 65536] };
    let million = if effort.quick { 100_000 } else { 1_000_000 };
    let times = effort.repetitions(5);
    let simpy = has_simpy();
    if !simpy {
        eprintln!("simpy: skipped, python3 cannot import it; to install: pip install simpy");
    }
    for &entities in sizes {
        let size = entities.to_string();
        let mut run = |workload: String, ours: Job, engine, peer| {
            let m = compare(ours, (engine, peer), times)?;
            sink(row(workload, &size, engine, m.0.run_s, m));
            Ok::<_, String>(())
        };
        for increments in Increments::ALL {
            let job = Job::Timers(Timers { load, entities, events: 4 * million, increments });
            run(format!("{name}{}", increments.suffix()), job, Engine::BareHeap, job)?;
        }
        let peers = [(Engine::Nexosim, million), (Engine::SimPy, million / 2)];
        for (engine, events) in peers {
            if engine != Engine::SimPy || simpy {
                let increments = Increments::Exponential;
                let job = Job::Timers(Timers { load, entities, events, increments });
                run(name.into(), job, engine, job)?;
            }
        }
        // xdevs visits every model for every event: 65 536 of them take minutes.
        if entities == 1024 {
            let increments = Increments::Exponential;
            let job = Job::Timers(Timers { load, entities, events: million / 10, increments });
            run(name.into(), job, Engine::Xdevs, job)?;
        }
        if load == Load::Hold {
            for (kind, list) in ["ladder", "heap", "priority-queue"].into_iter().enumerate() {
                for increments in Increments::ALL {
                    let timers = Timers { load, entities, events: 4 * million, increments };
                    let job = Job::List(timers, kind as u8);
                    let workload = format!("hold-list-{list}{}", increments.suffix());
                    run(workload, job, Engine::BareHeap, job)?;
                }
            }
        }
    }
    Ok(())
}
