//! A timeline of what the workers of a parallel run did, one track each, in the trace format that
//! Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` show.
use std::path::Path;

/// Writes the file while it lives; what it still holds when it is dropped, too.
pub struct Timeline {
    #[cfg(feature = "timeline")]
    _guard: tracing_chrome::FlushGuard,
}

impl std::fmt::Debug for Timeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Timeline")
    }
}

impl Timeline {
    /// Starts a timeline of this process; there can be one.
    ///
    /// # Errors
    /// A file that cannot be written; a program without the feature `timeline`; a second timeline.
    #[cfg(feature = "timeline")]
    pub fn start(file: &Path) -> Result<Self, String> {
        use tracing_chrome::{ChromeLayerBuilder, TraceStyle};
        use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
        let shown = file.display();
        let writer = std::fs::File::create(file).map_err(crate::output::OutputError::at(file));
        let writer = writer.map_err(|e| e.to_string())?;
        // Tracks by root span: threads take workers in turn, so theirs would be something else.
        let (layer, guard) = ChromeLayerBuilder::new()
            .writer(writer)
            .trace_style(TraceStyle::Async)
            .include_args(true)
            .include_locations(false)
            .build();
        let started = tracing_subscriber::registry().with(layer).try_init();
        started.map_err(|e| format!("{shown}: no timeline can be started: {e}"))?;
        Ok(Self { _guard: guard })
    }

    /// Says what is missing.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "timeline"))]
    pub fn start(_: &Path) -> Result<Self, String> {
        Err("this program writes no timelines; build it with --features timeline".to_owned())
    }
}
