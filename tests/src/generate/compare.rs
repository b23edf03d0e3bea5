//! Compares what two runs did.
use super::run::{End, Happened, Outcome};
use std::collections::BTreeMap;

/// How far two runs may differ.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Instants of an event, in ticks; 0 demands equal micro-steps and equal order, too.
    pub ticks: i64,
    /// Values at the end, relative to one plus their size.
    pub values: f64,
}

impl Bounds {
    /// Of runs that do the same arithmetic.
    pub const EXACT: Self = Self { ticks: 0, values: 1e-9 };
}

fn show(events: &[Happened]) -> String {
    let shown: Vec<_> =
        events.iter().take(6).map(|e| format!("{} ({}, {})", e.name, e.tick, e.micro)).collect();
    let more = events.len().saturating_sub(6);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if shown.is_empty() { "no event".into() } else { format!("{}{more}", shown.join(", ")) }
}

/// A run in a line.
pub fn summary(run: &Outcome) -> String {
    let end = match &run.end {
        End::Reached => {
            let values: Vec<_> = run.values.iter().map(|v| format!("{v}")).collect();
            format!("values at the end [{}]", values.join(", "))
        }
        End::Refused(why) => format!("refused: {why}"),
        End::Failed(tick, why) => format!("failed at tick {tick}: {why}"),
        End::Cut(tick) => format!("cut off at tick {tick}"),
        End::Panicked(why) => format!("panicked: {why}"),
        End::Hung => "no end within the time limit".into(),
    };
    format!("{} events: {}; {end}", run.events.len(), show(&run.events))
}

/// Up to which tick, excluded, a run can be compared.
fn horizon(run: &Outcome) -> i64 {
    match run.end {
        End::Failed(tick, _) | End::Cut(tick) => tick,
        _ => i64::MAX,
    }
}

/// Events by name, as instants.
pub fn by_name(events: &[Happened]) -> BTreeMap<&str, Vec<i64>> {
    let mut map: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    events.iter().for_each(|e| map.entry(&e.name).or_default().push(e.tick));
    map
}

fn events_differ(a: &[Happened], b: &[Happened], bounds: Bounds) -> Option<String> {
    if bounds.ticks == 0 {
        let pairs = a.iter().zip(b).position(|(a, b)| a != b);
        let at = pairs.or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
        let of = |l: &[Happened]| show(&l[at.min(l.len())..]);
        return Some(format!("event {at}: {} against {}", of(a), of(b)));
    }
    let (left, right) = (by_name(a), by_name(b));
    let names: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
    for name in names {
        let none = Vec::new();
        let (l, r) = (left.get(*name).unwrap_or(&none), right.get(*name).unwrap_or(&none));
        if l.len() != r.len() {
            let few = |l: &[i64]| format!("{:?}", &l[..l.len().min(4)]);
            let (n, m) = (l.len(), r.len());
            return Some(format!("{name} {n} times against {m}: {} and {}", few(l), few(r)));
        }
        if let Some((l, r)) = l.iter().zip(r).find(|(l, r)| (*l - *r).abs() > bounds.ticks) {
            return Some(format!("{name} at tick {l} against {r}"));
        }
    }
    None
}

/// Whether two numbers are equal within a bound; numbers that are none equal each other.
pub fn near(a: f64, b: f64, bound: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= bound * (1.0 + a.abs().max(b.abs()))
}

/// The first difference of two runs, if they differ by more than the bounds.
pub fn difference(a: &Outcome, b: &Outcome, bounds: Bounds) -> Option<String> {
    let kind = |run: &Outcome| match run.end {
        End::Reached => 0,
        End::Refused(_) => 1,
        End::Failed(..) => 2,
        End::Cut(_) => 3,
        End::Panicked(_) => 4,
        End::Hung => 5,
    };
    let cut = matches!(a.end, End::Cut(_)) || matches!(b.end, End::Cut(_));
    if kind(a) != kind(b) && !cut {
        return Some(format!("{} against {}", summary(a), summary(b)));
    }
    let limit = horizon(a).min(horizon(b)).saturating_sub(bounds.ticks);
    let part = |run: &Outcome| -> Vec<Happened> {
        run.events.iter().filter(|e| e.tick < limit).cloned().collect()
    };
    if let Some(found) = events_differ(&part(a), &part(b), bounds) {
        return Some(found);
    }
    if a.end != End::Reached || b.end != End::Reached {
        return None;
    }
    let pairs = a.values.iter().zip(&b.values).enumerate();
    let (k, (x, y)) = pairs.into_iter().find(|(_, (x, y))| !near(**x, **y, bounds.values))?;
    Some(format!("output {k} at the end: {x} against {y}"))
}

/// How far values at the end lie apart, relative to one plus their size, of runs whose events agree within so many ticks;
/// else this is no number.
pub fn apart(a: &Outcome, b: &Outcome, ticks: i64) -> f64 {
    if difference(a, b, Bounds { ticks, values: f64::INFINITY }).is_some() {
        return f64::NAN;
    }
    let of = |(x, y): (&f64, &f64)| (x - y).abs() / (1.0 + x.abs().max(y.abs()));
    a.values.iter().zip(&b.values).map(of).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(events: &[(i64, u32, &str)], values: &[f64], end: End) -> Outcome {
        let event =
            |&(tick, micro, name): &(i64, u32, &str)| Happened { tick, micro, name: name.into() };
        let events = events.iter().map(event).collect();
        Outcome { events, values: values.to_vec(), ..Outcome::of(end) }
    }

    #[test]
    fn events_are_compared_within_bounds() {
        let a = run(&[(5, 0, "a"), (7, 0, "b")], &[1.0], End::Reached);
        let b = run(&[(7, 0, "b"), (6, 1, "a")], &[1.0], End::Reached);
        assert!(difference(&a, &b, Bounds::EXACT).is_some());
        assert!(difference(&a, &b, Bounds { ticks: 1, values: 0.0 }).is_none());
        let c = run(&[(7, 0, "b")], &[1.0], End::Reached);
        assert!(difference(&a, &c, Bounds { ticks: 1, values: 0.0 }).is_some());
    }

    #[test]
    fn failed_runs_are_compared_up_to_the_failure() {
        let a = run(&[(5, 0, "a"), (9, 0, "b")], &[], End::Failed(9, String::new()));
        let b = run(&[(5, 0, "a"), (8, 0, "b")], &[], End::Failed(8, String::new()));
        assert!(difference(&a, &b, Bounds::EXACT).is_none());
        let c = run(&[(5, 0, "a")], &[1.0], End::Reached);
        assert!(difference(&a, &c, Bounds::EXACT).is_some());
    }

    #[test]
    fn values_are_compared_relative_to_their_size() {
        let a = run(&[], &[1e9], End::Reached);
        let b = run(&[], &[1e9 + 1.0], End::Reached);
        assert!(difference(&a, &b, Bounds { ticks: 1, values: 1e-8 }).is_none());
        assert!(difference(&a, &b, Bounds { ticks: 1, values: 1e-10 }).is_some());
    }
}
