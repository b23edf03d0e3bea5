//! The rungs of the ladder: how they are laid out, and how it moves from one to the next.

use super::{
    LadderList,
    store::{Node, WORD},
};
use crate::event_list::{EARLIEST, EventList, LATEST};

/// More events than this in a bucket go to a finer rung, fewer are searched.
pub(super) const CROWD: usize = 8;

/// Rungs before the coarsest. From 2^57 ticks per bucket down to one, each rung splitting a
/// bucket by 64 or more, there are at most ten; two more are for events scheduled before them.
const FINER: usize = 12;

/// Buckets of the coarsest rung: per pending event, at least, and no more than this unless there
/// are as many events.
///
/// **Why not eight for any number.** A bucket that is not in a cache costs a wait for each event,
/// whereas going through `far` once per turn reads memory in its order. *Hold* with 65 536 models is
/// a sixth faster.
///
/// A few events have a few: laying out a thousand takes longer than running them.
const BUCKETS_PER_EVENT: usize = 8;
const BUCKETS_PER_FEW: usize = 64;
const BUCKETS: usize = 1024;
const MANY: usize = 1 << 16;

/// The width of a bucket, as a multiple of the mean time between events, before it is rounded
/// down to a power of two.
const EVENTS_PER_BUCKET: f64 = 0.5;

/// How many events of `far` are looked at to learn their distribution.
const SAMPLE: usize = 32;

/// Buckets of equal width, a power of two, over a stretch of time.
///
/// The coarsest rung is a *wheel*: the stretch it takes in moves on with time, and buckets that
/// were emptied are used again for what comes after the last ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    /// Where the stretch begins that is taken in.
    pub(super) origin: i64,
    /// Its length in ticks.
    length: u64,
    /// Where bucket number 0 begins; later ones have the numbers that follow, without end.
    zero: i64,
    /// log2 of the width of a bucket.
    shift: u32,
    /// Where the buckets are, a multiple of [`WORD`].
    base: usize,
    /// How many there are, less one: a mask for their numbers.
    mask: usize,
    /// The words of bucket numbers that may hold something to come in this turn.
    pub(super) word: usize,
    end: usize,
}

impl Rung {
    /// No rung: every time is beyond it.
    pub(super) const NONE: Self = Self {
        origin: i64::MIN,
        length: 0,
        zero: i64::MIN,
        shift: 0,
        base: 0,
        mask: 0,
        word: 0,
        end: 0,
    };

    /// A rung from `origin` to at most `last`, with `buckets` from `base` on.
    fn new(origin: i64, last: i64, shift: u32, base: usize, buckets: usize) -> Self {
        let longest = ((buckets as u64 - 1) << shift) | ((1 << shift) - 1);
        Self {
            origin,
            length: longest.min(last.wrapping_sub(origin) as u64) + 1,
            zero: origin,
            shift,
            base,
            mask: buckets - 1,
            word: 0,
            end: buckets / WORD,
        }
    }

    /// Whether a bucket is one tick wide.
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// How many buckets there are.
    fn buckets(&self) -> usize {
        self.mask + 1
    }

    /// The number of the bucket of a time that is not before the rung, unless it is beyond.
    #[inline]
    fn number(&self, at: i64) -> Option<usize> {
        let within = (at.wrapping_sub(self.origin) as u64) < self.length;
        within.then(|| (at.wrapping_sub(self.zero) as u64 >> self.shift) as usize)
    }

    /// The bucket of such a time, and the word in which it is.
    #[inline]
    pub(super) fn bucket(&self, at: i64) -> Option<(usize, usize)> {
        let number = self.number(at)?;
        Some((self.base + (number & self.mask), number / WORD))
    }

    /// The bucket of such a time that is about to be put there.
    #[inline]
    pub(super) fn admit(&mut self, at: i64) -> Option<usize> {
        let (bucket, word) = self.bucket(at)?;
        self.word = self.word.min(word);
        Some(bucket)
    }

    /// The first bucket that holds something.
    #[inline(always)]
    pub(super) fn first(&mut self, occupied: &[u64]) -> Option<usize> {
        if self.word < self.end
            && let Some(bucket) = self.glance(occupied)
        {
            return Some(bucket);
        }
        self.search(occupied)
    }

    /// Searches the words that follow.
    #[inline(never)]
    fn search(&mut self, occupied: &[u64]) -> Option<usize> {
        while self.word < self.end {
            let bucket = self.glance(occupied);
            if bucket.is_some() {
                return bucket;
            }
            self.word += 1;
        }
        None
    }

    /// The first bucket that holds something, if it is near the last one.
    #[inline(always)]
    pub(super) fn glance(&self, occupied: &[u64]) -> Option<usize> {
        let bucket = self.base + ((self.word * WORD) & self.mask);
        let bits = *occupied.get(bucket / WORD)?;
        (bits != 0).then(|| bucket + bits.trailing_zeros() as usize)
    }

    /// The last tick of the bucket that [`Rung::first`] found.
    fn last(&self, bucket: usize) -> i64 {
        let start = ((self.word * WORD + bucket % WORD) as u64) << self.shift;
        let end = (self.origin.wrapping_sub(self.zero) as u64) + (self.length - 1);
        self.zero.wrapping_add((start | ((1 << self.shift) - 1)).min(end) as i64)
    }

    /// Moves the stretch of a wheel on, nothing being pending before `now`.
    #[inline]
    pub(super) fn slide(&mut self, now: i64) {
        let offset = now.max(self.origin).wrapping_sub(self.zero) as u64;
        let word = ((offset >> self.shift) as usize / WORD).min(self.word);
        self.origin = self.zero.wrapping_add((((word * WORD) as u64) << self.shift) as i64);
        // Beyond the latest time the numbers wrap, and early times would look like late ones.
        self.length = self.length.min(LATEST.wrapping_sub(self.origin) as u64 + 1);
    }

    /// Begins the next turn of a wheel.
    fn turn(&mut self) {
        self.word = self.end;
        self.end += self.buckets() / WORD;
        self.slide(i64::MAX);
    }

    /// Makes all that is in it be found, whatever the turn.
    fn lay_open(&mut self) {
        self.end = self.word + self.buckets() / WORD;
    }
}

/// log2 of the width of `buckets` buckets that are to span `range` ticks and one.
fn shift_of(range: u64, buckets: usize) -> u32 {
    (u64::BITS - range.leading_zeros()).saturating_sub(buckets.ilog2())
}

impl LadderList {
    /// Goes on to the next rung, or to the next turn of the coarsest, the finest having nothing
    /// left. Returns whether anything is pending.
    #[cold]
    pub(super) fn advance(&mut self) -> bool {
        if let Some(rung) = self.rest.pop() {
            self.front = rung;
            return true;
        }
        let pending = self.len();
        if pending == 0 {
            return false;
        }
        let far = self.store.far.len();
        let taken = (self.taken - self.taken_before) as usize;
        let buckets = self.front.buckets();
        if far == pending || !(buckets / 16..=buckets).contains(&taken) {
            self.collapse();
            self.refill();
            return true;
        }
        self.front.turn();
        self.draw_near();
        true
    }

    /// Lays out a rung in front of the others.
    fn lay(&mut self, origin: i64, last: i64, shift: u32, buckets: usize) {
        let base = self.front.base + self.front.buckets();
        self.store.reserve(base + buckets);
        self.rest.push(self.front);
        self.front = Rung::new(origin, last, shift, base, buckets);
    }

    /// Moves a crowded bucket of the finest rung into a finer one, or starts anew when the ladder
    /// has grown out of shape.
    #[cold]
    pub(super) fn split(&mut self, bucket: usize) {
        let coarsest = self.rest.first().unwrap_or(&self.front);
        let outgrown = self.taken - self.taken_before > 4 * coarsest.buckets() as u64;
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
            let bucket = self.front.admit(time).expect("the rung spans the bucket");
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
            self.front.lay_open();
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
        let most = MANY.max(count.next_power_of_two());
        let least = BUCKETS.min((count * BUCKETS_PER_FEW).next_power_of_two());
        let buckets = (count * BUCKETS_PER_EVENT).next_power_of_two().clamp(least, most);
        self.front = Rung::new(min, LATEST, self.shift(min, buckets), 0, buckets);
        self.store.reserve(buckets);
        self.draw_near();
    }

    /// Moves what the coarsest rung takes in out of `far`; where that begins, it counts anew.
    fn draw_near(&mut self) {
        let (mut place, mut moved) = (0, false);
        while let Some(&(time, model)) = self.store.far.get(place) {
            if let Some(bucket) = self.front.admit(time) {
                self.store.far.swap_remove(place);
                self.store.push(bucket, model, time);
                moved = true;
                continue;
            }
            // Nodes lie all over the memory, so only those are told that have another place.
            if std::mem::take(&mut moved) {
                self.store.settle_far(place);
            }
            place += 1;
        }
        self.taken_before = self.taken;
        self.since = self.front.origin;
    }

    /// Chooses log2 of the width of the buckets for `far`, whose earliest time is `min`.
    ///
    /// Two estimates of the mean time between events: that of the earliest quarter of `far`, and
    /// that of the events taken since the last time. The first knows nothing of events yet to be
    /// scheduled, the second nothing of a change; the smaller one wins, because too narrow a
    /// bucket costs less than too wide a one. But about an eighth of `far` has to fit, so that
    /// looking through all of it pays.
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
        let width = (gap * EVENTS_PER_BUCKET).max(quarter / (2 * buckets) as f64).max(1.0);
        (width as u64).ilog2().min(63 - buckets.ilog2())
    }
}
