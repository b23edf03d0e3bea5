//! `results.csv`: a row for each run.
use super::{Conducted, Study, store::Stored, vary::number};
use crate::output::csv;

/// Columns beside parameters and results.
pub const FIXED: [&str; 5] = ["ask", "point", "replicate", "status", "trace_hash"];

/// The table: question, point, replicate, parameters as `[vary]` has them, results as the file has them,
/// status and trace hash. Sorted by question as in the file, by point and by replicate; numbers in SI units.
/// A point that two questions ask for stands under both, with one number.
pub fn csv(study: &Study, found: &Conducted<'_>) -> String {
    let mut text = String::from("ask,point,replicate");
    let parameters = study.parameters.iter().map(|p| p.path.value.as_str());
    for name in parameters.chain(study.results.iter().map(String::as_str)) {
        text.push(',');
        text += &csv::field(name);
    }
    text += ",status,trace_hash\n";
    for (question, places) in found.questions.iter().zip(&found.of) {
        let of = |(at, (place, point))| (place, question.over_of(at), point);
        let mut points: Vec<_> = places.iter().zip(question.points()).enumerate().map(of).collect();
        points.sort_by_key(|(place, ..)| found.numbers[**place]);
        points.dedup_by_key(|(place, ..)| **place);
        for (&place, over, (point, n)) in points {
            let mut cells = vec![String::new(); study.parameters.len()];
            for (path, text) in &question.ask.sets {
                let own = study.parameters.iter().zip(&mut cells);
                for (parameter, cell) in own.filter(|(p, _)| p.path.value == *path) {
                    let value = parameter.read(text).map(|x| parameter.cell(x));
                    *cell = csv::field(&value.unwrap_or_else(|| text.clone())).into_owned();
                }
            }
            for (&at, x) in over.iter().zip(point) {
                cells[at] = csv::field(&study.parameters[at].cell(*x)).into_owned();
            }
            let parameters = cells.join(",");
            for (replicate, run) in (0..n).filter_map(|r| Some((r, found.runs.get(&(place, r))?))) {
                let name = csv::field(&question.ask.name.value);
                text += &format!("{name},{},{replicate}", found.numbers[place]);
                if !cells.is_empty() {
                    text.push(',');
                    text += &parameters;
                }
                row(&mut text, run, study.results.len());
            }
        }
    }
    text
}

fn row(text: &mut String, run: &Stored, results: usize) {
    for at in 0..results {
        text.push(',');
        if let Some(x) = run.results.get(at).copied().flatten() {
            *text += &number(x);
        }
    }
    *text += &format!(",{},{}\n", run.status.name(), run.trace_hash);
}
