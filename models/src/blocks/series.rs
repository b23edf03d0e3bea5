//! A polynomial and a decaying exponential: what linear blocks of first order answer to a
//! polynomial input, in closed form.
use crate::{
    maths::poly::MAX_DEGREE,
    signal::{Poly, horizon, is_late},
};
use superdense_kernel::{Effects, Fact, message::Message};

/// The highest order of segments that parameters allow.
const ORDERS: usize = 12;
/// Up to so many time constants in a tick, a cubic with the first slope of the exponential, and with its integral, falls
/// all the way.
const FALLS: f64 = 2.25;

/// An answer as a polynomial, for as long as receivers may use it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) poly: Poly,
    /// For how long it is good.
    pub(crate) seconds: f64,
    /// It stands for an answer that changes faster than ticks can tell.
    pub(crate) late: bool,
}

impl Piece {
    /// Tells once of an answer that changes too fast for ticks of so many seconds.
    pub(crate) fn note_late<M: Message>(&self, told: &mut bool, tick: f64, fx: &mut Effects<M>) {
        if self.late && !std::mem::replace(told, true) {
            let note = format!(
                "the output changes faster than ticks of {tick:e} s can tell, and is known at ticks only: take a finer \
                 `resolution`, or a longer time constant"
            );
            fx.report(Fact::Note(note.into()));
        }
    }
}

/// `p(e) + c exp(-rate e)`.
///
/// **Why it is also known as a series.** The polynomial part has factors `k!/rate^k`, which the exponential takes away
/// again: beside a slow rate nothing is left of sixteen digits. The series has no such factors, and each of its
/// coefficients follows from those of lower powers alone: in a loop of units each round makes one more of them final.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decay {
    p: Poly,
    c: f64,
    rate: f64,
    /// Taylor coefficients, beyond those of the input.
    series: Poly,
}

impl Decay {
    /// The solution of `y' = rate (u(e) - y)`, `y(0) = start`.
    ///
    /// The polynomial part solves `p + p'/rate = u` from the highest power down.
    pub(crate) fn follow(u: &[f64], start: f64, rate: f64) -> Self {
        let mut p = [0.0; MAX_DEGREE + 1];
        let mut above = 0.0;
        for (k, &uk) in u.iter().enumerate().rev() {
            p[k] = uk - (k + 1) as f64 * above / rate;
            above = p[k];
        }
        let mut series = [start; MAX_DEGREE + 1];
        let last = u.len().clamp(ORDERS + 1, MAX_DEGREE);
        for k in 0..last {
            let uk = u.get(k).copied().unwrap_or(0.0);
            series[k + 1] = rate * (uk - series[k]) / (k + 1) as f64;
        }
        let (p, series) = (Poly::new(&p[..u.len()]), Poly::new(&series[..=last]));
        Self { p, c: start - above, rate, series }
    }

    /// A polynomial plus `factor` times this.
    pub(crate) fn beside(&self, mut plus: Poly, factor: f64) -> Self {
        let mut series = plus;
        plus.add(factor, self.p.coefficients());
        series.add(factor, self.series.coefficients());
        Self { p: plus, c: factor * self.c, rate: self.rate, series }
    }

    pub(crate) fn value(&self, e: f64) -> f64 {
        /// Factors `k!/8^k` are harmless up to the highest order, and so are the terms of the series, `8^k/k!`.
        const NEAR: f64 = 8.0;
        if self.rate * e > NEAR {
            return self.p.value(e) + self.c * libm::exp(-self.rate * e);
        }
        let known = self.series.coefficients();
        // Behind the known coefficients those of an exponential go on.
        let (mut rest, mut k) = (known[known.len() - 1], known.len());
        let mut power = libm::pow(e, (k - 1) as f64);
        let mut sum = 0.0;
        while rest != 0.0 && k < 100 {
            rest *= -self.rate / k as f64;
            power *= e;
            let term = rest * power;
            if sum + term == sum {
                break;
            }
            sum += term;
            k += 1;
        }
        self.series.value(e) + sum
    }

    /// A polynomial of `order` that is within `tolerance`, and for how long: the Taylor polynomial; where it
    /// `settles` and the exponential is below the tolerance, `p` alone, so that nothing more is to be sent. Receivers
    /// hear of the next one a `tick` later at the earliest: where the Taylor polynomial has left the answer by then,
    /// one that stays beside it.
    pub(crate) fn taylor(&self, order: usize, tolerance: f64, settles: bool, tick: f64) -> Piece {
        if settles && self.c.abs() <= 0.1 * tolerance {
            let tail = self.p.coefficients().get(order + 1..).unwrap_or_default();
            let poly = Poly::new(self.p.truncated(order));
            let seconds = horizon(order + 1, tail, 0.9 * tolerance);
            return Piece { poly, seconds, late: false };
        }
        // Behind the powers of the input the series alternates, for e >= 0: its remainder is below the first term.
        let own = self.series.coefficients();
        let last = (order + 2).max(self.p.coefficients().len() + 1).min(own.len());
        let poly = Poly::new(self.series.truncated(order));
        let seconds = horizon(order + 1, &own[order + 1..last], tolerance);
        let off = || (poly.value(tick) - self.value(tick)).abs();
        if seconds < tick && is_late(off(), tolerance) {
            return Piece { poly: self.within_a_tick(order, tick), seconds: tick, late: true };
        }
        Piece { poly, seconds, late: false }
    }

    /// A polynomial for one `tick` which the exponential leaves behind, or nearly: right at both ends, and between
    /// them within what the exponential passes through. Its integral is that of the exponential as far as this allows.
    fn within_a_tick(&self, order: usize, tick: f64) -> Poly {
        let constants = self.rate * tick;
        let end = libm::exp(-constants);
        // Control points of Bézier's form.
        let b = match order {
            0..3 => [1.0, (2.0 + end) / 3.0, (1.0 + 2.0 * end) / 3.0, end],
            _ => {
                let inner = 4.0 * (1.0 - end) / constants - 1.0 - end;
                let first = if constants <= FALLS { 1.0 - constants / 3.0 } else { 0.5 * inner };
                [1.0, first.max(end), (inner - first).max(end), end]
            }
        };
        let powers = [
            b[0],
            3.0 * (b[1] - b[0]),
            3.0 * (b[0] - 2.0 * b[1] + b[2]),
            b[3] - b[0] + 3.0 * (b[1] - b[2]),
        ];
        let mut scale = 1.0;
        let decay = powers.map(|power| {
            let c = power * scale;
            scale /= tick;
            c
        });
        let mut poly = Poly::new(self.p.truncated(order));
        poly.add(self.c, &decay[..=order.min(3)]);
        poly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_keep_their_digits() {
        // y' = (u - y)/1000 with u = sin(9 t) as a polynomial of degree 9, over 0.1 s.
        let rate = 1e-3;
        let mut u = [0.0; 10];
        let mut factorial = 1.0;
        for (k, c) in u.iter_mut().enumerate() {
            factorial *= k.max(1) as f64;
            *c = [0.0, 1.0, 0.0, -1.0][k % 4] * 9.0_f64.powi(k as i32) / factorial;
        }
        let d = Decay::follow(&u, 0.5, rate);
        // (1 - cos 0.9)/9000 of the integral of the sine, 0.5 e^-0.0001, and terms below 1e-9.
        let about = 0.5 * f64::exp(-1e-4) + rate * (1.0 - 0.9_f64.cos()) / 9.0;
        assert!((d.value(0.1) - about).abs() < 4e-9, "{} {about}", d.value(0.1));
        let Piece { poly, seconds, .. } = d.taylor(9, 1e-9, false, 1e-9);
        assert!(seconds > 0.1 && (poly.value(0.1) - d.value(0.1)).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn answers_a_parabola_exactly() {
        // y' = 2 (u - y) with u = 1 + e², y(0) = 0.
        let d = Decay::follow(&[1.0, 0.0, 1.0], 0.0, 2.0);
        let exact = |e: f64| e * e - e + 1.5 - 1.5 * (-2.0 * e).exp();
        for e in [0.0, 0.5, 3.0] {
            assert!((d.value(e) - exact(e)).abs() < 1e-14);
        }
        let Piece { poly: p, seconds: h, .. } = d.taylor(3, 1e-6, true, 1e-9);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
        assert!((p.value(h) - exact(h)).abs() >= 1e-7);
        let Piece { poly: p, seconds: h, .. } = d.taylor(1, 1e-6, true, 1e-9);
        assert!((p.value(h) - exact(h)).abs() <= 1e-6);
    }

    #[test]
    fn within_a_tick_it_stays_beside_the_answer() {
        for (order, constants) in [(3, 0.5), (3, 2.4), (4, 2.6), (3, 20.0), (1, 3.0), (2, 1e6)] {
            let (tick, start, target) = (1e-3, 2.0, 5.0);
            let d = Decay::follow(&[target], start, constants / tick);
            let piece = d.taylor(order, 1e-6, true, tick);
            let at = |u: f64| piece.poly.value(u * tick);
            assert!(piece.late && piece.seconds == tick, "{constants}");
            assert!((at(0.0) - start).abs() < 1e-12);
            assert!((at(1.0) - d.value(tick)).abs() < 1e-9 * target, "{constants}");
            for k in 0..=100 {
                let y = at(f64::from(k) / 100.0);
                assert!((start - 1e-9..=target + 1e-9).contains(&y), "{y} {order} {constants}");
            }
            if order > 2 && constants < 3.0 {
                let area = piece.poly.integral(0.0).value(tick) / tick;
                let exact = target + (start - target) * (1.0 - (-constants).exp()) / constants;
                assert!((area - exact).abs() < 1e-9, "{area} {exact}");
            }
        }
        let d = Decay::follow(&[5.0], 2.0, 1.0);
        assert!(!d.taylor(3, 1e-6, true, 1e-3).late);
    }
}
