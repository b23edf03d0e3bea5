//! Runs at the pace of the wall clock.
//!
//! Simulated time t goes on as t = α τ with the wall time τ; α may change on the way (Gomes et al. 2017, section 4.3.7 and
//! appendix C.2.3). An instant at which something happens is computed when the wall clock has come to it, and how late it is
//! ready is measured. Pacing never changes results: it decides when the kernel goes on, not how far a step goes.
//!
//! **Why silent steps come first.** Steps of continuous units before the next event are seen by nobody, so they are made
//! while there is time, before the wait for that event.
use super::pulse::Pulse;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The longest time for which the run sleeps without looking for Ctrl-C, pauses and other speeds.
const NAP: Duration = Duration::from_millis(20);
/// The system wakes a thread up later than it asked for by about this.
const BRISK: Duration = Duration::from_micros(150);

/// The policy for instants that are later than is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Overrun {
    /// The run goes on without waiting until it is on time again.
    #[default]
    CatchUp,
    /// All that follows is as much later.
    Slip,
    /// The run ends with an error.
    Stop,
}

/// How a run follows the wall clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RealTime {
    /// Simulated seconds per second of wall time, each from a simulated time in seconds on; the first from 0.
    pub speeds: Vec<(f64, f64)>,
    /// The policy for instants that are late.
    pub overrun: Overrun,
    /// How much later than its wall time an instant may be ready, in seconds.
    pub late: f64,
}

/// Changes the speed of a run from another thread.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<Mutex<Option<f64>>>);

impl Control {
    /// Simulated seconds per second of wall time from now on; zero pauses the run.
    pub fn set_speed(&self, speed: f64) {
        let speed = if speed.is_finite() { speed.max(0.0) } else { 0.0 };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(speed);
    }
    fn take(&self) -> Option<f64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How late instants were, for `performance.json`; never compared.
#[derive(Debug, Clone, Serialize)]
pub struct Punctuality {
    /// Simulated seconds per second of wall time at the end.
    pub speed: f64,
    /// The policy for instants that were late.
    pub overrun: Overrun,
    /// From when on an instant was late, in seconds.
    pub late: f64,
    /// Instants at which something was due.
    pub instants: u64,
    /// How much later than its wall time an instant was ready, in seconds.
    pub lateness: Lateness,
    /// Instants that were late.
    pub overruns: u64,
    /// By how much `slip` moved the rest of the run, in seconds.
    pub slip: f64,
    /// Wall seconds for which the process was stopped, or the speed was zero.
    pub paused: f64,
    /// The instant that was latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
    /// The longest transition, or silent step, of each kind of unit in seconds: what a `wcet` has to be at least.
    pub longest_per_kind: BTreeMap<String, f64>,
}

/// Percentiles, each at most 4.5 % too large, and how many instants there were up to each limit.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Lateness {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// Upper limit in seconds, and the number of instants between it and the one before.
    pub histogram: Vec<(f64, u64)>,
}

/// The instant that was latest.
#[derive(Debug, Clone, Serialize)]
pub struct Worst {
    /// Simulated seconds.
    pub time: f64,
    /// How late it was, in seconds.
    pub late: f64,
    /// The kind of unit that took most of its time.
    pub kind: Option<String>,
}

/// Keeps a run to the wall clock.
#[derive(Debug)]
pub(super) struct Pacer {
    pub how: RealTime,
    pub control: Control,
    /// Something happens at the instant that is waited for; else it is the end of a slice.
    pub happens: bool,
    /// The wall time of the simulated time `from`; none before the run goes on.
    origin: Option<Instant>,
    from: f64,
    speed: f64,
    /// The next of the `speeds`.
    change: usize,
    /// Set when the process goes on after it was stopped (Ctrl-Z, SIGSTOP).
    continued: Arc<AtomicBool>,
    /// When the wall clock was looked at last.
    seen: Instant,
    /// Numbers of instants by the sixteenth of the octave of their lateness in microseconds.
    counts: Vec<u64>,
    max: f64,
    overruns: u64,
    slip: f64,
    paused: f64,
    /// Simulated seconds, lateness, and the kernel's number of the kind.
    worst: Option<(f64, f64, Option<u16>)>,
}

impl Pacer {
    pub(super) fn new(how: RealTime) -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&continued));
        Self {
            how,
            control: Control::default(),
            happens: false,
            origin: None,
            from: 0.0,
            speed: 1.0,
            change: 0,
            continued,
            seen: Instant::now(),
            counts: Vec::new(),
            max: 0.0,
            overruns: 0,
            slip: 0.0,
            paused: 0.0,
            worst: None,
        }
    }

    /// Begins at a simulated time, where the run has not begun.
    pub(super) fn begin(&mut self, at: f64) {
        if self.origin.is_none() {
            (self.origin, self.from) = (Some(Instant::now()), at);
            while self.how.speeds.get(self.change).is_some_and(|s| s.0 <= at) {
                self.speed = self.how.speeds[self.change].1;
                self.change += 1;
            }
            self.seen = Instant::now();
        }
    }

    /// The wall time of a simulated time; none while the speed is zero.
    fn due(&mut self, at: f64) -> Option<Instant> {
        let mut origin = self.origin?;
        while let Some(&(from, speed)) = self.how.speeds.get(self.change).filter(|s| s.0 <= at)
            && self.speed > 0.0
        {
            origin += seconds((from - self.from) / self.speed);
            (self.origin, self.from, self.speed) = (Some(origin), from, speed);
            self.change += 1;
        }
        (self.speed > 0.0).then(|| origin + seconds((at - self.from) / self.speed))
    }

    /// Takes another speed, and leaves out the time for which the process was stopped.
    fn look(&mut self, at: f64) {
        let now = Instant::now();
        let Some(mut origin) = self.origin else { return };
        if self.continued.swap(false, Ordering::Relaxed) {
            let gone = now - self.seen;
            origin += gone;
            self.paused += gone.as_secs_f64();
        }
        if self.speed == 0.0 {
            self.paused += (now - self.seen).as_secs_f64();
        }
        if let Some(speed) = self.control.take() {
            let reached =
                self.from + (now.saturating_duration_since(origin)).as_secs_f64() * self.speed;
            (origin, self.from, self.speed) = (now, reached.min(at).max(self.from), speed);
        }
        (self.origin, self.seen) = (Some(origin), now);
    }

    /// Sleeps a while before a simulated time; gives whether it has come, or the run should look around.
    pub(super) fn nap(&mut self, at: f64, pulse: &Pulse) -> bool {
        self.look(at);
        let left = match self.due(at) {
            Some(due) => due.saturating_duration_since(Instant::now()),
            None => NAP,
        };
        if left.is_zero() || pulse.interrupted() {
            return true;
        }
        match left.checked_sub(BRISK) {
            Some(long) => std::thread::sleep(long.min(NAP)),
            None => std::hint::spin_loop(),
        }
        false
    }

    /// An instant is ready: measures how late it is, and gives by how much where that ends the run.
    pub(super) fn ready(&mut self, at: f64, slowest: Option<u16>) -> Option<f64> {
        self.look(at);
        let due = self.due(at)?;
        let gone = Instant::now().saturating_duration_since(due);
        let late = gone.as_secs_f64();
        let place = ((late * 1e6).max(1.0).log2() * 16.0).floor() as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        if self.worst.is_none() || late > self.max {
            self.max = late;
            self.worst = Some((at, late, slowest));
        }
        if late <= self.how.late {
            return None;
        }
        self.overruns += 1;
        match self.how.overrun {
            Overrun::CatchUp => None,
            Overrun::Slip => {
                self.origin = self.origin.map(|origin| origin + gone);
                self.slip += late;
                None
            }
            Overrun::Stop => Some(late),
        }
    }

    fn percentile(&self, share: f64) -> f64 {
        let all: u64 = self.counts.iter().sum();
        let rank = (share * all as f64).ceil() as u64;
        let mut sum = 0;
        let reached = self.counts.iter().position(|n| {
            sum += n;
            sum >= rank
        });
        reached.map_or(0.0, |place| limit(place).min(self.max))
    }

    /// What `performance.json` tells; `name` knows kinds by their numbers.
    pub(super) fn punctuality(
        &self,
        longest_per_kind: BTreeMap<String, f64>,
        name: impl Fn(u16) -> Option<String>,
    ) -> Punctuality {
        let counted = self.counts.iter().enumerate().filter(|c| *c.1 > 0);
        Punctuality {
            speed: self.speed,
            overrun: self.how.overrun,
            late: self.how.late,
            instants: self.counts.iter().sum(),
            lateness: Lateness {
                p50: self.percentile(0.5),
                p99: self.percentile(0.99),
                p999: self.percentile(0.999),
                max: self.max,
                histogram: counted.map(|(place, n)| (limit(place), *n)).collect(),
            },
            overruns: self.overruns,
            slip: self.slip,
            paused: self.paused,
            worst: self.worst.map(|(time, late, kind)| Worst {
                time,
                late,
                kind: kind.and_then(&name),
            }),
            longest_per_kind,
        }
    }
}

/// The upper end of a place in the histogram, in seconds.
fn limit(place: usize) -> f64 {
    ((place + 1) as f64 / 16.0).exp2() * 1e-6
}

fn seconds(x: f64) -> Duration {
    Duration::try_from_secs_f64(x.max(0.0)).unwrap_or(Duration::from_secs(u32::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer(speeds: &[(f64, f64)], overrun: Overrun) -> Pacer {
        let mut pacer = Pacer::new(RealTime { speeds: speeds.to_vec(), overrun, late: 0.01 });
        pacer.begin(0.0);
        pacer
    }

    /// One second at 2, two at 4, then at 0.5.
    #[test]
    fn speeds_change_where_they_say() {
        let mut p = pacer(&[(0.0, 2.0), (2.0, 4.0), (10.0, 0.5)], Overrun::CatchUp);
        let begun = p.origin.unwrap();
        for (at, wall) in [(1.0, 0.5), (2.0, 1.0), (6.0, 2.0), (10.0, 3.0), (11.0, 5.0)] {
            let due = p.due(at).unwrap() - begun;
            assert!((due.as_secs_f64() - wall).abs() < 1e-6, "{at}: {due:?}");
        }
    }

    /// Each of five instants is 20 ms late by itself, 10 ms after the one before. Who catches up is late by the sum, who
    /// slips by each one's own, and who stops is told so at the first one. How long sleeps took is measured.
    #[test]
    fn what_is_late_follows_the_policy() {
        // What each instant gives, and between which seconds its lateness lies.
        let run = |overrun| {
            let mut p = pacer(&[(0.0, 1.0)], overrun);
            let (mut lates, mut between) = (Vec::new(), Vec::new());
            for k in 0..5 {
                let at = 0.01 * f64::from(k);
                while !p.nap(at, &Pulse::default()) {}
                std::thread::sleep(Duration::from_millis(20));
                let due = p.due(at).unwrap();
                let before = due.elapsed().as_secs_f64();
                lates.push(p.ready(at, None));
                between.push([before, due.elapsed().as_secs_f64()]);
            }
            assert!(p.overruns == 5 && between.iter().all(|[before, _]| *before >= 0.02));
            (p, lates, between)
        };
        let within = |x: f64, [low, high]: [f64; 2]| low - 1e-9 <= x && x <= high + 1e-9;
        let most = |all: &[[f64; 2]]| {
            all.iter().fold([0.0f64; 2], |m, b| [m[0].max(b[0]), m[1].max(b[1])])
        };
        let (p, lates, between) = run(Overrun::CatchUp);
        assert!(within(p.max, most(&between)) && p.max >= 0.06 && p.slip == 0.0, "{p:?}");
        assert_eq!(lates, [None; 5]);
        let (p, _, between) = run(Overrun::Slip);
        let sum = between.iter().fold([0.0; 2], |s, b| [s[0] + b[0], s[1] + b[1]]);
        assert!(within(p.max, most(&between)) && within(p.slip, sum), "{p:?} {between:?}");
        let (_, lates, between) = run(Overrun::Stop);
        assert!(lates[0].is_some_and(|late| within(late, between[0])), "{lates:?} {between:?}");
    }

    /// A pause of 100 ms, told by another thread, moves all that follows.
    #[test]
    fn a_pause_makes_nothing_late() {
        let mut p = pacer(&[(0.0, 1.0)], Overrun::Stop);
        let control = p.control.clone();
        control.set_speed(0.0);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            control.set_speed(2.0);
        });
        let begun = p.origin.unwrap();
        while !p.nap(0.1, &Pulse::default()) {}
        let wall = begun.elapsed().as_secs_f64();
        let due = p.due(0.1).unwrap();
        p.ready(0.1, None);
        let late = due.elapsed().as_secs_f64();
        thread.join().unwrap();
        // Half of 0.1 s behind the pause, at the speed of 2, but for what went by at the speed of 1 before it.
        let before = 2.0 * ((due - begun).as_secs_f64() - p.paused - 0.05);
        assert!((-1e-6..=2.0 * wall).contains(&before), "{before} of {wall}");
        assert!(before + p.paused >= 0.1 - 1e-6 && p.paused <= wall, "{} of {wall}", p.paused);
        assert!(wall + 0.5 * before >= 0.15 - 1e-6, "{wall}");
        assert!(p.max <= late && p.overruns == u64::from(p.max > 0.01), "{p:?}");
    }
}
