//! Files of models that failed.
use super::judges::{Case, Finding};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

fn comment(out: &mut String, key: &str, text: &str) {
    for (k, line) in text.lines().enumerate() {
        let key = if k == 0 { key } else { "" };
        out.push_str(format!("# {key:<10} {line}").trim_end());
        out.push('\n');
    }
}

/// Writes a case with what is wrong about it; returns the file.
///
/// # Errors
/// When the file cannot be written.
pub fn write(folder: &Path, case: &Case, judge: &str, finding: &Finding) -> io::Result<PathBuf> {
    let mut text = String::new();
    comment(&mut text, "model", &format!("seed {}, number {}", case.seed, case.number));
    comment(&mut text, "judge", judge);
    comment(&mut text, "executor", &format!("{:?}", case.settings.executor));
    comment(&mut text, "seen", &finding.seen);
    comment(&mut text, "right", &finding.right);
    comment(&mut text, "difference", &finding.difference);
    text.push_str(&case.text());
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("{judge}-{}-{}.toml", case.seed, case.number));
    fs::write(&file, text)?;
    Ok(file)
}
