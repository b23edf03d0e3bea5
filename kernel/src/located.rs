//! Windows of located events, for the guard against runs that make no progress (rule R11).

/// Window start and count of located events per model, for guard R11(b).
#[derive(Debug, Default)]
pub(crate) struct Located(Vec<(i64, u32)>);

impl Located {
    /// The window of a model; one without events counts none.
    #[inline(always)]
    pub(crate) fn of(&mut self, m: u32) -> &mut (i64, u32) {
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

    /// The windows in which there were events, with their models.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, (i64, u32))> {
        (0..).zip(self.0.iter().copied()).filter(|&(_, (_, count))| count > 0)
    }

    pub(crate) fn get(&self, m: u32) -> (i64, u32) {
        self.0.get(m as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, m: u32, window: (i64, u32)) {
        if self.get(m) != window {
            *self.of(m) = window;
        }
    }
}

impl FromIterator<(u32, (i64, u32))> for Located {
    fn from_iter<I: IntoIterator<Item = (u32, (i64, u32))>>(windows: I) -> Self {
        let mut located = Self::default();
        windows.into_iter().for_each(|(m, window)| located.set(m, window));
        located
    }
}
