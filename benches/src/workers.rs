//! Parallel executors on models that are not PHOLD: a network with link delays, a quantised line cut
//! into units, DEVStone with work in its transitions.
use crate::{
    busy,
    devstone::{Devstone, Shape, ours},
    net::{Net, Run},
    phold::median,
};
use serde::Serialize;
use std::{path::Path, time::Instant};
use superdense::{
    Overrides,
    run::executor::{Driver, Executor, Method},
};
use superdense_kernel::{
    Options, Simulation,
    message::Message,
    parallel::{Partition, Statistics},
};
use superdense_models::signal::value::Value;

/// A measurement. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `torus-100x100`, `qss-line`, `devstone-HO-50x50+10us`, ….
    pub workload: String,
    /// `time-warp`, `conservative` or `auto`.
    pub executor: &'static str,
    /// Workers.
    pub workers: u32,
    /// Sequential over parallel time, in the same process and in turn.
    pub speed_up: f64,
    /// Committed over executed transitions.
    pub efficiency: f64,
    /// Share of the transitions that workers executed: the rest went sequentially.
    pub parallel: f64,
}

/// Parts of a run between which `auto` may change its mind: about as long as those of a session.
const SLICES: i64 = 32;

/// All workloads whose names contain `only`; a quick effort runs small ones.
///
/// # Errors
/// A failed run, or one with another trace than the sequential one.
pub fn compare(quick: bool, only: &str, sink: &mut dyn FnMut(Row)) -> Result<(), String> {
    let times = if quick { 1 } else { 3 };
    let (n, ms) = if quick { (10, 200) } else { (100, 1_000) };
    let torus = || Run::new(Net::Torus(n, ms)).into_parts();
    let name = format!("torus-{n}x{n}");
    if name.contains(only) {
        measure(&name, &torus, times, sink)?;
    }
    let until = if quick { "2 s" } else { "50 s" };
    if "qss-line".contains(only) {
        measure("qss-line", &|| line(until), times, sink)?;
    }
    let per_microsecond = busy::per_microsecond();
    let delays: &[u32] = if quick { &[1] } else { &[1, 10, 100] };
    for shape in [Shape::LI, Shape::HI, Shape::HO] {
        for &delay in delays {
            let side = if quick { 5 } else { 50 };
            let work = (f64::from(delay) * per_microsecond).round() as u32;
            let stone = Devstone { shape, width: side, depth: side, work };
            // All of it happens at one tick.
            let build = || (ours::build(stone), 1);
            let workload = format!("devstone-{shape:?}-{side}x{side}+{delay}us");
            if workload.contains(only) {
                measure(&workload, &build, times, sink)?;
            }
        }
    }
    Ok(())
}

/// `continuous/lc_cells.toml`.
fn line(until: &str) -> (Simulation<Value>, i64) {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/library");
    let overrides = Overrides { until: Some(until.to_owned()), ..Overrides::default() };
    let mut plan = superdense::load(&library.join("continuous/lc_cells.toml"), &[], &overrides)
        .unwrap_or_else(|e| panic!("{e}"));
    let options = Options { resolution: plan.resolution, ..Options::default() };
    let sim = Simulation::new(std::mem::take(&mut plan.model), options).expect("a model");
    (sim, plan.stop)
}

fn measure<M: Message>(
    workload: &str,
    build: &dyn Fn() -> (Simulation<M>, i64),
    times: usize,
    sink: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let run = |method: Method| -> Result<(f64, u64, u64, Statistics), String> {
        let (mut sim, stop) = build();
        let executor = Executor { method, workers: Some(2) };
        let mut driver = Driver::new(executor, Partition::Blocks, stop);
        let start = Instant::now();
        // Only `auto` needs parts of a run.
        let slices = if method == Method::Auto { SLICES } else { 1 };
        for slice in 1..=slices {
            let limit = (i128::from(stop) * i128::from(slice) / i128::from(slices)) as i64;
            driver.run_through(&mut sim, limit).map_err(|e| e.to_string())?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let counts = sim.counts();
        let transitions = counts.internal + counts.external + counts.confluent;
        Ok((seconds, sim.trace_hash(), transitions, driver.statistics))
    };
    let methods = [Method::TimeWarp, Method::Conservative, Method::Auto];
    let (mut sequential, mut seconds) = (Vec::new(), [const { Vec::new() }; 3]);
    let mut last = [const { None }; 3];
    for _ in 0..times {
        let (s, hash, ..) = run(Method::Sequential)?;
        sequential.push(s);
        for (i, &method) in methods.iter().enumerate() {
            let (s, found, transitions, did) = run(method)?;
            if found != hash {
                return Err(format!("{workload} under {}: another trace", method.name()));
            }
            seconds[i].push(s);
            last[i] = Some((transitions, did));
        }
    }
    let sequential = median(sequential);
    for ((method, seconds), last) in methods.iter().zip(seconds).zip(last) {
        let Some((transitions, did)) = last else { continue };
        sink(Row {
            workload: workload.to_owned(),
            executor: method.name(),
            workers: 2,
            speed_up: sequential / median(seconds),
            efficiency: did.efficiency(),
            parallel: did.committed as f64 / transitions.max(1) as f64,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_executors_have_the_trace_of_the_sequential_one() {
        let mut rows = Vec::new();
        compare(true, "", &mut |row| rows.push(row)).expect("equal traces");
        assert_eq!(rows.len(), 5 * 3);
        for row in rows {
            assert!(row.speed_up > 0.0 && row.efficiency <= 1.0, "{row:?}");
            // Time Warp runs all that is not for the sequential executor alone.
            let warps = row.executor == "time-warp";
            assert!(!warps || row.parallel > 0.5, "{row:?}");
        }
    }
}
