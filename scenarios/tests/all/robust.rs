//! No input panics, hangs or eats the memory.
use crate::{Folder, results::run};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use superdense::Overrides;

/// Plans bytes; a mistake is as good as a plan, as long as it can be drawn.
fn survives(bytes: &[u8]) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("fuzz{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let file = folder.write("s.toml", bytes);
    let start = Instant::now();
    if let Err(d) = superdense::load(&file, &[], &Overrides::default()) {
        assert!(!d.is_empty());
        d.mistakes().iter().for_each(|m| crate::has_a_remedy("fuzz", m));
        let text = d.render(false);
        assert!(text.contains("mistake"));
        d.render(true);
    }
    let taken = start.elapsed();
    // Only a hang fails; how long the rest takes depends on the machine.
    assert!(taken < Duration::from_secs(300), "{taken:?}: {}", String::from_utf8_lossy(bytes));
}

const SEEDS: [&str; 3] = [
    r#"stop = "2 s"
resolution = "ps"
sample = 0.01
connections = ["a.y -> b[*].u", "b[i].y -> c.u[i] for i in 0..2", "c.y -> n.u via detect(0.5)"]
record = ["sum(b[*].y)", "n.count"]
[parameters]
k = "2*m"
m = "10 Mb/s"
[unit.a]
kind = "sine"
frequency = "2 Hz"
[unit.b]
kind = "gain"
gain = "k + i"
count = 2
[unit.c]
kind = "sum"
[unit.n]
kind = "counter"
[[plot]]
y = ["b[*].y"]
style = "line"
"#,
    r#"stop = 1.5
[unit.p]
template = "t"
count = 3
r = "i"
[template.t]
parameters = { r = 1 }
outputs = { y = "s.y" }
[template.t.unit.s]
kind = "constant"
value = "r"
"#,
    r#"stop = 1
[unit.a]
kind = "equations"
states = { x = 0, v = 1 }
derivatives = { x = "v", v = "-x" }
outputs = { x = "x" }
[[unit.a.event]]
name = "e"
when = "x >= 0.5"
reset = { v = "-v" }
[unit.b]
kind = "equations"
states = { x = 1 }
derivatives = { x = "0" }
[[link]]
name = "hit"
units = ["a", "b"]
when = "a.x >= b.x"
reset = { "a.v" = "-a.v" }
"#,
];

/// Pieces that have a meaning somewhere.
const PIECES: [&str; 40] = [
    "[",
    "]",
    "[[",
    "{",
    "}",
    "\"",
    "'",
    "=",
    ".",
    ",",
    "->",
    "via",
    " for i in 0..9",
    "[*]",
    "i",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "9999999999999999999",
    "unit",
    "template",
    "count",
    "kind",
    "equations",
    "link",
    "\n",
    "#",
    "\\u00e9",
    "\\",
    "é",
    "stop",
    "include = ['s.toml']\n",
    "~",
    "/",
    "..",
    "(",
    ")",
    "100000",
];

#[derive(Debug, Clone)]
enum Change {
    Delete(usize, usize),
    Insert(usize, usize),
    Repeat(usize, usize),
    Swap(usize, usize),
}

fn apply(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        let n = bytes.len().max(1);
        match *change {
            Change::Delete(at, len) => {
                let at = at % n;
                let end = (at + len % 30).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            Change::Insert(at, piece) => {
                let at = (at % n).min(bytes.len());
                bytes.splice(at..at, PIECES[piece % PIECES.len()].bytes());
            }
            Change::Repeat(at, len) => {
                let at = (at % n).min(bytes.len());
                let end = (at + len % 60).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            Change::Swap(a, b) => {
                if !bytes.is_empty() {
                    bytes.swap(a % n, b % n);
                }
            }
        }
    }
    bytes
}

fn change() -> impl Strategy<Value = Change> {
    let at = || 0usize..100_000;
    prop_oneof![
        (at(), at()).prop_map(|(a, b)| Change::Delete(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Insert(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Repeat(a, b)),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survives(&bytes);
    }

    #[test]
    fn pieces(parts in prop::collection::vec(0usize..PIECES.len(), 0..60)) {
        let text: String = parts.iter().map(|&p| PIECES[p]).collect();
        survives(text.as_bytes());
    }

    #[test]
    fn mutations(seed in 0usize..3, changes in prop::collection::vec(change(), 1..6)) {
        survives(&apply(SEEDS[seed], &changes));
    }
}

#[test]
fn seeds_are_valid() {
    for seed in SEEDS {
        crate::plan(seed).unwrap_or_else(|d| panic!("{d}"));
    }
}

#[test]
fn hostile_texts() {
    let deep = |open: &str, close: &str, n: usize| {
        format!("stop = 1\nx = {}1{}", open.repeat(n), close.repeat(n))
    };
    let chain: String = (0..5000).map(|i| format!("p{i} = 'p{}'\n", i + 1)).collect();
    let keys: String = (0..20_000).map(|i| format!("k{i} = {i}\n")).collect();
    let texts = [
        deep("[", "]", 100_000),
        deep("{a=", "}", 100_000),
        format!("stop = 1\n[{}]", ["a"; 100_000].join(".")),
        format!("stop = 1\n{} = 1", ["a"; 100_000].join(".")),
        format!("stop = 1\n[parameters]\nx = '{}1{}'", "(".repeat(100_000), ")".repeat(100_000)),
        format!("stop = 1\n[parameters]\nx = '{}1'", "-".repeat(60_000)),
        format!("stop = 1\n[parameters]\n{chain}p5000 = 1"),
        format!("stop = 1\n[parameters]\n{chain}p5000 = 'p0'"),
        format!("stop = 1\n[unit]\n{keys}"),
        format!("stop = 1\n{keys}"),
        format!("stop = 1\nconnections = ['{}']", "a.b -> ".repeat(10_000)),
        format!("stop = 1\nconnections = ['a.b -> c.d{}']", " for i in 0..9".repeat(1000)),
        // A mistake beyond the columns that can be drawn.
        format!("stop = 1{}]", " ".repeat(70_000)),
        format!("stop = 1\nconnections = [{} 'x.y -> z.u']", "'a.y -> b.u', ".repeat(6000)),
        format!("stop = 1\nx = '{}'\nstop = 2", "x".repeat(70_000)),
        "stop = 1\nconnections = ['a.b -> c.d for i in 0..9999999, j in 0..9999999']".into(),
        "stop = 1\nrecord = ['sum(sum(sum(a.b)))', 'a', '[].', '(', 'a.b[', '*.*']".into(),
        "stop = 1\nresolution = 'as'\nsample = 1e-18".into(),
        "stop = 1e300".into(),
        "stop = nan\nsample = inf".into(),
        "\u{feff}stop = 1".into(),
        "stop = 1\n[unit.a]\nkind='gain'\ngain=1\ncount=9223372036854775807".into(),
        "stop = 1\n[unit.a]\ntemplate='t'\ncount=1000000\n[template.t.unit.b]\ntemplate='u'\n\
         count=1000000\n[template.u.unit.c]\nkind='constant'\nvalue=1\ncount=1000000"
            .into(),
        "stop = 1\n[unit.a]\nkind='sum'\nsigns='+'\n"
            .replace("'+'", &format!("'{}'", "+".repeat(70_000))),
        "stop = 1\n[unit.a]\nkind='product'\ninputs=2000000000\n".into(),
    ];
    for text in texts {
        survives(text.as_bytes());
    }
}

/// Of a long line what is around the mistake is drawn.
#[test]
fn long_lines_are_clipped() {
    let text = format!("stop = 1\nconnections = [{}'a.y -> b.u']", "'a.y -> b.u', ".repeat(6000));
    let told = crate::plan(&text).unwrap_err().render(false);
    assert!(told.contains("scenario.toml:2:") && told.contains("a.y -> b.u"), "{told}");
    let longest = told.lines().map(str::len).max().unwrap();
    assert!(longest < 5000, "a line of {longest} bytes");
}

/// Templates within templates, each with the one below twice.
fn doubling(levels: usize, given: &str) -> String {
    let level = |k: usize| {
        let below = |name: &str| match k {
            0 => format!("[template.t0.unit.{name}]\nkind = 'constant'\nvalue = 1\n"),
            _ => format!("[template.t{k}.unit.{name}]\ntemplate = 't{}'\n{given}\n", k - 1),
        };
        format!("[template.t{k}]\nparameters = {{ p = 1 }}\n{}{}", below("a"), below("b"))
    };
    let templates: String = (0..levels).map(level).collect();
    format!("stop = 1\n[unit.top]\ntemplate = 't{}'\n{templates}", levels - 1)
}

/// Sizes that multiply beyond all bounds are refused before anything is made.
#[test]
fn what_multiplies_is_counted_first() {
    let sums = "stop = 1\n[unit.u]\nkind = 'equations'\nstates = { 'x[i in 1..=N]' = 1 }\n\
                derivatives = { 'x[i]' = 'sum(x[k] for k in 1..=N)' }\n[parameters]\nN = 30_000\n";
    let helper = "stop = 1\n[unit.u]\nkind = 'equations'\nstates = { 'x[i in 1..=N]' = 1 }\n\
                  let = { s = 'sum(x[k] for k in 1..=N)' }\n\
                  derivatives = { 'x[i]' = 's - x[i]' }\n[parameters]\nN = 30_000\n";
    let events = "stop = 1\n[unit.u]\nkind = 'equations'\nstates = { 'x[i in 1..=N]' = 1 }\n\
                  derivatives = { 'x[i]' = '0' }\n[parameters]\nN = 20_000\n\
                  [[unit.u.event]]\nname = 'e'\nfor = 'i in 1..=N'\n\
                  when = 'sum(x[k] for k in 1..=N) > i'\n";
    let cases = [
        (doubling(31, ""), "4294967296 units", "toml:2:"),
        (doubling(31, "p = 'p + 1'"), "4294967296 units", "toml:2:"),
        (
            doubling(31, "").replace("[unit.top]\ntemplate = 't30'\n", ""),
            "4294967295 units",
            "toml:",
        ),
        (doubling(41, ""), "is a template in 32 others", "toml:"),
        (sums.to_owned(), "operations: this one 59999, times 30000", "toml:5:"),
        (helper.to_owned(), "more than 1000000 operations: this one", "toml:6:"),
        (events.to_owned(), "operations: this one", "toml:11:"),
    ];
    for (text, why, place) in cases {
        let start = std::time::Instant::now();
        let told = crate::plan(&text).expect_err(why).render(false);
        let head: String = text.chars().take(200).collect();
        // Lines of messages are wrapped.
        let plain = told.split_whitespace().filter(|w| *w != "|").collect::<Vec<_>>().join(" ");
        assert!(plain.contains(why) && told.contains(place), "{told}\nfor {head}");
        assert!(told.contains("help"), "{told}");
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 30, "{seconds} s for {head}");
    }
}

/// Macro steps grow again after an event: its short steps tell of the kink. Samples from before it gave a slope that
/// was wrong for ever, and kept the steps at 3 ms: 139 042 steps at 1e-5, 1 154 075 at 2e-6.
#[test]
fn macro_steps_grow_after_an_event() {
    let text = "stop = '30 min'\nconnections = ['a.T -> b.Th', 'b.T -> a.Tc']\n\
                [coupling]\nstep = '1 s'\ntolerance = @\nextrapolation = 2\ncorrection = 'pessimistic'\n\
                [unit.a]\nkind = 'equations'\ninputs = { Tc = 20 }\nstates = { T = 90 }\n\
                derivatives = { T = '(0.5*(90 + 5*sin(0.01*t) - T) - 0.3*(T - Tc))/60' }\noutputs = { T = 'T' }\n\
                exchange_tolerance = 1e-9\n\
                [unit.b]\nkind = 'equations'\ninputs = { Th = 90 }\nstates = { T = 20 }\ndiscrete = { on = 1 }\n\
                derivatives = { T = '(0.2*(20 - T)*on + 0.3*(Th - T))/80' }\noutputs = { T = 'T' }\n\
                exchange_tolerance = 1e-9\n\
                [[unit.b.event]]\nname = 'hot'\nwhen = 'T >= 50'\nreset = { on = 2 }\n\
                [[unit.b.event]]\nname = 'cold'\nwhen = 'T <= 46'\nreset = { on = 1 }\n";
    let steps = |tolerance: &str| run(&text.replace('@', tolerance), &[]).summary.macro_steps;
    let counts = ["1e-5", "8e-6", "2e-6"].map(steps);
    assert!(counts.is_sorted() && counts[2] < 1200, "{counts:?}");
}
