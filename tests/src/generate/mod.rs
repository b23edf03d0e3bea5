//! A generator of random models, and judges of what the product makes of them.
//!
//! A [`Model`](superdense_judge::model::Model) is a tree of small and round numbers. It is written as
//! a scenario file and run in process, under a random method, resolution and executor. A
//! [`Judge`](judges::Judge) then says whether the run can be right: it compares the run with one of
//! an equivalent model, with another method, or with the independent reference simulator. A model
//! that fails is made smaller as long as the same judge refuses it, and is written to a file.
//!
//! Everything hangs on the seed and the number of a model, so that each can be made alone again.
pub mod bars;
pub mod campaign;
pub mod compare;
pub mod corpus;
pub mod coupling;
pub mod coverage;
pub mod diagram;
pub mod excluded;
mod executor;
pub mod hybrid;
pub mod judges;
pub mod kinds;
pub mod named;
pub mod network;
mod queues;
pub mod random;
pub mod run;
pub mod settings;
pub mod shrink;
pub mod text;
pub mod tree;
mod web;
