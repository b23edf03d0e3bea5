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

/// Calls, measured calls and their time, by the kernel's number of the kind; of all workers.
type Times = Vec<(u64, u64, Duration)>;

/// A meter whose other handle is read at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopwatch {
    times: Arc<Mutex<Times>>,
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
            self.left = EVERY;
            self.since = Some(Instant::now());
        }
        self.left -= 1;
    }

    #[inline]
    fn leave(&mut self, kind: u16) {
        let Some(since) = self.since.take() else { return };
        let spent = since.elapsed();
        let entry = &mut self.hand_over()[usize::from(kind)];
        entry.1 += 1;
        entry.2 += spent;
    }

    fn fork(&self) -> Option<Box<dyn Meter>> {
        let mut fork = Self::default();
        fork.times = Arc::clone(&self.times);
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
            times.resize(self.calls.len(), (0, 0, Duration::ZERO));
        }
        for (entry, calls) in times.iter_mut().zip(&mut self.calls) {
            entry.0 += std::mem::take(calls);
        }
        times
    }

    /// Estimated seconds by registered kind.
    pub(super) fn seconds(
        &self,
        sim: &Simulation<Value>,
        units: &[UnitInfo],
    ) -> BTreeMap<String, f64> {
        let mut names: BTreeMap<&str, u16> = BTreeMap::new();
        for unit in units {
            if !names.contains_key(unit.kind)
                && let Some(kind) = sim.kind_of(&unit.path)
            {
                names.insert(unit.kind, kind);
            }
        }
        // Registered kinds that share a Rust type are measured together.
        let mut by_number: BTreeMap<u16, String> = BTreeMap::new();
        for (name, number) in names {
            let joined = by_number.entry(number).or_default();
            if !joined.is_empty() {
                joined.push('+');
            }
            joined.push_str(name);
        }
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seconds = BTreeMap::new();
        for (number, name) in by_number {
            if let Some((calls, measured, spent)) = times.get(usize::from(number)).copied() {
                let scale = calls as f64 / measured.max(1) as f64;
                seconds.insert(name, spent.as_secs_f64() * scale);
            }
        }
        seconds
    }
}
