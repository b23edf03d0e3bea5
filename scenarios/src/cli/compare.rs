//! `compare` and `report`.
use super::{
    Done, place,
    report::{Console, Stop, columns},
};
use crate::{compare, output::manifest::Manifest, report};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What `superdense compare A B` was told beside the runs.
pub(super) struct Comparing {
    pub window: f64,
    pub html: Option<PathBuf>,
    pub force: bool,
}

/// Tells of files of a run that are not as it left them.
pub(super) fn tell_changed(console: &Console, dir: &Path) -> Done {
    let changed = Manifest::read(dir)?.map_or(Ok(Vec::new()), |m| m.changed(dir))?;
    changed.iter().for_each(|remark| console.remark(remark));
    Ok(())
}

/// `superdense compare A B`.
pub(super) fn compare(console: &Console, a: &Path, b: &Path, told: &Comparing) -> Done {
    let found = compare::runs(a, b, told.window).map_err(|e| Stop::usage(e.to_string()))?;
    [a, b].into_iter().try_for_each(|dir| tell_changed(console, dir))?;
    if let Some(file) = &told.html {
        let html = report::of_comparison(&found, a, b).map_err(|e| Stop::usage(e.to_string()))?;
        place::write(file, html.as_bytes(), told.force)?;
    }
    console.say(&text(&found), || {
        let (status, code) = if found.equal { ("equal", 0) } else { ("different", 1) };
        let mut object = json!(found);
        object["status"] = json!(status);
        object["exit_code"] = json!(code);
        object
    });
    if found.equal { Ok(()) } else { Err(Stop::Unequal) }
}

fn text(found: &compare::Comparison) -> String {
    if found.equal {
        return format!("the runs are equal (trace hash {})\n", found.trace_hashes[0]);
    }
    let mut text = match &found.parts {
        Some(p) => format!("the runs part at {} s, micro-step {}: {}\n", p.time, p.micro, p.place),
        None => "nothing that is recorded tells where the runs part\n".to_owned(),
    };
    let number = |x: Option<f64>| match x {
        None => "never".to_owned(),
        Some(x) if x != 0.0 && x.abs() < 1e-6 => format!("{x:.9e}"),
        Some(x) => format!("{x:.9}"),
    };
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    if !found.results.is_empty() {
        let mut rows = vec![row(["result", "first", "second", "difference"])];
        rows.extend(found.results.iter().map(|r| {
            let mut difference =
                r.a.zip(r.b).map_or_else(String::new, |(a, b)| format!("{:.3e}", b - a));
            if let Some(bars) = r.bars {
                difference += &format!(" ± {bars:.1e}");
            }
            vec![r.name.clone(), number(r.a), number(r.b), difference]
        }));
        text += &format!("\n{}", columns(&rows, &[1, 2, 3]));
    }
    let e = &found.events;
    text += &format!(
        "\n{} events at the same time, {} shifted by at most {:.3e} s, {} missed, {} extra\n",
        e.matched, e.shifted, e.largest_shift, e.missed, e.extra
    );
    if !found.signals.is_empty() {
        let mut rows = vec![vec!["signal".into(), "largest deviation".into(), "at / s".into()]];
        rows.extend(
            found.signals.iter().map(|d| {
                vec![d.signal.clone(), format!("{:.6e}", d.deviation), d.time.to_string()]
            }),
        );
        text += &format!("\n{}", columns(&rows, &[1, 2]));
    }
    text
}

/// `superdense report DIR`.
pub(super) fn report(console: &Console, dir: &Path, out: Option<PathBuf>, force: bool) -> Done {
    let html = report::of(dir).map_err(|e| Stop::usage(e.to_string()))?;
    tell_changed(console, dir)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let file = out.unwrap_or_else(|| PathBuf::from(format!("{name}.report.html")));
    place::write(&file, html.as_bytes(), force)?;
    let text = format!("{} ({} kB); open it in a browser\n", file.display(), html.len() / 1000);
    console.say(&text, || json!({ "status": "done", "file": file, "bytes": html.len() }));
    Ok(())
}
