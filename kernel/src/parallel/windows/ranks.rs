//! The processes of a run over ranks, as the kernel sees them: whoever brings their bytes from one to another
//! stands behind this trait.

use crate::error::RunError;

/// The ranks of a run: processes that have built one simulation each, all of them alike, and run a part of its
/// models. They make the same calls in the same order.
pub trait Ranks {
    /// The number of this rank.
    fn rank(&self) -> u32;

    /// How many ranks there are.
    fn ranks(&self) -> u32;

    /// The least of the numbers that the ranks give.
    ///
    /// # Errors
    /// When a rank is lost.
    fn least(&mut self, mine: i64) -> Result<i64, LostRank>;

    /// Takes a parcel for each rank, by its number, and leaves in its place the one that came from there.
    ///
    /// # Errors
    /// When a rank is lost.
    fn exchange(&mut self, parcels: &mut [Vec<u8>]) -> Result<(), LostRank>;
}

/// A rank does not answer any more, and the run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct LostRank {
    /// Which one, as far as it is known, and why.
    pub why: String,
}

impl From<LostRank> for RunError {
    fn from(lost: LostRank) -> Self {
        Self::Ranks { why: lost.why }
    }
}
