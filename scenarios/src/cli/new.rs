//! `superdense new NAME`.
use super::{
    Done,
    report::{Console, Stop},
};
use crate::output::{OutputError, directory};
use serde_json::json;
use std::path::Path;

const STARTER: &str = include_str!("starter.toml");

/// Names the parameters of scenarios to editors.
const SCHEMA: &str = "superdense.schema.json";

/// Writes the starter scenario, and the schema that it names, unless there is one.
pub(super) fn write(console: &Console, name: &Path, force: bool) -> Done {
    let file = match name.extension() {
        Some(e) if e == "toml" => name.to_owned(),
        _ => {
            let mut text = name.as_os_str().to_owned();
            text.push(".toml");
            text.into()
        }
    };
    let title = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if title.is_empty() || title.contains(['"', '\\', '\n']) {
        return Err(Stop::usage("the name of a scenario is a file name without quotes"));
    }
    if !force && file.exists() {
        return Err(Stop::usage(format!(
            "{} exists already; choose another name, or overwrite it with --force",
            file.display()
        )));
    }
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).map_err(OutputError::at(dir))?;
    }
    directory::replace(&file, STARTER.replace("NAME", &title).as_bytes())?;
    let schema = file.with_file_name(SCHEMA);
    if !schema.exists() {
        directory::replace(&schema, crate::schema::schema().to_string().as_bytes())?;
    }
    let name = file.display().to_string();
    // A shell takes a name with spaces apart.
    let quote = if name.contains(char::is_whitespace) { "'" } else { "" };
    let text = format!("wrote {name}; run it with: superdense run {quote}{name}{quote}\n");
    console.say(&text, || json!({ "status": "done", "file": file }));
    Ok(())
}
