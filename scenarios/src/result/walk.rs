//! Signals that read one list of outputs are worked through together: their intervals are those of these outputs.
use super::{Atom, Form, How, Of, Reduction, Results, Signal};
use superdense_models::signal::piece::Moment;

/// Signals over one list of outputs.
pub(super) struct Walk {
    /// Places of the outputs, in the order in which the atoms of each signal name them.
    pub ports: Vec<usize>,
    /// How far off units that hear them may know them.
    pub bands: Vec<f64>,
    /// The signals.
    pub tracks: Vec<Track>,
    /// Whether one of them is a condition.
    pub has_truth: bool,
    /// Ticks at which windows begin and end, and at which values are asked for.
    cuts: Vec<i64>,
    /// The cut before the present interval and the one behind it. Folds are looked up at cuts only: there are far more
    /// intervals.
    span: Option<(Moment, Option<Moment>)>,
}

/// A signal of a walk.
pub(super) struct Track {
    /// Its place among all signals.
    pub signal: usize,
    /// Its folds.
    pub folds: Vec<usize>,
    /// Folds whose windows have the present interval.
    pub looking: Vec<usize>,
}

impl Walk {
    /// The walks of all signals; `folded` are reductions, one for each fold.
    pub(super) fn all(Results { signals, bands, .. }: &Results, folded: &[Reduction]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (signal, of) in signals.iter().enumerate() {
            let ports: Vec<usize> = of.atoms.iter().flat_map(Atom::ports).copied().collect();
            let at = all.iter().position(|walk| walk.ports == ports).unwrap_or_else(|| {
                let (tracks, cuts) = (Vec::new(), Vec::new());
                let bands = ports.iter().map(|&port| bands[port]).collect();
                all.push(Self { ports, bands, tracks, has_truth: false, cuts, span: None });
                all.len() - 1
            });
            all[at].take(signal, of, folded);
        }
        all
    }

    fn take(&mut self, signal: usize, of: &Signal, folded: &[Reduction]) {
        let reads = |(_, r): &(usize, &Reduction)| r.of == Of::Signal(signal);
        let mut folds = Vec::new();
        for (f, r) in folded.iter().enumerate().filter(reads) {
            folds.push(f);
            self.cuts.extend(r.window);
            if let How::At(tick) = r.how {
                self.cuts.push(tick);
            }
        }
        self.cuts.sort_unstable();
        self.cuts.dedup();
        self.has_truth |= matches!(of.form, Form::Truth(_));
        self.tracks.push(Track { signal, folds, looking: Vec::new() });
    }

    /// The span of cuts, if it is the one around an instant.
    fn around(&self, at: Moment) -> Option<(Moment, Option<Moment>)> {
        self.span.filter(|(begin, end)| *begin < at && end.is_none_or(|end| at < end))
    }

    /// The cut behind an instant.
    pub(super) fn next_cut(&self, at: Moment) -> Option<Moment> {
        if let Some((_, end)) = self.around(at) {
            return end;
        }
        self.cuts.iter().map(|&cut| Moment::at(cut)).find(|cut| *cut > at)
    }

    /// Looks up for which folds an interval counts that begins here, and tells whether a cut may lie here.
    pub(super) fn look(&mut self, folded: &[Reduction], from: Moment) -> bool {
        if self.around(from).is_some() {
            return false;
        }
        let end = self.next_cut(from);
        let looks = |&&f: &&usize| {
            let [begin, window] = folded[f].window.map(Moment::at);
            match folded[f].how {
                How::Final => false,
                How::At(tick) => Moment::at(tick) == from,
                _ => begin <= from && end.is_some_and(|end| end <= window),
            }
        };
        let mut once = false;
        for Track { folds, looking, .. } in &mut self.tracks {
            looking.clear();
            looking.extend(folds.iter().filter(looks));
            once |= looking.iter().any(|&f| matches!(folded[f].how, How::At(_)));
        }
        // The value at an instant is that of the interval which begins there, and of no later one.
        self.span = (!once).then_some((from, end));
        true
    }
}
