//! Start values of a scenario.
use super::{
    block::split,
    description::{Alias, Base, Description, Type, Variable},
    instance::{CallError, Instance},
};
use superdense_models::{
    kinds::{Context, Param, ParamError, Params, Span},
    maths::{
        expr::{ExprError, Function, Measure, Scope, Symbol, parse},
        quantity::{Quantity, Unit, unit},
    },
};

/// A start value, element by element.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Start {
    Reals(Vec<f64>),
    Whole(Vec<i128>),
    Texts(Vec<String>),
    Bytes(Vec<Vec<u8>>),
}

impl Start {
    /// As texts, if they are, or are bytes.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Texts(texts) => texts.clone(),
            Self::Bytes(all) => all.iter().map(|bytes| digits(bytes)).collect(),
            Self::Reals(_) | Self::Whole(_) => Vec::new(),
        }
    }

    /// As numbers, if they are: the next reals, and what these lack.
    pub(super) fn numbers(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Reals(x) => x.iter().map(|&x| (x, 0.0)).collect(),
            Self::Whole(x) => x.iter().map(|&x| split(x)).collect(),
            Self::Texts(_) | Self::Bytes(_) => Vec::new(),
        }
    }
}

/// Sets a start value.
///
/// # Errors
/// The FMU's.
pub(super) fn set(instance: &Instance, v: &Variable, start: &Start) -> Result<(), CallError> {
    let (name, reference) = (&v.name, v.reference);
    match start {
        Start::Texts(texts) => instance.write_texts(name, reference, texts),
        Start::Bytes(bytes) => instance.write_bytes(name, reference, bytes),
        Start::Whole(x) => instance.write_whole(name, v.ty, reference, x),
        Start::Reals(x) => {
            let one =
                super::layout::Ported { variable: v, first: 0, rest: v.elements, scale: None };
            instance.write(&super::layout::blocks(std::iter::once(one)), x)
        }
    }
}

/// All start values, by place of the variable; mistakes go to `errors`.
pub(super) fn starts(
    params: &Params,
    description: &Description,
    context: &Context<'_>,
    errors: &mut Vec<ParamError>,
) -> Vec<(usize, Span, Start)> {
    let mut out = Vec::new();
    let Some(p) = params.get("start") else { return out };
    let entries = match &p.value {
        Param::Text(t) if t.is_empty() => return out,
        Param::Table(entries) => entries,
        _ => {
            let wrong = ParamError::at(params.span("start"), "`start` is no table".to_owned());
            errors.push(wrong.help("write start = { name = value, … }"));
            return out;
        }
    };
    let variables = &description.variables;
    for (key, value) in entries {
        let Some((i, alias)) = named_so(variables, &key.value) else {
            let known = variables.iter().filter(|v| v.settable).map(|v| v.name.as_str());
            let known: Vec<&str> = known.take(12).collect();
            let message = format!("the FMU has no variable `{}`", key.value);
            let help = format!("among those with start values are {}", known.join(", "));
            errors.push(ParamError::at(key.span.clone(), message).help(help));
            continue;
        };
        let v = &variables[i];
        if !v.settable {
            let message = format!("`{}` takes no start value", v.name);
            let help = "remove it: the FMU calculates it, or its size depends on it";
            errors.push(ParamError::at(key.span.clone(), message).help(help));
            continue;
        }
        match aliased(v, alias, &value.value, context) {
            Ok(start) => out.push((i, value.span.clone(), start)),
            Err(why) => {
                let message = format!("start value of `{}`: {why}", v.name);
                let help = match v.items.as_slice() {
                    [] => format!("give {} of type {:?}", amount(v.elements), v.ty),
                    _ => format!("give {} among {}", amount(v.elements), items(v)),
                };
                errors.push(ParamError::at(value.span.clone(), message).help(help));
            }
        }
    }
    out
}

/// The variable of a name, which may be an alias.
fn named_so<'a>(variables: &'a [Variable], name: &str) -> Option<(usize, Option<&'a Alias>)> {
    if let Some(own) = variables.iter().position(|v| v.name == name) {
        return Some((own, None));
    }
    let alias = |v: &'a Variable| v.aliases.iter().find(|a| a.name == name);
    let mut all = variables.iter().enumerate().filter_map(|(i, v)| Some((i, Some(alias(v)?))));
    all.next()
}

/// A start value under a name of its variable: one in another unit is brought back.
fn aliased(
    v: &Variable,
    alias: Option<&Alias>,
    param: &Param,
    context: &Context<'_>,
) -> Result<Start, String> {
    let Some((alias, scale)) = alias.and_then(|a| Some((a, a.scale?))) else {
        return start_value(v, param, context);
    };
    let own = |x: f64| (x - scale.offset) / scale.factor;
    let shown = |x: f64| x * scale.factor + scale.offset;
    let mut limits = (v.limits.0.map(shown), v.limits.1.map(shown));
    if scale.factor < 0.0 {
        limits = (limits.1, limits.0);
    }
    let (unit, base) = (alias.unit.clone(), alias.base.clone());
    let v = Variable { unit, base, limits, ..v.clone() };
    match start_value(&v, param, context)? {
        Start::Reals(all) => Ok(Start::Reals(all.into_iter().map(own).collect())),
        other => Ok(other),
    }
}

fn amount(elements: usize) -> String {
    if elements == 1 { "a value".into() } else { format!("a list of {elements} values") }
}

/// The elements of a value: nested lists are as good as a flat one.
fn flat<'a>(param: &'a Param, out: &mut Vec<&'a Param>) {
    match param {
        Param::Indexed(inner, _) => flat(inner, out),
        Param::List(list) => list.iter().for_each(|p| flat(&p.value, out)),
        other => out.push(other),
    }
}

/// Refuses lists of lists that are not as long as the dimensions.
fn nested(param: &Param, shape: &[usize]) -> Result<(), String> {
    let list = match param {
        Param::Indexed(inner, _) => return nested(inner, shape),
        Param::List(list) if list.iter().any(|p| matches!(p.value, Param::List(_))) => list,
        _ => return Ok(()),
    };
    let Some((length, rest)) = shape.split_first() else {
        return Err("lists in a list for a variable of no such dimension".into());
    };
    if list.len() != *length {
        return Err(format!("{} rows for {length}; its dimensions are {shape:?}", list.len()));
    }
    for row in list {
        let row = &row.value;
        let mut elements = Vec::new();
        flat(row, &mut elements);
        let wanted: usize = rest.iter().product();
        if elements.len() != wanted {
            return Err(format!("a row of {} elements for {wanted}", elements.len()));
        }
        nested(row, rest)?;
    }
    Ok(())
}

/// One start value, or what is wrong with it.
fn start_value(v: &Variable, param: &Param, context: &Context<'_>) -> Result<Start, String> {
    let mut elements = Vec::new();
    nested(param, &v.shape)?;
    flat(param, &mut elements);
    if elements.len() != v.elements {
        return Err(format!("{} values for {} elements", elements.len(), v.elements));
    }
    let text = |p: &&Param| match p {
        Param::Text(t) => Ok(t.clone()),
        _ => Err("not a text".to_owned()),
    };
    match v.ty {
        Type::String => Ok(Start::Texts(elements.iter().map(text).collect::<Result<_, _>>()?)),
        Type::Binary => {
            let bytes = |p: &&Param| hexadecimal(&text(p)?);
            Ok(Start::Bytes(elements.iter().map(bytes).collect::<Result<_, _>>()?))
        }
        Type::Clock => Err(format!("values of type {:?} cannot be given so", v.ty)),
        Type::Int64 | Type::UInt64 => {
            let whole = |p: &&Param| whole(v, p, context);
            Ok(Start::Whole(elements.iter().map(whole).collect::<Result<_, _>>()?))
        }
        _ => {
            let number = |p: &&Param| number(v, p, context);
            Ok(Start::Reals(elements.iter().map(number).collect::<Result<_, _>>()?))
        }
    }
}

/// An integer of 64 bits, exactly.
fn whole(v: &Variable, param: &Param, context: &Context<'_>) -> Result<i128, String> {
    let exact = match param {
        Param::Int(i) => Some(i128::from(*i)),
        Param::Text(t) => t.trim().parse().ok(),
        _ => None,
    };
    let x = match exact {
        Some(x) => x,
        None => number(v, param, context)? as i128,
    };
    let (low, high) = v.ty.range().unwrap_or((i128::MIN, i128::MAX));
    if x < low || x > high {
        return Err(format!("{x} is not within {low} … {high}"));
    }
    is_item(v, x as f64)?;
    Ok(x)
}

fn number(v: &Variable, param: &Param, context: &Context<'_>) -> Result<f64, String> {
    let x = match param {
        Param::Real(x) => *x,
        Param::Int(i) => *i as f64,
        Param::Bool(b) => f64::from(u8::from(*b)),
        Param::Text(t) => v.item(t).map_or_else(|| named(v, t, context), Ok)?,
        _ => return Err("not a number".to_owned()),
    };
    is_item(v, x)?;
    let range = v.ty.range().map(|(low, high)| (low as f64, high as f64));
    let (low, high) = range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let low = v.limits.0.map_or(low, |l| l.max(low));
    let high = v.limits.1.map_or(high, |h| h.min(high));
    if !x.is_finite() || x < low || x > high {
        return Err(format!("{x} is not within {low} … {high}"));
    }
    if v.ty.range().is_some() && x.fract() != 0.0 {
        return Err(format!("{x} is not whole"));
    }
    Ok(x)
}

/// The value of a parameter, of a quantity or of a formula, as the FMU counts it.
fn named(v: &Variable, text: &str, context: &Context<'_>) -> Result<f64, String> {
    let own = Counted::new(v);
    let mut angles = None;
    let (si, measure) = match ((context.constants)(text), Quantity::parse(text)) {
        (Some(x), _) => {
            angles = (context.angles)(text);
            (x, (context.measures)(text))
        }
        (None, Ok(Some(q))) => {
            angles = Some(q.unit.has_angles());
            (q.si(), Measure::of(&q.unit))
        }
        (None, Err(e)) => return Err(format!("`{}` is no known unit", e.error.unknown)),
        (None, Ok(None)) => match formula(text, context) {
            Err(_) if !v.items.is_empty() => {
                return Err(format!("`{text}` is none of {}", items(v)));
            }
            found => found?,
        },
    };
    let (Measure::Known(_), Some(own)) = (measure, own) else { return Ok(si) };
    if measure.misfit(Measure::of(&own.unit)).is_some() {
        let name = own.name;
        return Err(format!("`{text}` is {}, and the FMU counts it in {name}", measure.text()));
    }
    angles.map_or(Ok(()), |angles| same_turns(text, (measure, angles), &own.unit))?;
    Ok(own.of_si(si))
}

/// How an FMU counts a variable: in a unit that we know, or in one that its description defines by SI base units.
struct Counted<'a> {
    name: &'a str,
    unit: Unit,
    defined: Option<&'a Base>,
}

impl<'a> Counted<'a> {
    fn new(v: &'a Variable) -> Option<Self> {
        let name = v.unit.as_deref()?;
        if let Ok(unit) = unit(name) {
            return Some(Self { name, unit, defined: None });
        }
        let defined = v.base.as_ref()?;
        Some(Self { name, unit: unit(&defined.si).ok()?, defined: Some(defined) })
    }

    fn of_si(&self, si: f64) -> f64 {
        match self.defined {
            Some(base) => (si - base.offset) / base.factor,
            None => self.unit.of_si(si),
        }
    }
}

/// Refuses a frequency for a rate of rotation, and the other way round: one of 1 Hz has 6.28 rad/s.
fn same_turns(text: &str, (measure, angles): (Measure, bool), own: &Unit) -> Result<(), String> {
    let rate = unit("Hz").is_ok_and(|hertz| measure.misfit(Measure::of(&hertz)).is_none());
    if !rate || angles == own.has_angles() {
        return Ok(());
    }
    let [is, wanted] = match angles {
        false => ["a frequency", "a rate of rotation"],
        true => ["a rate of rotation", "a frequency"],
    };
    Err(format!(
        "`{text}` is {is}, and the FMU counts {wanted} in {own}: 1 Hz, 60 rpm and 2 pi rad/s turn alike"
    ))
}

/// Names that a formula of a start value may use: those that the unit sees.
struct Surroundings<'a>(&'a Context<'a>);

impl Scope for Surroundings<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        (self.0.constants)(name).map(Symbol::Const)
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.0.functions.get(name)
    }
}

/// The value of a formula over parameters, in SI base units, and its dimension.
fn formula(text: &str, context: &Context<'_>) -> Result<(f64, Measure), String> {
    let told = |e: &ExprError| format!("`{text}` is no number, parameter or formula of these: {e}");
    let ast = parse(text).map_err(|e| told(&e))?;
    let expr = ast
        .real(&Surroundings(context))
        .map_err(|all| all.first().map_or_else(|| format!("`{text}` is no formula"), told))?;
    let (measure, errors) = ast.measure(&|name| (context.measures)(name), context.functions);
    if let Some(e) = errors.first() {
        return Err(format!("`{text}`: {e}"));
    }
    Ok((expr.as_constant().unwrap_or_else(|| expr.eval(&[])), measure.declared()))
}

/// Refuses a value of an enumeration that is no item of it.
fn is_item(v: &Variable, x: f64) -> Result<(), String> {
    if v.items.is_empty() || v.items.iter().any(|i| i.value as f64 == x) {
        return Ok(());
    }
    Err(format!("{x} is the value of no item; there are {}", items(v)))
}

fn items(v: &Variable) -> String {
    let names: Vec<String> = v.items.iter().map(|i| format!("{} ({})", i.name, i.value)).collect();
    names.join(", ")
}

/// Bytes as hexadecimal digits.
pub(super) fn digits(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Bytes from a text of hexadecimal digits.
pub(super) fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    match digits {
        Some(d) if d.len().is_multiple_of(2) => {
            Ok(d.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => Err(format!("`{text}` is no row of bytes in hexadecimal digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_lists_have_the_shape_of_the_array() {
        let list = |list: Vec<Param>| {
            Param::List(
                list.into_iter().map(|p| superdense_models::kinds::Located::new(p, 0..0)).collect(),
            )
        };
        let row = |n: i64| list((0..n).map(Param::Int).collect());
        assert_eq!(nested(&list(vec![row(3), row(3)]), &[2, 3]), Ok(()));
        assert_eq!(nested(&row(6), &[2, 3]), Ok(()));
        for (wrong, shape) in [
            (list(vec![row(2), row(2), row(2)]), &[2, 3][..]),
            (list(vec![row(2), row(4)]), &[2, 3]),
            (list(vec![row(6)]), &[6]),
            (list(vec![row(1)]), &[]),
        ] {
            assert!(nested(&wrong, shape).is_err(), "{wrong:?} {shape:?}");
        }
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(hexadecimal("00fF10"), Ok(vec![0, 255, 16]));
        assert_eq!(digits(&[0, 255, 16]), "00ff10");
        assert!(hexadecimal("0").is_err() && hexadecimal("xy").is_err());
    }
}
