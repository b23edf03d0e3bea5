//! Comma-separated fields, quoted only where they must be.
use std::borrow::Cow;

/// A field as it stands in a file.
pub fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// The fields of a line.
///
/// ```
/// use superdense::output::csv::split;
/// assert_eq!(split("1,,\"a,b\"\"c\""), ["1", "", "a,b\"c"]);
/// ```
pub fn split(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        return line.split(',').map(Cow::Borrowed).collect();
    }
    let (mut fields, mut text, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => text.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(Cow::Owned(std::mem::take(&mut text))),
            c => text.push(c),
        }
    }
    fields.push(Cow::Owned(text));
    fields
}
