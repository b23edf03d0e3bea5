//! Memoryless signal blocks: `gain`, `offset`, `sum`, `product`.
use crate::{
    kinds::{
        ParamError, ParamType, Params, PortSpec, Ports,
        feed_through::{FeedThrough, Passing},
        params::{ORDER, Reader, TOLERANCE, needed, with},
        ports::{ports, signal},
    },
    signal::{
        Held, NEVER, Poly, Timer, combined, horizon, repeats, trimmed,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, Resolution},
};

/// The function that an [`Algebraic`] block computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Form {
    /// `offset + Σ weight · input`; exact at any order.
    Linear {
        /// One weight per input.
        weights: Box<[f64]>,
        /// Added to the sum.
        offset: f64,
    },
    /// The product of all inputs, truncated to `order`.
    Product {
        /// Highest power that is sent.
        order: usize,
        /// Largest effect of the powers that are not.
        tolerance: f64,
    },
}

/// Computes one signal from others. Inputs: the signals; output 0: the result.
///
/// Sends once every input is known, one micro-step after each new segment; a product also when
/// the powers above its order could have grown to the tolerance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Algebraic {
    timer: Timer,
    form: Form,
    inputs: Vec<Option<Held>>,
    /// How the next segment follows; `None` when it is a scheduled refresh.
    flag: Option<Flag>,
    /// The segment that receivers hold.
    sent: Option<Held>,
}

impl Algebraic {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    /// A block that has not heard anything yet.
    pub fn new(form: Form, inputs: usize, resolution: Resolution) -> Self {
        Self {
            timer: Timer::due(NEVER, resolution),
            form,
            inputs: vec![None; inputs],
            flag: None,
            sent: None,
        }
    }

    fn combine(&self, value: impl Fn(&Held) -> f64) -> Option<f64> {
        let inputs = self.inputs.iter().map(|i| i.as_ref().map(&value));
        match &self.form {
            Form::Linear { weights, offset } => {
                inputs.zip(weights).try_fold(*offset, |sum, (x, w)| Some(sum + w * x?))
            }
            Form::Product { .. } => inputs.into_iter().try_fold(1.0, |p, x| Some(p * x?)),
        }
    }

    /// The full polynomial at tick `at`; only when every input is known.
    fn polynomial(&self, at: i64) -> Vec<f64> {
        let inputs = self.inputs.iter().flatten().map(|h| h.shifted(at, &self.timer));
        match &self.form {
            Form::Linear { weights, offset } => {
                let mut sum = Poly::constant(*offset);
                inputs.zip(weights).for_each(|(p, &w)| sum.add(w, p.coefficients()));
                sum.coefficients().to_vec()
            }
            Form::Product { .. } => {
                inputs.fold(vec![1.0], |p, q| multiply(&p, q.truncated(usize::MAX - 1)))
            }
        }
    }

    /// When the powers that are not sent begin to matter.
    fn schedule(&mut self) {
        self.flag = None;
        self.timer.set(NEVER);
        if let Form::Product { order, tolerance } = self.form {
            let p = self.polynomial(self.timer.now());
            if p.len() > order + 1 {
                let e = horizon(order + 1, &p[order + 1..], tolerance);
                self.timer.set(self.timer.within(e));
            }
        }
    }

    fn order(&self) -> usize {
        match self.form {
            Form::Linear { .. } => usize::MAX - 1,
            Form::Product { order, .. } => order,
        }
    }

    fn segment(&self, at: i64) -> Segment {
        let p = self.polynomial(at);
        let flag = match (self.sent.is_some(), self.flag) {
            (true, Some(flag)) => flag,
            (true, None) => Flag::Continuous,
            (false, _) => Flag::Refresh,
        };
        let left = self.combine(|h| h.left(at, &self.timer)).filter(|_| flag == Flag::Jump);
        let sent = trimmed(&p[..p.len().min(self.order() + 1)]);
        Segment::new(sent, flag, left.unwrap_or(p[0]))
    }
}

fn multiply(p: &[f64], q: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; p.len() + q.len() - 1];
    for (i, a) in p.iter().enumerate() {
        for (k, b) in q.iter().enumerate() {
            out[i + k] += a * b;
        }
    }
    out
}

impl Atomic<Value> for Algebraic {
    fn inputs(&self) -> u16 {
        self.inputs.len() as u16
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        out.send(Self::Y, self.segment(self.timer.next()));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        let now = self.timer.next();
        self.sent = Some(Held::new(self.segment(now), now));
        self.timer.fire();
        self.schedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        for (port, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.inputs[usize::from(port)], s, now);
                self.flag = Some(combined(self.flag, s.flag));
            }
        }
        if self.inputs.iter().any(Option::is_none) {
            return;
        }
        if self.flag != Some(Flag::Jump) && repeats(&self.sent, &self.segment(now), now) {
            self.schedule();
        } else {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        let at = self.timer.at(elapsed);
        self.combine(|h| h.value(at, &self.timer)).map(Value::Real)
    }
}

fn linear(weights: Vec<f64>, offset: f64, resolution: Resolution) -> Component<Value> {
    let inputs = weights.len();
    let form = Form::Linear { weights: weights.into(), offset };
    Component::atomic(Algebraic::new(form, inputs, resolution))
}

unit_kind! {
    /// `gain`: `y = gain u`. Input `u`, output `y`.
    ///
    /// ```toml
    /// [unit.amplifier]
    /// kind = "gain"
    /// gain = -2.5
    /// ```
    Gain = "gain", "a signal times a constant",
    params: [needed("gain", ParamType::Real(None), "the factor")],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let gain = r.finite("gain");
        r.finish(linear(vec![gain], 0.0, context.resolution))
    },
}

unit_kind! {
    /// `offset`: `y = u + offset`. Input `u`, output `y`.
    ///
    /// ```toml
    /// [unit.celsius]
    /// kind = "offset"
    /// offset = -273.15
    /// ```
    Offset = "offset", "a signal plus a constant",
    params: [needed("offset", ParamType::Real(None), "what is added")],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let offset = r.finite("offset");
        r.finish(linear(vec![1.0], offset, context.resolution))
    },
}

/// Inputs `u1`, `u2`, …
pub(crate) fn numbered(n: usize, port: impl Fn(&str) -> PortSpec) -> Vec<PortSpec> {
    (1..=n).map(|k| port(&format!("u{k}"))).collect()
}

fn signs(params: &Params) -> Result<Vec<f64>, Vec<ParamError>> {
    let text = params.text("signs");
    let sign = |c| match c {
        '+' => Some(1.0),
        '-' => Some(-1.0),
        _ => None,
    };
    let signs: Option<Vec<f64>> = text.chars().map(sign).collect();
    signs.filter(|s| !s.is_empty()).ok_or_else(|| {
        vec![
            ParamError::at(params.span("signs"), format!("`{text}` is no list of signs"))
                .help("write one + or - per input, such as \"+-\""),
        ]
    })
}

unit_kind! {
    /// `sum`: sum and difference of signals. Inputs `u1`, `u2`, … (one per sign), output `y`.
    ///
    /// ```toml
    /// [unit.error]
    /// kind = "sum"
    /// signs = "+-"         # y = u1 - u2
    /// ```
    Sum = "sum", "sum and difference of signals",
    params: [with("signs", ParamType::Text, "++", "one + or - per input")],
    ports: |params| {
        let inputs = numbered(signs(params)?.len(), signal);
        Ok(Ports { inputs, outputs: vec![signal("y")] })
    },
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| Ok(linear(signs(params)?, 0.0, context.resolution)),
}

unit_kind! {
    /// `product`: product of signals. Inputs `u1`, `u2`, …, output `y`.
    ///
    /// The polynomials are multiplied; powers above `order` are dropped. So the sent segment is
    /// exact up to its order only; a new one follows before what is dropped can exceed
    /// `exchange_tolerance`.
    ///
    /// ```toml
    /// [unit.power]
    /// kind = "product"
    /// inputs = 2
    /// ```
    Product = "product", "product of signals",
    params: [with("inputs", ParamType::Int, "2", "number of inputs"), ORDER, TOLERANCE],
    ports: |params| {
        let mut r = Reader::new(params);
        let inputs = numbered(r.int("inputs", 1, 64) as usize, signal);
        r.finish(Ports { inputs, outputs: vec![signal("y")] })
    },
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let inputs = r.int("inputs", 1, 64) as usize;
        let (order, tolerance) = r.accuracy();
        let form = Form::Product { order, tolerance };
        r.finish(Component::atomic(Algebraic::new(form, inputs, context.resolution)))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn linear_blocks_answer_one_micro_step_later() {
        let bench = Bench::run(
            r#"
            connections = ["r.y -> g.u", "g.y -> s.u1", "c.y -> s.u2", "s.y -> o.u"]
            [unit.r]
            kind = "step"
            at = 1
            from = 1.0
            to = 3.0
            [unit.c]
            kind = "ramp"
            slope = 1.0
            [unit.g]
            kind = "gain"
            gain = 2.0
            [unit.s]
            kind = "sum"
            signs = "+-"
            [unit.o]
            kind = "offset"
            offset = 10.0
            "#,
            2.0,
        );
        assert_eq!(bench.signal("g.y"), ["0@1 [2.0] left 2", "1@1 Jump [6.0] left 2"]);
        assert_eq!(
            bench.signal("s.y"),
            ["0@2 [2.0, -1.0] left 2", "1@2 Jump [5.0, -1.0] left 1"],
            "waits until both inputs are known"
        );
        assert_eq!(bench.signal("o.y")[1], "1@3 Jump [15.0, -1.0] left 11");
        assert_eq!(bench.probe("o.y"), 14.0);
    }

    #[test]
    fn products_are_sent_again_before_the_truncation_matters() {
        let text = |order| {
            format!(
                "connections=['r.y -> p.u1','r.y -> p.u2','r.y -> p.u3']\n\
                 [unit.r]\nkind='ramp'\nslope=1.0\n\
                 [unit.p]\nkind='product'\ninputs=3\norder={order}\nexchange_tolerance=1e-3"
            )
        };
        let exact = Bench::run(&text(3), 2.0);
        assert_eq!(exact.signal("p.y"), ["0@1 [0.0, 0.0, 0.0, 1.0] left 0"]);
        let bench = Bench::run(&text(2), 2.0);
        assert!((19..=22).contains(&bench.count("p.y")), "one per 0.1 s: {}", bench.count("p.y"));
        for k in 0..=200 {
            let t = f64::from(k) * 0.01;
            assert!((bench.held("p.y", t) - t.powi(3)).abs() <= 1.001e-3);
        }
        assert_eq!(bench.probe("p.y"), 8.0);
    }

    #[test]
    fn bad_signs() {
        let text = mistakes("[unit.s]\nkind='sum'\nsigns='+x'");
        assert_eq!(text, ["`+x` is no list of signs; write one + or - per input, such as \"+-\""]);
    }
}
