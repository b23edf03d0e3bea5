//! When conditions set events off, under every method.
use crate::kinds::testing::Bench;

const METHODS: [&str; 7] = ["rk45", "rk23", "taylor", "closed", "rodas", "qss2", "qss3"];

/// The tags of the events that conditions (`when = '...'`) or detectors (`crossing = '...'`) set off,
/// one list for each.
fn tags(method: &str, unit: &str, triggers: &[&str], seconds: f64) -> Vec<Vec<String>> {
    let mut text = format!("[unit.u]\nkind='equations'\nmethod='{method}'\n{unit}\n");
    let ports: Vec<String> = (0..triggers.len()).map(|k| format!("'e{k}'")).collect();
    text += &format!("event_outputs=[{}]\n", ports.join(","));
    for (k, trigger) in triggers.iter().enumerate() {
        text += &format!("[[unit.u.event]]\nname='n{k}'\n{trigger}\nemit={{e{k}='1'}}\n");
    }
    let bench = Bench::run(&text, seconds);
    (0..triggers.len()).map(|k| bench.events(&format!("u.e{k}"))).collect()
}

/// A state that comes nearer and nearer never gets there, and one that rests or turns on the threshold
/// leaves no event.
#[test]
fn nothing_where_no_side_is_left() {
    for method in METHODS {
        for (unit, when, seconds) in [
            ("states={x=0}\nderivatives={x='1 - x'}", "x >= 1", 60.0),
            ("states={x=2}\nderivatives={x='1 - x'}", "x <= 1", 60.0),
            ("states={x=1,v=0}\nderivatives={x='v',v='-1'}", "x >= 1", 2.0),
            ("states={x=1,v=0}\nderivatives={x='v',v='0'}", "x >= 1", 2.0),
            ("states={x=1}\nderivatives={x='-1'}", "x >= 1", 2.0),
            ("states={x=0}\nderivatives={x='0.25'}\ndiscrete={b=0}", "x >= 1 and b > 0", 8.0),
        ] {
            let found = tags(method, unit, &[&format!("when='{when}'")], seconds);
            assert_eq!(found, [Vec::<String>::new()], "{method}: {unit}");
        }
    }
}

/// A start on the threshold that moves on is an event at the first tick, however it is written; a
/// detector does not report it.
#[test]
fn starts_on_the_threshold() {
    let triggers =
        ["when='x >= 1'", "when='x > 1'", "when='not x < 1'", "when='1 <= x'", "crossing='x - 1'"];
    for method in METHODS {
        for unit in
            ["states={x=1}\nderivatives={x='1'}", "states={x=1,v=0}\nderivatives={x='v',v='1'}"]
        {
            let found = tags(method, unit, &triggers, 0.5);
            for (trigger, tags) in triggers.iter().zip(&found).take(4) {
                assert_eq!(tags.len(), 1, "{method}: {unit} {trigger} {found:?}");
                assert_eq!(tags[0], found[0][0], "{method}: {trigger}");
                assert!(tags[0].starts_with("0.000000001"), "{method}: {trigger} {tags:?}");
            }
            assert!(found[4].is_empty(), "{method}: {unit} {found:?}");
        }
    }
}

/// H7 and all ways to write a comparison: one tick, right after the root.
#[test]
fn comparisons_flip_at_the_same_tick() {
    let triggers = ["when='x >= 1'", "when='x > 1'", "when='not 1 > x'", "crossing='x - 1'"];
    for method in METHODS {
        let found = tags(method, "states={x=0}\nderivatives={x='3'}", &triggers, 2.0);
        for (trigger, tags) in triggers.iter().zip(&found) {
            assert_eq!(tags.len(), 1, "{method}: {trigger} {tags:?}");
            assert!(tags[0].starts_with("0.333333334"), "{method}: {trigger} {tags:?}");
        }
    }
}

/// A touch is none, on or off the grid; touching reports it.
#[test]
fn touches() {
    for method in METHODS {
        for at in ["1", "1/3"] {
            let unit = "states={x=0}\nderivatives={x='1'}";
            let touch = |extra: &str| {
                let when = format!("when='(x - {at})^2 <= 0'{extra}");
                tags(method, unit, &[&when], 2.0)
            };
            assert_eq!(touch(""), [Vec::<String>::new()], "{method} at {at}");
            let found = touch("\ntouching=1e-9");
            assert_eq!(found[0].len(), 1, "{method} at {at}: {found:?}");
        }
    }
}

/// A formula whose slope is infinite at the start has a side there all the same.
#[test]
fn roots_of_an_empty_tank() {
    for method in METHODS {
        println!("{method}");
        let unit = "states={h=0}\nderivatives={h='0.1'}";
        let found = tags(method, unit, &["when='sqrt(h) >= 0.5'", "when='h^0.5 > 0.5'"], 4.0);
        for tags in &found {
            let [tag] = &tags[..] else { panic!("{method}: {found:?}") };
            assert!(["2.5", "2.499999999"].iter().any(|t| tag.starts_with(t)), "{method}: {tag}");
        }
    }
}
