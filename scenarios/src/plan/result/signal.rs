//! Signals and conditions in the formulas of results.
use super::{
    Lookup, MOST, REDUCTIONS, Reader, Takes, place, port_of,
    text::{Call, Masked, call, next_path},
};
use crate::{
    plan::{Record, measures::scale, record, selector::Piece, session::Session, tree::dotted},
    result::{Atom, Form, Gather, Signal},
};
use std::path::Path;
use superdense_models::{
    kinds::{Located, PortKind, ValueType},
    maths::{
        expr::{Ast, ExprError, Measure, parse},
        quantity,
    },
};

impl Reader<'_> {
    /// Whether a path has the form of an output, and is no parameter or an output as well: then it is the output,
    /// as in `record`.
    pub(super) fn is_output(&self, path: &str) -> bool {
        let dotted = path.contains('.') || path.contains('[');
        dotted && (self.eval.constant(path).is_none() || self.is_there(path))
    }

    /// The remedy where an output stands for a number.
    pub(super) fn reduced(&self, path: &str) -> String {
        let hidden = match self.eval.constant(path) {
            Some(_) => ", or give the parameter that has the name of this output another one",
            None => "",
        };
        format!("put a function around it, such as final({path}) or max({path}){hidden}")
    }

    /// Whether a unit has this output.
    fn is_there(&self, path: &str) -> bool {
        let quiet = Session::new(Path::new(""));
        let text = Located::new(path.to_owned(), 0..0);
        !record::outputs(self.tree, &quiet, Piece::new(&quiet, &text)).is_empty()
    }

    /// The place of a signal or condition, and its unit of measure, where it is an output and nothing else.
    pub(super) fn signal(
        &mut self,
        piece: Piece<'_>,
        takes: Takes,
    ) -> Option<(usize, Option<String>)> {
        let (mut masked, mut atoms) = (Masked::new(piece.text()), Vec::new());
        let (mut at, mut unit) = (0, None);
        while let Some((start, end)) = next_path(piece.text(), at) {
            at = end;
            let path = &piece.text()[start..end];
            let found = match call(piece.text(), (start, end)) {
                Some(c) => match self.many(piece, path, &c)? {
                    Some(atom) => {
                        at = c.end;
                        Some((c.end, atom))
                    }
                    None => None,
                },
                None if path == "time" && self.eval.constant(path).is_none() => {
                    Some((end, Atom::Time))
                }
                None if self.is_output(path) => {
                    let (port, own) = self.port(piece.within(start, end))?;
                    unit = own;
                    Some((end, Atom::Port(port)))
                }
                None if self.names.iter().any(|n| n == path) => {
                    let help =
                        "use it outside of the function: a signal has a value at each instant";
                    return self.refuse(
                        piece.within(start, end),
                        format!("`{path}` is a result"),
                        help,
                    );
                }
                None => None,
            };
            if atoms.len() > MOST {
                let help = "make one number of many outputs, as in sum(plant[*].power)";
                return self.refuse(
                    piece,
                    format!("more than {MOST} outputs in one formula"),
                    help,
                );
            }
            if let Some((end, atom)) = found {
                let known = atoms.iter().position(|a| *a == atom);
                let var = known.unwrap_or_else(|| {
                    atoms.push(atom);
                    atoms.len() - 1
                });
                masked.cut((start, end), var);
            }
        }
        let alone = matches!(&atoms[..], [Atom::Port(_)])
            && next_path(piece.text(), 0) == Some((0, piece.text().len()));
        let form = self.form(piece, &masked, takes)?;
        let measure = self.measure(piece, &masked, &atoms)?;
        let key = piece.text().to_owned();
        let all = &mut self.found.signals;
        let place = *self.signals.entry(key).or_insert_with(|| {
            all.push(Signal { atoms, form });
            all.len() - 1
        });
        self.of_signals.insert(place, measure);
        Some((place, unit.filter(|_| alone)))
    }

    /// Refuses names of quantities, which count in SI base units, beside values that count in another unit of their
    /// dimension.
    pub(super) fn refuse_quantities(
        &self,
        piece: Piece<'_>,
        ast: &Ast,
        own: &[String],
    ) -> Option<()> {
        let scaled: Vec<_> = own.iter().filter(|own| scale(own).is_some()).collect();
        let found = std::cell::Cell::new(None);
        let name = |name: &str| {
            let exponents = self.eval.measure(name).exponents();
            let alike = |own: &&&String| {
                quantity::unit(own).is_ok_and(|unit| Measure::of(&unit).exponents() == exponents)
            };
            if let Some(own) = scaled.iter().find(alike).filter(|_| exponents.is_some()) {
                found.set(Some((name.to_owned(), (*own).clone())));
            }
            Measure::Unknown
        };
        ast.measure(&name, self.session.functions());
        let Some((name, own)) = found.take() else { return Some(()) };
        let message =
            format!("`{name}` counts in SI base units, and the output beside it in {own}");
        let help = format!("write a number that counts in {own} instead of `{name}`");
        self.refuse(piece, message, help)
    }

    /// The measure of a signal; temperatures on a scale are told beside numbers.
    fn measure(&self, piece: Piece<'_>, masked: &Masked, atoms: &[Atom]) -> Option<Measure> {
        let port = |port: usize| {
            let (path, number) = &self.found.ports[port];
            self.measures.output(path, *number)
        };
        let atom = |atom: &Atom| match atom {
            Atom::Time => Measure::TIME,
            Atom::Port(p) => port(*p),
            Atom::Many(Gather::Mean | Gather::Min | Gather::Max, ports) => {
                ports.first().map_or(Measure::Unknown, |p| port(*p))
            }
            Atom::Many(..) => Measure::Unknown,
        };
        let name = |name: &str| match masked.vars.get(name) {
            Some(&var) => atom(&atoms[var as usize]),
            None => self.eval.measure(name),
        };
        let ast = parse(&masked.text).ok()?;
        let (measure, errors) = ast.measure(&name, self.session.functions());
        let scaled = |atom: &Atom| {
            let port = match atom {
                Atom::Port(port) => *port,
                Atom::Many(_, ports) => *ports.first()?,
                Atom::Time => return None,
            };
            let (path, number) = &self.found.ports[port];
            self.measures.scaled(path, *number)
        };
        let own: Vec<String> = atoms.iter().filter_map(scaled).collect();
        self.refuse_quantities(piece, &ast, &own)?;
        self.refuse_clashes(piece, masked, errors)?;
        Some(measure)
    }

    /// Reports what does not go together, by the names that the reader wrote.
    pub(super) fn refuse_clashes(
        &self,
        piece: Piece<'_>,
        masked: &Masked,
        errors: Vec<ExprError>,
    ) -> Option<()> {
        let name = |text: String| masked.shown(&text, piece.text());
        let written = |error| match error {
            ExprError::BesideScale { scale, other, span } => {
                ExprError::BesideScale { scale: name(scale), other: name(other), span }
            }
            ExprError::Dimensions { left, of_left, right, of_right, why, span } => {
                let (left, right) = (name(left), name(right));
                ExprError::Dimensions { left, of_left, right, of_right, why, span }
            }
            ExprError::NotPure { of, argument, found, span } => {
                ExprError::NotPure { of, argument: name(argument), found, span }
            }
            ExprError::MixedTemperatures { sum, span } => {
                ExprError::MixedTemperatures { sum: name(sum), span }
            }
            other => other,
        };
        let errors: Vec<ExprError> = errors.into_iter().map(written).collect();
        let shown = Located::new(piece.text().to_owned(), piece.span());
        self.session.expression(&shown, &errors);
        errors.is_empty().then_some(())
    }

    /// Refuses a signal of a unit that tells of its changes only now and then.
    pub(super) fn refuse_thinned(&self, signal: usize, piece: Piece<'_>) -> Option<()> {
        let ports = self.found.signals[signal].atoms.iter().flat_map(|atom| match atom {
            Atom::Time => &[][..],
            Atom::Port(port) => std::slice::from_ref(port),
            Atom::Many(_, ports) => ports,
        });
        for &port in ports {
            let path = &self.found.ports[port].0;
            if let Some(every) = self.thinned.get(path.as_str()) {
                let message =
                    format!("`{}` tells of its signals after {every} changes only", dotted(path));
                let help = "leave `every` of that unit out, or take initial(...) or final(...), which \
                            are exact";
                return self.refuse(piece, message, help);
            }
        }
        Some(())
    }

    fn form(&self, piece: Piece<'_>, masked: &Masked, takes: Takes) -> Option<Form> {
        let scope = Lookup { eval: self.eval, stop: self.stop, vars: &masked.vars, results: None };
        let shown = Located::new(piece.text().to_owned(), piece.span());
        let report = |errors: Vec<ExprError>| {
            self.session.expression(&shown, &errors);
            None
        };
        let ast = match parse(&masked.text) {
            Ok(ast) => ast,
            Err(error) => return report(vec![error]),
        };
        match (ast.real(&scope), ast.condition(&scope)) {
            (Ok(expr), _) if matches!(takes, Takes::Signal | Takes::Values) => {
                Some(Form::Number(expr))
            }
            (_, Ok(condition)) if matches!(takes, Takes::Truth | Takes::Instants) => {
                Some(Form::Truth(condition))
            }
            (Ok(_), _) => self.refuse(
                piece,
                "this is a number, where a condition is needed".into(),
                format!("compare it, as in {0} > 0; its last value is final({0})", piece.text()),
            ),
            (_, Ok(_)) => self.refuse(
                piece,
                "this is a condition, where a number is needed".into(),
                "of conditions there are duration, first, last and count",
            ),
            (Err(errors), _) => report(errors),
        }
    }

    /// Many outputs as one number; `None` within if a call is another function.
    #[allow(clippy::option_option, reason = "the outer one is a mistake that was reported")]
    fn many(&mut self, piece: Piece<'_>, name: &str, call: &Call) -> Option<Option<Atom>> {
        let how = match name {
            "sum" => Some(Gather::Sum),
            "mean" => Some(Gather::Mean),
            "min" => Some(Gather::Min),
            "max" => Some(Gather::Max),
            "count" => Some(Gather::Count),
            _ => None,
        };
        let known = REDUCTIONS.iter().any(|(known, _)| *known == name);
        let [(start, end)] = call.args[..] else { return Some(None) };
        let inner = piece.within(start, end);
        let path = next_path(inner.text(), 0) == Some((0, inner.text().len()));
        let many = inner.text().contains('*') || inner.text().contains("..");
        let how = match how {
            Some(how) if path && many && self.is_output(inner.text()) => how,
            _ if known => {
                let help = "give it a name of its own in [result], and use that outside";
                let message =
                    format!("`{name}` is one number, which is known at the end of the run only");
                return self.refuse(piece.within(call.name.0, call.end), message, help);
            }
            _ => return Some(None),
        };
        let found = record::outputs(self.tree, self.session, inner);
        // Nothing was found, or there is nothing: of no units the sum is zero.
        let nothing = matches!(how, Gather::Sum | Gather::Count) && self.session.sink.is_empty();
        if found.is_empty() && !nothing {
            return None;
        }
        let mut ports = Vec::new();
        for record in &found {
            ports.push(self.readable(inner, record)?);
        }
        Some(Some(Atom::Many(how, ports)))
    }

    /// One output of a signal.
    fn port(&mut self, piece: Piece<'_>) -> Option<(usize, Option<String>)> {
        let found = record::outputs(self.tree, self.session, piece);
        match &found[..] {
            [] => None,
            [one] => Some((self.readable(piece, one)?, one.unit.clone())),
            many => {
                let message = format!("`{}` are {} outputs", piece.text(), many.len());
                let help = format!("make one number of them, as in sum({})", piece.text());
                self.refuse(piece, message, help)
            }
        }
    }

    fn readable(&mut self, piece: Piece<'_>, record: &Record) -> Option<usize> {
        if record.kind == PortKind::Event {
            let message = format!("`{}` sends events, which are no signal", record.label);
            let help = "of events there are count, first, last and rate, and mean, std, min, max, sum and \
                        percentile of their values, or a `hold` block makes a signal of them";
            return self.refuse(piece, message, help);
        }
        if !matches!(record.ty, ValueType::Real | ValueType::Int | ValueType::Bool) {
            let message = format!("`{}` carries no numbers", record.label);
            return self.refuse(piece, message, "name an output with numbers");
        }
        let port = place(&mut self.found.ports, port_of(record)?);
        self.found.sampled.resize(self.found.ports.len(), record.sampled);
        self.found.bands.resize(self.found.ports.len(), record.band);
        Some(port)
    }
}
