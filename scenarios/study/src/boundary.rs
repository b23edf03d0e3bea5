//! The search for where a condition changes along one parameter.
//!
//! Nine points over the range show where the condition changes; each change is quartered until its two
//! sides are one step apart. All changes are reported, as far as nine points see them. Where runs are
//! random a point counts once its interval excludes the limit; points that stay unsure form a band, whose two
//! edges are searched for instead.
use crate::{Interval, Method, Point, Range, interval, replicate::LEVEL};

/// Points of the first look.
const SCAN: usize = 9;

/// The word of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Whether the condition holds.
    pub holds: bool,
    /// By how much, where it is one comparison of numbers: above zero if it holds.
    pub margin: Option<f64>,
}

/// The word of the replicates of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The condition holds.
    Holds,
    /// It does not.
    Fails,
    /// The interval contains the limit.
    Unsure,
}

/// The verdict of some runs of a point; nothing without any.
///
/// One run is believed. Of several, the mean margin has to be away from zero with Student's interval; where
/// there are no margins, the share of runs in which the condition holds has to be away from one half, with
/// Wilson's.
pub fn verdict(runs: &[Judged]) -> Option<Verdict> {
    let first = runs.first()?;
    let margins: Option<Vec<f64>> = runs.iter().map(|run| run.margin).collect();
    let held = runs.iter().filter(|run| run.holds).count();
    let side = match margins {
        _ if runs.len() == 1 => Some(first.holds),
        Some(margins) => match interval::mean(&margins, LEVEL) {
            Interval { low: 0.0, high: 0.0, .. } => Some(first.holds),
            interval => interval.side_of(0.0),
        },
        None => interval::share(held, runs.len(), LEVEL).side_of(0.5),
    };
    Some(match side {
        Some(true) => Verdict::Holds,
        Some(false) => Verdict::Fails,
        None => Verdict::Unsure,
    })
}

/// A change between two points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The last value below of which the verdict is certain, unless the band begins with the range.
    pub below: Option<f64>,
    /// The first value above of which it is.
    pub above: Option<f64>,
    /// Whether the condition holds below and fails above.
    pub falls: bool,
    /// The first and the last unsure value between, if there are any.
    pub band: Option<[f64; 2]>,
}

impl Change {
    /// The value next to the change at which the condition holds.
    pub fn holds(&self) -> Option<f64> {
        if self.falls { self.below } else { self.above }
    }

    /// The value next to the change at which it fails.
    pub fn fails(&self) -> Option<f64> {
        if self.falls { self.above } else { self.below }
    }
}

/// A search along one parameter.
#[derive(Debug, Clone)]
pub struct Boundary {
    range: Range,
    /// Of the round that is not yet told.
    asked: Vec<f64>,
    /// Values that were told, in ascending order; without a verdict where a run failed.
    found: Vec<(f64, Option<Verdict>)>,
}

impl Boundary {
    /// A search that has not begun.
    pub fn new(range: Range) -> Self {
        let mut asked = range.levels(SCAN);
        asked.sort_by(f64::total_cmp);
        asked.dedup();
        Self { range, asked, found: Vec::new() }
    }

    /// The points so far, with their verdicts.
    pub fn found(&self) -> &[(f64, Option<Verdict>)] {
        &self.found
    }

    /// Whether some run failed, so that the answer may miss a change.
    pub fn incomplete(&self) -> bool {
        self.found.iter().any(|f| f.1.is_none())
    }

    /// First and last value without a certain verdict that lie between two points of one verdict, and so in the band of
    /// no change.
    pub fn unsure(&self) -> Option<[f64; 2]> {
        let (mut last, mut band, mut all): (Option<Verdict>, Option<[f64; 2]>, _) =
            (None, None, None);
        for &(x, verdict) in &self.found {
            match verdict {
                None => {}
                Some(Verdict::Unsure) => band = Some([band.map_or(x, |b| b[0]), x]),
                Some(certain) => {
                    if let Some([a, b]) = band.take().filter(|_| last == Some(certain)) {
                        all = Some([all.map_or(a, |all: [f64; 2]| all[0]), b]);
                    }
                    last = Some(certain);
                }
            }
        }
        all
    }

    /// All changes from the lowest on.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let (mut last, mut band): (Option<(f64, bool)>, Option<[f64; 2]>) = (None, None);
        for &(x, verdict) in &self.found {
            let holds = match verdict {
                None => continue,
                Some(Verdict::Unsure) => {
                    band = Some([band.map_or(x, |b| b[0]), x]);
                    continue;
                }
                Some(certain) => certain == Verdict::Holds,
            };
            let from = last.replace((x, holds));
            let band = band.take();
            match from {
                Some((below, held)) if held != holds => {
                    changes.push(Change { below: Some(below), above: Some(x), falls: held, band });
                }
                None if band.is_some() => {
                    changes.push(Change { below: None, above: Some(x), falls: !holds, band });
                }
                _ => {}
            }
        }
        if band.is_some() {
            let falls = last.is_none_or(|l| l.1);
            changes.push(Change { below: last.map(|l| l.0), above: None, falls, band });
        }
        changes
    }

    /// Points that halve the distance of each change twice.
    fn next(&self) -> Vec<f64> {
        let mut next = Vec::new();
        for change in self.changes() {
            let gaps = match change.band {
                None => [(change.below, change.above), (None, None)],
                Some([first, last]) => [(change.below, Some(first)), (Some(last), change.above)],
            };
            for (a, b) in gaps.into_iter().filter_map(|(a, b)| Some((a?, b?))) {
                let quarters = [0.25, 0.5, 0.75].map(|u| self.range.rounded(a + (b - a) * u));
                next.extend(quarters.into_iter().filter(|x| a < *x && *x < b));
            }
        }
        if matches!(self.range, Range::Values(_)) {
            next.clear();
        }
        next.sort_by(f64::total_cmp);
        next.dedup();
        next.retain(|x| self.found.iter().all(|f| f.0 != *x));
        next
    }
}

impl Method for Boundary {
    type Told = Judged;

    fn ask(&mut self) -> Vec<Point> {
        self.asked.iter().map(|x| vec![*x]).collect()
    }

    fn tell(&mut self, told: &[Vec<Option<Judged>>]) {
        for (x, runs) in self.asked.drain(..).zip(told) {
            let all: Option<Vec<Judged>> = runs.iter().copied().collect();
            self.found.push((x, all.and_then(|runs| verdict(&runs))));
        }
        self.found.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.asked = self.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Replication, Step};

    fn search(range: Range, run: impl Fn(f64) -> Vec<Option<Judged>>) -> (Boundary, usize) {
        let (mut boundary, mut points) = (Boundary::new(range), 0);
        loop {
            let round = boundary.ask();
            if round.is_empty() {
                return (boundary, points);
            }
            points += round.len();
            assert!(points < 1000, "{:?}", boundary.changes());
            let told: Vec<_> = round.iter().map(|p| run(p[0])).collect();
            boundary.tell(&told);
        }
    }

    fn delays() -> Range {
        Range::Interval { from: 0.001, to: 2.0, step: Step::new(1, -4) }
    }

    fn once(margin: f64) -> Vec<Option<Judged>> {
        vec![Some(Judged { holds: margin > 0.0, margin: Some(margin) })]
    }

    /// Points of a Weyl sequence in place of noise, with a mean near zero.
    fn noise(x: f64, r: u32) -> f64 {
        ((x * 977.0 + f64::from(r) * 0.618_033_988_75).fract() - 0.5) * 2.0
    }

    #[test]
    fn one_change_is_found_to_the_step() {
        let (boundary, points) = search(delays(), |x| once(1.15973 - x));
        let changes = boundary.changes();
        assert_eq!(changes.len(), 1);
        let change = changes[0];
        assert_eq!((change.holds(), change.fails()), (Some(1.1597), Some(1.1598)));
        assert!(change.falls && change.band.is_none());
        assert!((24..=28).contains(&points), "{points} points");
        let (rising, _) = search(delays(), |x| once(x - 0.73));
        let change = rising.changes()[0];
        assert_eq!((change.holds(), change.fails()), (Some(0.7301), Some(0.73)));
    }

    #[test]
    fn several_changes_are_all_found_and_none_is_none() {
        let (boundary, _) = search(delays(), |x| once((x * 5.0).sin()));
        let places: Vec<f64> = boundary.changes().iter().filter_map(Change::holds).collect();
        assert_eq!(places, [0.6283, 1.2567, 1.8849]);
        let (never, points) = search(delays(), |_| once(-1.0));
        assert!(never.changes().is_empty() && points == 9);
    }

    #[test]
    fn ends_and_lists_are_ranges_too() {
        let (boundary, _) = search(delays(), |x| once(0.0015 - x));
        assert_eq!(boundary.changes()[0].fails(), Some(0.0015));
        let list = Range::Values(vec![4.0, 2.0, 3.0]);
        let (boundary, points) = search(list, |x| once(x - 2.5));
        assert_eq!((boundary.changes()[0].fails(), points), (Some(2.0), 3));
    }

    /// Of ten replicates with noise of ±0.05 nothing is certain near the change: a band, whose edges are
    /// found to the step.
    #[test]
    fn random_runs_give_a_band() {
        let run = |x: f64| (0..10).map(|r| once(1.0 - x + 0.05 * noise(x, r))[0]).collect();
        let (boundary, points) = search(delays(), run);
        let changes = boundary.changes();
        assert_eq!(changes.len(), 1, "{changes:?}");
        let Change { below: Some(below), above: Some(above), band: Some([first, last]), .. } =
            changes[0]
        else {
            panic!("{changes:?}")
        };
        assert!(0.95 < below && below < first && first <= last && last < above && above < 1.05);
        assert!(first - below < 1.5e-4 && above - last < 1.5e-4, "{changes:?}");
        assert!(points < 60, "{points} points");
    }

    /// Nothing is certain about 1, and the condition fails on both sides: no change, and no verdict of all points.
    #[test]
    fn a_peak_that_may_hold_is_unsure() {
        let run = |x: f64| (0..10).map(|r| once(-(x - 1.0).abs() + noise(x, r))[0]).collect();
        let (boundary, _) = search(delays(), run);
        assert!(boundary.changes().is_empty(), "{:?}", boundary.changes());
        let Some([first, last]) = boundary.unsure() else { panic!("{:?}", boundary.found()) };
        assert!(0.4 < first && first < 1.0 && 1.0 < last && last < 1.6, "{first} {last}");
        let (sure, _) = search(delays(), |x| once(1.15973 - x));
        assert_eq!(sure.unsure(), None);
    }

    #[test]
    fn verdicts_of_truth_values_are_shares() {
        let truths = |held: usize, n: usize| {
            let run = |i| Judged { holds: i < held, margin: None };
            verdict(&(0..n).map(run).collect::<Vec<_>>())
        };
        assert_eq!(truths(8, 8), Some(Verdict::Holds));
        assert_eq!(truths(0, 8), Some(Verdict::Fails));
        assert_eq!(truths(5, 8), Some(Verdict::Unsure));
        assert_eq!(truths(1, 1), Some(Verdict::Holds));
        assert_eq!(truths(0, 0), None);
        let equal = [Judged { holds: true, margin: Some(0.0) }; 3];
        assert_eq!(verdict(&equal), Some(Verdict::Holds));
    }

    /// A run that fails is no verdict, and the search ends all the same.
    #[test]
    fn failed_runs_leave_the_answer_incomplete() {
        let fails_at = |x: f64| (1.0..1.3).contains(&x);
        let run = |x: f64| if fails_at(x) { vec![None] } else { once(1.15973 - x) };
        let (boundary, _) = search(delays(), run);
        assert!(boundary.incomplete());
        let change = boundary.changes()[0];
        assert!(change.below.unwrap() < 1.0 && change.above.unwrap() >= 1.3);
    }

    /// Whoever stops and goes on by telling again comes to the same questions.
    #[test]
    fn replaying_gives_equal_questions() {
        let run = |x: f64| once((x * 5.0).sin());
        let (whole, _) = search(delays(), run);
        let mut again = Boundary::new(delays());
        for _ in 0..3 {
            let told: Vec<_> = again.ask().iter().map(|p| run(p[0])).collect();
            again.tell(&told);
        }
        let known: Vec<f64> = whole.found().iter().map(|f| f.0).collect();
        assert!(again.ask().iter().all(|p| known.contains(&p[0])));
        assert_eq!(Replication::ONCE.next(0), 1);
    }
}
