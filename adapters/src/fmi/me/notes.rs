//! Notes of the solution between messages, for the results of a run.
use super::{super::instance::CallError, ExchangeUnit, Field};
use serde::{Deserialize, Serialize};
use superdense_models::signal::{
    Timer,
    cut::{Cuts, cut},
    piece::{Moment, Piece},
};

/// The ports that are noted, the tick up to which, and pieces that nobody has taken yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Notes {
    ports: Vec<u16>,
    until: i64,
    pieces: Vec<Piece>,
    cuts: Cuts,
}

impl ExchangeUnit {
    /// Notes of some outputs from the present on.
    pub(super) fn begin_notes(&mut self, ports: &[u16]) {
        let until = self.data.timer.now();
        let (ports, pieces, cuts) = (ports.to_vec(), Vec::new(), Cuts::default());
        self.data.notes = Some(Notes { ports, until, pieces, cuts });
    }

    /// Notes the outputs between the last transition, where the timer stood then, and tick `now`: they will not
    /// change any more. States, time and inputs count from there.
    pub(super) fn note_until(&mut self, timer: Timer, now: i64) -> Result<(), CallError> {
        let Some(mut notes) = self.data.notes.take() else { return Ok(()) };
        let from = notes.until.max(timer.now());
        let done = if now > from { self.pieces_of(&mut notes, timer, (from, now)) } else { Ok(()) };
        self.data.notes = Some(notes);
        done
    }

    fn pieces_of(
        &self,
        notes: &mut Notes,
        timer: Timer,
        (from, now): (i64, i64),
    ) -> Result<(), CallError> {
        let (begin, length) = (timer.seconds(timer.now(), from), timer.seconds(from, now));
        let rate = timer.resolution().ticks_per_second() as f64;
        let (mut y, mut failed) = (self.data.y.clone(), None);
        let field = Field { timer, ..self.field() };
        let Notes { ports, pieces, cuts, .. } = notes;
        let mut sample = |theta: f64, row: &mut [f64]| {
            let t = begin + theta * length;
            if let Err(e) = field.outputs(t, &self.states(t), &mut y) {
                failed.get_or_insert(e);
                y.fill(0.0);
            }
            row.iter_mut().zip(&*ports).for_each(|(value, &port)| *value = y[usize::from(port)]);
        };
        let place = |theta: f64| match theta {
            0.0 => Moment::at(from),
            1.0 => Moment::at(now),
            _ => Moment::after(from, theta * length, rate),
        };
        let rounding = f64::EPSILON * (Moment::at(now).seconds(rate) / length).abs();
        let known = (rounding, &mut *cuts);
        let mut take = |(low, high), k: usize, coefficients: &[f64]| {
            let (from, to) = (place(low), place(high));
            let coefficients = coefficients.into();
            let event = to == Moment::at(now);
            pieces.push(Piece { port: ports[k], from, to, coefficients, coarse: false, event });
        };
        cut((ports.len(), 0), known, &mut sample, &mut take);
        cuts.mark(pieces, ports, Moment::at(from));
        notes.until = now;
        failed.map_or(Ok(()), Err)
    }

    /// Hands the notes out.
    pub(super) fn pieces_taken(&mut self) -> Option<Vec<Piece>> {
        self.data.notes.as_mut().map(|notes| std::mem::take(&mut notes.pieces))
    }
}
