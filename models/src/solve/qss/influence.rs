//! Who reads what, in compressed rows.
use serde::{Deserialize, Serialize};

/// For each source its targets, ascending.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// By source: where its targets begin and end.
    ranges: Vec<[u32; 2]>,
    targets: Vec<u32>,
}

impl Influence {
    /// Turns round what each of `readers` readers reads of `sources` sources.
    pub fn of(sources: usize, readers: usize, mut reads: impl FnMut(usize, &mut Vec<u32>)) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut read = Vec::new();
        for reader in 0..readers {
            read.clear();
            reads(reader, &mut read);
            pairs.extend(read.iter().map(|&source| (source, reader as u32)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut ranges = vec![[0; 2]; sources];
        for (k, &(source, _)) in pairs.iter().enumerate() {
            let range = &mut ranges[source as usize];
            if range[1] == 0 {
                range[0] = k as u32;
            }
            range[1] = k as u32 + 1;
        }
        Self { ranges, targets: pairs.into_iter().map(|(_, reader)| reader).collect() }
    }

    /// Where the readers of `source` stand.
    #[inline]
    pub(super) fn range(&self, source: usize) -> std::ops::Range<usize> {
        let [start, end] = self.ranges[source];
        start as usize..end as usize
    }

    /// The reader at place `k`.
    #[inline]
    pub(super) fn reader(&self, k: usize) -> usize {
        self.targets[k] as usize
    }

    /// The readers of `source`.
    #[inline]
    pub fn readers(&self, source: usize) -> &[u32] {
        &self.targets[self.range(source)]
    }
}
