//! stub
#![allow(missing_docs)]
use std::collections::BTreeSet;
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EventListKind {
    #[default]
    Ladder,
    Heap,
    Reference,
}
pub struct AnyEventList {
    t: Vec<i64>,
    s: BTreeSet<(i64, u32)>,
}
impl AnyEventList {
    pub fn new(_k: EventListKind) -> Self {
        Self { t: vec![], s: BTreeSet::new() }
    }
    pub fn reset(&mut self, n: usize) {
        self.t = vec![i64::MAX; n];
        self.s.clear();
    }
    pub fn schedule(&mut self, m: u32, at: i64) {
        self.cancel(m);
        self.t[m as usize] = at;
        self.s.insert((at, m));
    }
    pub fn cancel(&mut self, m: u32) {
        let t = self.t[m as usize];
        if t != i64::MAX {
            self.s.remove(&(t, m));
            self.t[m as usize] = i64::MAX;
        }
    }
    pub fn next_time(&mut self) -> Option<i64> {
        self.s.first().map(|x| x.0)
    }
    pub fn time_of(&self, m: u32) -> Option<i64> {
        let t = self.t[m as usize];
        if t == i64::MAX { None } else { Some(t) }
    }
    pub fn take(&mut self, at: i64, sink: &mut impl FnMut(u32)) {
        while let Some(&(t, m)) = self.s.first() {
            if t != at {
                break;
            }
            self.cancel(m);
            sink(m);
        }
    }
    pub fn is_empty(&self) -> bool {
        self.s.is_empty()
    }
    pub fn len(&self) -> usize {
        self.s.len()
    }
}
