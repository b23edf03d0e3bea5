//! Where each pending model of the ladder is: in a bucket or in `far`.

/// The time of a model without event.
pub(super) const NEVER: i64 = i64::MAX;

/// Buckets per word of the bitmap.
pub(super) const WORD: usize = 64;

/// Tag of a [`Node::link`] that names the bucket in which the node comes first.
const FIRST: u32 = 1 << 30;

/// Tag of a [`Node::link`] that names a place in `far`.
const FAR: u32 = 2 << 30;

/// One model. Sixteen bytes, so that touching a model costs one cache line.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// When it fires; [`NEVER`] when it is not pending, and then the rest means nothing.
    pub(super) time: i64,
    /// The next model in the bucket, or [`Store::nil`].
    pub(super) next: u32,
    /// The previous model in the bucket, or `FIRST | bucket`, or `FAR | place`.
    link: u32,
}

/// Intrusive doubly linked chains, one per bucket, and the unsorted rest.
///
/// Links live in the models, so that moving an event allocates nothing, and removing one needs
/// no search.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    /// By model, and one more: the end of every chain. Its link takes the writes that a chain
    /// without second model would otherwise need a branch for, one that nobody can predict.
    pub(super) nodes: Vec<Node>,
    /// The last index of `nodes`: the end of a chain.
    pub(super) nil: u32,
    /// First model by bucket.
    heads: Vec<u32>,
    /// Which buckets hold something.
    pub(super) occupied: Vec<u64>,
    /// Events beyond every rung, with their times: scanning them then reads no node.
    pub(super) far: Vec<(i64, u32)>,
}

impl Store {
    pub(super) fn reset(&mut self, models: usize) {
        self.nodes.clear();
        self.nodes.resize(models + 1, Node { time: NEVER, next: 0, link: 0 });
        self.nil = models as u32;
        self.heads.clear();
        self.occupied.clear();
        self.far.clear();
    }

    /// Makes sure that the buckets `0..buckets` exist.
    pub(super) fn reserve(&mut self, buckets: usize) {
        if self.heads.len() < buckets {
            self.heads.resize(buckets, self.nil);
            self.occupied.resize(buckets.div_ceil(WORD), 0);
        }
    }

    /// The first model of a bucket, or `nil`.
    #[inline]
    pub(super) fn first(&self, bucket: usize) -> u32 {
        self.heads[bucket]
    }

    /// Puts a model that is nowhere at the front of a bucket.
    #[inline]
    pub(super) fn push(&mut self, bucket: usize, model: u32, time: i64) {
        let next = std::mem::replace(&mut self.heads[bucket], model);
        self.nodes[model as usize] = Node { time, next, link: FIRST | bucket as u32 };
        self.nodes[next as usize].link = model;
        self.occupied[bucket / WORD] |= 1 << (bucket % WORD);
    }

    /// Puts a model that is nowhere among those beyond the rungs.
    #[inline]
    pub(super) fn push_far(&mut self, model: u32, time: i64) {
        let link = FAR | self.far.len() as u32;
        self.nodes[model as usize] = Node { time, next: 0, link };
        self.far.push((time, model));
    }

    /// Says where in `far` the model is that was moved to `place`.
    #[inline]
    pub(super) fn settle_far(&mut self, place: usize) {
        let model = self.far[place].1;
        self.nodes[model as usize].link = FAR | place as u32;
    }

    /// Takes a pending model out of its chain or out of `far`; its time stays.
    #[inline(never)]
    pub(super) fn unlink(&mut self, model: u32) {
        let Node { next, link, .. } = self.nodes[model as usize];
        if link >= FAR {
            let place = (link - FAR) as usize;
            self.far.swap_remove(place);
            if place < self.far.len() {
                self.settle_far(place);
            }
            return;
        }
        self.nodes[next as usize].link = link;
        if link < FIRST {
            self.nodes[link as usize].next = next;
        } else {
            let bucket = (link - FIRST) as usize;
            self.heads[bucket] = next;
            if next == self.nil {
                self.occupied[bucket / WORD] &= !(1 << (bucket % WORD));
            }
        }
    }

    /// Puts a whole chain into an empty bucket.
    pub(super) fn attach(&mut self, bucket: usize, first: u32) {
        self.heads[bucket] = first;
        self.nodes[first as usize].link = FIRST | bucket as u32;
        self.occupied[bucket / WORD] |= 1 << (bucket % WORD);
    }

    /// Empties a bucket and returns the first model of the chain that was in it.
    #[inline(always)]
    pub(super) fn detach(&mut self, bucket: usize) -> u32 {
        self.occupied[bucket / WORD] &= !(1 << (bucket % WORD));
        std::mem::replace(&mut self.heads[bucket], self.nil)
    }
}
