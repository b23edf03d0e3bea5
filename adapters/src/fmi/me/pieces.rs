//! Outputs as polynomials: through their values on a part of the step, as long a part as they fit.
use super::{
    super::{instance::CallError, library::Status, nominal::watch},
    ExchangeUnit,
};
use superdense_models::signal::value::{Flag, Segment};

/// Halvings of the part on which polynomials are tried.
const HALVINGS: u32 = 40;

/// Places of a part, from 0 to 1, through which a polynomial of an order goes: Chebyshev's, with
/// both ends.
fn nodes(order: usize) -> Vec<f64> {
    if order == 0 {
        return vec![0.0];
    }
    let place = |k| 0.5 - 0.5 * (std::f64::consts::PI * k as f64 / order as f64).cos();
    (0..=order).map(place).collect()
}

/// Places between, at which it is judged.
fn checks(nodes: &[f64]) -> Vec<f64> {
    match nodes {
        [_] => vec![0.5, 1.0],
        _ => nodes.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect(),
    }
}

/// Coefficients of the polynomial through points (Newton's divided differences).
fn through(x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut d = y.to_vec();
    for k in 1..x.len() {
        for i in (k..x.len()).rev() {
            d[i] = (d[i] - d[i - 1]) / (x[i] - x[i - k]);
        }
    }
    let mut c = vec![0.0; x.len()];
    for k in (0..x.len()).rev() {
        // c = c * (t - x[k]) + d[k]
        for i in (1..c.len()).rev() {
            c[i] = c[i - 1] - x[k] * c[i];
        }
        c[0] = d[k] - x[k] * c[0];
    }
    c
}

impl ExchangeUnit {
    /// Lines up segments of outputs that are not what receivers hold, for the present; gives how far
    /// all of them are good.
    pub(super) fn pieces(&mut self, end: f64) -> Result<f64, CallError> {
        self.data.outbox.clear();
        let n = self.settings.continuous.len();
        let ports: Vec<usize> =
            (0..n).filter(|&p| self.settings.continuous[p] && self.settings.heard[p]).collect();
        self.refresh()?;
        self.queue_discrete();
        let mut width = end.max(self.tick());
        if ports.is_empty() {
            self.data.jumped = false;
            return Ok(end);
        }
        let nodes = nodes(self.settings.order);
        let places: Vec<f64> = nodes.iter().copied().chain(checks(&nodes)).collect();
        for halving in 0..=HALVINGS {
            let last = halving == HALVINGS || width <= self.tick();
            let rows = self.samples(&places, width)?;
            let fitted: Option<Vec<_>> =
                ports.iter().map(|&p| self.fit(p, &nodes, (&places, &rows), width, last)).collect();
            if let Some(fitted) = fitted {
                for (port, row) in ports.iter().zip(fitted) {
                    row.into_iter().for_each(|row| self.enqueue(*port, &row));
                }
                break;
            }
            width *= 0.5;
        }
        self.data.jumped = false;
        Ok(width)
    }

    /// All outputs at places of the part.
    fn samples(&self, places: &[f64], width: f64) -> Result<Vec<Vec<f64>>, CallError> {
        let field = self.field();
        let row = |place: &f64| {
            let (t, mut y) = (place * width, self.data.y.clone());
            field.outputs(t, &self.states(t), &mut y)?;
            Ok(y)
        };
        places.iter().map(row).collect()
    }

    /// The new polynomial of an output, nothing if receivers hold a good one; `None` if none is good
    /// over the whole part.
    fn fit(
        &self,
        port: usize,
        nodes: &[f64],
        (places, rows): (&[f64], &[Vec<f64>]),
        width: f64,
        last: bool,
    ) -> Option<Option<Vec<f64>>> {
        let (timer, tolerance) = (&self.data.timer, self.settings.tolerance);
        let values: Vec<f64> = rows.iter().map(|row| row[port]).collect();
        if let Some(held) = &self.data.sent[port] {
            let age = timer.seconds(held.since(), timer.now());
            let off = |(place, y): (&f64, &f64)| {
                (held.segment().value(age + place * width) - y).abs() <= tolerance
            };
            let jump = self.jumps(port, values[0]) && held.segment().value(age) != values[0];
            if !jump && places.iter().zip(&values).all(off) {
                return Some(None);
            }
        }
        let row = through(nodes, &values[..nodes.len()]);
        let value = |place: f64| row.iter().rev().fold(0.0, |sum, c| sum * place + c);
        let good = |(place, y): (&f64, &f64)| (value(*place) - y).abs() <= 0.5 * tolerance;
        if !last && !places.iter().zip(&values).all(good) {
            return None;
        }
        let mut scale = 1.0;
        let mut scaled: Vec<f64> = row
            .iter()
            .map(|c| {
                let c = c / scale;
                scale *= width;
                c
            })
            .collect();
        scaled[0] = values[0];
        Some(Some(scaled))
    }

    /// Whether what happened at this tick has changed an output, but for rounding.
    fn jumps(&self, port: usize, y: f64) -> bool {
        let changed = |left: &f64| (left - y).abs() > 16.0 * f64::EPSILON * y.abs().max(left.abs());
        self.data.jumped && self.data.left.get(port).is_none_or(changed)
    }

    fn enqueue(&mut self, port: usize, row: &[f64]) {
        let now = self.data.timer.now();
        let held = self.data.sent[port].as_ref().map(|h| h.value(now, &self.data.timer));
        let (flag, left) = match held {
            None => (Flag::Jump, row[0]),
            Some(held) if self.jumps(port, row[0]) && held != row[0] => (Flag::Jump, held),
            Some(_) => (Flag::Continuous, row[0]),
        };
        self.data.outbox.push((port as u16, Segment::new(row, flag, left)));
    }

    /// Outputs at the present.
    pub(super) fn refresh(&mut self) -> Result<(), CallError> {
        if self.data.y.is_empty() {
            return Ok(());
        }
        let mut y = self.data.y.clone();
        self.field().outputs(0.0, &self.states(0.0), &mut y)?;
        if let Some(port) = y.iter().position(|y| !y.is_finite()) {
            let at = self.field().absolute(0.0);
            let call = format!("output {} is {} at {at} s", port + 1, y[port]);
            return Err(CallError { call, status: Status::Ok, log: Vec::new() });
        }
        watch(&self.instance, &self.settings.usual, &y, self.field().absolute(0.0));
        self.data.y = y;
        Ok(())
    }

    /// Lines up outputs that only jump.
    fn queue_discrete(&mut self) {
        for port in 0..self.settings.continuous.len() {
            if !self.settings.continuous[port] {
                self.queue_value(port);
            }
        }
    }

    /// Lines up the values of all outputs, between two rounds of an event.
    pub(super) fn queue_values(&mut self) {
        self.data.outbox.clear();
        (0..self.settings.continuous.len()).for_each(|port| self.queue_value(port));
    }

    fn queue_value(&mut self, port: usize) {
        let (now, y) = (self.data.timer.now(), self.data.y[port]);
        let held = self.data.sent[port].as_ref().map(|h| h.value(now, &self.data.timer));
        let changes = !self.settings.continuous[port] || held.is_none() || self.jumps(port, y);
        let rest = self.rest(port).unwrap_or(0.0);
        let exact = self.data.sent[port].as_ref().is_none_or(|h| h.segment().rest() == rest);
        if self.settings.heard[port] && changes && !(held == Some(y) && exact) {
            let left = held.unwrap_or(y);
            self.data.outbox.push((port as u16, Segment::whole(y, rest, Flag::Jump, left)));
        }
    }

    /// The remainder of an output of 64 bits, for which its real has too few digits.
    pub(super) fn rest(&self, port: usize) -> Option<f64> {
        let k = self.settings.wide.iter().position(|&p| p == port)?;
        self.data.y.get(self.settings.continuous.len() + k).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_go_through_their_points() {
        let cubic = |t: f64| 1.0 - 2.0 * t + 0.5 * t * t + 3.0 * t * t * t;
        let nodes = nodes(3);
        let values: Vec<f64> = nodes.iter().map(|&t| cubic(t)).collect();
        let row = through(&nodes, &values);
        for (c, expected) in row.iter().zip([1.0, -2.0, 0.5, 3.0]) {
            assert!((c - expected).abs() < 1e-13, "{row:?}");
        }
        assert_eq!(checks(&nodes).len(), 3);
    }
}
