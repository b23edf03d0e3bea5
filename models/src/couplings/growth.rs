//! Couplings that diverge: receivers were told what is off by more and more.
use serde::{Deserialize, Serialize};

/// Exchanges between two looks.
const APART: u64 = 32;
/// Looks in a row that see the gaps grow.
const LOOKS: u32 = 3;
/// Growth from look to look of gaps that change their sign from exchange to exchange, as no solution does that the
/// macro step resolves: by 7.5 % each time.
const SWINGING: f64 = 10.0;
/// Growth of any other gaps: by a third each time.
const STEADY: f64 = 1e4;

/// How the gaps between what signals are and what their receivers held grow from exchange to exchange.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Growth {
    /// The gaps of the exchange before a look.
    before: Vec<f64>,
    /// The largest gap at the last look.
    largest: f64,
    /// Looks in a row that saw it grow.
    seen: u32,
}

impl Growth {
    /// Looks at the gaps of exchange number `exchange`, at some of them. Gives the signal with the largest one, once, where
    /// they grow beyond all bounds.
    #[inline]
    pub(super) fn look(
        &mut self,
        exchange: u64,
        gaps: impl Iterator<Item = f64>,
    ) -> Option<(usize, f64)> {
        match exchange % APART {
            0 => self.compare(gaps),
            last if last == APART - 1 => {
                self.before.clear();
                self.before.extend(gaps);
                None
            }
            _ => None,
        }
    }

    #[cold]
    fn compare(&mut self, gaps: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
        let (worst, gap) = gaps.enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let swings = self.before.get(worst).is_some_and(|before| before * gap < 0.0);
        let most = if swings { SWINGING } else { STEADY };
        let grows = self.largest > 0.0 && gap.abs() > most * self.largest;
        self.seen = if grows { self.seen + 1 } else { 0 };
        self.largest = gap.abs();
        (self.seen == LOOKS).then_some((worst, gap))
    }
}
