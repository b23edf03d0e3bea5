//! Wall time per kind of unit, by sampling.
use crate::plan::UnitInfo;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use superdense_kernel::{Simulation, meter::Meter};
use superdense_models::signal::value::Value;

/// One call in so many is measured, since reading a clock costs as much as a small transition. A
/// prime, so that it does not beat with a pattern of the model.
const EVERY: u32 = 61;

/// What was measured of a kind.
#[derive(Debug, Clone, Copy, Default)]
struct Time {
    calls: u64,
    measured: u64,
    spent: Duration,
    longest: Duration,
    /// Since somebody asked which kind is the slowest.
    recent: Duration,
}

/// By the kernel's number of the kind; of all workers.
type Times = Vec<Time>;

/// A meter whose other handle is read at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopwatch {
    times: Arc<Mutex<Times>>,
    /// Every call is measured.
    all: bool,
    /// Calls until the next measured one.
    left: u32,
    since: Option<Instant>,
    /// Since a call was measured last.
    calls: Vec<u64>,
}

impl Meter for Stopwatch {
    #[inline]
    fn enter(&mut self, kind: u16) {
        let kind = usize::from(kind);
        if self.calls.len() <= kind {
            self.calls.resize(kind + 1, 0);
        }
        self.calls[kind] += 1;
        if self.left == 0 {
            self.left = if self.all { 1 } else { EVERY };
            self.since = Some(Instant::now());
        }
        self.left -= 1;
    }

    #[inline]
    fn leave(&mut self, kind: u16) {
        let Some(since) = self.since.take() else { return };
        let spent = since.elapsed();
        let entry = &mut self.hand_over()[usize::from(kind)];
        entry.measured += 1;
        entry.spent += spent;
        entry.longest = entry.longest.max(spent);
        entry.recent += spent;
    }

    fn fork(&self) -> Option<Box<dyn Meter>> {
        let mut fork = Self::default();
        fork.times = Arc::clone(&self.times);
        fork.all = self.all;
        Some(Box::new(fork))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        drop(self.hand_over());
    }
}

impl Stopwatch {
    /// Adds the calls counted here.
    fn hand_over(&mut self) -> MutexGuard<'_, Times> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() < self.calls.len() {
            times.resize(self.calls.len(), Time::default());
        }
        for (entry, calls) in times.iter_mut().zip(&mut self.calls) {
            entry.calls += std::mem::take(calls);
        }
        times
    }

    /// A meter of all calls, or of some of them.
    pub(super) fn new(all: bool) -> Self {
        let mut this = Self::default();
        this.all = all;
        this
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind that took the most measured time since this was asked last.
    pub(super) fn slowest(&self) -> Option<u16> {
        let mut times = self.times();
        let (kind, most) = times.iter().enumerate().max_by_key(|(_, time)| time.recent)?;
        let found = (!most.recent.is_zero()).then_some(kind as u16);
        times.iter_mut().for_each(|time| time.recent = Duration::ZERO);
        found
    }

    /// The registered kind with this number.
    pub(super) fn name(
        &self,
        kind: u16,
        sim: &Simulation<Value>,
        units: &[UnitInfo],
    ) -> Option<String> {
        names(sim, units).remove(&kind)
    }

    /// Estimated seconds by registered kind.
    pub(super) fn seconds(
        &self,
        sim: &Simulation<Value>,
        units: &[UnitInfo],
    ) -> BTreeMap<String, f64> {
        self.by_name(sim, units, |time| {
            let scale = time.calls as f64 / time.measured.max(1) as f64;
            time.spent.as_secs_f64() * scale
        })
    }

    /// Seconds of the longest measured call by registered kind.
    pub(super) fn longest(
        &self,
        sim: &Simulation<Value>,
        units: &[UnitInfo],
    ) -> BTreeMap<String, f64> {
        self.by_name(sim, units, |time| time.longest.as_secs_f64())
    }

    fn by_name(
        &self,
        sim: &Simulation<Value>,
        units: &[UnitInfo],
        of: impl Fn(&Time) -> f64,
    ) -> BTreeMap<String, f64> {
        let times = self.times();
        let named = names(sim, units).into_iter();
        named.filter_map(|(kind, name)| Some((name, of(times.get(usize::from(kind))?)))).collect()
    }
}

/// Registered kinds by the kernel's numbers. Those that share a Rust type are measured together.
fn names(sim: &Simulation<Value>, units: &[UnitInfo]) -> BTreeMap<u16, String> {
    let mut numbers: BTreeMap<&str, u16> = BTreeMap::new();
    for unit in units {
        if !numbers.contains_key(unit.kind)
            && let Some(kind) = sim.kind_of(&unit.path)
        {
            numbers.insert(unit.kind, kind);
        }
    }
    let mut by_number: BTreeMap<u16, String> = BTreeMap::new();
    for (name, number) in numbers {
        let joined = by_number.entry(number).or_default();
        if !joined.is_empty() {
            joined.push('+');
        }
        joined.push_str(name);
    }
    by_number
}
