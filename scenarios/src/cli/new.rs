//! `superdense new NAME`.
use super::{
    Done,
    report::{Console, Stop},
};
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::Path,
};

const STARTER: &str = include_str!("starter.toml");

/// Writes the starter scenario.
pub fn write(console: &Console, name: &Path, force: bool) -> Done {
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
    let write = || {
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).create_new(!force);
        options.open(&file)?.write_all(STARTER.replace("NAME", &title).as_bytes())
    };
    write().map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Stop::usage(format!(
            "{} exists already; choose another name, or overwrite it with --force",
            file.display()
        )),
        _ => Stop::usage(format!("{}: {e}", file.display())),
    })?;
    let text = format!("wrote {0}; run it with: superdense run {0}\n", file.display());
    console.say(&text, || json!({ "status": "done", "file": file }));
    Ok(())
}
