//! Feed-through: what a message at an input brings about at the outputs of the same unit *at the same
//! time* (SNE 31(1) 2021, Gomes et al. 2017: direct feed-through; DEVS: legitimacy, no cycle of zero-time messages).
//!
//! A kind says it in [`UnitKind::feed_through`](crate::kinds::UnitKind::feed_through). A ring of
//! connections along which messages are passed on at once is an algebraic loop, or a zero-time loop
//! of events; `superdense check` finds them from this.

/// How a message is passed on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passing {
    /// Each message brings one about.
    Always,
    /// The output's value is a function of the input's value; a message comes of it if that changes.
    Value,
    /// By an event that may happen, such as a threshold that is passed by a jump of the input.
    Sometimes,
}

/// The outputs of a unit that a message at an input reaches at once.
///
/// ```
/// use superdense_models::kinds::feed_through::{FeedThrough, Passing};
/// // A sum of two signals.
/// let pairs = FeedThrough::All(Passing::Always).pairs(2, 1);
/// assert_eq!(pairs, [(0, 0, Passing::Always), (1, 0, Passing::Always)]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedThrough {
    /// Nothing: outputs answer later, or not at all.
    None,
    /// Everything, from each input to each output.
    All(Passing),
    /// Between some ports: number of the input, number of the output.
    Pairs(Vec<(u16, u16, Passing)>),
}

impl FeedThrough {
    /// Everything, unless there is a delay.
    pub(crate) fn unless(delayed: bool, passing: Passing) -> Self {
        if delayed { Self::None } else { Self::All(passing) }
    }

    /// Input, output, how; for a unit with so many inputs and outputs.
    pub fn pairs(&self, inputs: usize, outputs: usize) -> Vec<(u16, u16, Passing)> {
        match self {
            Self::None => Vec::new(),
            Self::Pairs(pairs) => pairs.clone(),
            Self::All(passing) => {
                let to = |i| (0..outputs as u16).map(move |o| (i, o, *passing));
                (0..inputs as u16).flat_map(to).collect()
            }
        }
    }
}
