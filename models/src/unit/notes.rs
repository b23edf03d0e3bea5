//! Notes of the solution between messages: output ports over each step, as polynomials.
use super::wrapper::Unit;
use crate::{
    signal::{
        piece::{Moment, Piece, pieces},
        value::Value,
    },
    solve::{core::Core, equations::Equations},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::time::Duration;

/// What is noted, how far, and what nobody has taken yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Notes {
    ports: Vec<u16>,
    until: Moment,
    pieces: Vec<Piece>,
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    pub(super) fn keep_notes(&mut self, ports: &[u16]) -> bool {
        let ports: Vec<u16> = ports.to_vec();
        if ports.iter().any(|&p| usize::from(p) >= self.scene.dims.outputs) {
            return false;
        }
        let until = Moment::at(self.scene.frame.last);
        self.state.notes = Some(Box::new(Notes { ports, until, pieces: Vec::new() }));
        true
    }

    pub(super) fn hand_notes_out(&mut self, until: Option<Duration>) -> Vec<Value> {
        if let Some(until) = until {
            let now = Moment::at(self.scene.frame.last + until.ticks());
            self.note_until(self.seconds(until.ticks()), now);
        }
        let notes = self.state.notes.as_mut().map(|notes| std::mem::take(&mut notes.pieces));
        notes.unwrap_or_default().into_iter().map(|p| Value::Piece(Arc::new(p))).collect()
    }

    /// Notes the solution that will not change any more: up to where the next step begins.
    #[inline(never)]
    pub(super) fn note_step(&mut self) {
        let t = self.core.time();
        let now = Moment::after(self.scene.frame.last, t, self.scene.rate);
        self.note_until(t, now);
    }

    /// Notes the solution up to offset `t`, which is `now`.
    #[inline(never)]
    pub(super) fn note_until(&mut self, t: f64, now: Moment) {
        let Some(mut notes) = self.state.notes.take() else { return };
        if now > notes.until {
            let (rate, from) = (self.scene.rate, notes.until);
            let last = Moment::at(self.scene.frame.last);
            let begin = from.since(last, rate);
            let (mut vars, mut x) = (Vec::new(), vec![0.0; self.scene.dims.states]);
            let ports = &notes.ports;
            let mut sample = |theta: f64, row: &mut [f64]| {
                let at = if theta == 1.0 { t } else { begin + theta * (t - begin) };
                self.core.states(at, &mut x);
                self.scene.fill(at, &x, &mut vars);
                for (value, &port) in row.iter_mut().zip(ports) {
                    *value = self.scene.equations.output(port.into(), &vars);
                }
            };
            let place = |theta: f64| match theta {
                0.0 => from,
                1.0 => now,
                _ => Moment::after(from.tick, from.part + theta * (t - begin), rate),
            };
            let out = &mut notes.pieces;
            pieces(ports.len(), &mut sample, &mut |low, high, k, coefficients| {
                let (from, to) = (place(low), place(high));
                let coefficients = coefficients.to_vec();
                out.push(Piece { port: ports[k], from, to, coefficients });
            });
            notes.until = now;
        }
        self.state.notes = Some(notes);
    }
}
