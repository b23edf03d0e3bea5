//! Remarks on events that a user may not expect, or miss.
use crate::results::{run, value};

/// A bucket that is full as a jug comes; both in one unit, or the jug in another.
const BUCKET: &str = "stop = '11 s'\n[unit.b]\nkind = 'equations'\nstates = { x = 0 }\nderivatives = { x = '0.5' }\n\
                      outputs = { x = 'x' }\n[[unit.b.event]]\nname = 'tip'\nwhen = 'x >= 1'\nreset = { x = '0' }\n";
const JUG: &str = "[[unit.b.event]]\nname = 'jug'\nevery = '2 s'\nreset = { x = 'x + 1' }\n";
const OTHER: &str = "[[unit.b.on]]\ninput = 'jug'\nreset = { x = 'x + 1' }\n[unit.c]\nkind = 'clock'\nperiod = '2 s'\noffset = '2 s'\n";

fn says(done: &superdense::run::memory::Finished, part: &str) -> usize {
    done.summary.notes.iter().filter(|note| note.contains(part)).count()
}

#[test]
fn conditions_that_are_made_true_again() {
    let tips = "[result]\nn = \"count(event('b', 'tip'))\"\n";
    let whole = run(&format!("{BUCKET}{JUG}{tips}"), &[]);
    assert_eq!(value(&whole, "n"), Some(1.0));
    assert_eq!(says(&whole, "`tip` ended its condition"), 1, "{:?}", whole.summary.notes);
    let head = "connections = ['c.y -> b.jug']\n";
    let inputs = BUCKET.replace("states", "event_inputs = ['jug']\nstates");
    let divided = run(&format!("{head}{inputs}{OTHER}{tips}"), &[]);
    assert_eq!(says(&divided, "`tip` ended its condition"), 1, "{:?}", divided.summary.notes);
    // As the remark says: behind the other event it sees the jug, and the bucket is emptied each time.
    let (bucket, tip) = BUCKET.split_once("[[unit.b.event]]").unwrap();
    let mended = run(&format!("{bucket}{JUG}[[unit.b.event]]{tip}{tips}"), &[]);
    assert_eq!(value(&mended, "n"), Some(5.0));
    assert_eq!(says(&mended, "ended its condition"), 0, "{:?}", mended.summary.notes);
}

/// Three bodies that meet at one instant.
#[test]
fn bodies_that_meet_at_one_instant() {
    let text = "stop = '3 s'\n[unit.c]\nkind = 'equations'\n\
                states = { 'x[i in 0..3]' = 'i - 1', 'v[i in 0..3]' = '1 - i' }\n\
                derivatives = { 'x[i]' = 'v[i]', 'v[i]' = '0' }\noutputs = { 'x[i]' = 'x[i]' }\n\
                [[unit.c.event]]\nname = 'hit'\nfor = 'i in 0..2'\nwhen = 'x[i] >= x[i+1] and v[i] > v[i+1]'\n\
                reset = { 'v[i]' = 'v[i+1]', 'v[i+1]' = 'v[i]' }\n";
    let done = run(text, &[]);
    assert_eq!(says(&done, "`hit[0]` ended its condition"), 1, "{:?}", done.summary.notes);
}

/// A signal that was foretold to cross its threshold, and turns back on it.
#[test]
fn signals_that_turn_back_on_a_threshold() {
    let text = "stop = '3 s'\nconnections = ['s.y -> e.w']\n[unit.s]\nkind = 'equations'\nstates = { x = 2, v = -1 }\n\
                derivatives = { x = 'v', v = '0' }\noutputs = { y = 'x' }\n[[unit.s.event]]\nname = 'turn'\n\
                at = '1 s'\nreset = { v = '1' }\n\
                [unit.e]\nkind = 'equations'\ninputs = { w = 2 }\ndiscrete = { n = 0 }\noutputs = { n = 'n' }\n\
                [[unit.e.event]]\nname = 'below'\nwhen = 'w < 1'\nreset = { n = 'n + 1' }\n[result]\nn = 'final(e.n)'\n";
    let done = run(text, &[]);
    // λ comes before the news.
    assert_eq!(value(&done, "n"), Some(1.0));
    assert_eq!(says(&done, "turned back just there"), 1, "{:?}", done.summary.notes);
    let block =
        text.replace("s.y -> e.w", "s.y -> d.u").split_once("[unit.e]").unwrap().0.to_owned()
            + "[unit.d]\nkind = 'detector'\nthreshold = 1\ndirection = 'falling'\n";
    let done = run(&block, &[]);
    assert_eq!(says(&done, "turned back just there"), 1, "{:?}", done.summary.notes);
    let past = run(&text.replace("w < 1", "w < 1.5"), &[]);
    assert_eq!((value(&past, "n"), says(&past, "just there")), (Some(1.0), 0));
}

/// A way out of the first mode that is open from the beginning.
#[test]
fn ways_out_that_are_open_at_the_start() {
    let text = "stop = '2 h'\n[unit.r]\nkind = 'equations'\nstates = { T = 25 }\noutputs = { T = 'T' }\n\
                [unit.r.mode.off]\nderivatives = { T = '(30 - T)/3600' }\n[[unit.r.mode.off.event]]\nname = 'cool'\n\
                when = 'T >= 22'\nto = 'on'\n[unit.r.mode.on]\nderivatives = { T = '(10 - T)/3600' }\n\
                [[unit.r.mode.on.event]]\nname = 'halt'\nwhen = 'T <= 20'\nto = 'off'\n";
    let done = run(text, &[]);
    assert_eq!(says(&done, "`cool` leads to another mode"), 1, "{:?}", done.summary.notes);
    let colder = run(&text.replace("T = 25", "T = 21"), &[]);
    assert_eq!(says(&colder, "leads to another mode"), 0, "{:?}", colder.summary.notes);
}

/// A message of the start makes the condition true, and the event happens.
#[test]
fn a_way_out_that_a_message_of_the_start_opens() {
    let lift = "stop = '10 s'\nconnections = ['calls.y -> lift.call']\n[unit.calls]\nkind = 'schedule'\ntimes = ['0 s']\n\
                values = [2]\n[unit.lift]\nkind = 'equations'\nevent_inputs = ['call']\nstates = { z = 0 }\n\
                discrete = { goal = 0 }\noutputs = { z = 'z' }\n[[unit.lift.on]]\ninput = 'call'\n\
                reset = { goal = 'value' }\n[unit.lift.mode.closed]\n[[unit.lift.mode.closed.event]]\nname = 'up'\n\
                when = '3*goal > z'\nto = 'rise'\n[unit.lift.mode.rise]\nderivatives = { z = '1.5' }\n\
                [[unit.lift.mode.rise.event]]\nname = 'there'\nwhen = 'z >= 3*goal'\nto = 'closed'\n\
                [result]\nt = \"first(event('lift', 'there'))\"\n";
    let done = run(lift, &[]);
    assert_eq!(value(&done, "t"), Some(4.0));
    assert_eq!(says(&done, "nothing happens before"), 0, "{:?}", done.summary.notes);
}

/// A relay without hysteresis in a unit of its own flips at a pace that the `exchange_tolerance` gives, for ever.
#[test]
fn relays_in_a_unit_of_their_own() {
    let text = "stop = '2.1 s'\nconnections = ['room.T -> relay.T', 'relay.q -> room.q']\n[unit.room]\n\
                kind = 'equations'\nstates = { T = 18 }\ninputs = { q = 0 }\nderivatives = { T = 'q' }\n\
                outputs = { T = 'T' }\nexchange_tolerance = TOLERANCE\n[unit.relay]\nkind = 'equations'\ninputs = { T = 18 }\n\
                outputs = { q = 'if T > 20 then -1 else 1' }\n";
    let told = |tolerance: &str| {
        let done = run(&text.replace("TOLERANCE", tolerance), &[]);
        (says(&done, "units send each other to and fro"), done.summary.notes)
    };
    let (count, notes) = told("1e-6");
    assert_eq!(count, 1, "{notes:?}");
    // Within 0.1 s it flips some thousand times: slow enough to be meant.
    let (count, notes) = told("2e-5");
    assert_eq!(count, 0, "{notes:?}");
}

/// A ball at rest falls when its floor goes away, and stays when something else happens.
#[test]
fn what_rests_wakes_by_what_it_rests_on() {
    let text = "stop = '9 s'\n[unit.b]\nkind = 'equations'\nstates = { x = 1.25, v = 0 }\ndiscrete = { ground = 0, n = 0 }\n\
                derivatives = { x = 'v', v = '-10' }\noutputs = { x = 'x' }\n[[unit.b.event]]\nname = 'bounce'\n\
                when = 'x <= ground and v < 0'\nreset = { x = 'ground', v = '-0.5*v' }\n\
                rest = { within = '1 us', x = 0, v = 0 }\n[[unit.b.event]]\nname = 'drop'\nat = '8 s'\n\
                reset = { @ }\n[result]\nx = 'at(b.x, 8.4 s)'\n";
    for (method, reset, x) in [
        ("rk45", "ground = '-1.25'", -0.8),
        ("closed", "ground = '-1.25'", -0.8),
        ("qss3", "ground = '-1.25'", -0.8),
        ("rk45", "n = '1'", 0.0),
    ] {
        let text = text
            .replace('@', reset)
            .replace("'equations'", &format!("'equations'\nmethod = '{method}'"));
        let found = value(&run(&text, &[]), "x").unwrap();
        assert!((found - x).abs() < 1e-3, "{method}, {reset}: {found}, not {x}");
    }
}

/// A limiter turns the signal by the crossing itself: nothing was foretold wrongly.
#[test]
fn crossings_that_turn_the_signal() {
    let text = "stop = '0.1 s'\nsample = 'none'\nconnections = ['ck.y -> c.start', \
                'd.i -> c.trip via detect(40, rising)', 'c.on -> d.on']\n[unit.ck]\nkind = 'clock'\nperiod = '1 ms'\n\
                [unit.c]\nkind = 'automaton'\nstates = ['idle', 'on', 'off']\ninputs = ['trip', 'start']\n\
                outputs = ['on']\ntransitions = [\n\
                { from = '*', on = 'start', to = 'on', send = { on = 1 } },\n\
                { from = 'on', on = 'trip', to = 'off', send = { on = 0 } },\n\
                { from = 'on', after = '0.6 ms', to = 'off', send = { on = 0 } },\n]\n\
                [unit.d]\nkind = 'equations'\nstates = { i = 0 }\ndiscrete = { on = 0 }\nevent_inputs = ['on']\n\
                derivatives = { i = '(100*on - i)/0.01' }\noutputs = { i = 'i' }\n[[unit.d.on]]\ninput = 'on'\n\
                reset = { on = 'value' }\n";
    let done = crate::results::run(text, &[]);
    assert_eq!(says(&done, "foretold"), 0, "{:?}", done.summary.notes);
}

/// A rectifier with a capacitor: its voltage after 5 ms, by the closed form 5.6584 V for all that the diode may have while it
/// conducts, and the notes.
fn rectifier(method: &str, tolerance: &str, on: &str) -> (f64, Vec<String>) {
    let tolerances = match method {
        "qss2" => String::new(),
        _ => format!("tolerance = {tolerance}\nabsolute_tolerance = {tolerance}\n"),
    };
    let text = format!(
        "stop = '5 ms'\nsample = 'none'\n[unit.p]\nkind = 'equations'\nmethod = '{method}'\n{tolerances}states = {{ u = 0 }}\nlet = {{ vs = '17*sin(2*pi*330*t)' }}\n\
         derivatives = {{ u = '((if vs > u then (vs - u)/{on} else (vs - u)*1e-6) - u/100)/1e-5' }}\n\
         outputs = {{ u = 'u' }}\n[result]\nu = 'final(p.u)'"
    );
    let done = run(&text, &[]);
    (value(&done, "u").unwrap(), done.summary.notes)
}

/// The voltage across the diode, down to 3.5 uV, is below the error of the capacitor beside it. Methods that control their
/// error tighten its tolerance, and tell of it, so that the diode opens.
#[test]
fn tolerances_are_tightened_until_signs_are_sure() {
    for method in ["rodas", "rk45", "rk23", "taylor", "auto"] {
        for (on, least) in [("1e-1", "1e-6"), ("1e-2", "1e-7"), ("1e-3", "1e-8")] {
            for tolerance in ["1e-3", "1e-4", "1e-6", "1e-8"] {
                let (u, notes) = rectifier(method, tolerance, on);
                let setting = format!("{method} {on} {tolerance}: {u} {notes:?}");
                let [wide, least]: [f64; 2] = [tolerance, least].map(|text| text.parse().unwrap());
                assert!((u - 5.6584).abs() < 2e-3 + wide, "{setting}");
                let told = notes.iter().any(|note| note.contains("were tightened on the way"));
                let wide = wide > least;
                assert!(told == wide || method == "auto", "{setting}");
                assert!(
                    !notes.iter().any(|note| note.contains("its sign is not sure")),
                    "{setting}"
                );
            }
        }
    }
}

const PARTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/parts/electrical.toml");

/// A rectifier of the parts library, whose diode is switched on within the error of its current: it conducts for 9.02 ms in all,
/// and no quantised method, which could not tell, is left to `auto`.
#[test]
fn auto_lets_no_diode_conduct_backwards() {
    for tolerance in ["1e-3", "1e-4", "1e-6"] {
        let text = format!(
            "stop = '60 ms'\nsample = 'none'\ninclude = ['{PARTS}']\n\
             connections = ['s.p = d.p', 'd.n = c.p = r.p', 's.n = c.n = r.n = g.p']\n[joined]\nmethod = 'auto'\n\
             tolerance = {tolerance}\nabsolute_tolerance = {tolerance}\n[unit.s]\ntemplate = 'sine_voltage'\n\
             amplitude = 10\nfrequency = '50 Hz'\n[unit.d]\ntemplate = 'diode'\n[unit.c]\ntemplate = 'capacitor'\n\
             C = '1 mF'\n[unit.r]\ntemplate = 'resistor'\nR = 100\n[unit.g]\ntemplate = 'ground'\n[result]\n\
             mean = 'mean(c.v)'\non = 'duration(d.i > 0.01)'"
        );
        let done = run(&text, &[]);
        let [mean, on] = ["mean", "on"].map(|name| value(&done, name).unwrap());
        assert!((mean - 8.96826).abs() < 1e-3 && (on - 9.0203e-3).abs() < 1e-5, "{mean} {on}");
    }
}

/// A current behind a stiff state: it turns a little after 5.1 ms, by the charge that follows.
#[test]
fn conditions_behind_stiff_states_come_in_time() {
    for (resistance, turns) in [("1", 5.201155e-3), ("1e-2", 5.102287e-3), ("1e-4", 5.10130e-3)] {
        let text = format!(
            "stop = '20 ms'\nsample = 'none'\n[unit.p]\nkind = 'equations'\nmethod = 'rodas'\ntolerance = 1e-6\n\
             absolute_tolerance = 1e-6\nstates = {{ u = 0 }}\nalgebraic = {{ i = 0.1 }}\nderivatives = {{ u = '(i - u/1000)/1e-4' }}\n\
             residuals = {{ i = '10*sin(2*pi*50*t) - u - {resistance}*i' }}\n[[unit.p.event]]\nname = 'turns'\n\
             when = 'i < 0'\n[result]\nat = \"first(event('p', 'turns'))\"\nn = \"count(event('p', 'turns'))\""
        );
        let done = run(&text, &[]);
        let at = value(&done, "at").unwrap();
        assert!((at - turns).abs() < 1e-5, "{resistance}: {at}");
        assert_eq!(value(&done, "n"), Some(1.0));
    }
}

/// Quantised methods do not tighten what they were given.
#[test]
fn signs_below_the_error_are_told() {
    let (u, notes) = rectifier("qss2", "", "1e-1");
    let told = notes.iter().any(|note| note.contains("its sign is not sure"));
    assert!((u - 5.6584).abs() > 2e-3 && told, "{u}");
    let (u, notes) = rectifier("rodas", "1e-9", "1e-1");
    assert!((u - 5.6584).abs() < 1e-3 && notes.is_empty(), "{u}: {notes:?}");
}
