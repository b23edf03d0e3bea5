//! Which models make a transition in a cycle, and why.

/// A model that makes a transition in this cycle, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub model: u32,
    pub imminent: bool,
    pub influenced: bool,
    /// Digest of what it sent; 0 unless imminent.
    pub outputs: u64,
}

impl Due {
    #[inline(always)]
    pub fn imminent(model: u32, outputs: u64) -> Self {
        Self { model, imminent: true, influenced: false, outputs }
    }
    #[inline(always)]
    pub fn influenced(model: u32) -> Self {
        Self { model, imminent: false, influenced: true, outputs: 0 }
    }
}

/// The models that make a transition in this cycle: two sorted lists, merged as they are gone
/// through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moves<'a> {
    pub imminent: &'a [u32],
    /// Digests of what each of those sent.
    pub sums: &'a [u64],
    pub influenced: &'a [u32],
}

impl<'a> Moves<'a> {
    /// The first model.
    #[inline(always)]
    pub fn first(&self) -> Option<u32> {
        let head = |list: &[u32]| list.first().map_or(u32::MAX, |&m| m);
        Some(head(self.imminent).min(head(self.influenced))).filter(|&m| m != u32::MAX)
    }

    /// Takes off those before model `end`.
    #[inline(always)]
    pub fn split_off(&mut self, end: u32) -> Self {
        let (imminent, others) = self.imminent.split_at(count_before(self.imminent, end));
        let (sums, later) = self.sums.split_at(imminent.len());
        let (influenced, rest) = self.influenced.split_at(count_before(self.influenced, end));
        (self.imminent, self.sums, self.influenced) = (others, later, rest);
        Self { imminent, sums, influenced }
    }
}

impl Iterator for Moves<'_> {
    type Item = Due;
    #[inline(always)]
    fn next(&mut self) -> Option<Due> {
        let y = self.influenced.first().map_or(u32::MAX, |&m| m);
        let mut due = Due::influenced(y);
        if let ([x, imminent @ ..], [sum, sums @ ..]) = (self.imminent, self.sums)
            && *x <= y
        {
            due = Due { model: *x, imminent: true, influenced: *x == y, outputs: *sum };
            (self.imminent, self.sums) = (imminent, sums);
        } else if y == u32::MAX {
            return None;
        }
        if due.influenced
            && let [_, influenced @ ..] = self.influenced
        {
            self.influenced = influenced;
        }
        Some(due)
    }
}

/// How many models of a sorted list come before model `end`; mostly all.
#[inline(always)]
pub(crate) fn count_before(list: &[u32], end: u32) -> usize {
    match list.last() {
        Some(&last) if last >= end => list.iter().take_while(|&&m| m < end).count(),
        _ => list.len(),
    }
}
