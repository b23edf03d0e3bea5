//! How to run a unit.
use super::{
    equations::Dims,
    expander::{Expander, MAX_SEGMENT_ORDER},
    failures::MethodError,
    ode::{MAX_ORDER, Method, Options},
};
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
    /// Seconds from the start to the end of the run, as far as they are known.
    pub horizon: f64,
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
            horizon: f64::INFINITY,
            retells: true,
        }
    }
}

impl Settings {
    /// Checks that there are so many values at the start as the equations have.
    ///
    /// # Errors
    /// With the first that are too few or too many.
    pub(crate) fn fits(dims: &Dims, start: [&[f64]; 3]) -> Result<(), MethodError> {
        let needed =
            [("states", dims.states), ("inputs", dims.inputs), ("discrete", dims.discrete)];
        let wrong =
            needed.into_iter().zip(start).find(|((_, needed), given)| given.len() != *needed);
        wrong.map_or(Ok(()), |((what, needed), given)| {
            Err(MethodError::Lengths { what: what.to_owned(), given: given.len(), needed })
        })
    }

    /// Checks that method and segments fit the equations.
    ///
    /// # Errors
    /// When the method or the order of segments does not fit the equations.
    pub(super) fn check(&self, expander: &Expander, algebraic: usize) -> Result<(), MethodError> {
        let order = self.segment_order;
        let tick = 1.0 / self.resolution.ticks_per_second() as f64;
        if !(1..=MAX_SEGMENT_ORDER).contains(&order) {
            return Err(MethodError::SegmentOrder { order, most: MAX_SEGMENT_ORDER });
        }
        if order > 3 && !expander.any_order() {
            return Err(MethodError::LongSegments);
        }
        if algebraic > 0 && !expander.any_order() {
            return Err(MethodError::AlgebraicSeries);
        }
        if self.exchange_tolerance.is_nan() || self.exchange_tolerance < 0.0 {
            return Err(MethodError::ExchangeTolerance(self.exchange_tolerance));
        }
        match self.method {
            method if algebraic > 0 && !method.takes_algebraic() => Err(MethodError::Algebraic),
            Method::Taylor(order, _) if !(2..=MAX_ORDER).contains(&order) => {
                Err(MethodError::TaylorOrder { order, most: MAX_ORDER })
            }
            Method::Taylor(..) | Method::Closed if !expander.any_order() => {
                Err(MethodError::NoSeries)
            }
            Method::Closed if !expander.affine() => Err(MethodError::NotAffine),
            Method::Rk4(h) | Method::Euler(h) | Method::Taylor(_, Some(h))
                if h.is_nan() || h < tick =>
            {
                Err(MethodError::Step { tick, step: h })
            }
            _ if self.solver.max_step < tick => {
                Err(MethodError::MaxStep { tick, step: self.solver.max_step })
            }
            _ => Ok(()),
        }
    }
}
