//! The PNG: the SVG, rendered with the font that the program carries.
use super::{FONT, PlotError, figure::FAMILY};
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Pixels per unit of the SVG, for print and dense screens.
const DENSITY: f32 = 2.0;
/// Most pixels: what is larger is drawn less dense.
const PIXELS: f32 = 64e6;

/// Renders an SVG of [`super::figure`].
pub(super) fn render(svg: &str) -> Result<Vec<u8>, PlotError> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: FAMILY.to_owned(),
        ..usvg::Options::default()
    };
    let draw = |e: &dyn std::fmt::Display| PlotError::Draw(e.to_string());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| draw(&e))?;
    let size = tree.size();
    let density = DENSITY.min((PIXELS / (size.width() * size.height())).sqrt());
    let (width, height) = (size.width() * density, size.height() * density);
    let mut image = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| draw(&"the picture is too large"))?;
    image.fill(tiny_skia::Color::WHITE);
    let scale = tiny_skia::Transform::from_scale(density, density);
    resvg::render(&tree, scale, &mut image.as_mut());
    image.encode_png().map_err(|e| draw(&e))
}
