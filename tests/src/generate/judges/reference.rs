//! The independent reference simulator: what it decides must happen.
use super::{Case, Finding, Judge, Opinion, errors, rounding};
use crate::generate::{
    compare::{near, summary},
    run::{End, Outcome, Runner},
    settings::Method,
    tree,
};
use superdense_judge::model::{Event, Trigger};
use superdense_judge::{
    Failure, Limits, Place, Reason, Run, Uncertainty, Undecided, Verdict, judge,
};

/// The judge by the reference simulator.
#[derive(Debug)]
pub struct Reference;

/// What the judge is told of the errors of a method.
fn limits(case: &Case) -> Limits {
    let s = &case.settings;
    let algebraic = case.model.units.iter().any(|u| !u.algebraic.is_empty());
    let (relative, absolute) = match s.method {
        // Beside algebraic equations it is a method like others, by its tolerances.
        Method::Closed if !algebraic => (1e-11, 1e-12),
        Method::Rk4 => (1e-3, 1e-4),
        m if m.is_quantised() => (300.0 * s.relative, 300.0 * s.absolute),
        Method::Auto => (1e3 * s.relative, 1e3 * s.absolute),
        _ => (1e3 * s.relative, 1e3 * s.absolute),
    };
    // What is exchanged has an error of its own.
    let wired = if case.model.wires.is_empty() { 0.0 } else { 100.0 * s.exchange };
    let exact_degree = match s.method {
        // The solution of algebraic equations is as good as the tolerance; the end of a step at a late time is rounded.
        _ if algebraic || tree::is_late(&case.model) => 0,
        Method::Rk23 | Method::Qss2 | Method::Liqss2 | Method::Auto => 1,
        m if m.is_quantised() => 0,
        _ => 3,
    };
    // Sums of doubles over the steps: the slack of the conformance tables.
    let ticks = match case.model.resolution {
        15 => 1000.0,
        12 => 0.5,
        _ => Uncertainty::default().ticks,
    };
    let own = match s.method {
        Method::Closed | Method::Rk4 => 0.0,
        m if m.is_quantised() => 0.0,
        _ => 30.0 * s.absolute,
    };
    // A time far from zero is rounded itself, and with it what follows the time.
    let stop = case.model.stop.numerator as f64 / case.model.stop.denominator as f64;
    let follows = if rounding::reads_time(&case.model) { stop } else { 0.0 };
    let absolute = absolute + wired + f64::EPSILON * follows;
    let uncertainty = Uncertainty { relative, absolute, exact_degree, ticks, own };
    Limits { effort: 1_000_000, events: 25_000, uncertainty, ..Limits::default() }
}

/// Whether the rules demand that a run of this ends in the error `why`: whatever errors a method makes; or, where these
/// leave open which way the run goes on, for numbers without errors.
pub fn demands_error(case: &Case, why: &str) -> bool {
    match judge(&case.model, &limits(case), &[]) {
        Verdict::Error(_) => true,
        Verdict::Run(_) => false,
        Verdict::Undecided(_) if errors::rests_in_part(case, why) => true,
        Verdict::Undecided(_) => match judge(&case.model, &exact(case), &[]) {
            // Of events that accumulate it says how many there are, and no more.
            Verdict::Run(run) => {
                errors::tick(why, case.model.resolution).is_some_and(|tick| fell(&run, tick, why))
            }
            verdict => errors::is_right(case, why, &verdict),
        },
    }
}

/// The judge takes its own numbers for those of the run.
fn exact(case: &Case) -> Limits {
    let limits = limits(case);
    let none =
        Uncertainty { relative: 0.0, absolute: 0.0, ticks: 0.0, own: 0.0, ..limits.uncertainty };
    Limits { effort: 8 * limits.effort, uncertainty: none, ..limits }
}

/// Whether rounding decides how a run of this goes on: what comes before is for the judge itself to compare.
pub(super) fn hangs_on_rounding(case: &Case) -> bool {
    let verdict = judge(&case.model, &limits(case), &[]);
    matches!(verdict, Verdict::Undecided(Undecided { reason: Reason::Sign, .. }))
}

/// Whether a run of this takes the judge more work than it may do, too: a value that grows beyond bounds passes one
/// whole number after the other.
pub fn is_endless(case: &Case) -> bool {
    let verdict = judge(&case.model, &limits(case), &[]);
    matches!(verdict, Verdict::Undecided(Undecided { reason: Reason::Effort, .. }))
}

fn name(happened: &superdense_judge::Happened) -> String {
    match happened.place {
        Place::Unit(u, ..) => format!("u{u}.{}", happened.name),
        Place::Link(_) => happened.name.clone(),
    }
}

/// The first event, before tick `until`, that is not as the judge says.
fn events_differ(base: &Outcome, run: &Run, until: i64) -> Option<String> {
    // Events whose latest instant is the border may be missing, or be seen.
    let mut right: Vec<_> = run.happened.iter().filter(|h| h.tick.lo < until).collect();
    let seen: Vec<_> = base.events.iter().filter(|e| e.tick < until).collect();
    for event in &seen {
        let fits = |h: &&superdense_judge::Happened| {
            h.tick.lo <= event.tick && event.tick <= h.tick.hi && name(h) == event.name
        };
        let Some(at) = right.iter().position(fits) else {
            return Some(format!(
                "{} ({}, {}) does not happen",
                event.name, event.tick, event.micro
            ));
        };
        let found = right.remove(at);
        if found.tick.lo == found.tick.hi && !found.ordered && found.micro != event.micro {
            return Some(format!(
                "{} at tick {} at micro-step {}, not {}",
                event.name, event.tick, found.micro, event.micro
            ));
        }
    }
    let lost = right.iter().find(|h| h.tick.hi < until)?;
    Some(format!("{} is missing, at ticks {} to {}", name(lost), lost.tick.lo, lost.tick.hi))
}

/// The tick from which events of a name accumulate: the next one lies within the doubt of the one before.
fn crowded(run: &Run) -> i64 {
    let accumulates = |pair: &&[superdense_judge::Happened]| {
        let [a, b] = pair else { return false };
        let doubt = a.tick.hi - a.tick.lo;
        doubt > 0 && name(a) == name(b) && b.tick.lo <= a.tick.hi + doubt
    };
    run.happened.windows(2).find(accumulates).map_or(i64::MAX, |pair| pair[0].tick.lo)
}

/// Whether a difference is about an event whose band of `touching` is no wider than what a step may be off by, so that a
/// value may seem to turn back in it.
fn is_in_narrow_band(case: &Case, difference: &str) -> bool {
    let s = &case.settings;
    let narrow = |e: &Event| match &e.trigger {
        Trigger::When { touching, .. } | Trigger::Crossing { touching, .. } => {
            touching.is_some_and(|band| band <= 10.0 * (s.relative + s.absolute))
        }
        _ => false,
    };
    let named = |(u, e): (usize, &Event)| difference.starts_with(&format!("u{u}.{} ", e.name));
    let events = case.model.units.iter().enumerate();
    events
        .flat_map(|(u, unit)| tree::events(unit).map(move |e| (u, e)))
        .any(|e| narrow(e.1) && named(e))
}

/// Whether the error is that of an event that came ever faster, and which does not come again, unless another one sets
/// its unit going.
fn fell(run: &Run, tick: i64, why: &str) -> bool {
    let unit = |h: &superdense_judge::Happened| match h.place {
        Place::Unit(u, ..) => Some(u),
        Place::Link(_) => None,
    };
    let named = |h: &&superdense_judge::Happened| why.contains(&format!("event `{}`", h.name));
    let Some(at) = run.happened.iter().find(named).map(unit) else { return false };
    let beside = |h: &&superdense_judge::Happened| unit(h).is_none_or(|u| Some(u) == at);
    let next = run.happened.iter().filter(beside).find(|h| h.tick.lo > tick);
    let often = run.happened.iter().filter(named).count() > 2;
    why.contains("has fallen through") && often && !next.is_some_and(|h| named(&h))
}

fn values_differ(case: &Case, base: &Outcome, run: &Run) -> Option<String> {
    // Where earlier errors die out, those of the last steps are left.
    let last = |end: f64| match case.settings.method {
        Method::Closed => 1e-9 * (1.0 + end.abs()),
        _ => 10.0 * (case.settings.absolute + case.settings.relative * end.abs()),
    };
    let outputs = run.end.iter().flat_map(|u| &u.outputs);
    let mut pairs = base.values.iter().zip(outputs).enumerate();
    // Zeros of sums of zeros are exact for the judge.
    let outside = |v: f64, e: &superdense_judge::Enclosure| {
        let close = |end: f64| near(v, end, 1e-9) || (v - end).abs() <= last(end);
        !e.contains(v) && !close(e.lo) && !close(e.hi)
    };
    let (k, (seen, right)) = pairs.find(|(_, (v, e))| outside(**v, e))?;
    Some(format!("output {k} is {seen}, not in {} to {}", right.lo, right.hi))
}

fn show(run: &Run) -> String {
    let of = |h: &superdense_judge::Happened| {
        let ticks = if h.tick.lo == h.tick.hi {
            format!("{}", h.tick.lo)
        } else {
            format!("{}..={}", h.tick.lo, h.tick.hi)
        };
        format!("{} ({ticks}, {})", name(h), h.micro)
    };
    let list: Vec<_> = run.happened.iter().take(6).map(of).collect();
    let outputs = run.end.iter().flat_map(|u| &u.outputs).map(|e| format!("{}", e.middle()));
    let outputs: Vec<_> = outputs.collect();
    format!(
        "by the reference simulator {} events: {}; values at the end [{}]",
        run.happened.len(),
        if list.is_empty() { "no event".into() } else { list.join(", ") },
        outputs.join(", ")
    )
}

fn finding(base: &Outcome, run: &Run, difference: String) -> Opinion {
    Opinion::Disagrees(Finding { seen: summary(base), right: show(run), difference })
}

impl Judge for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }
    fn share(&self) -> usize {
        100
    }
    fn judge(&self, case: &Case, base: &Outcome, _: &Runner) -> Opinion {
        if matches!(base.end, End::Refused(_)) {
            return Opinion::Skipped("refused");
        }
        let cut = match base.end {
            End::Cut(tick) | End::Failed(tick, _) => tick,
            _ => i64::MAX,
        };
        match judge(&case.model, &limits(case), &[]) {
            Verdict::Run(run) => {
                let crowded = crowded(&run);
                let found = events_differ(base, &run, cut.min(crowded));
                if found.is_none() && crowded < i64::MAX {
                    return Opinion::Undecided("events accumulate".into());
                }
                if found.as_ref().is_some_and(|d| is_in_narrow_band(case, d)) {
                    return Opinion::Undecided("a touch within the error of a step".into());
                }
                if found.is_none() && rounding::is_out_of_domain(base) {
                    return Opinion::Undecided("at the border of a domain".into());
                }
                let failed = match &base.end {
                    // No rule of instants and values: only that the event does not come again.
                    End::Failed(tick, why) if fell(&run, *tick, why) => None,
                    End::Failed(_, why) => Some(format!("the run ends in an error: {why}")),
                    _ => None,
                };
                let ends = matches!(base.end, End::Failed(..));
                let values = || (!ends).then(|| values_differ(case, base, &run)).flatten();
                let other = found.is_some() || failed.is_some();
                let found = found.or(failed).or_else(values);
                if found.is_some() && !other && base.hears_late() {
                    return Opinion::Undecided("ticks are too coarse for the signal".into());
                }
                found.map_or(Opinion::Agrees, |d| finding(base, &run, d))
            }
            Verdict::Undecided(Undecided { detail, until, run, reason }) => {
                match events_differ(base, &run, until.min(cut).min(crowded(&run))) {
                    Some(d) => {
                        let d = format!("{d} (decided before tick {until}: {reason:?}, {detail})");
                        finding(base, &run, d)
                    }
                    None => Opinion::Undecided(format!("{reason:?}: {detail}")),
                }
            }
            Verdict::Error(Failure { message, time, run, .. }) => {
                match events_differ(base, &run, time.lo.min(cut).min(crowded(&run))) {
                    Some(d) => finding(base, &run, d),
                    None if base.end == End::Reached => {
                        finding(base, &run, format!("the run should end in an error: {message}"))
                    }
                    None => Opinion::Agrees,
                }
            }
        }
    }
}
