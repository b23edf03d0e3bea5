//! Which models make a transition in a cycle, and why.

/// The models that make a transition in this cycle: two sorted lists, merged as they are gone
/// through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moves<'a> {
    pub imminent: &'a [u32],
    pub influenced: &'a [u32],
}

/// Models that follow each other and make the same transition.
///
/// **Why.** Most cycles of many models have few stretches, and each is gone through by a loop that
/// knows what it calls: a tenth of the instructions of DEVStone HI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    Internal(&'a [u32]),
    External(&'a [u32]),
    Confluent(&'a [u32]),
}

impl<'a> Moves<'a> {
    /// The first model.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<u32> {
        let head = |list: &[u32]| list.first().map_or(u32::MAX, |&m| m);
        Some(head(self.imminent).min(head(self.influenced))).filter(|&m| m != u32::MAX)
    }

    /// Takes off those before model `end`.
    #[inline(always)]
    pub(crate) fn split_off(&mut self, end: u32) -> Self {
        let imminent = split_off(&mut self.imminent, end);
        Self { imminent, influenced: split_off(&mut self.influenced, end) }
    }
}

impl<'a> Iterator for Moves<'a> {
    type Item = Stretch<'a>;
    #[inline(always)]
    fn next(&mut self) -> Option<Stretch<'a>> {
        let end = u32::MAX;
        let x = self.imminent.first().map_or(end, |&m| m);
        let y = self.influenced.first().map_or(end, |&m| m);
        if x < y {
            Some(Stretch::Internal(split_off(&mut self.imminent, y)))
        } else if y < x {
            Some(Stretch::External(split_off(&mut self.influenced, x)))
        } else if x != end {
            let both = alike(self.imminent, self.influenced);
            self.imminent = &self.imminent[both..];
            let models;
            (models, self.influenced) = self.influenced.split_at(both);
            Some(Stretch::Confluent(models))
        } else {
            None
        }
    }
}

/// Takes the models before `end` off a sorted list.
#[inline(always)]
fn split_off<'a>(list: &mut &'a [u32], end: u32) -> &'a [u32] {
    let models;
    (models, *list) = list.split_at(count_before(list, end));
    models
}

/// With how many models two lists begin alike; several are compared at once.
#[inline(never)]
fn alike(a: &[u32], b: &[u32]) -> usize {
    let (blocks_a, blocks_b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
    let same = 16 * blocks_a.iter().zip(blocks_b).take_while(|(a, b)| a == b).count();
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

/// How many models of a sorted list come before model `end`; mostly all.
#[inline(always)]
pub(crate) fn count_before(list: &[u32], end: u32) -> usize {
    match list.last() {
        Some(&last) if last >= end => list.iter().take_while(|&&m| m < end).count(),
        _ => list.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::btree_set, prelude::*};

    proptest! {
        /// Every model once, in order, with what it does.
        #[test]
        fn merged(imminent in btree_set(0u32..60, 0..40), influenced in btree_set(0u32..60, 0..40)) {
            let [x, y] = [&imminent, &influenced].map(|set| set.iter().copied().collect::<Vec<_>>());
            let mut told = Vec::new();
            for stretch in (Moves { imminent: &x, influenced: &y }) {
                let (models, what) = match stretch {
                    Stretch::Internal(models) => (models, (true, false)),
                    Stretch::External(models) => (models, (false, true)),
                    Stretch::Confluent(models) => (models, (true, true)),
                };
                told.extend(models.iter().map(|&m| (m, what)));
            }
            let all = imminent.union(&influenced);
            let wanted = all.map(|m| (*m, (imminent.contains(m), influenced.contains(m))));
            prop_assert_eq!(told, wanted.collect::<Vec<_>>());
        }
    }
}
