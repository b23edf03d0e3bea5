//! Figures of a run: one panel per declared plot, stacked, as SVG and PNG.
//!
//! **Why from files.** A figure is drawn from what the run wrote (`plots.json`, `samples.csv`,
//! `trajectory.csv`, `events.csv`) and nothing else, so that `superdense plot DIR` gives the same
//! picture later, also of a run that was killed.
//!
//! **Why plotters on a fine grid, and resvg.** plotters draws on whole pixels. The figure is drawn
//! on a canvas [`figure::SCALE`] times as fine and scaled down by the picture's view box, which
//! gives smooth curves. The PNG is the same SVG rendered with the font that the program carries,
//! so it looks the same on a machine without fonts.
mod curves;
mod figure;
mod files;
mod journeys;
#[cfg(feature = "png")]
mod png;
mod rows;
mod scales;
mod ticks;
mod timeline;

use crate::{output::OutputError, plan::Style};
pub use curves::{Curve, Point};
pub use figure::svg;
pub(crate) use files::declared;
pub use files::{Declared, DeclaredPlot, Figure, NAME, Panel};
pub use journeys::Row;
pub(crate) use rows::{each_row, first_line};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A file is missing or cannot be read or written.
    #[error("{0}")]
    Io(#[from] OutputError),
    /// A file is not what a run writes.
    #[error("{file}: {why}; the file is damaged: restore it, or run the scenario again")]
    Format {
        /// The file.
        file: String,
        /// The mistake.
        why: String,
    },
    /// The drawing library failed.
    #[error("cannot draw the figure: {0}; the results themselves are complete")]
    Draw(String),
}

impl PlotError {
    /// A mistake in a row that has this number.
    fn in_line(self, number: usize) -> Self {
        match self {
            Self::Format { file, why } => {
                Self::Format { file, why: format!("line {number}: {why}") }
            }
            other => other,
        }
    }
}

/// Font of all figures, beside the names that a viewer may fall back to.
const FONT: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// A curve of what it is drawn from, thinned to what a picture shows.
pub fn curve(label: String, style: Style, points: Vec<Point>) -> Curve {
    let points = if style == Style::Step { curves::staircase(&points) } else { points };
    Curve::new(label, style, points).thin(files::COLUMNS)
}

/// The pictures of the figure of a run that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum Pictures {
    /// None.
    None,
    /// `plot.svg`.
    #[default]
    Svg,
    /// `plot.svg` and `plot.png` (needs the feature `png`).
    Png,
}

impl Pictures {
    /// All that this program can draw.
    pub const ALL: Self = if cfg!(feature = "png") { Self::Png } else { Self::Svg };

    /// Whether this program can draw them.
    ///
    /// # Errors
    /// When it cannot: with the remedy.
    pub fn available(self) -> Result<(), &'static str> {
        if self == Self::Png && Self::ALL != Self::Png {
            return Err(
                "--plot png: this program was built without PNG; build it with --features png, or ask for \
                        --plot svg, which every browser shows",
            );
        }
        Ok(())
    }
}

/// The figure of a run.
#[derive(Debug)]
pub struct Drawn {
    /// Panels in it.
    pub panels: usize,
    svg: String,
    png: Option<Vec<u8>>,
}

impl Drawn {
    /// The files, by name.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        let png = self.png.as_deref().map(|png| ("plot.png", png));
        [("plot.svg", self.svg.as_bytes())].into_iter().chain(png).collect()
    }
}

/// The plots of the run in a directory with their data, each curve thinned to so many columns.
///
/// # Errors
/// When the files of the run are missing or damaged.
pub(crate) fn read(dir: &Path, columns: usize) -> Result<(Figure, Declared), PlotError> {
    let declared = files::declared(dir)?;
    Ok((files::read(dir, declared.clone(), columns)?, declared))
}

/// Draws the figure of the run in a directory; nothing when nothing is recorded, or no picture is wanted.
///
/// # Errors
/// When the files of the run are missing or damaged.
pub fn draw(dir: &Path, wanted: Pictures) -> Result<Option<Drawn>, PlotError> {
    if wanted == Pictures::None {
        return Ok(None);
    }
    let (mut figure, _) = read(dir, files::COLUMNS)?;
    if figure.panels.is_empty() {
        return Ok(None);
    }
    // The values of distributions are on the horizontal axis.
    for panel in figure.panels.iter_mut().filter(|p| p.declared.kind.is_empty()) {
        scales::frame(&mut panel.curves, &panel.declared.axes);
    }
    let svg = figure::svg(&figure)?;
    let png = if wanted == Pictures::Png { png(&svg)? } else { None };
    Ok(Some(Drawn { panels: figure.panels.len(), svg, png }))
}

/// The picture as PNG, where this program can draw one.
#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Option<Vec<u8>>, PlotError> {
    png::render(svg).map(Some)
}

#[cfg(not(feature = "png"))]
fn png(_: &str) -> Result<Option<Vec<u8>>, PlotError> {
    Ok(None)
}
