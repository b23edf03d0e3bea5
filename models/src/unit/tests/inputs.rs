//! Inputs that cut steps short.
use crate::kinds::testing::Bench;

/// x' = 1 - 2t until 0.5 s, then 0: x stays at 0.25. A step that goes on along the first input comes
/// below 0.2 again, which never happens.
#[test]
fn a_condition_that_goes_on_holding_is_one_event() {
    for method in ["rk45", "rk23", "taylor", "closed", "rodas", "qss2", "qss3"] {
        let bench = Bench::run(
            &format!(
                "connections=['r.y -> x.u']\n\
                 [unit.r]\nkind='ramp'\nslope=-2.0\nvalue=1.0\nuntil=0.5\n\
                 [unit.x]\nkind='equations'\nmethod='{method}'\ninputs={{u=1}}\nstates={{x=0}}\n\
                 derivatives={{x='u'}}\noutputs={{x='x'}}\nevent_outputs=['hit']\n\
                 [[unit.x.event]]\nname='up'\nwhen='x >= 0.2'\nemit={{hit='1'}}"
            ),
            3.0,
        );
        let events = bench.events("x.hit");
        assert_eq!(events.len(), 1, "{method}: {events:?}");
        let ends = ["0.276", "0.277"].iter().any(|t| events[0].starts_with(t));
        assert!(ends, "{method}: {events:?}");
    }
}

/// An input heard at the start takes the place of the initial value, also where a side was decided by that:
/// x = 0.5 lies on the surface, and goes down with u = -1.
#[test]
fn sides_at_the_start_know_the_inputs() {
    for (method, value) in [("rk45", 0), ("rk45", -1), ("taylor", 0), ("rodas", 0), ("qss3", 0)] {
        let bench = Bench::run(
            &format!(
                "connections=['r.y -> x.u']\n\
                 [unit.r]\nkind='ramp'\nslope=-1.25\nvalue=-1.0\n\
                 [unit.x]\nkind='equations'\nmethod='{method}'\ninputs={{u={value}}}\nstates={{x=0.5}}\n\
                 derivatives={{x='1 + sign(x - 0.5) + u'}}\noutputs={{x='x'}}"
            ),
            2.0,
        );
        let end = bench.probe("x.x");
        assert!((end + 4.0).abs() < 1e-3, "{method} with {value} at first: {end}");
    }
}

/// Before the start the whole number had another side, with which the inputs were equal to it (rule 7).
#[test]
fn a_start_on_a_whole_number_is_a_crossing_beside_an_input() {
    for compared in ["u", "0*u", "0"] {
        let bench = Bench::run(
            &format!(
                "[unit.x]\nkind='equations'\ninputs={{u=0}}\nstates={{x=-1}}\n\
                 derivatives={{x='-0.5'}}\noutputs={{x='x'}}\nevent_outputs=['hit']\n\
                 [[unit.x.event]]\nname='over'\nwhen='{compared} > ceil(x)'\nemit={{hit='1'}}"
            ),
            0.5,
        );
        assert_eq!(bench.count("x.hit"), 1, "{compared}");
    }
}

/// A reset may put x onto its threshold where the condition holds without it.
#[test]
fn a_threshold_that_the_condition_does_not_need_is_no_trap() {
    let bench = Bench::run(
        "[unit.x]\nkind='equations'\nstates={x=-1}\ndiscrete={d=0}\n\
         derivatives={x='1'}\noutputs={x='x'}\nevent_outputs=['hit']\n\
         [[unit.x.event]]\nname='up'\nwhen='x > 0 or d != 0'\nreset={d='1', x='0'}\nemit={hit='1'}",
        3.0,
    );
    assert_eq!((bench.count("x.hit"), bench.probe("x.x")), (1, 2.0));
}
