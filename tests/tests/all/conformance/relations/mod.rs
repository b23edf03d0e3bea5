//! The rules for conditions: what a relation means in events, functions, modes and detectors. A
//! table per group of rules; the ids are the rule and a number. Expected events and values are
//! derived by hand. `docs/conditions.md` states the rules.
mod before;
mod cycles;
mod decide;
mod exchange;
mod fire;
mod modes;
mod nested;
mod page;
mod regressions;
mod runner;
mod start;
mod table;
mod time;
mod touch;
