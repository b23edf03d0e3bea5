//! Rule 19, segments from other units; rules 12, 18 and 20, what others hear of jumps; rule 21, quantised states.
use super::table::{First, Near, Root, Time, check, event, line, scenario, unit};
use std::f64::consts::LN_2;

/// A unit `u` that hears `s.y` as input `w`, with one event.
fn hears(source: &str, keys: &str) -> String {
    format!(
        "connections = ['s.y -> u.w']\n[unit.s]\n{source}\n\
         [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ x = 0 }}\n\
         derivatives = {{ x = '1' }}\noutputs = {{ x = 'x' }}\n{}",
        event("e", keys)
    )
}

#[test]
fn rule_19_segments() {
    let source = |states: &str, derivatives: &str| {
        format!(
            "kind = 'equations'\nMETHOD\nstates = {{ {states} }}\nderivatives = {{ {derivatives} }}\n\
             outputs = {{ y = 'y' }}"
        )
    };
    let step = "kind = 'step'\nat = 1\nfrom = 0\nto = 2";
    let ramp = source("y = 0", "y = '1'");
    let decay = source("y = 1", "y = '-y'");
    let rise = source("y = 0", "y = '1 - y'");
    let square = source("y = 1, v = -2", "y = 'v', v = '2'");
    let unlike: &[&str] = &["qss1", "qss2", "qss3", "liqss2", "mliqss2", "euler"];
    let why = "what they send crosses the surface by their own error";
    let none = |id: &str, source: &str, condition: &str| {
        scenario(id, &hears(source, &format!("when = '{condition}'")))
            .affine(2e-2)
            .without(unlike, why)
            .stop(10.0)
    };
    check(&[
        // Flagged as a jump: decided in the cycle that brings it, and the event is in the next.
        scenario("C19.1", &hears(step, "when = 'w >= 1'")).event("e", Time(1, 1), 1),
        scenario("C19.2", &hears(step, "when = 'w >= 2'")).event("e", Time(1, 1), 1),
        scenario("C19.3", &hears(step, "when = 'w > 2'")),
        scenario("C19.4", &hears(&ramp, "when = 'w >= 1'")).event("e", Root(1, 1), 0),
        scenario("C19.5", &hears(&ramp, "when = 'w > 1'")).event("e", Root(1, 1), 0),
        // New segments follow each other within the exchange tolerance: no flip, as long as what they
        // tell stays further from the surface than that. Beyond it a segment may cross by itself.
        none("C19.6", &decay, "w <= 0"),
        none("C19.7", &decay, "w < 0"),
        none("C19.8", &rise, "w >= 1"),
        none("C19.9", &square, "w <= 0").stop(3.0),
        scenario("C19.10", &hears(&decay, "when = 'w <= 0.5'")).affine(2e-2).event(
            "e",
            Near(LN_2),
            0,
        ),
    ]);
}

/// Rule 3 for a value that the hearer stops at the instant at which it comes to its threshold, and that goes on
/// later: the threshold is reached once.
#[test]
fn rule_03_stopped_by_who_hears() {
    let stopped = |id: &str, threshold: &str| {
        let text = format!(
            "connections = ['s.y -> u.w', 'u.stop -> s.stop', 'd.y -> s.d']\n\
             [unit.d]\nkind = 'step'\nat = 1\nfrom = 0\nto = 1\n\
             [unit.s]\nkind = 'equations'\nMETHOD\ninputs = {{ stop = 0, d = 0 }}\nstates = {{ y = 0 }}\n\
             derivatives = {{ y = '1 + d + stop' }}\noutputs = {{ y = 'y' }}\n\
             [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\ndiscrete = {{ stop = 0 }}\n\
             outputs = {{ stop = 'stop' }}\n{}",
            event("e", &format!("when = 'w >= {threshold}'\nreset = {{ stop = '-1' }}"))
        );
        scenario(id, &text).stop(2.0).event("e", Near(threshold.parse().expect("a number")), 0)
    };
    check(&[
        stopped("C3.43", "0.97"),
        stopped("C3.44", "0.1"),
        stopped("C3.45", "0.25"),
        stopped("C3.46", "0.3"),
        stopped("C3.47", "0.75"),
    ]);
}

/// A slope that begins at the start, where nothing jumps: receivers learn of it when the value leaves
/// the exchange tolerance, also where it does so in a number of ticks without a remainder.
#[test]
fn rule_19_slopes_of_first_inputs() {
    let behind = |id: &str, heard: f64, loose: f64| {
        let text = format!(
            "connections = ['a.y -> b.w', 'b.y -> u.w']\n[unit.a]\nkind = 'constant'\nvalue = {heard}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ y = 0 }}\n\
             derivatives = {{ y = 'w' }}\noutputs = {{ y = 'y' }}\n\
             [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = 'w' }}\noutputs = {{ x = 'x' }}\n"
        );
        scenario(id, &text).affine(loose).stop(2.0).end(0, 2.0 * heard)
    };
    check(&[
        behind("C19.11", 1.0, 1e-2),
        behind("C19.12", 0.5, 1e-2),
        behind("C19.13", -3.0, 1e-2),
        behind("C19.14", 0.1, 1e-2),
    ]);
}

/// Rule 12 where a reset puts a state onto one of another unit, as far as that is known.
#[test]
fn rule_12_resets_onto_what_is_heard() {
    let met = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\nderivatives = { x = '1' }\n\
               [unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = 2 }\nderivatives = { x = '-1' }\n\
               outputs = { x = 'x' }\n\
               [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'b.x <= a.x'\nreset = { 'b.x' = '1' }\n";
    let case = scenario("C12.30", met).only(&["rk45", "rk23", "rk4", "taylor", "rodas"]);
    check(&[case.event("l", Root(1, 1), 1).end_of("b", 0, -1.0)]);
}

/// Rule 20: members of a link have sent before they jump, so that others hear the jump in the next cycle.
#[test]
fn rule_20_jumps_of_links_are_heard_later() {
    let text = "connections = ['a.x -> c.w']\n\
                [unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\nderivatives = { x = '1' }\n\
                outputs = { x = 'x' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\nderivatives = { x = '0' }\n\
                [unit.c]\nkind = 'equations'\ninputs = { w = 0 }\n\
                [[unit.c.event]]\nname = 'e'\nwhen = 'w > 4'\n\
                [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'a.x >= b.x'\nreset = { 'a.x' = 'a.x + 4' }\n";
    let case = scenario("C20.1", text).stop(1.5).event("l", Root(1, 1), 1);
    check(&[case.event("e", Root(1, 1), 3)]);
}

/// Rule 20: a link decides by the values after the cycle in which it was proposed, and what a member hears in the
/// cycle of the decision acts on these.
#[test]
fn rule_20_links_decide_by_values_of_now() {
    let ramp = "states = { x = 0 }\nderivatives = { x = '1' }\noutputs = { x = 'x' }\n";
    let pays = |id: &str, delays: &str, link: &str| {
        let text = format!(
            "connections = [\"pay.y -> bank.pay{delays}\"]\n\
             [unit.pay]\nkind = 'schedule'\ntimes = [1]\nvalues = [100]\n\
             [unit.bank]\nkind = 'equations'\ndiscrete = {{ m = 0 }}\nevent_inputs = ['pay']\n\
             outputs = {{ m = 'm' }}\n\
             [[unit.bank.on]]\ninput = 'pay'\nreset = {{ m = 'm + value' }}\n\
             [unit.a]\nkind = 'equations'\nMETHOD\n{ramp}\
             [[link]]\nname = 'l'\nunits = ['a', 'bank']\n{link}\n"
        );
        scenario(id, &text).stop(3.0)
    };
    let adds = "when = 'a.x >= 1'\nreset = { 'bank.m' = '2*bank.m + 1' }";
    // A unit that proposes hears of a push in the same cycle.
    let pushed = "connections = ['pay.y -> ball.push']\n\
                  [unit.pay]\nkind = 'schedule'\ntimes = [1]\nvalues = [3]\n\
                  [unit.ball]\nkind = 'equations'\nMETHOD\nstates = { x = 0, v = 1 }\n\
                  derivatives = { x = 'v', v = '0' }\noutputs = { v = 'v' }\nevent_inputs = ['push']\n\
                  [[unit.ball.on]]\ninput = 'push'\nreset = { v = 'v + value' }\n\
                  [unit.cart]\nkind = 'equations'\nMETHOD\nstates = { x = 1, v = 0 }\n\
                  derivatives = { x = 'v', v = '0' }\noutputs = { v = 'v' }\n\
                  [[link]]\nname = 'l'\nunits = ['ball', 'cart']\nwhen = 'ball.x >= cart.x'\n\
                  reset = { 'ball.v' = 'cart.v', 'cart.v' = 'ball.v' }\n";
    let two = format!(
        "[unit.res]\nkind = 'equations'\ndiscrete = {{ m = 0 }}\noutputs = {{ m = 'm' }}\n\
         [unit.a]\nkind = 'equations'\nMETHOD\n{ramp}\
         [unit.b]\nkind = 'equations'\nMETHOD\ndiscrete = {{ c = 0 }}\n{ramp}\
         [[unit.b.event]]\nname = 'one'\nwhen = 'x >= 1'\nreset = {{ c = '1' }}\n\
         [[link]]\nname = 'l'\nunits = ['a', 'res']\nwhen = 'a.x >= 1'\nreset = {{ 'res.m' = 'res.m + 1' }}\n\
         [[link]]\nname = 'k'\nunits = ['b', 'res']\nwhen = 'b.c > 0'\nreset = {{ 'res.m' = 'res.m + 10' }}\n"
    );
    // The jump made it false, and what follows makes it true again.
    let again = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\nderivatives = { x = '1' }\n\
                 discrete = { n = 0 }\noutputs = { n = 'n' }\n\
                 [[unit.a.event]]\nname = 'down'\nat = 0.5\nreset = { x = '0.75' }\n\
                 [[unit.a.event]]\nname = 'up'\ncrossing = 'x - 1'\ndirection = 'rising'\n\
                 reset = { x = 'if n < 2 then -0.5 else 3' }\n\
                 [unit.b]\nkind = 'equations'\n\
                 [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'a.x <= 1'\n\
                 reset = { 'a.x' = '1', 'a.n' = 'a.n + 1' }\n";
    // A count that has come to zero is not above zero.
    let taken = |id: &str, condition: &str| {
        let text = format!(
            "[unit.res]\nkind = 'equations'\nMETHOD\ndiscrete = {{ free = 1 }}\n\
             states = {{ x = 0 }}\nderivatives = {{ x = '1' }}\noutputs = {{ free = 'free' }}\n\
             [[unit.res.event]]\nname = 'own'\nwhen = 'x >= 1 and free > 0'\nreset = {{ free = 'free - 1' }}\n\
             [unit.w]\nkind = 'equations'\ndiscrete = {{ has = 0 }}\noutputs = {{ has = 'has' }}\n\
             [[link]]\nname = 'l'\nunits = ['w', 'res']\nwhen = 'res.x >= 1 and {condition}'\n\
             reset = {{ 'w.has' = '1', 'res.free' = 'res.free - 1' }}\n"
        );
        scenario(id, &text).stop(3.0).event("own", Root(1, 1), 0).end_of("res", 0, 0.0)
    };
    // Links that share a member come in the order of their priorities, whatever a member does in between.
    let shared = |id: &str, own: &str, links: [(&str, &str); 3]| {
        let worker = |name: &str, own: &str| {
            format!(
                "[unit.{name}]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\n\
                 discrete = {{ got = 0, p = 0 }}\nderivatives = {{ x = '1' }}\noutputs = {{ got = 'got' }}\n{own}"
            )
        };
        let link = |(k, (who, needs)): (usize, &(&str, &str))| {
            format!(
                "[[link]]\nname = 'l{k}'\nunits = ['hub', '{who}']\npriority = {k}\n\
                 when = '{who}.x >= 1 and {who}.got == 0 and hub.s >= {needs}'\n\
                 reset = {{ 'hub.s' = 'hub.s - {needs}', '{who}.got' = '1' }}\n"
            )
        };
        let text = format!(
            "[unit.hub]\nkind = 'equations'\ndiscrete = {{ s = 2 }}\noutputs = {{ s = 's' }}\n{}{}{}{}",
            worker("a", ""),
            worker("b", ""),
            worker("c", own),
            links.iter().enumerate().map(link).collect::<String>()
        );
        scenario(id, &text).stop(2.0).only(LOCATED)
    };
    let own = "[[unit.c.event]]\nname = 'own'\nwhen = 'x >= 1'\nreset = { p = 'p + 1' }\n";
    const LOCATED: &[&str] = &["rk45", "rk23", "rk4", "taylor", "rodas"];
    check(&[
        pays("C20.2", "", adds).event("l", Root(1, 1), 1).end_of("bank", 0, 201.0).only(LOCATED),
        // Heard in the cycle of the decision, and in the one after it.
        pays("C20.3", " via delay('0 s')", adds)
            .event("l", Root(1, 1), 1)
            .end_of("bank", 0, 101.0)
            .only(LOCATED),
        pays("C20.4", "", "when = 'a.x >= 1 and bank.m < 50'\nreset = { 'bank.m' = '0' }")
            .end_of("bank", 0, 100.0)
            .only(LOCATED),
        scenario("C20.5", pushed)
            .stop(3.0)
            .event("l", Root(1, 1), 1)
            .end_of("cart", 0, 4.0)
            .only(LOCATED),
        scenario("C20.6", &two)
            .stop(3.0)
            .event("one", Root(1, 1), 0)
            .event("l", Root(1, 1), 1)
            .event("k", Root(1, 1), 2)
            .end_of("res", 0, 11.0)
            .only(LOCATED),
        scenario("C20.11", again)
            .stop(1.0)
            .event("down", Time(1, 2), 0)
            .event("l", Time(1, 2), 2)
            .event("up", Time(1, 2), 3)
            .event("l", Time(1, 2), 5)
            .event("up", Time(1, 2), 6)
            .end_of("a", 0, 2.0)
            .only(LOCATED),
        taken("C20.7", "res.free > 0").only(LOCATED),
        shared("C20.12", own, [("a", "1"), ("b", "1"), ("c", "1")])
            .event("own", Root(1, 1), 0)
            .event("l0", Root(1, 1), 1)
            .event("l1", Root(1, 1), 2)
            .end_of("hub", 0, 0.0)
            .end_of("c", 0, 0.0),
        // One that is refused does not hold the next one back.
        shared("C20.13", "", [("a", "1"), ("b", "2"), ("b", "1")])
            .event("l0", Root(1, 1), 1)
            .event("l2", Root(1, 1), 3)
            .end_of("b", 0, 1.0)
            .end_of("c", 0, 0.0),
        // A member of which the condition reads nothing does not look for it: on what it was told `a.x`, which touches
        // zero at 0.5 s, may pass it.
        scenario(
            "C20.14",
            "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = -0.25 }\n\
             derivatives = { x = '-2*(t - 0.5)' }\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nstates = { y = -1, v = 0 }\n\
             derivatives = { y = 'v', v = 'y' }\n\
             [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'a.x < 0'\nreset = { 'a.x' = '0', 'b.v' = '0' }\n",
        )
        .stop(1.0)
        .only(&["rk45", "rk23", "rk4", "taylor", "rodas", "qss3"]),
        taken("C20.8", "0 < res.free").only(LOCATED),
        taken("C20.9", "not res.free <= 0").only(LOCATED),
        taken("C20.10", "res.free >= 1").only(LOCATED),
    ]);
}

/// Just behind the edge of a valve the flow is a root, whose series leads far away within a tick.
#[test]
fn rule_19_pieces_hold_for_a_tick() {
    let text = "connections = ['u.x -> w.i']\n[unit.u]\nkind = 'equations'\nMETHOD\nsegment_order = 6\n\
                states = { x = -1 }\nderivatives = { x = '1 - sqrt(max(x, 0))' }\noutputs = { x = 'x' }\n\
                [unit.w]\nkind = 'equations'\ninputs = { i = -1 }\noutputs = { i = 'i' }\n\
                [[unit.w.event]]\nname = 'e'\nwhen = 'i <= -1.1 or i >= 0.1'\n";
    // With u = sqrt(x), behind the edge t - 1 = -2u - 2 ln(1 - u).
    check(&[scenario("C19.15", text)
        .curved(1e-2)
        .within(2e-3)
        .resolutions(&["ms", "us", "ns"])
        .stop(2.0)
        .without(
            &["taylor", "qss1", "qss2", "qss3", "liqss2", "mliqss2"],
            "a root has no series at 0; quanta",
        )
        .event("e", Near(1.127_805_284_098_667_6), 0)]);
}

/// A branch without curvature, along which a step may be as long as it likes, says nothing of the one after it.
#[test]
fn rule_21_steps_of_another_branch() {
    let text = format!(
        "states = {{ x = 0.49975 }}\ndiscrete = {{ d = 0 }}\noutputs = {{ x = 'x' }}\n\
         derivatives = {{ x = '(1 - d)*0.25 + d*x*(1 - x)' }}\n{}",
        event("turn", "at = 0.001\nreset = { d = 1 }")
    );
    // From 1/2 the second derivative begins with zero.
    let case = unit("C21.11", &text).curved(2e-2).within(1e-4);
    check(&[case.event("turn", Time(1, 1000), 0).end(0, 0.952_528_929_7)]);
}

/// A heard value is rounded as its terms are, also where it is zero: a touch in the condition of a link is none.
#[test]
fn rule_20_touches_that_are_heard() {
    let text = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\nderivatives = { x = 'x' }\n\
                outputs = { x = 'x' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\nstates = { y = -1 }\nderivatives = { y = '-2*(t - 1)' }\n\
                [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = '0 <= a.x and b.y <= 0'\nreset = { 'a.x' = '0' }\n";
    let case = scenario("C20.18", text).curved(0.0).within(1e-4).stop(2.0);
    let case = case.only(&["rk45", "rk23", "rk4", "taylor", "rodas"]);
    check(&[case.resolutions(&["ms", "us", "ns"]).end_of("a", 0, 7.389_056_099)]);
}

/// Members that have not heard of a link yet, as another one takes place, do not propose it again; and sides that others
/// decide at the tick of a proposal are theirs there.
#[test]
fn rule_20_what_members_know_between_links() {
    let swap = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = -1 }\nderivatives = { x = '1' }\n\
                [[unit.a.event]]\nname = 'back'\nat = 3\nreset = { x = '-x' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\ndiscrete = { n = 0 }\n\
                algebraic = { z = 1 }\nresiduals = { z = 'z + x - 1' }\nderivatives = { x = 'z' }\n\
                outputs = { n = 'n' }\n\
                [[link]]\nname = 'swap'\nunits = ['a', 'b']\nwhen = 'b.x + a.x < 0'\n\
                reset = { 'a.x' = 'b.x', 'b.x' = 'a.x' }\n\
                [[link]]\nname = 'count'\nunits = ['a', 'b']\nwhen = 'a.x <= 1'\n\
                reset = { 'b.n' = 'b.n + 1' }\npriority = 1\n";
    let rest = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 0.5 }\ndiscrete = { d = 0, n = 0 }\n\
                derivatives = { x = '-3' }\noutputs = { n = 'n' }\n\
                [[unit.a.event]]\nname = 'never'\nwhen = 'mod(x, 1) <= d'\n\
                [unit.b]\nkind = 'equations'\n\
                [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'a.x <= 0'\nreset = { 'a.n' = '1' }\n";
    check(&[
        scenario("C20.16", swap)
            .algebraic()
            .stop(3.5)
            .event("back", Time(3, 1), 0)
            .event("swap", Time(3, 1), 2)
            .event("count", Time(3, 1), 3)
            .end_of("b", 0, 1.0),
        scenario("C20.17", rest)
            .stop(1.0)
            .event("l", Root(1, 6), 1)
            .end_of("a", 0, 1.0)
            .only(&["rk45", "rk23", "rk4", "taylor", "rodas"]),
    ]);
}

/// An event right after a link that was refused jumps for those who hear the unit.
#[test]
fn rule_20_a_jump_after_a_refusal() {
    let jump = "connections = ['u.x -> w.i']\n\
                [unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\ndiscrete = { n = 0 }\n\
                derivatives = { x = '0.5' }\noutputs = { x = 'x' }\n\
                [unit.v]\nkind = 'equations'\nMETHOD\nstates = { y = 0.5 }\nderivatives = { y = '0' }\n\
                [unit.w]\nkind = 'equations'\ninputs = { i = 0 }\noutputs = { i = 'i' }\n\
                [[unit.w.event]]\nname = 'high'\nwhen = 'i >= 0.25'\n\
                [[link]]\nname = 'l'\nunits = ['u', 'v']\nwhen = 'u.x >= 0.5 and u.n < 1'\nreset = { 'v.y' = '9' }\n";
    let text = [
        jump,
        &event("down", "when = 'x >= 0.5 and n < 1'\nreset = { x = -1, n = 1 }"),
        &event("up", "when = 'x < 0'\nreset = { x = 0.5 }"),
    ]
    .concat();
    // Receivers held something else before the jump than before another one.
    check(&[scenario("C20.15", &text)
        .event("high", Root(1, 2), 0)
        .event("down", Root(1, 1), 0)
        .event("up", Root(1, 1), 2)
        .event("high", Root(1, 1), 3)
        .end_of("u", 0, 1.5)
        .end_of("w", 0, 1.5)]);
}

/// A reset onto the threshold of a link follows rule 3, as one in a unit: all members hear where it goes.
#[test]
fn rule_12_resets_onto_thresholds_of_links() {
    let put = |rate: &str, to: &str, condition: &str| {
        format!(
            "connections = ['b.y -> a.w']\n\
             [unit.a]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 2 }}\n\
             states = {{ x = 0.1 }}\ndiscrete = {{ n = 0 }}\n\
             derivatives = {{ x = '{rate}' }}\noutputs = {{ n = 'n' }}\n\
             [[unit.a.event]]\nname = 'set'\nat = 1\nreset = {{ x = '{to}' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nstates = {{ y = 2 }}\nderivatives = {{ y = '0' }}\n\
             outputs = {{ y = 'y' }}\n\
             [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = '{condition}'\n\
             reset = {{ 'a.n' = 'a.n + 1', 'a.x' = '0' }}\n"
        )
    };
    let up = |id: &str, condition: &str| {
        scenario(id, &put("1", "w", condition))
            .stop(2.5)
            .event("set", Time(1, 1), 0)
            .event("l", Time(1, 1), 2)
            .end_of("a", 0, 1.0)
    };
    let none = |id: &str, rate: &str, condition: &str| {
        scenario(id, &put(rate, "w", condition))
            .stop(2.5)
            .event("set", Time(1, 1), 0)
            .end_of("a", 0, 0.0)
    };
    check(&[
        up("C12.31", "a.x > b.y"),
        up("C12.32", "a.x >= b.y"),
        up("C12.33", "not b.y >= a.x"),
        up("C12.34", "a.x > b.y and b.y > 1"),
        none("C12.35", "-1", "a.x > b.y"),
        none("C12.36", "-1", "a.x >= b.y"),
        none("C12.37", "-0", "a.x > b.y"),
        // As a reset rounds: 0.1 + 1 + 0.9 need not be 2.
        scenario("C12.38", &put("1", "x + 0.9", "a.x > b.y"))
            .stop(2.5)
            .event("set", Time(1, 1), 0)
            .event("l", Time(1, 1), 2)
            .end_of("a", 0, 1.0),
    ]);
}

/// A value that comes to stand on a threshold, by friction, is at rest there (rule 3) for all who hear it.
#[test]
fn rule_18_heard_by_others() {
    let heard = |id: &str, start: &str, side: &str| {
        let text = format!(
            "connections = ['a.y -> b.i']\n\
             [unit.a]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\nstates = {{ y = '{start}' }}\n\
             derivatives = {{ y = '-sign(y)' }}\noutputs = {{ y = 'y' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ i = '{start}' }}\nstates = {{ n = 0 }}\n\
             derivatives = {{ n = '{side}' }}\noutputs = {{ side = '{side}' }}\n"
        );
        scenario(id, &text).stop(2.0).end_of("b", 0, 0.0)
    };
    let linked = |id: &str, start: &str, condition: &str| {
        let text = format!(
            "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 1 }}\nderivatives = {{ x = '-0.5' }}\n\
             outputs = {{ x = 'x' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\nstates = {{ y = {start} }}\n\
             derivatives = {{ y = '-sign(y)' }}\noutputs = {{ y = 'y' }}\n\
             [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'a.x <= 0 and {condition}'\n\
             reset = {{ 'a.x' = '0' }}\n"
        );
        scenario(id, &text).stop(3.0).end_of("b", 0, 0.0)
    };
    let copied = |id: &str, start: &str| {
        let text = format!(
            "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ n = 0 }}\nderivatives = {{ n = '0' }}\n\
             outputs = {{ n = 'n' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nswitching = 'sliding'\nstates = {{ y = '{start}' }}\n\
             derivatives = {{ y = '0.5 - sign(y)' }}\noutputs = {{ y = 'y' }}\n\
             [[link]]\nname = 'l'\nunits = ['a', 'b']\nwhen = 'b.y > a.n'\n\
             reset = {{ 'a.n' = 'b.y' }}\n"
        );
        scenario(id, &text).affine(2e-2).stop(2.0).end_of("a", 0, 0.0).end_of("b", 0, 0.0)
    };
    let side = "if i > 0 then 1 else if i < 0 then -1 else 0";
    check(&[
        heard("C18.40", "-1", side),
        heard("C18.41", "1", side),
        heard("C18.42", "-1/3", side),
        heard("C18.43", "1/3", "if i >= 0 then (if i <= 0 then 0 else 1) else -1"),
        linked("C18.44", "-1", "b.y > 0"),
        linked("C18.45", "1", "b.y < 0"),
        linked("C18.46", "-0.75", "b.y > 0"),
        // It comes to stand on the surface: it never is above it.
        copied("C18.47", "-1"),
        copied("C18.48", "-1/3"),
    ]);
}

/// Detectors between units follow the rules of relations in units.
#[test]
fn rules_05_and_07_detectors() {
    let counts = |id: &str, states: &str, derivatives: &str, counted: f64| {
        let text = format!(
            "connections = ['s.y -> u.hit via detect(1, rising)']\n\
             [unit.s]\nkind = 'equations'\nMETHOD\nstates = {{ {states} }}\n\
             derivatives = {{ {derivatives} }}\noutputs = {{ y = 'y' }}\n\
             [unit.u]\nkind = 'equations'\nevent_inputs = ['hit']\ndiscrete = {{ n = 0 }}\n\
             outputs = {{ n = 'n' }}\n[[unit.u.on]]\ninput = 'hit'\nreset = {{ n = 'n + 1' }}\n"
        );
        scenario(id, &text).affine(0.0).end(0, counted)
    };
    let unlike: &[&str] = &["qss1", "qss2", "qss3", "liqss2", "mliqss2", "euler"];
    let why = "what they send crosses the surface by their own error";
    check(&[
        counts("C7.40", "y = 0", "y = '1'", 1.0).within(1e-9).event("crossing", Root(1, 1), 0),
        // Never at the start (H5).
        counts("C7.41", "y = 1", "y = '1'", 0.0),
        counts("C7.42", "y = 1", "y = '-1'", 0.0),
        counts("C7.43", "y = 1", "y = '0'", 0.0),
        counts("C7.44", "y = 0.5", "y = '-1'", 0.0),
        // The top of a parabola lies at the threshold, exactly.
        counts("C5.60", "y = 0, v = 2", "y = 'v', v = '-2'", 0.0).without(unlike, why),
        counts("C5.61", "y = 0", "y = '1 - y'", 0.0).stop(10.0).without(unlike, why),
    ]);
}

/// Never at the start (H5), whatever a unit in front makes of the inputs that it hears there.
#[test]
fn rule_07_detectors_behind_units() {
    let counts = |id: &str, start: &str, heard: &str, direction: &str| {
        let text = format!(
            "connections = ['a.y -> b.w', 'b.y -> u.hit via detect(1, {direction})']\n\
             [unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ y = {heard} }}\n\
             derivatives = {{ y = '0' }}\noutputs = {{ y = 'y' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ y = {start} }}\n\
             derivatives = {{ y = 'w' }}\noutputs = {{ y = 'y + w' }}\n\
             [unit.u]\nkind = 'equations'\nevent_inputs = ['hit']\ndiscrete = {{ n = 0 }}\n\
             outputs = {{ n = 'n' }}\n[[unit.u.on]]\ninput = 'hit'\nreset = {{ n = 'n + 1' }}\n"
        );
        scenario(id, &text).stop(0.75)
    };
    check(&[
        counts("C7.50", "0", "1", "rising").end(0, 0.0),
        counts("C7.51", "2", "-1", "falling").end(0, 0.0),
        // The start value of w puts it below 1, the one that is heard beyond.
        counts("C7.52", "0.5", "1", "rising").end(0, 0.0),
        counts("C7.53", "0", "0.75", "rising").end(0, 1.0).event("crossing", Root(1, 3), 0),
    ]);
}

#[test]
fn rule_21_quantised_states() {
    let only: &[&str] = &["qss1", "qss2", "qss3", "liqss2", "mliqss2"];
    let of = |start: &str, rate: &str, condition: &str| {
        format!(
            "{}{}",
            line(start, rate),
            event("e", &format!("when = '{condition}'\nreset = {{ n = 'n + 1' }}"))
        )
    };
    let ring =
        "states = { x = 1, v = 0 }\nderivatives = { x = 'v', v = '-x' }\noutputs = { x = 'x' }\n";
    let stopped = |rate: &str| {
        format!(
            "states = {{ x = 0 }}\nderivatives = {{ x = '0.5 - x' }}\noutputs = {{ x = 'x' }}\n{}\
             [unit.u.mode.moves]\nderivatives = {{ x = '{rate}' }}\n[[unit.u.mode.moves.event]]\nname = 'on'\n\
             when = 'x >= 0.5'\nto = 'stands'\n[unit.u.mode.stands]\n",
            event("below", "when = 'x < 0.5'")
        )
    };
    check(&[
        // The quantised copy of x moves in steps across the threshold; x itself crosses once.
        unit("C21.1", &of("1", "-x", "x <= 0.5"))
            .affine(2e-2)
            .only(only)
            .event("e", Near(LN_2), 0)
            .end(1, 1.0),
        unit("C21.2", &of("1", "-x", "x < 0.5"))
            .affine(2e-2)
            .only(only)
            .event("e", Near(LN_2), 0)
            .end(1, 1.0),
        unit("C21.3", &of("0", "1", "x >= 0.0005"))
            .only(only)
            .event("e", Root(5, 10_000), 0)
            .end(1, 1.0),
        // Within the quantum of the limit: undecided, so nothing flips.
        unit("C21.4", &of("0", "1 - x", "x >= 1")).affine(2e-2).only(only).stop(60.0).end(1, 0.0),
        unit("C21.5", &of("0", "5*(1 - x)", "x > 1"))
            .affine(2e-2)
            .only(only)
            .stop(60.0)
            .end(1, 0.0),
        unit("C21.6", &of("2", "1 - x", "x <= 1")).affine(2e-2).only(only).stop(60.0).end(1, 0.0),
        // At rest on the threshold, and left from there.
        unit("C21.7", &format!("{ring}{}", event("e", "when = 'x >= 1'")))
            .affine(2e-2)
            .only(only)
            .stop(1.0),
        // A mode stops it there, and the copy goes on as it moved before.
        unit("C21.9", &stopped("2"))
            .affine(2e-2)
            .only(only)
            .stop(1.0)
            .event("on", Root(1, 4), 0)
            .end(0, 0.5),
        unit("C21.10", &stopped("2 + x - x")).affine(2e-2).only(only).stop(1.0).event(
            "on",
            Near(0.25),
            0,
        ),
        // The second derivative decides, which `qss1` does not have.
        unit("C21.8", &format!("{ring}{}", event("e", "when = 'x < 1'")))
            .affine(2e-2)
            .only(&["qss2", "qss3", "liqss2", "mliqss2"])
            .stop(1.0)
            .event("e", First, 0),
    ]);
}
