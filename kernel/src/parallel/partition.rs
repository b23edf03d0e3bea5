//! Which worker gets which models: few wires cut, equal loads.
//!
//! **How.** Models move one by one from the part with the most load to the one with the least, the
//! best connected to it first, so that it grows as a cluster; then models move to where that cuts
//! less, as far as loads stay even (moves by gain: Fiduccia & Mattheyses 1982; growth: Karypis &
//! Kumar 1998). Begun with all models in one part that lays out a network by its wires; begun with
//! what is, and with loads and traffic as measured, it shifts a few clusters. All ties go by model
//! number, so the outcome is the same on every machine.
use super::{Migration, Partition, Settings, timeline::Track, worker::Tally};
use crate::{key::ModelKey, network::Network};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Receivers of one port beyond which it says nothing: whatever the cut, it is cut.
const BROADCAST: usize = 64;
/// The weight of a sampled message, against one for a wire.
const MESSAGE: u32 = 64;
/// Rounds of moves that cut less.
const PASSES: u32 = 8;
/// Of a fair load, what a part may have more: one of so many parts.
const SLACK: u64 = 32;

/// Which models are wired, in either direction, and how strongly.
pub(super) struct Wires {
    /// By model, and one more.
    start: Vec<u32>,
    ends: Vec<(u32, u32)>,
}

impl Wires {
    /// The wires of a network, and messages that were seen on the way.
    pub(super) fn of<M>(network: &Network<M>, traffic: &[(u32, u32)]) -> Self {
        let models = network.models;
        let mut wires: Vec<(u32, u32, u32)> = Vec::new();
        let mut wire = |a: u32, b: u32, weight: u32| {
            if a != b && a < models && b < models {
                wires.extend([(a, b, weight), (b, a, weight)]);
            }
        };
        let mut ends = Vec::new();
        for m in 0..models {
            for (_, to) in network.wired(m) {
                network.reached(to, &mut |other| ends.push(other));
                let few = ends.len() <= BROADCAST;
                ends.drain(..).filter(|_| few).for_each(|other| wire(m, other, 1));
            }
        }
        traffic.iter().for_each(|&(from, to)| wire(from, to, MESSAGE));
        wires.sort_unstable();
        wires.dedup_by(|b, a| {
            let same = (a.0, a.1) == (b.0, b.1);
            a.2 += if same { b.2 } else { 0 };
            same
        });
        let start = (0..=models).map(|m| wires.partition_point(|w| w.0 < m) as u32).collect();
        Self { start, ends: wires.into_iter().map(|(_, end, weight)| (end, weight)).collect() }
    }

    fn ends(&self, m: u32) -> &[(u32, u32)] {
        &self.ends[self.start[m as usize] as usize..self.start[m as usize + 1] as usize]
    }

    /// The reduction of the cut if a model moved from its part to another one.
    fn gain(&self, m: u32, parts: &[u32], to: u32) -> i64 {
        let own = parts[m as usize];
        let weigh = |&(end, weight): &(u32, u32)| match parts[end as usize] {
            part if part == to => i64::from(weight),
            part if part == own => -i64::from(weight),
            _ => 0,
        };
        self.ends(m).iter().map(weigh).sum()
    }

    /// The weight of all wires between parts.
    #[cfg(test)]
    fn cut(&self, parts: &[u32]) -> u64 {
        let weigh = |m: u32| {
            let away = |e: &&(u32, u32)| parts[e.0 as usize] != parts[m as usize];
            self.ends(m).iter().filter(away).map(|e| u64::from(e.1)).sum::<u64>()
        };
        (0..parts.len() as u32).map(weigh).sum::<u64>() / 2
    }

    /// Moves models between parts, until loads are even, and then so that little is cut.
    pub(super) fn spread(&self, load: &[u64], parts: &mut [u32], workers: u32) {
        let mut sums = vec![0u64; workers as usize];
        parts.iter().zip(load).for_each(|(&part, load)| sums[part as usize] += load);
        let fair = sums.iter().sum::<u64>() / u64::from(workers);
        let limit = fair + fair / SLACK;
        for _ in 0..4 * workers {
            let by_load = |&part: &u32| (sums[part as usize], Reverse(part));
            let Some(most) = (0..workers).max_by_key(by_load) else { return };
            let Some(least) = (0..workers).min_by_key(by_load) else { return };
            if sums[most as usize] <= limit || !self.shift(load, parts, &mut sums, (most, least)) {
                break;
            }
        }
        for _ in 0..PASSES {
            if !self.tidy(load, parts, &mut sums, limit) {
                break;
            }
        }
    }

    /// Moves models from one part to another until one of them has a fair load; tells whether any
    /// moved.
    fn shift(
        &self,
        load: &[u64],
        parts: &mut [u32],
        sums: &mut [u64],
        (from, to): (u32, u32),
    ) -> bool {
        let fair = sums.iter().sum::<u64>() / sums.len() as u64;
        let missing = |sums: &[u64]| {
            let [more, less] = [from, to].map(|part| sums[part as usize]);
            more.saturating_sub(fair).min(fair.saturating_sub(less))
        };
        let mine = (0..parts.len() as u32).filter(|&m| parts[m as usize] == from);
        let mut best: BinaryHeap<(i64, Reverse<u32>)> =
            mine.map(|m| (self.gain(m, parts, to), Reverse(m))).collect();
        let mut moved = false;
        while missing(sums) > 0
            && let Some((gain, Reverse(m))) = best.pop()
        {
            let weight = load[m as usize];
            // A model heavier than the missing load may go as well, if that evens loads by half.
            if parts[m as usize] != from || 2 * weight >= 3 * missing(sums) {
                continue;
            }
            let now = self.gain(m, parts, to);
            if now < gain {
                best.push((now, Reverse(m)));
                continue;
            }
            moved = true;
            parts[m as usize] = to;
            sums[from as usize] -= weight;
            sums[to as usize] += weight;
            for &(end, _) in self.ends(m) {
                if parts[end as usize] == from {
                    best.push((self.gain(end, parts, to), Reverse(end)));
                }
            }
        }
        moved
    }

    /// Moves models to where that cuts less; tells whether any moved.
    fn tidy(&self, load: &[u64], parts: &mut [u32], sums: &mut [u64], limit: u64) -> bool {
        let mut moved = false;
        for m in 0..parts.len() as u32 {
            let own = parts[m as usize];
            let others = self.ends(m).iter().map(|e| parts[e.0 as usize]);
            let weight = load[m as usize];
            let fits = |&part: &u32| part != own && sums[part as usize] + weight <= limit;
            let gain = |part: u32| (self.gain(m, parts, part), Reverse(part));
            let best = others.filter(fits).map(gain).max();
            if let Some((1.., Reverse(part))) = best {
                moved = true;
                parts[m as usize] = part;
                sums[own as usize] -= weight;
                sums[part as usize] += weight;
            }
        }
        moved
    }
}

impl Settings {
    /// The worker of each model at the start.
    pub(super) fn parts<M>(&self, network: &Network<M>) -> Vec<u32> {
        let (models, workers) = (network.models, self.workers.max(1));
        let blocks = |m: u32| (u64::from(m) * u64::from(workers) / u64::from(models)) as u32;
        match &self.partition {
            Partition::Blocks => (0..models).map(blocks).collect(),
            Partition::RoundRobin => (0..models).map(|m| m % workers).collect(),
            Partition::Given(parts) => {
                (0..models as usize).map(|m| parts.get(m).map_or(0, |p| p % workers)).collect()
            }
            Partition::Wiring => {
                let mut parts = vec![0; models as usize];
                let wires = Wires::of(network, &[]);
                wires.spread(&vec![1; models as usize], &mut parts, workers);
                parts
            }
        }
    }
}

/// Who gets which models, and what was measured; it outlives the calls that run a simulation, which
/// may be many.
#[derive(Debug)]
pub(crate) struct Deal {
    /// The models that it is about, and what was asked for.
    keys: Vec<ModelKey>,
    asked: (u32, Partition, Migration),
    /// The worker by model.
    pub parts: Vec<u32>,
    pub balance: Balance,
    /// Of workers, in a timeline of the whole run.
    pub tracks: Vec<Track>,
    /// Since models last moved: load by model, and some of the messages, from and to.
    pub load: Vec<u64>,
    pub traffic: Vec<(u32, u32)>,
}

impl Deal {
    /// The deal so far, or a new one where it is about other models or settings.
    pub(crate) fn of<M>(
        before: Option<Self>,
        settings: &Settings,
        keys: &[ModelKey],
        network: &Network<M>,
    ) -> Self {
        let asked = (settings.workers, settings.partition.clone(), settings.migration);
        match before {
            Some(deal) if deal.asked == asked && deal.keys == keys => deal,
            _ => Self {
                keys: keys.to_vec(),
                asked,
                parts: settings.parts(network),
                balance: Balance::new(settings, keys.len() as u64),
                tracks: (0..settings.workers.max(1)).map(Track::new).collect(),
                load: vec![0; keys.len()],
                traffic: Vec::new(),
            },
        }
    }

    /// The worker of each model from now on, where only what all models of each part took together is
    /// known; part `workers + w` is worker `w`'s, too. Tells how many have another one.
    pub(crate) fn even_out<M>(&mut self, network: &Network<M>, parts: &[u32], work: &[u64]) -> u64 {
        let mut models = vec![0; work.len()];
        parts.iter().for_each(|&part| models[part as usize] += 1);
        let workers = self.asked.0.max(1);
        for (m, &part) in parts.iter().enumerate() {
            self.load[m] = work[part as usize] / models[part as usize];
            self.parts[m] = part % workers;
        }
        self.migrate(network)
    }

    /// The worker of each model from now on; tells how many have another one.
    pub(crate) fn migrate<M>(&mut self, network: &Network<M>) -> u64 {
        let Self { parts, load, traffic, .. } = self;
        let workers = self.asked.0.max(1);
        let before = parts.clone();
        if self.balance.migration == Migration::AtEachCut {
            let some = parts.iter_mut().skip(traffic.len() % 3).step_by(3);
            some.for_each(|part| *part = (*part + 1) % workers);
        } else {
            // Also models that do nothing have a place.
            load.iter_mut().for_each(|load| *load += 1);
            Wires::of(network, traffic).spread(load, parts, workers);
        }
        load.fill(0);
        traffic.clear();
        parts.iter().zip(&before).filter(|(a, b)| a != b).count() as u64
    }
}

/// When loads are looked at, and what they were.
#[derive(Debug, Clone)]
pub(crate) struct Balance {
    migration: Migration,
    /// Transitions of all workers between looks; more after each time at which models moved.
    interval: u64,
    least: u64,
    next: u64,
    /// Of all workers, up to this stretch.
    transitions: u64,
    /// By worker: its load up to this stretch, and up to the last look.
    before: Vec<u64>,
    seen: Vec<u64>,
}

/// Transitions per model between looks, at least: so that moving all models costs little.
const PER_MODEL: u64 = 64;

impl Balance {
    fn new(settings: &Settings, models: u64) -> Self {
        let given = matches!(settings.partition, Partition::Given(_));
        let migration = match settings.migration {
            Migration::WhenSkewed if given || settings.workers < 2 => Migration::Never,
            migration => migration,
        };
        let least = PER_MODEL * models.max(64);
        let none = vec![0; settings.workers as usize];
        Self {
            migration,
            interval: least,
            least,
            next: least,
            transitions: 0,
            before: none.clone(),
            seen: none,
        }
    }

    /// Whether workers have to measure traffic.
    pub(crate) fn is_on(&self) -> bool {
        self.migration != Migration::Never
    }

    /// A stretch is over.
    pub(crate) fn add(&mut self, tallies: impl Iterator<Item = Tally>) {
        for (before, tally) in self.before.iter_mut().zip(tallies) {
            *before += tally.load();
            self.transitions += tally.done();
        }
    }

    /// Whether the models of one worker have more than five quarters of a fair load.
    pub(crate) fn is_skewed(&mut self, tallies: &[Tally]) -> bool {
        match self.migration {
            Migration::Never => return false,
            Migration::AtEachCut => return true,
            Migration::WhenSkewed => {}
        }
        let all = self.transitions + tallies.iter().map(Tally::done).sum::<u64>();
        if all < self.next {
            return false;
        }
        let (mut most, mut sum) = (0, 0);
        for ((seen, before), tally) in self.seen.iter_mut().zip(&self.before).zip(tallies) {
            let load = before + tally.load();
            let since = load.saturating_sub(std::mem::replace(seen, load));
            (most, sum) = (since.max(most), sum + since);
        }
        self.looked(all, 4 * most * tallies.len() as u64 > 5 * sum)
    }

    /// Whether windows are worth a look, so many transitions later.
    pub(crate) fn is_due(&mut self, transitions: u64) -> bool {
        self.transitions += transitions;
        self.is_on() && self.transitions >= self.next
    }

    /// Whether all wait for one of the workers, by what parts executed and by what that took:
    /// whatever is missing shows in each window, so that a sixteenth more than a fair load is too
    /// much. Time alone would blame a worker that others on the machine held up.
    pub(crate) fn is_uneven(&mut self, executed: &[u64], took: &[u64]) -> bool {
        let workers = self.before.len().max(1);
        let blamed = |work: &[u64]| {
            let of = |w: usize| (work.iter().skip(w).step_by(workers).sum::<u64>(), w);
            let most = (0..workers).map(of).max();
            let sum = work.iter().sum::<u64>();
            most.filter(|(most, _)| 16 * most * workers as u64 > 17 * sum).map(|(_, w)| w)
        };
        let uneven = blamed(executed).is_some_and(|w| blamed(took) == Some(w));
        self.looked(self.transitions, uneven || self.migration == Migration::AtEachCut)
    }

    /// Says when to look again.
    fn looked(&mut self, all: u64, skewed: bool) -> bool {
        // A skew that does not go away is looked at less and less often.
        self.interval =
            if skewed { 2 * self.interval } else { (self.interval / 2).max(self.least) };
        self.next = all + self.interval;
        skewed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An undirected graph.
    fn graph(models: u32, edges: impl Iterator<Item = (u32, u32)>) -> Wires {
        let mut all: Vec<(u32, u32)> = edges.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        all.sort_unstable();
        let start = (0..=models).map(|m| all.partition_point(|e| e.0 < m) as u32).collect();
        Wires { start, ends: all.into_iter().map(|e| (e.1, 1)).collect() }
    }

    fn loads(parts: &[u32], load: &[u64], workers: u32) -> Vec<u64> {
        let sum = |w| parts.iter().zip(load).filter(|p| *p.0 == w).map(|p| p.1).sum();
        (0..workers).map(sum).collect()
    }

    #[test]
    fn few_wires_are_cut_and_loads_are_even() {
        let line = graph(100, (0..99).map(|m| (m, m + 1)));
        // Rows of a grid, numbered so that blocks cut all columns of a row-wise neighbour.
        let at = |x: u32, y: u32| (y % 20) * 20 + x % 20;
        let cells = || (0..400).map(|m| (m % 20, m / 20));
        let torus = graph(
            400,
            cells().flat_map(|(x, y)| [(at(x, y), at(x + 1, y)), (at(x, y), at(x, y + 1))]),
        );
        // Two clusters, whose members are numbered in turn.
        let pairs = (0..40u32).flat_map(|a| (0..a).map(move |b| (a, b)));
        let clusters = graph(40, pairs.filter(|(a, b)| (a ^ b) & 1 == 0 || *a == 1));
        for (name, wires, models, workers, cut) in [
            ("line", &line, 100, 2, 1),
            ("line", &line, 100, 4, 3),
            ("torus", &torus, 400, 2, 60),
            ("clusters", &clusters, 40, 2, 1),
        ] {
            let load = vec![1; models];
            let mut parts = vec![0; models];
            wires.spread(&load, &mut parts, workers);
            let loads = loads(&parts, &load, workers);
            let fair = models as u64 / u64::from(workers);
            assert!(
                loads.iter().all(|&l| l.abs_diff(fair) <= 1 + fair / SLACK),
                "{name}: {loads:?}"
            );
            assert!(wires.cut(&parts) <= cut, "{name}: {} wires cut", wires.cut(&parts));
        }
    }

    #[test]
    fn a_skewed_load_moves_few_models() {
        // The first quarter of a line does nine tenths of the work.
        let line = graph(100, (0..99).map(|m| (m, m + 1)));
        let load: Vec<u64> = (0..100).map(|m| if m < 25 { 27 } else { 1 }).collect();
        let mut parts: Vec<u32> = (0..100).map(|m| m / 50).collect();
        line.spread(&load, &mut parts, 2);
        let loads = loads(&parts, &load, 2);
        assert!(loads[0].abs_diff(loads[1]) <= 54, "{loads:?}");
        assert!(line.cut(&parts) <= 3, "{} wires cut", line.cut(&parts));
    }
}
