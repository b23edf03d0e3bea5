//! Earlier exchanges before an event: LookAhead.
//!
//! Tischer et al., "LookAhead - a new approach for event handling in co-simulation by predicting
//! state events" (see `docs/bibliography.md`), figures 2 and 3. An event is a set of indicators z that are all
//! negative when it happens. At each exchange every z is continued straight over `forecast` steps
//! of the length of the last one; when all of a set would be negative then, the set's latest
//! crossing, shortened by the factor `safety`, is when the next exchange has to be: not sooner
//! than the shortest step, not later than the macro step. The predicted time is the coupler's time
//! advance; nothing is asked of the units but the signals they send.
use crate::maths::expr::{Comparison, Condition, Expr, Logic};
use serde::{Deserialize, Serialize};

/// The indicators of one event, and their values at the last exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Indicators {
    z: Vec<Expr>,
    before: Option<Vec<f64>>,
}

/// Predicts events from the values at exchanges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookAhead {
    events: Vec<Indicators>,
    safety: f64,
    forecast: f64,
    /// Shortest step in seconds.
    shortest: f64,
}

impl LookAhead {
    /// Without events yet.
    pub fn new(safety: f64, forecast: f64, shortest: f64) -> Self {
        Self { events: Vec::new(), safety, forecast, shortest }
    }

    /// Adds an event; false for a condition that is not made of inequalities that all must hold.
    #[must_use]
    pub fn add(&mut self, condition: &Condition) -> bool {
        let all = condition.logic().iter().all(|l| matches!(l, Logic::Atom(_) | Logic::And(..)));
        let less = |r| matches!(r, Comparison::Less | Comparison::LessEq);
        let fits = all && condition.atoms().iter().all(|a| less(a.relation));
        let z: Vec<Expr> = condition.atoms().iter().map(|a| a.z.clone()).collect();
        self.events.push(Indicators { z, before: None });
        fits
    }

    /// Seconds from an exchange with these values of the signals, `elapsed` seconds after the one
    /// before, to the next one; `None` when nothing is predicted.
    pub fn predict(&mut self, signals: &[f64], elapsed: f64) -> Option<f64> {
        let (safety, forecast, shortest) = (self.safety, self.forecast, self.shortest);
        let mut soonest: Option<f64> = None;
        for event in &mut self.events {
            let now: Vec<f64> = event.z.iter().map(|z| z.eval(signals)).collect();
            let before = event.before.replace(now.clone());
            let Some(before) = before.filter(|_| elapsed > 0.0) else { continue };
            let mut latest: Option<f64> = None;
            for (now, before) in now.iter().zip(before) {
                if now + forecast * (now - before) >= 0.0 {
                    latest = None;
                    break;
                }
                if *now > 0.0 {
                    let crossing = (safety * elapsed * now / (before - now)).max(shortest);
                    latest = Some(latest.map_or(crossing, |t| t.max(crossing)));
                }
            }
            if let Some(t) = latest {
                soonest = Some(soonest.map_or(t, |s| s.min(t)));
            }
        }
        soonest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::expr::Names;

    fn of(text: &str) -> (LookAhead, bool) {
        let names = Names::new().var("x", 0).var("v", 1);
        let mut look = LookAhead::new(0.9, 2.0, 1e-3);
        let fits = look.add(&Condition::parse(text, &names).unwrap());
        (look, fits)
    }

    #[test]
    fn a_straight_approach_is_foreseen_two_steps_ahead() {
        let (mut look, fits) = of("x <= 0 and v < 0");
        assert!(fits);
        for (x, v, expected) in [
            (5.0, -1.0, None),            // nothing to compare with
            (4.0, -1.0, None),            // 2 after two steps
            (1.0, -1.0, Some(0.9 / 3.0)), // falls by 3 per step: a third of a step, less a tenth
            (0.0001, -1.0, Some(1e-3)),   // the shortest step
            (-1.0, -1.0, None),           // has happened
            (1.0, 1.0, None),             // moves away
        ] {
            let t = look.predict(&[x, v], 1.0);
            match (t, expected) {
                (Some(t), Some(e)) => assert!((t - e).abs() < 1e-12, "x = {x}: {t}"),
                _ => assert_eq!(t, expected, "x = {x}"),
            }
        }
    }

    #[test]
    fn only_conjunctions_of_inequalities() {
        assert!(!of("x <= 0 or v < 0").1);
        assert!(!of("x == 0").1);
        assert!(!of("not x < 0").1);
    }
}
