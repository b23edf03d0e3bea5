//! The mathematics of studies: which points are run, how often, and what follows from the results.
//!
//! **No files, no clock, no threads.** A question is a [`Method`] behind `ask` and `tell`: it asks for the
//! points of a round, is told what came of them in the order in which it asked, and asks again until it has
//! its answer. So whoever runs the points may do it in any order, on any machine, and may stop and go on:
//! a method that is told equal numbers asks equal questions.
//!
//! | file | content |
//! | --- | --- |
//! | [`range`] | values of a parameter: intervals with steps, lists |
//! | [`design`] | points that are known beforehand: grid, Latin hypercube, Sobol', list |
//! | [`sobol`] | Sobol' points with Owen's scrambling |
//! | [`boundary`] | the search for where a condition changes |
//! | [`replicate`] | how many replicates, and with which seeds |
//! | [`interval`] | confidence intervals of means and of shares |
//! | [`quantile`] | quantiles of the normal and of Student's distribution |
pub mod boundary;
pub mod design;
pub mod interval;
pub mod quantile;
pub mod range;
pub mod replicate;
pub mod sobol;

pub use boundary::{Boundary, Change, Judged, Verdict};
pub use design::Design;
pub use interval::Interval;
pub use range::{Range, Step};
pub use replicate::{Replication, seed};

/// A value for each parameter of a question.
pub type Point = Vec<f64>;

/// A question, behind `ask` and `tell`.
///
/// The methods that adapt to results later on (indices, optimisers, selection) have this form, too.
pub trait Method {
    /// The word of one run to the method.
    type Told;

    /// The points of the next round; none when there is nothing more to ask. Before they are told, the
    /// round stays the same.
    fn ask(&mut self) -> Vec<Point>;

    /// The outcomes of the replicates of the points, in the order in which they were asked for; a run that
    /// failed says nothing.
    fn tell(&mut self, told: &[Vec<Option<Self::Told>>]);
}
