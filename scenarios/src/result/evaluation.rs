//! The evaluation of a run, as it goes on.
use super::{
    How, Line, Of, Outcome, Output, Reduction, Results, Stream, fits,
    fold::{Fold, Interval, NotFinite},
    queue::Queue,
    side::Seen,
    signal::{Compiled, Parts},
    walk::{Track, Walk},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use superdense_kernel::{ModelKey, Simulation};
use superdense_models::signal::{
    cut::Cuts,
    piece::{Moment, Piece},
    value::Value,
};

/// The part that goes on across a checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Per port: whether its unit notes it.
    noted: Vec<bool>,
    queues: Vec<Queue>,
    /// Per walk.
    cursors: Vec<Cursor>,
    /// Per signal.
    histories: Vec<History>,
    folds: Vec<Fold>,
    /// Per stream, per level of gaps: the tick of the event before.
    earlier: Vec<Vec<Option<i64>>>,
}

/// How far the signals of a walk have been worked through.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cursor {
    at: Moment,
    /// Number of the piece of each of its ports.
    places: Vec<u64>,
}

/// The knowledge of a signal from its intervals so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct History {
    /// Of a condition: per comparison.
    seen: Vec<Seen>,
    /// Of a condition: the largest coefficient of each output.
    sizes: Vec<f64>,
    cuts: Cuts,
}

/// Evaluates the results of one run.
pub(crate) struct Evaluation {
    results: Results,
    signals: Vec<Compiled>,
    walks: Vec<Walk>,
    /// Reductions that need a fold of their own, and the place among them of the fold of each reduction.
    folded: Vec<Reduction>,
    fold_of: Vec<usize>,
    keys: Vec<(ModelKey, u16)>,
    /// Ports by model, for notes and for messages; streams by sender.
    ports: HashMap<(ModelKey, u16), usize>,
    senders: HashMap<(ModelKey, u16), Vec<usize>>,
    /// Models that note their pieces, and of each the ports that are read, with their places.
    noting: Vec<(ModelKey, Vec<(u16, usize)>)>,
    rate: f64,
    state: State,
    /// Room for the outputs of one interval.
    parts: Parts,
}

impl Evaluation {
    /// The evaluation of a run; `None` where there is nothing to evaluate. A path that the model lacks is
    /// returned as the error.
    pub(crate) fn new(results: &Results, sim: &Simulation<Value>) -> Result<Option<Self>, String> {
        if results.named.is_empty() {
            return Ok(None);
        }
        let find = |(unit, port): &(String, u16)| {
            let key = sim.find(unit).ok_or_else(|| unit.clone())?;
            Ok::<_, String>((key, *port))
        };
        let keys: Vec<_> = results.ports.iter().map(find).collect::<Result<_, _>>()?;
        let ports = keys.iter().enumerate().map(|(k, &key)| (key, k)).collect();
        let mut senders: HashMap<_, Vec<usize>> = HashMap::new();
        for (s, stream) in results.streams.iter().enumerate() {
            for &sender in base(stream).1.unwrap_or_default() {
                senders.entry(find(&results.senders[sender])?).or_default().push(s);
            }
        }
        let rate = sim.resolution().ticks_per_second() as f64;
        let signals: Vec<Compiled> = results.signals.iter().map(Compiled::new).collect();
        let (folded, fold_of) = folds(&results.reductions);
        let walks = Walk::all(results, &folded);
        let state = State {
            noted: vec![false; keys.len()],
            queues: vec![Queue::default(); keys.len()],
            cursors: Vec::new(),
            histories: vec![History::default(); signals.len()],
            folds: Vec::new(),
            earlier: results.streams.iter().map(|s| vec![None; base(s).0]).collect(),
        };
        let results = results.clone();
        let (noting, parts) = (Vec::new(), Vec::new());
        let mut this = Self {
            results,
            signals,
            walks,
            folded,
            fold_of,
            keys,
            ports,
            senders,
            noting,
            rate,
            state,
            parts,
        };
        this.blank();
        Ok(Some(this))
    }

    fn blank(&mut self) {
        let cursor = |walk: &Walk| Cursor { at: Moment::at(0), places: vec![0; walk.ports.len()] };
        self.state.cursors = self.walks.iter().map(cursor).collect();
        let fold = |r: &Reduction| match r.of {
            Of::Signal(s) => Fold::signal(r.how, self.signals[s].is_truth(), self.rate),
            Of::Stream(_) => Fold::stream(r.how, r.batches, self.rate),
        };
        self.state.folds = self.folded.iter().map(fold).collect();
    }

    /// Asks units for notes of all that results follow, before the run begins. Values at the end are asked for there.
    pub(crate) fn begin(&mut self, sim: &mut Simulation<Value>) {
        let mut by_model: BTreeMap<ModelKey, Vec<u16>> = BTreeMap::new();
        let followed: HashSet<&Output> = self.results.followed().collect();
        for (output, &(key, port)) in self.results.ports.iter().zip(&self.keys) {
            if followed.contains(output) {
                by_model.entry(key).or_default().push(port);
            }
        }
        for (key, ports) in by_model {
            let noted = sim.note(key, &ports);
            for port in ports {
                self.state.noted[self.ports[&(key, port)]] = noted;
            }
        }
        self.gather();
    }

    /// Finds the models that note, each once, in the order of the results.
    fn gather(&mut self) {
        self.noting.clear();
        let all = self.keys.iter().zip(&self.state.noted).enumerate();
        for (k, ((key, port), _)) in all.filter(|(_, (_, noted))| **noted) {
            match self.noting.iter_mut().find(|(known, _)| known == key) {
                Some((_, ports)) => ports.push((*port, k)),
                None => self.noting.push((*key, vec![(*port, k)])),
            }
        }
    }

    /// The part of it that a checkpoint holds.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Goes on from a checkpoint of this plan.
    pub(crate) fn restore(&mut self, state: State) {
        self.state = state;
        self.gather();
    }

    /// Whether it wants to hear what a model sends.
    pub(crate) fn hears(&self, model: ModelKey) -> bool {
        let heard = self.ports.iter().any(|(key, &k)| key.0 == model && !self.state.noted[k]);
        heard || self.senders.keys().any(|key| key.0 == model)
    }

    /// A message that was sent.
    pub(crate) fn sent(&mut self, model: ModelKey, port: u16, tick: i64, value: &Value) {
        let key = (model, port);
        if let Some(&k) = self.ports.get(&key)
            && !self.state.noted[k]
        {
            self.state.queues[k].send(tick, value);
        }
        if let Some(streams) = self.senders.get(&key) {
            for s in streams.clone() {
                self.happened(s, tick, value.as_real());
            }
        }
    }

    /// A row of the table of events.
    pub(crate) fn event(&mut self, unit: &str, name: &str, tick: i64) {
        for s in 0..self.results.streams.len() {
            let known = match innermost(&self.results.streams[s]) {
                Stream::Events { units, pattern } => {
                    fits(pattern, name)
                        && units.binary_search_by(|of| of.as_str().cmp(unit)).is_ok()
                }
                _ => false,
            };
            if known {
                self.happened(s, tick, None);
            }
        }
    }

    fn happened(&mut self, stream: usize, tick: i64, mut value: Option<f64>) {
        for earlier in &mut self.state.earlier[stream] {
            let Some(before) = earlier.replace(tick) else { return };
            value = Some((tick - before) as f64 / self.rate);
        }
        for (r, fold) in self.folded.iter().zip(&mut self.state.folds) {
            if r.of == Of::Stream(stream) && (r.window[0]..=r.window[1]).contains(&tick) {
                fold.event(tick, value);
            }
        }
    }

    /// Works through all that is final when all cycles up to tick `now` ran; at the `end` of the run, all.
    pub(crate) fn advance(&mut self, sim: &mut Simulation<Value>, now: i64, end: bool) {
        for (key, ports) in &self.noting {
            let notes = sim.take_notes(*key, end.then_some(now));
            let pieces = notes.and_then(|notes| notes.downcast::<Vec<Piece>>().ok());
            for piece in pieces.into_iter().flat_map(|pieces| *pieces) {
                if let Some(&(_, k)) = ports.iter().find(|(port, _)| *port == piece.port) {
                    self.state.queues[k].note(piece);
                }
            }
        }
        for w in 0..self.walks.len() {
            while self.one(w, now, end) {}
        }
        self.forget();
    }

    /// Takes the notes of models, and forgets them: another process works through its own.
    pub(crate) fn drop_notes(&self, sim: &mut Simulation<Value>) {
        self.noting.iter().for_each(|(key, _)| drop(sim.take_notes(*key, None)));
    }

    /// Works through one interval of the signals of a walk, if it is known.
    fn one(&mut self, w: usize, now: i64, end: bool) -> bool {
        let (walk, Cursor { at, places }) = (&self.walks[w], &mut self.state.cursors[w]);
        let heard = Moment::at(now);
        // A formula without outputs is known throughout.
        let mut known = heard;
        let mut next = walk.next_cut(*at);
        for (place, &port) in places.iter_mut().zip(&walk.ports) {
            let queue = &self.state.queues[port];
            let Some(stretch) = queue.seek(place, *at) else { return false };
            if stretch.from > *at {
                // Without this output the signal has no value before.
                *at = stretch.from;
                return true;
            }
            let to = if end { stretch.to } else { queue.ending(*place) };
            if let Some(to) = to {
                next = Some(next.map_or(to, |n| if to < n { to } else { n }));
            }
            if self.state.noted[port] {
                let until = queue.end().unwrap_or(*at);
                known = if until < known { until } else { known };
            }
        }
        let to = match next {
            Some(next) if next <= known => next,
            _ if end && heard > *at => heard,
            _ => return false,
        };
        // Whether an event ends the interval shows at the tick that follows.
        if to <= *at || walk.has_truth && !end && known < tick_of(to) {
            return false;
        }
        let from = std::mem::replace(at, to);
        self.interval(w, from, to);
        true
    }

    fn interval(&mut self, w: usize, from: Moment, to: Moment) {
        let seconds = to.since(from, self.rate);
        let Self { walks, signals, parts, rate, .. } = self;
        let (walk, rate) = (&mut walks[w], *rate);
        let State { cursors, histories, folds, queues, .. } = &mut self.state;
        let places = &cursors[w].places;
        let stretches = || walk.ports.iter().zip(places).map(|(&port, &at)| (&queues[port], at));
        parts.resize(walk.ports.len(), Vec::new());
        for (part, (queue, place)) in parts.iter_mut().zip(stretches()) {
            if let Some(stretch) = queue.get(place) {
                stretch.part(from, seconds, rate, part);
            }
        }
        if stretches().any(|(queue, _)| queue.coarse) {
            walk.tracks.iter().for_each(|track| histories[track.signal].cuts.give_up());
        }
        let event = walk.has_truth && stretches().any(|(q, place)| q.is_ended(place, tick_of(to)));
        let looks = walk.look(&self.folded, from);
        let place = |share: f64| match share {
            0.0 => from,
            1.0 => to,
            _ => Moment::after(from.tick, from.part + share * seconds, rate),
        };
        let interval = (from.seconds(rate), seconds);
        for track in &walk.tracks {
            let signal = &mut signals[track.signal];
            let History { seen, sizes, cuts } = &mut histories[track.signal];
            if looks {
                let ends = track.folds.iter().filter(|&&f| self.folded[f].ends_at(from));
                instants(ends, (from, interval.0), (signal, seen, parts), folds);
            }
            let looking = &track.looking;
            if signal.is_truth() {
                // The history of a condition before a window tells what is rounding in it. A tick is early by no more
                // than R14 says, with as much again for rounding.
                let early = 1.0 / (512.0 * rate);
                let mut take = |a, b, holds| {
                    let (from, to) = (place(a), place(b));
                    looking.iter().for_each(|&f| folds[f].truth(from, to.since(from, rate), holds));
                };
                note_sizes(sizes, parts);
                let bands = event.then_some(&walk.bands[..]);
                signal.truth((interval, early, bands), (parts, sizes), (seen, cuts), &mut take);
            } else if !looking.is_empty() {
                signal.number(interval, parts, cuts, &mut |a, b, c| {
                    let interval = Interval { from: place(a), seconds: (b - a) * seconds, c };
                    for &f in looking {
                        match self.folded[f].how {
                            How::Initial | How::At(_) if a == 0.0 => folds[f].once(c[0]),
                            _ => folds[f].piece(interval),
                        }
                    }
                });
            }
        }
    }

    /// Drops pieces that all signals have worked through.
    fn forget(&mut self) {
        let mut least = vec![u64::MAX; self.state.queues.len()];
        for (walk, cursor) in self.walks.iter().zip(&self.state.cursors) {
            for (&port, &place) in walk.ports.iter().zip(&cursor.places) {
                least[port] = least[port].min(place);
            }
        }
        for (queue, least) in self.state.queues.iter_mut().zip(least) {
            queue.drop_before(least);
        }
    }

    /// The results at the end of the run, and remarks on those that are no numbers.
    pub(crate) fn finish(
        &mut self,
        sim: &mut Simulation<Value>,
        end: i64,
    ) -> (Vec<Line>, Vec<String>) {
        self.advance(sim, end, true);
        self.last_values(sim, end);
        let number = |(r, &f): (&Reduction, &usize)| {
            self.state.folds[f].number(r.how, [r.window[0].min(end), r.window[1].min(end)])
        };
        let all = self.results.reductions.iter().zip(&self.fold_of);
        let mut values: Vec<Result<Option<f64>, NotFinite>> = all.map(number).collect();
        let reductions = values.len();
        values.resize(reductions + self.results.named.len(), Ok(None));
        let mut remarks = Vec::new();
        for &k in &self.results.order {
            let named = &self.results.named[k];
            let value = formula(&named.formula, &values);
            if value.is_err() {
                remarks.push(format!(
                    "result `{}` is no number, because a value on its way is not finite; keep formulas \
                     within their domain",
                    named.name
                ));
            }
            values[reductions + k] = value;
            remarks.extend(self.left_out(named));
            remarks.extend(self.too_fast(named));
        }
        let lines = self.results.named.iter().zip(&values[reductions..]).map(|(named, value)| {
            let value = value.unwrap_or(None);
            let interval = named.batches.and_then(|r| self.fold(r).interval());
            let outcome = match (named.batches, interval) {
                (None, _) if !named.sampled => Outcome::Number(value),
                (_, bounds) => {
                    let (low, high) = bounds.unzip();
                    Outcome::Object { value, low, high, bar: None, sampled: named.sampled }
                }
            };
            Line { name: named.name.clone(), outcome, unit: named.unit.clone() }
        });
        (lines.collect(), remarks)
    }

    /// The fold of a reduction.
    fn fold(&self, reduction: usize) -> &Fold {
        &self.state.folds[self.fold_of[reduction]]
    }

    /// A remark on signals that change too fast for their pieces.
    fn too_fast(&self, named: &super::Named) -> Option<String> {
        let coarse = |of| matches!(of, Of::Signal(s) if self.state.histories[s].cuts.is_coarse());
        let places = named.formula.vars().into_iter().map(|var| var.0 as usize);
        let mut all = places.filter_map(|k| self.results.reductions.get(k));
        all.any(|r| r.how != How::Final && coarse(r.of)).then(|| {
            format!(
                "result `{}` is off: it reads what changes more than 500 times in each step of its unit, and 130 000 times more; \
                 give the unit a `max_step` that is shorter than these changes",
                named.name
            )
        })
    }

    /// A remark on events of a result of their values that carry none.
    fn left_out(&self, named: &super::Named) -> Option<String> {
        let places = named.formula.vars().into_iter().map(|var| var.0 as usize);
        let of_values = |k: usize| {
            let how = self.results.reductions.get(k).filter(|r| r.how.takes_values());
            how.map(|_| self.fold(k).without_number())
        };
        let (without, all) = places.filter_map(of_values).find(|(without, _)| *without > 0)?;
        Some(format!(
            "result `{}` leaves out {without} of {all} events, which carry no number",
            named.name
        ))
    }

    /// Values at the end, when all cycles of its tick ran.
    fn last_values(&mut self, sim: &Simulation<Value>, end: i64) {
        let Self { walks, signals, folded, keys, rate, state, .. } = self;
        let State { histories, queues, folds, .. } = state;
        let current = |port: &usize| {
            let (key, number) = keys[*port];
            let probed = sim.probe(key, number, end).and_then(|v| v.as_real());
            probed.or_else(|| queues[*port].last(end, *rate))
        };
        let time = end as f64 / *rate;
        for walk in walks {
            let mut all = None;
            for Track { signal, folds: of_signal, .. } in &walk.tracks {
                for &f in of_signal {
                    let r = &folded[f];
                    let window = r.window[0] < end && end <= r.window[1];
                    // A run that an event ends has its last value in windows that it does not fill.
                    let present = match r.how {
                        How::Final => true,
                        How::At(tick) => tick == end || window && tick == r.window[1],
                        _ => false,
                    };
                    if !present && !window {
                        continue;
                    }
                    let values = || walk.ports.iter().map(current).collect::<Option<Vec<f64>>>();
                    let Some(all) = all.get_or_insert_with(values) else { break };
                    let (compiled, seen) = (&mut signals[*signal], &histories[*signal].seen);
                    if present {
                        folds[f].once(compiled.value(time, |k| all[k]));
                    } else {
                        let last = compiled.last(time, seen, |k| all[k]);
                        folds[f].instant(Moment::at(end), last);
                    }
                }
            }
        }
    }
}

/// The reductions that need a fold of their own, and the place among them of the fold of each.
fn folds(reductions: &[Reduction]) -> (Vec<Reduction>, Vec<usize>) {
    let mut folded: Vec<Reduction> = Vec::new();
    let place = |r: &Reduction| {
        let own = match r.of {
            Of::Signal(_) => Reduction { how: r.how.folded(), ..r.clone() },
            Of::Stream(_) => r.clone(),
        };
        folded.iter().position(|known| *known == own).unwrap_or_else(|| {
            folded.push(own);
            folded.len() - 1
        })
    };
    let places = reductions.iter().map(place).collect();
    (folded, places)
}

/// Raises the sizes of outputs to those of their next parts.
fn note_sizes(sizes: &mut Vec<f64>, parts: &Parts) {
    sizes.resize(parts.len(), 0.0);
    let largest = |c: &Vec<f64>| c.iter().fold(0.0, |size: f64, c| size.max(c.abs()));
    sizes.iter_mut().zip(parts).for_each(|(size, c)| *size = size.max(largest(c)));
}

/// Gives folds the value at an instant: the last one of their windows, at which an interval begins.
fn instants<'a>(
    of: impl Iterator<Item = &'a usize>,
    (at, time): (Moment, f64),
    (signal, seen, parts): (&mut Compiled, &[Seen], &Parts),
    folds: &mut [Fold],
) {
    let port = |k: usize| parts[k].first().copied().unwrap_or(0.0);
    let mut x = None;
    for &f in of {
        folds[f].instant(at, *x.get_or_insert_with(|| signal.last(time, seen, port)));
    }
}

/// The tick at an instant, or the one that follows it.
fn tick_of(at: Moment) -> Moment {
    Moment::at(if at.part > 0.0 { at.tick.saturating_add(1) } else { at.tick })
}

/// The value of a formula over other values: none where one of them is absent.
fn formula(
    formula: &superdense_models::maths::expr::Expr,
    values: &[Result<Option<f64>, NotFinite>],
) -> Result<Option<f64>, NotFinite> {
    for var in formula.vars() {
        if values[var.0 as usize]?.is_none() {
            return Ok(None);
        }
    }
    let plain: Vec<f64> = values.iter().map(|v| v.unwrap_or(None).unwrap_or(f64::NAN)).collect();
    let x = formula.eval(&plain);
    if x.is_finite() { Ok(Some(x)) } else { Err(NotFinite) }
}

fn innermost(stream: &Stream) -> &Stream {
    match stream {
        Stream::Gaps(inner) => innermost(inner),
        other => other,
    }
}

/// How many levels of gaps there are, and the senders below them.
fn base(stream: &Stream) -> (usize, Option<&[usize]>) {
    match stream {
        Stream::Gaps(inner) => {
            let (levels, senders) = base(inner);
            (levels + 1, senders)
        }
        Stream::Sent(senders) => (0, Some(senders)),
        Stream::Events { .. } => (0, None),
    }
}
