//! Rows of a comparison, as JSON lines or as a table with targets.
use serde::Serialize;

/// One comparison. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `LI`, `hold`, ...; every variant has a suffix (`HI+10us`, `hold-bimodal`, `LI-build`).
    pub workload: String,
    /// `300x300` (width x depth), or the number of entities.
    pub size: String,
    /// Our seconds of simulation, without the build (`-build`: of the build).
    pub ours_s: f64,
    /// The peer.
    pub peer: &'static str,
    /// The peer's seconds of simulation, without the build.
    pub peer_s: f64,
    /// `peer_s / ours_s`: above 1, we are faster.
    pub ratio: f64,
    /// Our peak memory.
    pub ours_peak_bytes: u64,
    /// The peer's peak memory.
    pub peer_peak_bytes: u64,
}

/// The bound that a row has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// At least this ratio.
    Ratio(f64),
    /// At least this ratio, and at most this share of the peer's peak memory.
    RatioAndMemory(f64, f64),
    /// At most this peak memory, in bytes.
    Peak(u64),
}

/// The target of a row, if it has one.
pub fn target(row: &Row) -> Option<Target> {
    let (workload, size) = (row.workload.as_str(), row.size.as_str());
    let target = match (workload, size, row.peer) {
        ("HI" | "HO", "300x300", "xdevs") => Target::RatioAndMemory(15.0, 0.25),
        ("LI", "300x300", "xdevs") => Target::RatioAndMemory(6.0, 0.25),
        ("HOmod", "30x30", "xdevs") => Target::RatioAndMemory(4.0, 0.25),
        ("LI-1e6", ..) => Target::Peak(1_500_000_000),
        (w, _, "xdevs") if w.ends_with("us") => Target::Ratio(0.97),
        // The build must take less than 0.3 of the peer's run.
        (w, _, "xdevs") if w.ends_with("-build") => Target::Ratio(1.0 / 0.3),
        ("hold" | "ring", "1024", "bare-heap") => Target::Ratio(1.0 / 0.9),
        ("hold" | "ring", "65536", "bare-heap") => Target::Ratio(1.0),
        ("exchange", ..) => Target::Ratio(0.2),
        ("bounces-closed", ..) => Target::Ratio(1.0 / 10.0),
        ("bounces-rk45", ..) => Target::Ratio(1.0 / 60.0),
        ("hold", _, "nexosim") => Target::Ratio(10.0),
        ("ring", _, "nexosim") => Target::Ratio(8.0),
        // No distribution may cost more than twice the bare heap.
        (w, _, "bare-heap") if !w.contains("list-heap") && !w.contains("list-priority") => {
            Target::Ratio(0.5)
        }
        _ => return None,
    };
    Some(target)
}

/// Whether a row meets its target.
pub fn met(row: &Row, target: Target) -> bool {
    let memory = |share: f64| row.ours_peak_bytes as f64 <= share * row.peer_peak_bytes as f64;
    match target {
        Target::Ratio(least) => row.ratio >= least,
        Target::RatioAndMemory(least, share) => row.ratio >= least && memory(share),
        Target::Peak(most) => row.ours_peak_bytes <= most,
    }
}

/// The line above the table.
pub fn heading() -> String {
    format!(
        "{:<24} {:>8} {:<10} {:>9} {:>9} {:>8} {:>8} {:>8}  target",
        "workload", "size", "peer", "ours s", "peer s", "ratio", "ours MB", "peer MB"
    )
}

/// A row of the table.
pub fn line(row: &Row) -> String {
    let verdict = target(row).map_or(String::new(), |t| {
        let what = match t {
            Target::Ratio(least) => format!("ratio >= {least:.3}"),
            Target::RatioAndMemory(least, share) => {
                format!("ratio >= {least:.0}, memory <= {share} of peer")
            }
            Target::Peak(most) => format!("peak <= {} MB", most / 1_000_000),
        };
        format!("{what}: {}", if met(row, t) { "met" } else { "NOT MET" })
    });
    let mb = |bytes: u64| bytes as f64 / 1e6;
    format!(
        "{:<24} {:>8} {:<10} {:>9.3e} {:>9.3e} {:>8.3} {:>8.1} {:>8.1}  {verdict}",
        row.workload,
        row.size,
        row.peer,
        row.ours_s,
        row.peer_s,
        row.ratio,
        mb(row.ours_peak_bytes),
        mb(row.peer_peak_bytes),
    )
}
