//! `[function.NAME]` and `[table.NAME]`: functions that formulas may call.
use super::{
    declare::Declarations,
    evaluate::Evaluator,
    parameters::Scope,
    selector::is_name,
    session::{Library, Session, did_you_mean},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    source::Span,
};
use std::sync::Arc;
use superdense_models::{
    kinds::{Located, files},
    maths::{
        expr::{self, Ast, Function, Symbol, Takes, VarId, built_in, parse},
        lookup::Between,
    },
};

/// Most points of a table: each joint is a comparison, and each patch is written out.
const MAX_POINTS: usize = 5_000;
const FUNCTION_KEYS: &[&str] = &["args", "value"];
const TABLE_KEYS: &[&str] = &["x", "y", "z", "file", "columns", "interpolation", "extrapolation"];

/// Reads the functions of a scenario, and makes them known to the session.
pub(super) fn read(root: &Table, declarations: &Declarations, session: &Session) {
    let scope = Scope::new(&declarations.root.parameters, None);
    let reader = Reader { session, scope: &scope };
    let mut library = Library::new();
    for (name, table, span) in reader.named(root, "table") {
        if let Some(function) = reader.table(table, span) {
            library.insert(name.value.clone(), function);
        }
    }
    reader.functions(root, &mut library);
    session.learn(library);
}

struct Reader<'a> {
    session: &'a Session,
    scope: &'a Scope,
}

/// A function of a formula that waits for those that it calls.
struct Pending<'a> {
    name: &'a Located<String>,
    args: Vec<String>,
    text: Located<String>,
    ast: Ast,
}

impl<'a> Reader<'a> {
    fn refuse<T>(
        &self,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.session.report(Mistake::new("function", span, message).help(help));
        None
    }

    /// The tables under a key, with names that can be called.
    fn named<'t>(
        &self,
        root: &'t Table,
        key: &str,
    ) -> Vec<(&'t Located<String>, &'t Table, &'t Span)> {
        let sink = &self.session.sink;
        let example = format!("[{key}.name]");
        let Some(node) = root.get(key) else { return Vec::new() };
        let Some(all) = node.table(&format!("`{key}`"), &example, sink) else { return Vec::new() };
        let both = root.get("table").and_then(|n| match &n.item {
            Item::Table(t) if key == "function" => Some(t),
            _ => None,
        });
        let mut found = Vec::new();
        for (name, node) in &all.entries {
            let taken = match built_in(&name.value) {
                Some(what) => Some(what),
                None if both.is_some_and(|t| t.get(&name.value).is_some()) => Some("a table"),
                None => None,
            };
            if let Some(what) = taken {
                let message = format!("`{}` is {what} already", name.value);
                self.refuse::<()>(&name.span, message, "choose another name");
            } else if !is_name(&name.value) {
                let message = format!("`{}` cannot be the name of a function", name.value);
                let help = "names are letters, digits and _, and do not start with a digit";
                self.refuse::<()>(&name.span, message, help);
            } else if let Some(table) = node.table(&format!("`{}`", name.value), &example, sink) {
                found.push((name, table, &name.span));
            }
        }
        found
    }

    fn keys(&self, table: &Table, known: &[&str], of: &str) {
        for (key, _) in table.entries.iter().filter(|(k, _)| !known.contains(&k.value.as_str())) {
            let message = format!("{of} has no key `{}`", key.value);
            let help = did_you_mean(&key.value, known.iter().copied(), "known keys");
            self.session.report(Mistake::new("unknown-key", &key.span, message).help(help));
        }
    }

    /// Functions of formulas, each after those that it calls.
    fn functions(&self, root: &'a Table, library: &mut Library) {
        let all = self.named(root, "function");
        let mut waiting: Vec<Pending<'a>> =
            all.iter().filter_map(|(name, table, span)| self.pending(name, table, span)).collect();
        loop {
            let names: Vec<String> = waiting.iter().map(|p| p.name.value.clone()).collect();
            let waits = |p: &Pending<'_>| p.ast.calls().any(|f| names.iter().any(|n| n == f));
            let (later, ready): (Vec<_>, Vec<_>) = waiting.into_iter().partition(waits);
            if ready.is_empty() {
                if let Some(first) = later.first() {
                    let message = format!("the functions {} call each other", names.join(", "));
                    let help = "functions cannot call themselves: write such as a state or a sum";
                    self.refuse::<()>(&first.name.span, message, help);
                }
                return;
            }
            for p in ready {
                if let Some(function) = self.function(&p, library) {
                    library.insert(p.name.value.clone(), function);
                }
            }
            waiting = later;
        }
    }

    fn pending(
        &self,
        name: &'a Located<String>,
        table: &Table,
        span: &Span,
    ) -> Option<Pending<'a>> {
        let sink = &self.session.sink;
        self.keys(table, FUNCTION_KEYS, "a function");
        let example = "args = [\"x\"] and value = \"2*x\"";
        let (Some(args), Some(value)) = (table.get("args"), table.get("value")) else {
            let message = format!("function `{}` needs `args` and `value`", name.value);
            return self.refuse(span, message, format!("write {example}"));
        };
        let mut names = Vec::new();
        for arg in args.list("`args`", example, sink)? {
            let arg = arg.text("an argument", example, sink)?;
            if !is_name(&arg.value) || built_in(&arg.value).is_some() || names.contains(&arg.value)
            {
                let message = format!("`{}` cannot be the name of an argument", arg.value);
                return self.refuse(&arg.span, message, "choose another name");
            }
            names.push(arg.value);
        }
        let text = match &value.item {
            Item::Int(_) | Item::Real(..) => {
                let text = self.session.sources.slice(&value.span).to_owned();
                Located::new(text, value.span.clone())
            }
            _ => value.text("`value`", example, sink)?,
        };
        match parse(&text.value) {
            Ok(ast) => Some(Pending { name, args: names, text, ast }),
            Err(error) => {
                self.session.expression(&text, &[error]);
                None
            }
        }
    }

    fn function(&self, p: &Pending<'_>, library: &Library) -> Option<Function> {
        let eval = Evaluator::new(self.session, self.scope, &[]);
        let names = Body { args: &p.args, eval: &eval, functions: library };
        match p.ast.real(&names) {
            Ok(body) => {
                let takes = Takes::Formula(p.args.clone(), Arc::new(p.ast.clone()));
                Some(Function { arity: p.args.len(), body, takes })
            }
            Err(errors) => {
                self.session.expression(&p.text, &errors);
                None
            }
        }
    }

    fn table(&self, table: &Table, span: &Span) -> Option<Function> {
        self.keys(table, TABLE_KEYS, "a table");
        let choice = |key: &str, words: &[&str]| {
            let Some(node) = table.get(key) else { return Some(0) };
            let text = node.text(&format!("`{key}`"), words[0], &self.session.sink)?;
            let found = words.iter().position(|w| *w == text.value);
            found.or_else(|| {
                let message = format!("`{key}` cannot be \"{}\"", text.value);
                self.refuse(&text.span, message, format!("it is one of {}", words.join(", ")))
            })
        };
        let between = match choice("interpolation", &["linear", "spline", "monotone"])? {
            0 => Between::Linear,
            1 => Between::Spline,
            _ => Between::Monotone,
        };
        let held = choice("extrapolation", &["hold", "linear"])? == 0;
        let Points { x, y, z } = self.points(table, span)?;
        let scales = ["x", "y"].map(|key| table.get(key).is_some_and(|node| self.is_scale(node)));
        self.ascending(&x, "x", span)?;
        let Some(z) = z else {
            if x.len() != y.len() {
                let message = format!("{} values of `x`, {} of `y`", x.len(), y.len());
                return self.refuse(span, message, "give a value of `y` for each of `x`");
            }
            let takes = Takes::Points(vec![scales[0]]);
            return Some(Function { takes, ..Function::of_points(&x, &y, between, held) });
        };
        self.ascending(&y, "y", span)?;
        if between == Between::Monotone {
            let help = "use \"linear\" or \"spline\" for two arguments";
            return self.refuse(span, "\"monotone\" is for tables of one argument", help);
        }
        if z.len() != x.len() || z.iter().any(|row| row.len() != y.len()) {
            let message = format!("`z` is not a grid of {} rows of {} values", x.len(), y.len());
            return self.refuse(
                span,
                message,
                "give a row for each of `x`, a value for each of `y`",
            );
        }
        let takes = Takes::Points(scales.to_vec());
        Some(Function { takes, ..Function::of_grid([&x, &y], &z, between, held) })
    }

    fn ascending(&self, x: &[f64], key: &str, span: &Span) -> Option<()> {
        if x.len() < 2
            || x.windows(2).any(|w| w[1].partial_cmp(&w[0]) != Some(std::cmp::Ordering::Greater))
        {
            let message = format!("`{key}` needs at least two values, ascending");
            return self.refuse(span, message, "sort the points, and leave doubles out");
        }
        Some(())
    }

    fn points(&self, table: &Table, span: &Span) -> Option<Points> {
        if let Some(file) = table.get("file") {
            return self.file(file, table.get("columns"));
        }
        let list = |key: &str| -> Option<Vec<f64>> {
            let Some(node) = table.get(key) else {
                let help = "give lists x and y, for two arguments also z, or a `file`";
                return self.refuse(span, format!("this table has no `{key}`"), help);
            };
            self.numbers(node, key)
        };
        let z = match table.get("z") {
            Some(node) => {
                let rows = node.list("`z`", "[[1, 2], [3, 4]]", &self.session.sink)?;
                Some(rows.iter().map(|row| self.numbers(row, "z")).collect::<Option<Vec<_>>>()?)
            }
            None => None,
        };
        self.fits(Points { x: list("x")?, y: list("y")?, z }, span)
    }

    fn fits(&self, points: Points, span: &Span) -> Option<Points> {
        let count = match &points.z {
            Some(_) => points.x.len() * points.y.len(),
            None => points.x.len(),
        };
        if count > MAX_POINTS {
            let message = format!("this table has {count} points, more than {MAX_POINTS}");
            let help = "leave points out where the function is straight; a long signal of the time is a unit \
                        of kind \"csv\"";
            return self.refuse(span, message, help);
        }
        Some(points)
    }

    /// Whether the first one of a list is a temperature on a scale.
    fn is_scale(&self, node: &Node) -> bool {
        let Item::List(list) = &node.item else { return false };
        let eval = Evaluator::new(self.session, self.scope, &[]);
        let first = list.first().and_then(|first| eval.number(first, "a point"));
        first.is_some_and(|n| n.measure.is_scale())
    }

    fn numbers(&self, node: &Node, key: &str) -> Option<Vec<f64>> {
        let eval = Evaluator::new(self.session, self.scope, &[]);
        let what = format!("`{key}`");
        let items = node.list(&what, "[0, 1, 2]", &self.session.sink)?;
        items.iter().map(|item| Some(eval.number(item, &what)?.value)).collect()
    }

    /// Columns of a file, or with a corner and a first line of y a grid.
    fn file(&self, file: &Node, columns: Option<&Node>) -> Option<Points> {
        let sink = &self.session.sink;
        let name = file.text("`file`", "file = \"pump.csv\"", sink)?;
        let path = self.session.sources.folder(file.span.start).join(&name.value);
        self.session.sources.note(&path);
        let wanted = match columns {
            None => None,
            Some(node) => {
                let list = node.list("`columns`", "columns = [\"x\", \"y\"]", sink)?;
                let texts = list.iter().map(|n| Some(n.text("a column", "\"x\"", sink)?.value));
                Some(texts.collect::<Option<Vec<_>>>()?)
            }
        };
        let rows = files::rows(&path).map_err(|e| e.to_string());
        match rows.and_then(|rows| Points::of(&rows, wanted.as_deref())) {
            Ok(points) => self.fits(points, &file.span),
            Err(why) => {
                let help = "one argument: a header, then rows of x and y; two: a first line with the values \
                            of y behind a corner, then rows of x and z";
                self.refuse(&file.span, format!("`{}`: {why}", name.value), help)
            }
        }
    }
}

/// Points of a function of one argument, or with `z` of two.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Option<Vec<Vec<f64>>>,
}

impl Points {
    fn of(rows: &[Vec<String>], columns: Option<&[String]>) -> Result<Self, String> {
        let [head, rows @ ..] = rows else { return Err("is empty".into()) };
        let number = |(line, text): (usize, &str)| {
            let value = text.parse::<f64>().ok().filter(|x| x.is_finite());
            value.ok_or_else(|| format!("row {}: `{text}` is no number", line + 2))
        };
        let column = |k: usize| -> Result<Vec<f64>, String> {
            let cell = |(line, row): (usize, &Vec<String>)| {
                number((line, row.get(k).map_or("", String::as_str)))
            };
            rows.iter().enumerate().map(cell).collect()
        };
        let grid = columns.is_none() && head.len() > 2;
        if !grid && head.iter().all(|cell| cell.parse::<f64>().is_ok()) {
            return Err("line 1: numbers instead of the names of columns".into());
        }
        if grid {
            let y = head[1..].iter().map(|text| number((0, text))).collect::<Result<_, _>>()?;
            let row = |(line, row): (usize, &Vec<String>)| {
                row[1..].iter().map(|text| number((line, text))).collect::<Result<Vec<_>, _>>()
            };
            let z = rows.iter().enumerate().map(row).collect::<Result<_, _>>()?;
            return Ok(Self { x: column(0)?, y, z: Some(z) });
        }
        let named = |k: usize| match columns {
            None => Ok(k),
            Some(names) => {
                let name = names.get(k).ok_or("`columns` names two")?;
                let place = head.iter().position(|h| h == name);
                place.ok_or_else(|| format!("no column `{name}`; there are {}", head.join(", ")))
            }
        };
        Ok(Self { x: column(named(0)?)?, y: column(named(1)?)?, z: None })
    }
}

/// Names in the body of a function.
struct Body<'a> {
    args: &'a [String],
    eval: &'a Evaluator<'a>,
    functions: &'a Library,
}

impl expr::Scope for Body<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        match self.args.iter().position(|arg| arg == name) {
            Some(k) => Some(Symbol::Var(VarId(k as u32))),
            None => self.eval.constant(name).map(Symbol::Const),
        }
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }
    fn names(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.eval.scope.all_names(&mut all);
        all
    }
}
