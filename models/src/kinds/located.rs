//! Things with their places in the scenario text.
use std::ops::Range;

/// Bytes of the scenario text, for messages.
pub type Span = Range<usize>;

/// Something and where it stands in the scenario text.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The thing.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Located<T> {
    /// A thing at a place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}
