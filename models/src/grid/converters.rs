//! Buck converters with hysteretic current control and droop on one DC bus.
use crate::{
    equations::start::unused_by_method,
    kinds::{
        Context, ParamError, ParamSpec, ParamType, Params, Ports, UnitKind, ValueType,
        params::{Checked, Reader, needed, with},
        ports::{event, signal},
    },
    maths::expr::Scalar,
    signal::value::Value,
    solve::{
        Dims, Equations, EventSpec, Settings, Trigger,
        ode::{Method, Options},
    },
    unit::Unit,
};
use superdense_kernel::Component;

type Work<S = f64> = crate::solve::equations::Work<S>;

/// L_k i_k' = s_k U - r i_k - v, C v' = Σ i_k - v/R; i_ref = (v_ref - v)/droop; the switch s_k
/// opens at i_k - i_ref >= h and closes at i_k - i_ref <= -h.
#[derive(Debug, Clone)]
struct Converters {
    inductances: Vec<f64>,
    source: f64,
    resistance: f64,
    capacity: f64,
    reference: f64,
    droop: f64,
    band: f64,
    /// Load resistance after the step.
    step: f64,
    events: Vec<EventSpec>,
}

impl Converters {
    fn number(&self) -> usize {
        self.inductances.len()
    }
    /// Place of the load resistance.
    fn load(&self) -> usize {
        self.dims().first_discrete() + self.number()
    }
}

impl Equations for Converters {
    fn dims(&self) -> Dims {
        let n = self.number();
        Dims {
            states: n + 1,
            discrete: n + 1,
            outputs: n + 1,
            event_outputs: 1,
            indicators: 2 * n,
            ..Dims::default()
        }
    }

    fn events(&self) -> &[EventSpec] {
        &self.events
    }

    fn derivatives<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, dx: &mut [S]) {
        let (n, first) = (self.number(), self.dims().first_discrete());
        let v = &vars[Dims::STATES + n];
        let mut surplus = v.div(&vars[self.load()]).neg();
        for (k, inductance) in self.inductances.iter().enumerate() {
            let i = &vars[Dims::STATES + k];
            surplus = surplus.add(i);
            let drive = vars[first + k].mul(&S::constant(self.source));
            let across = drive.sub(&i.mul(&S::constant(self.resistance))).sub(v);
            dx[k] = across.mul(&S::constant(1.0 / inductance));
        }
        dx[n] = surplus.mul(&S::constant(1.0 / self.capacity));
    }

    fn outputs<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, y: &mut [S]) {
        y.clone_from_slice(&vars[Dims::STATES..=Dims::STATES + self.number()]);
    }

    fn indicators<S: Scalar>(&self, vars: &[S], _: &mut Work<S>, z: &mut [S]) {
        let (n, first) = (self.number(), self.dims().first_discrete());
        let wanted = S::constant(self.reference).sub(&vars[Dims::STATES + n]);
        let wanted = wanted.mul(&S::constant(1.0 / self.droop));
        // Far enough that a switch in the other position is never asked.
        let far = S::constant(1e6 * self.band);
        for k in 0..n {
            let (s, excess) = (&vars[first + k], vars[Dims::STATES + k].sub(&wanted));
            let open = S::constant(1.0).sub(s).mul(&far);
            z[2 * k] = S::constant(self.band).sub(&excess).add(&open);
            z[2 * k + 1] = S::constant(self.band).add(&excess).add(&s.mul(&far));
        }
    }

    fn reset(&self, event: usize, vars: &mut [f64], _: &mut Work, emit: &mut Vec<(u16, Value)>) {
        match event.checked_sub(2 * self.number()) {
            None => {
                let (k, on) = (event / 2, event % 2 == 1);
                vars[self.dims().first_discrete() + k] = f64::from(u8::from(on));
                // Even: converter event/2 opened; odd: closed.
                emit.push((0, Value::Int(event as i64)));
            }
            Some(_) => vars[self.load()] = self.step,
        }
    }
}

described! {
    /// `converters`: `number` buck converters on one DC bus, each with hysteretic current control around
    /// a droop reference, and a resistive load that steps from `load` to `load_after` at `step_at`. All
    /// starts at zero with closed switches. Converter k (from 0) has the inductance
    /// `inductance`(1 + 0.05 k).
    ///
    /// Outputs (signals): `i1`, `i2`, … (A), `v` (V); output (event) `switched`: 2k when converter k
    /// opens, 2k + 1 when it closes.
    ///
    /// ```toml
    /// [unit.bus]
    /// kind = "converters"
    /// number = 2
    /// ```
    pub struct ConvertersKind;
}

const PARAMS: &[ParamSpec] = &[
    needed("number", ParamType::Int, "number of converters"),
    with("source", ParamType::Real(Some("V")), "100 V", "voltage of the sources"),
    with("inductance", ParamType::Real(Some("H")), "1 mH", "of the first converter"),
    with("resistance", ParamType::Real(Some("Ohm")), "0.05 Ohm", "in series with each inductance"),
    with("capacity", ParamType::Real(Some("F")), "1 mF", "of the bus"),
    with("reference", ParamType::Real(Some("V")), "48 V", "bus voltage without load"),
    with("droop", ParamType::Real(Some("Ohm")), "0.2 Ohm", "droop resistance"),
    with("band", ParamType::Real(Some("A")), "0.5 A", "half the width of the current band"),
    with("load", ParamType::Real(Some("Ohm")), "4.8 Ohm", "load at the start"),
    with("load_after", ParamType::Real(Some("Ohm")), "2.4 Ohm", "load after the step"),
    with("step_at", ParamType::Duration, "20 ms", "when the load steps"),
    with("method", ParamType::Choice(&["rk45", "taylor"]), "rk45", "how the equations are solved"),
    with("order", ParamType::Int, "12", "order of the method taylor, 2 to 30"),
    with("tolerance", ParamType::Real(None), "1e-12", "relative tolerance of the solver"),
    with("absolute_tolerance", ParamType::Real(None), "1e-12", "absolute tolerance"),
    with("exchange_tolerance", ParamType::Real(None), "1e-3", "largest error of sent segments"),
];

impl UnitKind for ConvertersKind {
    fn name(&self) -> &'static str {
        "converters"
    }
    fn summary(&self) -> &'static str {
        "buck converters with hysteretic control and droop on a DC bus"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn unused(&self, params: &Params, name: &str) -> Option<(String, String)> {
        unused_by_method(params, name)
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        let mut r = Reader::new(params);
        let n = r.int("number", 1, 10_000);
        let mut outputs: Vec<_> = (1..=n).map(|k| signal(&format!("i{k}"))).collect();
        outputs.extend([signal("v"), event("switched", ValueType::Int)]);
        r.finish(Ports { inputs: Vec::new(), outputs })
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        let mut r = Reader::new(params);
        let n = r.int("number", 1, 10_000) as usize;
        let first = r.positive("inductance");
        let inductances: Vec<f64> = (0..n).map(|k| first * (1.0 + 0.05 * k as f64)).collect();
        let state = |place| Trigger::all([(place, false)]);
        let named = |(name, trigger): (String, Trigger)| EventSpec::new(name, trigger);
        let switch = |place: usize| {
            let what = if place.is_multiple_of(2) { "opens" } else { "closes" };
            named((format!("{} {what}", place / 2 + 1), state(place)))
        };
        let step = named(("load step".to_owned(), Trigger::At(vec![r.span("step_at")])));
        let equations = Converters {
            inductances,
            source: r.positive("source"),
            resistance: r.positive("resistance"),
            capacity: r.positive("capacity"),
            reference: r.positive("reference"),
            droop: r.positive("droop"),
            band: r.positive("band"),
            step: r.positive("load_after"),
            events: (0..2 * n).map(switch).chain([step]).collect(),
        };
        let method = match params.text("method") {
            "taylor" => Method::Taylor(r.int("order", 2, 30) as usize, None),
            _ => Method::Rk45,
        };
        let settings = Settings {
            resolution: context.resolution,
            method,
            solver: Options::tolerance(r.positive("tolerance"), r.positive("absolute_tolerance")),
            exchange_tolerance: r.positive("exchange_tolerance"),
            sources: context.input_sources.to_vec(),
            connected: context.output_connected.to_vec(),
            retells: !context.mastered,
            ..Settings::default()
        };
        let mut discrete = vec![1.0; n + 1];
        discrete[n] = r.positive("load");
        r.finish(())?;
        let unit = Unit::new(equations, &vec![0.0; n + 1], &[], &discrete, settings);
        unit.map(Component::atomic)
            .map_err(|why| vec![ParamError::whole(why.to_string()).help("use method rk45")])
    }
}
