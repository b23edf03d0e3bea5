//! A finite stream of numbers that random models are read from; when it is used up it yields
//! zeros, so that shrinking the stream shrinks the model.

/// The stream.
#[derive(Debug, Clone)]
pub struct Choices {
    data: Vec<u32>,
    at: usize,
}

impl Choices {
    /// Reads from `data`.
    pub fn new(data: Vec<u32>) -> Self {
        Self { data, at: 0 }
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        let x = self.data.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        x % n.max(1)
    }

    /// A number below `n`, as an index.
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u32) as usize
    }

    /// True once in `n` draws.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == n - 1
    }

    /// Shuffles in place.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.index(i + 1));
        }
    }
}
