//! Parameters from data files.
use crate::{
    document::{Item, Node, Table},
    source::Span,
};
use serde_json::Value;
use std::path::Path;
use superdense_models::{
    kinds::{Located, files},
    maths::quantity::Decimal,
};

/// The parameters of a file whose name ends in `.json` or `.csv`; they stand where the file is named.
pub(super) fn parameters(file: &Path, text: &str, span: &Span) -> Result<Table, String> {
    let table = match file.extension().and_then(|end| end.to_str()) {
        Some("json") => {
            let value = serde_json::from_str(text).map_err(|e| e.to_string())?;
            node(&value, span)?
        }
        Some("csv") => return csv(file, span),
        _ => return Err("is neither .json nor .csv".into()),
    };
    match table.item {
        Item::Table(table) => Ok(table),
        _ => Err("is no object".into()),
    }
}

fn node(value: &Value, span: &Span) -> Result<Node, String> {
    let item = match value {
        Value::Number(n) => match n.as_i64() {
            Some(i) => Item::Int(i),
            None => real(&n.to_string())?,
        },
        Value::String(text) => Item::Text(text.clone()),
        Value::Bool(b) => Item::Bool(*b),
        Value::Array(items) => {
            Item::List(items.iter().map(|v| node(v, span)).collect::<Result<_, _>>()?)
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                Ok((Located::new(key.clone(), span.clone()), node(value, span)?))
            };
            let entries = entries.iter().map(entry).collect::<Result<_, String>>()?;
            Item::Table(Table { entries })
        }
        Value::Null => return Err("null is no value".into()),
    };
    Ok(Node { item, span: span.clone() })
}

fn real(text: &str) -> Result<Item, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Ok(Item::Real(value, Decimal::parse(text)))
}

/// Names, values, and units where a third column has some.
fn csv(file: &Path, span: &Span) -> Result<Table, String> {
    let mut table = Table::default();
    let rows = files::rows(file).map_err(|e| e.to_string())?;
    let Some((head, rows)) = rows.split_first() else { return Err("is empty".into()) };
    if head.get(..2) != Some(&["name".to_owned(), "value".to_owned()]) {
        return Err("the first line is not `name,value` or `name,value,unit`".into());
    }
    for row in rows {
        let (name, value) = (&row[0], &row[1]);
        let item = match row.get(2).map_or("", String::as_str) {
            "" if value.parse::<f64>().is_ok() => real(value)?,
            "" => Item::Text(value.clone()),
            unit => Item::Text(format!("{value} {unit}")),
        };
        // `network.delay` is delay in the table network, as in a scenario.
        let mut place = &mut table;
        let mut parts: Vec<&str> = name.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            if place.get(part).is_none() {
                let inner = Node { item: Item::Table(Table::default()), span: span.clone() };
                place.entries.push((Located::new(part.to_owned(), span.clone()), inner));
            }
            let Some(Node { item: Item::Table(inner), .. }) = place.get_mut(part) else {
                return Err(format!("`{part}` has a value, and parts"));
            };
            place = inner;
        }
        if place.get(last).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
        let node = Node { item, span: span.clone() };
        place.entries.push((Located::new(last.to_owned(), span.clone()), node));
    }
    Ok(table)
}
