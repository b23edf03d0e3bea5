//! Path order: models that work in one cycle do so by their numbers.

/// Sorts a list of distinct models unless it is sorted already, which is the usual case.
#[inline(always)]
pub(crate) fn order(list: &mut [u32], marks: &mut Marks) {
    if let [a, b] = list {
        if a > b {
            std::mem::swap(a, b);
        }
    } else if list.len() > 1 && !is_sorted(list) {
        marks.sort(list);
    }
}

/// Whether a list ascends; sixteen neighbours are compared at once.
#[inline(never)]
fn is_sorted(list: &[u32]) -> bool {
    let (blocks, later) = (list.as_chunks::<16>().0, list[1..].as_chunks::<16>().0);
    let ordered =
        |(a, b): (&[u32; 16], &[u32; 16])| a.iter().zip(b).fold(true, |all, (a, b)| all & (a <= b));
    blocks.iter().zip(later).all(ordered) && list[16 * later.len()..].is_sorted()
}

/// Lists shorter than this are sorted by comparisons.
const FEW: usize = 20;

/// One bit for each model, all zero between two uses.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// Sorts distinct numbers.
    ///
    /// **Why.** The models that nets reach in one cycle lie close together, so that their bits are
    /// read in order for less than comparisons cost: a sixth of the instructions of DEVStone HOmod.
    #[inline(never)]
    fn sort(&mut self, list: &mut [u32]) {
        if list.len() < FEW {
            return list.sort_unstable();
        }
        let (low, high) = list.iter().fold((u32::MAX, 0), |(l, h), &m| (l.min(m), h.max(m)));
        let base = low / 64;
        let words = (high / 64 - base) as usize + 1;
        if words > 4 * list.len() {
            return list.sort_unstable();
        }
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        for &m in &*list {
            self.words[(m / 64 - base) as usize] |= 1 << (m % 64);
        }
        let mut places = list.iter_mut();
        for (number, word) in (base..).zip(&mut self.words[..words]) {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                if let Some(place) = places.next() {
                    *place = number * 64 + bits.trailing_zeros();
                }
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::hash_set, prelude::*};

    /// Wherever the one pair is that is not in order.
    #[test]
    fn one_pair() {
        for length in 2..50u32 {
            for at in 1..length as usize {
                let sorted: Vec<u32> = (0..length).collect();
                let mut list = sorted.clone();
                list.swap(at - 1, at);
                order(&mut list, &mut Marks::default());
                assert_eq!(list, sorted);
            }
        }
    }

    proptest! {
        /// Near and far numbers, as often as one likes with the same marks.
        #[test]
        fn as_sorted(lists in proptest::collection::vec(
            prop_oneof![hash_set(0u32..500, 0..200), hash_set(any::<u32>(), 0..50)], 1..4,
        )) {
            let mut marks = Marks::default();
            for set in lists {
                let mut list: Vec<u32> = set.into_iter().collect();
                let mut sorted = list.clone();
                sorted.sort_unstable();
                order(&mut list, &mut marks);
                prop_assert_eq!(list, sorted);
            }
        }
    }
}
