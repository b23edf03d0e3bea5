//! Waveform iteration: a macro step is repeated with what sources did *within* it, not only at its
//! end.
//!
//! Lelarasmee, Ruehli & Sangiovanni-Vincentelli 1982; Gomes et al. 2017, 4.3.1 and
//! "micro-step outputs" in 6.2. Receivers are told the pieces of solution that sources sent in the run
//! before, each from its own time on, until these pieces are what comes again. So what is told
//! converges to the solution of the whole of smooth units, whatever the length of the macro step, and
//! as fast as 1, H, H²/2, H³/6, … where inputs act on states. The price is a message for each piece.
use super::{Line, Rehearsal, Until, failures::Step, trial::Told};
use crate::{
    maths::poly::eval,
    signal::{
        Timer, trimmed,
        value::{Flag, Segment},
    },
};

/// Pieces of a signal by the ticks from which they hold, ascending; the first from the start of the
/// macro step on.
type Course = Vec<(i64, Segment)>;

/// The value that a course has at a tick, or had just before.
fn value(course: &Course, tick: i64, before: bool, timer: &Timer) -> f64 {
    let holds = |piece: &&(i64, Segment)| if before { piece.0 < tick } else { piece.0 <= tick };
    let piece = course.iter().rev().find(holds).or(course.first());
    piece.map_or(0.0, |(since, s)| eval(s.coefficients(), timer.seconds(*since, tick)))
}

/// The largest distance of two courses up to `end`, relative to 1 + |y|: at the ends and in the middle
/// of all pieces that are longer than `shortest`.
fn distance(a: &Course, b: &Course, (end, shortest): (i64, i64), timer: &Timer) -> f64 {
    let mut ticks: Vec<i64> = a.iter().chain(b).map(|p| p.0).filter(|t| *t < end).collect();
    ticks.push(end);
    ticks.sort_unstable();
    ticks.dedup();
    let mut worst = 0.0f64;
    for span in ticks.windows(2).filter(|w| w[1] - w[0] >= shortest) {
        for (tick, before) in
            [(span[0], false), (i64::midpoint(span[0], span[1]), false), (span[1], true)]
        {
            let (x, y) = (value(a, tick, before, timer), value(b, tick, before, timer));
            worst = worst.max((x - y).abs() / (1.0 + y.abs()));
        }
    }
    worst
}

impl Rehearsal {
    /// From one exchange to the next, as often as the courses want; gives also how signals end in the
    /// first run.
    pub(super) fn waveform(&mut self, goal: Until, until: i64) -> Step<(Vec<Told>, Vec<f64>)> {
        let start = self.trial.save()?;
        let (now, timer) = (self.trial.tick(), self.trial.now.timer);
        let piece = |c: &[f64]| vec![(now, Segment::new(trimmed(c), Flag::Continuous, c[0]))];
        let whole = |line: &Line| piece(line.source(now, &timer).coefficients());
        let begun: Vec<Course> = self.trial.now.lines.iter().map(whole).collect();
        let mut told: Vec<Course> = self.predicted(until).iter().map(|p| piece(p)).collect();
        let (mut first, mut round) = (Vec::new(), 0);
        loop {
            let mut heard = begun.clone();
            let (all, end) = self.follow(&told, until, &mut heard)?;
            if round == 0 {
                first = self.trial.answers();
            }
            let shortest = (end - now) / 1_000_000 + 2;
            let each = heard.iter().zip(&told);
            let off: Vec<f64> =
                each.map(|(a, b)| distance(a, b, (end, shortest), &timer)).collect();
            match goal {
                Until::Corrections(n) if round >= n => return Ok((all, first)),
                Until::Converged(tolerance, most) => {
                    if off.iter().all(|off| *off <= tolerance) {
                        return Ok((all, first));
                    }
                    if round >= most {
                        return Err(self.diverges(&off, tolerance, round));
                    }
                }
                Until::Corrections(_) => {}
            }
            told = heard;
            self.trial.restore(&start)?;
            round += 1;
            self.plan.corrections += 1;
        }
    }

    /// Tells every piece from its time on, and takes down what sources send. Gives what was told, and
    /// the tick at which the step ended.
    fn follow(
        &mut self,
        told: &[Course],
        until: i64,
        heard: &mut [Course],
    ) -> Step<(Vec<Told>, i64)> {
        let mut ticks: Vec<i64> = told.iter().flatten().map(|p| p.0).collect();
        ticks.sort_unstable();
        ticks.dedup();
        ticks.retain(|t| *t < until);
        let mut all = Vec::with_capacity(ticks.len());
        for (k, &tick) in ticks.iter().enumerate() {
            let at = |course: &Course| {
                let found = course.binary_search_by_key(&tick, |p| p.0).ok();
                found.map(|at| course[at].1.clone())
            };
            let pieces = (0u16..).zip(told).filter_map(|(port, c)| Some((port, at(c)?)));
            all.push(self.trial.tell_pieces(pieces)?);
            let next = ticks.get(k + 1).copied().unwrap_or(until);
            let interrupts = self.plan.policy.interrupts;
            let end = self.trial.run_noting(next, interrupts, |port, tick, segment| {
                let course = &mut heard[usize::from(port)];
                match course.last_mut() {
                    Some(last) if last.0 == tick => last.1 = segment.clone(),
                    _ => course.push((tick, segment.clone())),
                }
            })?;
            if end < next {
                return Ok((all, end));
            }
        }
        Ok((all, until))
    }
}
