//! `superdense reproduce`.
use super::{
    Done,
    report::{Console, Stop},
};
use crate::{
    reproduce::{Line, Request, Told, Trouble, index, number, reproduce as run},
    run::pulse::Pulse,
};
use clap::Args;
use std::path::PathBuf;

/// Options of `reproduce`.
#[derive(Debug, Args)]
pub(super) struct ReproduceOptions {
    /// A document, such as 003, or part of the name of an item, such as "table 4"; all without.
    pub name: Option<String>,
    /// Output directory, which keeps scenarios, results and figures.
    #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
    pub out: PathBuf,
    /// Leave out what takes long, and say what that is.
    #[arg(long)]
    pub quick: bool,
    /// List all that the papers print, with the items that show it or the reason why none does; nothing is run.
    #[arg(long)]
    pub index: bool,
}

/// Prints the paper's numbers and ours, line by line.
pub(super) fn reproduce(console: &Console, options: &ReproduceOptions) -> Done {
    if options.index {
        return listed(console);
    }
    let pulse = Pulse::start();
    let _ = pulse.on_interrupt();
    let request = Request {
        name: options.name.as_deref(),
        out: &options.out,
        slow: !options.quick,
        pulse: pulse.clone(),
    };
    let (mut lines, mut wrong, mut reading) = (0, 0, String::new());
    let done = run(&request, &mut |told| match told {
        Told::Line(line) => {
            lines += 1;
            wrong += usize::from(!line.ok);
            if console.json {
                console.line(&line);
            } else {
                if line.reading != reading {
                    console.text(&format!("\n  {}\n", line.reading));
                    reading.clone_from(&line.reading);
                }
                console.text(&row(&line));
            }
        }
        Told::Document { document, source } if !console.json => {
            console.text(&format!("\n{document}  {source}\n"));
        }
        Told::Figure { file, caption } if !console.json => {
            console.text(&format!("\n  figure {}\n  {caption}\n", file.display()));
        }
        Told::Missing { item, why } => {
            wrong += 1;
            console.remark(&format!("missing: {item}: {why}"));
        }
        Told::Skipped { item, why } => console.remark(&format!("skipped: {item} ({why})")),
        Told::Document { .. } | Told::Figure { .. } => {}
    });
    done.map_err(|trouble| match trouble {
        Trouble::Interrupted => Stop::Interrupted,
        Trouble::Skipped(why) | Trouble::Failed(why) => Stop::usage(why),
    })?;
    if !console.json {
        console.text(&format!("\n{} of {lines} as they must be\n", lines - wrong.min(lines)));
    }
    if wrong > 0 { Err(Stop::Different(wrong)) } else { Ok(()) }
}

/// Everything that the papers print.
fn listed(console: &Console) -> Done {
    for entry in index().map_err(Stop::usage)? {
        if console.json {
            console.line(&entry);
            continue;
        }
        let article = entry.article.iter().map(|a| format!("{a}, ")).collect::<String>();
        let shown = match entry.reason {
            Some(why) => format!("    none: {why}\n"),
            None => entry.rows.iter().map(|row| format!("    {row}\n")).collect(),
        };
        console.text(&format!("{}  {article}{}\n{shown}", entry.document, entry.item));
    }
    Ok(())
}

/// A line for people.
fn row(line: &Line) -> String {
    let paper = match (&line.paper, line.paper.as_f64()) {
        (_, Some(x)) => number(x),
        (serde_json::Value::String(text), _) => text.clone(),
        _ => "-".to_owned(),
    };
    let ours = line.ours.map_or("-".to_owned(), number);
    let mark = if line.ok { "ok" } else { "NO" };
    let error = line.error.iter().map(|e| format!("      {e}\n")).collect::<String>();
    format!(
        "    {mark}  {:<44} paper {paper:<14} ours {ours:<14} {}  ({})\n{error}",
        line.item, line.verdict, line.tolerance
    )
}
