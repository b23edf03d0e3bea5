//! The rungs of the ladder: how they are laid out, and how it moves from one to the next.

use super::{
    LadderList,
    store::{Node, WORD},
};
use crate::event_list::{EARLIEST, LATEST};

/// More events than this in a bucket go to a finer rung, fewer are searched.
pub(super) const CROWD: usize = 8;

/// Rungs before the coarsest. From 2^57 ticks per bucket down to one, each rung splitting a
/// bucket by 64 or more, there are at most ten; two more are for events scheduled before them.
const FINER: usize = 12;

/// Buckets of the coarsest rung: per pending event, and at least.
const BUCKETS_PER_EVENT: usize = 8;
const BUCKETS: usize = 1024;

/// The width of a bucket, as a multiple of the mean time between events, before it is rounded
/// down to a power of two.
const EVENTS_PER_BUCKET: f64 = 0.5;

/// How many events of `far` are looked at to learn their distribution.
const SAMPLE: usize = 32;

/// Buckets of equal width, a power of two, over a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    /// Where the first bucket begins.
    pub(super) origin: i64,
    /// The length in ticks.
    length: u64,
    /// log2 of the width of a bucket.
    shift: u32,
    /// The first bucket, a multiple of [`WORD`].
    base: usize,
    /// The words of the bitmap that may have bits set.
    word: usize,
    end: usize,
}

impl Rung {
    /// No rung: every time is beyond it.
    pub(super) const NONE: Self =
        Self { origin: i64::MIN, length: 0, shift: 0, base: 0, word: 0, end: 0 };

    /// A rung from `origin` to at most `last`, with `buckets` from `base` on.
    fn new(origin: i64, last: i64, shift: u32, base: usize, buckets: usize) -> Self {
        let longest = ((buckets as u64 - 1) << shift) | ((1 << shift) - 1);
        Self {
            origin,
            length: longest.min(last.wrapping_sub(origin) as u64) + 1,
            shift,
            base,
            word: base / WORD,
            end: (base + buckets) / WORD,
        }
    }

    /// Whether a bucket is one tick wide.
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// The bucket of a time that is not before the rung, unless it is beyond.
    #[inline]
    fn bucket(&self, at: i64) -> Option<usize> {
        let offset = at.wrapping_sub(self.origin) as u64;
        (offset < self.length).then(|| self.base + (offset >> self.shift) as usize)
    }

    /// The same for a time about to be put there.
    #[inline]
    pub(super) fn admit(&mut self, at: i64) -> Option<usize> {
        let bucket = self.bucket(at)?;
        self.word = self.word.min(bucket / WORD);
        Some(bucket)
    }

    /// The first bucket that holds something. Correct for the finest rung only: the words after
    /// its own are in no use and zero.
    #[inline]
    pub(super) fn first(&mut self, occupied: &[u64]) -> Option<usize> {
        loop {
            let bits = *occupied.get(self.word)?;
            if bits != 0 {
                return Some(self.word * WORD + bits.trailing_zeros() as usize);
            }
            if self.word >= self.end {
                return None;
            }
            self.word += 1;
        }
    }

    /// The first bucket that holds something, if it is near the last one.
    #[inline(always)]
    pub(super) fn glance(&self, occupied: &[u64]) -> Option<usize> {
        let bits = *occupied.get(self.word)?;
        (bits != 0).then(|| self.word * WORD + bits.trailing_zeros() as usize)
    }

    /// The last tick of a bucket.
    fn last(&self, bucket: usize) -> i64 {
        let start = ((bucket - self.base) as u64) << self.shift;
        let offset = (start | ((1 << self.shift) - 1)).min(self.length - 1);
        self.origin.wrapping_add(offset as i64)
    }
}

/// log2 of the width of `buckets` buckets that are to span `range` ticks and one.
fn shift_of(range: u64, buckets: usize) -> u32 {
    (u64::BITS - range.leading_zeros()).saturating_sub(buckets.ilog2())
}

impl LadderList {
    /// Goes on to the next rung, the finest having nothing left. Returns whether there is one.
    #[cold]
    pub(super) fn advance(&mut self) -> bool {
        if let Some(rung) = self.rest.pop() {
            self.front = rung;
            return true;
        }
        let pending = !self.store.far.is_empty();
        if pending {
            self.refill();
        }
        pending
    }

    /// Lays out a rung in front of the others.
    fn lay(&mut self, origin: i64, last: i64, shift: u32, buckets: usize) {
        let base = self.front.end * WORD;
        self.store.reserve(base + buckets);
        self.rest.push(self.front);
        self.front = Rung::new(origin, last, shift, base, buckets);
    }

    /// Moves a crowded bucket of the finest rung into a finer one, or starts anew when the ladder
    /// has grown out of shape.
    #[cold]
    pub(super) fn split(&mut self, bucket: usize) {
        let coarsest = self.rest.first().unwrap_or(&self.front);
        let outgrown = self.taken - self.taken_before > 4 * (coarsest.end * WORD) as u64;
        if outgrown || self.rest.len() >= FINER {
            self.collapse();
            return;
        }
        let last = self.front.last(bucket);
        let first = self.store.detach(bucket);
        let (mut min, mut max, mut count) = (i64::MAX, i64::MIN, 0_usize);
        let mut model = first;
        while model != self.store.nil {
            let node = &self.store.nodes[model as usize];
            min = min.min(node.time);
            max = max.max(node.time);
            count += 1;
            model = node.next;
        }
        if min == max {
            self.lay(min, last, 0, WORD);
            self.store.attach(self.front.base, first);
            return;
        }
        let buckets = (2 * count).next_power_of_two().max(WORD);
        self.lay(min, last, shift_of(max.wrapping_sub(min) as u64, buckets), buckets);
        model = first;
        while model != self.store.nil {
            let Node { time, next, .. } = self.store.nodes[model as usize];
            let bucket = self.front.bucket(time).expect("the rung spans the bucket");
            self.store.push(bucket, model, time);
            model = next;
        }
    }

    /// Lays out a rung for a time before the finest one.
    ///
    /// It reaches back as far as the coarsest rung is long, lest many such times, each before
    /// the others, need a rung each.
    #[cold]
    pub(super) fn lay_before(&mut self, at: i64) {
        if self.rest.len() >= FINER {
            self.collapse();
            return;
        }
        let coarsest = self.rest.first().unwrap_or(&self.front);
        let reach = i64::try_from(coarsest.length).unwrap_or(i64::MAX);
        let origin = at.saturating_sub(reach).max(EARLIEST);
        let last = self.front.origin - 1;
        self.lay(origin, last, shift_of(last.wrapping_sub(origin) as u64, WORD), WORD);
    }

    /// Puts the events of all rungs into `far`.
    #[cold]
    fn collapse(&mut self) {
        loop {
            while let Some(bucket) = self.front.first(&self.store.occupied) {
                let mut model = self.store.detach(bucket);
                while model != self.store.nil {
                    let Node { time, next, .. } = self.store.nodes[model as usize];
                    self.store.push_far(model, time);
                    model = next;
                }
            }
            let Some(rung) = self.rest.pop() else { break };
            self.front = rung;
        }
        self.front = Rung::NONE;
    }

    /// Lays out the coarsest rung over the earlier part of `far`, which is not empty.
    fn refill(&mut self) {
        let min = self.store.far.iter().fold(i64::MAX, |min, &(time, _)| min.min(time));
        let count = self.store.far.len();
        let buckets = (count * BUCKETS_PER_EVENT).next_power_of_two().max(BUCKETS);
        self.front = Rung::new(min, LATEST, self.shift(min, buckets), 0, buckets);
        self.store.reserve(buckets);
        let mut place = 0;
        while let Some(&(time, model)) = self.store.far.get(place) {
            if let Some(bucket) = self.front.bucket(time) {
                self.store.far.swap_remove(place);
                self.store.push(bucket, model, time);
            } else {
                self.store.settle_far(place);
                place += 1;
            }
        }
        self.taken_before = self.taken;
        self.since = min;
    }

    /// Chooses log2 of the width of the buckets for `far`, whose earliest time is `min`.
    ///
    /// Two estimates of the mean time between events: that of the earliest quarter of `far`, and
    /// that of the events taken since the last time. The first knows nothing of events yet to be
    /// scheduled, the second nothing of a change; the smaller one wins, because too narrow a
    /// bucket costs less than too wide a one. But a quarter of `far` has to fit, so that looking
    /// through all of it pays.
    fn shift(&mut self, min: i64, buckets: usize) -> u32 {
        let far = &self.store.far;
        self.sample.clear();
        let step = far.len().div_ceil(SAMPLE);
        self.sample.extend(far.iter().step_by(step).map(|&(time, _)| time));
        let middle = self.sample.len() / 4;
        let (_, &mut quartile, _) = self.sample.select_nth_unstable(middle);
        let quarter = quartile.wrapping_sub(min) as u64 as f64;

        let ahead = quarter / (far.len() as f64 / 4.0);
        let taken = self.taken - self.taken_before;
        let behind = min.saturating_sub(self.since) as f64 / taken as f64;
        let known = taken > 0 && self.since > EARLIEST && behind > 0.0;
        let gap = if !known || (ahead > 0.0 && ahead < behind) { ahead } else { behind };
        let width = (gap * EVENTS_PER_BUCKET).max(quarter / buckets as f64).max(1.0);
        (width as u64).ilog2().min(63 - buckets.ilog2())
    }
}
