//! `superdense schema`: the JSON schema of scenario files.
use super::{Done, report::Console};

/// Prints the schema; it is JSON with and without `--json`.
pub fn print(console: &Console) -> Done {
    if !console.quiet || console.json {
        console.object(&superdense::schema::schema());
    }
    Ok(())
}
