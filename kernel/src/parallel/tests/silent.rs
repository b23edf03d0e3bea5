//! Silent steps of models on workers.
use super::*;

#[test]
fn silent_steps_stay_silent() {
    for quiet in [1, 2, 5] {
        let model = || {
            let mut top = Coupled::new();
            let mut children: Vec<_> = (0..quiet)
                .map(|i| top.add(("quiet", i), Quiet::new(1 + 3 * i as i64)).any())
                .collect();
            children.extend(
                (quiet..5).map(|i| top.add(("node", i), Node::new(2 + i as i64, Habit::Add)).any()),
            );
            ring(&mut top, &children);
            top
        };
        let (ends, .., lines) = check(model, None);
        assert!(ends.iter().all(Result::is_ok) && lines.len() > 100);
        check(model, Some(END / 2));
    }
}

#[test]
fn silent_steps_go_on_where_a_tick_is_cut() {
    // A model that cannot be saved brings all home in the middle of a tick.
    let model = || {
        let mut top = Coupled::new();
        let pass = |times| Node::new(i64::MAX, Habit::Pass(times));
        let chain = [
            top.add("clock", Node::new(20, Habit::Add)).any(),
            top.add("node", pass(2)).any(),
            top.add("fixed", Fixed(pass(3))).any(),
            top.add("quiet", Quiet::new(7)).any(),
            top.add("last", Node::new(i64::MAX, Habit::Add)).any(),
        ];
        for pair in chain.windows(2) {
            top.couple(pair[0].output(OUT), pair[1].input(IN));
        }
        top
    };
    let (ends, .., lines) = check(model, None);
    assert!(ends.iter().all(Result::is_ok) && lines.len() > 100);
}
