//! Activities of workers as `tracing` spans: one root per worker, and in it its batches, cuts,
//! commits and rollbacks. Without the feature `timeline` all of it is nothing.
use crate::time::Tag;

#[cfg(feature = "timeline")]
pub(crate) use tracing::Span as Mark;

/// Ends where it is dropped.
#[cfg(not(feature = "timeline"))]
#[derive(Debug, Clone)]
pub(crate) struct Mark;

macro_rules! mark {
    ($($span:tt)*) => {{
        #[cfg(feature = "timeline")]
        let mark = tracing::info_span!(target: "superdense", $($span)*);
        #[cfg(not(feature = "timeline"))]
        let mark = Mark;
        mark
    }};
}

/// The track of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Track(Mark);

#[cfg_attr(not(feature = "timeline"), expect(unused_variables, reason = "nothing is told"))]
impl Track {
    pub(crate) fn new(worker: u32) -> Self {
        Self(mark!(parent: None, "worker", worker))
    }

    /// Transitions up to the next look at the inbox, if there `are` any.
    pub(crate) fn batch(&self, are: impl FnOnce() -> bool) -> Option<Mark> {
        (cfg!(feature = "timeline") && are()).then(|| mark!(parent: &self.0, "batch"))
    }

    /// A cut of this worker.
    pub(crate) fn cut(&self, gvt: Tag) -> Mark {
        mark!(parent: &self.0, "cut", gvt.ticks, gvt.micro)
    }

    /// It was the last one to cut: GVT is found, and observers are told.
    pub(crate) fn commit(&self, round: u64) -> Mark {
        mark!(parent: &self.0, "gvt", round)
    }

    pub(crate) fn rollback(&self, model: u32, tag: Tag) -> Mark {
        mark!(parent: &self.0, "rollback", model, tag.ticks, tag.micro)
    }
}
