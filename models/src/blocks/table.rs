//! `csv`: a signal from a table of times and values.
use super::playlist::{Piece, Playlist};
use crate::kinds::{
    Context, ParamError, ParamType, Params, files,
    params::{Checked, Reader, needed, with},
    ports::{ports, signal},
};
use crate::signal::NEVER;
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use std::cmp::Ordering;
use superdense_kernel::{Component, time::Resolution};

unit_kind! {
    /// `csv`: a signal from a file of comma-separated values with a header line. Output `y`.
    ///
    /// Times are seconds since the start, or dates with times (`2024-03-01T12:00:00Z`, `2024-03-01 12:00`) since
    /// that of the first row, ascending; dates without an offset are in UTC. `start` is the date of the start, if that is
    /// not the first row: a file may begin before it; before the first row the first value holds,
    /// after the last row the last one. `mode = "hold"` jumps at each row, `"linear"` joins rows
    /// by straight lines. Lines that start with `#` are comments.
    ///
    /// ```toml
    /// [unit.wind]
    /// kind = "csv"
    /// file = "wind.csv"    # beside the scenario
    /// time = "time"        # column of times, by name or else by number from 1; default the first
    /// column = "speed"     # column of values; default the second
    /// mode = "linear"
    /// ```
    Csv = "csv", "a signal from a file of comma-separated values",
    params: [
        needed("file", ParamType::File, "file beside the scenario"),
        with("column", ParamType::Text, "", "column of the values, by name or number; default 2"),
        with("time", ParamType::Text, "", "column of the times, by name or number; default 1"),
        with("mode", ParamType::Choice(&["hold", "linear"]), "hold", "between rows"),
        with("start", ParamType::Text, "", "date of the start, where times are dates; default the first row's"),
        with("separator", ParamType::Text, ",", "character between columns"),
    ],
    ports: |_| Ok(ports([], [signal("y")])),
    build: build,
}

fn build(
    params: &Params,
    context: &Context<'_>,
) -> Checked<Component<crate::signal::value::Value>> {
    let mut r = Reader::new(params);
    let path = context.folder.join(params.text("file"));
    let linear = params.text("mode") == "linear";
    let separator = params.text("separator").as_bytes();
    let ok = separator.len() == 1;
    r.check(ok, "separator", "the separator is one character", "write \",\" or \";\"");
    let separator = separator.first().copied().unwrap_or(b',');
    let rows = files::read_text(&path)
        .map_err(|e| format!("cannot read `{}`: {e}", path.display()))
        .and_then(|text| {
            let named = |key| Some(params.text(key)).filter(|name| !name.is_empty());
            let columns = [named("time"), named("column")];
            let start = match named("start") {
                None => None,
                Some(text) => {
                    Some(date(text).ok_or_else(|| format!("start: `{text}` is no date"))?)
                }
            };
            read(&text, separator, columns, (context.resolution, start))
                .map_err(|e| format!("`{}`, {e}", params.text("file")))
        });
    match rows {
        Ok(rows) => {
            let pieces = pieces(&rows, linear, context.resolution);
            let model = Playlist::new(pieces, context.resolution).beginning(begins(&rows));
            r.finish(Component::atomic(model))
        }
        Err(message) => {
            let help = "the file needs a header line, then in each row a time from 0 on, ascending, and a \
                        finite value";
            r.push(ParamError::at(params.span("file"), message).help(help));
            r.finish(()).map(|()| unreachable!("a mistake was pushed"))
        }
    }
}

/// Why a text is no time of a table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTime {
    #[error("`{0}` is no time in seconds")]
    NoNumber(String),
    #[error("`{0}` is too large")]
    TooLarge(String),
    #[error("the time {0} is negative")]
    Negative(String),
    #[error("{0} lies too far from the start")]
    TooFar(String),
}

/// Why a text is no table of times and values, with the line.
#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error("line 1: {0}")]
    Header(#[source] csv::Error),
    #[error("line 1: the file is empty")]
    Empty,
    #[error("line 1: numbers instead of the names of columns")]
    NoHeader,
    #[error("line 1: several columns have the name `{0}`; give the number of one, from 1")]
    SeveralColumns(String),
    #[error("line 1: no column `{wanted}`; there are {}", known.join(", "))]
    NoColumn { wanted: String, known: Vec<String> },
    #[error("line {line}: {}", describe(.source))]
    Record { line: u64, source: csv::Error },
    #[error("line {line}: {source}")]
    Time { line: u64, source: NoTime },
    #[error("line {line}: `{cell}` is no number")]
    NoNumber { line: u64, cell: String },
    #[error("line {line}: the value {value} is not finite")]
    NotFinite { line: u64, value: f64 },
    #[error(
        "line {line}: time {time} is on the tick of the row before; leave one of the two out, or take a finer \
         `resolution` where they differ"
    )]
    SameTick { line: u64, time: String },
    #[error("line {line}: time {time} does not lie after the row before")]
    Before { line: u64, time: String },
    #[error(
        "line {line}: time {time} lies between two ticks, which moves it by more than a hundredth of its distance to \
         the row before; take a finer `resolution`"
    )]
    Between { line: u64, time: String },
    #[error("line 2: no rows")]
    NoRows,
}

/// The number of a column that is given by name or by number from 1, else the one at `place`.
fn column(
    header: &csv::StringRecord,
    name: Option<&str>,
    place: usize,
) -> Result<usize, TableError> {
    let numbered = |n: usize| (1..=header.len()).contains(&n).then(|| n - 1);
    let found = match name {
        None => numbered(place + 1),
        Some(name) => {
            let by_name = header.iter().position(|h| h == name);
            if header.iter().filter(|h| *h == name).count() > 1 {
                return Err(TableError::SeveralColumns(name.to_owned()));
            }
            by_name.or_else(|| name.parse().ok().and_then(numbered))
        }
    };
    found.ok_or_else(|| {
        let wanted = name.map_or_else(|| (place + 1).to_string(), str::to_owned);
        TableError::NoColumn { wanted, known: header.iter().map(str::to_owned).collect() }
    })
}

/// Whether a line that should name columns holds numbers.
pub(crate) fn is_data<'a>(cells: impl IntoIterator<Item = &'a str>) -> bool {
    cells.into_iter().all(|cell| cell.trim().parse::<f64>().is_ok())
}

/// The line of the record that begins at or after `position`: blank lines and comments between
/// belong to no record.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let rest = text.get(position.byte() as usize..).unwrap_or("");
    let skipped = rest.lines().take_while(|l| l.is_empty() || l.starts_with('#')).count();
    position.line() + skipped as u64
}

/// The share of its distance to the row before by which a row may be moved to a tick.
const MOVED: f64 = 0.01;

/// Reads ticks and values; errors begin with the line number.
fn read(
    text: &str,
    separator: u8,
    columns: [Option<&str>; 2],
    (resolution, mut start): (Resolution, Option<i128>),
) -> Result<Vec<(i64, f64)>, TableError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(TableError::Header)?.clone();
    if header.is_empty() {
        return Err(TableError::Empty);
    }
    if is_data(header.iter()) {
        return Err(TableError::NoHeader);
    }
    let (time, value) = (column(&header, columns[0], 0)?, column(&header, columns[1], 1)?);
    let mut rows: Vec<(i64, f64)> = Vec::new();
    let mut record = csv::StringRecord::new();
    loop {
        let line = line_of(text, reader.position());
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(source) => return Err(TableError::Record { line, source }),
        }
        let (t, v) = (&record[time], &record[value]);
        let ticks = match date(t) {
            None => ticks(t, resolution),
            Some(date) => since(date - *start.get_or_insert(date), resolution)
                .ok_or_else(|| NoTime::TooFar(t.to_owned())),
        };
        let ticks = ticks.map_err(|source| TableError::Time { line, source })?;
        let none = |_| TableError::NoNumber { line, cell: v.to_owned() };
        let x: f64 = v.parse().map_err(none)?;
        if !x.is_finite() {
            return Err(TableError::NotFinite { line, value: x });
        }
        match rows.last().map(|(last, _)| ticks.cmp(last)) {
            None => {}
            Some(Ordering::Greater) => {
                let gap = ticks - rows.last().map_or(0, |row| row.0);
                let exact = t.parse::<f64>().unwrap_or(0.0) * resolution.ticks_per_second() as f64;
                if date(t).is_none() && (exact - ticks as f64).abs() > MOVED * gap as f64 {
                    return Err(TableError::Between { line, time: t.to_owned() });
                }
            }
            Some(Ordering::Equal) => {
                return Err(TableError::SameTick { line, time: t.to_owned() });
            }
            Some(Ordering::Less) => {
                return Err(TableError::Before { line, time: t.to_owned() });
            }
        }
        rows.push((ticks, x));
    }
    if rows.is_empty() { Err(TableError::NoRows) } else { Ok(rows) }
}

fn describe(e: &csv::Error) -> String {
    match e.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} columns instead of {expected_len}")
        }
        _ => e.to_string(),
    }
}

/// A time of a CSV file: exact where the text allows it; digits below one tick are rounded.
pub(crate) fn ticks(text: &str, resolution: Resolution) -> Result<i64, NoTime> {
    let ticks = resolution.parse_ticks(text).or_else(|_| {
        let seconds: f64 = text.parse().map_err(|_| NoTime::NoNumber(text.to_owned()))?;
        let ticks = (seconds * resolution.ticks_per_second() as f64).round();
        if ticks.abs() < 9e18 { Ok(ticks as i64) } else { Err(NoTime::TooLarge(text.to_owned())) }
    })?;
    if ticks < 0 { Err(NoTime::Negative(text.to_owned())) } else { Ok(ticks) }
}

/// Nanoseconds of a date with a time, since 1970.
fn date(text: &str) -> Option<i128> {
    let plain =
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let exact = DateTime::parse_from_rfc3339(text).ok().map(|date| date.to_utc().naive_utc());
    let local = || plain.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    let utc = exact.or_else(local).or_else(day)?.and_utc();
    Some(i128::from(utc.timestamp()) * 1_000_000_000 + i128::from(utc.timestamp_subsec_nanos()))
}

/// Ticks of so many nanoseconds after the start, or before it, if they are not too many.
fn since(nanoseconds: i128, resolution: Resolution) -> Option<i64> {
    let scaled = nanoseconds.checked_mul(i128::from(resolution.ticks_per_second()))?;
    i64::try_from((scaled + 500_000_000).div_euclid(1_000_000_000)).ok()
}

/// The first tick of a run at which a table says something: never, where all of several rows lie before its start.
fn begins(rows: &[(i64, f64)]) -> i64 {
    let over = rows.len() > 1 && rows.iter().all(|row| row.0 < 0);
    if over { NEVER } else { rows[0].0 }
}

fn pieces(rows: &[(i64, f64)], linear: bool, resolution: Resolution) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(rows.len() + 1);
    if rows[0].0 > 0 {
        pieces.push(Piece { at: 0, value: rows[0].1, slope: 0.0 });
    }
    for (k, &(at, value)) in rows.iter().enumerate() {
        let slope = match rows.get(k + 1) {
            Some(&(end, next)) if linear => (next - value) / resolution.seconds(end - at),
            _ => 0.0,
        };
        let same = |p: &Piece| p.slope == slope && slope == 0.0 && p.value == value;
        if !pieces.last().is_some_and(same) {
            pieces.push(Piece { at, value, slope });
        }
    }
    // Of rows before the start the last one counts.
    let first = pieces.iter().rposition(|p| p.at <= 0).unwrap_or(0);
    let mut pieces = pieces.split_off(first);
    if let Some(first) = pieces.first_mut().filter(|p| p.at < 0) {
        first.value += first.slope * resolution.seconds(-first.at);
        first.at = 0;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::testing::Bench;

    const NANO: Resolution = Resolution::NANO;

    #[test]
    fn rows_become_pieces() {
        let text = "time, a, b\n# comment\n0.1, 1, 2\n0.2, 3, 2\n0.30000000000000004, 3, 5\n";
        let rows = read(text, b',', [None, Some("b")], (NANO, None)).unwrap();
        assert_eq!(rows, [(100_000_000, 2.0), (200_000_000, 2.0), (300_000_000, 5.0)]);
        let hold: Vec<i64> = pieces(&rows, false, NANO).iter().map(|p| p.at).collect();
        assert_eq!(hold, [0, 300_000_000]);
        let slopes: Vec<f64> = pieces(&rows, true, NANO).iter().map(|p| p.slope).collect();
        assert_eq!(slopes[..2], [0.0, 3.0 / 0.1]);
    }

    #[test]
    fn columns_by_name_or_by_place() {
        let text = "time,1,2\n0,10,20\n";
        let value =
            |time, column| read(text, b',', [time, column], (NANO, None)).map(|rows| rows[0].1);
        assert_eq!(value(None, None).unwrap(), 10.0);
        assert_eq!(value(None, Some("2")).unwrap(), 20.0);
        assert_eq!(value(None, Some("3")).unwrap(), 20.0);
        assert!(
            read("t\n0\n", b',', [None, None], (NANO, None))
                .is_err_and(|e| e.to_string().contains("no column `2`"))
        );
    }

    #[test]
    fn dates_are_times_since_the_first_or_the_start() {
        let text = "t,x\n2024-02-28T23:59:58.5Z,1\n2024-02-29T01:00:00+01:00,2\n2024-03-01,3\n2024-03-01 00:00:00.25,4\n";
        let at = |start: Option<&str>| {
            let start = start.map(|text| date(text).unwrap());
            let rows = read(text, b',', [None, None], (NANO, start));
            rows.map(|rows| rows.iter().map(|row| row.0).collect::<Vec<_>>())
        };
        let second = 1_000_000_000;
        let from_first =
            [0, 3 * second / 2, 86_401 * second + second / 2, 86_401 * second + 3 * second / 4];
        assert_eq!(at(None).unwrap(), from_first);
        let from_start = at(Some("2024-02-28 23:59")).unwrap();
        assert_eq!(from_start, from_first.map(|t| t + 58 * second + second / 2));
        let late = at(Some("2024-03-01")).unwrap();
        assert_eq!(late, from_first.map(|t| t - from_first[2]));
        let why = at(Some("1600-01-01")).unwrap_err().to_string();
        assert!(why.ends_with("lies too far from the start"), "{why}");
        let rows: Vec<(i64, f64)> = late.into_iter().zip([1.0, 2.0, 3.0, 4.0]).collect();
        let of = |linear| {
            pieces(&rows, linear, NANO).iter().map(|p| (p.at, p.value)).collect::<Vec<_>>()
        };
        assert_eq!(of(false), [(0, 3.0), (second / 4, 4.0)]);
        assert_eq!(of(true), [(0, 3.0), (second / 4, 4.0)]);
        // A day earlier, between two rows.
        let rows: Vec<(i64, f64)> = rows.iter().map(|&(t, x)| (t + 43_200 * second, x)).collect();
        let started = |linear| {
            let first = pieces(&rows, linear, NANO)[0];
            (first.at, first.value)
        };
        assert_eq!(started(false), (0, 2.0));
        let (at, value) = started(true);
        assert!(at == 0 && (value - 2.5).abs() < 1e-12, "{value}");
    }

    #[test]
    fn mistakes_name_the_line() {
        let cases = [
            ("t,x\n0,1\n1,zwei\n", "line 3: `zwei` is no number"),
            ("t,x\n0,1\n1\n", "line 3: 1 columns instead of 2"),
            (
                "t,x\n1,1\n\n# note\n1.0000000000001,2\n",
                "line 5: time 1.0000000000001 is on the tick of the row before; leave one of the two \
                 out, or take a finer `resolution` where they differ",
            ),
            ("t,x\n1,1\n0,2\n", "line 3: time 0 does not lie after the row before"),
            ("", "line 1: the file is empty"),
            (
                "t,x,x\n1,1,2\n",
                "line 1: several columns have the name `x`; give the number of one, from 1",
            ),
            ("t,x\nnow,1\n", "line 2: `now` is no time in seconds"),
            ("t,x\n-1,1\n", "line 2: the time -1 is negative"),
            ("t,x\n0,inf\n", "line 2: the value inf is not finite"),
            ("t,x\n", "line 2: no rows"),
            ("t,y\n0,1\n", "line 1: no column `x`; there are t, y"),
            ("0,1\n1,2\n", "line 1: numbers instead of the names of columns"),
            (
                "t,x\n0,1\n2.5e-9,2\n",
                "line 3: time 2.5e-9 lies between two ticks, which moves it by more than a hundredth of its distance \
                 to the row before; take a finer `resolution`",
            ),
        ];
        for (text, expected) in cases {
            let why = read(text, b',', [Some("t"), Some("x")], (NANO, None)).unwrap_err();
            assert_eq!(why.to_string(), expected);
        }
    }

    #[test]
    fn a_file_as_a_signal() {
        let folder = std::env::temp_dir().join(format!("superdense-csv-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("wind.csv"), "t,v\n0,0\n2,4\n3,4\n").unwrap();
        let text = "[unit.w]\nkind='csv'\nfile='wind.csv'\nmode='linear'";
        let bench = Bench::run_in(&folder, text, 5.0);
        assert_eq!((bench.held("w.y", 1.5), bench.held("w.y", 4.0)), (3.0, 4.0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
