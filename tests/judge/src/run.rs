//! Runs a model: connected units together, others apart.
use crate::model::{Instant, Model};
use crate::sim::{Sim, Stop};
use crate::system::{self, System};
use crate::verdict::{
    Failure, Limits, Place, Reason, Run, Sample, Ticks, Undecided, UnitEnd, Verdict,
};

/// What becomes of connected units.
struct Part {
    units: Vec<usize>,
    run: Run,
    stop: Option<Stop>,
    /// Everything before is certain.
    until: i64,
}

/// See [`crate::judge`].
pub(crate) fn judge(model: &Model, limits: &Limits, samples: &[Instant]) -> Verdict {
    let tick = |i: &Instant| system::tick(model, i.numerator.into(), i.denominator.into());
    let mut wanted: Vec<i64> = samples.iter().map(tick).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let groups = system::groups(model);
    let parts: Vec<Part> = groups.iter().map(|g| part(model, limits, g, &wanted)).collect();
    merge(model, parts)
}

fn part(model: &Model, limits: &Limits, units: &[usize], wanted: &[i64]) -> Part {
    let system = System::new(model, units);
    match system.held + 1 {
        0..=4 => sized::<4>(&system, model, limits, wanted),
        5..=8 => sized::<8>(&system, model, limits, wanted),
        9..=16 => sized::<16>(&system, model, limits, wanted),
        17..=32 => sized::<32>(&system, model, limits, wanted),
        _ => Part {
            units: units.to_vec(),
            run: Run::default(),
            stop: Some(Stop::Undecided(Reason::Unsupported, "too many variables".into())),
            until: 0,
        },
    }
}

fn sized<const M: usize>(system: &System, model: &Model, limits: &Limits, wanted: &[i64]) -> Part {
    let mut sim = Sim::<M>::new(system, model, limits, wanted.to_vec());
    let result = sim.go();
    let Ticks { lo, hi } = sim.range;
    // Just before a solution ends, its errors may set off what it does not.
    let ends = matches!(result, Err(Stop::Undecided(Reason::Singular, _)));
    let until = match sim.busy {
        true if ends => sim.earlier.lo + 1,
        // Cycles that were not finished are not certain.
        true => lo,
        // If the last ones lie at the earliest of their ticks, others may follow at a later one.
        false if ends || sim.tick <= hi => lo + 1,
        false => sim.tick + 1,
    };
    Part { units: system.units.clone(), run: sim.run, stop: result.err(), until }
}

fn merge(model: &Model, parts: Vec<Part>) -> Verdict {
    let until = parts.iter().filter(|p| p.stop.is_some()).map(|p| p.until).min();
    let mut run = Run::default();
    let mut stop: Option<(i64, Stop)> = None;
    let mut ends = vec![None; model.units.len()];
    let mut samples: Vec<Sample> = Vec::new();
    let mut units: Vec<Vec<(usize, UnitEnd)>> = Vec::new();
    let shortest = parts.iter().map(|p| p.run.samples.len()).min().unwrap_or(0);
    for part in parts {
        run.happened.extend(part.run.happened);
        run.near.extend(part.run.near);
        for (unit, end) in part.units.iter().zip(part.run.end) {
            ends[*unit] = Some(end);
        }
        for (i, sample) in part.run.samples.into_iter().take(shortest).enumerate() {
            if samples.len() <= i {
                let (tick, ambiguous) = (sample.tick, false);
                samples.push(Sample { tick, ambiguous, units: Vec::new() });
                units.push(Vec::new());
            }
            samples[i].ambiguous |= sample.ambiguous;
            units[i].extend(part.units.iter().copied().zip(sample.units));
        }
        if let Some(new) = part.stop {
            // An error comes before what is not known later.
            if stop.as_ref().is_none_or(|old| part.until < old.0) {
                stop = Some((part.until, new));
            }
        }
    }
    for (sample, mut list) in samples.iter_mut().zip(units) {
        list.sort_by_key(|pair| pair.0);
        sample.units = list.into_iter().map(|pair| pair.1).collect();
    }
    if let Some(until) = until {
        // Events that may lie behind are certain, but not when.
        run.happened.retain(|h| h.tick.lo < until);
        samples.retain(|s| s.tick < until);
    }
    let unit = |place: &Place| match place {
        Place::Unit(u, ..) => (0, *u),
        Place::Link(l) => (1, *l),
    };
    run.happened.sort_by_key(|h| (h.tick.lo, h.micro, unit(&h.place)));
    run.samples = samples;
    match stop {
        None => {
            run.end = ends.into_iter().flatten().collect();
            Verdict::Run(run)
        }
        Some((until, Stop::Undecided(reason, detail))) => {
            Verdict::Undecided(Undecided { reason, detail, until, run })
        }
        Some((_, Stop::Fail(kind, message, time))) => {
            Verdict::Error(Failure { kind, message, time, run })
        }
    }
}
