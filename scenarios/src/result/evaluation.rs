//! The evaluation of a run, as it goes on.
use super::{
    Atom, How, Line, Of, Outcome, Output, Results, Stream, fits,
    fold::{Fold, Interval, NotFinite},
    queue::Queue,
    side::Seen,
    signal::{Compiled, Parts},
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
    cursors: Vec<Cursor>,
    folds: Vec<Fold>,
    /// Per stream, per level of gaps: the tick of the event before.
    earlier: Vec<Vec<Option<i64>>>,
}

/// How far a signal has been worked through.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cursor {
    at: Moment,
    /// Number of the piece of each of its ports.
    places: Vec<u64>,
    /// Of a condition: per comparison.
    seen: Vec<Seen>,
    cuts: Cuts,
}

/// Evaluates the results of one run.
pub(crate) struct Evaluation {
    results: Results,
    signals: Vec<Compiled>,
    reads: Vec<Reads>,
    keys: Vec<(ModelKey, u16)>,
    /// Ports by model, for notes and for messages; streams by sender.
    ports: HashMap<(ModelKey, u16), usize>,
    senders: HashMap<(ModelKey, u16), Vec<usize>>,
    /// Models that note their pieces.
    noting: Vec<ModelKey>,
    rate: f64,
    state: State,
    /// Room for the outputs of one interval.
    parts: Parts,
}

/// Of a signal: the ports of its atoms, in order, the ticks at which it is cut, and its reductions.
struct Reads {
    ports: Vec<usize>,
    cuts: Vec<i64>,
    reductions: Vec<usize>,
    /// The cut before the present interval and the one behind it, and the reductions whose windows have it. They are
    /// looked up at cuts only: there are far more intervals.
    span: Option<(Moment, Option<Moment>)>,
    looking: Vec<usize>,
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
        let reads = (0..signals.len()).map(|s| Reads::new(results, s)).collect();
        let state = State {
            noted: vec![false; keys.len()],
            queues: vec![Queue::default(); keys.len()],
            cursors: Vec::new(),
            folds: Vec::new(),
            earlier: results.streams.iter().map(|s| vec![None; base(s).0]).collect(),
        };
        let results = results.clone();
        let (noting, parts) = (Vec::new(), Vec::new());
        let mut this =
            Self { results, signals, reads, keys, ports, senders, noting, rate, state, parts };
        this.blank();
        Ok(Some(this))
    }

    fn blank(&mut self) {
        let cursor = |reads: &Reads| Cursor {
            at: Moment::at(0),
            places: vec![0; reads.ports.len()],
            seen: Vec::new(),
            cuts: Cuts::default(),
        };
        self.state.cursors = self.reads.iter().map(cursor).collect();
        let fold = |r: &super::Reduction| match r.of {
            Of::Signal(s) => Fold::signal(r.how, self.signals[s].is_truth(), self.rate),
            Of::Stream(_) => Fold::stream(r.how, r.batches, self.rate),
        };
        self.state.folds = self.results.reductions.iter().map(fold).collect();
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
        let mut known = HashSet::new();
        let noting = self.keys.iter().zip(&self.state.noted).filter(|(_, noted)| **noted);
        let once = noting.filter(|((key, _), _)| known.insert(*key));
        self.noting = once.map(|((key, _), _)| *key).collect();
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
        for (r, fold) in self.results.reductions.iter().zip(&mut self.state.folds) {
            if r.of == Of::Stream(stream) && (r.window[0]..=r.window[1]).contains(&tick) {
                fold.event(tick, value);
            }
        }
    }

    /// Works through all that is final when all cycles up to tick `now` ran; at the `end` of the run, all.
    pub(crate) fn advance(&mut self, sim: &mut Simulation<Value>, now: i64, end: bool) {
        for &key in &self.noting {
            let notes = sim.take_notes(key, end.then_some(now));
            let pieces = notes.and_then(|notes| notes.downcast::<Vec<Piece>>().ok());
            for piece in pieces.into_iter().flat_map(|pieces| *pieces) {
                if let Some(&k) = self.ports.get(&(key, piece.port)) {
                    self.state.queues[k].note(piece);
                }
            }
        }
        for s in 0..self.signals.len() {
            while self.one(s, now, end) {}
        }
        self.forget();
    }

    /// Takes the notes of models, and forgets them: another process works through its own.
    pub(crate) fn drop_notes(&self, sim: &mut Simulation<Value>) {
        self.noting.iter().for_each(|&key| drop(sim.take_notes(key, None)));
    }

    /// Works through one interval of a signal, if it is known.
    fn one(&mut self, s: usize, now: i64, end: bool) -> bool {
        let Cursor { at, places, .. } = &mut self.state.cursors[s];
        let heard = Moment::at(now);
        // A formula without outputs is known throughout.
        let mut known = heard;
        let mut next = self.reads[s].next_cut(*at);
        for (place, &port) in places.iter_mut().zip(&self.reads[s].ports) {
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
        if to <= *at || self.signals[s].is_truth() && !end && known < tick_of(to) {
            return false;
        }
        let from = std::mem::replace(at, to);
        self.interval(s, from, to);
        true
    }

    fn interval(&mut self, s: usize, from: Moment, to: Moment) {
        let seconds = to.since(from, self.rate);
        let time = from.seconds(self.rate);
        let ports = &self.reads[s].ports;
        self.parts.resize(ports.len(), Vec::new());
        if ports.iter().any(|&port| self.state.queues[port].coarse) {
            self.state.cursors[s].cuts.give_up();
        }
        let places = &self.state.cursors[s].places;
        for ((part, &port), &place) in self.parts.iter_mut().zip(ports).zip(places) {
            if let Some(stretch) = self.state.queues[port].get(place) {
                stretch.part(from, seconds, self.rate, part);
            }
        }
        if self.reads[s].look(&self.results, from) {
            self.instants(s, from);
        }
        // The history of a condition before a window tells what is rounding in it.
        if self.reads[s].looking.is_empty() && !self.signals[s].is_truth() {
            return;
        }
        let rate = self.rate;
        let place = |share: f64| match share {
            0.0 => from,
            1.0 => to,
            _ => Moment::after(from.tick, from.part + share * seconds, rate),
        };
        let (signal, looking) = (&mut self.signals[s], &self.reads[s].looking);
        let State { cursors, folds, queues, .. } = &mut self.state;
        let Cursor { seen, cuts, places, .. } = &mut cursors[s];
        if signal.is_truth() {
            // R14, with as much again for rounding.
            let early = 1.0 / (512.0 * rate);
            let ports = self.reads[s].ports.iter().zip(&*places);
            let mut all = ports.map(|(&port, &place)| queues[port].is_ended(place, tick_of(to)));
            let event = all.any(|ended| ended);
            let mut take = |a, b, holds| {
                let (from, to) = (place(a), place(b));
                looking.iter().for_each(|&r| folds[r].truth(from, to.since(from, rate), holds));
            };
            let interval = ((time, seconds), early, event);
            signal.truth(interval, &self.parts, (seen, cuts), &mut take);
            return;
        }
        signal.number((time, seconds), &self.parts, cuts, &mut |a, b, c| {
            let from = place(a);
            let interval = Interval { from, seconds: (b - a) * seconds, c };
            for &r in looking {
                match self.results.reductions[r].how {
                    How::Initial | How::At(_) if a == 0.0 => folds[r].once(c[0]),
                    _ => folds[r].piece(interval),
                }
            }
        });
    }

    /// The last instant of windows that end where an interval begins.
    fn instants(&mut self, s: usize, from: Moment) {
        let all = &self.results.reductions;
        let ends = |&&r: &&usize| {
            let [begin, end] = all[r].window;
            begin < end && Moment::at(end) == from
        };
        let mut x = None;
        for &r in self.reads[s].reductions.iter().filter(ends) {
            let (time, parts) = (from.seconds(self.rate), &self.parts);
            let port = |k: usize| parts[k].first().copied().unwrap_or(0.0);
            let seen = &self.state.cursors[s].seen;
            let last = || self.signals[s].last(time, seen, port);
            self.state.folds[r].instant(from, *x.get_or_insert_with(last));
        }
    }

    /// Drops pieces that all signals have worked through.
    fn forget(&mut self) {
        let mut least = vec![u64::MAX; self.state.queues.len()];
        for (reads, cursor) in self.reads.iter().zip(&self.state.cursors) {
            for (&port, &place) in reads.ports.iter().zip(&cursor.places) {
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
        let number = |(r, fold): (&super::Reduction, &Fold)| {
            fold.number(r.how, [r.window[0].min(end), r.window[1].min(end)])
        };
        let all = self.results.reductions.iter().zip(&self.state.folds);
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
            let interval = named.batches.and_then(|r| self.state.folds[r].interval());
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

    /// A remark on signals that change too fast for their pieces.
    fn too_fast(&self, named: &super::Named) -> Option<String> {
        let coarse = |of| matches!(of, Of::Signal(s) if self.state.cursors[s].cuts.is_coarse());
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
            how.map(|_| self.state.folds[k].without_number())
        };
        let (without, all) = places.filter_map(of_values).find(|(without, _)| *without > 0)?;
        Some(format!(
            "result `{}` leaves out {without} of {all} events, which carry no number",
            named.name
        ))
    }

    /// Values at the end, when all cycles of its tick ran.
    fn last_values(&mut self, sim: &Simulation<Value>, end: i64) {
        for (r, fold) in self.results.reductions.iter().zip(&mut self.state.folds) {
            let Of::Signal(s) = r.of else { continue };
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
            let ports = &self.reads[s].ports;
            let current = |port: usize| {
                let (key, number) = self.keys[port];
                let probed = sim.probe(key, number, end);
                probed
                    .and_then(|v| v.as_real())
                    .or_else(|| self.state.queues[port].last(end, self.rate))
            };
            let all: Option<Vec<f64>> = ports.iter().map(|&port| current(port)).collect();
            let Some(all) = all else { continue };
            let time = end as f64 / self.rate;
            if !present {
                let seen = &self.state.cursors[s].seen;
                fold.instant(Moment::at(end), self.signals[s].last(time, seen, |k| all[k]));
            } else {
                fold.once(self.signals[s].value(time, |k| all[k]));
            }
        }
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

impl Reads {
    fn new(results: &Results, s: usize) -> Self {
        let (mut ports, mut cuts, mut reductions) = (Vec::new(), Vec::new(), Vec::new());
        for atom in &results.signals[s].atoms {
            match atom {
                Atom::Time => {}
                Atom::Port(p) => ports.push(*p),
                Atom::Many(_, all) => ports.extend(all),
            }
        }
        for (k, r) in results.reductions.iter().enumerate().filter(|(_, r)| r.of == Of::Signal(s)) {
            reductions.push(k);
            cuts.extend(r.window);
            if let How::At(tick) = r.how {
                cuts.push(tick);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        Self { ports, cuts, reductions, span: None, looking: Vec::new() }
    }

    /// The span of cuts, if it is the one around an instant.
    fn around(&self, at: Moment) -> Option<(Moment, Option<Moment>)> {
        self.span.filter(|(begin, end)| *begin < at && end.is_none_or(|end| at < end))
    }

    /// The cut behind an instant.
    fn next_cut(&self, at: Moment) -> Option<Moment> {
        if let Some((_, end)) = self.around(at) {
            return end;
        }
        self.cuts.iter().map(|&cut| Moment::at(cut)).find(|cut| *cut > at)
    }

    /// Looks up which reductions an interval counts for that begins here, and tells whether a cut may lie here.
    fn look(&mut self, results: &Results, from: Moment) -> bool {
        if self.around(from).is_some() {
            return false;
        }
        let all = &results.reductions;
        let end = self.next_cut(from);
        let looks = |&&r: &&usize| {
            let [begin, window] = all[r].window.map(Moment::at);
            match all[r].how {
                How::Final => false,
                How::At(tick) => Moment::at(tick) == from,
                _ => begin <= from && end.is_some_and(|end| end <= window),
            }
        };
        self.looking.clear();
        self.looking.extend(self.reductions.iter().filter(looks));
        // The value at an instant is that of the interval which begins there, and of no later one.
        let once = self.looking.iter().any(|&r| matches!(all[r].how, How::At(_)));
        self.span = (!once).then_some((from, end));
        true
    }
}
