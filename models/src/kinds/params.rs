//! Reading parameters: every mistake is collected, and each message says what to do.
use super::{Context, Located, Param, ParamError, ParamSpec, ParamType, Params, Seconds, Span};
use crate::{
    maths::{
        expr::{Symbol, parse},
        random::{Distribution, RandomStream},
        rounding::nearest_tick,
    },
    signal::value::Value,
};
use superdense_kernel::time::{RationalClock, Resolution};

pub(crate) use super::{needed, with};

/// `exchange_tolerance`, for kinds that send truncated series.
pub(crate) const TOLERANCE: ParamSpec = with(
    "exchange_tolerance",
    ParamType::Real(None),
    "1e-6",
    "largest error of a sent segment; smaller means more segments",
);

/// `order`, for kinds that send truncated series.
pub(crate) const ORDER: ParamSpec =
    with("order", ParamType::Int, "3", "order of the sent segments, 1 to 12");

/// Collects the mistakes of one unit.
pub(crate) struct Reader<'a> {
    params: &'a Params,
    errors: Vec<ParamError>,
}

pub(crate) type Checked<T> = Result<T, Vec<ParamError>>;

impl<'a> Reader<'a> {
    pub(crate) fn new(params: &'a Params) -> Self {
        Self { params, errors: Vec::new() }
    }

    /// The result, or every mistake found.
    pub(crate) fn finish<T>(self, value: T) -> Checked<T> {
        if self.errors.is_empty() { Ok(value) } else { Err(self.errors) }
    }

    pub(crate) fn push(&mut self, error: ParamError) {
        self.errors.push(error);
    }

    pub(crate) fn extend(&mut self, errors: Vec<ParamError>) {
        self.errors.extend(errors);
    }

    /// A mistake at parameter `name` unless `ok`.
    pub(crate) fn check(&mut self, ok: bool, name: &str, message: impl Into<String>, help: &str) {
        if !ok {
            let error = match self.params.get(name) {
                Some(p) => ParamError::at(p.span.clone(), message),
                None => ParamError::whole(message),
            };
            self.errors.push(error.help(help));
        }
    }

    /// Whether a parameter without a default was given.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.params.get(name).is_some_and(|p| p.value != Param::Text(String::new()))
    }

    /// A finite real number.
    pub(crate) fn finite(&mut self, name: &str) -> f64 {
        let x = self.params.real(name);
        self.check(x.is_finite(), name, format!("`{name}` is {x}"), "give a finite number");
        x
    }

    /// A finite number above zero.
    pub(crate) fn positive(&mut self, name: &str) -> f64 {
        let x = self.params.real(name);
        let ok = x.is_finite() && x > 0.0;
        self.check(ok, name, format!("`{name}` is {x}"), "give a number above zero");
        if ok { x } else { 1.0 }
    }

    /// An integer in a range.
    pub(crate) fn int(&mut self, name: &str, low: i64, high: i64) -> i64 {
        let x = self.params.int(name);
        let range = if high == i64::MAX {
            format!("give an integer of at least {low}")
        } else {
            format!("give an integer from {low} to {high}")
        };
        self.check((low..=high).contains(&x), name, format!("`{name}` is {x}"), &range);
        x.clamp(low, high)
    }

    /// Ticks of a duration of zero or more.
    pub(crate) fn duration(&mut self, name: &str) -> i64 {
        let d = self.params.duration(name);
        let ok = d.ticks() >= 0 && !d.is_infinite();
        let message = format!("`{name}` is no finite time of zero or more");
        self.check(ok, name, message, "give a time such as \"5 ms\"");
        if ok { d.ticks() } else { 0 }
    }

    /// Ticks of a duration of at least one tick.
    pub(crate) fn span(&mut self, name: &str) -> i64 {
        let d = self.params.duration(name);
        let ok = d.ticks() > 0 && !d.is_infinite();
        let message = format!("`{name}` must be longer than zero");
        self.check(ok, name, message, "give a time of at least one tick, such as \"5 ms\"");
        if ok { d.ticks() } else { 1 }
    }

    /// The clock of a period of at least one tick, first at tick `offset`.
    pub(crate) fn clock(
        &mut self,
        name: &str,
        offset: i64,
        resolution: Resolution,
    ) -> RationalClock {
        let (n, d) = match self.params.get(name) {
            Some(Located { value: Param::Period(n, d), .. }) => (*n, *d),
            _ => (0, 1),
        };
        let ok = n > 0 && n < i64::MAX;
        let message = format!("`{name}` must be longer than zero");
        self.check(ok, name, message, "give a time of at least one tick, such as \"5 ms\"");
        RationalClock::new(if ok { n } else { 1 }, d, offset, resolution)
            .unwrap_or_else(|_| unreachable!("both are positive"))
    }

    /// A value of any type; `None` when not given.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        let p = self.params.get(name).filter(|_| self.given(name))?;
        match value_of(&p.value) {
            Some(v) => Some(v),
            None => {
                let message = format!("`{name}` is a list or a table");
                self.check(false, name, message, "give a number, a text, true or false");
                None
            }
        }
    }

    /// `order` and `exchange_tolerance`.
    pub(crate) fn accuracy(&mut self) -> (usize, f64) {
        (self.int("order", 1, 12) as usize, self.positive("exchange_tolerance"))
    }
}

/// A plain value.
pub(crate) fn value_of(p: &Param) -> Option<Value> {
    Some(match p {
        Param::Real(x) => Value::Real(*x),
        Param::Int(i) => Value::Int(*i),
        Param::Bool(b) => Value::Bool(*b),
        Param::Text(t) => Value::Text(t.as_str().into()),
        Param::Duration(_)
        | Param::Period(..)
        | Param::List(_)
        | Param::Table(_)
        | Param::Indexed(..) => return None,
    })
}

/// Ticks of a time inside a raw list or table: a number of seconds or a text such as `"5 ms"`, both exact,
/// a division such as `"1/3 s"`, or a formula over scenario parameters in seconds.
pub(crate) fn ticks_of(p: &Located<Param>, context: &Context<'_>) -> Result<i64, ParamError> {
    let fail = |why: String| {
        Err(ParamError::at(p.span.clone(), why)
            .help("give a number of seconds or a text such as \"5 ms\""))
    };
    if let Param::Duration(d) = &p.value {
        return Ok(d.ticks());
    }
    let seconds = match (p.value.seconds().ok().flatten(), &p.value) {
        (Some(Seconds::Exact(d)), _) if !d.is_negative() => {
            let why = format!("no whole number of ticks of {}, or too long", context.resolution);
            return d.ticks(context.resolution).or_else(|_| fail(why));
        }
        (Some(Seconds::Exact(d)), _) => d.to_f64(),
        (Some(Seconds::Divided(x)), _) => x,
        (None, Param::Text(t)) => match constant(t, context) {
            Some(x) => x,
            None => return fail(format!("`{t}` is no time")),
        },
        _ => return fail("not a time".into()),
    };
    match context.resolution.duration(seconds) {
        Ok(d) if !d.is_infinite() => Ok(d.ticks()),
        Ok(_) => fail(format!("{seconds} is no finite time")),
        Err(e) => fail(e.to_string()),
    }
}

/// A mistake where a word of events is the name of a parameter, too, which stands for its number elsewhere.
pub(crate) fn clash(word: &str, span: &Span, context: &Context<'_>) -> Option<ParamError> {
    (context.constants)(word.trim())?;
    let message = format!("`{word}` is a word of events here, and a parameter, too");
    let help =
        "give one of them another name: elsewhere this name stands for the number of the parameter";
    Some(ParamError::at(span.clone(), message).help(help))
}

/// The value of a scenario parameter, or of a formula over them.
fn constant(text: &str, context: &Context<'_>) -> Option<f64> {
    let value = |name: &str| (context.constants)(name);
    value(text.trim()).or_else(|| {
        let symbol = |name: &str| value(name).map(Symbol::Const);
        Some(parse(text).ok()?.real(&symbol).ok()?.eval(&[]))
    })
}

/// Entries of a raw table that a kind reads by itself; unknown keys are mistakes.
pub(crate) struct Entries<'a> {
    pub span: Span,
    entries: &'a [(Located<String>, Located<Param>)],
}

impl<'a> Entries<'a> {
    /// The entries of a table, of which only `known` keys may occur.
    pub(crate) fn new(
        p: &'a Located<Param>,
        known: &[&str],
        errors: &mut Vec<ParamError>,
    ) -> Option<Self> {
        let Param::Table(entries) = &p.value else {
            let keys = known.join(", ");
            errors.push(
                ParamError::at(p.span.clone(), "not a table")
                    .help(format!("write {{ … }} with some of the keys {keys}")),
            );
            return None;
        };
        for (key, _) in entries {
            if !known.contains(&key.value.as_str()) {
                let message = format!("unknown key `{}`", key.value);
                let help = format!("the keys are {}", known.join(", "));
                errors.push(ParamError::at(key.span.clone(), message).help(help));
            }
        }
        Some(Self { span: p.span.clone(), entries })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Located<Param>> {
        self.entries.iter().find(|(k, _)| k.value == key).map(|(_, p)| p)
    }

    pub(crate) fn text(&self, key: &str) -> Option<(&'a str, Span)> {
        match self.get(key) {
            Some(Located { value: Param::Text(t), span }) => Some((t, span.clone())),
            _ => None,
        }
    }
}

/// Parameters of a distribution of numbers; a kind copies them into its list.
pub(crate) const DISTRIBUTION: [ParamSpec; 10] = distribution(None, None);
/// Those of times.
pub(crate) const TIMES: [ParamSpec; 10] = distribution(Some("1/s"), Some("s"));

const fn distribution(rate: Option<&'static str>, unit: Option<&'static str>) -> [ParamSpec; 10] {
    [
        with(
            "distribution",
            ParamType::Choice(&[
                "constant",
                "uniform",
                "exponential",
                "normal",
                "erlang",
                "triangular",
                "bernoulli",
            ]),
            "exponential",
            "shape of the distribution",
        ),
        with("rate", ParamType::Real(rate), "", "reciprocal of the mean, instead of `mean`"),
        with("mean", ParamType::Real(unit), "", "mean (constant: the value)"),
        with(
            "deviation",
            ParamType::Real(unit),
            "",
            "standard deviation (normal; of times, what is below zero is zero)",
        ),
        with("low", ParamType::Real(unit), "", "lower end (uniform, triangular)"),
        with("high", ParamType::Real(unit), "", "upper end (uniform, triangular)"),
        with("mode", ParamType::Real(unit), "", "most frequent value (triangular)"),
        with("stages", ParamType::Int, "", "number of exponential stages (erlang)"),
        with("probability", ParamType::Real(None), "", "probability of 1 (bernoulli)"),
        with(
            "minstd",
            ParamType::Int,
            "",
            "start state of the MINSTD generator (multiplier 48271, u = state/(2^31 - 1)), instead of the run's own \
         stream; exponential numbers are -mean ln(1 - u)",
        ),
    ]
}

impl Reader<'_> {
    /// The distribution that the parameters of [`DISTRIBUTION`] describe.
    pub(crate) fn distribution(&mut self, times: bool) -> Distribution {
        let shape = self.params.text("distribution").to_owned();
        let uses: &[&str] = match shape.as_str() {
            "constant" | "exponential" => &["mean"],
            "normal" => &["mean", "deviation"],
            "uniform" => &["low", "high"],
            "erlang" => &["mean", "stages"],
            "triangular" => &["low", "mode", "high"],
            "bernoulli" => &["probability"],
            _ => {
                let message = format!("unknown distribution `{shape}`");
                let help = "use constant, uniform, exponential, normal, erlang, triangular or \
                            bernoulli";
                self.check(false, "distribution", message, help);
                return Distribution::Constant(1.0);
            }
        };
        let by_rate = uses.contains(&"mean") && self.given("rate");
        self.check_uses(&shape, uses, by_rate);
        if !self.errors.is_empty() {
            return Distribution::Constant(1.0);
        }
        let mean = if by_rate { 1.0 / self.positive("rate") } else { self.finite("mean") };
        let (low, high) = (self.finite("low"), self.finite("high"));
        self.check(low <= high, "high", "`high` is below `low`", "exchange the two");
        let d = match shape.as_str() {
            "constant" => Distribution::Constant(mean),
            "uniform" => Distribution::Uniform { low, high },
            "exponential" => Distribution::Exponential { mean },
            "normal" => {
                let deviation = self.finite("deviation");
                let ok = deviation >= 0.0;
                self.check(ok, "deviation", "`deviation` is negative", "give zero or more");
                Distribution::Normal { mean, deviation }
            }
            "erlang" => {
                Distribution::Erlang { mean, stages: self.int("stages", 1, 1 << 20) as u32 }
            }
            "triangular" => {
                let mode = self.finite("mode");
                let ok = (low..=high).contains(&mode);
                self.check(ok, "mode", "`mode` is outside low … high", "move it between them");
                Distribution::Triangular { low, mode, high }
            }
            _ => {
                let probability = self.finite("probability");
                let ok = (0.0..=1.0).contains(&probability);
                self.check(ok, "probability", "no probability", "give a number from 0 to 1");
                Distribution::Bernoulli { probability }
            }
        };
        let lowest = match d {
            Distribution::Uniform { low, .. } | Distribution::Triangular { low, .. } => low,
            d => d.mean(),
        };
        if times || matches!(d, Distribution::Exponential { .. } | Distribution::Erlang { .. }) {
            let name = if uses.contains(&"low") { "low" } else { "mean" };
            let message = format!("`{name}` is {lowest}, but times are zero or more");
            self.check(lowest >= 0.0, name, message, "give a positive number");
        }
        d
    }

    /// Refuses a distribution of times whose mean is another one when each time is rounded to ticks.
    pub(crate) fn check_rounding(&mut self, distribution: &Distribution, context: &Context<'_>) {
        /// Drawn from a stream of its own.
        const DRAWS: u32 = 4096;
        /// Times that are longer lose less than a part in a hundred.
        const LONG: f64 = 50.0;
        /// By how much the mean may change: one value in all of the run, or many that differ.
        const ALLOWED: [f64; 2] = [1e-3, 1e-2];
        let per_second = context.resolution.ticks_per_second() as f64;
        let constant = matches!(distribution, Distribution::Constant(_));
        let long = if constant { 0.5 / ALLOWED[0] } else { LONG };
        if !self.errors.is_empty() || distribution.mean() * per_second >= long {
            return;
        }
        let draws = if constant { 1 } else { DRAWS };
        let mut stream = RandomStream::new(0, "rounding");
        let (mut exact, mut rounded) = (0.0, 0.0);
        for _ in 0..draws {
            let seconds = distribution.draw(&mut stream).max(0.0);
            exact += seconds;
            rounded += random_ticks(seconds, context.resolution) as f64 / per_second;
        }
        let allowed = if constant { ALLOWED[0] } else { ALLOWED[1] };
        let name = ["rate", "mean", "low"].into_iter().find(|name| self.given(name));
        let message = format!(
            "times are rounded to ticks of {:e} s, by which their mean of {:.4e} s becomes {:.4e} s",
            1.0 / per_second,
            exact / f64::from(draws),
            rounded / f64::from(draws)
        );
        let fine = (rounded - exact).abs() <= allowed * exact;
        self.check(fine, name.unwrap_or("distribution"), message, "write a finer `resolution`");
    }

    /// Checks that all parameters of a shape are given, and none of another one.
    fn check_uses(&mut self, shape: &str, uses: &[&str], by_rate: bool) {
        for name in ["rate", "mean", "deviation", "low", "high", "mode", "stages", "probability"] {
            let used = uses.contains(&name) && !(by_rate && name == "mean");
            let used = used || (by_rate && name == "rate");
            if used && !self.given(name) {
                let alternative = if name == "mean" { " or `rate`" } else { "" };
                let message = format!("distribution \"{shape}\" needs `{name}`{alternative}");
                self.check(false, "distribution", message, &format!("add {name} = …"));
            } else if !used && self.given(name) {
                let message = format!("distribution \"{shape}\" does not use `{name}` here");
                self.check(false, name, message, "remove it, or choose another distribution");
            }
        }
    }

    /// The stream for `purpose` of this unit.
    pub(crate) fn stream(&mut self, context: &Context<'_>, purpose: &str) -> RandomStream {
        if self.given("minstd") {
            // Beyond the states of the generator they begin anew: seeds of replicates have 53 bits.
            return RandomStream::minstd(self.int("minstd", 1, i64::MAX) as u64);
        }
        RandomStream::new(context.seed, &format!("{}#{purpose}", context.path))
    }
}

/// Ticks of a random time: rounded to the nearest tick, negative ones are zero.
#[inline]
pub(crate) fn random_ticks(seconds: f64, resolution: Resolution) -> i64 {
    nearest_tick(seconds * resolution.ticks_per_second() as f64)
}
