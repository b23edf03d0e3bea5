//! `transfer-function`: a linear system given by two polynomials, as an equation unit.
use crate::{
    equations::EquationsKind,
    kinds::{
        Context, Located, Param, ParamSpec, ParamType, Params, Ports, UnitKind,
        feed_through::FeedThrough,
        params::{Checked, Reader, TOLERANCE, needed, with},
    },
    signal::value::Value,
};
use superdense_kernel::Component;

described! {
    /// `transfer-function`: `y = (b_m s^m + … + b_0)/(a_n s^n + … + a_0) u`, at rest at the start.
    /// Input `u` (0 until the first segment), output `y`.
    ///
    /// Coefficients stand in descending powers of s. The system becomes an equation unit in
    /// controllable canonical form with the states `x1` … `xn`. They are scaled by the mean frequency of its poles, so that
    /// each is as large as `u`, to which the tolerances then apply.
    ///
    /// ```toml
    /// [unit.plant]
    /// kind = "transfer-function"
    /// numerator = [1.0]
    /// denominator = [1.0, 0.4, 4.0]        # 1/(s² + 0.4 s + 4)
    /// ```
    pub struct TransferFunction;
}

/// Numerator and denominator in ascending powers, the denominator's leading coefficient 1.
fn coefficients(params: &Params) -> Checked<(Vec<f64>, Vec<f64>)> {
    let mut r = Reader::new(params);
    let read = |name: &str, r: &mut Reader<'_>| {
        let mut c = params.reals(name);
        let ok = !c.is_empty() && c.iter().all(|x| x.is_finite());
        r.check(ok, name, format!("`{name}` is no list of numbers"), "write [1.0, 2.0]");
        c.reverse();
        c
    };
    let (mut b, mut a) = (read("numerator", &mut r), read("denominator", &mut r));
    r.finish(())?;
    // Other tools write numerators as long as denominators.
    while b.len() > 1 && b.last() == Some(&0.0) {
        b.pop();
    }
    let mut r = Reader::new(params);
    let lead = a.last().copied().unwrap_or(0.0);
    let help = "begin with the coefficient of the highest power";
    r.check(lead != 0.0, "denominator", "the leading coefficient is zero", help);
    let proper = (2..=64).contains(&a.len()) && b.len() <= a.len();
    let help = "give a denominator of order 1 to 63, at least that of the numerator";
    r.check(proper, "denominator", "not a proper transfer function", help);
    b.resize(a.len(), 0.0);
    b.iter_mut().chain(&mut a).for_each(|x| *x /= lead);
    r.finish((b, a))
}

/// The geometric mean of the poles that are not zero, as a power of two, by which scaling is exact: x^(k) is about
/// `u/w^(n-k)`, and a state that is a millionth of its input would lie below all tolerances.
fn frequency(a: &[f64]) -> f64 {
    let Some(k) = a.iter().position(|a| *a != 0.0) else { return 1.0 };
    match a.len() - 1 - k {
        0 => 1.0,
        order => (a[k].abs().log2() / order as f64).round().exp2(),
    }
}

/// The system as parameters of an equation unit.
fn equations(params: &Params) -> Checked<Params> {
    let (mut b, mut a) = coefficients(params)?;
    let n = a.len() - 1;
    let w = frequency(&a);
    let scale = |c: &mut [f64]| {
        for (k, c) in c.iter_mut().enumerate() {
            // Step by step: a power of w may be beyond all numbers.
            (k..n).for_each(|_| *c /= w);
        }
    };
    scale(&mut a);
    scale(&mut b);
    let span = params.span("denominator");
    let at = |p| Located::new(p, span.clone());
    let text = |name: String, p: Param| (Located::new(name, span.clone()), at(p));
    let sum = |lead: String, c: &dyn Fn(usize) -> f64| {
        let terms = (0..n).filter(|&k| c(k) != 0.0).map(|k| format!(" + ({:?})*x{}", c(k), k + 1));
        Param::Text(terms.fold(lead, |sum, term| sum + &term))
    };
    let mut rates: Vec<_> =
        (1..n).map(|k| text(format!("x{k}"), Param::Text(format!("{w:?}*x{}", k + 1)))).collect();
    rates.push(text(format!("x{n}"), sum(format!("{w:?}*u"), &|k| -a[k] * w)));
    let output = sum(format!("({:?})*u", b[n]), &|k| b[k] - b[n] * a[k]);
    let states = (1..=n).map(|k| text(format!("x{k}"), Param::Real(0.0))).collect();
    let mut values = vec![
        ("inputs".to_owned(), at(Param::Table(vec![text("u".into(), Param::Real(0.0))]))),
        ("states".to_owned(), at(Param::Table(states))),
        ("derivatives".to_owned(), at(Param::Table(rates))),
        ("outputs".to_owned(), at(Param::Table(vec![text("y".into(), output)]))),
    ];
    values.extend(params.values.iter().filter(|(n, _)| !n.ends_with("ator")).cloned());
    values.push(("max_step".to_owned(), at(Param::Real(1e6))));
    Ok(Params { values })
}

impl UnitKind for TransferFunction {
    fn name(&self) -> &'static str {
        "transfer-function"
    }
    fn summary(&self) -> &'static str {
        "a linear system given by two polynomials"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        const PARAMS: &[ParamSpec] = &[
            needed("numerator", ParamType::RealList, "coefficients in descending powers of s"),
            needed("denominator", ParamType::RealList, "coefficients in descending powers of s"),
            with("method", ParamType::Text, "rk45", "one of the methods of `equations`"),
            with("tolerance", ParamType::Real(None), "1e-9", "relative tolerance of the solver"),
            with(
                "absolute_tolerance",
                ParamType::Real(None),
                "1e-9",
                "absolute tolerance of the solver",
            ),
            TOLERANCE,
        ];
        PARAMS
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        EquationsKind.ports(&equations(params)?)
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        EquationsKind.build(&equations(params)?, context)
    }
    fn feed_through(&self, params: &Params, context: &Context<'_>) -> FeedThrough {
        equations(params).map_or(FeedThrough::None, |p| EquationsKind.feed_through(&p, context))
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn variables(&self, params: &Params) -> Vec<(String, Option<String>)> {
        equations(params).map(|p| EquationsKind.variables(&p)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn step_answer_of_second_order_with_feedthrough() {
        // (s² + 3 s + 6)/(s² + 3 s + 2) = 1 + 4/((s+1)(s+2)); step: 1 + 2 - 4 e^-t + 2 e^-2t.
        let bench = Bench::run(
            "connections=['s.y -> g.u']\n[unit.s]\nkind='step'\nat=1\n\
             [unit.g]\nkind='transfer-function'\nnumerator=[2, 6, 12]\ndenominator=[2, 6, 4]",
            6.0,
        );
        for k in 11..60 {
            let t = f64::from(k) * 0.1;
            let e = (1.0 - t).exp();
            let exact = 3.0 - 4.0 * e + 2.0 * e * e;
            let error = (bench.held("g.y", t) - exact).abs();
            assert!(error < 3e-6, "{error} at {t}");
        }
    }

    /// States of a fast filter lay below `absolute_tolerance`: an error of 4e-2 at 10 MHz, and the end 3.86 for 1 at 100.
    #[test]
    fn filters_of_any_frequency_are_as_exact() {
        let z: f64 = 0.35;
        for f in [1e-3, 1.0, 1e4, 1e7] {
            let w = std::f64::consts::TAU * f;
            let bench = Bench::run(
                &format!(
                    "connections=['s.y -> g.u']\n[unit.s]\nkind='constant'\nvalue=1.0\n\
                     [unit.g]\nkind='transfer-function'\nnumerator=[1.0]\n\
                     denominator=[{:?}, {:?}, 1.0]",
                    1.0 / (w * w),
                    2.0 * z / w
                ),
                10.0 / f,
            );
            for k in 1..40 {
                let t = f64::from(k) * 0.25 / f;
                let v = w * (1.0 - z * z).sqrt();
                let y = 1.0 - (-z * w * t).exp() * ((v * t).cos() + z * w / v * (v * t).sin());
                let error = (bench.held("g.y", t) - y).abs();
                assert!(error < 3e-6, "{error} at {t} s of {f} Hz");
            }
        }
    }

    #[test]
    fn numerators_may_begin_with_zeros() {
        let bench = |numerator: &str| {
            let unit = format!(
                "connections=['s.y -> g.u']\n[unit.s]\nkind='constant'\nvalue=1.0\n\
                 [unit.g]\nkind='transfer-function'\nnumerator={numerator}\ndenominator=[2, 4]"
            );
            Bench::run(&unit, 2.0).held("g.y", 1.0)
        };
        assert_eq!(bench("[0, 0, 3]"), bench("[3]"));
        assert!((bench("[3]") - 0.75 * (1.0 - (-2.0f64).exp())).abs() < 1e-6);
    }

    #[test]
    fn improper_systems_are_refused() {
        assert_eq!(
            mistakes("[unit.g]\nkind='transfer-function'\nnumerator=[1,0]\ndenominator=[2]"),
            ["not a proper transfer function; give a denominator of order 1 to 63, at least \
                 that of the numerator"]
        );
        assert_eq!(
            mistakes("[unit.g]\nkind='transfer-function'\nnumerator=[]\ndenominator=[0, 1]"),
            ["`numerator` is no list of numbers; write [1.0, 2.0]"]
        );
    }
}
