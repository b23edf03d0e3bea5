//! When outputs leave the bands in which others hold them.
use super::{
    super::{method::Method, sheet::ROW, views::Along},
    Quantised,
};
use crate::{
    maths::poly,
    solve::{Equations, core::Scene},
};

impl<M: Method<P>, const P: usize> Quantised<M, P> {
    /// Sets when output `port` leaves its band, seen from engine's time `e`; gives whether it has
    /// left already.
    pub(super) fn look_at_band<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        port: usize,
        e: f64,
    ) -> bool {
        if self.deaf || !scene.watches(port) {
            return false;
        }
        let along = Along { state: &self.state.engine, t: e };
        let (row, whole) = self.outputs.finite_row(port, &along, &self.engine.system);
        let held = &scene.frame.sent[port];
        let mut gap = [0.0; poly::MAX_DEGREE + 1];
        let own = held.segment.coefficients();
        let length = own.len().min(gap.len());
        gap[..length].copy_from_slice(&own[..length]);
        poly::shift(&mut gap[..length], e - self.time_of(scene, held));
        gap.iter_mut().for_each(|c| *c = -*c);
        for (gap, own) in gap.iter_mut().zip(row) {
            *gap += own;
        }
        let trust = match whole {
            true => {
                self.outputs.trust(port, &row, self.curved(scene)).min(self.longest).max(scene.tick)
            }
            // It has no series right here.
            false => scene.tick,
        };
        let (gap, band) = (&gap[..length.max(ROW)], scene.allowed(row[0]));
        let leave = poly::first_exceed(gap, band, trust);
        // Late in a run the clock may not tell the two times apart.
        let at_once = |leave: f64| leave <= 0.25 * scene.tick || e + leave <= e;
        let left = leave.is_some_and(at_once) || gap[0].abs() >= (1.0 - 1e-9) * band;
        let next = (e + leave.unwrap_or(trust)).max(e.next_up());
        self.state.leave.set(port, if left { e } else { next });
        left
    }

    /// When the first output leaves its band, before engine's time `until`.
    pub(super) fn band<E: Equations>(&mut self, scene: &Scene<E>, until: f64) -> Option<f64> {
        loop {
            let (port, time) = self.state.leave.earliest();
            if time > until {
                return None;
            }
            let e = time.max(self.state.shift + self.state.at);
            if self.look_at_band(scene, port, e) {
                return Some(e - self.state.shift);
            }
        }
    }
}
