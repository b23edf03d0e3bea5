//! `boundary-condition`: algebraic constraints between units, as a unit that finds what fulfils them.
use crate::{
    equations::EquationsKind,
    kinds::{
        Context, Located, Param, ParamError, ParamSpec, ParamType, Params, Ports, UnitKind,
        feed_through::FeedThrough,
        params::{Checked, Reader, TOLERANCE, with},
    },
    signal::value::Value,
};
use superdense_kernel::Component;

described! {
    /// `boundary-condition`: finds values, such as forces, for which conditions between other units hold
    /// at the end of each macro step: the *boundary condition coordinator* of Gu & Asada (Gomes et al. 2017,
    /// section 4.3.1, figure 7 and equations 28 to 32). Inputs are what the conditions are about;
    /// outputs the unknowns, one per condition, and what else is declared.
    ///
    /// The unit stands in a `[coupling]` with `iterate`: that is told each unknown u minus what its
    /// condition g has left, u - g, so that the step converges where g = 0. The sensitivity of g
    /// to u (equation 32) is that of the whole step, by differences through snapshots (Newton's method, the
    /// default of `iterate`); `iterate = { method = "newton", corrections = 1 }` is the paper's one correction.
    /// A condition on positions leaves speeds ringing: add them to it, as in the example. Conditions that do
    /// not hold at the start are met at the end of the first step.
    ///
    /// ```toml
    /// [unit.link]
    /// kind = "boundary-condition"
    /// inputs = { x1 = 1.0, v1 = 0.0, x2 = 1.0, v2 = 0.0 }
    /// conditions = { pull = "v1 - v2 + (x1 - x2)/0.1" }   # unknown = what is zero
    /// outputs = { push = "-pull" }
    /// ```
    pub struct BoundaryCondition;
}

const fn table(name: &'static str, doc: &'static str) -> ParamSpec {
    with(name, ParamType::Raw, "", doc)
}

fn entries(params: &Params, name: &str) -> Vec<(Located<String>, Located<Param>)> {
    match params.get(name).map(|p| &p.value) {
        Some(Param::Table(entries)) => entries.clone(),
        _ => Vec::new(),
    }
}

/// The block as parameters of an equation unit: unknowns are inputs that hear themselves.
fn equations(params: &Params) -> Checked<Params> {
    let mut r = Reader::new(params);
    let conditions = entries(params, "conditions");
    let help = "write conditions = { force = \"x1 - x2\" }: unknown = what is to be zero";
    let message = "a boundary condition needs `conditions`";
    r.check(!conditions.is_empty(), "conditions", message, help);
    let (mut unknowns, mut outputs) = (Vec::new(), Vec::new());
    for (name, condition) in &conditions {
        let Param::Text(text) = &condition.value else {
            let error = ParamError::at(condition.span.clone(), "a condition is a formula in text");
            r.push(error.help(help));
            continue;
        };
        // The residual of the condition is told to the coupling as the missing part.
        let left = Param::Text(format!("{} - ({text})", name.value));
        outputs.push((name.clone(), Located::new(left, condition.span.clone())));
        unknowns.push((name.clone(), Located::new(Param::Real(0.0), name.span.clone())));
    }
    let start = entries(params, "start");
    for (name, value) in start {
        match unknowns.iter_mut().find(|(unknown, _)| unknown.value == name.value) {
            Some(unknown) => unknown.1 = value,
            None => {
                let error = format!("`{}` is none of the unknowns", name.value);
                r.push(ParamError::at(name.span, error).help("name those of `conditions`"));
            }
        }
    }
    outputs.extend(entries(params, "outputs"));
    let at = |p| Located::new(p, params.span("conditions"));
    let own = ["conditions", "outputs", "start"];
    let mut values: Vec<_> =
        params.values.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned().collect();
    values.extend([
        ("~inputs".to_owned(), at(Param::Table(unknowns))),
        ("outputs".to_owned(), at(Param::Table(outputs))),
        ("tolerance".to_owned(), at(Param::Real(1e-9))),
        ("absolute_tolerance".to_owned(), at(Param::Real(1e-9))),
        ("method".to_owned(), at(Param::Text("rk45".into()))),
        ("max_step".to_owned(), at(Param::Real(1e6))),
    ]);
    r.finish(Params { values })
}

impl UnitKind for BoundaryCondition {
    fn name(&self) -> &'static str {
        "boundary-condition"
    }
    fn summary(&self) -> &'static str {
        "values for which conditions between other units hold, under a coupling with iterate"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        const PARAMS: &[ParamSpec] = &[
            table("parameters", "constants: name = number or expression"),
            table("inputs", "signal inputs: name = start value"),
            table("let", "helper expressions, in order: name = expression"),
            table("conditions", "unknown = expression that is to be zero"),
            table("start", "start values of unknowns; default 0"),
            table("outputs", "more outputs: name = expression, also of the unknowns"),
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
    fn is_continuous(&self) -> bool {
        true
    }
    fn feed_through(&self, params: &Params, context: &Context<'_>) -> FeedThrough {
        equations(params).map_or(FeedThrough::None, |p| EquationsKind.feed_through(&p, context))
    }
    fn hears_itself(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::mistakes;

    #[test]
    fn conditions_are_needed() {
        let told = mistakes("[unit.b]\nkind='boundary-condition'\nconditions=3");
        assert!(told[0].starts_with("a boundary condition needs `conditions`; write"), "{told:?}");
        let told = mistakes(
            "[unit.b]\nkind='boundary-condition'\ninputs={x=0}\nconditions={f='x - y'}\nstart={g=1}",
        );
        assert_eq!(told, ["`g` is none of the unknowns; name those of `conditions`"]);
    }
}
