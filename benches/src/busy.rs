//! Work for a model to do: what a transition costs when it is not free.
//!
//! Dhrystone-like: integer arithmetic, branches, and copies within a small record. A fixed number
//! of iterations, so that all engines do the same work whatever else the machine does; the number
//! that takes one microsecond is found once per run, by the process that starts the others.
use std::{hint::black_box, time::Instant};

/// Works for `iterations` rounds.
#[inline(never)]
pub fn work(iterations: u32) {
    let mut record = [0u32; 16];
    let mut text = *b"DHRYSTONE PROGRAM, 1'ST STRING";
    for i in 0..iterations {
        let at = (i & 15) as usize;
        record[at] = record[(at + 7) & 15].wrapping_mul(31).wrapping_add(i);
        if record[at] & 1 == 0 {
            text[at] = text[at + 9] ^ 0x20;
        } else {
            text.copy_within(at..at + 8, 16);
        }
        black_box((&mut record, &mut text));
    }
}

/// Iterations of [`work`] that take one microsecond, on this machine and now.
pub fn per_microsecond() -> f64 {
    const ROUNDS: u32 = 200_000;
    work(ROUNDS);
    let best = (0..9)
        .map(|_| {
            let start = Instant::now();
            work(black_box(ROUNDS));
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    f64::from(ROUNDS) / (best * 1e6)
}
