//! Runs a model.
use crate::model::{Instant, Model};
use crate::verdict::{Limits, Reason, Run, Undecided, Verdict};

/// See [`crate::judge`].
pub(crate) fn judge(_: &Model, _: &Limits, _: &[Instant]) -> Verdict {
    Verdict::Undecided(Undecided {
        reason: Reason::Unsupported,
        detail: "nothing is decided yet".into(),
        until: 0,
        run: Run::default(),
    })
}
