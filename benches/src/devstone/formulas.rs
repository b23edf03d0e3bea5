//! The closed formulas of DEVStone.
use super::{Devstone, Shape};

/// Counts of a DEVStone model, by formula. The seeder and its couplings do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Atomic models.
    pub atomics: u64,
    /// External input couplings.
    pub eic: u64,
    /// Internal couplings.
    pub ic: u64,
    /// External output couplings.
    pub eoc: u64,
    /// Internal transitions, and external ones: as many.
    pub transitions: u64,
    /// Messages that reach an atomic.
    pub events: u64,
    /// Cycles at t = 0, where the formula is known (w, d ≥ 2).
    pub cycles: Option<u64>,
}

/// The formulas, for w, d ≥ 1.
pub fn expected(model: Devstone) -> Expected {
    let (w, d) = (model.width as u64, model.depth as u64);
    let row = w - 1;
    let levels = d - 1;
    let chains = row.saturating_sub(1) * levels;
    let high = levels * w * row / 2 + 1;
    let (atomics, eic, ic, eoc, transitions, cycles) = match model.shape {
        Shape::LI => (row * levels + 1, w * levels + 1, 0, d, row * levels + 1, 2),
        Shape::HI => (row * levels + 1, w * levels + 1, chains, d, high, w),
        Shape::HO => (row * levels + 1, (w + 1) * levels + 1, chains, w * levels + 1, high, w),
        Shape::HOmod => (
            (row + w * row / 2) * levels + 1,
            (2 * row + 1) * levels + 1,
            (row * row + w * row / 2) * levels,
            d,
            homod_transitions(w, d),
            row * levels + d,
        ),
    };
    let events = if model.shape == Shape::HOmod { homod_events(w, d) } else { transitions };
    let cycles = (w > 1 && d > 1).then_some(cycles);
    Expected { atomics, eic, ic, eoc, transitions, events, cycles }
}

fn homod_transitions(w: u64, d: u64) -> u64 {
    let row = w - 1;
    let level = |k: u64| {
        let hits = (k - 1) * row;
        (1 + hits) * w * row / 2 + row * (w + hits)
    };
    1 + (1..d).map(level).sum::<u64>()
}

fn homod_events(w: u64, d: u64) -> u64 {
    if w == 1 || d == 1 {
        return 1;
    }
    let row = w - 1;
    let a: u64 = (2..d).map(|i| 1 + (i - 1) * row).sum();
    1 + 2 * row + 2 * a * row * row + (a + 1) * (row * row + row * (w - 2) / 2)
}
