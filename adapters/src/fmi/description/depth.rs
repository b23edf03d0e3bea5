//! How deep a text nests its elements, before a parser that calls itself sees it.
/// Deepest nesting of elements; the standard needs ten. The parser calls itself for each level.
pub(super) const DEPTH: usize = 256;

/// A bound of the depth to which elements are nested, reached by texts without mistakes.
pub(super) fn depth(text: &str) -> usize {
    let (mut depth, mut most, mut rest) = (0usize, 0, text);
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let aside = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = aside.iter().find(|(start, _)| rest.starts_with(start)) {
            rest = rest.find(end).map_or("", |at| &rest[at..]);
            continue;
        }
        let mut quote = None;
        let end = rest.find(|c| match (c, quote) {
            ('"' | '\'', None) => {
                quote = Some(c);
                false
            }
            (c, Some(q)) => {
                quote = quote.filter(|_| c != q);
                false
            }
            (c, None) => c == '>',
        });
        let tag = &rest[..end.unwrap_or(rest.len())];
        match tag.as_bytes() {
            [b'<', b'/', ..] => depth = depth.saturating_sub(1),
            [.., b'/'] | [b'<', b'!', ..] => most = most.max(depth + 1),
            _ => depth += 1,
        }
        most = most.max(depth);
        rest = &rest[tag.len()..];
    }
    most
}
