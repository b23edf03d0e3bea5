//! All mistakes of a scenario, drawn under their lines.

/// The mistakes of a scenario.
#[derive(Debug, Default)]
pub struct Diagnostics {}

impl Diagnostics {
    /// Draws all mistakes; `fancy` with colours and box characters, else plain ASCII.
    pub fn render(&self, fancy: bool) -> String {
        let _ = fancy;
        String::new()
    }
    /// The number of mistakes.
    pub fn len(&self) -> usize {
        0
    }
    /// True without mistakes.
    pub fn is_empty(&self) -> bool {
        true
    }
}
