//! Located events that follow closely on each other, for the guard against runs that make no progress (rule R11).
use crate::options::Guards;

/// The tick of the last located event of a model, and how many came closely after the one before, for guard R11(b).
pub(crate) type Recent = (i64, u32);

/// One more event, at tick `at`.
pub(crate) fn counted((last, count): Recent, at: i64, guards: &Guards) -> Recent {
    match at.saturating_sub(last) {
        since if count == 0 || since > guards.pause => (at, 1),
        since if since <= guards.gap => (at, count + 1),
        _ => (at, count),
    }
}

/// Recent located events per model.
#[derive(Debug, Default)]
pub(crate) struct Located(Vec<Recent>);

impl Located {
    /// The recent events of a model; one without events counts none.
    #[inline(always)]
    pub(crate) fn of(&mut self, m: u32) -> &mut Recent {
        if m as usize >= self.0.len() {
            self.reach(m);
        }
        &mut self.0[m as usize]
    }

    // Only models that locate events, and those before them, need room.
    #[cold]
    fn reach(&mut self, m: u32) {
        self.0.resize(m as usize + 1, (0, 0));
    }

    /// Models with located events, and these.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Recent)> {
        (0..).zip(self.0.iter().copied()).filter(|&(_, (_, count))| count > 0)
    }

    pub(crate) fn get(&self, m: u32) -> Recent {
        self.0.get(m as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, m: u32, recent: Recent) {
        if self.get(m) != recent {
            *self.of(m) = recent;
        }
    }
}

impl FromIterator<(u32, Recent)> for Located {
    fn from_iter<I: IntoIterator<Item = (u32, Recent)>>(all: I) -> Self {
        let mut located = Self::default();
        all.into_iter().for_each(|(m, recent)| located.set(m, recent));
        located
    }
}
