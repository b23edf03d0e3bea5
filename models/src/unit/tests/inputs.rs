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
