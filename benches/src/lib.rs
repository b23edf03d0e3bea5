//! Costs of Superdense, next to its peers and in the same run.
//!
//! | module | what it measures |
//! | --- | --- |
//! | [`auto`] | `method = "auto"` against the best fixed method at the same error |
//! | [`devstone`] | routing and scheduling of many simultaneous events in a deep hierarchy |
//! | [`timers`] | the event list and the bare cost of a cycle: *hold*, *ring*, event lists alone |
//! | [`net`] | shipped grid and network scenarios against SimPy and ns-3 |
//! | [`exchange`] | what an exchange of two coupled units costs |
//! | [`fmus`] | FMUs against a loop in C, a ball of equations and bare messages; a thousand of them |
//! | [`phold`] | Time Warp against the sequential executor, over remote shares and work |
//! | [`bounces`] | what a located event of a continuous unit costs, against a loop by hand |
//! | [`workers`] | parallel executors on a torus, a quantised line in units, DEVStone with work |
//! | [`precision`] | error against time of continuous methods, against diffsol, scipy and heyoka |
//! | [`qss`] | steps of quantised state systems in one atomic model |
//! | [`gates`] | instruction counts of small fixed runs, which must not grow |
//!
//! `cargo run --release -p superdense-benches --bin peers -- devstone|hold|ring|exchange|bounces|fmus|grid|phold|qss` prints a table
//! of ratios, `--bin gate` compares instruction counts with `gates.toml`.
//!
//! # Why
//!
//! Absolute times say more about a machine than about a program, and a shared machine is slower
//! at one moment than at the next. So a claim is a ratio between two programs that ran in turn,
//! each repetition in a process of its own (an engine leaves no fragmented heap to the next one,
//! and peak memory is its own), and the median of several. What is to be held from one commit to
//! the next is an instruction count, which repeats exactly.
#![cfg_attr(test, allow(missing_docs, reason = "tests need no docs"))]

pub mod auto;
pub mod bounces;
pub mod busy;
pub mod child;
pub mod devstone;
pub mod exchange;
pub mod fmus;
pub mod gates;
pub mod net;
pub mod phold;
pub mod precision;
pub mod qss;
pub mod report;
pub mod suites;
pub mod texts;
pub mod timers;
pub mod workers;
