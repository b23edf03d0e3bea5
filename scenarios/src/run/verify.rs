//! Error bars: what a run is worth, told by its own tightening.
//!
//! The scenario runs again with every tolerance, quantum, exchange band and fixed step of its units (not
//! the macro steps of couplings, which are part of what is asked) ten and a hundred times
//! smaller, and with at least twice and four times as many steps between the stops of a unit, since steps that stops cut
//! follow no tolerance. Let t₀, t₁, t₂ be the times of one event in the three runs. With errors that shrink
//! with the tolerance, |t₀ - t₁| is nearly the error of t₀, and |t₁ - t₂| that of t₁, which the
//! first difference leaves out; the bar of t₀ is twice their sum, plus two ticks for every event of
//! the unit so far, which were all rounded to ticks. The tightened runs have ticks a thousand times finer, where the
//! length of the run leaves room for them, so that what values and results inherit from ticks shows as well.
//! Time events that are equal in all runs are exact. The bar of a sample is made in the same way.
//!
//! An error that does not shrink with the tolerance, such as that of a method which misses a part of the
//! equations, shows in none of these differences. So the scenario also runs by a second family of methods,
//! implicit instead of explicit or the other way round, ten and a hundred times tighter. Where the second of
//! these runs lies beyond the bar and twice the difference of the two, the bar reaches to it.
//!
//! Events are matched by unit, name and number of occurrence. Two events whose distance is not larger
//! than their bars have no certain order, unless they are at one instant in all runs, which means
//! that one causes the other. Events of one unit share its errors: there the distance has a bar of
//! its own, made in the same way. An event whose bar reaches past the end may not be one of the run.
use super::Failure;
use crate::{
    output::{OutputError, csv, directory::SUMMARY, numbers},
    result::Line,
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap, fs, path::Path};
use superdense_kernel::time::Resolution;

/// Factors by which a run is tightened for its bars.
pub const FACTORS: [f64; 2] = [0.1, 0.01];
/// Undecided pairs that are named one by one.
const PAIRS: usize = 1000;

/// An event and how far its time may be off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventBar {
    /// Seconds, exact.
    pub time: String,
    /// Micro-step.
    pub micro: u32,
    /// Unit, or link of a shared event.
    pub unit: String,
    /// Name of the event.
    pub event: String,
    /// `private`, `shared` or `time`.
    pub kind: String,
    /// Seconds; nothing when some run lacks the event.
    pub bar: Option<f64>,
}

/// Two events whose order is not certain; the second may be the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Undecided {
    /// Unit and event, time in seconds.
    pub first: (String, String),
    /// Unit and event, time in seconds.
    pub second: (String, String),
    /// Seconds between them.
    pub gap: f64,
    /// Sum of their bars; of two events of one unit, the bar of the gap.
    pub bars: f64,
}

/// The result of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// All events of the run.
    pub events: Vec<EventBar>,
    /// The largest bar of an event, in seconds.
    pub worst_event_bar: Option<f64>,
    /// By column of `samples.csv`: the largest bar, in the unit of the output.
    pub worst_sample_bars: Vec<(String, f64)>,
    /// By name of the result: its bar, in its unit; nothing where some run lacks the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub result_bars: Vec<(String, Option<f64>)>,
    /// Pairs of events without certain order.
    pub undecided: Vec<Undecided>,
    /// Events that not all runs have: unit, event, and how many each run has: as it was asked for, ten and a
    /// hundred times tighter, and likewise by the second family.
    pub unmatched: Vec<(String, String, Vec<usize>)>,
    /// How the second family took part.
    pub second_family: SecondFamily,
    #[serde(skip)]
    samples: Vec<Vec<String>>,
}

/// How a second family of methods took part in a verification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondFamily {
    /// Its runs were compared.
    Compared,
    /// No unit has one.
    None,
    /// Its runs failed, for this reason.
    Failed(String),
}

struct Row {
    ticks: i64,
    micro: u32,
    unit: String,
    event: String,
    kind: String,
}

fn read(file: &Path) -> Result<String, Failure> {
    Ok(fs::read_to_string(file).map_err(OutputError::at(file))?)
}

/// The tick of a run of this resolution at which an event happens that another run with finer ticks has at this time.
fn ticks_of(time: &str, resolution: Resolution) -> Option<i64> {
    let places = usize::from(resolution.exponent());
    let point = time.find('.').unwrap_or(time.len());
    let (known, finer) = time.split_at(time.len().min(point + 1 + places));
    let later = finer.bytes().any(|digit| digit != b'0');
    Some(resolution.parse_ticks(known.trim_end_matches('.')).ok()? + i64::from(later))
}

fn events_of(dir: &Path, resolution: Resolution) -> Result<Vec<Row>, Failure> {
    let text = read(&dir.join("events.csv"))?;
    let row = |line: &str| {
        let fields = csv::split(line);
        let [time, micro, unit, event, kind] = &fields[..] else { return None };
        Some(Row {
            ticks: ticks_of(time, resolution)?,
            micro: micro.parse().ok()?,
            unit: unit.to_string(),
            event: event.to_string(),
            kind: kind.to_string(),
        })
    };
    Ok(text.lines().skip(1).filter_map(row).collect())
}

type Counts = HashMap<(String, String), Vec<i64>>;

fn by_name(rows: &[Row]) -> Counts {
    let mut times = Counts::new();
    for r in rows {
        times.entry((r.unit.clone(), r.event.clone())).or_default().push(r.ticks);
    }
    times
}

/// Compares the run in `dir` with its tightened twins, and with those `by_others` of a second family of
/// methods, or why there are none.
///
/// # Errors
/// When results cannot be read.
pub fn compare(
    dir: &Path,
    twins: [&Path; 2],
    by_others: Result<[&Path; 2], SecondFamily>,
    stop: i64,
    resolution: Resolution,
) -> Result<Verification, Failure> {
    let rows = events_of(dir, resolution)?;
    let others: Vec<&Path> = twins.into_iter().chain(by_others.iter().flatten().copied()).collect();
    let mut counts = vec![by_name(&rows)];
    for other in &others {
        counts.push(by_name(&events_of(other, resolution)?));
    }
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    // Located events of the unit so far: each was rounded to a tick, and later ones inherit that.
    let mut rounded: HashMap<&str, u64> = HashMap::new();
    // Per event: its ticks in the runs, if all have it.
    let mut matched: Vec<Option<Vec<i64>>> = Vec::with_capacity(rows.len());
    for r in &rows {
        let number = seen.entry((&r.unit, &r.event)).or_default();
        let key = (r.unit.clone(), r.event.clone());
        let at = |c: &Counts| c.get(&key).and_then(|t| t.get(*number)).copied();
        matched.push(counts.iter().map(at).collect());
        *number += 1;
    }
    let mut bar = |unit, kind: &str, t: &[i64]| {
        // A time event is where the scenario puts it.
        if t.iter().all(|other| *other == t[0]) && kind == "time" {
            return 0.0;
        }
        let roundings = rounded.entry(unit).or_default();
        *roundings += 1;
        width(t, *roundings, resolution)
    };
    let events: Vec<EventBar> = rows
        .iter()
        .zip(&matched)
        .map(|(r, t)| EventBar {
            time: resolution.format(r.ticks),
            micro: r.micro,
            unit: r.unit.clone(),
            event: r.event.clone(),
            kind: r.kind.clone(),
            bar: t.as_ref().map(|t| bar(&r.unit, &r.kind, t)),
        })
        .collect();
    let (samples, worst_sample_bars) = sample_bars(dir, &others)?;
    Ok(Verification {
        worst_event_bar: events.iter().filter_map(|e| e.bar).max_by(f64::total_cmp),
        undecided: undecided(&rows, &matched, &events, stop, resolution),
        events,
        worst_sample_bars,
        result_bars: result_bars(dir, &others)?,
        unmatched: unmatched(&counts),
        second_family: by_others.map_or_else(|why| why, |_| SecondFamily::Compared),
        samples,
    })
}

/// The events that do not happen equally often in all runs.
fn unmatched(counts: &[Counts]) -> Vec<(String, String, Vec<usize>)> {
    let mut names: Vec<&(String, String)> = counts.iter().flat_map(HashMap::keys).collect();
    names.sort();
    names.dedup();
    let count = |name| counts.iter().map(|c| c.get(name).map_or(0, Vec::len)).collect();
    let all = names.into_iter().map(|name| (name.0.clone(), name.1.clone(), count(name)));
    all.filter(|(_, _, counts): &(_, _, Vec<usize>)| counts.iter().any(|n| *n != counts[0]))
        .collect()
}

/// How far a value of the run may be off, from its values in all runs, if the second family's are `slack`
/// off anyway.
fn spread(off: impl Fn(usize, usize) -> f64, runs: usize, slack: f64) -> f64 {
    let own = 2.0 * (off(0, 1) + off(1, 2));
    if runs < 5 {
        return own;
    }
    let (beyond, theirs) = (off(0, 4), 2.0 * off(3, 4) + slack);
    if beyond > own + theirs { beyond + theirs } else { own }
}

/// The bar of a time that all runs have, with its roundings.
fn width(t: &[i64], roundings: u64, resolution: Resolution) -> f64 {
    let off = |a: usize, b: usize| t[a].abs_diff(t[b]) as f64;
    let ticks = spread(off, t.len(), 4.0 * roundings as f64) + 2.0 * roundings as f64;
    resolution.seconds(ticks.min((1_u64 << 60) as f64) as i64)
}

/// The bar of a number that all runs have.
fn width_of(x: &[f64]) -> f64 {
    let rounding = 4.0 * f64::EPSILON * x[0].abs();
    let off = spread(|a, b| (x[a] - x[b]).abs(), x.len(), rounding);
    if off == 0.0 { 0.0 } else { off + rounding }
}

fn undecided(
    rows: &[Row],
    matched: &[Option<Vec<i64>>],
    events: &[EventBar],
    stop: i64,
    resolution: Resolution,
) -> Vec<Undecided> {
    let widest = events.iter().filter_map(|e| e.bar).fold(0.0, f64::max);
    let name = |r: &Row| (format!("{} {}", r.unit, r.event), resolution.format(r.ticks));
    let mut pairs = Vec::new();
    for (i, (a, bar_a)) in rows.iter().zip(events).enumerate() {
        let (Some(ta), Some(bar_a)) = (&matched[i], bar_a.bar) else { continue };
        let gap = resolution.seconds(stop - a.ticks);
        if gap < bar_a && ta.iter().any(|t| *t != stop) && pairs.len() < PAIRS {
            let end = ("the end of the run".to_owned(), resolution.format(stop));
            pairs.push(Undecided { first: name(a), second: end, gap, bars: bar_a });
        }
        for (j, b) in rows.iter().enumerate().skip(i + 1) {
            let gap = resolution.seconds(b.ticks - a.ticks);
            if gap > bar_a + widest || pairs.len() >= PAIRS {
                break;
            }
            let (Some(tb), Some(bar_b)) = (&matched[j], events[j].bar) else { continue };
            let (mut bars, one_unit) = (bar_a + bar_b, a.unit == b.unit);
            if one_unit {
                let gaps: Vec<i64> = tb.iter().zip(ta).map(|(b, a)| b - a).collect();
                bars = bars.min(width(&gaps, 2, resolution));
            }
            if ta == tb || gap > bars || one_unit && a.event == b.event {
                continue;
            }
            pairs.push(Undecided { first: name(a), second: name(b), gap, bars });
        }
    }
    pairs
}

type Bars = (Vec<Vec<String>>, Vec<(String, f64)>);

fn sample_bars(dir: &Path, others: &[&Path]) -> Result<Bars, Failure> {
    let mut texts = vec![read(&dir.join("samples.csv"))?];
    for other in others {
        texts.push(read(&other.join("samples.csv"))?);
    }
    let mut tables: Vec<_> = texts.iter().map(|text| text.lines().map(csv::split)).collect();
    let mut next = || tables.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>();
    let heads = next().unwrap_or_default();
    let header: Vec<String> =
        heads.first().into_iter().flatten().map(|head| head.to_string()).collect();
    let mut worst = vec![0.0f64; header.len()];
    let mut rows = vec![header.clone()];
    let time = |line: &Vec<Cow<'_, str>>| line.first()?.parse::<f64>().ok();
    while let Some(lines) = next() {
        let mut row = vec![lines[0][0].to_string()];
        debug_assert!(lines.iter().all(|line| time(line) == time(&lines[0])), "equal instants");
        for (k, worst) in worst.iter_mut().enumerate().skip(1) {
            let field = |line: &Vec<Cow<'_, str>>| line.get(k)?.parse::<f64>().ok();
            let Some(x) = lines.iter().map(field).collect::<Option<Vec<f64>>>() else {
                row.push(String::new());
                continue;
            };
            let bar = width_of(&x);
            *worst = worst.max(bar);
            let mut text = String::new();
            numbers::real(&mut text, bar);
            row.push(text);
        }
        rows.push(row);
    }
    Ok((rows, header.into_iter().zip(worst).skip(1).collect()))
}

/// The facts of a run that bars are made of.
#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    results: serde_json::Map<String, serde_json::Value>,
}

/// The bars of the results of a run, made as those of samples are.
fn result_bars(dir: &Path, others: &[&Path]) -> Result<Vec<(String, Option<f64>)>, Failure> {
    let of = |dir: &Path| -> Result<Facts, Failure> {
        let file = dir.join(SUMMARY);
        serde_json::from_str(&read(&file)?)
            .map_err(|e| Failure::Mismatch(format!("{}: {e}", file.display())))
    };
    let runs: Vec<Facts> =
        [dir].iter().chain(others).map(|dir| of(dir)).collect::<Result<_, _>>()?;
    let number = |run: &Facts, name: &str| {
        let value = run.results.get(name)?;
        value.get("value").unwrap_or(value).as_f64()
    };
    let bar = |name: &str| {
        let x: Vec<f64> = runs.iter().map(|run| number(run, name)).collect::<Option<_>>()?;
        Some(width_of(&x))
    };
    Ok(runs[0].results.keys().map(|name| (name.clone(), bar(name))).collect())
}

/// How often an event happens in each run.
pub fn told(counts: &[usize]) -> String {
    let times = |counts: &[usize]| {
        let [run, ten, hundred] = counts else { return String::new() };
        format!("{run} times, {ten} and {hundred} times when tightened ten and a hundred times")
    };
    match counts.split_at_checked(3) {
        Some((own, [ten, hundred])) => {
            format!("{}, {ten} and {hundred} times by the second family", times(own))
        }
        _ => times(counts),
    }
}

impl Verification {
    /// The largest bar that a request for bars is about: of event times where there are events,
    /// else of samples.
    pub fn worst(&self) -> f64 {
        let samples = || self.worst_sample_bars.iter().map(|w| w.1).fold(0.0, f64::max);
        self.worst_event_bar.unwrap_or_else(samples)
    }

    /// Puts the bars into the results of the run. Instants are rounded to ticks, so that numbers in seconds are
    /// uncertain by two ticks more.
    pub fn complete(&mut self, lines: &mut [Line], resolution: Resolution) {
        let bars: HashMap<String, Option<f64>> = self.result_bars.drain(..).collect();
        for line in lines {
            let ticks = if line.unit.as_deref() == Some("s") { 2 } else { 0 };
            let bar = bars.get(&line.name).copied().flatten();
            let bar = bar.map(|bar| bar + resolution.seconds(ticks));
            if let Some(bar) = bar {
                line.outcome = line.outcome.clone().with_bar(bar);
            }
            self.result_bars.push((line.name.clone(), bar));
        }
    }

    /// `event_bars.csv`.
    pub fn event_table(&self) -> String {
        let mut text = "time,micro,unit,event,kind,bar\n".to_owned();
        for e in &self.events {
            let (unit, event) = (csv::field(&e.unit), csv::field(&e.event));
            text.push_str(&format!("{},{},{unit},{event},{},", e.time, e.micro, e.kind));
            if let Some(bar) = e.bar {
                numbers::real(&mut text, bar);
            }
            text.push('\n');
        }
        text
    }

    /// `sample_bars.csv`, with the columns of `samples.csv`.
    pub fn sample_table(&self) -> String {
        let line = |row: &Vec<String>| {
            let fields: Vec<_> = row.iter().map(|f| csv::field(f)).collect();
            fields.join(",") + "\n"
        };
        self.samples.iter().map(line).collect()
    }

    /// Why tightening did not bring the bar down to `wanted`, seen from the run before.
    pub fn why_not(&self, wanted: f64, before: Option<f64>) -> Option<String> {
        if let Some((unit, event, counts)) = self.unmatched.first() {
            return Some(format!(
                "the runs do not have the same events: '{event}' of {unit} happens {}; a trajectory that \
                 grazes a condition, or chaos, does this",
                told(counts)
            ));
        }
        let worst = self.worst();
        if before.is_some_and(|b| worst > 0.5 * b) {
            let bars: Vec<f64> = self.events.iter().filter_map(|e| e.bar).collect();
            let half = bars.len() / 2;
            let most = |b: &[f64]| b.iter().fold(0.0f64, |m, &x| m.max(x));
            let (early, late) = (most(&bars[..half]), most(&bars[half..]));
            let last = self.events.iter().rfind(|e| e.bar.is_some_and(|b| b <= wanted));
            let mut why = format!("tightening no longer shrinks the bars ({worst:.3e})");
            if late > 100.0 * early {
                why.push_str(
                    "; they grow along the run, as they do for a chaotic system, where each event \
                     amplifies the rounding of those before",
                );
            } else {
                why.push_str("; rounding or the resolution limits them");
            }
            if let Some(e) = last {
                why.push_str(&format!("; the last event within the wanted bar is at {} s", e.time));
            }
            return Some(why);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, events: &str, samples: &str) -> std::path::PathBuf {
        let dir =
            std::env::temp_dir().join(format!("superdense-verify-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("events.csv"), format!("time,micro,unit,event,kind\n{events}")).unwrap();
        fs::write(dir.join("samples.csv"), format!("time,a.x\n{samples}")).unwrap();
        fs::write(dir.join(SUMMARY), "{}").unwrap();
        dir
    }

    #[test]
    fn order_within_a_unit_and_before_the_end() {
        // `x` and `y` change places; `v` and `w` are off together; `s` and `t` have their own times.
        let run = |[x, y, v, last]: [i32; 4]| {
            let times = [("x", x), ("y", y), ("v", v), ("w", v + 5), ("s", 700), ("t", 702)];
            let mut all = [&times[..], &[("last", last), ("last", last + 1)]].concat();
            all.sort_by_key(|e| e.1);
            let kind = |t| if (700..=702).contains(&t) { "time" } else { "private" };
            let row = |(event, t): (&str, i32)| format!("0.{t:09},0,a,{event},{}\n", kind(t));
            all.into_iter().map(row).collect::<String>()
        };
        let runs = [[10, 20, 500, 1000], [24, 20, 550, 950], [25, 20, 551, 949]].map(run);
        let dirs = [0, 1, 2].map(|k| folder(&format!("order{k}"), &runs[k], "0,1\n"));
        let undecided = |stop| {
            let v = compare(
                &dirs[0],
                [&dirs[1], &dirs[2]],
                Err(SecondFamily::None),
                stop,
                Resolution::default(),
            )
            .unwrap();
            let name = |u: Undecided| format!("{}, {}", u.first.0, u.second.0);
            v.undecided.into_iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(undecided(10_000), ["a x, a y"]);
        let end = "a last, the end of the run";
        assert_eq!(undecided(1050), ["a x, a y", end, end]);
        dirs.iter().for_each(|d| fs::remove_dir_all(d).unwrap());
    }

    #[test]
    fn bars_pairs_and_missing_events() {
        let a = folder(
            "a",
            "1.000000010,0,a,hit,private\n1.000000030,0,b,hit,private\n2,0,b,tick,time\n3,0,c,rare,private\n",
            "0,1\n1,2\n",
        );
        let b = folder(
            "b",
            "1.000000001,0,a,hit,private\n1.000000031,0,b,hit,private\n2,0,b,tick,time\n",
            "0,1\n1,2.5\n",
        );
        let c = folder(
            "c",
            "1.000000000,0,a,hit,private\n1.000000031,0,b,hit,private\n2,0,b,tick,time\n",
            "0,1\n1,2.5\n",
        );
        let v =
            compare(&a, [&b, &c], Err(SecondFamily::None), 3_000_000_000, Resolution::default())
                .unwrap();
        let bars: Vec<_> = v.events.iter().map(|e| e.bar).collect();
        assert_eq!(bars, [Some(22e-9), Some(4e-9), Some(0.0), None]);
        assert_eq!(v.undecided.len(), 1, "20 ns apart, 26 ns of bars");
        assert_eq!(v.unmatched, [("c".to_owned(), "rare".to_owned(), vec![1, 0, 0])]);
        assert_eq!(v.worst_sample_bars[0].0, "a.x");
        assert!((v.worst_sample_bars[0].1 - 1.0).abs() < 1e-12);
        assert!(v.event_table().lines().nth(1).unwrap().ends_with("private,2.2e-8"));
        assert!(v.sample_table().starts_with("time,a.x\n0,0\n1,1"));
        assert!(v.why_not(1e-9, None).unwrap().contains("rare"));
        // A second family that is certain of another time moves the bar there; one that is not, does not.
        let by = |hit: &str, sample: &str| {
            let events =
                format!("{hit},0,a,hit,private\n1.000000031,0,b,hit,private\n2,0,b,tick,time\n");
            folder(&format!("by{hit}"), &events, &format!("0,1\n1,{sample}\n"))
        };
        let others = [by("1.000001000", "4"), by("1.000001005", "4")];
        let by_others = Ok([&*others[0], &*others[1]]);
        let v = compare(&a, [&b, &c], by_others, 3_000_000_000, Resolution::default()).unwrap();
        assert_eq!(v.second_family, SecondFamily::Compared);
        assert_eq!(v.events[0].bar, Some(1.011e-6), "990 ns away, 2 x 5 ns apart, and roundings");
        assert_eq!(v.unmatched[0].2, [1, 0, 0, 0, 0]);
        assert!((v.worst_sample_bars[0].1 - 2.0).abs() < 1e-12);
        others.iter().for_each(|d| fs::remove_dir_all(d).unwrap());
        [a, b, c].iter().for_each(|d| fs::remove_dir_all(d).unwrap());
    }
}
