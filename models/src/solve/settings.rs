//! How to run a unit.
use super::ode::{Method, Options};
use superdense_kernel::time::Resolution;

/// How to run a unit.
///
/// ```
/// use superdense_models::solve::Settings;
/// let settings = Settings { exchange_tolerance: 1e-9, ..Settings::default() };
/// assert_eq!(settings.segment_order, 3);
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// Resolution of the run.
    pub resolution: Resolution,
    /// Tick at which the run starts.
    pub start: i64,
    /// The method.
    pub method: Method,
    /// Tolerances and step limits.
    pub solver: Options,
    /// A new segment is sent when an output leaves the one that receivers hold by more than this,
    /// in the units of the output; infinite: at jumps only.
    pub exchange_tolerance: f64,
    /// Highest power in the segments that are sent, 1 to 12.
    pub segment_order: usize,
    /// Per signal input: the continuous unit that feeds it, for counting exchanges.
    pub sources: Vec<Option<u32>>,
    /// Per signal output: whether anybody receives it; what nobody receives is not sent. Outputs
    /// beyond the list count as received.
    pub connected: Vec<bool>,
    /// Whether first inputs at the start make the unit send how its outputs go on by them. A master of a
    /// coupling, which hears all units before it tells any, would take that for a later change.
    pub retells: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resolution: Resolution::default(),
            start: 0,
            method: Method::default(),
            solver: Options::default(),
            exchange_tolerance: 1e-6,
            segment_order: 3,
            sources: Vec::new(),
            connected: Vec::new(),
            retells: true,
        }
    }
}
