//! Mutations of texts and bytes, from a seed: the same input always has the same number.
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// Pieces that have a meaning in some format.
const PIECES: [&str; 64] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "'",
    "`",
    "=",
    ":",
    ";",
    ",",
    ".",
    "..",
    "..=",
    "->",
    "<",
    ">",
    "</a>",
    "<a b=\"c\">",
    "<!--",
    "]]>",
    "&lt;",
    "&#0;",
    "<?xml version=\"1.0\"?>",
    "%",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\\",
    "\\u0000",
    "\u{feff}",
    "é",
    "0",
    "-1",
    "1e400",
    "-0.0",
    "nan",
    "inf",
    "9223372036854775807",
    "99999999999999999999",
    "1e-320",
    "0x10",
    "true",
    "null",
    "if ",
    " then ",
    " else ",
    " for i in 0..9",
    "[*]",
    "sum(",
    "min(",
    "pre(",
    "u[",
    "i",
    "unit.",
    "template",
    "count = 1000000\n",
    "stop",
    " ",
];

/// Numbers that take the place of others.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "2",
    "1e300",
    "-1e300",
    "1e-300",
    "nan",
    "inf",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "0.1",
];

pub(super) struct Mutator {
    random: Pcg64,
}

impl Mutator {
    pub(super) fn new(reader: &str, number: u64) -> Self {
        let name = reader.bytes().fold(14_695_981_039_346_656_037, |h: u64, b| {
            (h ^ u64::from(b)).wrapping_mul(1_099_511_628_211)
        });
        Self { random: Pcg64::seed_from_u64(name ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) }
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.random.next_u64() % n as u64) as usize }
    }

    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let to = from + self.below(most.min(length - from) + 1);
        from..to
    }

    /// One of the seeds after some mutations, which may take parts of the others.
    pub(super) fn next(&mut self, seeds: &[Vec<u8>], text: bool) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        // Mostly few, so that what is behind the first mistake is reached.
        let rounds = 1 + [0, 0, 0, 1, 2, 5][self.below(6)];
        for _ in 0..rounds {
            self.change(&mut bytes, seeds, text);
        }
        bytes.truncate(1 << 16);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], text: bool) {
        match self.below(if text { 10 } else { 7 }) {
            0 => {
                let range = self.range(bytes.len(), 40);
                bytes.drain(range);
            }
            1 => {
                let range = self.range(bytes.len(), 80);
                let piece = bytes[range].to_vec();
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            2 => {
                let other = &seeds[self.below(seeds.len())];
                let piece = other[self.range(other.len(), 200)].to_vec();
                let range = self.range(bytes.len(), 60);
                bytes.splice(range, piece);
            }
            3 => bytes.truncate(self.below(bytes.len() + 1)),
            4 => {
                if !bytes.is_empty() {
                    let at = self.below(bytes.len());
                    bytes[at] ^= 1 << self.below(8);
                }
            }
            5 => {
                let range = self.range(bytes.len(), 8);
                let piece = bytes[range.clone()].to_vec();
                let times = [2, 5, 50, 2000][self.below(4)];
                bytes.splice(range, piece.repeat(times));
            }
            6 => {
                let range = self.range(bytes.len(), 9);
                for place in range {
                    bytes[place] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)];
                }
            }
            7 | 8 => self.number(bytes),
            _ => {
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, PIECES[self.below(PIECES.len())].bytes());
            }
        }
    }

    /// Another number in place of one.
    fn number(&mut self, bytes: &mut Vec<u8>) {
        let from = self.below(bytes.len() + 1);
        let Some(start) = (from..bytes.len()).find(|&at| bytes[at].is_ascii_digit()) else {
            return;
        };
        let part = |b: &u8| b.is_ascii_digit() || b".eE-+".contains(b);
        let length = bytes[start..].iter().take_while(|b| part(b)).count();
        let piece = NUMBERS[self.below(NUMBERS.len())];
        bytes.splice(start..start + length, piece.bytes());
    }
}
