//! Pieces of outputs that signals have not worked through.
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_models::{
    maths::poly,
    signal::{
        piece::{Coefficients, Moment, Piece},
        value::{Segment, Value},
    },
};

/// A piece of an output; without an end as long as nothing followed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stretch {
    pub from: Moment,
    pub to: Option<Moment>,
    /// A transition of its unit ended it.
    event: bool,
    /// Coefficients in seconds since `from`, or, of a noted piece, in shares of its length.
    coefficients: Coefficients,
    noted: bool,
}

impl Stretch {
    fn noted(piece: Piece) -> Self {
        let Piece { from, to, coefficients, event, .. } = piece;
        Self { from, to: Some(to), event, coefficients, noted: true }
    }

    fn sent(tick: i64, value: &Value) -> Option<Self> {
        let coefficients = match value {
            Value::Segment(segment) => Segment::coefficients(segment).into(),
            other => Coefficients::from_slice(&[other.as_real()?]),
        };
        Some(Self { from: Moment::at(tick), to: None, event: true, coefficients, noted: false })
    }

    /// The piece on a part of it, in shares of that part.
    pub(super) fn part(&self, from: Moment, seconds: f64, rate: f64, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&self.coefficients);
        if out.len() == 1 {
            return;
        }
        let (mut start, mut length) = (from.since(self.from, rate), seconds);
        if let (true, Some(to)) = (self.noted, self.to) {
            let whole = to.since(self.from, rate);
            (start, length) = (start / whole, length / whole);
            if start == 0.0 && from == self.from && length == 1.0 {
                return;
            }
        }
        poly::shift(out, start);
        let mut power = 1.0;
        for c in out.iter_mut() {
            *c *= power;
            power *= length;
        }
    }
}

/// The pieces of one output, in order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    /// How many were dropped in front.
    dropped: u64,
    all: VecDeque<Stretch>,
    /// The output changed too fast for its pieces.
    pub coarse: bool,
}

impl Queue {
    pub(super) fn note(&mut self, piece: Piece) {
        self.coarse |= piece.coarse;
        // A value that stands is one piece, however many steps its unit makes.
        if let Some(last) = self.all.back_mut()
            && let (true, [old], [new]) =
                (last.noted, &last.coefficients[..], &piece.coefficients[..])
            && old.to_bits() == new.to_bits()
            && last.to == Some(piece.from)
        {
            (last.to, last.event) = (Some(piece.to), piece.event);
            return;
        }
        self.all.push_back(Stretch::noted(piece));
    }

    /// A message: what was sent before at its tick is void.
    pub(super) fn send(&mut self, tick: i64, value: &Value) {
        let Some(next) = Stretch::sent(tick, value) else { return };
        match self.all.back_mut() {
            Some(last) if last.from == next.from => *last = next,
            Some(last) => {
                last.to = Some(next.from);
                self.all.push_back(next);
            }
            None => self.all.push_back(next),
        }
    }

    /// The piece that follows an instant, from number `place` on; none where it is not known yet. The last piece
    /// may still become longer, so that `place` does not pass it.
    pub(super) fn seek(&self, place: &mut u64, at: Moment) -> Option<&Stretch> {
        let mut stretch = self.get(*place)?;
        while stretch.to.is_some_and(|to| to <= at) {
            stretch = self.get(*place + 1)?;
            *place += 1;
        }
        Some(stretch)
    }

    /// Where piece number `place` ends; none while it may still become longer.
    pub(super) fn ending(&self, place: u64) -> Option<Moment> {
        let stretch = self.get(place)?;
        let open =
            stretch.noted && stretch.coefficients.len() == 1 && self.get(place + 1).is_none();
        stretch.to.filter(|_| !open)
    }

    /// Whether a transition of the unit ends piece number `place` or one of those that follow, up to an instant.
    pub(super) fn is_ended(&self, place: u64, until: Moment) -> bool {
        let following = (place..).map_while(|k| self.get(k));
        let mut known = following.take_while(|s| s.to.is_some_and(|to| to <= until));
        known.any(|s| s.event)
    }

    /// Number `at` of all that there ever were.
    pub(super) fn get(&self, at: u64) -> Option<&Stretch> {
        self.all.get(at.checked_sub(self.dropped)? as usize)
    }

    /// Where the last one with an end ends.
    pub(super) fn end(&self) -> Option<Moment> {
        self.all.back().and_then(|s| s.to)
    }

    /// The value at a tick that nothing follows, of what was sent.
    pub(super) fn last(&self, tick: i64, rate: f64) -> Option<f64> {
        let last = self.all.back().filter(|s| !s.noted)?;
        Some(poly::eval(&last.coefficients, Moment::at(tick).since(last.from, rate)))
    }

    /// Drops those before number `at`.
    pub(super) fn drop_before(&mut self, at: u64) {
        while self.dropped < at && self.all.pop_front().is_some() {
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_same_polynomial() {
        // 1 + 2 e + 3 e² from 1 s on, at a resolution of 1 ms.
        let rate = 1000.0;
        let segment =
            Segment::new(&[1.0, 2.0, 3.0], superdense_models::signal::value::Flag::Jump, 0.0);
        let sent = Stretch::sent(1000, &Value::Segment(segment)).expect("a signal");
        let mut out = Vec::new();
        sent.part(Moment::at(1500), 2.0, rate, &mut out);
        for theta in [0.0, 0.25, 1.0] {
            let e = 0.5 + 2.0 * theta;
            let wanted = 1.0 + 2.0 * e + 3.0 * e * e;
            assert!((poly::eval(&out, theta) - wanted).abs() < 1e-12);
        }
        let (from, to) = (Moment::at(1000), Moment::at(3000));
        let coefficients = Coefficients::from_slice(&[1.0, 4.0, 12.0]);
        let piece = Piece { port: 0, from, to, coefficients, coarse: false, event: false };
        let noted = Stretch::noted(piece);
        noted.part(from, 2.0, rate, &mut out);
        assert_eq!(out, [1.0, 4.0, 12.0]);
        noted.part(Moment::at(2000), 1.0, rate, &mut out);
        assert_eq!(out, [6.0, 8.0, 3.0]);
    }

    #[test]
    fn the_last_message_of_a_tick_counts() {
        let mut queue = Queue::default();
        for (tick, x) in [(0, 1.0), (5, 2.0), (5, 3.0), (9, 4.0)] {
            queue.send(tick, &Value::Real(x));
        }
        let all: Vec<_> = (0..3)
            .filter_map(|k| queue.get(k))
            .map(|s| (s.from.tick, s.to.map(|t| t.tick), s.coefficients[0]))
            .collect();
        assert_eq!(all, [(0, Some(5), 1.0), (5, Some(9), 3.0), (9, None, 4.0)]);
        queue.drop_before(2);
        assert!(queue.get(1).is_none() && queue.get(2).is_some());
    }
}
